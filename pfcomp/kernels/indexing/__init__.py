"""Gathers and scatters by indices that are computed at run time (backend-movement.md 5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.indexing.elements import GatherElements
from pfcomp.kernels.indexing.gather import Gather
from pfcomp.kernels.indexing.scatter import ScatterElements
from pfcomp.kernels.indexing.scatter_rows import ScatterRows
from pfcomp.layout import Layout

__all__ = ["Indexing"]


class _Operator(Protocol):
    def refuse(self, job: Job) -> str: ...

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]: ...

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None: ...


_OPERATORS: dict[str, _Operator] = {
    "Gather": Gather(),
    "GatherElements": GatherElements(),
    "ScatterElements": ScatterElements(),
    "ScatterRows": ScatterRows(),
}


class Indexing:
    """The operators of `_OPERATORS`; the indexed axis of the data lies in the addresses of each PE.

    Indices from -n to n - 1 mean what they mean in ONNX; reading at any other index gives some value, writing there
    does nothing.
    """

    def refuse(self, job: Job) -> str:
        """Why the job cannot be done, "" if it can."""
        return _OPERATORS[job.op].refuse(job)

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """Layouts with the indexed axis in Addr and the other axes of the data spread over the chip."""
        return _OPERATORS[job.op].bindings(job, offered)

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Emit the job."""
        _OPERATORS[job.op].emit(context, job, binding, placed)
