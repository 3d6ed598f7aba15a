"""Looking into a run: breakpoints, traces of what was written, and who wrote a place last."""

from pfcomp.emulator.debug.machine import DebugMachine, Observer
from pfcomp.emulator.debug.positions import NodeSpan, Position, Positions
from pfcomp.emulator.debug.trace import Trace
from pfcomp.emulator.debug.units import Unit, parse_unit
from pfcomp.emulator.debug.who import Spot, WriteLog, parse_spot

__all__ = [
    "DebugMachine", "NodeSpan", "Observer", "Position", "Positions", "Spot", "Trace", "Unit", "WriteLog", "parse_spot",
    "parse_unit",
]  # fmt: skip
