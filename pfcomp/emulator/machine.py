"""A chip in software: load a program once, run it often; memories stay between runs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

from pfcomp.emulator import dump, moves
from pfcomp.emulator.c import native
from pfcomp.emulator.c.batches import Batch, batches
from pfcomp.emulator.lower.program import Lowered, Segment, lower
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.numpy_engine.engine import interpret
from pfcomp.emulator.sparse import SparseMemory
from pfcomp.emulator.state import State
from pfcomp.emulator.strict import Watch, stale_paths
from pfcomp.emulator.threads import AUTO, thread_count
from pfcomp.errors import UsageError
from pfcomp.isa.model import Place, Program

ENGINES = ("auto", "c", "numpy")


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did: PE steps, lines of `d get`, and what strict mode found."""

    steps: int
    dump: list[str]
    findings: tuple[str, ...] = ()


@dataclass(slots=True)
class Executable:
    """A translated program. Translations depend on which base addresses are in use, so there may be several."""

    program: Program
    variants: dict[tuple[bool, bool], Lowered] = field(default_factory=dict)
    _batches: dict[tuple[bool, bool], tuple[Micro | Segment | Batch, ...]] = field(default_factory=dict)

    def lowered(self, bar_in_use: tuple[bool, bool]) -> Lowered:
        """The translation for a chip whose base addresses are zero (False) or not known (True)."""
        found = self.variants.get(bar_in_use)
        if found is None:
            bars = dict(zip((Place.BAR0, Place.BAR1), (None if used else 0 for used in bar_in_use), strict=True))
            found = self.variants[bar_in_use] = lower(self.program, bars)
        return found

    def batches(self, bar_in_use: tuple[bool, bool]) -> tuple[Micro | Segment | Batch, ...]:
        """The same translation for the C engine."""
        found = self._batches.get(bar_in_use)
        if found is None:
            found = self._batches[bar_in_use] = batches(self.lowered(bar_in_use))
        return found


def _choose(engine: str) -> ctypes.CDLL | None:
    """The library to use, None for the numpy engine."""
    if engine not in ENGINES:
        raise UsageError("PF0705", f"engine {engine!r} does not exist; choose one of {', '.join(ENGINES)}")
    found = None if engine == "numpy" else native.compiled()
    if engine == "c" and found is None:
        raise UsageError("PF0705", "the C engine was not built on this system; choose numpy or auto")
    return found


class Machine:
    """One chip. `engine` is one of ENGINES; the C engine spreads the eight L2Bs over `threads`, see `thread_count`.

    `strict` collects findings (`pfcomp.emulator.strict`) and runs on the numpy engine.
    """

    def __init__(self, engine: str = "auto", strict: bool = False, threads: int | str = AUTO) -> None:
        self._library = _choose(engine)
        self.engine, self.strict, self.threads = engine, strict, thread_count(threads)
        self._watch: Watch | None = None
        self.state = State()
        self._start()

    @property
    def dram(self) -> SparseMemory:
        """The DRAM of the four groups."""
        return self.state.dram

    @property
    def pdm(self) -> SparseMemory:
        """The PDM of the four groups."""
        return self.state.pdm

    def load(self, program: Program) -> Executable:
        """Translate a program; unsupported operations raise here."""
        executable = Executable(program)
        executable.lowered((False, False))
        if self._library is not None:
            executable.batches((False, False))
        return executable

    def run(self, executable: Executable) -> RunResult:
        """Execute a program on the present state."""
        lines: list[str] = []
        in_use = self.state.bar_in_use()
        lowered = executable.lowered(in_use)
        if self._chip is None:
            for segment in lowered.segments:
                self._segment(segment, lowered, lines)
        else:
            self._run_native(self._chip, executable.batches(in_use), lowered, lines)
        findings = () if self._watch is None else self._take_findings(executable.program, self._watch)
        return RunResult(executable.program.steps, lines, findings)

    def _run_native(
        self, chip: native.Chip, parts: tuple[Micro | Segment | Batch, ...], lowered: Lowered, lines: list[str]
    ) -> None:
        chip.forget_matrices()  # nothing outside of the batches writes them during a run
        for part in parts:
            if isinstance(part, Batch):
                chip.run(part.ops, part.runs, part.parts, part.phases, self.threads)
            else:
                self._segment(part, lowered, lines)

    def _segment(self, segment: Micro | Segment, lowered: Lowered, lines: list[str]) -> None:
        if isinstance(segment, Micro):
            self._host(segment, lowered, lines)
        elif self._watch is not None:
            self._watched(segment.micros, self._watch)
        else:
            interpret(self.state, segment.micros)

    def _host(self, micro: Micro, lowered: Lowered, lines: list[str]) -> None:
        index = micro.params[0]
        if micro.code == Code.MOVE:
            move, mapping = lowered.moves[index]
            if self._watch is not None:
                self._watch.line = move.line
            moves.execute(self.state, move, mapping, self._watch)
        elif micro.code == Code.GET:
            lines += dump.get_lines(self.state, lowered.gets[index])
        else:
            dump.apply_set(self.state, lowered.sets[index])
            if self._watch is not None:
                self._watch.place_written(lowered.sets[index].operand.place)

    def _watched(self, micros: tuple[Micro, ...], watch: Watch) -> None:
        for micro in micros:
            watch.before(micro)
            interpret(self.state, (micro,))
            watch.after(micro)

    def _take_findings(self, program: Program, watch: Watch) -> tuple[str, ...]:
        found = (*watch.findings, *stale_paths(program))
        watch.findings.clear()
        return found

    def reset(self) -> None:
        """Forget all memories."""
        self.state = State()
        self._start()

    def _start(self) -> None:
        self._watch = Watch(self.state) if self.strict else None
        self._chip = None if self._library is None or self.strict else native.Chip(self._library, self.state)
