"""torch tensors as NumPy arrays and back, with the element types of the device's specs."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from pfcomp.runtime.iospec import IOSpec

# the device specs' names of host element types
TORCH_TYPES: dict[str, torch.dtype] = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}
TYPE_NAMES = {dtype: name for name, dtype in TORCH_TYPES.items()}


def to_array(tensor: Tensor, torch_dtype: str) -> NDArray[Any]:
    """The elements as an array of the host type `torch_dtype`; may share the tensor's memory and have its strides."""
    wanted = TORCH_TYPES[torch_dtype]
    tensor = tensor.detach().cpu()
    if tensor.dtype is not wanted:
        tensor = tensor.to(wanted)
    array: NDArray[Any] = (tensor.float() if wanted is torch.bfloat16 else tensor).numpy()
    return array


def to_tensor(array: NDArray[Any], torch_dtype: str) -> Tensor:
    """A tensor of the host type `torch_dtype` that owns `array`'s elements."""
    return torch.from_numpy(array).to(TORCH_TYPES[torch_dtype])


def shaped_for(spec: IOSpec, size: int) -> None:
    """Check that an input of `size` elements can be reshaped to the compiled shape (mlsdk.md 5)."""
    if size != spec.elements:
        raise RuntimeError(f"shape '{list(spec.shape)}' is invalid for input of size {size}")


class TorchTensor:
    """A torch tensor as the host side of a registered name; equal to another one of the same tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def torch_dtype(self) -> str:
        return TYPE_NAMES[self.tensor.dtype]

    def read(self) -> NDArray[Any]:
        return to_array(self.tensor, self.torch_dtype).copy()

    def write(self, array: NDArray[Any]) -> None:
        with torch.no_grad():
            self.tensor.copy_(to_tensor(array, self.torch_dtype).reshape(self.tensor.shape))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchTensor) and other.tensor is self.tensor

    def __hash__(self) -> int:
        return id(self.tensor)
