"""TensorProxy: a tensor on the device that behaves like a torch tensor (mlsdk.md 1.5).

`cpu`, `item`, `load_from`, `shape`, `dtype` and `numel` are native. Everything else that one does with a tensor happens
on a host copy, which is fetched at the first use and again when the device tensor has changed. In-place changes of
the copy go back to the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mlsdk.tensors import TORCH_TYPES, shaped_for, to_array, to_tensor
from pfcomp.runtime.handle import Handle


class TensorProxy:
    """A device tensor. `handle` is the device side."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._host: Tensor | None = None
        self._host_version = -1

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.handle.spec.shape)

    @property
    def dtype(self) -> torch.dtype:
        return TORCH_TYPES[self.handle.spec.torch_dtype]

    def numel(self) -> int:
        """Number of elements."""
        return self.handle.spec.elements

    def cpu(self) -> Tensor:
        """A new host tensor with the contents, after the run that produces them. Raises that run's errors."""
        return to_tensor(self.handle.read(), self.handle.spec.torch_dtype)

    def item(self) -> bool | int | float:
        """The only element as a Python number; RuntimeError if there are more."""
        number: bool | int | float = self.host().item()
        return number

    def load_from(self, src: Tensor | TensorProxy, clone: bool = True) -> None:
        """Copy `src` into the device tensor; it needs the same number of elements.

        With `clone=False` the caller promises not to change `src` until the copy is done. The elements are taken
        before this returns, so both values of `clone` are safe.
        """
        spec = self.handle.spec
        shaped_for(spec, src.numel())
        host = src.cpu() if isinstance(src, TensorProxy) else src
        self.handle.write(to_array(host.detach().reshape(spec.shape), spec.torch_dtype))

    def host(self) -> Tensor:
        """The shared host copy; treat it as read-only."""
        if self._host is None or self._host_version != self.handle.version:
            self._host_version = self.handle.version
            self._host = self.cpu()
        return self._host

    def _write_through(self) -> None:
        """Send the changed host copy to the device."""
        host = self.host()
        self.handle.write(to_array(host, self.handle.spec.torch_dtype))
        self._host_version = self.handle.version

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.host(), name)
        if not _changes_in_place(name) or not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> TensorProxy:
            value(*_unwrapped(args), **_unwrapped(kwargs))
            self._write_through()
            return self

        return call

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host()[_unwrapped(index)] = _unwrapped(value)
        self._write_through()

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.host())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array: NDArray[Any] = self.host().numpy()
        return np.array(array, dtype=dtype) if copy is not False else array.astype(dtype or array.dtype, copy=False)

    def __repr__(self) -> str:
        spec = self.handle.spec
        return f"TensorProxy({spec.name}, shape={tuple(spec.shape)}, dtype={self.dtype})"

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Any torch function on proxies works on their host copies."""
        result = func(*_unwrapped(args), **_unwrapped(dict(kwargs or {})))
        changed = [*args[:1]] if _changes_in_place(func.__name__) else []
        for proxy in (*changed, (kwargs or {}).get("out")):
            if isinstance(proxy, TensorProxy):
                proxy._write_through()
        return result


def _changes_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _unwrapped(value: Any) -> Any:
    """`value` with every proxy inside tuples, lists, dicts and slices replaced by its host copy."""
    if isinstance(value, TensorProxy):
        return value.host()
    if isinstance(value, dict):
        return {key: _unwrapped(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(_unwrapped(value.start), _unwrapped(value.stop), _unwrapped(value.step))
    if type(value) in (tuple, list):
        return type(value)(_unwrapped(item) for item in value)
    return value


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OTHERS = ("neg", "pos", "abs", "invert", "getitem", "len", "bool", "int", "float", "index", "complex", "contains")
_OPERATORS = (*_BINARY, *(f"r{name}" for name in _BINARY), *_COMPARISONS, *_OTHERS)
_IN_PLACE_OPERATORS = tuple(f"i{name}" for name in _BINARY if name != "matmul")


def _operator(name: str) -> Callable[..., Any]:
    def call(self: TensorProxy, *args: Any) -> Any:
        return getattr(self.host(), name)(*_unwrapped(args))

    call.__name__ = name
    return call


def _in_place_operator(name: str) -> Callable[[TensorProxy, Any], TensorProxy]:
    def call(self: TensorProxy, other: Any) -> TensorProxy:
        getattr(self.host(), name)(_unwrapped(other))
        self._write_through()
        return self

    call.__name__ = name
    return call


for _name in _OPERATORS:
    setattr(TensorProxy, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _IN_PLACE_OPERATORS:
    setattr(TensorProxy, f"__{_name}__", _in_place_operator(f"__{_name}__"))
