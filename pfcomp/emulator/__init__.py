"""The chip in software, bit for bit (isa.md): `Machine` runs programs, `run_vsm` runs bare assembly text."""

from pfcomp.emulator.machine import ENGINES, Executable, Machine, RunResult
from pfcomp.emulator.runner import run_vsm

__all__ = ["ENGINES", "Executable", "Machine", "RunResult", "run_vsm"]
