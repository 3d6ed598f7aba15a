"""Micro-operations: what a step becomes, with every row of every cycle spelled out.

The translator (`lower`) writes them once for a program; both engines interpret the same list. A micro-operation reads
all its source rows before it writes, so a step keeps "reads before writes" by computing into scratch slots first and
storing afterwards.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from pfcomp.emulator.rows import Value


class Code(IntEnum):
    """Kind of a micro-operation; the comment gives its `params`."""

    COPY = 0  # mask_row (-1 none), two_long
    LOAD_WORD = 1  # half of each cycle (0 MSB word, 1 LSB word)
    STORE_WORD = 2  # half of each cycle, mask_row, two_long
    GATHER = 3  # memory base row, words, width, 4 addresses, use_t, neighbour (-1 none), bar row (-1 none)
    SCATTER = 4  # as GATHER, then mask_row, two_long, enabled cycles (bit 3 is cycle 0)
    FLUSH = 5  # mask_row, two_long: zero the pieces whose mask bit is 0
    FILL = 6  # high word, low word: constant long word in LW0 (and LW1)
    STORE_MASK = 7  # mask_row of the write mask (-1 none)
    SET_BAR = 8  # mask_row, two_long
    WIDEN = 9  # Conversion
    NEGATE = 10  # element bits
    ALU = 16  # AluOp, element bits, unsigned
    FLAG = 17  # FlagRule, element bits, bit number
    SHIFT_PE = 18  # distance: PE p receives PE (p - distance) mod 4
    BLOCK = 19  # element format (0 d 1 f 2 g 3 h), mantissa length, extended
    VECTOR = 24  # VectorOp, format, negate bits, narrow, half select (0 none, 1 u, 2 d)
    MATVEC = 25  # register row, format, negate bits, narrow, half select, add
    MREAD = 26  # register row, first row, format
    L1_DOWN = 32  # L1Kind, address, two_lw, shift, turnaround
    L1_UP = 33  # L1Kind, address (-1 turnaround only), two_lw, shift, select, reduction, widen, narrow
    L2 = 34  # L2Kind, L2BM address, L1BM address, members (bit set) or source, reduction
    DAR_READ = 35  # L2BM address, L2B of the group, first entry
    DAR_WRITE = 36  # none
    MOVE = 40  # index into the table of moves
    GET = 41  # index into the table of debug statements
    SET = 42  # index into the table of debug statements


class Micro(NamedTuple):
    """One micro-operation: destination rows, source rows and the parameters listed at `Code`."""

    code: Code
    dst: Value | None
    src: tuple[Value, ...]
    params: tuple[int, ...]
    line: int


class Conversion(IntEnum):
    """Operand suffixes and the shape they imply."""

    HALF2_TO_SINGLE2 = 0  # two halves of w0 -> LW0
    HALF4_TO_SINGLE4 = 1  # four halves of LW0 -> LW0, LW1
    SINGLE_TO_DOUBLE = 2  # w0 -> LW0
    SINGLE4_TO_HALF4 = 3  # LW0, LW1 -> four halves of LW0


class Format(IntEnum):
    """Floating-point element of a MAU operation."""

    D = 0
    F = 1
    G = 2
    H = 3


FORMATS = {"d": Format.D, "f": Format.F, "g": Format.G, "h": Format.H}


class AluOp(IntEnum):
    """Element-wise ALU operations (isa.md 9.2)."""

    INC = 0
    DEC = 1
    ADD = 2
    SUB = 3
    NOT = 4
    LNOT = 5
    AND = 6
    OR = 7
    XOR = 8
    LSL = 9
    LSR = 10
    BSL = 11
    BSR = 12
    IMAX = 13
    IMIN = 14
    PACKBIT = 15
    RELU = 16
    RELU1 = 17
    RELU2 = 18
    RELU3 = 19
    LRELUD = 20
    LRELUO = 21
    ILRELUD = 22
    RSQRT = 23
    FLOOR = 24
    FTOI = 25
    FMAX = 26
    FMIN = 27


class FlagRule(IntEnum):
    """Condition under which an element's flag is 1 (isa.md 7.3, 9.2)."""

    ZERO = 0  # src[0] element is zero
    BIT_CLEAR = 1  # bit `number` of src[0] element is 0
    NO_CARRY = 2  # src[0] + src[1] fits, unsigned
    NO_BORROW = 3  # src[0] >= src[1], unsigned
    EQUAL = 4  # src[0] == src[1]
    SIGNS4 = 5  # sign bits of the four words of src[0] are 0: one nibble bit each
    NEVER = 6  # an operation without flags


class VectorOp(IntEnum):
    """Vector forms of the MAU."""

    FMA = 0
    MUL = 1
    ADD = 2
    PASSA = 3


class L1Kind(IntEnum):
    """Address maps between L1BM and PEs (isa.md 12.1)."""

    P = 0
    M = 1
    M4 = 2
    D = 3


class L2Kind(IntEnum):
    """Transfers between L2BM and L1BM (isa.md 13)."""

    BROADCAST = 0
    BROADCAST2 = 1
    SPREAD = 2
    COLLECT = 3
    TAKE = 4
    REDUCE = 5
    REDUCE2 = 6
    INTERNAL = 7


class Reduction(IntEnum):
    """Operators of reductions; the element is in the table below."""

    FADD = 0
    MAX = 1
    MIN = 2
    IADD = 3
    BAND = 4
    BOR = 5
    AND = 6
    OR = 7


REDUCTIONS = {
    "fadd": Reduction.FADD,
    "max": Reduction.MAX,
    "min": Reduction.MIN,
    "iadd": Reduction.IADD,
    "band": Reduction.BAND,
    "bor": Reduction.BOR,
    "and": Reduction.AND,
    "or": Reduction.OR,
}
ELEMENT_BITS = {"d": 64, "l": 64, "f": 32, "i": 32, "g": 32, "h": 16, "s": 16}


def reduction_code(text: str) -> int:
    """Number of a reduction such as `dfadd` or `lbor`: 8·(0 for 64 bit, 1 for 32, 2 for 16) + operator."""
    width = {64: 0, 32: 1, 16: 2}[ELEMENT_BITS[text[0]]]
    return 8 * width + REDUCTIONS[text[1:]]
