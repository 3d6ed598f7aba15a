"""Models from files: read, checked and never allowed to reach outside their folder."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import onnx
import onnx.version_converter
import onnx_ir as ir
from google.protobuf.message import DecodeError

from pfcomp.artifacts import read_maybe_zst
from pfcomp.errors import SourceError
from pfcomp.pfvm import external


def read_proto(path: str | Path) -> Any:
    """The ModelProto of a `.onnx` or `.onnx.zst` file, external data loaded; SourceError PF0315 if it is not one.

    External data may only come from a plain file in the model's own folder, and only for initializers.
    """
    where = Path(path).name
    proto = parse_proto(read_maybe_zst(path), where)
    for tensor in proto.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _load_external(tensor, Path(path).parent, where)
    for tensor in _tensors(proto):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise SourceError("PF0315", f"external data of '{tensor.name}', which is no initializer", where=where)
    return proto


def _tensors(proto: Any) -> Iterator[Any]:
    """Every tensor of a model: initializers and attributes, also of subgraphs and functions."""
    yield from _graph_tensors(proto.graph)
    for function in proto.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Any) -> Iterator[Any]:
    for attribute in (attribute for node in nodes for attribute in node.attribute):
        yield from (attribute.t, *attribute.tensors)
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            yield from (sparse.values, sparse.indices)
        for graph in (attribute.g, *attribute.graphs):
            yield from _graph_tensors(graph)


def parse_proto(data: bytes, where: str = "") -> Any:
    """ModelProto from bytes; SourceError PF0315 for anything that is not a model with a graph."""
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise SourceError("PF0315", "not an ONNX model", where=where) from error
    if not proto.HasField("graph"):
        raise SourceError("PF0315", "an ONNX file without a graph", where=where)
    return proto


def _load_external(tensor: Any, folder: Path, where: str) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        length = _byte_count(tensor)
        if int(entries.get("length", length)) != length:
            raise ValueError(f"{entries['length']} bytes for a tensor of {length}")
        data = _read_part(folder, entries.get("location", ""), int(entries.get("offset", "0")), length)
    except (OSError, ValueError, KeyError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SourceError("PF0315", f"external data of '{tensor.name}': {text}", where=where) from error
    tensor.ClearField("external_data")
    tensor.data_location = onnx.TensorProto.DEFAULT
    tensor.raw_data = data


def _byte_count(tensor: Any) -> int:
    if any(size < 0 for size in tensor.dims):
        raise ValueError("a negative size")
    bits = ir.DataType(tensor.data_type).itemsize * 8
    return -int(-math.prod(tensor.dims) * bits // 8)


def _read_part(folder: Path, location: str, offset: int, length: int) -> bytes:
    """A part of a plain file in the folder; ValueError for a path that could lead out of it, a link or too few bytes.

    Each part of the path is opened relative to its parent without following links, so nothing can be exchanged between
    a check and the opening.
    """
    parts = PurePosixPath(location).parts
    if not parts or location.startswith("/") or ".." in parts or "\\" in location or ":" in location:
        raise ValueError(f"the path {location!r} is not inside the model's folder")
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
            os.close(handle)
            handle = inner
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("not a plain file")
        if offset < 0 or offset + length > os.fstat(handle).st_size:
            raise ValueError("it lies behind the end of the file")
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(offset)
            return file.read(length)
    finally:
        os.close(handle)


def check_proto(proto: Any, where: str = "") -> None:
    """SourceError PF0315 if onnx.checker refuses the model, PF0316 if an input's shape is not static."""
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        if any(dim.HasField("dim_param") or not dim.HasField("dim_value") for dim in dims):
            hint = "export the model with fixed shapes"
            raise SourceError("PF0316", f"input '{value.name}' has a dynamic shape", where=where, hint=hint)
    try:
        with _without_weights(proto) as light:
            onnx.checker.check_model(light)
    except onnx.checker.ValidationError as error:
        text = " ".join(str(error).split())
        raise SourceError("PF0315", f"not a valid ONNX model: {text}", where=where) from error


def to_opset(proto: Any, wanted: int) -> Any:
    """The model in an older or newer operator set; itself where it has it already or cannot be converted."""
    versions = [entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")]
    if versions == [wanted]:
        return proto
    try:
        with _without_weights(proto) as light:
            converted = onnx.version_converter.convert_version(light, wanted)
    except (RuntimeError, ValueError):
        return proto
    return _with_weights(converted, proto)


@contextmanager
def _without_weights(proto: Any) -> Iterator[Any]:
    """The model, or one with inputs in place of its large initializers where it is too large for one message."""
    large = _large(proto)
    if sum(len(tensor.raw_data) for tensor in large) <= external.LIMIT:
        yield proto
        return
    named = {value.name for value in proto.graph.input}
    names = {tensor.name for tensor in large}
    light = onnx.ModelProto()
    for field, content in proto.ListFields():
        if field.name != "graph":
            _assign(light, field, content)
    for field, content in proto.graph.ListFields():
        if field.name != "initializer":
            _assign(light.graph, field, content)
    light.graph.initializer.extend(tensor for tensor in proto.graph.initializer if tensor.name not in names)
    light.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in large
        if tensor.name not in named
    )
    yield light


def _assign(message: Any, field: Any, content: Any) -> None:
    target = getattr(message, field.name)
    if hasattr(target, "extend"):
        target.extend(content)
    elif hasattr(target, "CopyFrom"):
        target.CopyFrom(content)
    else:
        setattr(message, field.name, content)


def _large(proto: Any) -> list[Any]:
    return [tensor for tensor in proto.graph.initializer if len(tensor.raw_data) > external.SMALL]


def _with_weights(light: Any, proto: Any) -> Any:
    """The converted model with the initializers that `_without_weights` left out."""
    present = {tensor.name for tensor in light.graph.initializer}
    missing = [tensor for tensor in _large(proto) if tensor.name not in present]
    if missing:
        given = {value.name for value in proto.graph.input}
        inputs = [value for value in light.graph.input if value.name in given]
        light.graph.ClearField("input")
        light.graph.input.extend(inputs)
        light.graph.initializer.extend(missing)
    return light


def to_ir(proto: Any, where: str = "") -> ir.Model:
    """The proto as an onnx_ir model; SourceError PF0315 if it cannot be represented."""
    try:
        return ir.from_proto(proto)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError("PF0315", f"not a usable ONNX model: {error}", where=where) from error


def to_proto(model: ir.Model) -> Any:
    """The inverse of `to_ir`."""
    return ir.to_proto(model)
