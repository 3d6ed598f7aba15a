"""The kernel of MatMul."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.contraction.emit import emit_contraction, variant_of
from pfcomp.kernels.contraction.mapping import layouts_of
from pfcomp.kernels.contraction.outer import outer_products
from pfcomp.kernels.contraction.problem import Problem, problems_of
from pfcomp.kernels.contraction.search import Way, best, best_aimed, best_matching
from pfcomp.layout import Layout

DTYPES = (DType.FLOAT, DType.DOUBLE)


class Contraction:
    """Matrix products: C[..., m, n] = sum over k of A[..., m, k]·B[..., k, n], batch axes repeated as in NumPy."""

    def refuse(self, job: Job) -> str:
        """Why the job cannot be done, "" if it can."""
        first, second = job.inputs
        if {first.dtype, second.dtype} - set(DTYPES) or first.dtype is not second.dtype:
            return f"a matrix product of {first.dtype} and {second.dtype}"
        if min(len(first.shape), len(second.shape)) < 2:
            return "a matrix product with a one-dimensional operand; add an axis of length 1"
        if first.shape[-1] != second.shape[-2]:
            return f"a matrix product of {first.shape} and {second.shape}"
        if not prod(first.shape) * prod(second.shape):
            return "a matrix product with an empty operand"
        return ""

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """Ways to run the job, good ones first."""
        problems = problems_of(job)
        given = tuple(map(tuple, offered))
        aimed, matching = _aimed(problems, job.wanted), _matching(problems, given, job.wanted)
        return (*aimed, *matching, *_free(problems), *outer_products(job, given))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Emit the micro-operations."""
        emit_contraction(context, binding.variant, placed)


@lru_cache(maxsize=256)
def _free(problems: tuple[Problem, ...]) -> tuple[Binding, ...]:
    return tuple(map(binding_of, best(problems)))


@lru_cache(maxsize=1024)
def _matching(
    problems: tuple[Problem, ...], offered: tuple[tuple[Layout, ...], ...], wanted: tuple[Layout, ...]
) -> tuple[Binding, ...]:
    return tuple(map(binding_of, best_matching(problems, offered, wanted)))


@lru_cache(maxsize=256)
def _aimed(problems: tuple[Problem, ...], wanted: tuple[Layout, ...]) -> tuple[Binding, ...]:
    return tuple(map(binding_of, best_aimed(problems, wanted)))


def binding_of(way: Way) -> Binding:
    """The layouts, steps and variant of a way."""
    inputs, result = layouts_of(way.problem, way.plan)
    variant = variant_of(way.problem.mode, way.problem.row_axis, way.plan.turned)
    return Binding(inputs, (result,), way.estimate.steps, variant, moving=way.estimate.moving)
