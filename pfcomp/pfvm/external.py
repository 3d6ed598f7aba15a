"""Models whose weights do not fit into one protobuf message (2 GB): large tensors lie in a file beside the model.

`m.onnx` or `m.onnx.zst` then names the file `m.onnx.data`, as standard ONNX external data. Its SHA-256 is among the
model's metadata, so that the model's own digest depends on the weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import onnx_ir as ir

from pfcomp.artifacts import atomic_file, atomic_write, read_maybe_zst, write_zst

LIMIT = 2_000_000_000
"""Bytes of tensors that a model holds itself; protobuf ends at 2^31 - 1 with everything else."""
SMALL = 1024
"""Tensors up to this many bytes always stay in the model: shapes, axes, scalars."""
DIGEST_KEY = "pfcomp.data_sha256"
_ALIGNMENT = 64


def data_name(model_name: str) -> str:
    """Name of the file with the weights of a model file."""
    return model_name.removesuffix(".zst") + ".data"


def large_constants(model: ir.Model, limit: int | None = None) -> list[ir.Value]:
    """The initializers that go beside the model: none where all of it fits into `limit` bytes (LIMIT)."""
    values = [value for value in model.graph.initializers.values() if value.const_value is not None]
    if sum(value.const_value.nbytes for value in values) <= (LIMIT if limit is None else limit):
        return []
    return [value for value in values if value.const_value.nbytes > SMALL]


def serialised(model: ir.Model) -> bytes:
    """Protobuf bytes of a model, the same for equal models."""
    return ir.to_proto(model).SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def with_references(model: ir.Model, values: list[ir.Value], location: str) -> bytes:
    """The model's bytes with references into the file `location` in place of the values' contents."""
    kept = [value.const_value for value in values]
    try:
        for value, tensor, offset in zip(values, kept, _offsets(kept), strict=True):
            value.const_value = ir.ExternalTensor(
                location, offset, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=str(value.name)
            )
        return serialised(model)
    finally:
        for value, tensor in zip(values, kept, strict=True):
            value.const_value = tensor


def write_model(model: ir.Model, path: Path) -> tuple[str, ...]:
    """Write `path` (a `.onnx.zst`) and, where its tensors exceed LIMIT bytes, the file with them.

    Returns the names written. UsageError PF0502 where the folder cannot be written.
    """
    beside = path.with_name(data_name(path.name))
    values = large_constants(model)
    model.metadata_props.pop(DIGEST_KEY, None)
    if not values:
        beside.unlink(missing_ok=True)
        write_zst(path, serialised(model))
        return (path.name,)
    model.metadata_props[DIGEST_KEY] = _write_data(beside, [value.const_value for value in values])
    write_zst(path, with_references(model, values, beside.name))
    return path.name, beside.name


def write_proto(proto: Any, path: Path) -> tuple[str, ...]:
    """As `write_model`, for a ModelProto that holds all its tensors; a small one is written as it is."""
    from pfcomp.pfvm.models import to_ir

    if sum(len(tensor.raw_data) for tensor in proto.graph.initializer) > LIMIT:
        return write_model(to_ir(proto, path.name), path)
    path.with_name(data_name(path.name)).unlink(missing_ok=True)
    write_zst(path, proto.SerializeToString(deterministic=True))
    return (path.name,)


def copy_model(path: Path, target: Path) -> None:
    """A model file uncompressed under another name, its weights beside it; UsageError PF0502."""
    from pfcomp.pfvm.models import parse_proto, read_proto, to_ir

    data = read_maybe_zst(path)
    if DIGEST_KEY not in {entry.key for entry in parse_proto(data, path.name).metadata_props}:
        atomic_write(target, data)
        return
    model = to_ir(read_proto(path), path.name)
    values = large_constants(model, limit=0)
    _write_data(target.with_name(data_name(target.name)), [value.const_value for value in values])
    atomic_write(target, with_references(model, values, data_name(target.name)))


def _offsets(tensors: list[Any]) -> Iterator[int]:
    start = 0
    for tensor in tensors:
        yield start
        start += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT


def _write_data(path: Path, tensors: list[Any]) -> str:
    """Write the tensors one behind the other, atomically; SHA-256 of the file."""
    with atomic_file(path) as file:
        return _stream(file, tensors)


def _stream(file: BinaryIO, tensors: list[Any]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        data = tensor.tobytes()
        for part in (data, bytes(-len(data) % _ALIGNMENT)):
            file.write(part)
            digest.update(part)
    return digest.hexdigest()
