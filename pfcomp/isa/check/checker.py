"""The static checker: one pass over a program, all findings."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.isa.effects import Effects, MaskDefaults, find_effects
from pfcomp.isa.model import MaskRef, Move, Op, Place, Program, SetMask, Step
from pfcomp.isa.printer import format_op
from pfcomp.isa.tables import MASK_MEMORIES

from .findings import Finding, Report
from .hazards import Hazards
from .issue import Checked, check_step
from .paths import Paths
from .static import Broken, is_sound, move_findings, move_is_sound, op_findings
from .transfers import Transfers


def check(program: Program) -> tuple[Finding, ...]:
    """All findings of a program in statement order; never raises, whatever the program.

    An operation whose form is wrong (`5.…`) is reported and otherwise ignored. Time and memory are linear in the
    number of statements.
    """
    checker = _Checker()
    for index, statement in enumerate(program.statements):
        checker.report.at(index, getattr(statement, "line", 0))
        if isinstance(statement, Step):
            checker.step(statement)
        elif isinstance(statement, Move):
            checker.move(statement)
        elif isinstance(statement, SetMask):
            checker.set_mask(statement)
    checker.transfers.end(checker.report)
    return tuple(checker.report.findings)


Analysed = tuple[tuple[Broken, ...], Effects | None]
"""What is wrong with an operation on its own, and its effects if its form is sound."""


@lru_cache(maxsize=1 << 14)
def _analyse(op: Op, defaults: MaskDefaults) -> Analysed:
    found = op_findings(op)
    return found, find_effects(op, defaults) if is_sound(found) else None


class _Checker:
    """State of the pass. `time` is the number of steps seen, nops included."""

    def __init__(self) -> None:
        self.report = Report()
        self.time = 0
        self.defaults: MaskDefaults = ()
        self.hazards, self.paths, self.transfers = Hazards(), Paths(), Transfers()
        self._known: dict[int, Analysed] = {}  # by identity, which is cheaper than the hash of an operation

    def step(self, step: Step) -> None:
        """One PE line."""
        if step.ops:
            ops = self._sound(step.ops)
            check_step(step, ops, self.report)
            self.hazards.check(self.time, ops, self.report)
            self.transfers.check_step(self.time, ops, self.report)
            self.paths.check(step, ops, self.report)
        elif step.waits or step.noforward:
            check_step(step, (), self.report)
        for tag in step.waits:
            self.transfers.wait(tag, self.report)
        self.time += step.repeat

    def _sound(self, ops: tuple[Op, ...]) -> Checked:
        """The operations that can be analysed, with their effects; reports what is wrong with each on its own."""
        sound: list[tuple[Op, Effects]] = []
        for op in ops:
            known = self._known.get(id(op))
            if known is None:
                known = self._known[id(op)] = _analyse(op, self.defaults)
            found, effect = known
            for rule, text in found:
                self.report.add(rule, text if op.name in text else f"{format_op(op)}: {text}")
            if effect is not None:
                sound.append((op, effect))
        return sound

    def move(self, move: Move) -> None:
        """One MV line."""
        found = move_findings(move)
        for rule, text in found:
            self.report.add(rule, text)
        if move_is_sound(found):
            self.transfers.issue(self.time, move, self.report)

    def set_mask(self, statement: SetMask) -> None:
        """The statement names the masked memories; all others become unmasked (isa.md 7.2)."""
        self._known.clear()
        mask = MaskRef(statement.entry, statement.length)
        places = [place for letter in statement.memories for place in MASK_MEMORIES[letter]]
        self.defaults = tuple((place, mask) for place in Place if place in places) if statement.entry else ()
