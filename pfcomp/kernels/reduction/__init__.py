"""Reductions along axes, with the result in all places that the reduced axes took."""

from pfcomp.kernels.reduction.arg import ArgReduction
from pfcomp.kernels.reduction.reduce import Reduction

__all__ = ["ArgReduction", "Reduction"]
