"""The step packer: kernels emit micro-operations with sequential meaning, `pack` makes VLIW steps of them."""

from __future__ import annotations

from .builder import Builder
from .micro import MicroMove, MicroOp, MicroProgram, NodeInfo, Virtual, narrowed, neg, widened
from .packer import Packed, PackOptions, pack
from .serial import serialize
from .stats import Stats, program_stats

__all__ = [
    "Builder",
    "MicroMove",
    "MicroOp",
    "MicroProgram",
    "NodeInfo",
    "PackOptions",
    "Packed",
    "Stats",
    "Virtual",
    "narrowed",
    "neg",
    "pack",
    "program_stats",
    "serialize",
    "widened",
]
