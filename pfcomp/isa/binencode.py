"""`Program` to GPFNBin bytes. Equal operations and operands are stored once; records come from `binfields`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pfcomp.errors import SourceError

from .binfields import (
    DTYPES,
    HEADER,
    MAGIC,
    RECORDS,
    SECTIONS,
    STATEMENTS,
    VERSION,
    digest,
    tables_fingerprint,
)
from .debugtext import MASK_ORDER
from .model import DebugGet, DebugSet, Immediate, MaskRef, Move, MoveNop, Op, Operand, Program, SetMask, Statement, Step
from .tables_places import ID_RANGES

Record = tuple[int, ...]


def _pack(name: str, values: tuple[Any, ...]) -> Record:
    return tuple([f.pack(v) for f, v in zip(RECORDS[name], values, strict=True)])


@lru_cache(maxsize=4096)
def _pack_step(ops: int, waits: int, noforward: bool, repeat: int) -> Record:
    return _pack("step", (ops, waits, noforward, repeat))


def _mask_values(mask: MaskRef | None) -> tuple[Any, ...]:
    return (None, "", "") if mask is None else (mask.entry, mask.length, mask.assertion)


def _operand_values(operand: Operand) -> tuple[Any, ...]:
    a = operand.address
    head = (operand.place, operand.width, operand.negate, operand.suffix, a is not None)
    tail = (*_mask_values(operand.mask), operand.group, operand.l2b)
    if a is None:
        return (*head, False, None, 0, 0, False, 0, 0, 0, 0, *tail)
    flat = a.flat or (0, 0, 0, 0)
    return (*head, a.indirect, a.neighbour, a.base, a.stride, a.flat is not None, *flat, *tail)


def _op_values(op: Op, literal: int | None) -> tuple[Any, ...]:
    chosen = op.l1b_set
    base, dont_care = (None, 0) if chosen is None else (chosen.base, chosen.dont_care)
    return (
        op.unit, op.name, op.precision, op.unsigned, op.half_select, op.narrow, op.mantissa,
        *_mask_values(op.zero_flush), op.reduction, op.select, op.shift, base, dont_care, literal,
        len(op.sources), len(op.destinations),
    )  # fmt: skip


def _location_values(ids: tuple[tuple[str, int], ...]) -> tuple[int | None, ...]:
    given = dict(ids)
    if tuple((k, given[k]) for k in ID_RANGES if k in given) != ids:
        raise ValueError(f"location ids {ids} are not in the order n c b m p")
    return tuple(given.get(letter) for letter in ID_RANGES)


class _Encoder:
    """Sections under construction."""

    def __init__(self) -> None:
        self.sections: dict[str, list[Any]] = {name: [] for name in SECTIONS}
        self._pools: dict[str, dict[Any, int]] = {name: {} for name in ("literal", "operand", "op")}
        self._records: dict[tuple[Any, ...], Record] = {}  # values of an op record -> the record
        self._seen: dict[int, int] = {}  # id of an operand or operation -> its index; the program keeps it alive

    def _pooled(self, name: str, key: Any, record: Record) -> int:
        pool = self._pools[name]
        index = pool.setdefault(key, len(pool))
        if index == len(self.sections[name]):
            self.sections[name].append(record)
        return index

    def operand(self, operand: Operand) -> int:
        index = self._seen.get(id(operand))
        if index is None:
            record = _pack("operand", _operand_values(operand))
            index = self._seen[id(operand)] = self._pooled("operand", record, record)
        return index

    def literal(self, literal: Immediate | None) -> int | None:
        if literal is None:
            return None
        record = _pack("literal", (literal.type, literal.word, len(literal.text)))
        before = len(self.sections["literal"])
        index = self._pooled("literal", literal, record)
        if index == before:
            self.sections["text"] += literal.text.encode("ascii")
        return index

    def op(self, op: Op) -> int:
        index = self._seen.get(id(op))
        if index is not None:
            return index
        values = _op_values(op, self.literal(op.immediate))
        record = self._records.get(values)
        if record is None:
            record = self._records[values] = _pack("op", values)
        operands = tuple([self.operand(o) for o in op.sources + op.destinations])
        before = len(self.sections["op"])
        index = self._pooled("op", (record, operands), record)
        if index == before:
            self.sections["operand_refs"] += operands
        self._seen[id(op)] = index
        return index

    def statement(self, statement: Statement) -> None:
        match statement:
            case Step():
                kind, record = "step", self._step(statement)
            case Move():
                kind, record = "move", self._move(statement)
            case MoveNop():
                self.sections["order"].append(STATEMENTS.index("mvnop"))
                return
            case SetMask():
                kind, record = "mask", self._mask(statement)
            case DebugGet():
                place = (self.operand(statement.operand), *_location_values(statement.ids))
                kind, record = "get", _pack("get", (statement.type, *place, statement.count))
            case DebugSet():
                place = (self.operand(statement.operand), *_location_values(statement.ids))
                kind, record = "set", _pack("set", (*place, len(statement.payload)))
                self.sections["payload"] += statement.payload
        self.sections[kind].append(record)
        self.sections["order"].append(STATEMENTS.index(kind))

    def _step(self, step: Step) -> Record:
        self.sections["op_refs"] += [self.op(op) for op in step.ops]
        self.sections["tags"] += step.waits
        return _pack_step(len(step.ops), len(step.waits), step.noforward, step.repeat)

    def _move(self, move: Move) -> Record:
        return _pack("move", (
            move.mode, move.size, move.reduction, move.tag, move.run, move.priority, self.operand(move.source),
            self.operand(move.destination),
        ))  # fmt: skip

    @staticmethod
    def _mask(statement: SetMask) -> Record:
        bits = sum(1 << i for i, letter in enumerate(MASK_ORDER) if letter in statement.memories)
        if "".join(m for m in MASK_ORDER if m in statement.memories) != statement.memories:
            raise ValueError(f"mask memories {statement.memories!r} are not in the order {MASK_ORDER}")
        return _pack("mask", (bits, statement.entry, statement.length))

    def finish(self) -> bytes:
        body = b"".join(np.array(rows, DTYPES[name]).tobytes() for name, rows in self.sections.items())
        counts = tuple(len(rows) for rows in self.sections.values())
        header = np.array([(MAGIC, VERSION, tables_fingerprint(), *counts)], HEADER)
        return header.tobytes() + body + digest(header, body)


def encode(program: Program) -> bytes:
    """GPFNBin bytes of a program; equal programs give equal bytes. Line numbers are not stored.

    Raises `SourceError` PF0102 if a number is too large for its field or a list is out of its canonical order.
    """
    encoder = _Encoder()
    for index, statement in enumerate(program.statements):
        try:
            encoder.statement(statement)
        except (ValueError, OverflowError) as error:
            raise SourceError("PF0102", f"{error}", where=f"statement {index}, line {statement.line}") from None
    try:
        return encoder.finish()
    except OverflowError as error:
        raise SourceError("PF0102", f"a tag or payload value does not fit its field ({error})") from None
