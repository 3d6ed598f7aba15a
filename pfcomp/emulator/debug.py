"""Looking into a run: what each step wrote, stopping at a step, and who wrote a place last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pfcomp.emulator import inspect
from pfcomp.emulator.dump import NAMES
from pfcomp.emulator.machine import Machine
from pfcomp.emulator.rows import MEMORIES, T_ROW
from pfcomp.isa.model import CYCLES, Place, Program, Step
from pfcomp.isa.printer import format_statement

Location = Mapping[str, int]  # n c b m p
_PLACES = (*MEMORIES, Place.T)


class Write(NamedTuple):
    """A long word that changed: the place's unit is words for LM and GRF, cycles for T."""

    location: str
    place: Place
    address: int
    value: int


@dataclass(frozen=True, slots=True)
class StepTrace:
    """One statement: number of the PE step (from 0; that of the next one for other statements), line, text, writes."""

    step: int
    line: int
    text: str
    writes: tuple[Write, ...]
    dump: tuple[str, ...] = ()

    def describe(self) -> str:
        """One line for the step, one more for each write."""
        lines = [f"step {self.step} line {self.line}: {self.text}"]
        lines += [f"  {NAMES[w.place]}({w.location},{w.address}) = 0x{w.value:016x}" for w in self.writes]
        return "\n".join(lines)


def _snapshot(machine: Machine, location: Location) -> np.ndarray:
    parts = [inspect.get(machine.state, place, location, 0, MEMORIES[place].words // 2) for place in MEMORIES]
    return np.array(
        [word for part in parts for word in part] + inspect.get(machine.state, Place.T, location, 0, CYCLES)
    )


def _address(row: int) -> tuple[Place, int]:
    for place, (base, words) in MEMORIES.items():
        if base <= row < base + words // 2:
            return place, 2 * (row - base)
    return Place.T, row - T_ROW


def trace(
    machine: Machine, program: Program, locations: Sequence[Location], stop: int | None = None
) -> Iterator[StepTrace]:
    """Run `program`, yielding what each statement changed in the PE memories of `locations`.

    With `stop` the run ends before PE step `stop`; the machine keeps the state it has then.
    """
    step = 0
    before = [_snapshot(machine, location) for location in locations]
    for statement, dump in machine.walk(machine.load(program)):
        writes: list[Write] = []
        for index, location in enumerate(locations):
            now = _snapshot(machine, location)
            name = "".join(f"{letter}{value}" for letter, value in location.items())
            changed = np.flatnonzero(now != before[index])
            writes += [Write(name, *_address(int(row)), int(now[row])) for row in changed]
            before[index] = now
        yield StepTrace(step, statement.line, format_statement(statement), tuple(writes), tuple(dump))
        step += statement.repeat if isinstance(statement, Step) else 0
        if stop is not None and step >= stop:
            return


def last_writer(machine: Machine, program: Program, place: Place, location: Location, address: int) -> StepTrace | None:
    """Run `program`; the last statement that changed the long word at `address`, None if none did."""
    wanted = address if place == Place.T else address & ~1
    found = None
    for entry in trace(machine, program, [location]):
        if any(w.place == place and w.address == wanted for w in entry.writes):
            found = entry
    return found
