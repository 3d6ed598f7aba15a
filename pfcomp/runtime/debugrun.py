"""The debugging options of `pfrun`: stop, trace, who wrote last, show, strict; for assembly and apps alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from pfcomp.artifacts import unwritable
from pfcomp.emulator.debug import (
    DebugMachine,
    NodeSpan,
    Observer,
    Position,
    Positions,
    Trace,
    WriteLog,
    parse_spot,
    parse_unit,
)
from pfcomp.emulator.dump import get_lines
from pfcomp.errors import UsageError
from pfcomp.isa.debugtext import parse_debug
from pfcomp.isa.model import DebugGet, Place, Program
from pfcomp.isa.problems import Trouble
from pfcomp.runtime.devices import Device, DeviceKind

DEFAULT_PE = "n0c0b0m0p0"


@dataclass(frozen=True, slots=True)
class DebugRequest:
    """What the command line asks for, as texts; without anything in it nothing changes."""

    stop: str | None = None
    trace: Path | None = None
    trace_pes: tuple[str, ...] = ()
    who: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    strict: bool = False

    @property
    def active(self) -> bool:
        """True if anything is asked for."""
        return self != DebugRequest()


@dataclass(frozen=True, slots=True)
class DebugReport:
    """Where the run stopped early (None: it did not), last writers, shown places, findings of strict mode.

    `strict` tells whether findings were looked for.
    """

    stopped: Position | None = None
    who: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    strict: bool = False

    def lines(self) -> list[str]:
        """Lines for people."""
        stop = [f"stopped before {self.stopped.describe()}"] if self.stopped else []
        count = [f"strict: {len(self.findings)} findings"] if self.strict else []
        return [*stop, *self.who, *self.shown, *count, *(f"strict: {finding}" for finding in self.findings)]

    def fields(self) -> dict[str, Any]:
        """The same for JSON."""
        stopped = None
        if self.stopped:
            where = self.stopped
            stopped = {"step": where.step, "line": where.line, "statement": where.text, "nodes": where.nodes}
        found = {"who": self.who, "shown": self.shown, "strict": self.findings if self.strict else None}
        return {"stopped": stopped, **found}


class Debugger:
    """A chip that does what a request asks for; a context manager, because of the trace's file.

    Raises UsageError PF0619 for devices that do not run programs of the chip, PF0623 for options that do not fit
    together, PF0710 and PF0711 for places and breakpoints that do not exist.
    """

    def __init__(
        self, request: DebugRequest, device: Device, repeat: int, program: Program, nodes: Sequence[NodeSpan] = ()
    ) -> None:
        check_request(request, device, repeat)
        self._request = request
        self._file: IO[str] | None = None
        self._shown = tuple(parse_show(text) for text in request.show)
        self._log = WriteLog([parse_spot(text) for text in request.who])
        units = [parse_unit(text) for text in request.trace_pes or (DEFAULT_PE,)]
        observers: list[Observer] = [Trace(units, self._write)] if request.trace else []
        if request.who:
            observers.append(self._log)
        stop = None if request.stop is None else Positions(program, nodes).find(request.stop)
        self.machine = DebugMachine(observers, stop=stop, nodes=nodes, strict=request.strict)
        self._log.attach(Place.DRAM, self.machine.dram)
        self._log.attach(Place.PDM, self.machine.pdm)

    def __enter__(self) -> Self:
        if self._request.trace is not None:
            try:
                self._file = self._request.trace.open("w", encoding="utf-8")
            except OSError as error:
                raise unwritable(self._request.trace, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, line: str) -> None:
        if self._file is not None:
            self._file.write(f"{line}\n")

    def report(self) -> DebugReport:
        """What came out; to be asked for after the run."""
        machine = self.machine
        who = tuple(self._log.lines())
        shown = tuple(line for statement in self._shown for line in get_lines(machine.state, statement))
        return DebugReport(machine.stopped, who, shown, machine.findings, self._request.strict)


def check_request(request: DebugRequest, device: Device, repeat: int) -> None:
    """Refuse what cannot work, before anything is opened."""
    if device.kind is DeviceKind.PFVM:
        what = f"{device.text} does not run programs of the chip, so they cannot be debugged on it"
        raise UsageError("PF0619", what, hint="use --device emu2")
    if repeat > 1:
        raise UsageError("PF0623", "debugging shows one run", hint="leave out --repeat")
    if request.trace_pes and request.trace is None:
        raise UsageError("PF0623", "--trace-pe chooses PEs of a trace", hint="add --trace FILE")


def parse_show(text: str) -> DebugGet:
    """`$lm0n0c0b0m0p0` or the rest of a `d get` statement, `getf $lm0n0c0b0m0p0 4`. Raises UsageError PF0710."""
    try:
        statement = parse_debug(f"d get {text} 1" if text.startswith("$") and " " not in text else f"d {text}")
    except Trouble as trouble:
        raise UsageError("PF0710", trouble.what) from None
    if not isinstance(statement, DebugGet):
        raise UsageError("PF0710", f"{text!r} shows nothing", hint="write a place or get[d|f|h] PLACE COUNT")
    return statement
