"""IOSpec: what two compiled functions must agree on to hand over a device tensor as it is (mlsdk.md 1.4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pfcomp.app.model import TensorInfo
from pfcomp.ir.elements import HOST_TYPES
from pfcomp.layout import Layout


@dataclass(frozen=True, slots=True)
class IOSpec:
    """Shape, element types and layout of an input, output or state tensor.

    `dtype` is the device's element type, `torch_dtype` the host's. `layout` is None where tensors have no device
    layout (`pfvm:*`). No buffer or address belongs to it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    torch_dtype: str = "Float"
    layout: Layout | None = None
    layout_kind: str = "MNCore"

    @staticmethod
    def of(info: TensorInfo) -> IOSpec:
        """The spec of a tensor of an app."""
        return IOSpec(info.name, info.shape, info.dtype, info.torch_dtype, info.layout, info.layout_kind)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def host_type(self) -> np.dtype[Any]:
        """NumPy type of the tensor on the host."""
        return HOST_TYPES[self.torch_dtype]

    def is_memcopyable_to(self, other: IOSpec) -> bool:
        """True if a device buffer with this spec can serve as one with `other` byte for byte, under any name."""
        return (
            self.shape == other.shape
            and self.dtype == other.dtype
            and self.layout == other.layout
            and self.layout_kind == other.layout_kind
        )
