"""The table of decompositions: ours first, then torch's for whatever has no lowering."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pfcomp.frontend.lower import LOWERINGS

OURS: dict[Any, Callable[..., Any]] = {}
"""Our decompositions by operator overload; entries win over lowerings."""


def decomposes(*overloads: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function over tensors as the decomposition of the given overloads."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        OURS.update(dict.fromkeys(overloads, function))
        return function

    return enter


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """Operator overload -> function over tensors, for make_fx."""
    from pfcomp.frontend.decompositions import (  # noqa: F401 (fill OURS)
        convolution,
        losses,
        orders,
        pointwise,
        pooling,
        scattering,
        separable,
        training,
    )

    torch_table: dict[Any, Callable[..., Any]] = torch._decomp.decomposition_table
    kept = {op: function for op, function in torch_table.items() if str(op) not in LOWERINGS}
    return kept | OURS
