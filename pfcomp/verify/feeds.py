"""Inputs for a verification: as the command line says, random where it says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pfcomp.errors import UsageError
from pfcomp.ir.elements import Array
from pfcomp.ir.model import MNValue
from pfcomp.runtime.feeds import make_input, parse_feeds
from pfcomp.runtime.iospec import IOSpec

SEED = 0
SMALL = 8
"""Random integers lie below it, so that they are valid indices and labels of most programs."""


def feeds(directory: Path, texts: Sequence[str]) -> dict[str, Array]:
    """Arrays by name of input. Raises UsageError PF0614 as `pfrun --input` does."""
    from pfcomp.stages.schedule import load_schedule

    graph = load_schedule(directory).graph
    given = parse_feeds(texts)
    for name in given:
        if name not in graph.inputs:
            what = f"the program has no input {name}"
            raise UsageError("PF0614", what, hint=f"it has {', '.join(graph.inputs) or 'none'}")
    rng = np.random.default_rng(SEED)
    return {name: _array(graph.values[name], given.get(name), rng) for name in graph.inputs}


def _array(value: MNValue, what: str | None, rng: np.random.Generator) -> Array:
    spec = IOSpec(value.name, value.shape, value.dtype.value, value.torch_dtype, value.layout)
    if what is not None:
        return make_input(what, spec)
    if spec.host_type.kind == "f":
        return rng.standard_normal(value.shape).astype(spec.host_type)
    return rng.integers(0, 2 if spec.host_type.kind == "b" else SMALL, value.shape).astype(spec.host_type)
