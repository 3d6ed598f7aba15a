"""A chip that runs statement by statement on the numpy engine, shows each one to observers and can stop before one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pfcomp.emulator.debug.positions import NodeSpan, Position, Positions
from pfcomp.emulator.lower.program import Lowered
from pfcomp.emulator.machine import Executable, Machine, RunResult
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.numpy_engine.engine import interpret
from pfcomp.emulator.state import State
from pfcomp.isa.model import Program, Statement, Step

_FINDING = re.compile(r"line (\d+): ")


class Observer(Protocol):
    """Sees a run: `begin`, then `micro` before each micro-operation takes effect, then `end`, for each statement."""

    def begin(self, state: State, position: Position, statement: Statement) -> None:
        """`statement` is going to run."""

    def micro(self, state: State, micro: Micro) -> None:
        """`micro`, a part of the statement, is going to run."""

    def end(self, state: State) -> None:
        """The statement has run."""


class DebugMachine(Machine):
    """Runs like a `Machine`; `stop` is the index of the statement before which the run ends.

    After a run `stopped` is where it ended early, None if it did not. Programs whose statements have no lines (those of
    apps) are numbered by statement index, from 1, so that strict mode can tell them apart; findings name positions.
    """

    def __init__(
        self,
        observers: Sequence[Observer] = (),
        *,
        stop: int | None = None,
        nodes: Sequence[NodeSpan] = (),
        strict: bool = False,
    ) -> None:
        super().__init__("numpy", strict)
        self.observers, self.stop, self.nodes = tuple(observers), stop, tuple(nodes)
        self.stopped: Position | None = None
        self.findings: tuple[str, ...] = ()
        self._numbered = False

    def load(self, program: Program) -> Executable:
        """Translate a program; unsupported operations raise here."""
        self._numbered = not any(s.line for s in program.statements)
        if self._numbered:
            program = Program(tuple(replace(s, line=i) for i, s in enumerate(program.statements, 1)))
        return super().load(program)

    def run(self, executable: Executable) -> RunResult:
        """Execute a program on the present state, up to the stop if there is one."""
        program = executable.program
        lowered = executable.lowered(self.state.bar_in_use())
        positions = Positions(program, self.nodes, lines=not self._numbered)
        parts, lines = _statement_micros(lowered), list[str]()
        self.stopped = None
        for index, (statement, micros) in enumerate(zip(program.statements, parts, strict=True)):
            if index == self.stop:
                self.stopped = positions[index]
                break
            self._statement(positions, index, statement, micros, lowered, lines)
        executed = program.statements if self.stopped is None else program.statements[: self.stopped.index]
        if self._watch is not None:
            found = self._take_findings(Program(executed), self._watch)
            self.findings = tuple(_explain(finding, positions) for finding in found)
        steps = sum(s.repeat for s in executed if isinstance(s, Step))
        return RunResult(steps, lines, self.findings)

    def _statement(
        self,
        positions: Positions,
        index: int,
        statement: Statement,
        micros: Sequence[Micro],
        lowered: Lowered,
        lines: list[str],
    ) -> None:
        if self.observers:
            position = positions[index]
            for observer in self.observers:
                observer.begin(self.state, position, statement)
        for micro in micros:
            for observer in self.observers:
                observer.micro(self.state, micro)
            if micro.code >= Code.MOVE:
                self._host(micro, lowered, lines)
            elif self._watch is not None:
                self._watched((micro,), self._watch)
            else:
                interpret(self.state, (micro,))
        for observer in self.observers:
            observer.end(self.state)


def _statement_micros(lowered: Lowered) -> list[list[Micro]]:
    """The micro-operations of each statement."""
    flat = [m for part in lowered.segments for m in ((part,) if isinstance(part, Micro) else part.micros)]
    return [flat[begin:end] for begin, end in zip((0, *lowered.ends), lowered.ends, strict=False)]


def _explain(finding: str, positions: Positions) -> str:
    """`finding`, whose line stands for a statement, with the statement's position."""
    match = _FINDING.match(finding)
    if match is None:
        return finding
    line = int(match[1])
    index = next(i for i, s in enumerate(positions.program.statements) if s.line == line)
    return f"{finding[match.end() :]} ({positions[index].describe()})"
