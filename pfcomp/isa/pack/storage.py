"""Where virtual values live: forwarding path, GRF0 or GRF1, decided as late as possible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from pfcomp.isa.model import Address, Operand, Place

from .micro import Virtual
from .needs import GRF_WRITE, T_WRITE, Needs, Port
from .nodes import Node, Use, Value
from .registers import Registers
from .rows import BOTH, Row, assignable

BANKS = (Place.GRF0, Place.GRF1)
T_BANK = 2
"""The T register as a third bank: room for one value, any number of reads in a step."""

HOT = 3
"""Reads that a value must still have to be worth the T register."""

FEW = 2
"""Reads left of a value that may take T for a moment so that a step does not stay empty."""

T_DISTANCE = 2
"""Steps from a write of T to its read."""

PATH = -1
"""Choice of a forwarding path, beside the banks 0 and 1."""

COPIES_FROM = 4
"""Uniform values with at least this many readers go to both register files where both write ports are free."""

NEVER = 1 << 60
_BOUND: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1), (T_BANK,))
"""Banks of a bit set."""

_FLEXIBLE = (0, 3)  # not bound, in both register files
_FORWARDED = (PATH,)
_NO_KEYS = (None, None)
MOST_PORTS = 3
"""More read ports than there are."""

Choice = tuple[int, ...]
"""For each use of an operation: `PATH` or a bank."""


@lru_cache(maxsize=1 << 13)
def register(bank: int, base: int, width: int, uniform: bool, negate: bool, suffix: str) -> Operand:
    """The operand of a value in a register."""
    return Operand(BANKS[bank], width, Address(base, 0 if uniform else width), negate, suffix)


@lru_cache(maxsize=64)
def path_operand(path: Place, negate: bool, suffix: str) -> Operand:
    """The operand of a value in a forwarding path or in T."""
    return Operand(path, 4, None, negate, suffix)


def operand_of(value: Value, virtual: Virtual, bank: int) -> Operand:
    """How `virtual`, a read of `value`, is written: from its path or from the register in `bank`."""
    if bank == PATH:
        return path_operand(value.path, virtual.negate, virtual.suffix)
    if bank == T_BANK:
        return path_operand(Place.T, virtual.negate, virtual.suffix)
    shape = value.virtual
    return register(bank, value.base[bank], shape.width, shape.uniform, virtual.negate, virtual.suffix)


class Storage:
    """The registers of both files, and the rules of binding values to them.

    `urgent` is set while a step has nothing to do.
    """

    def __init__(self, taken: dict[Place, set[int]], *, t_is_free: bool) -> None:
        self.registers = [Registers(place, taken[place]) for place in BANKS]
        self.urgent = False
        self._t_free_from = 0 if t_is_free else NEVER
        self._rows: dict[Value, Row] = {}
        self._deferred: list[tuple[int, Node]] = []

    # reading

    def options(self, value: Value, time: int) -> tuple[int, ...]:
        """The banks that the value can be read from at step `time`; none if it comes too early."""
        if time < value.time + value.later:
            return (T_BANK,) if self.urgent and self._is_ready_in_t(value, time) else ()
        if value.bound:
            return _BOUND[value.bound]
        row = self._rows[value]
        held = value.held & row.free_writes(0)
        found = _BOUND[held]
        if held == 3 and self._prefers_second(value):
            found = (1, 0)
        return (T_BANK, *found) if self._suits_t(value, row) else found

    def _suits_t(self, value: Value, row: Row) -> bool:
        """True if T was free since the value was produced, and the value will be read often."""
        hot = value.uses >= HOT and not value.virtual.uniform
        return hot and value.time >= self._t_free_from and not row.busy & T_WRITE

    def _is_ready_in_t(self, value: Value, time: int) -> bool:
        """True if a uniform value that is still too fresh for a register file can be had from T."""
        early = not value.bound and value.uses <= FEW and time >= value.time + T_DISTANCE
        return early and value.time >= self._t_free_from and not self._rows[value].busy & T_WRITE

    def _prefers_second(self, value: Value) -> bool:
        if value.avoid[0] != value.avoid[1]:
            return value.avoid[0] > value.avoid[1]
        return self.registers[1].words > self.registers[0].words

    def choose(self, node: Node, row: Row, time: int, before: int) -> Choice | None:
        """A place for every virtual source such that the read ports agree; None if there is none now."""
        fixed = node.needs.registers if node.needs is not None else _NO_KEYS
        ports = row.ports
        keys = (ports[Port.GRF0] or fixed[0], ports[Port.GRF1] or fixed[1])
        options: list[tuple[int, ...]] = []
        several = False
        for _, value, _, path in node.uses:
            if path and value.time == before:
                options.append(_FORWARDED)
                continue
            found = tuple([b for b in self.options(value, time) if b == T_BANK or keys[b] in (None, value.keys[b])])
            if not found:
                return None
            several = several or len(found) > 1
            options.append(found)
        if several or len(options) > 1:
            return _cheapest(node.uses, options, keys)
        return (options[0][0],)

    def stuck(self, node: Node, time: int) -> bool:
        """True if no step ever has room for all register operands of the node: it needs a copy of one of them."""
        for _, value, _, _ in node.uses:
            if time < value.time + value.later or (node.registers == 2 and value.bound in _FLEXIBLE):
                return False
        return not self.agree(node, node.uses, time)

    def agree(self, node: Node, uses: Sequence[Use], time: int) -> bool:
        """True if `uses` of the node can be read from registers in one step, beside its physical operands."""
        fixed = node.needs.registers if node.needs is not None else _NO_KEYS
        options = [self.options(value, time) for _, value, _, _ in uses]
        return _cheapest(uses, options, fixed) is not None

    def read(self, node: Node, choice: Choice, row: Row) -> tuple[Operand, ...]:
        """Take the read ports; returns the final sources."""
        sources = [] if node.micro is None else list(node.micro.op.sources)
        # T first: binding a value to a register file may force others of its step into the other file.
        for (position, value, virtual, _), bank in sorted(zip(node.uses, choice, strict=True), key=_t_first):
            if bank != PATH:
                self._read_stored(value, bank, row)
            sources[position] = operand_of(value, virtual, bank)
        return tuple(sources)

    def _read_stored(self, value: Value, bank: int, row: Row) -> None:
        if not value.bound >> bank & 1:
            self._bind(value, bank)
        value.read |= 1 << bank
        if bank != T_BANK:
            row.ports[Port.GRF0 + bank] = value.keys[bank]

    def release(self, node: Node, time: int, now: int) -> None:
        """Count the reads of a node placed at step `time`; values without further reads give up their registers.

        Registers read in a later step than `now` must not be written before that step.
        """
        if time > now:
            self._deferred.append((time, node))
            return
        for _, value, _, _ in node.uses:
            value.uses -= 1
            if not value.uses:
                self._free(value, time)

    def begin_step(self, time: int) -> None:
        """Release what was deferred to this step."""
        due = [node for step, node in self._deferred if step <= time]
        if due:
            self._deferred = [entry for entry in self._deferred if entry[0] > time]
            for node in due:
                self.release(node, time, time)

    def economise(self, time: int) -> None:
        """Give up the second block of values that could be read by now but are in no register file yet."""
        for value in [value for value in self._rows if value.time + value.later <= time]:
            free = value.held & self._rows[value].free_writes(0) if value in self._rows else 0
            if free == BOTH:
                self._bind(value, int(self._prefers_second(value)))

    # writing

    def room(self, value: Value | None, needs: Needs, row: Row) -> bool:
        """True if the row can take an operation with this result: every value in it stays sure of a register."""
        free = row.free_writes(needs.busy)
        wants = [other.held & free for other in row.pending]
        if value is not None and value.uses:
            wants.append(free & self._available(value.words))
        return assignable(wants)

    def _available(self, words: int) -> int:
        return self.registers[0].has(words) | self.registers[1].has(words) << 1

    def write(self, value: Value | None, row: Row, time: int) -> None:
        """Reserve registers for a result of this step, whose operation is already entered in `row.busy`."""
        if value is not None:
            value.time = time
            if value.uses:
                self._reserve(value, row)
        self._settle(row)

    def _reserve(self, value: Value, row: Row) -> None:
        held = row.free_writes(0) & self._available(value.words)
        for bank in (0, 1):
            if held >> bank & 1:
                base = value.base[bank] = self.registers[bank].take(value.words)
                value.keys[bank] = (base, value.virtual.width, value.virtual.uniform)
        value.held = held
        row.pending.append(value)
        self._rows[value] = row
        value.replicated = value.virtual.uniform and value.uses >= COPIES_FROM

    def _settle(self, row: Row) -> None:
        """Bind values that have only one file left."""
        while True:
            free = row.free_writes(0)
            forced = next((v for v in row.pending if v.held & free in (1, 2)), None)
            if forced is None:
                return
            self._bind(forced, 0 if forced.held & free == 1 else 1)

    def _bind(self, value: Value, bank: int) -> None:
        row = self._rows[value]
        value.bound = 1 << bank
        self._forget(value)
        if bank == T_BANK:
            row.busy |= T_WRITE
            self._t_free_from = NEVER
        else:
            row.busy |= GRF_WRITE[bank]
            self._settle(row)
            if value.replicated and not row.pending and value.held & row.free_writes(0):
                row.busy |= GRF_WRITE[1 - bank]
                value.bound = 3
        for other in (0, 1):
            if (value.held & ~value.bound) >> other & 1:
                self.registers[other].free(value.base[other], value.words)
        value.held &= value.bound

    def _forget(self, value: Value) -> None:
        self._rows.pop(value).pending.remove(value)

    def _free(self, value: Value, time: int) -> None:
        if value.bound == 1 << T_BANK:
            self._t_free_from = time
        if value in self._rows:
            self._forget(value)
        for bank in (0, 1):
            if value.held >> bank & 1:
                self.registers[bank].free(value.base[bank], value.words)
        value.held = 0


def _cheapest(uses: Sequence[Use], options: list[tuple[int, ...]], keys: tuple[object, object]) -> Choice | None:
    """The combination that occupies the fewest read ports; the first of equals."""
    best: Choice | None = None
    least = MOST_PORTS
    for choice in product(*options):
        cost = _ports(uses, choice, keys)
        if cost < least:
            best, least = choice, cost
            if not cost:
                break
    return best


def _ports(uses: Sequence[Use], choice: Choice, keys: tuple[object, object]) -> int:
    """Read ports that are newly occupied; `MOST_PORTS` if the reads do not agree."""
    taken: list[object] = [keys[0], keys[1], None]
    cost = 0
    for (_, value, _, _), bank in zip(uses, choice, strict=True):
        if bank == PATH:
            continue
        key: object = value if bank == T_BANK else value.keys[bank]
        if taken[bank] is None:
            taken[bank] = key
            cost += bank != T_BANK
        elif taken[bank] != key:
            return MOST_PORTS
    return cost


def _t_first(choice: tuple[Use, int]) -> bool:
    return choice[1] != T_BANK
