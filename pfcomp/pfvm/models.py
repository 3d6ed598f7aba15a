"""Models from files: read, checked and never allowed to reach outside their folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx.version_converter
import onnx_ir as ir
from google.protobuf.message import DecodeError

from pfcomp.artifacts import read_maybe_zst
from pfcomp.errors import SourceError


def read_proto(path: str | Path) -> Any:
    """The ModelProto of a `.onnx` or `.onnx.zst` file, external data loaded; SourceError PF0315 if it is not one.

    External data may only come from a file in the model's own folder.
    """
    where = Path(path).name
    proto = parse_proto(read_maybe_zst(path), where)
    folder = Path(path).parent.resolve()
    for tensor in proto.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _load_external(tensor, folder, where)
    return proto


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
    location = (folder / entries.get("location", "")).resolve()
    if folder not in location.parents:
        what = f"external data of '{tensor.name}' lies outside the model's folder"
        raise SourceError("PF0315", what, where=where)
    try:
        with location.open("rb") as file:
            file.seek(int(entries.get("offset", "0")))
            data = file.read(int(entries.get("length", "-1")))
    except (OSError, ValueError) as error:
        raise SourceError("PF0315", f"external data of '{tensor.name}' cannot be read", where=where) from error
    tensor.ClearField("external_data")
    tensor.data_location = onnx.TensorProto.DEFAULT
    tensor.raw_data = data


def check_proto(proto: Any, where: str = "") -> None:
    """SourceError PF0315 if onnx.checker refuses the model, PF0316 if an input's shape is not static."""
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        if any(dim.HasField("dim_param") or not dim.HasField("dim_value") for dim in dims):
            hint = "export the model with fixed shapes"
            raise SourceError("PF0316", f"input '{value.name}' has a dynamic shape", where=where, hint=hint)
    try:
        onnx.checker.check_model(proto)
    except onnx.checker.ValidationError as error:
        text = " ".join(str(error).split())
        raise SourceError("PF0315", f"not a valid ONNX model: {text}", where=where) from error


def to_opset(proto: Any, wanted: int) -> Any:
    """The model in an older or newer operator set; itself where it has it already or cannot be converted."""
    versions = [entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")]
    if versions == [wanted]:
        return proto
    try:
        return onnx.version_converter.convert_version(proto, wanted)
    except (RuntimeError, ValueError):
        return proto


def to_ir(proto: Any, where: str = "") -> ir.Model:
    """The proto as an onnx_ir model; SourceError PF0315 if it cannot be represented."""
    try:
        return ir.from_proto(proto)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError("PF0315", f"not a usable ONNX model: {error}", where=where) from error
