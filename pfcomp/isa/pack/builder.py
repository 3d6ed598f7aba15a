"""Emission of micro-operations with sequential meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from pfcomp.isa.literals import parse_immediate
from pfcomp.isa.model import Immediate, Move, Op, Operand, Place, Unit
from pfcomp.isa.movetext import move_errors, parse_move
from pfcomp.isa.opcodes import parse_opcode
from pfcomp.isa.operands import parse_operand
from pfcomp.isa.problems import Trouble
from pfcomp.isa.roles import form_of, op_errors, unit_of
from pfcomp.isa.tables import Mnemonic
from pfcomp.isa.tables_forms import Direction
from pfcomp.isa.tables_places import FORWARDS

from . import legalise
from .micro import MicroMove, MicroOp, MicroProgram, NodeInfo, Virtual, bad_operation, placeholder
from .values import is_uniform, missing_words, result_path, result_width

Source = Virtual | Operand | str
Destination = Operand | str | Sequence[Operand | str] | None

_NOWRITE = (Operand(Place.NOWRITE),)
_NO_RESULT = Virtual(-1)


class Builder:
    """Collects micro-operations; `finish` returns them. Every method raises PF0150 for what the chip cannot do."""

    def __init__(self) -> None:
        self._ops: list[MicroOp | MicroMove] = []
        self._nodes: list[NodeInfo] = []
        self._node = -1
        self._moves = 0
        self._virtuals = 0
        self._last: dict[Place, Virtual] = {}

    def op(self, opcode: str, *sources: Source, to: Destination = None, width: int | None = None) -> Virtual:
        """Emit one operation and return its value.

        `opcode` is the mnemonic with all its modifiers, and the literal of `imm`. `to` are the physical destinations;
        the value may be used by later operations as well. Where the operands do not fit the ports of the chip, copies
        through the ALU are emitted around the operation. `width` (words) overrides the width of the value. `$aluf`
        and its like mean the last value of that path in emission order.
        """
        try:
            template = _template(opcode)
            operands = tuple([self._source(source) for source in sources])
            targets = _targets(to)
        except Trouble as trouble:
            raise bad_operation(f"{opcode}: {trouble.what}") from trouble
        return legalise.emit(self, template, operands, targets, width)

    def move(self, move: Move | str) -> int:
        """Emit an MV without tag; returns how many moves were emitted before."""
        if isinstance(move, str):
            try:
                parsed = parse_move(move)
            except Trouble as trouble:
                raise bad_operation(f"{move}: {trouble.what}") from trouble
            if not isinstance(parsed, Move):
                raise bad_operation(f"{move} moves nothing")
            move = parsed
        errors = move_errors(move)
        if errors or move.tag is not None:
            raise bad_operation(errors[0] if errors else "an emitted MV has no tag")
        self._ops.append(MicroMove(move, self._moves, self._node))
        self._moves += 1
        return self._moves - 1

    @contextmanager
    def node(self, name: str, op: str = "", source: str = "") -> Iterator[None]:
        """Attribute everything emitted inside to a graph node."""
        outer = self._node
        self._node = len(self._nodes)
        self._nodes.append(NodeInfo(name, op, source))
        yield
        self._node = outer

    def beside(self, first: Callable[[], None], second: Callable[[], None]) -> None:
        """Emit two sequences that do not depend on each other in turns, each in its own order."""
        start = len(self._ops)
        first()
        middle = len(self._ops)
        second()
        self._ops[start:] = in_turns(self._ops[start:middle], self._ops[middle:])

    def finish(self) -> MicroProgram:
        """What was emitted so far."""
        return MicroProgram(tuple(legalise.relieve(self._ops)), tuple(self._nodes), self._virtuals)

    def _source(self, source: Source) -> Virtual | Operand:
        if isinstance(source, Virtual):
            if not 0 <= source.index < self._virtuals:
                raise Trouble("a source is the result of an operation that has none, or of another builder")
            return source
        operand = parse_operand(source) if isinstance(source, str) else source
        if operand.place not in FORWARDS:
            return operand
        value = self._last.get(operand.place)
        if value is None:
            raise Trouble(f"${operand.place.value} is read before anything has filled it")
        return replace(value, negate=operand.negate, suffix=operand.suffix)

    def append(
        self, template: Op, sources: tuple[Virtual | Operand, ...], to: tuple[Operand, ...], width: int | None
    ) -> Virtual:
        """Emit an operation whose operands fit the ports; for `legalise`."""
        places = tuple([s if isinstance(s, Operand) else placeholder(s) for s in sources])
        op = _filled(template, places, to)
        self._verify(op, sources)
        value = self._value(op, sources, width)
        uses = tuple([(k, s) for k, s in enumerate(sources) if isinstance(s, Virtual)])
        self._ops.append(MicroOp(op, uses, value, self._node))
        return value or _NO_RESULT

    def _value(self, op: Op, sources: tuple[Virtual | Operand, ...], width: int | None) -> Virtual | None:
        path = result_path(op)
        if path is None:
            return None
        value = Virtual(self._virtuals, width or result_width(op, sources), is_uniform(op, sources))
        self._virtuals += 1
        self._last[path] = value
        return value

    def _verify(self, op: Op, sources: tuple[Virtual | Operand, ...]) -> None:
        errors = op_errors(op if op.destinations or not _may_drop(op) else replace(op, destinations=_NOWRITE))
        short = errors or missing_words(op, sources)
        if short:
            raise bad_operation(short[0])


def in_turns(first: Sequence[MicroOp | MicroMove], second: Sequence[MicroOp | MicroMove]) -> list[MicroOp | MicroMove]:
    """Both sequences in one, evenly mixed; a transfer to the turnaround register and its reader stay together."""
    shares = [*_shares(first), *_shares(second)]
    order = sorted(range(len(shares)), key=lambda k: (shares[k], k))
    both = [*first, *second]
    return [both[k] for k in order]


def _shares(ops: Sequence[MicroOp | MicroMove]) -> Iterator[float]:
    """How much of a sequence lies before each operation."""
    for number, before in enumerate((None, *ops[:-1])):
        turned = isinstance(before, MicroOp) and any(to.place is Place.TURNAROUND for to in before.op.destinations)
        yield (number - turned) / len(ops)


def _may_drop(op: Op) -> bool:
    return result_path(op) is not None or form_of(op).direction is Direction.PE


def _filled(t: Op, sources: tuple[Operand, ...], destinations: tuple[Operand, ...]) -> Op:
    unit = t.unit
    if unit is Unit.L1BM and sources and sources[0].place is Place.TURNAROUND:
        unit = Unit.L1BM_TURNAROUND
    return Op(
        unit, t.name, t.precision, t.unsigned, t.half_select, t.narrow, t.mantissa, t.zero_flush, t.reduction,
        t.select, t.shift, t.l1b_set, t.immediate, sources, destinations,
    )  # fmt: skip


@lru_cache(maxsize=1 << 12)
def _template(opcode: str) -> Op:
    """An operation without operands. Raises `Trouble`."""
    head, *rest = opcode.split() or [""]
    mnemonic, fields = parse_opcode(head)
    literal = _literal(mnemonic, rest)
    m = mnemonic
    return Op(
        unit_of(m.info, ()), m.info.name, m.precision, m.unsigned, m.half_select, m.narrow,
        reduction=m.reduction, immediate=literal, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def _literal(mnemonic: Mnemonic, rest: list[str]) -> Immediate | None:
    if not mnemonic.info.immediate:
        if rest:
            raise Trouble(f"operands are arguments, not part of the opcode: {' '.join(rest)}")
        return None
    kind, quote, text = (rest or [""])[0].partition('"')
    if len(rest) != 1 or not quote or not text.endswith('"'):
        raise Trouble('a literal such as f"1.0" must follow')
    return parse_immediate(kind, text[:-1])


def _targets(to: Destination) -> tuple[Operand, ...]:
    if to is None:
        return ()
    listed = (to,) if isinstance(to, str | Operand) else to
    parsed = [parse_operand(t) if isinstance(t, str) else t for t in listed]
    return tuple([t for t in parsed if t.place is not Place.NOWRITE])
