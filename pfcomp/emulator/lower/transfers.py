"""L1BM and L2BM operations to micro-operations (isa.md 12, 13)."""

from __future__ import annotations

from pfcomp.emulator.lower.alu import Result
from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.sources import raw
from pfcomp.emulator.micro import Code, L1Kind, L2Kind, reduction_code
from pfcomp.emulator.rows import Value
from pfcomp.emulator.state import DAR_ENTRIES, L1BM_LW, L2BM_LW
from pfcomp.isa.model import L1BSet, Op, Operand, Place

_KINDS = {
    "l1bmp": L1Kind.P,
    "l1bmm": L1Kind.M,
    "l1bmr": L1Kind.M,
    "l1bmm4": L1Kind.M4,
    "l1bmr4": L1Kind.M4,
    "l1bmd": L1Kind.D,
}
_L1BM_PLACES = (Place.L1BM, Place.TURNAROUND)
_ALL = L1BSet(0, 7)


def _address(operand: Operand, size: int) -> int:
    return (operand.address.base if operand.address else 0) % size


def is_down(op: Op) -> bool:
    """Whether an L1BM operation delivers to the PEs."""
    return op.sources[0].place in _L1BM_PLACES


def lower_down(e: Emitter, op: Op, out: Value) -> Result:
    """L1BM or turnaround register to PEs."""
    operand = op.sources[0]
    two = operand.width == 4
    result = Value(out.hi, out.lo if two else None)
    turnaround = operand.place == Place.TURNAROUND
    address = 0 if turnaround else _address(operand, L1BM_LW)
    e.emit(Code.L1_DOWN, result, (), int(_KINDS[op.name]), address, int(two), op.shift or 0, int(turnaround))
    return Result(result)


def lower_up(e: Emitter, op: Op) -> None:
    """PEs to L1BM and the turnaround register."""
    operand, target = op.sources[0], op.destinations[0]
    value = raw(e, operand, 64)
    address = -1 if target.place == Place.TURNAROUND else _address(target, L1BM_LW)
    reduction = reduction_code(op.reduction) if op.reduction else -1
    e.emit(
        Code.L1_UP, None, (value,), int(_KINDS[op.name]), address, int(target.width == 4), op.shift or 0,
        op.select or 0, reduction, int(operand.suffix == "e"), int(op.narrow),
    )  # fmt: skip


def _bits(l1b_set: L1BSet) -> int:
    return sum(1 << b for b in l1b_set.members())


_TO_L1BM = {"l2bmb": L2Kind.BROADCAST, "l2bmb2": L2Kind.BROADCAST2, "l2bmd": L2Kind.SPREAD}
_TO_L2BM = {"l2bmd": L2Kind.COLLECT, "l2bm": L2Kind.TAKE, "l2bmr": L2Kind.REDUCE, "l2bmr2": L2Kind.REDUCE2}


def lower_l2bm(e: Emitter, op: Op) -> None:
    """Everything between L2BM and L1BM, and the reading of DRAM addresses."""
    if op.name == "l2bmdars":
        source, target = op.sources[0], op.destinations[0]
        e.emit(Code.DAR_READ, None, (), _address(source, L2BM_LW), source.l2b or 0, _address(target, DAR_ENTRIES))
        return
    source, target = op.sources[0], op.destinations[0]
    members = op.l1b_set or _ALL
    code = reduction_code(op.reduction) if op.reduction else 0
    if op.name == "l2bmi":
        kind, c, b = L2Kind.INTERNAL, _address(source, L1BM_LW), _address(target, L1BM_LW)
        e.emit(Code.L2, None, (), int(kind), c, b, members.base, members.dont_care)
        return
    if source.place == Place.L2BM:
        kind, c, b = _TO_L1BM[op.name], _address(source, L2BM_LW), _address(target, L1BM_LW)
    else:
        kind, c, b = _TO_L2BM[op.name], _address(target, L2BM_LW), _address(source, L1BM_LW)
    bits = 1 << op.select if op.select is not None else _bits(members)
    e.emit(Code.L2, None, (), int(kind), c, b, bits, code)
