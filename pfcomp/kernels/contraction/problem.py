"""A matrix product by role, and how the levels of the chip are shared among its axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pfcomp.kernels.api import Job
from pfcomp.kernels.contraction.modes import Mode, modes_of
from pfcomp.layout.model import Level, Subaxis

Four = tuple[int, int, int, int]
"""One number for each of: batch, rows, columns, depth."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A matrix product by role.

    `batch` has the result's batch axes, `stationary` and `streamed` those of the operands; rows and columns are the
    operands' own axes and depth the reduced one. `row_axis` is 0 if the first operand is the stationary one.
    """

    mode: Mode
    row_axis: int
    batch: tuple[int, ...]
    stationary: tuple[int, ...]
    streamed: tuple[int, ...]
    rows: int
    columns: int
    depth: int

    def dims(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """An operand's batch axes, with ones in front of them."""
        return (1,) * (len(self.batch) - len(own)) + own

    @property
    def longest_batch(self) -> int:
        """The batch axis that may be spread over the levels, -1 if there is none."""
        return max(range(len(self.batch)), key=lambda n: (self.batch[n], -n)) if self.batch else -1


@dataclass(frozen=True, slots=True)
class Split:
    """How many ways every level is split among the axes: powers of two.

    What remains of a level holds copies. `scatter` names the levels over which sums come back scattered.
    """

    l2b: Four = (1, 1, 1, 1)
    l1b: Four = (1, 1, 1, 1)
    mab: Four = (1, 1, 1, 1)
    scatter: tuple[Level, ...] = ()

    @property
    def levels(self) -> tuple[tuple[Level, Four], ...]:
        return (Level.L2B, self.l2b), (Level.L1B, self.l1b), (Level.MAB, self.mab)

    def ways(self, axis: int) -> int:
        """How many ways an axis is split: 0 batch, 1 rows, 2 columns, 3 depth."""
        return self.l2b[axis] * self.l1b[axis] * self.mab[axis]

    def digits(self, axis: int) -> tuple[Subaxis, ...]:
        """The digits of an axis on the levels, slowest first; depth takes the lowest coordinates, then columns."""
        return tuple(
            Subaxis(factors[axis], level, prod(factors[axis + 1 :]))
            for level, factors in self.levels
            if factors[axis] > 1
        )


def problems_of(job: Job) -> tuple[Problem, ...]:
    """The job by role, for each mode and choice of the stationary operand."""
    first, second = (spec.shape for spec in job.inputs)
    m, n, k = first[-2], second[-1], first[-1]
    batch = job.outputs[0].shape[:-2]
    return tuple(
        Problem(mode, 0, batch, first[:-2], second[:-2], m, n, k) if row_axis == 0
        else Problem(mode, 1, batch, second[:-2], first[:-2], n, m, k)
        for mode in modes_of(job) for row_axis in (0, 1)
    )  # fmt: skip
