"""What may be done next on the way to a goal.

Actions are directed: a place that is wrong takes the item that belongs there if it lies in the address, or copies, or
some item that may wait there (a *filler*).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pfcomp.relayout.moves.copying import Words
from pfcomp.relayout.moves.interleave import UPPER_MAB, Interleave
from pfcomp.relayout.moves.model import ANY, COPY, L1B, L2B, MAB, PE, WORD, Move, Places, count, held, replaced
from pfcomp.relayout.moves.problem import Problem
from pfcomp.relayout.moves.rotate import Rotate
from pfcomp.relayout.moves.select import Select
from pfcomp.relayout.moves.through import Form, Through
from pfcomp.relayout.moves.transpose import Transpose


class State:
    """One arrangement of the items, and what may be done next."""

    def __init__(self, problem: Problem, places: Places) -> None:
        self.problem, self.places, self.universe = problem, places, problem.universe
        self.home = {item: place for place, item in enumerate(problem.goal) if item >= 0}
        self.address = self.universe.address_items(places)
        self.wrong = [self._is_wrong(place) for place in range(len(places))]

    def _is_wrong(self, place: int) -> bool:
        goal, label = self.problem.goal[place], self.places[place]
        return label != goal if goal != ANY else label != COPY and label not in self.problem.spare

    @property
    def done(self) -> bool:
        """True if every place is as wanted."""
        return not any(self.wrong)

    def any_wrong(self, which: tuple[int, ...]) -> bool:
        """True if one of the places is not as wanted."""
        return any(self.wrong[p] for p in which)

    def remaining(self) -> int:
        """About how many steps are still needed: what the cheapest moves of each kind take that is wrong."""
        if self.done:
            return 0
        words = min(count(self.universe, self.address), self.problem.words)
        row = 4 if all(self.places[p] == COPY for p in MAB) else 64
        parts = 1 << sum(self.places[p] >= 0 for p in L1B)
        steps = 0
        if self._blocked(WORD + PE):
            steps += 1 + words // 4
        if self._blocked(MAB):
            steps += 12 + words // 4
        if self._blocked(L1B):
            steps += 12 + words * row // 8
        if self._blocked(L2B):
            steps += 80 + words * row * parts // 8
        if any(self.wrong[p] and self.places[p] == COPY for p in PE + MAB + L1B + L2B):
            steps += 6 + self.problem.words // 4
        return max(steps, self.problem.words // 8)

    def _blocked(self, which: tuple[int, ...]) -> bool:
        """True if a place is wrong and selecting from copies does not put it right."""
        return any(self.wrong[p] and (p in WORD or not self._selects(p, self.problem.goal[p])) for p in which)

    def actions(self) -> Iterator[Move]:
        """Moves that may help."""
        yield from self._selections()
        yield from self._transposes()
        yield from self._words()
        yield from self._rotations()
        yield from self._throughs()
        yield from self._interleavings()

    def _selections(self) -> Iterator[Move]:
        fitting = {p: g for p, g in enumerate(self.problem.goal) if p not in WORD and self._selects(p, g)}
        if fitting:
            yield Select(self.universe, self.places, replaced(self.places, fitting))

    def _selects(self, place: int, goal: int) -> bool:
        return self.places[place] == COPY and goal in self.address

    def _transposes(self) -> Iterator[Move]:
        if self.any_wrong(PE):
            for after in self._choices(PE):
                yield Transpose(self.universe, self.places, after, words=False)
        if self.universe.bits == 32 and self.any_wrong(WORD + PE):
            for after in self._choices(WORD + PE):
                yield Transpose(self.universe, self.places, after, words=True)

    def _words(self) -> Iterator[Move]:
        if self.universe.bits == 32 and self.any_wrong(WORD):
            for after in self._choices(WORD):
                yield Words(self.universe, self.places, after)

    def _rotations(self) -> Iterator[Move]:
        for low, size in self._fields():
            for after in self._blockwise(MAB[low : low + size]):
                yield Rotate(self.universe, self.places, after, low, size)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """First bit and size of runs of MAB places that are not right; parts of a run if it cannot be put right."""
        for low in range(len(MAB)):
            for high in range(len(MAB), low, -1):
                field = MAB[low:high]
                if self.any_wrong(field) and not any(self._right_item(p) for p in field):
                    yield low, high - low
                    if all(self.wrong[p] and self.places[p] >= 0 and not self._missing(p) for p in field):
                        break

    def _missing(self, place: int) -> bool:
        """True if the place shall hold an item that lies in another place."""
        return self.problem.goal[place] not in (*self.address, COPY, ANY)

    def _right_item(self, place: int) -> bool:
        return self.places[place] >= 0 and not self.wrong[place]

    def _throughs(self) -> Iterator[Move]:
        forms: list[Form] = ["l1bmd"]
        if all(self.places[p] == COPY for p in MAB):
            forms = ["l1bmm"]
        elif not any(self._right_item(p) for p in MAB):
            forms.append("l1bmm")
        if "l1bmm" in forms and not any(self._right_item(p) for p in PE):
            forms.append("l1bmp")
        for form, upper, lower in product(forms, self._levels(L2B), self._levels(L1B)):
            gathered = {"l1bmd": (), "l1bmm": MAB, "l1bmp": MAB + PE}[form]
            after = replaced(self.places, {**upper, **lower, **dict.fromkeys(gathered, COPY)})
            if after != self.places and len(set(_items(after))) == len(_items(after)):
                move = Through(self.universe, self.places, after, form, self._paired(after))
                if move.batch:
                    yield move

    def _paired(self, after: Places) -> bool:
        """True unless a transfer's result is the goal and does not have the items of neighbouring MABs side by side."""
        if State(self.problem, after).wrong.count(True):
            return True
        first = self.places[MAB[0]]
        return (self.problem.target_strides[first] if first >= 0 else min(self._strides(), default=0)) == 1

    def _strides(self) -> list[int]:
        return [self.problem.target_strides[i] for i in self.address if i not in self.home]

    def _interleavings(self) -> Iterator[Move]:
        """L1Bs against pairs of MABs, if both are wrong."""
        if not (self.any_wrong(L1B) and self.any_wrong(UPPER_MAB)):
            return
        for split, chosen, given in ((True, L1B, UPPER_MAB), (False, UPPER_MAB, L1B)):
            passed = dict(zip(given, held(self.places, chosen), strict=True))
            pool = (*self.address, *(i for i in held(self.places, given) if i >= 0))
            for changes in self._from_pool(chosen, pool):
                after = replaced(self.places, {**passed, **changes})
                if not any(self._limited(i) for i in (*held(after, chosen + given), *held(self.places, given))):
                    yield Interleave(self.universe, self.places, after, split)

    def _from_pool(self, which: tuple[int, ...], pool: tuple[int, ...]) -> Iterator[dict[int, int]]:
        """Every place takes its item from the pool; what is missing is replaced by copies, or by fillers."""
        goals = {p: self.problem.goal[p] for p in which}
        wanted = {p: max(goal, COPY) for p, goal in goals.items() if goal in (*pool, COPY, ANY)}
        missing = [p for p in which if p not in wanted]
        yield {**wanted, **dict.fromkeys(missing, COPY)}
        fillers = self._fillers(tuple(wanted.values()), len(missing))
        if missing and len(fillers) == len(missing):
            yield {**wanted, **dict(zip(missing, fillers, strict=True))}

    def _levels(self, which: tuple[int, ...]) -> list[dict[int, int]]:
        """Changes of an upper level: none, or all wrong places, those without their item with copies or a filler."""
        if not self.any_wrong(which):
            return [{}]
        found = [{}, *({p: after[p] for p in which} for after in self._blockwise(which))]
        return [changes for k, changes in enumerate(found) if changes not in found[:k]]

    def _blockwise(self, which: tuple[int, ...]) -> Iterator[Places]:
        """All wrong places of a level at once; what is missing is replaced by copies, or by fillers."""
        missing = [p for p in which if self.wrong[p] and self._missing(p)]
        wanted = {p: max(self.problem.goal[p], COPY) for p in which if self.wrong[p] and p not in missing}
        yield replaced(self.places, {**wanted, **dict.fromkeys(missing, COPY)})
        fillers = self._fillers(tuple(wanted.values()), len(missing))
        if missing and len(fillers) == len(missing):
            yield replaced(self.places, {**wanted, **dict(zip(missing, fillers, strict=True))})

    def _choices(self, which: tuple[int, ...]) -> Iterator[Places]:
        """Every place takes its item, copies or a filler."""
        ways: list[list[str]] = []
        for place in which:
            goal = self.problem.goal[place]
            ways.append((["item"] if goal in self.address else []) + ["copy", "filler"])
        for way in product(*ways):
            changes = {p: self.problem.goal[p] for p, kind in zip(which, way, strict=True) if kind == "item"}
            fillers = self._fillers(tuple(changes.values()), way.count("filler"))
            if len(fillers) < way.count("filler"):
                continue
            pending = list(fillers)
            for place, kind in zip(which, way, strict=True):
                if kind != "item":
                    changes[place] = pending.pop(0) if kind == "filler" else COPY
            yield replaced(self.places, changes)

    def _fillers(self, taken: tuple[int, ...], wanted: int) -> tuple[int, ...]:
        """Bits of the address that may wait elsewhere: first those that belong into the address."""
        free = [i for i in self.address if self.universe.sizes[i] == 2 and i not in taken and not self._limited(i)]
        return tuple(sorted(free, key=lambda i: (i in self.home, i))[:wanted])

    def _limited(self, item: int) -> bool:
        return any(item in limit.items for limit in self.universe.limits)


def _items(places: Places) -> list[int]:
    return [label for label in places if label >= 0]
