"""Writes a FlatBuffer from plain values, driven by the schema's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np

from pfcomp.app.schema import SCALARS, Field, tables
from pfcomp.errors import UnsupportedError

Record = Mapping[str, Any]

_SIZE_LIMIT = (1 << 31) - (1 << 16)  # a FlatBuffer's offsets are 32 bit


def write_flat(table: str, record: Record, identifier: bytes | None = None) -> bytes:
    """The FlatBuffer whose root is `table` with the fields of `record`; fields that are None are left out.

    The bytes depend on the values only. Raises UnsupportedError PF0517 for more than 2 GiB.
    """
    if _estimate(record) > _SIZE_LIMIT:
        raise UnsupportedError("PF0517", "the app would be larger than 2 GiB", hint="make large constants inputs")
    builder = flatbuffers.Builder(1024)
    root = _table(builder, table, record)
    builder.Finish(root, file_identifier=identifier)
    return bytes(builder.Output())


def _estimate(value: Any) -> int:
    """Bytes of the large vectors in a record."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_estimate, value.values()))
    return sum(map(_estimate, value)) if isinstance(value, list | tuple) else 0


def _table(builder: flatbuffers.Builder, table: str, record: Record) -> int:
    fields = tables()[table]
    offsets = {f.name: _reference(builder, f, record[f.name]) for f in fields if _by_reference(f, record)}
    builder.StartObject(len(fields))
    for field in fields:
        if field.name in offsets:
            builder.PrependUOffsetTRelativeSlot(field.slot, offsets[field.name], 0)
        elif field.scalar and not field.vector:
            _scalar(builder, field, record[field.name])
    return int(builder.EndObject())


def _by_reference(field: Field, record: Record) -> bool:
    return (field.vector or not field.scalar) and record[field.name] is not None


def _scalar(builder: flatbuffers.Builder, field: Field, value: int) -> None:
    prepend = {
        "bool": builder.PrependBoolSlot,
        "ubyte": builder.PrependUint8Slot,
        "uint": builder.PrependUint32Slot,
        "ulong": builder.PrependUint64Slot,
        "long": builder.PrependInt64Slot,
    }[field.type]
    prepend(field.slot, value, 0)


def _reference(builder: flatbuffers.Builder, field: Field, value: Any) -> int:
    if not field.vector:
        return int(builder.CreateString(value)) if field.type == "string" else _table(builder, field.type, value)
    if field.scalar:
        array = (
            np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value, SCALARS[field.type][1])
        )
        return int(builder.CreateNumpyVector(array))
    return _offset_vector(builder, field, value)


def _offset_vector(builder: flatbuffers.Builder, field: Field, values: Sequence[Any]) -> int:
    make = builder.CreateString if field.type == "string" else lambda record: _table(builder, field.type, record)
    offsets = [make(value) for value in values]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
