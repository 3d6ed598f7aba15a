"""Table of L1BM and L2BM operations and of the reduction operators (isa.md sections 12, 13 and 15)."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Unit
from .tables_forms import (
    DAR_SOURCE,
    DAR_TARGET,
    DATA_RESULT,
    L1BM_LONG_SOURCE,
    L1BM_LONG_TARGET,
    L1BM_SIDE,
    L1BM_SOURCE,
    L1BM_TARGET,
    L2BM_SIDE,
    MOST_DESTINATIONS,
    UP_REDUCED,
    UP_X,
    Direction,
    Form,
    OpInfo,
)


@dataclass(frozen=True, slots=True)
class ReductionInfo:
    """A reduction operator of l1bmr, l1bmr4, l2bmr, l2bmr2 and mvr*: precision letter, function, meaning.

    `two_long` is true where the 2LW form of l1bmr exists (isa.md 12.1: single floats and bitwise or).
    """

    name: str
    precision: str
    function: str
    meaning: str

    @property
    def two_long(self) -> bool:
        return self.function == "bor" or (self.precision in "fh" and self.function in ("fadd", "max", "min"))


_FUNCTIONS: dict[str, tuple[str, str]] = {
    "fadd": ("dfh", "floating sum"),
    "max": ("dfh", "maximum of sign-magnitude patterns"),
    "min": ("dfh", "minimum of sign-magnitude patterns"),
    "iadd": ("lis", "wrapping integer sum"),
    "band": ("lis", "bitwise and"),
    "and": ("lis", "logical and: 0 or 1"),
    "bor": ("lis", "bitwise or"),
    "or": ("lis", "logical or: 0 or 1"),
}

REDUCTIONS: dict[str, ReductionInfo] = {
    precision + function: ReductionInfo(precision + function, precision, function, meaning)
    for function, (precisions, meaning) in _FUNCTIONS.items()
    for precision in precisions
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """Addresses of an L1BM or L2BM transfer, in long words for one step of four cycles.

    `span1`, `span2`: long words touched in L1BM by the 1LW and 2LW form (0: form does not exist); `l2bm`: long words
    touched in L2BM. `align1`, `align2`: the manual's alignment of the L1BM address for the two forms; `accepted`: the
    alignment that published programs rely on; `l2bm_align`, `l2bm_accepted`: the same for the L2BM address.
    """

    span1: int
    span2: int = 0
    l2bm: int = 0
    align1: int = 1
    align2: int = 1
    accepted: int = 4
    l2bm_align: int = 1
    l2bm_accepted: int = 16


TRANSFERS: dict[str, Transfer] = {
    "l1bmp": Transfer(4, 8, align1=4, align2=8),
    "l1bmm": Transfer(16, 32, align1=16, align2=32),
    "l1bmr": Transfer(16, 32, align1=16, align2=32),
    "l1bmm4": Transfer(64, 128, align1=64, align2=128),
    "l1bmr4": Transfer(64, 128, align1=64, align2=128),
    "l1bmd": Transfer(256, align1=64, accepted=64),
    "l2bmb": Transfer(64, l2bm=64, align1=64, accepted=16, l2bm_align=64),
    "l2bmb2": Transfer(64, l2bm=256, align1=64, accepted=16, l2bm_align=256),
    "l2bmd": Transfer(32, l2bm=256, align1=32, accepted=32, l2bm_align=256, l2bm_accepted=64),
    "l2bm": Transfer(64, l2bm=64, align1=64, accepted=16, l2bm_align=64),
    "l2bmr": Transfer(64, l2bm=64, align1=64, accepted=16, l2bm_align=64),
    "l2bmr2": Transfer(64, l2bm=256, align1=64, accepted=16, l2bm_align=256),
    "l2bmi": Transfer(64, align1=64, accepted=16),
    "l2bmdars": Transfer(0, l2bm=256, accepted=1, l2bm_align=64),
}

_DOWN = Form(Direction.DOWN, (L1BM_SOURCE,), DATA_RESULT, 1, MOST_DESTINATIONS)
_DOWN_LONG = Form(Direction.DOWN, (L1BM_LONG_SOURCE,), DATA_RESULT, 1, MOST_DESTINATIONS)
_UP = Form(Direction.UP, (UP_X,), L1BM_TARGET)
_UP_LONG = Form(Direction.UP, (UP_X,), L1BM_LONG_TARGET)
_UP_REDUCED = Form(Direction.UP, (UP_REDUCED,), L1BM_TARGET)


def _l1bm(name: str, meaning: str, *forms: Form, select: int = 0, reduction: bool = False, shift: int = 0) -> OpInfo:
    """An L1BM row; a down transfer whose source is `$lbi` is issued by `Unit.L1BM_TURNAROUND` instead."""
    return OpInfo(
        name, Unit.L1BM, forms, meaning, narrow="f" if reduction else "", zero_flush=not reduction,
        reduction=reduction, select=select, shift=shift, section="12.1",
    )  # fmt: skip


L1BM_OPS: tuple[OpInfo, ...] = (
    _l1bm("l1bmp", "the same long words to every PE", _DOWN),
    _l1bm("l1bmm", "a row of the four PEs to all MABs; with @m from MAB m to L1BM", _DOWN, _UP, select=16),
    _l1bm("l1bmr", "reduction over the 16 MABs to L1BM", _UP_REDUCED, reduction=True),
    _l1bm("l1bmm4", "a row for each quarter of the MABs; with @k from MAB k of each quarter", _DOWN, _UP, select=4),
    _l1bm("l1bmr4", "reduction over the four MABs of each quarter to L1BM", _UP_REDUCED, reduction=True),
    _l1bm("l1bmd", "one long word for each PE; +n, -n rotate the MABs", _DOWN_LONG, _UP_LONG, shift=15),
)

_TO_L1BM = Form(Direction.DOWN, (L2BM_SIDE,), L1BM_SIDE)
_TO_L2BM = Form(Direction.UP, (L1BM_SIDE,), L2BM_SIDE)


def _l2bm(name: str, meaning: str, *forms: Form, l1b_set: str = "", section: str = "13") -> OpInfo:
    reduces = name.startswith("l2bmr")
    selects = 8 if name == "l2bm" else 0
    return OpInfo(
        name, Unit.L2BM, forms, meaning, reduction=reduces, select=selects, select_required=bool(selects),
        l1b_set=l1b_set, section=section,
    )  # fmt: skip


L2BM_OPS: tuple[OpInfo, ...] = (
    _l2bm("l2bmb", "64 LW to every L1B of the set", _TO_L1BM, l1b_set="optional"),
    _l2bm("l2bmb2", "64 LW to each pair of L1Bs", _TO_L1BM, l1b_set="optional"),
    _l2bm("l2bmd", "32 LW to or from each L1B", _TO_L1BM, _TO_L2BM, l1b_set="optional"),
    _l2bm("l2bm", "64 LW from one L1B", _TO_L2BM),
    _l2bm("l2bmr", "reduction over the L1Bs of the set", _TO_L2BM, l1b_set="optional"),
    _l2bm("l2bmr2", "reduction over each pair of L1Bs", _TO_L2BM),
    _l2bm("l2bmi", "from one L1B of each part of the set to all of the part",
          Form(Direction.SIDE, (L1BM_SIDE,), L1BM_SIDE), l1b_set="required", section="13.1"),
    _l2bm("l2bmdars", "256 LW of L2BM to the DAR buffer", Form(Direction.SIDE, (DAR_SOURCE,), DAR_TARGET),
          section="13.2"),
    OpInfo("l2bmdarw", Unit.DAR_WRITE, (Form(Direction.NONE, least=0, most=0),), "DAR buffer to DAR, four entries",
           section="13.2"),
)  # fmt: skip
