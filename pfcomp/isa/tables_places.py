"""Table of operand places: memories, registers, paths and ids with their sizes, units, ports and spellings.

One row for each `Place` of the model (isa.md section 3). Parser, printer, checker, packer and emulator read their
limits here.
"""

from __future__ import annotations

from dataclasses import dataclass

from .model import Place

WIDTH_LETTERS: dict[int, str] = {1: "", 2: "l", 4: "ll"}  # access width in words -> letters after `$`
WIDTH_NAMES: dict[int, str] = {1: "word", 2: "long word", 4: "two long words"}

# Ranges of the location ids: n group, c L2B in a group, b L1B in an L2B, m MAB in an L1B, p PE in a MAB.
ID_RANGES: dict[str, int] = {"n": 4, "c": 2, "b": 8, "m": 16, "p": 4}


@dataclass(frozen=True, slots=True)
class PlaceInfo:
    """One operand place.

    `size` and addresses count in `unit` ("word", "LW", "row", "entry"; "" if the place has no address). `widths` are
    the access widths in words that can be spelled; `fixed_width` is the width an operand has when none is spelled.
    `ids` are the location ids that name one instance. `port` names the read/write port group for the one-port rules
    (empty: no port limit); `shared_port` is true where read and write use one address. `mask_letter` is the letter
    of the `mask` statement that covers writes. `wraps` is true where addresses are taken modulo the size.
    """

    place: Place
    title: str
    unit: str = ""
    size: int = 0
    widths: tuple[int, ...] = ()
    fixed_width: int = 4
    ids: str = ""
    port: str = ""
    shared_port: bool = False
    mask_letter: str = ""
    first: int = 0
    debug_name: str = ""

    @property
    def wraps(self) -> bool:
        return self.unit in ("word", "LW")


_PE_WIDTHS = (1, 2, 4)
_PE_IDS = "ncbmp"


def _pe_memory(place: Place, title: str, words: int, debug: str) -> PlaceInfo:
    """LM0, LM1: one address for reads and writes; GRF0, GRF1: one for each."""
    shared, letter = place in (Place.LM0, Place.LM1), place.value
    return PlaceInfo(place, title, "word", words, _PE_WIDTHS, 2, _PE_IDS, place.name, shared, letter, debug_name=debug)


def _bar(place: Place, title: str, port: str, letter: str) -> PlaceInfo:
    return PlaceInfo(place, title, widths=(1, 2), fixed_width=2, ids=_PE_IDS, port=port, mask_letter=letter)


def _path(place: Place, title: str) -> PlaceInfo:
    return PlaceInfo(place, title, ids=_PE_IDS)


_ROWS: tuple[PlaceInfo, ...] = (
    _pe_memory(Place.LM0, "local memory 0", 4096, "LM0"),
    _pe_memory(Place.LM1, "local memory 1", 4096, "LM1"),
    _pe_memory(Place.GRF0, "register file 0", 512, "GREG0"),
    _pe_memory(Place.GRF1, "register file 1", 512, "GREG1"),
    PlaceInfo(
        Place.T, "T register, two long words for each cycle", "entry", 4, ids=_PE_IDS, port="T", mask_letter="t",
        debug_name="TREG",
    ),
    _path(Place.MAUF, "last MAU result"),
    _path(Place.ALUF, "last ALU result"),
    _path(Place.LBF, "last L1BM to PE data"),
    _path(Place.MREADF, "last matrix read"),
    PlaceInfo(Place.NOWRITE, "no destination", fixed_width=2),
    PlaceInfo(Place.L1BM, "L1B memory", "LW", 8192, (2, 4), 2, "ncb", "L1BM", debug_name="L1BM"),
    PlaceInfo(Place.TURNAROUND, "L1B turnaround register", widths=(2, 4), fixed_width=2, ids="ncb"),
    PlaceInfo(Place.L2BM, "L2B memory", "LW", 32768, (2,), 2, "nc", "L2BM", debug_name="L2BM"),
    PlaceInfo(Place.MATRIX_X, "matrix register x", "row", 16, (2, 4), 2, "ncbm", "X", debug_name="MREGX"),
    PlaceInfo(Place.MATRIX_Y, "matrix register y", "row", 16, (2, 4), 2, "ncbm", "Y", debug_name="MREGY"),
    PlaceInfo(
        Place.MASK, "mask register file", "entry", 16, fixed_width=2, ids=_PE_IDS, port="MASK", mask_letter="k",
        first=1, debug_name="OMR",
    ),
    _bar(Place.BAR0, "base address of LM0", "BAR0", "m"),
    _bar(Place.BAR1, "base address of LM1", "BAR1", "n"),
    _path(Place.L2BID, "index of the L2B in the package, 0..7"),
    _path(Place.L1BID, "index of the L1B in its L2B, 0..7"),
    _path(Place.MABID, "index of the MAB in its L1B, 0..15"),
    _path(Place.PEID, "index of the PE in its L1B, 0..63"),
    _path(Place.SUBPEID, "index of the PE in its MAB, 0..3"),
    _path(Place.MSB1, "only the sign bit of every element"),
    PlaceInfo(Place.DRAM, "DRAM of a group", "LW", 1 << 29, fixed_width=2, ids="n", debug_name="DRAM"),
    PlaceInfo(Place.DRAM_INDIRECT, "DRAM addressed through DAR entries", "entry", 1024, fixed_width=2, ids="n"),
    PlaceInfo(Place.PDM, "PDM of a group", "LW", 1 << 19, fixed_width=2, ids="n", debug_name="PDM"),
    PlaceInfo(Place.DAR, "DRAM address register file of a group", "entry", 1024, fixed_width=2, ids="n"),
)  # fmt: skip

PLACES: dict[Place, PlaceInfo] = {row.place: row for row in _ROWS}

PE_MEMORIES = frozenset({Place.LM0, Place.LM1, Place.GRF0, Place.GRF1})
LOCAL_MEMORIES = frozenset({Place.LM0, Place.LM1})
FORWARDS = frozenset({Place.MAUF, Place.ALUF, Place.LBF, Place.MREADF})
IDS = frozenset({Place.L2BID, Place.L1BID, Place.MABID, Place.PEID, Place.SUBPEID, Place.MSB1})
MATRICES = frozenset({Place.MATRIX_X, Place.MATRIX_Y})
BARS = frozenset({Place.BAR0, Place.BAR1})
DRAMS = frozenset({Place.DRAM, Place.DRAM_INDIRECT})

# Memories that `d set` may write and `d get` may read (isa.md section 19).
SETTABLE = PE_MEMORIES | {Place.T, Place.L1BM, Place.L2BM}
GETTABLE = SETTABLE | {Place.MASK, Place.DRAM, Place.PDM} | MATRICES
GET_TYPES = ("", "d", "f", "h", "bd", "bf", "bg", "bh")
