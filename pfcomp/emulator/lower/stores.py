"""Results to destinations: width rules, write masks, per-PE addresses (isa.md 4, 6, 7)."""

from __future__ import annotations

from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.sources import BAR_OF, gather_params, known_bar, per_pe, rows, words
from pfcomp.emulator.micro import Code
from pfcomp.emulator.rows import BAR_ROW, MASK_ROW, MEMORIES, T_VALUE, TRASH, ZERO, ZERO_QUAD, Quad, Value, same
from pfcomp.isa.model import CYCLES, Address, MaskRef, Op, Operand, Place

_START = Address(0)
_BARS = {bar: memory for memory, bar in BAR_OF.items()}


def cycles_on(mask: MaskRef) -> int:
    """Enabled cycles of a fixed pattern, bit 3 for cycle 0 (isa.md 3.1)."""
    return mask.entry - 16


def _select(quad: Quad, mask: MaskRef, other: int) -> Quad:
    """`quad` with the cycles that a fixed mask disables replaced by the row `other`."""
    on = cycles_on(mask)
    a, b, c, d = (row if on >> (CYCLES - 1 - i) & 1 else other for i, row in enumerate(quad))
    return (a, b, c, d)


def mask_params(mask: MaskRef | None) -> tuple[int, int]:
    """First row of a variable mask entry (-1: none) and whether it covers 2LW."""
    if mask is None or mask.fixed:
        return (-1, 0)
    return (MASK_ROW + CYCLES * mask.entry, int(mask.length == "ll"))


def _rows_store(e: Emitter, dst: Value, value: Value, mask: MaskRef | None) -> None:
    if mask is not None and mask.fixed:
        low = _select(dst.lo, mask, TRASH) if dst.lo and mask.length == "ll" else dst.lo
        dst = Value(_select(dst.hi, mask, TRASH), low)
    e.emit(Code.COPY, dst, (value,), *mask_params(mask))


def _memory_store(e: Emitter, operand: Operand, value: Value, mask: MaskRef | None) -> None:
    if per_pe(e, operand):
        on = cycles_on(mask) if mask is not None and mask.fixed else 15
        two = int(mask is not None and mask.length == "ll")
        row, _ = mask_params(mask)
        e.emit(Code.SCATTER, None, (value,), *gather_params(e, operand), row, two, on)
        return
    address, bar = operand.address or _START, known_bar(e, operand.place)
    if operand.width > 1:
        _rows_store(e, rows(operand.place, operand.width, address, bar), value, mask)
        return
    where = words(operand.place, 1, address, bar)
    base = MEMORIES[operand.place].base
    a, b, c, d = (base + (x >> 1) for x in where)
    quad: Quad = (a, b, c, d)
    if mask is not None and mask.fixed:
        quad = _select(quad, mask, TRASH)
    e.emit(Code.STORE_WORD, Value(quad), (value,), *(x & 1 for x in where), *mask_params(mask))


def _bar_store(e: Emitter, place: Place, value: Value, mask: MaskRef | None, constant: int | None) -> None:
    quad = same(BAR_ROW[place])
    if mask is not None and mask.fixed:
        quad = _select(quad, mask, TRASH)
    e.emit(Code.SET_BAR, Value(quad), (value,), *mask_params(mask))
    e.bars[place] = constant & 0xFFF if constant is not None and mask is None else None


def store(e: Emitter, operand: Operand, value: Value, flags: Value | None, constant: int | None) -> None:
    """One destination. `constant` is w0 of the result if it is the same known number everywhere."""
    place = operand.place
    mask = e.mask_of(place, operand.mask)
    if place in MEMORIES:
        _memory_store(e, operand, value, mask)
    elif place == Place.T:
        _rows_store(e, T_VALUE, value, mask)
    elif place == Place.MASK:
        _mask_store(e, operand, flags, mask)
    elif place in _BARS:
        _bar_store(e, place, value, mask, constant)
    elif place != Place.NOWRITE:
        raise e.unsupported(f"${place} as destination of this operation")


def _mask_store(e: Emitter, operand: Operand, flags: Value | None, mask: MaskRef | None) -> None:
    entry = operand.address.base if operand.address else 0
    quad: Quad = (row := MASK_ROW + CYCLES * (entry % 16), row + 1, row + 2, row + 3)
    if mask is not None and mask.fixed:
        quad = _select(quad, mask, TRASH)
    e.emit(Code.STORE_MASK, Value(quad), (flags or Value(ZERO_QUAD),), mask_params(mask)[0])


def flush(e: Emitter, op: Op, value: Value) -> Value:
    """The result after the opcode's zero-flush mask (isa.md 7.1)."""
    mask = op.zero_flush
    if mask is None or mask.entry == 0:
        return value
    two = mask.length == "ll"
    if mask.fixed:
        low = _select(value.lo, mask, ZERO) if value.lo and two else value.lo
        return Value(_select(value.hi, mask, ZERO), low)
    e.emit(Code.FLUSH, value, (value,), *mask_params(mask))
    return value


def direct(e: Emitter, op: Op) -> Value | None:
    """Rows that `op` may compute into without a scratch slot, None if its one destination is not that simple."""
    if len(op.destinations) != 1 or op.zero_flush is not None:
        return None
    operand = op.destinations[0]
    if e.mask_of(operand.place, operand.mask) is not None:
        return None
    if operand.place == Place.T:
        return T_VALUE
    if operand.place not in MEMORIES or operand.width == 1 or per_pe(e, operand):
        return None
    return rows(operand.place, operand.width, operand.address or _START, known_bar(e, operand.place))
