"""ALU operations to micro-operations (isa.md 9)."""

from __future__ import annotations

from typing import NamedTuple

from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.sources import source
from pfcomp.emulator.micro import ELEMENT_BITS, FORMATS, AluOp, Code, FlagRule
from pfcomp.emulator.rows import ZERO_QUAD, Value
from pfcomp.isa.model import Op, Place

_DEFAULT_LENGTH = {"d": 52, "f": 23, "g": 18, "h": 9}


class Result(NamedTuple):
    """A result's rows, its flags if a mask register takes them, and w0 if it is a constant."""

    value: Value
    flags: Value | None = None
    constant: int | None = None


_PLAIN: dict[str, AluOp] = {
    "inc": AluOp.INC,
    "dec": AluOp.DEC,
    "add": AluOp.ADD,
    "sub": AluOp.SUB,
    "not": AluOp.NOT,
    "lnot": AluOp.LNOT,
    "and": AluOp.AND,
    "or": AluOp.OR,
    "xor": AluOp.XOR,
    "lsl": AluOp.LSL,
    "lsr": AluOp.LSR,
    "bsl": AluOp.BSL,
    "bsr": AluOp.BSR,
    "packbit": AluOp.PACKBIT,
    "relu": AluOp.RELU,
    "relu1": AluOp.RELU1,
    "relu2": AluOp.RELU2,
    "relu3": AluOp.RELU3,
    "lrelud": AluOp.LRELUD,
    "lreluo": AluOp.LRELUO,
    "ilrelud": AluOp.ILRELUD,
    "rsqrt": AluOp.RSQRT,
    "floor": AluOp.FLOOR,
    "ftoi": AluOp.FTOI,
}
_EXTREMES = {
    ("max", True): AluOp.FMAX,
    ("min", True): AluOp.FMIN,
    ("max", False): AluOp.IMAX,
    ("min", False): AluOp.IMIN,
}
_ZERO_FLAG = frozenset({"passa", "not", "lnot", "and", "or", "xor", "lsl", "lsr", "bsl", "bsr"})
_SIGN_X = {"lrelud": 0, "lreluo": 0, "ilrelud": 0, "rsqrt": 0, "relu": 0, "relu1": 1, "relu2": 2, "relu3": 3}
_ARITHMETIC = frozenset({"inc", "dec", "add", "sub"})


def _flag_rule(op: Op, x: Value, y: Value | None, result: Value, bits: int) -> tuple[FlagRule, tuple[Value, ...], int]:
    """Rule, operands and bit number of an operation's flags (isa.md 9.2)."""
    name, second = op.name, y or x
    if name in _ARITHMETIC and op.unsigned:
        return (FlagRule.NO_CARRY if name == "add" else FlagRule.NO_BORROW), (x, second), 0
    if name in _SIGN_X:
        return FlagRule.BIT_CLEAR, (x,), bits - 1 - _SIGN_X[name]
    table: dict[str, tuple[FlagRule, tuple[Value, ...], int]] = {
        **dict.fromkeys(_ZERO_FLAG, (FlagRule.ZERO, (result,), 0)),
        **dict.fromkeys(_ARITHMETIC, (FlagRule.BIT_CLEAR, (result,), bits - 1)),
        **dict.fromkeys(("max", "min"), (FlagRule.EQUAL, (result, x), 0)),
        "packbit": (FlagRule.BIT_CLEAR, (second,), bits - 1),
    }
    return table.get(name, (FlagRule.NEVER, (result,), 0))


def writes_mask(op: Op) -> bool:
    """Whether a mask register takes the operation's flags."""
    return Place.MASK in [operand.place for operand in op.destinations]


def _flags(e: Emitter, op: Op, x: Value, y: Value | None, result: Value, bits: int) -> Value | None:
    if not writes_mask(op):
        return None
    flags = Value(e.temporary().hi)
    if op.unsigned and op.name in ("inc", "dec"):  # no carry: the result is not zero; no borrow: x is not zero
        tested = result if op.name == "inc" else x
        e.emit(Code.FLAG, flags, (tested,), int(FlagRule.ZERO), bits, 0)
        e.emit(Code.ALU, flags, (flags,), int(AluOp.NOT), 64, 0)
        return flags
    rule, operands, number = _flag_rule(op, x, y, result, bits)
    e.emit(Code.FLAG, flags, operands, int(rule), bits, number)
    return flags


def _immediate(e: Emitter, op: Op, out: Value) -> Result:
    word = op.immediate.word if op.immediate else 0
    e.emit(Code.FILL, out, (), word, 0 if op.name == "immu" else word)
    return Result(out, Value(ZERO_QUAD), word)


def lower(e: Emitter, op: Op, out: Value) -> Result:
    """Compute `op` into the rows `out` (`out.lo` is None where LW1 is not wanted)."""
    if op.name in ("imm", "immu"):
        return _immediate(e, op, out)
    if op.name == "zero":
        e.emit(Code.FILL, Value(out.hi), (), 0, 0)
        return Result(Value(out.hi), Value(ZERO_QUAD), 0)
    bits = ELEMENT_BITS[op.precision] if op.precision else 64
    values = [source(e, operand, op.precision, bits) for operand in op.sources]
    x, y = values[0], values[1] if len(values) > 1 else None
    low = out.lo if x.lo else None  # LW1 of x passes through; passa and bfn act on it (isa.md 9.1)
    result = Value(out.hi, low)
    if op.name == "passa":
        e.emit(Code.COPY, result, (x,), -1, 0)
        return Result(result, _flags(e, op, x, y, result, bits))
    if op.name in ("bfn", "bfe"):
        length = op.mantissa if op.mantissa is not None else _DEFAULT_LENGTH[op.precision]
        e.emit(Code.BLOCK, result, (x,), int(FORMATS[op.precision]), length, int(op.name == "bfe"))
        return Result(result, Value(ZERO_QUAD))
    flags = _element_wise(e, op, x, y, result, bits)
    return Result(result, flags)


def _element_wise(e: Emitter, op: Op, x: Value, y: Value | None, result: Value, bits: int) -> Value | None:
    high, operands = Value(result.hi), (x,) if y is None else (x, y)
    if result.lo and x.lo:
        e.emit(Code.COPY, Value(result.lo), (Value(x.lo),), -1, 0)
    if op.name in ("msl", "msr"):
        e.emit(Code.SHIFT_PE, high, (x,), 1 if op.name == "msl" else -1)
        return Value(ZERO_QUAD)
    if op.name in ("max", "min"):
        code = _EXTREMES[op.name, op.precision in "dfh"]
    elif op.name in _PLAIN:
        code = _PLAIN[op.name]
    else:
        raise e.unsupported(f"ALU operation {op.precision}{op.name}")
    e.emit(Code.ALU, high, operands, int(code), bits, int(op.unsigned))
    return _flags(e, op, x, y, high, bits)
