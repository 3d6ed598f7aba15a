"""GPFNBin bytes to `Program`. Every number is checked: bad bytes give `ArtifactError` and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from pfcomp.errors import ArtifactError

from .binfields import (
    DIGEST_BYTES,
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
from .literals import parse_immediate
from .model import (
    Address,
    DebugGet,
    DebugSet,
    Immediate,
    L1BSet,
    MaskRef,
    Move,
    MoveNop,
    Op,
    Operand,
    Program,
    SetMask,
    Statement,
    Step,
)
from .movetext import move_errors
from .problems import Trouble
from .roles import op_errors
from .tables_places import ID_RANGES

_SOME_ADDRESS = Address(0)
_MAKE_OP: Callable[..., Op] = Op

Sections = dict[str, list[Any]]


def _damaged(what: str) -> ArtifactError:
    return ArtifactError("PF0104", what, where="program", hint="compile the program again")


def _split(data: bytes) -> Sections:
    """Raw section contents; raises ArtifactError unless magic, version, lengths and sha256 fit."""
    if data[: len(MAGIC)] != MAGIC:
        raise ArtifactError("PF0103", "not a GPFNBin program", where="program", hint="give a file made by pfcomp")
    if len(data) < HEADER.itemsize + DIGEST_BYTES:
        raise _damaged("the program ends inside its header")
    header = np.frombuffer(data, HEADER, 1)
    row = header[0]
    if row["version"] != VERSION or row["tables"] != tables_fingerprint():
        found = f"version {row['version']}, tables {row['tables']:08x}"
        raise ArtifactError("PF0103", f"unknown GPFNBin {found}", where="program", hint="compile the program again")
    counts = [int(row[f"{name}_count"]) for name in SECTIONS]
    sizes = [count * DTYPES[name].itemsize for name, count in zip(SECTIONS, counts, strict=True)]
    if HEADER.itemsize + sum(sizes) + DIGEST_BYTES != len(data):
        raise _damaged(f"the program has {len(data)} bytes, its header says otherwise")
    body = data[HEADER.itemsize : -DIGEST_BYTES]
    if digest(header, body) != data[-DIGEST_BYTES:]:
        raise _damaged("the sha256 of the program does not match")
    sections: Sections = {}
    at = 0
    for name, count, size in zip(SECTIONS, counts, sizes, strict=True):
        sections[name] = np.frombuffer(body, DTYPES[name], count, at).tolist() if count else []
        at += size
    return sections


def _unpack(name: str, row: tuple[int, ...]) -> list[Any]:
    return [f.unpack(number) for f, number in zip(RECORDS[name], row, strict=True)]


@lru_cache(maxsize=4096)
def _unpack_step(row: tuple[int, ...]) -> list[Any]:
    return _unpack("step", row)


def _take(items: Iterator[Any], count: int, what: str) -> list[Any]:
    taken = list(islice(items, count))
    if len(taken) != count:
        raise ValueError(f"there are too few {what}")
    return taken


def _pick(items: list[Any], index: int, what: str) -> Any:
    if index >= len(items):
        raise ValueError(f"{what} {index} does not exist")
    return items[index]


def _mask(entry: int | None, length: str, assertion: str) -> MaskRef | None:
    return None if entry is None else MaskRef(entry, length, assertion)


def _literals(sections: Sections) -> list[Immediate]:
    text = bytes(sections["text"]).decode("ascii")
    literals: list[Immediate] = []
    at = 0
    for row in sections["literal"]:
        kind, word, length = _unpack("literal", row)
        literal = parse_immediate(kind, text[at : at + length])
        if literal.word != word or len(literal.text) != length:
            raise ValueError(f"literal {literal.text!r} does not stand for {word:#x}")
        literals.append(literal)
        at += length
    if at != len(text):
        raise ValueError("the text section is too long")
    return literals


def _operand(row: tuple[int, ...]) -> Operand:
    (place, width, negate, suffix, addressed, indirect, neighbour, base, stride, flat, f0, f1, f2, f3,
     entry, length, assertion, group, l2b) = _unpack("operand", row)  # fmt: skip
    address = Address(base, stride, (f0, f1, f2, f3) if flat else None, indirect, neighbour) if addressed else None
    return Operand(place, width, address, negate, suffix, _mask(entry, length, assertion), group, l2b)


def _shape(operand: Operand) -> Operand:
    """The operand without the numbers of its address: what the checks of an operation depend on."""
    return operand if operand.address is None else replace(operand, address=_SOME_ADDRESS)


class _Ops:
    """Builds operations. Modifiers are unpacked, and operands checked, once for each distinct kind of operation."""

    def __init__(self, operands: list[Operand], literals: list[Immediate], refs: Iterator[int]) -> None:
        self.operands, self.literals, self.refs = operands, literals, refs
        shapes: dict[Operand, int] = {}
        self.shapes = [shapes.setdefault(_shape(operand), len(shapes)) for operand in operands]
        self.checked: set[tuple[Any, ...]] = set()
        self.unpacked: dict[tuple[int, ...], list[Any]] = {}

    def build(self, row: tuple[int, ...]) -> Op:
        values = self.unpacked.get(row)
        if values is None:
            values = self.unpacked[row] = self._modifiers(row)
        *modifiers, sources, destinations = values
        used = _take(self.refs, sources + destinations, "operand references")
        picked = [_pick(self.operands, i, "operand") for i in used]
        op = _MAKE_OP(*modifiers, tuple(picked[:sources]), tuple(picked[sources:]))
        kind = (row, *(self.shapes[i] for i in used))
        if kind not in self.checked:
            errors = op_errors(op)
            if errors:
                raise ValueError(errors[0])
            self.checked.add(kind)
        return op

    def _modifiers(self, row: tuple[int, ...]) -> list[Any]:
        (unit, name, precision, unsigned, half, narrow, mantissa, entry, length, assertion, reduction, select, shift,
         base, dont_care, immediate, sources, destinations) = _unpack("op", row)  # fmt: skip
        chosen = None if base is None else L1BSet(base, dont_care)
        literal = None if immediate is None else _pick(self.literals, immediate, "literal")
        flush = _mask(entry, length, assertion)
        return [
            unit, name, precision, unsigned, half, narrow, mantissa, flush, reduction, select, shift, chosen, literal,
            sources, destinations,
        ]  # fmt: skip


class _Decoder:
    """Pools of operands and operations, and one reader for each statement kind."""

    def __init__(self, sections: Sections) -> None:
        self.sections = sections
        self.operands = [_operand(row) for row in sections["operand"]]
        refs = iter(sections["operand_refs"])
        ops = _Ops(self.operands, _literals(sections), refs)
        self.ops = [ops.build(row) for row in sections["op"]]
        self.iterators = {name: iter(rows) for name, rows in sections.items()}
        self.iterators["operand_refs"] = refs
        self.readers: tuple[Callable[[], Statement], ...] = (
            self._step, self._move, MoveNop, self._mask, self._get, self._set,
        )  # fmt: skip

    def statements(self) -> Iterator[Statement]:
        for kind in self.sections["order"]:
            yield self._reader(kind)()
        for name in ("operand_refs", "op_refs", "tags", "payload", *STATEMENTS):
            if next(self.iterators.get(name, iter(())), None) is not None:
                raise ValueError(f"section {name} is too long")

    def _reader(self, kind: int) -> Callable[[], Statement]:
        return self.readers[kind] if kind < len(self.readers) else _pick([], kind, "statement kind")

    def _row(self, name: str) -> list[Any]:
        return _unpack(name, _take(self.iterators[name], 1, f"{name} records")[0])

    def _step(self) -> Step:
        ops, waits, noforward, repeat = _unpack_step(_take(self.iterators["step"], 1, "step records")[0])
        used = [_pick(self.ops, i, "operation") for i in _take(self.iterators["op_refs"], ops, "operation references")]
        tags = tuple(_take(self.iterators["tags"], waits, "tags"))
        if 0 in tags or (repeat > 1 and (used or noforward)):
            raise ValueError("a step has tag 0 or repeats operations")
        return Step(tuple(used), tags, noforward, repeat)

    def _move(self) -> Move:
        mode, size, reduction, tag, run, priority, source, destination = self._row("move")
        from_, to = _pick(self.operands, source, "operand"), _pick(self.operands, destination, "operand")
        move = Move(mode, size, from_, to, reduction, tag, run, priority)
        errors = move_errors(move)
        if errors:
            raise ValueError(errors[0])
        return move

    def _mask(self) -> SetMask:
        bits, entry, length = self._row("mask")
        return SetMask("".join(m for i, m in enumerate(MASK_ORDER) if bits >> i & 1), entry, length)

    def _location(self, operand: int, ids: list[int | None]) -> tuple[Operand, tuple[tuple[str, int], ...]]:
        given = zip(ID_RANGES, ids, strict=True)
        return _pick(self.operands, operand, "operand"), tuple((k, v) for k, v in given if v is not None)

    def _get(self) -> DebugGet:
        kind, operand, *ids, count = self._row("get")
        return DebugGet(kind, *self._location(operand, ids), count)

    def _set(self) -> DebugSet:
        operand, *ids, count = self._row("set")
        return DebugSet(*self._location(operand, ids), tuple(_take(self.iterators["payload"], count, "payload")))


def decode(data: bytes) -> Program:
    """The program of GPFNBin bytes; all lines are 0. Raises `ArtifactError` PF0103 (foreign) or PF0104 (damaged)."""
    sections = _split(data)
    try:
        return Program(tuple(_Decoder(sections).statements()))
    except Trouble as trouble:
        raise _damaged(trouble.what) from None
    except ValueError as error:
        raise _damaged(str(error)) from None
