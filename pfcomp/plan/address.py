"""Address planner for LM0 and LM1: values whose lifetimes overlap get disjoint ranges; an independent check follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pfcomp.errors import InternalError
from pfcomp.ir.model import LM_WORDS, Location


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A value that occupies `size` long words from position `birth` to position `death`, both included.

    `predecessors` are values that die where this one is born, vector by vector just before it is written: it may take
    the very place of one of them.
    """

    name: str
    size: int
    birth: int
    death: int
    predecessors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a value lies: memory and first long word."""

    location: Location
    address: int


def place(
    lifetimes: Iterable[Lifetime],
    wishes: Mapping[str, tuple[Location, ...]],
    budget: int = LM_WORDS,
) -> dict[str, Placement] | None:
    """First fit in order of birth, in the first wished memory with room; None if a value fits nowhere.

    A value takes the place of one that it replaces before it looks for a free one.
    """
    placed: dict[str, tuple[Lifetime, Placement]] = {}
    inherited: set[str] = set()
    for life in sorted(lifetimes, key=lambda v: v.birth):  # stable: operands stay before results
        old = next((n for n in life.predecessors if n not in inherited and _fits(placed[n], life, wishes)), None)
        if old is not None:
            inherited.add(old)
            placed[life.name] = (life, placed[old][1])
            continue
        for location in wishes[life.name]:
            taken = [
                (p.address, other.size) for other, p in placed.values() if p.location is location and _meet(other, life)
            ]
            address = _first_gap(taken, life.size, budget)
            if address is not None:
                placed[life.name] = (life, Placement(location, address))
                break
        else:
            return None
    return {name: placement for name, (_, placement) in placed.items()}


def _fits(old: tuple[Lifetime, Placement], new: Lifetime, wishes: Mapping[str, tuple[Location, ...]]) -> bool:
    life, placement = old
    return life.size == new.size and life.death == new.birth and placement.location in wishes[new.name]


def _meet(a: Lifetime, b: Lifetime) -> bool:
    return a.birth <= b.death and b.birth <= a.death


def _first_gap(taken: list[tuple[int, int]], size: int, budget: int) -> int | None:
    address = 0
    for start, length in sorted(taken):
        if address + size <= start:
            break
        address = max(address, start + length)
    return address if address + size <= budget else None


def verify(lifetimes: Iterable[Lifetime], placements: Mapping[str, Placement], budget: int = LM_WORDS) -> None:
    """Check by brute force, long word by long word, that no two living values share a place; InternalError PF0405.

    A value and those that it replaces, directly or one after the other, may share theirs.
    """
    lifetimes = tuple(lifetimes)
    lines = _lines(lifetimes, placements)
    owner: dict[tuple[Location, int], list[Lifetime]] = {}
    for life in lifetimes:
        at = placements[life.name]
        if at.address < 0 or at.address + life.size > budget:
            raise InternalError("PF0405", f"{life.name} at {at.location}[{at.address}] does not lie inside the memory")
        for word in range(at.address, at.address + life.size):
            others = owner.setdefault((at.location, word), [])
            clash = next((o for o in others if _meet(o, life) and not _same_line(o, life, lines)), None)
            if clash is not None:
                raise InternalError("PF0405", f"{life.name} and {clash.name} share {at.location}[{word}]")
            others.append(life)


def _lines(lifetimes: Iterable[Lifetime], placements: Mapping[str, Placement]) -> dict[str, frozenset[str]]:
    """For every value those that it replaces, directly or through others, at the very same place."""
    known = {life.name: life for life in lifetimes}

    def line(life: Lifetime) -> frozenset[str]:
        here = placements[life.name]
        direct = [known[n] for n in life.predecessors if placements[n] == here and known[n].size == life.size]
        return frozenset(old.name for old in direct if old.death == life.birth).union(*map(line, direct))

    return {life.name: line(life) for life in known.values()}


def _same_line(a: Lifetime, b: Lifetime, lines: Mapping[str, frozenset[str]]) -> bool:
    return a.name in lines[b.name] or b.name in lines[a.name]
