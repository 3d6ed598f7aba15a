"""How scatters combine an update with the element that is there."""

from __future__ import annotations

from pfcomp.kernels.api import Job
from pfcomp.kernels.reduction.monoids import MONOIDS

REDUCTIONS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def refuse_reduction(job: Job) -> str:
    """Why the chip cannot combine elements as the attribute `reduction` says."""
    kind, dtype = str(job.attribute("reduction")), job.inputs[0].dtype
    known = kind == "none" or (REDUCTIONS.get(kind, ""), dtype) in MONOIDS
    return "" if known else f"{job.op} with reduction {kind} of {dtype}"


def combination(job: Job) -> tuple[str, ...]:
    """The operations that combine two elements; none where updates replace what is there."""
    kind, dtype = str(job.attribute("reduction")), job.inputs[0].dtype
    return () if kind == "none" else MONOIDS[REDUCTIONS[kind], dtype].combine
