"""Local memory for items in order: first fit, and when it is full the value whose next use is farthest makes room.

A value that also lies in DRAM is simply dropped and loaded again before its next use; any other is stored first. Where
an item finds no room because what it reads lies in the middle of it, everything leaves and its needs are packed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pfcomp.ir.model import Location, MNNode, MNValue
from pfcomp.ir.packing import Spot, Wanted, pack
from pfcomp.kernels.transfer import needs_gathering
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.extents import with_broadcast
from pfcomp.layout.model import Level
from pfcomp.plan.linear import Item, Linear
from pfcomp.plan.no_room import NoRoomError
from pfcomp.plan.overlay import covers, overlays
from pfcomp.plan.spots import Spots
from pfcomp.plan.tasks import SPILL, Task


@dataclass(slots=True)
class Placement:
    """The result: tasks with values at addresses, and which values were stored aside, with their layouts."""

    tasks: list[Task] = field(default_factory=list)
    values: dict[str, MNValue] = field(default_factory=dict)
    spilled: dict[str, tuple[MNValue, Layout]] = field(default_factory=dict)


def allocate(linear: Linear, budget: int) -> Placement:
    """Give every value its address. Raises UnsupportedError PF0422 where one task alone needs more than there is."""
    return _Allocator(linear, budget).run()


class _Allocator:
    def __init__(self, linear: Linear, budget: int) -> None:
        self.linear, self.budget = linear, budget
        self.uses = _uses(linear)
        self.room = Spots(budget)
        self.spots = self.room.held
        self.saved: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.loaded: set[int] = set()
        self.stores: list[Item] = []
        self.result = Placement()

    def run(self) -> Placement:
        for position, item in enumerate(self.linear.items):
            if position in self.loaded:
                continue
            if self._waits(position, item):
                self.stores.append(item)
                continue
            if item.node.op != "Download" and not item.free:
                self._store(position)
            self._item(position, item)
        self._store(len(self.linear.items))
        return self.result

    def _waits(self, position: int, item: Item) -> bool:
        """True for a store that a product comes after, with nothing but transfers before it: it can run beside that."""
        if item.node.op != "Upload":
            return False
        following = (later for later in self.linear.items[position:] if later.node.op not in ("Download", "Upload"))
        return bool(getattr(next(following, None), "free", 0))

    def _store(self, position: int) -> None:
        """The stores that have waited; places that nothing reads from `position` on are free then."""
        for item in self.stores:
            self._emit(item)
        waited, self.stores = self.stores, []
        for place in self._places(name for item in waited for name in item.node.inputs):
            if self._next(place, position - 1) is None:
                self.spots.pop(place, None)

    def _load_ahead(self, position: int) -> None:
        """Load what is needed up to the next product, as far as there is room without sending anything away."""
        for later in range(position + 1, len(self.linear.items)):
            item = self.linear.items[later]
            if item.free:
                return
            if item.node.op == "Download" and later not in self.loaded:
                (place,) = self._places(item.node.outputs)
                spot = self.room.free(self.linear.places[place], None)
                if spot is not None:
                    self.spots[place] = spot
                    self._version(place)
                    self._emit(item)
                    self.loaded.add(later)

    def _home(self, value: str) -> str:
        return self.linear.home[value][0]

    def _places(self, names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(self._home(n) for n in names if n in self.linear.home))

    def _item(self, position: int, item: Item) -> None:
        read = self._places((*item.node.inputs, *item.tables))
        written = self._places((*item.node.outputs, *item.scratch))
        if not self._settle(position, item, read):
            self._settle_alone(position, item, read)
        if item.free:
            self._load_ahead(position)
        self._emit(item)
        if item.free:
            self._store(position)
        for place in (*read, *written):
            if self._next(place, position) is None:
                self.spots.pop(place, None)

    def _settle(self, position: int, item: Item, read: Sequence[str]) -> bool:
        """Places for all that an item reads and writes, among what lies there already; False if they are not found."""
        outputs, scratch = self._places(item.node.outputs), self._places(item.scratch)
        busy = frozenset((*read, *outputs, *scratch))
        for place in read:
            if place not in self.spots and not self._load_again(place, position, busy):
                return False
        ended = {p for p in read if self._next(p, position) is None}
        for place in outputs:
            if not self._take_over(place, item, ended) and not self._make(place, position, busy, item):
                return False
        return all(self._make(place, position, busy, item) for place in scratch)

    def _settle_alone(self, position: int, item: Item, read: Sequence[str]) -> None:
        """Send everything away, and place what the item needs as if memory were empty.

        A result may lie over an operand that it may take the place of, which later readers load again.
        """
        self._store(position)
        outputs, scratch = self._places(item.node.outputs), self._places(item.scratch)
        for place in (*outputs, *scratch):
            self.spots.pop(place, None)
        for place in list(self.spots):
            self._evict(place)
        spots = self._packed((*read, *outputs, *scratch))
        over: dict[str, str] = {}
        if spots is None:
            over = overlays(self.linear, item)
            spots = self._packed([p for p in (*read, *outputs, *scratch) if p not in over])
        if spots is None:
            words = sum(self.linear.places[place].words for place in (*read, *outputs, *scratch))
            raise _full(item, self.linear, words, self.budget)
        for place in read:
            self._load_into(place, spots[place])
        for place in (*outputs, *scratch):
            self.spots[place] = spots[over.get(place, place)]
            self._version(place)

    def _packed(self, places: Sequence[str]) -> dict[str, Spot] | None:
        known = (self.linear.places[name] for name in places)
        return pack([Wanted(place.name, place.words, place.location) for place in known], self.budget)

    def _take_over(self, place: str, item: Item, ended: set[str]) -> bool:
        """Put a result where an operand ends, if one may lie over the other."""
        for operand, result in dict.fromkeys((*item.overwrites, *item.reuse)):
            old, wanted = self._home(operand), self.linear.places[place]
            spot = self.spots.get(old) if old in ended and self._home(result) == place else None
            if spot is None or not covers(self.linear, item, operand, place, spot):
                continue
            if (operand, result) in item.overwrites or not self.room.roomy(wanted, spot.location):
                self.spots[place] = replace(spot, words=wanted.words)
                ended.discard(old)
                self._version(place)
                return True
        return False

    def _next(self, place: str, position: int) -> int | None:
        return next((use for use in self.uses[place] if use > position), None)

    def _make(self, place: str, position: int, busy: frozenset[str], item: Item) -> bool:
        """Room for a place, by making others leave if need be; False if those that are not `busy` do not suffice."""
        wanted = self.linear.places[place]
        while True:
            spot = self.room.free(wanted, self._avoid(item))
            if spot is not None:
                self.spots[place] = spot
                self._version(place)
                return True
            if self.stores:
                self._store(position)
                continue
            victim = self._victim(position, busy)
            if victim is None:
                return False
            self._evict(victim)

    def _avoid(self, item: Item) -> Location | None:
        """The memory that the first operand lies in: results are best written to the other one."""
        first = next((self._home(n) for n in item.node.inputs if n in self.linear.home), None)
        return self.spots[first].location if first in self.spots else None

    def _victim(self, position: int, busy: frozenset[str]) -> str | None:
        candidates = [place for place in self.spots if place not in busy]
        return max(candidates, key=lambda p: (self._next(p, position) or 1 << 30, p), default=None)

    def _evict(self, place: str) -> None:
        wanted = self.linear.places[place]
        if wanted.dram is None and place not in self.saved:
            name = place + SPILL
            value = self._value(place)
            self.saved[place] = name
            aside = _aside(value)
            self.result.spilled[name] = (aside, aside.layout)
            self.result.tasks.append(Task(MNNode(f"Upload:{name}", "Upload", (value.name,), (name,))))
        del self.spots[place]

    def _load_again(self, place: str, position: int, busy: frozenset[str]) -> bool:
        made = self._make(place, position, busy, self._download(place))
        if made:
            self._emit(self._download(place))
        return made

    def _load_into(self, place: str, spot: Spot) -> None:
        self.spots[place] = spot
        self._version(place)
        self._emit(self._download(place))

    def _download(self, place: str) -> Item:
        """The load of a place from DRAM, where it always was or where it was stored aside."""
        wanted = self.linear.places[place]
        source = wanted.dram or self.saved[place]
        name = f"Download:{place}#{self.versions[place]}"
        return Item(MNNode(name, "Download", (source,), (place,), wanted.attributes))

    def _version(self, place: str) -> None:
        self.versions[place] = self.versions.get(place, 0) + 1

    def _value(self, name: str) -> MNValue:
        """The value as it lies now, under a name of its own for every time that its place changed."""
        base, offset = self.linear.home[name]
        version, spot = self.versions[base], self.spots[base]
        unique = name if version == 1 else f"{name}#{version}"
        value = self.linear.values[name]
        words = spot.words - offset
        placed = replace(value, name=unique, location=spot.location, address=spot.address + offset, size=words)
        self.result.values[unique] = placed
        return placed

    def _emit(self, item: Item) -> None:
        def now(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(self._value(n).name if n in self.linear.home else n for n in names)

        node = replace(item.node, inputs=now(item.node.inputs), outputs=now(item.node.outputs))
        self.result.tasks.append(Task(node, item.variant, now(item.scratch), now(item.tables)))


def _aside(value: MNValue) -> MNValue:
    """The form in which a value is stored aside: one that can be sent from either memory, and at any size.

    Where all PEs hold the same, storing gathers sixteen addresses at a time of the first memory; it is left out by
    storing what every PE of a MAB holds.
    """
    if not needs_gathering(value):
        return value
    layout = with_broadcast(Layout((*value.layout.axes, (Subaxis(4, Level.PE),))))
    return replace(value, shape=(*value.shape, 4), layout=layout)


def _uses(linear: Linear) -> Mapping[str, list[int]]:
    """Positions of the items that touch each place, ascending."""
    uses: dict[str, list[int]] = {place: [] for place in linear.places}
    for position, item in enumerate(linear.items):
        for name in _names(item):
            if name in linear.home:
                uses[linear.home[name][0]].append(position)
    return uses


def _names(item: Item) -> Iterator[str]:
    yield from (*item.node.inputs, *item.node.outputs, *item.scratch, *item.tables)


def _full(item: Item, linear: Linear, words: int, budget: int) -> NoRoomError:
    node = item.node
    what = f"{node.op} {node.name!r} needs {words} long words per PE, which two local memories of {budget} cannot hold"
    tensors = dict.fromkeys(linear.tensors[name] for name in (*node.inputs, *node.outputs) if name in linear.tensors)
    return NoRoomError("PF0422", what, nodes=[node.name], tensors=tensors, where=node.source)
