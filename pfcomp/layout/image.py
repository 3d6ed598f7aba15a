"""Host arrays to DRAM images and back (backend-movement.md 2.4).

An image is a (4, group_words) array of long words: row g is the block of DRAM group g. Elements travel bit by bit:
16-, 32- and 64-bit types as they are, bool as a 32-bit word 0 or 1, float16 as the chip's 1-6-9 half (other 16-bit
types, such as uint16, carry halves that are already encoded).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pfcomp.errors import SourceError
from pfcomp.layout.half import float16_to_half, half_to_float16
from pfcomp.layout.hostmap import Chunk, HostMap, Region, host_map
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Layout

__all__ = ["ImageSpec", "element_bits", "from_image", "to_image"]

_Words = NDArray[np.unsignedinteger[Any]]


def element_bits(dtype: DTypeLike) -> int:
    """Bits of a host type's element in DRAM; SourceError PF0207 for a type without a place there."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return 32
    if kind.kind not in "iuf" or kind.itemsize not in (2, 4, 8):
        raise SourceError("PF0207", f"elements of type {kind} have no form on the device", hint="convert them first")
    return kind.itemsize * 8


def to_image(array: NDArray[Any], layout: Layout) -> NDArray[np.uint64]:
    """The image of `array`: all copies written, padding zero. Raises SourceError PF0202 to PF0207."""
    bits = element_bits(array.dtype)
    plan = host_map(ImageSpec.of(layout, array.shape, bits))
    source = _padded(_carriers(array, bits), plan.padded)
    image = np.zeros((4, plan.spec.group_words), dtype="<u8")
    memory = image.view(f"<u{bits // 8}")
    length = plan.spec.l2bm_words * plan.spec.per_word
    for region in plan.regions:
        target = memory[region.group, region.position : region.position + length]
        if region.source is None:
            for chunk in plan.chunks:
                _fill(target, source[region.base + chunk.base :], chunk)
        else:
            group, position = region.source
            target[:] = memory[group, position : position + length]
    return image.astype(np.uint64, copy=False)


def from_image(image: NDArray[np.uint64], layout: Layout, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """The array of `shape` and `dtype` that `image` (4, group_words) holds, read from the first copy of each element.

    bool means "not zero"; float16 is converted from 1-6-9 halves, beyond its range to infinity. Raises SourceError
    PF0202 to PF0207.
    """
    bits = element_bits(dtype)
    plan = host_map(ImageSpec.of(layout, shape, bits))
    if image.shape != (4, plan.spec.group_words) or image.dtype != np.uint64:
        raise SourceError("PF0207", f"an image of shape {image.shape} is not the expected (4, {plan.spec.group_words})")
    memory = np.ascontiguousarray(image, dtype="<u8").view(f"<u{bits // 8}")
    target = np.empty(prod(plan.padded), dtype=memory.dtype)
    for region in _first_regions(plan):
        for chunk in plan.chunks:
            _collect(target[region.base + chunk.base :], memory[region.group, region.position :], chunk)
    cut = target.reshape(plan.padded)[tuple(slice(size) for size in shape)]
    return _decoded(np.ascontiguousarray(cut).reshape(shape), np.dtype(dtype))


def _first_regions(plan: HostMap) -> list[Region]:
    return [region for region in plan.regions if region.source is None]


def _fill(target: _Words, source: _Words, chunk: Chunk) -> None:
    """Gather a chunk's elements; `mode="clip"` lets numpy write straight into the image (the indices are in range)."""
    pattern = chunk.pattern
    part = target[chunk.position : chunk.position + len(pattern.index)]
    np.take(source, pattern.index, out=part, mode="clip")
    if pattern.empty is not None:
        part[pattern.empty] = 0


def _collect(target: _Words, memory: _Words, chunk: Chunk) -> None:
    """Scatter the first copies of a chunk's elements."""
    pattern = chunk.pattern
    part = memory[chunk.position : chunk.position + len(pattern.index)]
    target[pattern.targets] = part if pattern.first is None else part[pattern.first]


def _carriers(array: NDArray[Any], bits: int) -> _Words:
    """The elements as unsigned integers of `bits` bits, row-major and little-endian."""
    if array.dtype == np.float16:
        array = float16_to_half(array.astype(np.float16, copy=False))
    elif array.dtype == np.bool_:
        array = array.astype(np.uint32)
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return np.ascontiguousarray(little).view(f"<u{bits // 8}").reshape(array.shape)


def _padded(words: _Words, padded: tuple[int, ...]) -> _Words:
    """The elements in a flat array of the padded shape; what is added is zero."""
    if words.shape == padded:
        return words.reshape(-1)
    larger = np.zeros(padded, dtype=words.dtype)
    larger[tuple(slice(size) for size in words.shape)] = words
    return larger.reshape(-1)


def _decoded(words: _Words, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype == np.bool_:
        return np.asarray(words != 0)
    if dtype == np.float16:
        return half_to_float16(words)
    return words.view(dtype.newbyteorder("<")).astype(dtype, copy=False)
