"""Relayouts that exchange digits, planned as a sequence of moves (docs/relayout.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pfcomp.ir.model import LM_WORDS, Location, MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.relayout.api import Form
from pfcomp.relayout.moves.model import MAB, Move, Places, Store, labels
from pfcomp.relayout.moves.problem import Problem, problem_of
from pfcomp.relayout.moves.rows import Exchange, exchange_of
from pfcomp.relayout.search import finished, search

SUPPORTED_BITS = (32, 64)
MOVE_BYTES = 4096
"""Memory of a move with its tables, about."""
VECTOR = 4
"""Values in local memory take whole vectors of long words."""


def exchange_plan(source: Form, target: Form) -> ExchangePlan | None:
    """How to bring a value from one layout to another, with all copies that the target names.

    None if the layouts differ by more than an exchange of digits, or if the engine cannot do the exchange.
    """
    if source.bits not in SUPPORTED_BITS or (source.shape, source.bits) != (target.shape, target.bits):
        return None
    exchange = exchange_of(source.layout, target.layout)
    return None if exchange is None else _plan(exchange, source.bits)


@lru_cache(maxsize=4096)
def _plan(exchange: Exchange, bits: int) -> ExchangePlan | None:
    problem = problem_of(exchange, bits)
    if problem is None:
        return None
    moves = search(problem)
    if moves is None:
        return None
    plan = ExchangePlan(problem, finished(problem, moves))
    return plan if all(scratch.words <= LM_WORDS for scratch in plan.scratch) else None


@dataclass(frozen=True)
class ExchangePlan:
    """Moves one after the other; results in between alternate between two pieces of scratch."""

    problem: Problem
    moves: tuple[Move, ...]

    @property
    def steps(self) -> int:
        return sum(move.steps for move in self.moves)

    @cached_property
    def scratch(self) -> Sequence[Scratch]:
        """The results of the moves but the last: those of odd ones in LM1, those of even ones in LM0."""
        sizes = [size for _, size in self._between]
        homes = (Location.LM1, Location.LM0)
        return tuple(Scratch(max(sizes[k::2]), homes[k]) for k in range(min(2, len(sizes))))

    @property
    def tables(self) -> Sequence[Table]:
        return ()

    @property
    def table_words(self) -> Sequence[int]:
        return ()

    @property
    def bytes(self) -> int:
        return MOVE_BYTES * len(self.moves)

    @cached_property
    def _between(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Strides and size of every result but the last."""
        universe = self.problem.universe
        places = [self.problem.start, *(move.after for move in self.moves)]
        found: list[tuple[tuple[int, ...], int]] = []
        for before, here, after in zip(places, places[1:], places[2:], strict=False):
            strides = [0] * len(universe.sizes)
            size = 1
            for item in _order(universe.address_items(here), before, after):
                strides[item] = size
                size *= universe.sizes[item]
            found.append((tuple(strides), -(-size // VECTOR) * VECTOR))
        return tuple(found)

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Emit all moves."""
        if tables:
            raise ValueError("an exchange of digits needs no tables")
        stores = [Store(source.location, source.address or 0, self.problem.source_strides)]
        for number, (strides, _) in enumerate(self._between):
            held = scratch[number % 2]
            stores.append(Store(held.location, held.address or 0, strides))
        stores.append(Store(target.location, target.address or 0, self.problem.target_strides))
        for move, before, after in zip(self.moves, stores[:-1], stores[1:], strict=True):
            move.emit(context, before, after)


def _order(address: tuple[int, ...], before: Places, after: Places) -> list[int]:
    """The items of an address, the fastest first: those that come from MABs and from below, those that go on, the rest.

    Neighbours then come down in pairs, and a pointer needs one shift for all items of a level.
    """
    came = [i for i in (*labels(before, MAB), *before) if i in address]
    going = [i for i in after if i in address]
    return list(dict.fromkeys([*came, *going, *address]))
