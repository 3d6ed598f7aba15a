"""Layout algebra: where each element of a tensor lies on the chip and in DRAM (docs/layout.md)."""

from pfcomp.layout.broadcast import address_map, aligned, broadcast_operand
from pfcomp.layout.canonical import canonical, same
from pfcomp.layout.extents import (
    copy_levels,
    copy_offsets,
    extent,
    extents,
    free_bits,
    padded_shape,
    padding,
    used_bits,
    with_broadcast,
)
from pfcomp.layout.model import LEVEL_EXTENTS, SPATIAL_LEVELS, Broadcast, Layout, Level, PadLayout, Subaxis
from pfcomp.layout.places import Place, coordinates, element_at, element_map, place_of, places
from pfcomp.layout.verify import dense, verify
from pfcomp.layout.views import SliceView, reshape, slice_axis, transpose

__all__ = [
    "LEVEL_EXTENTS",
    "SPATIAL_LEVELS",
    "Broadcast",
    "Layout",
    "Level",
    "PadLayout",
    "Place",
    "SliceView",
    "Subaxis",
    "address_map",
    "aligned",
    "broadcast_operand",
    "canonical",
    "coordinates",
    "copy_levels",
    "copy_offsets",
    "dense",
    "element_at",
    "element_map",
    "extent",
    "extents",
    "free_bits",
    "padded_shape",
    "padding",
    "place_of",
    "places",
    "reshape",
    "same",
    "slice_axis",
    "transpose",
    "used_bits",
    "verify",
    "with_broadcast",
]
