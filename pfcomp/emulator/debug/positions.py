"""Where a run is: statements with their steps, source lines and graph nodes; breakpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from pfcomp.errors import UsageError
from pfcomp.isa.model import Program, Statement, Step
from pfcomp.isa.printer import format_statement


class NodeSpan(NamedTuple):
    """Statements `begin`..`end` (half open) hold work of the graph node `name`; `note` says what it is and whence."""

    begin: int
    end: int
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """A statement: its index, the PE step at which it is issued (from 0), line (0: not known), text and nodes."""

    index: int
    step: int
    line: int
    text: str
    nodes: tuple[str, ...] = ()

    def describe(self) -> str:
        """`step 12, line 14, node add_1: fvadd $lm0v $ln0v $lr0v`, without the parts that are not known."""
        line = f", line {self.line}" if self.line else ""
        node = f", node {' + '.join(self.nodes)}" if self.nodes else ""
        return f"step {self.step}{line}{node}: {self.text}"


@lru_cache(maxsize=1024)
def _text(statement: Statement) -> str:
    return format_statement(statement)


class Positions:
    """The positions of a program's statements, made when they are asked for; without `lines` they have no line."""

    def __init__(self, program: Program, spans: Sequence[NodeSpan] = (), *, lines: bool = True) -> None:
        self.program, self._spans, self._lines = program, tuple(spans), lines
        self._steps = [0]
        for statement in program.statements:
            self._steps.append(self._steps[-1] + (statement.repeat if isinstance(statement, Step) else 0))

    def __getitem__(self, index: int) -> Position:
        statement = self.program.statements[index]
        nodes = dict.fromkeys(f"{s.name} ({s.note})" if s.note else s.name for s in self._spans if self._in(s, index))
        line = statement.line if self._lines else 0
        return Position(index, self._steps[index], line, _text(statement), tuple(nodes))

    @staticmethod
    def _in(span: NodeSpan, index: int) -> bool:
        return span.begin <= index < span.end

    def find(self, where: str) -> int:
        """Index of the statement to stop before: that of a step number, or the first one of a node.

        Raises UsageError PF0711 if the program has no such step or node.
        """
        starts = [span.begin for span in self._spans if span.name == where]
        if starts:
            return min(starts)
        if where.isascii() and where.isdecimal() and len(where) < 10:
            return self._find_step(int(where))
        raise self._no_node(where)

    def _find_step(self, step: int) -> int:
        for index, (first, end) in enumerate(zip(self._steps, self._steps[1:], strict=False)):
            if first <= step < end:
                return index
        hint = f"give a step from 0 to {self._steps[-1] - 1}" if self._steps[-1] else "it has no steps"
        raise UsageError("PF0711", f"the program has no step {step}", hint=hint)

    def _no_node(self, where: str) -> UsageError:
        names = sorted({span.name for span in self._spans})
        if not names:
            return UsageError("PF0711", f"{where!r} is no step, and the program has no nodes", hint="give a number")
        near = get_close_matches(where, names, n=5, cutoff=0.4) or names[:5]
        hint = f"give a step number or a node such as {', '.join(near)}"
        return UsageError("PF0711", f"the program has no node {where!r}", hint=hint)
