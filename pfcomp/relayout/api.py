"""What a relayout is asked and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pfcomp.ir.model import MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.layout import Layout


@dataclass(frozen=True, slots=True)
class Form:
    """How a value lies in local memory: shape, bits of an element (32 or 64), layout."""

    shape: tuple[int, ...]
    bits: int
    layout: Layout


class MovePlan(Protocol):
    """A way to move one value; symbolic: addresses are known when it is emitted."""

    @property
    def steps(self) -> int:
        """Estimated steps."""

    @property
    def scratch(self) -> Sequence[Scratch]:
        """Local memory needed besides source and target, in the order in which `emit` expects it."""

    @property
    def tables(self) -> Sequence[Table]:
        """Constants needed in local memory, in the order in which `emit` expects them."""

    @property
    def table_words(self) -> Sequence[int]:
        """Long words per PE of each table; quicker to find than the tables."""

    @property
    def bytes(self) -> int:
        """About how much memory the plan itself takes while programs are planned."""

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Emit the move. Source and target do not overlap; both lie in local memory, anywhere."""
