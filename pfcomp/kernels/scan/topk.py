"""TopK along an axis in Addr: values and indices of the k first elements in order; k = n sorts.

An element and its index make one 64-bit integer that is compared as a whole: the high word orders the values, the low
one prefers smaller indices. A list of k such integers stays in registers; every element of the axis is inserted from
the top, at two operations (maximum and minimum) for each place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.reduction.emission import VECTOR, batches
from pfcomp.kernels.reduction.geometry import reduced_layout
from pfcomp.kernels.scan.entries import WORDS_OF, Entries
from pfcomp.kernels.scan.rows import axis_of, layouts_of, required_rows
from pfcomp.layout import Layout, Level, Subaxis, extent, with_broadcast
from pfcomp.layout.twin import splits_words, twin

MOST = 64
"""Places of the list: vectors that fit into the register files beside everything else."""

CODING = 8
"""Operations that make an integer of an element and its index, or the reverse."""


class TopK:
    """The k largest (`largest` 1) or smallest elements, sorted, the first of equal ones first."""

    def refuse(self, job: Job) -> str:
        """Types of 64 bits, and lists that do not fit into registers."""
        dtype, k = job.inputs[0].dtype, _k(job)
        if dtype not in (DType.FLOAT, DType.INT, DType.BOOL):
            return f"{job.op} of {dtype} has no comparison that includes the index"
        return f"{job.op} of more than {MOST} elements" if k > MOST else ""

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """Values lie like the operand's, with the axis densely in Addr; indices in the 64-bit form of that layout."""
        axis, k = axis_of(job), _k(job)
        for layout, rows in layouts_of(job, axis, offered):
            output = _output(layout, axis, k)
            vectors = -(-len(rows.kept) // VECTOR) * (WORDS_OF[splits_words(layout)])
            inserted = sum(2 * min(k, place) for place in range(len(rows.offsets)))
            yield Binding((layout,), (output, twin(output)), vectors * (inserted + CODING * (len(rows.offsets) + k)))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Insert all elements, row by row."""
        axis, layout = axis_of(job), binding.inputs[0]
        rows = required_rows(job, layout)
        stride = extent(reduced_layout(layout, (axis,), True), Level.ADDR)
        entries = Entries(context, placed, largest=bool(job.attribute("largest")), words=splits_words(layout))
        for (quad,) in batches(rows.kept, 1):
            entries.begin_row([address for address, _ in quad])
            lists = entries.lists(rows.offsets, _k(job))
            for place in range(_k(job)):
                entries.write([entry[place] for entry in lists], [address + place * stride for _, address in quad])


def _k(job: Job) -> int:
    return job.outputs[0].shape[axis_of(job)]


def _output(layout: Layout, axis: int, k: int) -> Layout:
    rest = reduced_layout(layout, (axis,), True)
    digit = (Subaxis(k, Level.ADDR, extent(rest, Level.ADDR)),)
    return with_broadcast(Layout(tuple(digit if number == axis else subs for number, subs in enumerate(rest.axes))))
