"""compile_automap: functions of nested arguments on top of functions of named tensors (mlsdk.md 1.4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from mlsdk.proxy import TensorProxy
from pfcomp.errors import UsageError

Class = TypeVar("Class", bound=type)


def register_pytree_namedtuple(cls: Class) -> Class:
    """Class decorator: tensors inside this NamedTuple are found by `compile_automap` (it knows all NamedTuples)."""
    return cls


def register_pytree_dataclass(cls: Class) -> Class:
    """Class decorator, above `@dataclass`: tensors inside this dataclass are found by `compile_automap`."""
    torch.export.register_dataclass(cls)
    return cls


def automap(
    compile_function: Callable[..., Callable[[Mapping[str, Any]], dict[str, Any]]],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    codegen_dir: str | Path,
    **keywords: Any,
) -> Callable[..., Any]:
    """Compile `function(*args, **kwargs)`; the result takes and returns the same structures, with proxies for tensors.

    Leaves that are no tensors are frozen. Inputs are named `arg0`, `arg1`, ... in the order of the flattened
    structure, outputs `out0`, `out1`, ....
    """
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    results: list[Any] = []

    def named(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        filled = [inputs.get(f"arg{i}", leaf) for i, leaf in enumerate(leaves)]
        call_args, call_kwargs = pytree.tree_unflatten(filled, structure)
        found, shape = pytree.tree_flatten(function(*call_args, **call_kwargs))
        results[:] = [shape]
        return {f"out{i}": value for i, value in enumerate(found)}

    named.__name__ = getattr(function, "__name__", "function")
    compiled = compile_function(named, _tensors(leaves), codegen_dir, **keywords)

    def call(*call_args: Any, **call_kwargs: Any) -> Any:
        given, given_structure = pytree.tree_flatten((call_args, call_kwargs))
        if given_structure != structure:
            raise UsageError("PF0617", f"{named.__name__} was compiled for arguments of another structure")
        return pytree.tree_unflatten(list(compiled(_tensors(given)).values()), results[0])

    return call


def _tensors(leaves: list[Any]) -> dict[str, Any]:
    return {f"arg{i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor | TensorProxy)}
