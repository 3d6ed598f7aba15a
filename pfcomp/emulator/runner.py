"""Bare assembly programs: check, translate, run, return the dump (what `pfrun program.vsm -d dump.txt` does)."""

from __future__ import annotations

from pathlib import Path

from pfcomp.emulator.machine import Machine
from pfcomp.errors import SourceError
from pfcomp.isa import parse
from pfcomp.isa.model import Program


def read_program(source: str | Path) -> Program:
    """Parse a path, or text if `source` is a string with a line break or no file of that name exists."""
    if isinstance(source, Path):
        return _read(source)
    if "\n" not in source and Path(source).is_file():
        return _read(Path(source))
    return parse(source)


def _read(path: Path) -> Program:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError("PF0706", f"cannot be read as assembly text ({error})", where=path.name) from error
    return parse(text, path.name)


def run_vsm(source: str | Path, *, check: bool = True, machine: Machine | None = None) -> list[str]:
    """Run a program on `machine` (a new one by default) and return the lines of its `d get` statements.

    With `check`, rule violations and hazards of isa.md 16 and 17 raise SourceError first, one line for each.
    """
    program = read_program(source)
    if check:
        refuse_errors(program)
    chip = machine if machine is not None else Machine()
    return chip.run(chip.load(program)).dump


def refuse_errors(program: Program) -> None:
    """Raise SourceError with every finding of the static checker that makes a program wrong."""
    from pfcomp.isa.check import check as find

    errors = [f for f in find(program) if f.severity == "error"]
    if errors:
        lines = [f"line {f.line}: {f.rule}: {f.text}" for f in errors]
        hint = "insert nops or change operands; --no-check runs it anyway"
        raise SourceError("PF0707", "\n".join(lines), hint=hint)
