"""Running bare assembly: parse, check, run, and the public dump of its `d get` statements (isa.md 19)."""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from pfcomp.artifacts import atomic_write, read_maybe_zst
from pfcomp.errors import SourceError, UsageError
from pfcomp.isa import parse
from pfcomp.isa.check import check
from pfcomp.isa.model import Program
from pfcomp.runtime.debugrun import Debugger, DebugReport, DebugRequest
from pfcomp.runtime.devices import DeviceKind, parse_device
from pfcomp.runtime.engine import Engine


@dataclass(frozen=True, slots=True)
class VsmReport:
    """Outcome: steps of the program, lines it dumped, seconds of each run."""

    device: str
    steps: int
    lines: int
    seconds: tuple[float, ...]
    held: bool = True
    debug: DebugReport | None = None

    def text(self) -> str:
        """A line for people, and those of debugging."""
        runs = f"{len(self.seconds)} x {min(self.seconds) * 1e3:.3g} ms"
        first = f"ran on {self.device}: {runs}, {self.steps} steps, {self.lines} dump lines"
        return "\n".join([first, *(self.debug.lines() if self.debug else [])])

    def json(self) -> str:
        """One JSON object for programs."""
        fields = {"device": self.device, "held": self.held, "steps": self.steps, "seconds": self.seconds}
        fields |= {"dump_lines": self.lines} | ({"debug": self.debug.fields()} if self.debug else {})
        return json.dumps(fields)


_NO_DEBUG = DebugRequest()


def run_program(
    path: Path, device_text: str, dump: Path | None, *, checked: bool, repeat: int, debug: DebugRequest = _NO_DEBUG
) -> VsmReport:
    """Run the program in `path` on fresh memory each time; the last run's dump goes to `dump` or stderr."""
    device = parse_device(device_text)
    if device.kind is DeviceKind.PFVM:
        raise UsageError("PF0619", f"{device_text} cannot run assembly", hint="use --device emu2 or mncore2:auto")
    program = read_program(path, checked)
    debugger = Debugger(debug, device, repeat, program) if debug.active else None
    seconds = []
    lines: list[str] = []
    steps = 0
    with debugger or nullcontext():
        for _ in range(repeat):
            engine = Engine(device)
            if debugger is not None:
                engine.machine = debugger.machine
            executable = engine.load(program)
            start = time.perf_counter()
            result = engine.run(executable)
            lines, steps = result.dump, result.steps
            seconds.append(time.perf_counter() - start)
    _put_out(lines, dump)
    report = debugger.report() if debugger is not None else None
    return VsmReport(device.text, steps, len(lines), tuple(seconds), debug=report)


def _put_out(lines: list[str], dump: Path | None) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if dump is not None:
        atomic_write(dump, text.encode())
    else:
        sys.stderr.write(text)


def read_program(path: Path, checked: bool) -> Program:
    """The parsed program. Raises SourceError PF0620 listing all findings of the static checker if `checked`."""
    try:
        text = read_maybe_zst(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError("PF0621", "is not text", where=str(path), hint="give an assembly source file") from error
    program = parse(text, path.name)
    findings = [f for f in check(program) if f.severity == "error"] if checked else []
    if findings:
        lines = "\n".join(finding.describe(path.name) for finding in findings)
        what = f"{len(findings)} rules of the chip are broken; correct the lines or run with --no-check\n{lines}"
        raise SourceError("PF0620", what, where=path.name)
    return program
