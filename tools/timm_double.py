"""Is a training step right where rounding is amplified too much for curves to be compared? In double precision."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pfcomp.frontend import CapturedGraph
from pfcomp.frontend.interpret import interpret
from pfcomp.frontend.tolerance import relative_error

Function = Callable[[dict[str, Tensor]], dict[str, Tensor]]
Build = Callable[[nn.Module], tuple[Function, dict[str, Tensor]]]
"""Makes a training step of a model, and gives all that it changes by name."""

DOUBLE_LIMIT = 1e-9
"""Bound for one step of the captured graph in double precision."""
NOTHING = 1e-11
"""A difference that counts as none in double precision."""
LAST_DIGITS = 2.0**-49
"""What sums of some dozens of terms round off in double precision."""
AMPLIFIED = 10
"""How much farther from the double-precision curve we may be than eager torch in single precision is."""


def _distance(value: Tensor, reference: Tensor) -> float:
    """Relative error; 0 for a gradient that is nothing but rounding, as that of a bias before batch statistics."""
    small = float((value.double() - reference.double()).abs().max()) <= NOTHING if value.numel() else True
    return 0.0 if small else relative_error(value, reference)


def _after(step: Function, states: Mapping[str, Tensor], sample: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The loss and the new contents of all states, by the names of the graph's outputs."""
    with _double_throughout():
        loss = step(sample)["loss"].detach()
    return {"loss": loss} | {f"{name}:out": state.detach().clone() for name, state in states.items()}


@contextmanager
def _double_throughout() -> Iterator[None]:
    """Eager torch leaves double precision in two places that the captured graph does not have.

    The backward kernel of hardsigmoid holds 1/6 in single precision, and models ask for `x.float()`.
    """
    sigmoid, single = functional.hardsigmoid, Tensor.float
    try:
        functional.hardsigmoid = lambda x, inplace=False: functional.relu6(x + 3) / 6
        Tensor.float = lambda x, *_, **__: x if x.dtype == torch.float64 else single(x)  # type: ignore[method-assign]
        yield
    finally:
        functional.hardsigmoid, Tensor.float = sigmoid, single  # type: ignore[method-assign]


def _nudged(x: Tensor) -> Tensor:
    """Every number changed in its last digits or not at all."""
    return x * (1 + LAST_DIGITS * torch.randint(-1, 2, x.shape, dtype=x.dtype)) if x.is_floating_point() else x


def _restore(states: Mapping[str, Tensor], contents: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, state in states.items():
            state.copy_(contents[name])


def double_check(
    captured: CapturedGraph, build: Build, model: nn.Module, sample: Mapping[str, Tensor], curves: Any, limit: float
) -> str:
    """Reason against the training, "" if it is right.

    Right means: from each state on the way of eager torch in double precision, the captured graph in double precision
    makes the same step; and our curves in single precision are not much farther from that way than eager torch's own.
    Curves alone cannot be compared: a net with batch statistics of a few numbers makes any rounding large in ten steps.
    Where it does so even within one, the same step means: not much farther away than eager torch is from itself if the
    last digits of picture and parameters are changed.
    """
    twin, twin_states = build(copy.deepcopy(model))
    wide = {key: value.double() if value.is_floating_point() else value for key, value in sample.items()}
    step, states = build(model)
    reference, excess = [], 0.0
    for _ in curves[0]:
        before = {name: state.detach().clone() for name, state in states.items()}
        results = interpret(captured, wide | before, double=True)
        after = _after(step, states, wide)
        reference.append(float(after["loss"]))
        distance = max(_distance(value, after[key]) for key, value in results.items())
        if distance > DOUBLE_LIMIT:
            _restore(twin_states, {name: _nudged(state) for name, state in before.items()})
            nearby = _after(twin, twin_states, wide | {"x": _nudged(wide["x"])})
            own = max(_distance(nearby[key], after[key]) for key in results)
            distance /= max(1.0, AMPLIFIED * own / DOUBLE_LIMIT)
        excess = max(excess, distance)
    if not np.isfinite(reference).all():
        return "the training diverges"
    if excess > DOUBLE_LIMIT:
        return f"in double precision a step of the captured graph is off by {excess:.1e}"
    ours, theirs = max(relative_error(c, reference) for c in curves[:-1]), relative_error(curves[-1], reference)
    return "" if ours <= max(AMPLIFIED * theirs, limit) else f"error {ours:.1e}, eager torch's own {theirs:.1e}"
