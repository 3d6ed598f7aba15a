"""Captured graphs as files: a JSON description and the raw tensors, in one Zstandard frame.

Layout inside the frame: 8 bytes magic, the length of the JSON text as 8 bytes little-endian, the text, then the
tensors' bytes in the order of the text. Nothing in it is ever executed: operators are looked up by name in the table
of lowerings.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from pfcomp.artifacts import canonical_json, read_zst, write_zst
from pfcomp.errors import ArtifactError
from pfcomp.frontend.graph import Arg, CapturedGraph, Literal, Node, Ref, TensorSpec

MAGIC = b"PFCAPT01"
FORMAT = 1


def save(captured: CapturedGraph, path: str | Path) -> None:
    """Write a captured graph; equal graphs give equal bytes. UsageError PF0502 where the folder cannot be written."""
    write_zst(path, to_bytes(captured))


def load(path: str | Path) -> CapturedGraph:
    """Read what `save` wrote. ArtifactError PF0314 (or PF0501, PF0503) for anything else."""
    return from_bytes(read_zst(path), str(path))


def to_bytes(captured: CapturedGraph) -> bytes:
    """The uncompressed file."""
    from pfcomp.frontend.torch_tensor import to_numpy

    tensors = [*captured.constants.values(), *captured.initials.values()]
    text = canonical_json(_describe(captured))
    # views, because the tensors may be most of the memory
    raw = [np.ascontiguousarray(to_numpy(tensor)).reshape(-1).view(np.uint8).data for tensor in tensors]
    return b"".join([MAGIC, struct.pack("<Q", len(text)), text, *raw])


def from_bytes(data: bytes, where: str = "") -> CapturedGraph:
    """Inverse of `to_bytes`; ArtifactError PF0314 for damaged or foreign data."""
    if data[:8] != MAGIC or len(data) < 16:
        raise ArtifactError("PF0314", "not a captured graph", where=where, hint="run the trace stage again")
    (length,) = struct.unpack_from("<Q", data, 8)
    try:
        description = json.loads(data[16 : 16 + length])
        return _rebuild(description, memoryview(data)[16 + length :])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        what = f"damaged captured graph ({type(error).__name__}: {error})"
        raise ArtifactError("PF0314", what, where=where, hint="run the trace stage again") from error


def _describe(captured: CapturedGraph) -> dict[str, Any]:
    from pfcomp.frontend.graph import spec_of

    return {
        "format": FORMAT,
        "name": captured.name,
        "inputs": [[name, *_spec(spec)] for name, spec in captured.inputs],
        "states": [[name, *_spec(spec)] for name, spec in captured.states],
        "constants": [[name, *_spec(spec_of(tensor))] for name, tensor in captured.constants.items()],
        "initials": list(captured.initials),
        "nodes": [_node(node) for node in captured.nodes],
        "outputs": [[name, *_ref(ref)] for name, ref in captured.outputs],
        "updates": [[name, *_ref(ref)] for name, ref in captured.updates],
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "op": node.op,
        "args": [_arg(arg) for arg in node.args],
        "kwargs": {key: _arg(arg) for key, arg in node.kwargs},
        "results": [None if spec is None else _spec(spec) for spec in node.results],
        "listed": node.listed,
        "source": node.source,
    }


def _spec(spec: TensorSpec) -> list[Any]:
    return [spec.dtype, list(spec.shape)]


def _ref(ref: Ref) -> list[Any]:
    return [ref.name, ref.index]


def _arg(arg: Arg) -> Any:
    if isinstance(arg, Ref):
        return {"ref": _ref(arg)}
    if isinstance(arg, Literal):
        return {"literal": [arg.kind, arg.value]}
    if isinstance(arg, tuple):
        return [_arg(item) for item in arg]
    if isinstance(arg, float) and not math.isfinite(arg):
        return {"float": repr(arg)}
    return arg


def _rebuild(text: Mapping[str, Any], data: memoryview) -> CapturedGraph:
    if text["format"] != FORMAT:
        raise ValueError(f"format {text['format']} instead of {FORMAT}")
    states = tuple((str(name), _read_spec(spec)) for name, *spec in text["states"])
    constants = [(str(name), _read_spec(spec)) for name, *spec in text["constants"]]
    initials = [(str(name), dict(states)[name]) for name in text["initials"]]
    tensors = _read_tensors([*constants, *initials], data)
    captured = CapturedGraph(
        name=str(text["name"]),
        inputs=tuple((str(name), _read_spec(spec)) for name, *spec in text["inputs"]),
        states=states,
        nodes=tuple(_read_node(item) for item in text["nodes"]),
        outputs=tuple((str(name), _read_ref(ref)) for name, *ref in text["outputs"]),
        updates=tuple((str(name), _read_ref(ref)) for name, *ref in text["updates"]),
        constants={name: tensors[index] for index, (name, _) in enumerate(constants)},
        initials={name: tensors[len(constants) + index] for index, (name, _) in enumerate(initials)},
    )
    _verify(captured)
    return captured


def _verify(captured: CapturedGraph) -> None:
    """Every reference is to a value made before."""
    known = {name for name, _ in (*captured.inputs, *captured.states)} | set(captured.constants)
    for node in captured.nodes:
        _known(node.refs(), known)
        known |= {str(Ref(node.name, i if node.listed else None)) for i in range(len(node.results))}
    _known((ref for _, ref in (*captured.outputs, *captured.updates)), known)


def _known(refs: Any, known: set[str]) -> None:
    for ref in refs:
        if str(ref) not in known:
            raise ValueError(f"value {ref} is used before it is made")


def _read_spec(parts: Any) -> TensorSpec:
    dtype, shape = parts
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"negative size in {sizes}")
    _itemtype(dtype)
    return TensorSpec(sizes, dtype)


def _itemtype(dtype: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else str(dtype))


def _read_ref(parts: Any) -> Ref:
    name, index = parts
    return Ref(str(name), None if index is None else int(index))


def _read_node(item: Mapping[str, Any]) -> Node:
    return Node(
        name=str(item["name"]),
        op=str(item["op"]),
        args=tuple(_read_arg(arg) for arg in item["args"]),
        kwargs=tuple((str(key), _read_arg(arg)) for key, arg in item["kwargs"].items()),
        results=tuple(None if spec is None else _read_spec(spec) for spec in item["results"]),
        listed=bool(item["listed"]),
        source=str(item["source"]),
    )


def _read_arg(arg: Any) -> Arg:
    if isinstance(arg, list):
        return tuple(_read_arg(item) for item in arg)
    if not isinstance(arg, dict):
        return arg
    ((kind, value),) = arg.items()
    if kind == "ref":
        return _read_ref(value)
    if kind == "literal":
        return Literal(*(str(item) for item in value))
    if kind == "float":
        return float(value)
    raise ValueError(f"unknown argument kind {kind!r}")


def _read_tensors(specs: list[tuple[str, TensorSpec]], data: memoryview) -> list[Any]:
    from pfcomp.frontend.torch_tensor import from_numpy

    tensors, start = [], 0
    for name, spec in specs:
        itemtype = _itemtype(spec.dtype)
        end = start + itemtype.itemsize * math.prod(spec.shape)
        if end > len(data):
            raise ValueError(f"tensor '{name}' is cut off")
        tensors.append(from_numpy(np.frombuffer(data[start:end], dtype=itemtype).reshape(spec.shape)))
        start = end
    if start != len(data):
        raise ValueError("bytes after the last tensor")
    return tensors
