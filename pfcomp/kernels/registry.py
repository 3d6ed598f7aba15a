"""Which kernel takes which operator, apart from element-wise ones (`pfcomp.kernels.table`)."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.kernels.api import Kernel, KernelTable


@lru_cache(maxsize=1)
def kernels() -> KernelTable:
    """Kernels by operator; imported when first needed."""
    from pfcomp.kernels.contraction import Contraction
    from pfcomp.kernels.indexing import Indexing
    from pfcomp.kernels.reduction import ArgReduction, Reduction
    from pfcomp.kernels.scan import CumSum, TopK

    families: dict[str, Kernel] = {
        "ReduceSum ReduceMax ReduceMin ReduceProd ReduceMean": Reduction(),
        "ArgMax ArgMin": ArgReduction(),
        "MatMul": Contraction(),
        "CumSum": CumSum(),
        "TopK": TopK(),
        "Gather GatherElements ScatterElements ScatterRows": Indexing(),
    }
    return {op: kernel for names, kernel in families.items() for op in names.split()}
