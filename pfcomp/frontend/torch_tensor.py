"""torch tensors as bytes and as onnx_ir tensors, including bfloat16."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
import torch
from torch import Tensor

from pfcomp.frontend.lower.dtypes import ONNX_TYPES


def to_numpy(tensor: Tensor) -> Any:
    """A dense CPU tensor as an array that shares its memory; bfloat16 becomes ml_dtypes.bfloat16."""
    dense = tensor.detach().cpu().contiguous()
    if dense.dtype == torch.bfloat16:
        return dense.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return dense.numpy()


def from_numpy(array: Any) -> Tensor:
    """A tensor with a copy of the array's elements; ml_dtypes.bfloat16 becomes bfloat16."""
    dense = np.array(array, order="C", copy=True)
    if dense.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(dense.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(dense)


def onnx_tensor(tensor: Tensor, name: str) -> ir.Tensor:
    """A tensor as initializer data."""
    dtype = ONNX_TYPES[str(tensor.dtype).removeprefix("torch.")]
    return ir.Tensor(to_numpy(tensor), dtype=dtype, name=name)
