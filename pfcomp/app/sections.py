"""The sections of an app: their order, their tables, and conversion between dataclasses and the tables' records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfcomp.app.flatread import Broken, read_flat
from pfcomp.app.flatwrite import write_flat
from pfcomp.app.model import Constant, DebugSpan, Relocation, TensorInfo
from pfcomp.isa.model import Program
from pfcomp.layout import Layout

GROUPS = 4
OPERANDS = ("source", "destination")

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SectionInfo:
    """A section: its name (also the field of GPFNApp), largest content in bytes, encoder and decoder of the content."""

    name: str
    limit: int
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _tensor_record(info: TensorInfo) -> dict[str, Any]:
    record = {name: getattr(info, name) for name in TensorInfo.__slots__}
    return record | {"layout": str(info.layout)}


def _tensor(record: dict[str, Any] | None) -> TensorInfo:
    if record is None or any(value is None for name, value in record.items() if name not in ("shape", "alias_base")):
        raise Broken("a tensor lacks a field")
    shape = record["shape"]
    sizes = () if shape is None else tuple(int(size) for size in shape)
    return TensorInfo(**(record | {"layout": Layout.parse(record["layout"]), "shape": sizes}))


def _encode_tensors(tensors: Iterable[TensorInfo]) -> bytes:
    return write_flat("TensorList", {"tensors": [_tensor_record(info) for info in tensors]})


def _decode_tensors(data: bytes) -> tuple[TensorInfo, ...]:
    return tuple(_tensor(record) for record in read_flat("TensorList", data)["tensors"] or ())


def _encode_constants(constants: Iterable[Constant]) -> bytes:
    records = [
        {"info": _tensor_record(c.info), "image": np.ascontiguousarray(c.image, "<u8").reshape(-1)} for c in constants
    ]
    return write_flat("ConstantList", {"constants": records})


def _decode_constants(data: bytes) -> tuple[Constant, ...]:
    records = read_flat("ConstantList", data)["constants"] or ()
    return tuple(Constant(_tensor(record["info"]), _image(record["image"])) for record in records)


def _image(flat: Any) -> Any:
    if flat is None or len(flat) % GROUPS:
        raise Broken("a constant's image has not four equal blocks")
    return flat.astype(np.uint64, copy=False).reshape(GROUPS, -1)


def _numbered(texts: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """The distinct texts in order of first use, and the number of each."""
    numbers: dict[str, int] = {}
    for text in texts:
        numbers.setdefault(text, len(numbers))
    return list(numbers), numbers


def _encode_relocations(relocations: Sequence[Relocation]) -> bytes:
    names, number = _numbered(r.tensor for r in relocations)
    columns = {
        "names": names,
        "index": [r.index for r in relocations],
        "operand": [OPERANDS.index(r.operand) for r in relocations],
        "tensor": [number[r.tensor] for r in relocations],
        "offset": [r.offset for r in relocations],
    }
    return write_flat("RelocationTable", columns)


def _decode_relocations(data: bytes) -> tuple[Relocation, ...]:
    table = read_flat("RelocationTable", data)
    names = table["names"] or ()
    rows = zip(*_columns(table, "index", "operand", "tensor", "offset"), strict=True)
    return tuple(Relocation(i, _pick(OPERANDS, operand), _pick(names, name), at) for i, operand, name, at in rows)


def _encode_debug(spans: Sequence[DebugSpan]) -> bytes:
    texts, number = _numbered(text for s in spans for text in (s.node, s.op, s.source))
    columns: dict[str, Any] = {"texts": texts, "begin": [s.begin for s in spans], "end": [s.end for s in spans]}
    columns |= {name: [number[getattr(s, name)] for s in spans] for name in ("node", "op", "source")}
    return write_flat("DebugTable", columns)


def _decode_debug(data: bytes) -> tuple[DebugSpan, ...]:
    table = read_flat("DebugTable", data)
    texts = table["texts"] or ()
    rows = zip(*_columns(table, "begin", "end", "node", "op", "source"), strict=True)
    return tuple(DebugSpan(b, e, _pick(texts, n), _pick(texts, o), _pick(texts, s)) for b, e, n, o, s in rows)


def _encode_statistics(statistics: Iterable[tuple[str, int]]) -> bytes:
    rows = tuple(statistics)
    return write_flat("StatisticsTable", {"names": [n for n, _ in rows], "values": [v for _, v in rows]})


def _decode_statistics(data: bytes) -> tuple[tuple[str, int], ...]:
    table = read_flat("StatisticsTable", data)
    (values,) = _columns(table, "values")
    names = table["names"] or ()
    if len(names) != len(values):
        raise Broken("columns of different length")
    return tuple(zip(names, values, strict=True))


def _encode_program(program: Program) -> bytes:
    from pfcomp.isa import encode

    return encode(program)


def _decode_program(data: bytes) -> Program:
    from pfcomp.isa import decode

    return decode(data)


def _columns(table: dict[str, Any], *names: str) -> list[list[int]]:
    """The named columns as lists of equal length."""
    columns = [[] if table[name] is None else table[name].tolist() for name in names]
    if len({len(column) for column in columns}) != 1:
        raise Broken("columns of different length")
    return columns


def _pick(texts: Sequence[str], number: int) -> str:
    if not number < len(texts):
        raise Broken(f"text {number} of {len(texts)}")
    return texts[number]


_ROWS = (
    SectionInfo("inputs", 64 * _MIB, _encode_tensors, _decode_tensors),
    SectionInfo("outputs", 64 * _MIB, _encode_tensors, _decode_tensors),
    SectionInfo("state", 64 * _MIB, _encode_tensors, _decode_tensors),
    SectionInfo("constants", 2048 * _MIB, _encode_constants, _decode_constants),
    SectionInfo("program", 2048 * _MIB, _encode_program, _decode_program),
    SectionInfo("relocations", 512 * _MIB, _encode_relocations, _decode_relocations),
    SectionInfo("debug", 512 * _MIB, _encode_debug, _decode_debug),
    SectionInfo("statistics", 64 * _MIB, _encode_statistics, _decode_statistics),
)

SECTIONS: dict[str, SectionInfo] = {row.name: row for row in _ROWS}
