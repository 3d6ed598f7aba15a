"""The table of lowerings, and how a module enters its functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Lowering = Callable[..., Any]
"""`(builder, node, *arguments, **keywords)`: arguments with values for references; returns one value or a list."""

LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a function for the given ATen overloads; a name without a namespace is `aten.<name>`."""

    def enter(function: Lowering) -> Lowering:
        for name in names:
            full = name if name.startswith(("aten.", "prims.", "pfcomp.")) else f"aten.{name}"
            if full in LOWERINGS:
                raise KeyError(f"{full} is lowered twice")
            LOWERINGS[full] = function
        return function

    return enter
