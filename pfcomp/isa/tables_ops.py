"""Table of ALU, MAU and matrix operations (isa.md sections 9 to 11)."""

from __future__ import annotations

from .model import Unit
from .tables_forms import (
    ALU_X,
    ALU_Y,
    DATA_RESULT,
    MATRIX,
    MATRIX_ROW,
    MATVEC_X,
    MATVEC_Y,
    MAU_ADD,
    MAU_MUL,
    MWRITE_X,
    Direction,
    Flag,
    Form,
    OpInfo,
    pe_form,
)

INTEGER = ("l", "i", "s")
FLOAT = ("d", "f", "h")
MATRIX_FLOAT = ("d", "f", "g", "h")
KINDS: dict[str, tuple[str, ...]] = {"I": INTEGER, "F": FLOAT, "B": INTEGER + FLOAT, "": ("",)}

_X, _XY, _NO_INPUT = pe_form(ALU_X), pe_form(ALU_X, ALU_Y), pe_form()


def _alu(
    name: str,
    kind: str,
    form: Form,
    meaning: str,
    flag: Flag = Flag.NONE,
    *,
    unsigned: tuple[str, ...] = (),
    lanes128: bool = False,
    immediate: bool = False,
    aliases: tuple[str, ...] = (),
    section: str = "9.2",
) -> OpInfo:
    return OpInfo(
        name, Unit.ALU, (form,), meaning, KINDS[kind], kind, unsigned, zero_flush=True, lanes128=lanes128,
        immediate=immediate, flag=flag, aliases=aliases, section=section,
    )  # fmt: skip


def _normalise(name: str, precisions: tuple[str, ...], meaning: str, section: str) -> OpInfo:
    """`bfn`, `bfe`: the half forms take a mantissa length."""
    return OpInfo(
        name, Unit.ALU, (_X,), meaning, precisions, "F", mantissa=("h",), zero_flush=True, lanes128=True,
        section=section,
    )  # fmt: skip


ALU_OPS: tuple[OpInfo, ...] = (
    _alu("zero", "", _NO_INPUT, "all 128 bits are 0", lanes128=True),
    _alu("imm", "", _NO_INPUT, "the literal's word W in all four words", lanes128=True, immediate=True, section="5.4"),
    _alu("immu", "", _NO_INPUT, "the words W, 0, W, 0", lanes128=True, immediate=True, section="5.4"),
    _alu("passa", "B", _X, "copy of x", Flag.ZERO, lanes128=True),
    _alu("msl", "", _X, "LW0 of PE (p-1) mod 4 of the same MAB"),
    _alu("msr", "", _X, "LW0 of PE (p+1) mod 4 of the same MAB"),
    _alu("inc", "I", _X, "x + 1, wrapping", Flag.NONNEGATIVE, unsigned=INTEGER),
    _alu("dec", "I", _X, "x - 1, wrapping", Flag.NONNEGATIVE, unsigned=INTEGER),
    _alu("add", "I", _XY, "x + y, wrapping", Flag.NONNEGATIVE, unsigned=INTEGER),
    _alu("sub", "I", _XY, "x - y, wrapping", Flag.NONNEGATIVE, unsigned=INTEGER),
    _alu("not", "I", _X, "every bit of x inverted", Flag.ZERO),
    _alu("lnot", "I", _X, "1 if x is 0, else 0", Flag.ZERO),
    _alu("and", "I", _XY, "bitwise and", Flag.ZERO),
    _alu("or", "I", _XY, "bitwise or", Flag.ZERO),
    _alu("xor", "I", _XY, "bitwise exclusive or", Flag.ZERO),
    _alu("lsl", "I", _XY, "x shifted left by y mod width", Flag.ZERO),
    _alu("lsr", "I", _XY, "x shifted right by y mod width, arithmetic; logical with u", Flag.ZERO, unsigned=INTEGER),
    _alu("bsl", "I", _XY, "x rotated left by y mod width", Flag.ZERO),
    _alu("bsr", "I", _XY, "x rotated right by y mod width", Flag.ZERO),
    _alu("max", "B", _XY, "the larger of x and y", Flag.CHOSEN, unsigned=INTEGER, section="9.3"),
    _alu("min", "B", _XY, "the smaller of x and y", Flag.CHOSEN, unsigned=INTEGER, section="9.3"),
    _alu("packbit", "B", _XY, "(x << 1) | top bit of y", Flag.MSB_Y),
    _alu("relu", "F", _XY, "y if the sign bit of x is 0, else -0", Flag.TEST_BIT, aliases=("relu0",)),
    _alu("relu1", "F", _XY, "y if the bit below the sign of x is 0, else -0", Flag.TEST_BIT),
    _alu("relu2", "F", _XY, "y if the second bit below the sign of x is 0, else -0", Flag.TEST_BIT),
    _alu("relu3", "F", _XY, "y if the third bit below the sign of x is 0, else -0", Flag.TEST_BIT),
    _alu("lrelud", "F", _XY, "y if the sign of x is 0, else y/2", Flag.SIGN_X),
    _alu("lreluo", "F", _XY, "y if the sign of x is 0, else y/8", Flag.SIGN_X),
    _alu("ilrelud", "F", _XY, "y if the sign of x is 0, else 2y", Flag.SIGN_X),
    _alu("rsqrt", "F", _X, "about 1/sqrt(|x|), from a table", Flag.SIGN_X, section="9.4"),
    _alu("floor", "F", _X, "x rounded towards minus infinity", section="9.5"),
    _alu("ftoi", "F", _X, "x as integer of the same width, towards zero, saturating", unsigned=FLOAT, section="9.5"),
    _normalise("bfn", MATRIX_FLOAT, "x as block float", "18.5"),
    _normalise("bfe", ("h",), "x as extended half block float", "18.6"),
)  # fmt: skip


