"""MAU operations and matrix registers to micro-operations (isa.md 10, 11)."""

from __future__ import annotations

from pfcomp.emulator.lower.alu import Result, writes_mask
from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.sources import source
from pfcomp.emulator.micro import ELEMENT_BITS, FORMATS, Code, FlagRule, VectorOp
from pfcomp.emulator.rows import MATRIX_ROW, Quad, Value
from pfcomp.isa.model import CYCLES, Op, Operand

_VECTOR = {"vfma": VectorOp.FMA, "vmul": VectorOp.MUL, "vadd": VectorOp.ADD, "vpassa": VectorOp.PASSA}
_HALF_SELECT = {"": 0, "u": 1, "d": 2}
MATRIX_SIZE = {"d": 4, "f": 8, "g": 8, "h": 16}


def low_half(op: Op, out: Value) -> Value:
    """Rows of a MAU result: four singles of half operations fill both long words, all others leave LW1 zero.

    Whether single and double operations duplicate LW0 into LW1 instead is UNCERTAIN (isa.md 24.6).
    """
    return out if op.precision == "h" and not op.narrow else Value(out.hi)


def _negate_bits(operands: tuple[Operand, ...]) -> int:
    bits = 0
    for i, operand in enumerate(operands):
        bits |= operand.negate << i
    return bits


def _flags(e: Emitter, op: Op, result: Value) -> Value | None:
    """NOT sign of each output value (isa.md 7.3)."""
    if not writes_mask(op):
        return None
    flags = Value(e.temporary().hi)
    if op.precision == "h":
        rule, bits = (FlagRule.BIT_CLEAR, 16) if op.narrow else (FlagRule.SIGNS4, 32)
        e.emit(Code.FLAG, flags, (result,), int(rule), bits, 15)
    elif op.narrow and op.precision == "d":  # one result in w0
        e.emit(Code.FLAG, flags, (result,), int(FlagRule.BIT_CLEAR), 64, 63)
    elif op.narrow:
        _pair_flags(e, result, flags)
    else:
        bits = ELEMENT_BITS[op.precision]
        e.emit(Code.FLAG, flags, (result,), int(FlagRule.BIT_CLEAR), bits, bits - 1)
    return flags


def _pair_flags(e: Emitter, result: Value, flags: Value) -> None:
    """Two halves in w0: their flags go to two nibble bits each, as for the singles they were rounded from."""
    wide = Value(e.temporary().hi)
    e.emit(Code.WIDEN, wide, (result,), 0)
    e.emit(Code.FLAG, flags, (wide,), int(FlagRule.BIT_CLEAR), 32, 31)


def lower_vector(e: Emitter, op: Op, out: Value) -> Result:
    """`vfma`, `vmul`, `vadd`, `vpassa`."""
    if op.precision not in ("d", "f", "h"):
        raise e.unsupported(f"vector operation in precision {op.precision}")
    bits = ELEMENT_BITS[op.precision]
    values = tuple(source(e, operand, op.precision, bits) for operand in op.sources)
    result = low_half(op, out)
    e.emit(
        Code.VECTOR, result, values, int(_VECTOR[op.name]), int(FORMATS[op.precision]), _negate_bits(op.sources),
        int(op.narrow), _HALF_SELECT[op.half_select],
    )  # fmt: skip
    return Result(result, _flags(e, op, result))


def lower_matrix(e: Emitter, op: Op, out: Value) -> Result:
    """`mfma`, `mmul`."""
    matrix, *operands = op.sources
    bits = ELEMENT_BITS[op.precision]
    values = tuple(source(e, operand, op.precision, bits) for operand in operands)
    result = low_half(op, out)
    e.emit(
        Code.MATVEC, result, values, MATRIX_ROW[matrix.place], int(FORMATS[op.precision]),
        _negate_bits(tuple(operands)), int(op.narrow), _HALF_SELECT[op.half_select], int(len(values) > 1),
    )  # fmt: skip
    return Result(result, _flags(e, op, result))


def lower_mread(e: Emitter, op: Op, out: Value) -> Result:
    """`mread`: h forms deliver two long words."""
    matrix = op.sources[0]
    row = matrix.address.base if matrix.address else 0
    result = out if op.precision == "h" else Value(out.hi)
    e.emit(Code.MREAD, result, (), MATRIX_ROW[matrix.place], row, int(FORMATS[op.precision]))
    return Result(result)


def matrix_rows(operand: Operand, precision: str) -> Value:
    """Rows of `mem` that a step's four cycles of mwrite go to (isa.md 11.1)."""
    size, base = MATRIX_SIZE[precision], MATRIX_ROW[operand.place]
    first = operand.address.base if operand.address else 0
    step = 2 if operand.width == 4 else 1

    def quad(offset: int) -> Quad:
        a, b, c, d = (base + (first + step * cycle + offset) % size for cycle in range(CYCLES))
        return (a, b, c, d)

    return Value(quad(0), quad(1) if operand.width == 4 else None)


def lower_mwrite(e: Emitter, op: Op) -> None:
    """`mwrite`: a plain copy, because a matrix row lies in its PEs' long words."""
    operand = op.sources[0]
    value = source(e, operand, op.precision, ELEMENT_BITS[op.precision])
    if operand.negate:
        home = e.temporary()
        flipped = Value(home.hi, home.lo if value.lo else None)
        e.emit(Code.NEGATE, flipped, (value,), ELEMENT_BITS[op.precision])
        value = flipped
    e.emit(Code.COPY, matrix_rows(op.destinations[0], op.precision), (value,), -1, 0)
