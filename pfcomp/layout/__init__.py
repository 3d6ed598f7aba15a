"""Layout algebra: where each element of a tensor lies on the chip and in DRAM (docs/layout.md)."""

from pfcomp.layout.model import LEVEL_EXTENTS, SPATIAL_LEVELS, Broadcast, Layout, Level, PadLayout, Subaxis

__all__ = ["LEVEL_EXTENTS", "SPATIAL_LEVELS", "Broadcast", "Layout", "Level", "PadLayout", "Subaxis"]
