"""Running bare assembly: parse, check, run, and the public dump of its `d get` statements (isa.md 19)."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pfcomp.artifacts import atomic_write, read_maybe_zst
from pfcomp.errors import SourceError, UsageError
from pfcomp.isa import parse
from pfcomp.isa.check import check
from pfcomp.isa.model import Program
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

    def text(self) -> str:
        """A line for people."""
        runs = f"{len(self.seconds)} x {min(self.seconds) * 1e3:.3g} ms"
        return f"ran on {self.device}: {runs}, {self.steps} steps, {self.lines} dump lines"

    def json(self) -> str:
        """One JSON object for programs."""
        fields = {"device": self.device, "held": self.held, "steps": self.steps, "seconds": self.seconds}
        return json.dumps(fields | {"dump_lines": self.lines})


def run_program(path: Path, device_text: str, dump: Path | None, *, checked: bool, repeat: int) -> VsmReport:
    """Run the program in `path` on fresh memory each time; the last run's dump goes to `dump` or stderr."""
    device = parse_device(device_text)
    if device.kind is DeviceKind.PFVM:
        raise UsageError("PF0619", f"{device_text} cannot run assembly", hint="use --device emu2 or mncore2:auto")
    program = read_program(path, checked)
    seconds = []
    lines: list[str] = []
    for _ in range(repeat):
        engine = Engine(device)
        executable = engine.load(program)
        start = time.perf_counter()
        lines = engine.run(executable).dump
        seconds.append(time.perf_counter() - start)
    text = "".join(f"{line}\n" for line in lines)
    if dump is not None:
        atomic_write(dump, text.encode())
    else:
        sys.stderr.write(text)
    return VsmReport(device.text, program.steps, len(lines), tuple(seconds))


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
