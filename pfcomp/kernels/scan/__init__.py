"""Operators that walk along an axis: running sums and the largest elements."""

from pfcomp.kernels.scan.cumsum import CumSum
from pfcomp.kernels.scan.topk import TopK

__all__ = ["CumSum", "TopK"]
