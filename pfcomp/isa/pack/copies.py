"""Copies through the ALU for operations whose register operands never fit the read ports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from pfcomp.isa.effects import find_effects
from pfcomp.isa.model import Op, Place

from .legalise import copy_template
from .micro import MicroOp, Virtual, placeholder
from .needs import Needs, needs_of
from .nodes import Node, Use, Value
from .storage import Storage


@dataclass(slots=True, eq=False)
class CopyPlan:
    """`copy` copies `old`; `rewire` lets `node` read the copy instead."""

    node: Node
    copy: Node
    old: Value
    new: Value
    saved: list[Use]

    def rewire(self, time: int) -> None:
        """Replace the reads of the old value; `time` is the step of the copy, as far as it is known."""
        self.new.time = time
        self.node.uses = [
            (position, self.new, virtual, True) if value is self.old else (position, value, virtual, path)
            for position, value, virtual, path in self.saved
        ]

    def undo(self) -> None:
        """Take `rewire` back."""
        self.node.uses = self.saved

    def take_over(self) -> None:
        """The node's reads of the old value become one read by the copy. Call before the copy is placed."""
        self.old.uses += 1 - self._reads()

    def expect_reads(self) -> None:
        """Count the reads of the copy. Call before the copy is placed."""
        self.new.uses = self._reads()

    def _reads(self) -> int:
        return sum(value is self.old for _, value, _, _ in self.saved)


@cache
def _copy_op() -> tuple[Op, Needs]:
    op = replace(copy_template(), sources=(placeholder(Virtual(0)),))
    return op, needs_of(op, find_effects(op))


def copy_needs() -> Needs:
    """What every copy needs, beside the register that it reads."""
    return _copy_op()[1]


def _plan(node: Node, old: Value) -> CopyPlan:
    virtual = old.virtual
    op, needs = _copy_op()
    origin = -1 if node.micro is None else node.micro.node
    new = Value(virtual, Place.ALUF, old.words, old.later)
    copy = Node(node.order, MicroOp(op, ((0, virtual),), virtual, origin), needs=needs, value=new)
    copy.lane = (op.unit, 0)
    copy.key = node.key - 1
    copy.uses = [(0, old, virtual, True)]
    return CopyPlan(node, copy, old, new, list(node.uses))


def plan_copy(storage: Storage, node: Node, time: int) -> CopyPlan | None:
    """A copy to forward such that all other operands fit; None if more than one copy is needed."""
    for _, value, _, _ in node.uses:
        others = [use for use in node.uses if use[1] is not value]
        if storage.agree(node, others, time):
            return _plan(node, value)
    return None


def split_copy(node: Node) -> CopyPlan:
    """A copy into a register of an operand that shares its file with another one."""
    bound = [value for _, value, _, _ in node.uses if value.bound]
    return _plan(node, bound[-1] if bound else node.uses[-1][1])
