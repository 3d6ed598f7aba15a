"""ATen operators as ONNX nodes: one table, filled by small modules, one for each family of operators."""

from __future__ import annotations

from pfcomp.frontend.lower import (
    activations,
    convolutions,
    creation,
    elementwise,
    indexing,
    matrix,
    normalise,
    reductions,
    resize,
    scatter,
    views,
)
from pfcomp.frontend.lower.builder import Builder
from pfcomp.frontend.lower.table import LOWERINGS

_FAMILIES = (
    *(activations, convolutions, creation, elementwise, indexing, matrix),
    *(normalise, reductions, resize, scatter, views),
)

__all__ = ["LOWERINGS", "Builder"]
