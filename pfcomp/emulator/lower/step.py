"""One VLIW step: everything is read and computed first, then memories above the PEs, then PE memories are written."""

from __future__ import annotations

from collections.abc import Callable

from pfcomp.emulator.lower import alu, mau, stores, transfers
from pfcomp.emulator.lower.alu import Result
from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.sources import known_bar, words
from pfcomp.emulator.micro import Code
from pfcomp.emulator.rows import Value
from pfcomp.isa.model import Op, Place, Step, Unit

_READ_BY_STORES = frozenset({Place.MASK, Place.T, Place.BAR0, Place.BAR1})

_PATH = {
    Unit.ALU: Place.ALUF,
    Unit.MAU: Place.MAUF,
    Unit.MREAD: Place.MREADF,
    Unit.L1BM: Place.LBF,
    Unit.L1BM_TURNAROUND: Place.LBF,
}


_LATE = frozenset({Unit.L2BM, Unit.DAR_WRITE, Unit.L1BM, Unit.MWRITE})


def _mau(e: Emitter, op: Op, out: Value) -> Result:
    return (mau.lower_vector if op.name.startswith("v") else mau.lower_matrix)(e, op, out)


_COMPUTE: dict[Unit, Callable[[Emitter, Op, Value], Result]] = {
    Unit.ALU: alu.lower,
    Unit.MAU: _mau,
    Unit.MREAD: mau.lower_mread,
    Unit.L1BM: transfers.lower_down,
    Unit.L1BM_TURNAROUND: transfers.lower_down,
}


def path_of(op: Op) -> Place | None:
    """The forwarding path that `op` updates, None for mwrite and transfers to L1BM, L2BM and DAR."""
    path = _PATH.get(op.unit)
    return None if path == Place.LBF and not transfers.is_down(op) else path


def _safe(e: Emitter, op: Op, ops: tuple[Op, ...]) -> bool:
    """Whether results may go straight to the destination rows: nobody else reads or writes that memory, and no later
    cycle of `op` reads a row that an earlier one writes."""
    place = op.destinations[0].place
    for other in ops:
        if other is op:
            continue
        if any(o.place == place for o in other.sources) or any(o.place == place for o in other.destinations):
            return False
        if place == Place.T and any(o.address and o.address.indirect for o in other.sources + other.destinations):
            return False
    bar = known_bar(e, place)
    return all(source.place != place or _same_rows(op, index, bar) for index, source in enumerate(op.sources)) and (
        place != Place.T or not any(o.address and o.address.indirect for o in op.sources)
    )


def _same_rows(op: Op, index: int, bar: int) -> bool:
    """In place: the source has exactly the destination's rows, all different (wrapping may make addresses equal)."""
    source, target = op.sources[index], op.destinations[0]
    if source.width != target.width or source.address is None or target.address is None:
        return False
    if source.address.indirect or source.address.neighbour is not None:
        return False
    where = words(source.place, source.width, source.address, bar)
    return where == words(target.place, target.width, target.address, bar) and len(set(where)) == len(where)


def _compute(e: Emitter, op: Op, path: Place, ops: tuple[Op, ...], live: bool) -> Result | None:
    """Lower the reading half of `op`; None if its result went straight to the one plain destination."""
    target = None if live else stores.direct(e, op)
    if target is not None and _safe(e, op, ops):
        result = _COMPUTE[op.unit](e, op, target)
        if target.lo and not result.value.lo:
            e.emit(Code.FILL, Value(target.lo), (), 0, 0)
        return None
    home = e.temporary()
    result = _COMPUTE[op.unit](e, op, home)
    value = stores.flush(e, op, result.value)
    if live:
        e.keep(path, value, home)
    constant = None if op.zero_flush is not None else result.constant
    return Result(value, result.flags, constant)


def lower_step(e: Emitter, step: Step, live: frozenset[Place]) -> None:
    """Append the micro-operations of one PE line; `live` are the paths whose new value is read later."""
    e.line = step.line
    results: list[tuple[Op, Result]] = []
    for op in step.ops:
        path = path_of(op)
        if path is not None:
            result = _compute(e, op, path, step.ops, path in live and not step.noforward)
            if result is not None:
                results.append((op, result))
    _finish(e, step, results)


def _finish(e: Emitter, step: Step, results: list[tuple[Op, Result]]) -> None:
    others = [op for op in step.ops if op.unit in _LATE]
    for op in others:
        if op.unit == Unit.L2BM:
            transfers.lower_l2bm(e, op)
        elif op.unit == Unit.DAR_WRITE:
            e.emit(Code.DAR_WRITE, None, ())
    for op in others:
        if op.unit == Unit.L1BM and not transfers.is_down(op):
            transfers.lower_up(e, op)
        elif op.unit == Unit.MWRITE:
            mau.lower_mwrite(e, op)
    # Stores read masks, T and base addresses, which must be those from before the step (isa.md 4): written last.
    pending = [(operand, result) for op, result in results for operand in op.destinations]
    for operand, result in sorted(pending, key=lambda item: item[0].place in _READ_BY_STORES):
        stores.store(e, operand, result.value, result.flags, result.constant)
    e.end_step()
