"""What a program is about to write: rows of one PE by micro-operation, ranges of the memories above by statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pfcomp.emulator.debug.areas import area_of
from pfcomp.emulator.debug.units import Unit
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.numpy_engine.copies import addresses
from pfcomp.emulator.rows import MEMORIES, T_ROW
from pfcomp.emulator.state import ALL_ONES, State
from pfcomp.isa.effects import Span, effects, move_spans
from pfcomp.isa.effects_access import spans
from pfcomp.isa.model import CYCLES, DebugSet, Move, Place, Statement, Step

_HIGH_WORD, _LOW_WORD = 0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF


class RowWrite(NamedTuple):
    """Bits of a row (one long word of the PE) that are stored."""

    row: int
    bits: int


_Masks = list[tuple[int, int]]  # for each cycle the bits of LW0 and LW1 that a write mask lets through


def _masks(state: State, unit: Unit, row: int, two_long: int) -> _Masks:
    """The masks of an entry, as in isa.md 7.1; `row` -1 means no mask."""
    if row < 0:
        return [(ALL_ONES, ALL_ONES)] * CYCLES
    spread = [int(word) for word in state.mem[unit.tile, row : row + CYCLES, unit.pe]]
    if not two_long:
        return [(word, ALL_ONES) for word in spread]
    result = []
    for word in spread:
        w0, w1, w2, w3 = (_LOW_WORD if word >> 48 - 16 * i & 1 else 0 for i in range(4))
        result.append((w0 << 32 | w1, w2 << 32 | w3))
    return result


def _plain(state: State, unit: Unit, micro: Micro, row: int = -1, two_long: int = 0) -> Iterator[RowWrite]:
    if micro.dst is None:
        return
    masks = _masks(state, unit, row, two_long)
    for quad, part in ((micro.dst.hi, 0), (micro.dst.lo, 1)):
        if quad:
            yield from (RowWrite(target, mask[part]) for target, mask in zip(quad, masks, strict=True))


def _copy(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    row, two_long = micro.params
    return _plain(state, unit, micro, row, two_long)


def _store_word(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    *halves, row, two_long = micro.params
    quad = micro.dst.hi if micro.dst else ()
    for target, half, (mask, _) in zip(quad, halves, _masks(state, unit, row, two_long), strict=False):
        yield RowWrite(target, (mask & _HIGH_WORD) >> 32 * half)


def _store_mask(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    return _plain(state, unit, micro, micro.params[0])


def _set_bar(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    row, two_long = micro.params
    for target, (mask, _) in zip(micro.dst.hi if micro.dst else (), _masks(state, unit, row, two_long), strict=False):
        yield RowWrite(target, mask >> 32)


def _scatter(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    base, _, width = micro.params[:3]
    *_, row, two_long, enabled = micro.params
    masks = _masks(state, unit, row, two_long)
    for cycle, address in enumerate(addresses(state, micro.params)[unit.tile, :, unit.pe]):
        target, (high, low) = base + (int(address) >> 1), masks[cycle]
        on = enabled >> (CYCLES - 1 - cycle) & 1
        if on:
            half = 32 * (int(address) & 1)
            yield RowWrite(target, (high & _HIGH_WORD) >> half if width == 1 else high)
        if width == 4 and (on or not two_long):
            yield RowWrite(target + 1, low)


_BY_CODE: dict[Code, Callable[[State, Unit, Micro], Iterator[RowWrite]]] = {
    Code.COPY: _copy,
    Code.STORE_WORD: _store_word,
    Code.STORE_MASK: _store_mask,
    Code.SET_BAR: _set_bar,
    Code.SCATTER: _scatter,
}


def micro_writes(state: State, unit: Unit, micro: Micro) -> Iterator[RowWrite]:
    """Rows of nameable places that `micro`, which runs next, stores in the PE `unit`."""
    for write in _BY_CODE.get(micro.code, _plain)(state, unit, micro):
        if write.bits and area_of(write.row) is not None:
            yield write


def set_writes(statement: DebugSet, unit: Unit) -> Iterator[RowWrite]:
    """Rows that a `d set` stores in the PE `unit`; word-wide forms store words (isa.md 19.2)."""
    operand = statement.operand
    if not unit.matches(dict(statement.ids)):
        return
    address = operand.address.base if operand.address else 0
    for index in range(len(statement.payload)):
        if operand.place in MEMORIES:
            base, words = MEMORIES[operand.place]
            word = (address + index) % words if operand.width == 1 else (address // 2 + index) * 2 % words
            bits = ALL_ONES if operand.width > 1 else _LOW_WORD if word % 2 else _HIGH_WORD
            yield RowWrite(base + word // 2, bits)
        elif operand.place == Place.T:
            yield RowWrite(T_ROW + (address + index) % CYCLES, ALL_ONES)


def written_spans(statement: Statement, unit: Unit) -> tuple[Span, ...]:
    """Ranges of the unit's L1BM, L2BM, PDM and DRAM that a statement stores."""
    found: tuple[Span, ...] = ()
    if isinstance(statement, Step):
        found = tuple(span for op in statement.ops for span in effects(op).span_writes)
    elif isinstance(statement, Move):
        found = move_spans(statement)[1]
    elif isinstance(statement, DebugSet):
        found = _set_spans(statement, unit)
    return tuple(s for s in found if s.place != Place.DAR and s.members & unit.member(s.place))


def _set_spans(statement: DebugSet, unit: Unit) -> tuple[Span, ...]:
    operand = statement.operand
    if operand.place not in (Place.L1BM, Place.L2BM, Place.DRAM) or not unit.matches(dict(statement.ids)):
        return ()
    address = operand.address.base if operand.address else 0
    return spans(operand.place, address, len(statement.payload), unit.member(operand.place))
