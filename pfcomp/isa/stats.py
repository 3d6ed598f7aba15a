"""What a program is made of: steps, operations of each unit, mnemonics, transfers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .model import CYCLES, Move, Program, Step, Unit
from .roles import mnemonic_of


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one program.

    steps: PE steps with nops (one step is four cycles); nops: steps without operation; ops: operations; units: unit
    to operations; mnemonics: mnemonic to operations, most frequent first; moves: MV instructions; moved: MV mode to
    long words of `size`; waits: `wait` expressions.
    """

    steps: int
    nops: int
    ops: int
    units: dict[str, int]
    mnemonics: dict[str, int]
    moves: int
    moved: dict[str, int]
    waits: int

    def utilisation(self, unit: str) -> float:
        """Share of the steps in which the unit works, 0 to 1."""
        return self.units[unit] / self.steps if self.steps else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, with cycles, utilisation and operations per step added."""
        units = {name: {"ops": n, "utilisation": round(self.utilisation(name), 6)} for name, n in self.units.items()}
        per_step = round(self.ops / self.steps, 6) if self.steps else 0.0
        return {
            "steps": self.steps, "cycles": self.steps * CYCLES, "nops": self.nops, "ops": self.ops,
            "ops_per_step": per_step, "units": units, "mnemonics": self.mnemonics, "moves": self.moves,
            "moved_long_words": self.moved, "waits": self.waits,
        }  # fmt: skip


def statistics(program: Program) -> Stats:
    """Counts of a program. `nop/N` counts as N steps."""
    steps = [s for s in program.statements if isinstance(s, Step)]
    moves = [s for s in program.statements if isinstance(s, Move)]
    ops = [op for step in steps for op in step.ops]
    units = Counter(op.unit for op in ops)
    mnemonics = Counter(mnemonic_of(op) for op in ops)
    moved: Counter[str] = Counter()
    for move in moves:
        moved[f"mv{move.mode}{move.reduction}"] += move.size
    return Stats(
        program.steps,
        sum(s.repeat for s in steps if not s.ops),
        len(ops),
        {unit.value: units[unit] for unit in Unit},
        dict(sorted(mnemonics.items(), key=lambda item: (-item[1], item[0]))),
        len(moves),
        dict(sorted(moved.items())),
        sum(len(s.waits) for s in steps),
    )


def stats_lines(stats: Stats, most: int = 20) -> list[str]:
    """Readable lines: totals, units with utilisation, the `most` frequent mnemonics, MV modes."""
    cycles = stats.steps * CYCLES
    lines = [
        f"steps      {stats.steps} ({cycles} cycles), {stats.nops} without operation, {stats.waits} waits",
        f"operations {stats.ops}" + (f", {stats.ops / stats.steps:.2f} in a step" if stats.steps else ""),
    ]
    lines += [f"  {u:<16}{n:>8}  {stats.utilisation(u):6.1%}" for u, n in stats.units.items() if n]
    shown = list(stats.mnemonics.items())[:most]
    lines += ["mnemonics", *(f"  {name:<16}{n:>8}" for name, n in shown)] if shown else []
    if len(stats.mnemonics) > most:
        lines.append(f"  and {len(stats.mnemonics) - most} more")
    lines.append(f"moves      {stats.moves}")
    return lines + [f"  {mode:<16}{words:>8} long words" for mode, words in stats.moved.items()]