def _mau(name: str, precisions: tuple[str, ...], form: Form, meaning: str, *, split: bool, section: str) -> OpInfo:
    return OpInfo(
        name, Unit.MAU, (form,), meaning, precisions, "F", half_select=("d",) if split else (),
        narrow="".join(precisions), zero_flush=True, flag=Flag.POSITIVE, section=section,
    )  # fmt: skip


MAU_OPS: tuple[OpInfo, ...] = (
    _mau("vfma", FLOAT, pe_form(MAU_MUL, MAU_MUL, MAU_ADD), "x*y + z", split=True, section="10"),
    _mau("vmul", FLOAT, pe_form(MAU_MUL, MAU_MUL), "x*y", split=True, section="10"),
    _mau("vadd", FLOAT, pe_form(MAU_MUL, MAU_ADD), "x + z", split=False, section="10"),
    _mau("vpassa", FLOAT, pe_form(MAU_MUL), "x normalised", split=False, section="10"),
    _mau(
        "mfma", MATRIX_FLOAT, pe_form(MATRIX, MATVEC_X, MATVEC_Y), "matrix times vector x, plus y", split=True,
        section="11.3",
    ),
    _mau("mmul", MATRIX_FLOAT, pe_form(MATRIX, MATVEC_X), "matrix times vector x", split=True, section="11.3"),
)  # fmt: skip

MATRIX_OPS: tuple[OpInfo, ...] = (
    OpInfo(
        "mwrite", Unit.MWRITE, (Form(Direction.PE, (MWRITE_X,), MATRIX_ROW),), "PE data to matrix rows",
        MATRIX_FLOAT, "F", section="11.1",
    ),
    OpInfo(
        "mread", Unit.MREAD, (pe_form(MATRIX_ROW, destination=DATA_RESULT),), "matrix columns to PEs (transposed)",
        MATRIX_FLOAT, "F", zero_flush=True, lanes128=True, section="11.2",
    ),
)  # fmt: skip

# Rows and columns of a matrix register, and rows written or read by one step: precision -> (size, {width: rows}).
MATRIX_SHAPES: dict[str, tuple[int, dict[int, int]]] = {
    "d": (4, {2: 4}),
    "f": (8, {2: 4}),
    "g": (8, {2: 4}),
    "h": (16, {2: 4, 4: 8}),
}
MREAD_WIDTHS: dict[str, tuple[int, ...]] = {"d": (2,), "f": (2,), "g": (2,), "h": (4,)}  # isa.md 11.2: h always ll
