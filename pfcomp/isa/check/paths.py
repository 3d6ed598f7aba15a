"""Forwarding paths and turnaround registers: values that are lost after a step (isa.md 8 and 12.3)."""

from __future__ import annotations

from pfcomp.isa.effects import Effects, Turnaround
from pfcomp.isa.model import Op, Place, Step
from pfcomp.isa.printer import format_op

from .findings import Report
from .issue import Checked


class Paths:
    """Which step last filled each path. Steps are counted without nops and `noforward`, which change nothing."""

    def __init__(self) -> None:
        self._active = 0
        self._filled: dict[Place, int] = {}
        self._turn: Turnaround | None = None
        self._turn_filled = 0
        self._shift = 0

    def check(self, step: Step, ops: Checked, report: Report) -> None:
        """Check the reads of one step, then remember what it filled."""
        if step.is_nop:
            return
        for op, effect in ops:
            for path in effect.paths:
                self._read(path, op, report)
            if effect.turn_read is not None:
                self._turned(effect.turn_read, op, report)
        if not step.noforward:
            self._active += 1
            for op, effect in ops:
                self._fill(op, effect)

    def _fill(self, op: Op, effect: Effects) -> None:
        if effect.path is not None:
            self._filled[effect.path] = self._active
        if effect.turn_write is not None:
            self._turn, self._turn_filled, self._shift = effect.turn_write, self._active, op.shift or 0

    def _read(self, path: Place, op: Op, report: Report) -> None:
        filled = self._filled.get(path)
        if filled is None:
            report.add("8.stale", f"{format_op(op)}: nothing has filled ${path.value}")
        elif filled != self._active:
            report.add("8.stale", f"{format_op(op)}: ${path.value} was filled {self._active - filled} steps too early")

    def _turned(self, wanted: Turnaround, op: Op, report: Report) -> None:
        if self._turn is None:
            report.add("8.stale", f"{format_op(op)}: nothing has filled the turnaround register")
            return
        if self._turn != wanted:
            report.add("12.turn", f"{format_op(op)}: the last transfer up was of another family or width")
        if self._turn_filled != self._active:
            report.add("8.stale", f"{format_op(op)}: the turnaround register was filled too early")
        if op.shift is not None and op.shift != self._shift:
            report.add("12.shift", f"{format_op(op)}: the transfer up was shifted by {self._shift}")
