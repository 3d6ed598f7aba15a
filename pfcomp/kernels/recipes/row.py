"""A row of the operator table: one operator for one combination of element types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes.emitter import Attributes, Recipe


class Join(Enum):
    """Where a 32-bit result of a recipe on long words lies: what its other word holds does not matter, or is 0."""

    LOW = "low"
    LOW_CLEAN = "low, the high word 0"
    HIGH = "high"


def nothing_refused(_: Attributes) -> str:
    """All attributes will do."""
    return ""


@dataclass(frozen=True, slots=True)
class Row:
    """An operator with operands of types `inputs` (one type stands for any number of operands).

    `wide` recipes work on long words with one element each: they run once for every half of a vector, find a 32-bit
    operand in the high word (the low word holds anything) and leave a 32-bit result where `join` says. The rest is
    documentation: `ulp` bounds the error in units in the last place of the result inside `domain`, 0 means exact.
    """

    op: str
    inputs: tuple[DType, ...]
    output: DType
    recipe: Recipe
    meaning: str
    least: int = 1
    most: int | None = 1
    ulp: float = 0.0
    domain: str = ""
    specials: str = ""
    wide: bool = False
    join: Join = Join.LOW_CLEAN
    refuse: Callable[[Attributes], str] = nothing_refused
