"""ArgMax and ArgMin: the index of the first extreme element along an axis, in all places of that axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.padding import fill
from pfcomp.kernels.reduction.arg_emission import ArgEmission
from pfcomp.kernels.reduction.cost import steps_of
from pfcomp.kernels.reduction.geometry import Geometry, geometry
from pfcomp.kernels.reduction.monoids import LARGEST_KEY, MONOIDS, Monoid
from pfcomp.kernels.reduction.reduce import neutral_steps
from pfcomp.kernels.reduction.suggest import suggested
from pfcomp.layout import Layout
from pfcomp.layout.twin import twin

LONGEST = 1 << 22
"""Indices and keys must be exact in single precision, also on the way from and to integers."""

KEY_STEPS = 12
"""Steps for the lanes' first keys and for the conversion of the last ones."""

_REDUCTIONS = {"ArgMax": "ReduceMax", "ArgMin": "ReduceMin"}


class ArgReduction:
    """ArgMax and ArgMin along one axis, the first of equal elements."""

    def refuse(self, job: Job) -> str:
        """Types without a comparison, axes whose indices do not fit a single."""
        spec = job.inputs[0]
        if spec.dtype is DType.BOOL or (_REDUCTIONS[job.op], spec.dtype) not in MONOIDS:
            return f"{job.op} of {spec.dtype} has no operation on the chip"
        return f"{job.op} of more than {LONGEST} elements" if spec.shape[_axis(job)] > LONGEST else ""

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The layouts in which the operand is offered, or else some that suit the reduction."""
        spec = job.inputs[0]
        for layout in offered[0] or suggested(spec.shape, (_axis(job),), spec.dtype.bits):
            found = _geometry(job, layout)
            if found is not None:
                output = found.output if spec.dtype.bits == 64 else twin(found.output)
                steps = steps_of(found, _monoid(job)) + 2 * steps_of(found, LARGEST_KEY) + KEY_STEPS
                steps += neutral_steps(found, spec, layout, (_axis(job),))
                yield Binding((layout,), (output,), steps)

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Find the indices; the operand's padding is overwritten where it would take part."""
        found = _geometry(job, binding.inputs[0])
        if found is None:
            raise ValueError(f"{job.op} cannot be done in {binding.inputs[0]}")
        if found.padded:
            fill(context, placed.inputs[0], _monoid(job).neutral, (_axis(job),))
        ArgEmission(context, _monoid(job), found, placed, _axis(job)).run()


def _axis(job: Job) -> int:
    axis = job.attribute("axis")
    if not isinstance(axis, int):
        raise TypeError(f"{job.op} has axis {axis!r}, not an integer")
    return axis


def _monoid(job: Job) -> Monoid:
    return MONOIDS[_REDUCTIONS[job.op], job.inputs[0].dtype]


def _geometry(job: Job, layout: Layout) -> Geometry | None:
    spec = job.inputs[0]
    return geometry(layout, spec.shape, (_axis(job),), bool(job.attribute("keepdims")), spec.dtype.bits)
