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


class Flattened:
    """`function(*args, **kwargs)` as a function of named tensors: inputs `arg0`, `arg1`, ..., outputs `out0`, ...

    The numbers of inputs count all leaves of the arguments; leaves that are no tensors are frozen.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "function")
        self.leaves, self.structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
        self.result: Any = None  # the structure of the result, known after a trace

    def __call__(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        filled = [inputs.get(f"arg{i}", leaf) for i, leaf in enumerate(self.leaves)]
        args, kwargs = pytree.tree_unflatten(filled, self.structure)
        found, self.result = pytree.tree_flatten(self.function(*args, **kwargs))
        return {f"out{i}": value for i, value in enumerate(found)}

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors in a call's arguments by input name. Raises UsageError PF0617 for another structure."""
        leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
        if structure != self.structure:
            raise UsageError("PF0617", f"{self.__name__} was compiled for arguments of another structure")
        return {f"arg{i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor | TensorProxy)}


def automap(
    compile_function: Callable[..., Callable[[Mapping[str, Any]], dict[str, Any]]],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    codegen_dir: str | Path,
    **keywords: Any,
) -> Callable[..., Any]:
    """Compile `function(*args, **kwargs)`; the result takes and returns the same structures, proxies for tensors."""
    flattened = Flattened(function, args, kwargs)
    compiled = compile_function(flattened, flattened.named(args, kwargs), codegen_dir, **keywords)

    def call(*call_args: Any, **call_kwargs: Any) -> Any:
        results = compiled(flattened.named(call_args, call_kwargs))
        return pytree.tree_unflatten(list(results.values()), flattened.result)

    return call
