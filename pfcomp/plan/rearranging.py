"""Estimated steps of rearrangements, and whether memory has room for them, for the layout planner."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

import numpy as np

from pfcomp.ir.model import LM_WORDS
from pfcomp.ir.packing import in_vectors
from pfcomp.kernels.api import Job, Scratch
from pfcomp.layout import Layout
from pfcomp.plan.costs import TOO_DEAR
from pfcomp.plan.lower.views import source_maps
from pfcomp.plan.room import move_fits
from pfcomp.relayout.api import Form
from pfcomp.relayout.guess import rearrange_guess
from pfcomp.relayout.planner import rearrange_plan
from pfcomp.relayout.sharing import shared_scratch
from pfcomp.relayout.spots import Longs

LARGE = 1 << 18
"""Elements of a result from which on planning every rearrangement that is thought of takes too long."""
SAMPLE, SEED = 4096, 0
"""Elements from which the steps of a rearrangement are guessed, and what they are drawn with."""

Sources = tuple[Layout, ...]


@dataclass(slots=True)
class RearrangeCosts:
    """Steps of rearrangements; of large ones guesses, until `learn` has planned one or `guesses` is switched off.

    One object belongs to one planning of one graph. `room` is in long words of one memory.
    """

    room: int = LM_WORDS
    guesses: bool = True
    known: set[tuple[Job, int, Layout, Layout]] = field(default_factory=set)

    def operand_steps(self, job: Job, operand: int, source: Layout, target: Layout) -> int:
        """Of moving one operand into place."""
        if not self._is_known(job, operand, source, target):
            return _guessed(job, operand, source, target)
        return _moved(job, operand, source, target, self.room).steps

    def steps(self, job: Job, sources: Sources, target: Layout) -> int:
        """Of the whole rearrangement; TOO_DEAR if it is known to find no room."""
        if not self.fits(job, sources, target):
            return TOO_DEAR
        return sum(self.operand_steps(job, k, source, target) for k, source in enumerate(sources))

    def fits(self, job: Job, sources: Sources, target: Layout) -> bool:
        """True if the memories hold operands and result, and what is known to be needed besides."""
        if not all(self._is_known(job, k, source, target) for k, source in enumerate(sources)):
            return move_fits(sources, target, (), self.room)
        moves = [_moved(job, k, source, target, self.room) for k, source in enumerate(sources)]
        scratch = [(in_vectors(one.words), one.location) for one in shared_scratch(move.scratch for move in moves)]
        tables = [(words, None) for move in moves for words in move.tables]
        return move_fits(sources, target, [*scratch, *tables], self.room)

    def learn(self, job: Job, sources: Sources, target: Layout) -> bool:
        """Plan a rearrangement, so that its steps are known from now on; False if they were."""
        news = {(job, k, x, target) for k, x in enumerate(sources) if not self._is_known(job, k, x, target)}
        self.known |= news
        return bool(news)

    def _is_known(self, job: Job, operand: int, source: Layout, target: Layout) -> bool:
        guessed = self.guesses and prod(job.outputs[0].shape) >= LARGE
        return not guessed or (job, operand, source, target) in self.known


@dataclass(frozen=True, slots=True)
class _Moved:
    """Steps of moving an operand into place, and the local memory needed besides: scratch, and words of tables."""

    steps: int
    scratch: tuple[Scratch, ...]
    tables: tuple[int, ...]


@lru_cache(maxsize=4096)
def _moved(job: Job, operand: int, source: Layout, target: Layout, room: int) -> _Moved:
    plan = rearrange_plan(*_forms(job, operand, source, target), source_maps(job)[operand], room)
    return _Moved(plan.steps, tuple(plan.scratch), tuple(map(in_vectors, plan.table_words)))


@lru_cache(maxsize=4096)
def _guessed(job: Job, operand: int, source: Layout, target: Layout) -> int:
    return rearrange_guess(*_forms(job, operand, source, target), *_sample(job)[operand])


@lru_cache(maxsize=256)
def _sample(job: Job) -> tuple[tuple[Longs, Longs], ...]:
    """For each operand some places of the result, and the elements that go there."""
    draw = np.random.default_rng(SEED)
    found = []
    for index in source_maps(job):
        filled = np.flatnonzero(index.reshape(-1) >= 0)
        places = filled[draw.integers(len(filled), size=SAMPLE)] if len(filled) else filled
        found.append((places, index.reshape(-1)[places]))
    return tuple(found)


def _forms(job: Job, operand: int, source: Layout, target: Layout) -> tuple[Form, Form]:
    before, after = job.inputs[operand], job.outputs[0]
    return Form(before.shape, before.dtype.bits, source), Form(after.shape, before.dtype.bits, target)
