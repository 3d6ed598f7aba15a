"""Reads a FlatBuffer into plain values, driven by the schema's table, with every offset and length checked.

The stock Python reader trusts the offsets in the buffer; this one raises `Broken` for anything that leaves it.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from pfcomp.app.schema import SCALARS, Field, tables

Buffer = bytes | memoryview


class Broken(Exception):
    """The buffer is not a FlatBuffer of the schema; the loader turns it into an ArtifactError."""


def read_flat(table: str, data: Buffer, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The fields of the root `table` in `data`: integers, bools, text, NumPy vectors, dicts and lists of these.

    A missing scalar is 0, a missing string, table or vector None. `only` limits which fields are read.
    """
    return _table(memoryview(data), table, _offset(memoryview(data), 0), only)


def _unpack(data: memoryview, form: str, position: int) -> int:
    size = struct.calcsize(form)
    if position < 0 or position + size > len(data):
        raise Broken(f"position {position} is outside of the {len(data)} bytes")
    value: int = struct.unpack_from(form, data, position)[0]
    return value


def _offset(data: memoryview, position: int) -> int:
    """The target of the forward offset at `position`."""
    distance = _unpack(data, "<I", position)
    if distance == 0:
        raise Broken(f"offset 0 at position {position}")
    return position + distance


def _table(data: memoryview, table: str, position: int, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    index = position - _unpack(data, "<i", position)
    index_size, object_size = _unpack(data, "<H", index), _unpack(data, "<H", index + 2)
    if index_size < 4 or index_size % 2 or index + index_size > len(data) or position + object_size > len(data):
        raise Broken(f"bad field index at position {index}")
    fields = tables()[table]
    if index_size > 4 + 2 * len(fields):
        raise Broken(f"table {table} has fields that the schema does not know")
    result: dict[str, Any] = {}
    for field in fields:
        if only is not None and field.name not in only:
            continue
        entry = 4 + 2 * field.slot
        place = _unpack(data, "<H", index + entry) if entry < index_size else 0
        size = SCALARS[field.type][0] if field.scalar and not field.vector else 4
        if place and not 4 <= place <= object_size - size:
            raise Broken(f"field {table}.{field.name} lies outside of its table")
        result[field.name] = _field(data, field, position + place) if place else _missing(field)
    return result


def _missing(field: Field) -> Any:
    scalar = field.scalar and not field.vector
    return (False if field.type == "bool" else 0) if scalar else None


def _field(data: memoryview, field: Field, position: int) -> Any:
    if field.vector:
        return _vector(data, field, _offset(data, position))
    if not field.scalar:
        return _referred(data, field, _offset(data, position))
    value = int(np.frombuffer(_slice(data, position, SCALARS[field.type][0]), SCALARS[field.type][1])[0])
    return bool(value) if field.type == "bool" else value


def _referred(data: memoryview, field: Field, position: int) -> Any:
    if field.type != "string":
        return _table(data, field.type, position)
    text = _slice(data, position + 4, _unpack(data, "<I", position))
    try:
        return str(text, "utf-8")
    except UnicodeDecodeError as error:
        raise Broken(f"text at position {position} is not UTF-8") from error


def _vector(data: memoryview, field: Field, position: int) -> Any:
    count = _unpack(data, "<I", position)
    size, dtype = SCALARS.get(field.type, (4, ""))
    content = _slice(data, position + 4, count * size)
    if field.scalar:
        return np.frombuffer(content, dtype)
    return [_referred(data, field, _offset(data, position + 4 + 4 * i)) for i in range(count)]


def _slice(data: memoryview, position: int, size: int) -> memoryview:
    if position < 0 or position + size > len(data):
        raise Broken(f"{size} bytes at position {position} run past the end")
    return data[position : position + size]
