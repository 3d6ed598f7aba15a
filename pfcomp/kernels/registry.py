"""Which kernel takes which operator, apart from element-wise ones (`pfcomp.kernels.table`)."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.kernels.api import Kernel, KernelTable


@lru_cache(maxsize=1)
def kernels() -> KernelTable:
    """Kernels by operator."""
    table: dict[str, Kernel] = {}
    import contextlib

    with contextlib.suppress(ImportError):  # TEMPORARY while kernels are being built
        from pfcomp.kernels.reduction import Reduction

        table.update(dict.fromkeys(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"), Reduction()))
    with contextlib.suppress(ImportError):
        from pfcomp.kernels.reduction import ArgReduction

        table.update(dict.fromkeys(("ArgMax", "ArgMin"), ArgReduction()))
    with contextlib.suppress(ImportError):
        from pfcomp.kernels.contraction import Contraction

        table["MatMul"] = Contraction()
    with contextlib.suppress(ImportError):
        from pfcomp.kernels.scan import CumSum

        table["CumSum"] = CumSum()
    with contextlib.suppress(ImportError):
        from pfcomp.kernels.indexing import Indexing

        table.update(dict.fromkeys(("Gather", "GatherElements", "ScatterElements"), Indexing()))
    return table
