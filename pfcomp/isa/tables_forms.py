"""Vocabulary of the operation tables: operand slots, forms, flag rules and the row type `OpInfo`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .model import Place, Unit
from .tables_places import BARS, FORWARDS, IDS, MATRICES, PE_MEMORIES


class Flag(StrEnum):
    """Condition under which an operation sets flag bit 1 (isa.md 7.3 and 9.2); the value is its description."""

    NONE = "no flag"
    ZERO = "element of the result is all zero bits"
    NONNEGATIVE = "signed: wrapped result >= 0; unsigned: no carry or borrow"
    CHOSEN = "x was chosen or x equals y"
    MSB_Y = "the top bit of y is 0"
    TEST_BIT = "the tested bit of x is 0"
    SIGN_X = "the sign bit of x is 0"
    POSITIVE = "the sign bit of the result is 0"


class Direction(StrEnum):
    """Which way a form moves data."""

    PE = "pe"  # inside the PE (ALU, MAU) or between PE and matrix registers
    DOWN = "down"  # towards the PEs: L1BM to PE, L2BM to L1BM
    UP = "up"  # towards DRAM: PE to L1BM, L1BM to L2BM
    SIDE = "side"  # L1BM to L1BM, L2BM to DARBUF
    NONE = "none"  # no operands


@dataclass(frozen=True, slots=True)
class Slot:
    """What one operand position accepts.

    `suffixes` maps a suffix letter ("e", "r") to the precisions of the operation that allow it. `row` is None where
    it does not matter, True where a matrix operand needs a row, False where it must not have one. `widths` limits
    the access width in words (empty: those of the place). `l2b` is true where an L2BM operand must name its L2B (and
    only that); elsewhere operands of operations carry no location.
    """

    name: str
    places: frozenset[Place]
    negate: bool = False
    suffixes: tuple[tuple[str, str], ...] = ()
    mask: bool = False
    row: bool | None = None
    widths: tuple[int, ...] = ()
    l2b: bool = False

    def allows_suffix(self, suffix: str, precision: str) -> bool:
        """True if `suffix` ("", "e" or "r") may stand on this operand of an operation of that precision."""
        return suffix == "" or any(s == suffix and precision in p for s, p in self.suffixes)


@dataclass(frozen=True, slots=True)
class Form:
    """One operand pattern of an operation: the sources in order, then `least`..`most` destinations."""

    direction: Direction
    sources: tuple[Slot, ...] = ()
    destination: Slot | None = None
    least: int = 1
    most: int = 1


@dataclass(frozen=True, slots=True)
class OpInfo:
    """One operation; the key of the table is `name`, which is also `Op.name`.

    precisions: letters that may stand before the name ("" if none stands there); unsigned: those that also take the
    prefix `u`; half_select: precisions that need `u` or `d` (split double multiply); narrow: precisions (or, for
    reductions, first letters of the reduction) that may take `r`; mantissa: lengths for `/6../9` and `default` when
    not given; select: number of values of `@k` (0: none), select_required; shift: largest n of `+n`/`-n` (0: none);
    l1b_set: "", "optional" or "required"; lanes128: True if both long words are computed, False if LW1 of x passes
    through or is defined by the unit; kind: "I", "F", "B" or "" (isa.md 9.2).
    """

    name: str
    unit: Unit
    forms: tuple[Form, ...]
    meaning: str
    precisions: tuple[str, ...] = ("",)
    kind: str = ""
    unsigned: tuple[str, ...] = ()
    half_select: tuple[str, ...] = ()
    narrow: str = ""
    mantissa: tuple[str, ...] = ()
    zero_flush: bool = False
    reduction: bool = False
    select: int = 0
    select_required: bool = False
    shift: int = 0
    l1b_set: str = ""
    immediate: bool = False
    lanes128: bool = False
    flag: Flag = Flag.NONE
    aliases: tuple[str, ...] = ()
    section: str = ""


_T_AND_PATHS = frozenset({Place.T, Place.MAUF, Place.ALUF, Place.LBF})
INPUTS = PE_MEMORIES | _T_AND_PATHS
PE_OUTPUTS = PE_MEMORIES | {Place.T, Place.NOWRITE}
UNIT_OUTPUTS = PE_OUTPUTS | BARS | {Place.MASK}

ALU_X = Slot("first ALU input", INPUTS | FORWARDS | IDS, suffixes=(("r", "h"),))
ALU_Y = Slot("second ALU input", INPUTS, suffixes=(("r", "h"),))
# isa.md section 10: `e` supplies an input one precision lower; h multiplies take halves, adds take singles.
MAU_MUL = Slot("MAU factor", INPUTS, negate=True, suffixes=(("e", "df"), ("r", "h")))
MAU_ADD = Slot("MAU addend", INPUTS, negate=True, suffixes=(("e", "dfh"),))
MATVEC_X = Slot("vector operand", INPUTS, negate=True)
MATVEC_Y = Slot("matvec addend", INPUTS, negate=True, suffixes=(("e", "dfgh"),))
MATRIX = Slot("matrix", MATRICES, row=False, widths=(2,))
MATRIX_ROW = Slot("matrix row", MATRICES, row=True)
MWRITE_X = Slot("row data", INPUTS, negate=True, suffixes=(("e", "dfgh"), ("r", "dfgh")))
RESULT = Slot("destination", UNIT_OUTPUTS, mask=True)
DATA_RESULT = Slot("destination", PE_OUTPUTS, mask=True)
UP_X = Slot("PE source", INPUTS)
UP_REDUCED = Slot("PE source", INPUTS, suffixes=(("e", "f"),))
L1BM_SOURCE = Slot("L1BM source", frozenset({Place.L1BM, Place.TURNAROUND}))
L1BM_TARGET = Slot("L1BM destination", frozenset({Place.L1BM, Place.TURNAROUND}))
L1BM_LONG_SOURCE = Slot("L1BM source", L1BM_SOURCE.places, widths=(2,))
L1BM_LONG_TARGET = Slot("L1BM destination", L1BM_TARGET.places, widths=(2,))
L1BM_SIDE = Slot("L1BM address", frozenset({Place.L1BM}), widths=(2,))
L2BM_SIDE = Slot("L2BM address", frozenset({Place.L2BM}))
DAR_SOURCE = Slot("L2BM address", frozenset({Place.L2BM}), l2b=True)
DAR_TARGET = Slot("DAR entry", frozenset({Place.DAR}))

# Number of destinations: one write port for each of LM0 LM1 GRF0 GRF1 T MASK BAR0 BAR1.
MOST_DESTINATIONS = 8


def pe_form(*sources: Slot, destination: Slot = RESULT) -> Form:
    """Form of an ALU, MAU or matrix read operation: sources, then one to eight destinations."""
    return Form(Direction.PE, sources, destination, 1, MOST_DESTINATIONS)
