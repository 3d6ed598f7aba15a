"""Runs a captured graph with torch, in double precision if wanted: judges what was captured without any ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pfcomp.errors import UnsupportedError
from pfcomp.frontend.graph import Arg, CapturedGraph, Literal, Node, Ref

_NAMESPACES = frozenset({"aten", "prims"})


@torch.no_grad()  # type: ignore[untyped-decorator]
def interpret(captured: CapturedGraph, inputs: Mapping[str, Tensor], *, double: bool = False) -> dict[str, Tensor]:
    """Outputs by the user's keys and new states as `<state>:out`.

    States start with their values at capture unless `inputs` has them. With `double`, all floating tensors and all
    conversions to float32 are float64. KeyError for a missing input.
    """
    values = {name: _widened(tensor, double) for name, tensor in captured.constants.items()}
    values |= {name: _widened(inputs.get(name, captured.initials[name]), double) for name, _ in captured.states}
    values |= {name: _widened(inputs[name], double) for name, _ in captured.inputs}
    for node in captured.nodes:
        _run(node, values, double)
    outputs = {name: values[str(ref)] for name, ref in captured.outputs}
    return outputs | {f"{name}:out": values[str(ref)] for name, ref in captured.updates}


def _run(node: Node, values: dict[str, Tensor], double: bool) -> None:
    operator = _operator(node.op)
    args = [_argument(arg, values, double) for arg in node.args]
    kwargs = {key: _argument(arg, values, double) for key, arg in node.kwargs}
    result = operator(*args, **kwargs)
    if not node.listed:
        values[node.name] = result
        return
    for index, item in enumerate(result):
        values[str(Ref(node.name, index))] = item


def _operator(name: str) -> Any:
    """The overload of a captured operator name; only torch's own namespaces are looked up."""
    namespace, operator, overload = name.split(".", 2)
    if namespace not in _NAMESPACES:
        raise UnsupportedError("PF0313", f"operator {name} is unknown to torch")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload)


def _argument(arg: Arg, values: Mapping[str, Tensor], double: bool) -> Any:
    if isinstance(arg, Ref):
        return values[str(arg)]
    if isinstance(arg, tuple):
        return [_argument(item, values, double) for item in arg]
    if isinstance(arg, Literal):
        wide = double and arg.value == "float32"
        return getattr(torch, "float64" if wide else arg.value)
    return arg


def _widened(tensor: Tensor, double: bool) -> Tensor:
    return tensor.double() if double and tensor.is_floating_point() else tensor
