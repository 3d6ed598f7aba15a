"""Plans that take an operand in a layout in which it exists already.

Digits of the given operand are kept as they are; the other operand gets the same digits of the reduced and the batch
axes, and its own axis is spread over what the given operand holds copies in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from pfcomp.kernels.contraction.mapping import Axis, Digits, Marked, Plan, joined, split_of, usable, used
from pfcomp.kernels.contraction.problem import Four, Problem, Split
from pfcomp.layout.canonical import canonical
from pfcomp.layout.model import Layout, Level, Subaxis

GRID = (Level.L2B, Level.L1B, Level.MAB)
INSIDE = (Level.PE, Level.W)


@dataclass(frozen=True, slots=True)
class Given:
    """An operand's digits by role, and its layout; `turned` operands have these digits when they have been read."""

    layout: Layout
    batch: tuple[Axis, ...]
    own: Axis
    depth: Marked
    turned: bool = False

    def bits(self, level: Level) -> int:
        """The coordinate bits of a level that the operand uses."""
        return used([sub for axis in (*self.batch, self.own, self.depth) for sub in axis], level)


def matching(problem: Problem, offered: Sequence[Sequence[Layout]]) -> Iterator[Plan]:
    """Plans that keep offered layouts of one operand or of both; some are turned while they are read."""
    if not offered:
        return
    sides = [
        _readable(problem, layouts, role) + _turnable(problem, layouts, role)
        for role, layouts in enumerate((offered[problem.row_axis], offered[1 - problem.row_axis]))
    ]
    for first, second in product(*sides):
        if _compatible(first, second):
            yield from _scattered(problem, _digits(problem, first, second), (first, second))
    for role, givens in enumerate(sides):
        for given in givens:
            for digits in _with_other(problem, given, role):
                yield from _scattered(problem, digits, (None, given) if role else (given, None))


def _turnable(problem: Problem, layouts: Sequence[Layout], role: int) -> list[Given]:
    """The layouts with a whole tile of the own axis in PEs and words and with whole chunks at addresses."""
    own_axis = -2 + (problem.row_axis ^ role)
    tile, found = tuple(sub for sub in problem.mode.row_digits if sub), []
    for layout in layouts if problem.mode.turns else ():
        axes = canonical(layout).axes
        own, swapped = axes[own_axis], _swapped(axes[own_axis], axes[-3 - own_axis], problem)
        if swapped is not None and own[-len(tile) :] == tile:
            batch = _front(axes[:-2], len(problem.batch), _batch_shape(problem, role))
            whole = joined((*own[: -len(tile)], Subaxis(problem.mode.rows)))
            found.append(Given(layout, batch, whole, swapped[1], turned=True))
    return [given for given in found if _whole(problem, given)]


def turned(problem: Problem, offered: Sequence[Sequence[Layout]]) -> Iterator[Plan]:
    """Plans for an operand that only has to be transposed inside its MABs before it can be taken."""
    for role in (0, 1) if offered else ():
        for layout in offered[problem.row_axis ^ role]:
            axes = list(canonical(layout).axes)
            own = -2 + (problem.row_axis ^ role)
            swapped = _swapped(axes[own], axes[-3 - own], problem)
            if swapped is not None:
                batch = _front(tuple(axes[:-2]), len(problem.batch), _batch_shape(problem, role))
                given = Given(layout, batch, *swapped)
                if _whole(problem, given):
                    for digits in _with_other(problem, given, role):
                        yield from _scattered(problem, digits, (None, None))


