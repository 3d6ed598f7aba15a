"""CumSum along an axis in Addr: one addition for each vector, in the order of the axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.reduction.emission import VECTOR, Quad, batches
from pfcomp.kernels.reduction.monoids import MONOIDS
from pfcomp.kernels.reduction.stream import Stream, Value
from pfcomp.kernels.scan.rows import axis_of, layouts_of, required_rows
from pfcomp.layout import Layout

LATENCY = 4
"""Steps beside one for each vector: the first result's way to local memory."""


class CumSum:
    """Running sums; `exclusive` leaves the element itself out, `reverse` starts at the end."""

    def refuse(self, job: Job) -> str:
        """Types without an addition."""
        dtype = job.inputs[0].dtype
        return "" if ("ReduceSum", dtype) in MONOIDS else f"{job.op} of {dtype} has no operation on the chip"

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The result has the operand's layout and may take its place."""
        for layout, rows in layouts_of(job, axis_of(job), offered):
            steps = len(rows.offsets) * -(-len(rows.kept) // VECTOR) + LATENCY
            yield Binding((layout,), (layout,), steps, in_place=((0, 0),))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Emit the sums of all rows."""
        rows = required_rows(job, binding.inputs[0])
        offsets = rows.offsets[::-1] if job.attribute("reverse") else rows.offsets
        (add,) = MONOIDS["ReduceSum", job.inputs[0].dtype].combine
        stream = Stream(context.builder)
        for (quad,) in batches(rows.kept, 1):
            stream.begin_vector()
            _row(stream, add, placed, quad, offsets, exclusive=bool(job.attribute("exclusive")))
        stream.flush()


def _row(stream: Stream, add: str, placed: Placed, quad: Quad, offsets: Sequence[int], *, exclusive: bool) -> None:
    source, target = placed.inputs[0], placed.outputs[0]
    total: Value = stream.twice(0)
    for offset in offsets:
        element = operands.vector(source.location, [(source.address or 0) + a + offset for a, _ in quad])
        to = operands.vector(target.location, [(target.address or 0) + a + offset for a, _ in quad])
        before, total = total, stream.op(add, total, element)
        if exclusive:
            stream.flush()  # the element must be read before its place is taken
        stream.store(before if exclusive else total, to)
