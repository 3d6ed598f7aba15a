"""Where virtual values live: forwarding path, GRF0 or GRF1, decided as late as possible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from pfcomp.isa.model import Address, Operand, Place

from .micro import Virtual
from .needs import GRF_WRITE, Needs, Port
from .nodes import Node, Use, Value
from .registers import Registers
from .rows import Row, assignable

BANKS = (Place.GRF0, Place.GRF1)
NOWHERE = -2
"""A step that produced nothing."""
PATH = -1
"""Choice of a forwarding path, beside the banks 0 and 1."""

COPIES_FROM = 4
"""Uniform values with at least this many readers go to both register files."""

Choice = tuple[int, ...]
"""For each use of an operation: `PATH` or a bank."""


@lru_cache(maxsize=1 << 13)
def register(bank: int, base: int, width: int, uniform: bool, negate: bool, suffix: str) -> Operand:
    """The operand of a value in a register."""
    return Operand(BANKS[bank], width, Address(base, 0 if uniform else width), negate, suffix)


@lru_cache(maxsize=64)
def path_operand(path: Place, negate: bool, suffix: str) -> Operand:
    """The operand of a forwarded value."""
    return Operand(path, 4, None, negate, suffix)


def operand_of(value: Value, virtual: Virtual, bank: int) -> Operand:
    """How `virtual`, a read of `value`, is written: from its path or from the register in `bank`."""
    if bank == PATH:
        return path_operand(value.path, virtual.negate, virtual.suffix)
    shape = value.virtual
    return register(bank, value.base[bank], shape.width, shape.uniform, virtual.negate, virtual.suffix)


def read_key(value: Value, bank: int) -> tuple[int, int, bool]:
    """Key of a read port."""
    return value.base[bank], value.virtual.width, value.virtual.uniform


class Storage:
    """The registers of both files, and the rules of binding values to them."""

    def __init__(self, taken: dict[Place, set[int]]) -> None:
        self.registers = [Registers(place, taken[place]) for place in BANKS]
        self._rows: dict[Value, Row] = {}
        self._deferred: list[tuple[int, Node]] = []

    # reading

    def options(self, value: Value, time: int, before: int, path: bool) -> tuple[int, ...]:
        """Where the value can be read at step `time`, whose last non-empty step before is `before`."""
        if path and value.time == before:
            return (PATH,)
        if time < value.time + value.later:
            return ()
        if value.bound:
            return (0,) if value.bound == 1 else (1,) if value.bound == 2 else (0, 1)
        row = self._rows[value]
        held = value.held & row.free_writes(0)
        found = [bank for bank in (0, 1) if held >> bank & 1]
        if len(found) == 2 and self._prefers_second(value):
            found.reverse()
        return tuple(found)

    def _prefers_second(self, value: Value) -> bool:
        if value.avoid[0] != value.avoid[1]:
            return value.avoid[0] > value.avoid[1]
        return self.registers[1].words > self.registers[0].words

    def choose(self, node: Node, row: Row, time: int, before: int) -> Choice | None:
        """A place for every virtual source such that the read ports agree; None if there is none now."""
        options: list[tuple[int, ...]] = []
        for _, value, _, path in node.uses:
            found = self.options(value, time, before, path)
            if not found:
                return None
            options.append(found)
        fixed = dict(node.needs.ports) if node.needs is not None else {}
        keys = [row.ports[port] or fixed.get(port) for port in (Port.GRF0, Port.GRF1)]
        for choice in product(*options):
            if _agrees(node.uses, choice, list(keys)):
                return choice
        return None

    def stuck(self, node: Node, time: int) -> bool:
        """True if no step ever has room for all register operands of the node: it needs a copy of one of them."""
        return not self.agree(node, node.uses, time) and all(self._stored(use[1], time) for use in node.uses)

    def _stored(self, value: Value, time: int) -> bool:
        return bool(self.options(value, time, NOWHERE, False))

    def agree(self, node: Node, uses: Sequence[Use], time: int) -> bool:
        """True if `uses` of the node can be read from registers in one step, beside its physical operands."""
        options = [self.options(value, time, NOWHERE, False) for _, value, _, _ in uses]
        fixed = dict(node.needs.ports) if node.needs is not None else {}
        keys = [fixed.get(port) for port in (Port.GRF0, Port.GRF1)]
        return any(_agrees(uses, choice, list(keys)) for choice in product(*options))

    def read(self, node: Node, choice: Choice, row: Row) -> tuple[Operand, ...]:
        """Take the read ports; returns the final sources."""
        sources = [] if node.micro is None else list(node.micro.op.sources)
        for (position, value, virtual, _), bank in zip(node.uses, choice, strict=True):
            sources[position] = operand_of(value, virtual, bank)
            if bank != PATH:
                if not value.bound >> bank & 1:
                    self._bind(value, bank)
                value.read |= 1 << bank
                row.ports[Port.GRF0 + bank] = read_key(value, bank)
        return tuple(sources)

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
                self._free(value)

    def begin_step(self, time: int) -> None:
        """Release what was deferred to this step."""
        due = [node for step, node in self._deferred if step <= time]
        if due:
            self._deferred = [entry for entry in self._deferred if entry[0] > time]
            for node in due:
                self.release(node, time, time)

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
                value.base[bank] = self.registers[bank].take(value.words)
        value.held = held
        both = held == 3 and not row.pending
        row.pending.append(value)
        self._rows[value] = row
        if both and value.virtual.uniform and value.uses >= COPIES_FROM:
            row.busy |= GRF_WRITE[0] | GRF_WRITE[1]
            value.bound = 3
            self._forget(value)

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
        row.busy |= GRF_WRITE[bank]
        value.bound = 1 << bank
        self._forget(value)
        if value.held == 3:
            other = 1 - bank
            self.registers[other].free(value.base[other], value.words)
            value.held = value.bound
        self._settle(row)

    def _forget(self, value: Value) -> None:
        self._rows.pop(value).pending.remove(value)

    def _free(self, value: Value) -> None:
        if value in self._rows:
            self._forget(value)
        for bank in (0, 1):
            if value.held >> bank & 1:
                self.registers[bank].free(value.base[bank], value.words)
        value.held = 0


def _agrees(uses: Sequence[Use], choice: Choice, keys: list[object]) -> bool:
    for (_, value, _, _), bank in zip(uses, choice, strict=True):
        if bank == PATH:
            continue
        key = read_key(value, bank)
        if keys[bank] is None:
            keys[bank] = key
        elif keys[bank] != key:
            return False
    return True