def _swapped(own: Axis, depth: Axis, problem: Problem) -> tuple[Axis, Marked] | None:
    """Both axes after PEs and words have gone from the own axis to the reduced one; None if they cannot."""
    inside = problem.mode.depth_digits
    places = [k for k, sub in enumerate(depth) if sub.level is Level.ADDR and sub.size % problem.mode.depth == 0]
    if not places or any(sub.level in INSIDE for sub in depth):
        return None
    place = places[-1]
    rest = Subaxis(depth[place].size // problem.mode.depth)
    addressed = tuple(Subaxis(sub.size) if sub.level in INSIDE else sub for sub in own)
    return addressed, (*depth[:place], rest, *inside, *depth[place + 1 :])


def _with_other(problem: Problem, given: Given, role: int) -> Iterator[Digits]:
    """The digits of all roles where one operand is given: what the other one spreads over its copies."""
    batch = _batch(problem, given)
    if role == 0:
        for own in _other(given, problem.columns, 1):
            yield Digits(batch, given.own, own, given.depth)
    else:
        for own in _other(given, problem.rows, problem.mode.rows):
            yield Digits(batch, own, given.own, given.depth)


def _readable(problem: Problem, layouts: Sequence[Layout], role: int) -> list[Given]:
    """The layouts that the matrix units can take; `role` is 0 for the stationary operand."""
    own_axis = -2 + (problem.row_axis ^ role)
    found = []
    for layout in layouts:
        axes = canonical(layout).axes
        depth = _marked(problem, axes[-3 - own_axis])
        batch = _front(axes[:-2], len(problem.batch), _batch_shape(problem, role))
        given = Given(layout, batch, axes[own_axis], depth) if depth else None
        if given and _whole(problem, given):
            found.append(given)
    return found


def _batch_shape(problem: Problem, role: int) -> tuple[int, ...]:
    return problem.stationary if role == 0 else problem.streamed


def _front(axes: tuple[Axis, ...], dims: int, shape: tuple[int, ...]) -> tuple[Axis, ...]:
    return ((),) * (dims - len(shape)) + axes


def _marked(problem: Problem, depth: Axis) -> Marked | None:
    """The reduced axis with its pair marked; None if the mode wants a pair and there is none."""
    if not problem.mode.paired:
        return depth
    marked: list[Subaxis | None] = []
    for sub in depth:
        if sub.level is Level.ADDR and sub.stride == 1 and sub.size % 2 == 0:
            marked += [Subaxis(sub.size // 2, stride=2)] if sub.size > 2 else []
            marked.append(None)
        else:
            marked.append(sub)
    return tuple(marked) if None in marked else None


def _whole(problem: Problem, given: Given) -> bool:
    """Whether the reduced axis, and nothing else, fills PEs and words, and levels are split into powers of two."""
    outer = [sub for axis in (*given.batch, given.own) for sub in axis]
    inner = [sub for sub in given.depth if sub]
    ways = {level: prod(sub.size for sub in inner if sub.level is level) for level in Level}
    levels = [sub for sub in (*outer, *inner) if sub.level is not Level.ADDR]
    strides = [sub.stride for sub in (*outer, *inner) if sub.level is Level.ADDR]
    return (
        not any(sub.level in INSIDE for sub in outer)
        and ways[Level.PE] == 4
        and ways[Level.W] == 64 // problem.mode.bits
        and ways[Level.MAB] in (1, 16)
        and ways[Level.L2B] in (1, 8)
        and ways[Level.TIME] == 1
        and all(_power(sub.size) and _power(sub.stride) for sub in levels)
        and not any(sub.level is Level.TIME for sub in outer)
        and (not problem.mode.paired or all(stride % 2 == 0 for stride in strides))
    )


def _power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _compatible(first: Given, second: Given) -> bool:
    """Whether two layouts have the same digits of common axes, and none of their own in one place."""
    shared = [a and b for a, b in zip(first.batch, second.batch, strict=True)]
    common = zip([*first.batch, first.depth], [*second.batch, second.depth], [*shared, True], strict=True)
    if any(both and _places(a) != _places(b) for a, b, both in common):
        return False
    mine = [first.own, *[a for a, both in zip(first.batch, shared, strict=True) if not both]]
    return not any(
        used([sub for axis in mine for sub in axis], level) & second.bits(level) for level in GRID
    ) and not any(used(second.own, level) & first.bits(level) for level in GRID)


def _places(axis: Marked) -> list[tuple[int, Level, int] | None]:
    """Digits without the strides of addresses."""
    return [(s.size, s.level, 0 if s.level is Level.ADDR else s.stride) if s else None for s in axis]


def _digits(problem: Problem, first: Given, second: Given) -> Digits:
    """The digits where both operands are given; batch axes that neither has are in addresses."""
    both = zip(first.batch, second.batch, problem.batch, strict=True)
    batch = tuple(a or b or (Subaxis(size),) for a, b, size in both)
    return Digits(batch, first.own, second.own, first.depth)


def _batch(problem: Problem, given: Given) -> tuple[Axis, ...]:
    """The batch digits: those of the operand; in addresses where it has none."""
    return tuple(axis or (Subaxis(size),) for axis, size in zip(given.batch, problem.batch, strict=True))


def _other(given: Given, size: int, unit: int) -> Iterator[Axis]:
    """Ways to spread an axis of `size` indices over the bits that the given operand does not use."""
    free = [
        [(level, 1 << n) for n in range(level.extent.bit_length() - 1) if not given.bits(level) >> n & 1]
        for level in GRID
    ]
    limit = (-(-size // unit) - 1).bit_length()
    most = min(limit, sum(map(len, free)))
    for counts in product(*(range(len(bits) + 1) for bits in free)):
        if sum(counts) == most:
            chosen = [bit for bits, count in zip(free, counts, strict=True) for bit in reversed(bits[:count])]
            spatial = tuple(Subaxis(2, level, stride) for level, stride in chosen)
            left = -(-size // (unit * 2**most)) * unit if most else size
            yield (*spatial, Subaxis(left))


def _scattered(problem: Problem, digits: Digits, given: tuple[Given | None, Given | None]) -> Iterator[Plan]:
    """The plan for every way to bring sums back; vectors that are turned have an order that scattering may not like."""
    split = split_of(digits)
    first, second = given
    layouts = (first.layout if first else None, second.layout if second else None)
    turned = (first is not None and first.turned, second is not None and second.turned)
    for scatter in scatters(split.l1b, split.mab) if not turned[1] else ((),):
        plan = Plan(Split(split.l2b, split.l1b, split.mab, scatter), digits, layouts, turned=turned)
        if usable(problem, plan):
            yield plan


def scatters(l1b: Four, mab: Four) -> Iterator[tuple[Level, ...]]:
    """The levels over which sums may come back scattered."""
    yield ()
    if mab[3] == 1:
        return
    yield (Level.MAB,)
    if l1b[3] == Level.L1B.extent:
        yield (Level.L1B,)
        yield (Level.L1B, Level.MAB)
