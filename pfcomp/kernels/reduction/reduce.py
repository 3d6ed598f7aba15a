"""ReduceSum, ReduceMax, ReduceMin, ReduceProd and ReduceMean: all places of a reduced axis get the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from pfcomp.kernels.api import Binding, Job, KernelContext, Placed, Spec
from pfcomp.kernels.padding import fill, fill_steps
from pfcomp.kernels.reduction.cost import steps_of
from pfcomp.kernels.reduction.emission import Emission
from pfcomp.kernels.reduction.geometry import Geometry, geometry
from pfcomp.kernels.reduction.monoids import MONOIDS
from pfcomp.kernels.reduction.suggest import suggested
from pfcomp.layout import Layout
from pfcomp.layout.share import shared


class Reduction:
    """The reductions of `MONOIDS` over any axes, in any layout whose kept and reduced digits share no bits."""

    def refuse(self, job: Job) -> str:
        """Only the types of `MONOIDS` have operations for it."""
        dtype = job.inputs[0].dtype
        return "" if (job.op, dtype) in MONOIDS else f"{job.op} of {dtype} has no operation on the chip"

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The layouts in which the operand is offered, also with its rows shared by the MABs where they hold copies.

        If there are none, some that suit the reduction.
        """
        spec, axes = job.inputs[0], axes_of(job)
        kept = [axis for axis in range(len(spec.shape)) if axis not in axes]
        shares = filter(None, (shared(layout, kept, pairs=False) for layout in offered[0]))
        for layout in (*offered[0], *shares) or suggested(spec.shape, axes, spec.dtype.bits):
            found = _geometry(job, layout)
            if found is not None:
                steps = steps_of(found, MONOIDS[job.op, spec.dtype]) + neutral_steps(found, spec, layout, axes)
                yield Binding((layout,), (found.output,), steps)

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Reduce; the operand's padding is overwritten where it would take part."""
        found = require(_geometry(job, binding.inputs[0]), job, binding)
        monoid = MONOIDS[job.op, job.inputs[0].dtype]
        source, target = placed.inputs[0], placed.outputs[0]
        if found.padded:
            fill(context, source, monoid.neutral, axes_of(job))
        Emission(context, monoid, found, source, target, _scale(job)).run()


def axes_of(job: Job) -> tuple[int, ...]:
    """The attribute `axes`."""
    axes = job.attribute("axes")
    if not isinstance(axes, tuple):
        raise TypeError(f"{job.op} has axes {axes!r}, not a tuple")
    return axes


def neutral_steps(found: Geometry, spec: Spec, layout: Layout, axes: tuple[int, ...]) -> int:
    """Estimated steps that make padding neutral where it would take part."""
    return fill_steps(layout, spec.shape, spec.dtype.bits, axes) if found.padded else 0


def require(found: Geometry | None, job: Job, binding: Binding) -> Geometry:
    """The geometry; ValueError if the layout is none that `bindings` proposes."""
    if found is None:
        raise ValueError(f"{job.op} cannot be done in {binding.inputs[0]}")
    return found


def _geometry(job: Job, layout: Layout) -> Geometry | None:
    spec = job.inputs[0]
    return geometry(layout, spec.shape, axes_of(job), bool(job.attribute("keepdims")), spec.dtype.bits)


def _scale(job: Job) -> float:
    shape = job.inputs[0].shape
    return 1 / prod(shape[axis] for axis in axes_of(job)) if job.op == "ReduceMean" else 1.0
