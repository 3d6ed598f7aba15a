"""Ways to bring source units to the PEs that want them, into a window or straight to their place in the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from pfcomp.ir.model import Location, MNValue
from pfcomp.isa.model import Operand
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.gather.passes import Grain, Straight
from pfcomp.relayout.spots import WORDS, Ints

Window = tuple[Location, int]

FOUR = Grain((0, 1, 2, 3))
CONTIGUOUS = Grain((0, 1, 2, 3), contiguous=True)


class Session(Protocol):
    """A feed while its program is emitted."""

    def window(self, blocks: Sequence[int], scratch: MNValue | None) -> Window:
        """Bring blocks into a window; returns where it is."""

    def finish(self) -> None:
        """Emit what is still to do."""


class Feed(Protocol):
    """One way; `inside` tells that nothing leaves its PE: then words and pairs of long words can be copied, too."""

    @property
    def grain(self) -> Grain: ...

    @property
    def inside(self) -> bool: ...

    def steps(self, direct: Sequence[Straight], blocks: Ints) -> int:
        """Estimate of what bringing `blocks` into windows and `direct` to the target takes."""

    def open(self, context: KernelContext, source: MNValue, target: MNValue, direct: Sequence[Straight]) -> Session:
        """Begin; `direct` goes straight to the target."""


@dataclass(frozen=True, slots=True)
class LocalFeed:
    """Nothing crosses PEs: units are source addresses."""

    grain: Grain = CONTIGUOUS
    inside: bool = True

    def steps(self, direct: Sequence[Straight], blocks: Ints) -> int:
        return -(-len(direct) // 4) + len(blocks) + 3

    def open(self, context: KernelContext, source: MNValue, target: MNValue, direct: Sequence[Straight]) -> Session:
        def copy(operand: Operand, to: Operand) -> None:
            context.builder.op("lpassa", operand, to=to)

        _vectors(copy, source, target, direct)
        return _LocalSession(context, source)


@dataclass(frozen=True, slots=True)
class _LocalSession:
    context: KernelContext
    source: MNValue

    def window(self, blocks: Sequence[int], scratch: MNValue | None) -> Window:
        """The source itself, or a copy in LM0: T does not work elsewhere."""
        start = (self.source.address or 0) + 4 * blocks[0]
        if self.source.location is Location.LM0 or scratch is None:
            return self.source.location, start
        base = scratch.address or 0
        for address in range(0, 4 * len(blocks), 4):
            vector = operands.run(self.source.location, start + address)
            self.context.builder.op("lpassa", vector, to=operands.run(scratch.location, base + address))
        return scratch.location, base

    def finish(self) -> None:
        """Nothing is left."""


@dataclass(frozen=True, slots=True)
class TurnFeed:
    """Data crosses PEs, but no MABs: unit r·span + a is address a of the PE that is r before the own one."""

    span: int
    grain: Grain = FOUR
    inside: bool = False

    def steps(self, direct: Sequence[Straight], blocks: Ints) -> int:
        turns = (4 * blocks // self.span).tolist()
        turns += [direct[k].source // WORDS // self.span for k in range(0, len(direct), 4)]
        return sum(2 if turn == 2 else 1 for turn in turns) + 4

    def open(self, context: KernelContext, source: MNValue, target: MNValue, direct: Sequence[Straight]) -> Session:
        session = _TurnSession(context, source, self.span)
        for turn, group in groupby(direct, key=lambda item: item.source // WORDS // self.span):
            moved = [Straight(item.width, item.target, item.source - WORDS * turn * self.span) for item in group]
            _vectors(session.turning(turn), source, target, moved)
        return session


@dataclass(frozen=True, slots=True)
class _TurnSession:
    context: KernelContext
    source: MNValue
    span: int

    def turning(self, turn: int) -> Callable[[Operand, Operand], None]:
        """An emitter of moves to the PE that is `turn` further in its MAB."""
        op = self.context.builder.op

        def emit(operand: Operand, to: Operand) -> None:
            if turn == 2:
                op("msl", op("msl", operand), to=to)
            else:
                op({0: "lpassa", 1: "msl", 3: "msr"}[turn], operand, to=to)

        return emit

    def window(self, blocks: Sequence[int], scratch: MNValue | None) -> Window:
        """Every block moved to where it is wanted."""
        if scratch is None:
            raise ValueError("this window needs scratch memory")
        base = scratch.address or 0
        for number, block in enumerate(blocks):
            turn, address = divmod(4 * block, self.span)
            vector = operands.run(self.source.location, (self.source.address or 0) + address)
            self.turning(turn)(vector, operands.run(scratch.location, base + 4 * number))
        return scratch.location, base

    def finish(self) -> None:
        """Nothing is left."""


def _vectors(
    emit: Callable[[Operand, Operand], None], source: MNValue, target: MNValue, moved: Sequence[Straight]
) -> None:
    """Emit moves of four items of one width."""
    for width, group in groupby(moved, key=lambda item: item.width):
        run = list(group)
        for start in range(0, len(run), 4):
            part = run[start : start + 4]
            at = operands.words(source.location, [WORDS * (source.address or 0) + item.source for item in part], width)
            to = operands.words(target.location, [WORDS * (target.address or 0) + item.target for item in part], width)
            emit(at, to)
