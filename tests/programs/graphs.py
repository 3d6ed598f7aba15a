"""Random element-wise graphs with broadcasting, as lists of operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.programs.harness import Op

ARITY = {"Add": 2, "Sub": 2, "Mul": 2, "Max": 2, "Min": 2, "Neg": 1, "Abs": 1, "Relu": 1, "Identity": 1}


@dataclass(frozen=True)
class Graph:
    """Operations, shapes of inputs and constants by name, names of the outputs."""

    ops: tuple[Op, ...]
    inputs: dict[str, tuple[int, ...]]
    constants: dict[str, tuple[int, ...]]
    outputs: tuple[str, ...]


@st.composite
def graphs(draw: st.DrawFn, exact: bool = False, longest: int = 9) -> Graph:
    """A graph; `exact` leaves out multiplication, the one operation that does not round as IEEE does."""
    full = tuple(draw(st.lists(st.integers(1, longest), max_size=5)))

    def shape() -> tuple[int, ...]:
        cut = draw(st.integers(0, len(full)))
        return tuple(n if draw(st.booleans()) else 1 for n in full[cut:])

    inputs = {f"i{k}": shape() for k in range(draw(st.integers(1, 3)))}
    constants = {f"c{k}": shape() for k in range(draw(st.integers(0, 2)))}
    kinds = sorted(set(ARITY) - ({"Mul"} if exact else set()))
    names = [*inputs, *constants]
    ops = []
    for k in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(kinds))
        operands = [draw(st.sampled_from(names)) for _ in range(ARITY[kind])]
        if all(name in constants for name in operands):
            operands[0] = "i0"
        ops.append(Op(kind, operands, f"v{k}"))
        names.append(f"v{k}")
    results = [op.output for op in ops]
    outputs = draw(st.lists(st.sampled_from(results), min_size=1, max_size=3, unique=True))
    return Graph(tuple(ops), inputs, constants, tuple(outputs))


def arrays(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal numbers of mixed sizes, with zeros and exact small integers among them."""
    wide = rng.standard_normal(shape) * np.exp2(rng.integers(-12, 12, shape))
    small = rng.integers(-4, 5, shape)
    return np.where(rng.random(shape) < 0.25, small, wide).astype(np.float32)
