"""Table of MV forms: which memories a mode connects, its unit and its element mapping (isa.md section 14)."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Place
from .tables_places import DRAMS


class Ids:
    """Ways to write the location of an MV operand: nothing, `@n`, `@n.c`, `@.c`."""

    ALL = ""
    GROUP = "@n"
    L2B = "@n.c"
    EACH = "@.c"


@dataclass(frozen=True, slots=True)
class MoveForm:
    """One MV form.

    `unit` is what `size` must be a multiple of, in long words of the larger side `sized` ("source", "destination" or
    "both"). `share_source`, `share_destination`: how many long words of `size` one memory on that side holds, as a
    divisor of `size`. `mapping` names the element formula that the emulator implements and `formula` spells it.
    """

    mode: str
    source: Place
    source_ids: str
    destination: Place
    destination_ids: str
    mapping: str
    unit: int = 64
    sized: str = "both"
    share_source: int = 1
    share_destination: int = 1

    @property
    def reduces(self) -> bool:
        return self.mode in REDUCING_MODES


REDUCING_MODES = ("r", "r2", "r4")
MODES = ("p", "b", "b2", "b4", "d", "r", "r2", "r4")

MAPPINGS: dict[str, str] = {
    "copy": "dst[ad+i] = src[as+i]",
    "copy-each": "in every group g: dst_g[ad+i] = src_g[as+i]",
    "broadcast": "every L2BM: C[ad+i] = src[as+i]",
    "broadcast-group": "both L2BMs of every group g: C_{g,c}[ad+i] = D_g[as+i]",
    "gather-groups": "i = 64k+16q+o, every g and c: C_{g,c}[ad+i] = D_q[as+32k+16c+o]",
    "reduce": "P[ad+i] = op over the 8 L2BMs of C[as+i]",
    "reduce-scatter": "i = 64k+16q+o: D_q[ad+16k+o] = op over the 8 L2BMs of C[as+i]",
    "reduce-group": "every g: D_g[ad+i] = op(C_{g,0}[as+i], C_{g,1}[as+i])",
    "reduce-groups-scatter": "i = 64k+16q+o, every c: D_q[ad+32k+16c+o] = op over g of C_{g,c}[as+i]",
    "deal-groups": "i = 64k+16q+o: D_q[ad+16k+o] = P[as+i]",
    "collect-groups": "i = 64k+16q+o: P[ad+i] = D_q[as+16k+o]",
    "deal-l2b": "i = 128k+16j+o, j = 2g+c: C_{g,c}[ad+16k+o] = P[as+i]",
    "collect-l2b": "i = 128k+16j+o, j = 2g+c: P[ad+i] = C_{g,c}[as+16k+o]",
}

_D, _P, _C = Place.DRAM, Place.PDM, Place.L2BM

MOVE_FORMS: tuple[MoveForm, ...] = (
    MoveForm("p", _P, Ids.GROUP, _P, Ids.GROUP, "copy"),
    MoveForm("p", _P, Ids.GROUP, _D, Ids.GROUP, "copy"),
    MoveForm("p", _D, Ids.GROUP, _P, Ids.GROUP, "copy"),
    MoveForm("p", _P, Ids.GROUP, _C, Ids.L2B, "copy"),
    MoveForm("p", _C, Ids.L2B, _P, Ids.GROUP, "copy"),
    MoveForm("p", _D, Ids.GROUP, _C, Ids.L2B, "copy"),
    MoveForm("p", _C, Ids.L2B, _D, Ids.GROUP, "copy"),
    MoveForm("p", _P, Ids.ALL, _C, Ids.EACH, "copy-each"),
    MoveForm("p", _C, Ids.EACH, _P, Ids.ALL, "copy-each"),
    MoveForm("p", _D, Ids.ALL, _C, Ids.EACH, "copy-each"),
    MoveForm("p", _C, Ids.EACH, _D, Ids.ALL, "copy-each"),
    MoveForm("p", _P, Ids.ALL, _D, Ids.ALL, "copy-each"),
    MoveForm("p", _D, Ids.ALL, _P, Ids.ALL, "copy-each"),
    # L2B index left out: accepted, means L2B 0 of each group; write `@.0` instead (isa.md 14.2).
    MoveForm("p", _C, Ids.ALL, _D, Ids.ALL, "copy-each"),
    MoveForm("p", _C, Ids.ALL, _P, Ids.ALL, "copy-each"),
    MoveForm("p", _D, Ids.ALL, _C, Ids.ALL, "copy-each"),
    MoveForm("p", _P, Ids.ALL, _C, Ids.ALL, "copy-each"),
    MoveForm("b", _P, Ids.GROUP, _C, Ids.ALL, "broadcast"),
    MoveForm("b", _D, Ids.GROUP, _C, Ids.ALL, "broadcast"),
    MoveForm("b2", _D, Ids.ALL, _C, Ids.ALL, "broadcast-group"),
    MoveForm("b4", _D, Ids.ALL, _C, Ids.ALL, "gather-groups", sized="destination", share_source=2),
    MoveForm("r", _C, Ids.ALL, _P, Ids.GROUP, "reduce"),
    MoveForm("r", _C, Ids.ALL, _D, Ids.ALL, "reduce-scatter", sized="source", share_destination=4),
    MoveForm("r2", _C, Ids.ALL, _D, Ids.ALL, "reduce-group"),
    MoveForm("r4", _C, Ids.ALL, _D, Ids.ALL, "reduce-groups-scatter", sized="source", share_destination=2),
    MoveForm("d", _P, Ids.GROUP, _D, Ids.ALL, "deal-groups", sized="source", share_destination=4),
    MoveForm("d", _D, Ids.ALL, _P, Ids.GROUP, "collect-groups", sized="destination", share_source=4),
    MoveForm("d", _P, Ids.GROUP, _C, Ids.ALL, "deal-l2b", 128, sized="source", share_destination=8),
    MoveForm("d", _C, Ids.ALL, _P, Ids.GROUP, "collect-l2b", 128, sized="destination", share_source=8),
)

FIRST_TAG, LAST_TAG, LAST_HOST_TAG = 0x01, 0xFF, 0x3F
PRIORITIES = range(4)
STEPS_PER_MOVE = 4  # one MV instruction enters every four PE steps at most
DRAM_UNIT = 16  # long words that one DAR entry addresses, and the DRAM access unit


def base_place(place: Place) -> Place:
    """`place` with `$di` counted as DRAM, as the rows of the table do."""
    return Place.DRAM if place in DRAMS else place


_BY_KEY: dict[tuple[str, Place, str, Place, str], MoveForm] = {
    (f.mode, f.source, f.source_ids, f.destination, f.destination_ids): f for f in MOVE_FORMS
}


def find_move_form(mode: str, source: Place, source_ids: str, destination: Place, ids: str) -> MoveForm | None:
    """The row for these places and ways of writing ids, or None. `$di` is looked up as DRAM."""
    return _BY_KEY.get((mode, base_place(source), source_ids, base_place(destination), ids))
