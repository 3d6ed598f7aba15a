"""Host arrays to DRAM images and back (backend-movement.md 2.4).

An image is a (4, group_words) array of long words: row g is the block of DRAM group g. Elements travel bit by bit:
16-, 32- and 64-bit types as they are, bool as a 32-bit word 0 or 1, float16 as the chip's 1-6-9 half (other 16-bit
types, such as uint16, carry halves that are already encoded).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pfcomp.errors import SourceError
from pfcomp.layout.half import float16_to_half, half_to_float16
from pfcomp.layout.hostmap import host_map
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Layout

__all__ = ["Converter", "ImageSpec", "converter", "element_bits", "from_image", "to_image"]

_Words = NDArray[np.unsignedinteger[Any]]
_SMALL_ELEMENTS = 1 << 13


def element_bits(dtype: DTypeLike) -> int:
    """Bits of a host type's element in DRAM; SourceError PF0207 for a type without a place there."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return 32
    if kind.kind not in "iuf" or kind.itemsize not in (2, 4, 8):
        raise SourceError("PF0207", f"elements of type {kind} have no form on the device", hint="convert them first")
    return kind.itemsize * 8


class Converter:
    """The conversions of arrays of one shape and type to images of one layout and back; made once, used often."""

    def __init__(self, layout: Layout, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        """Raises SourceError PF0202 to PF0207."""
        self.shape, self.dtype, self.bits = shape, np.dtype(dtype), element_bits(dtype)
        self._plan = host_map(ImageSpec.of(layout, shape, self.bits))
        self._word = np.dtype(f"<u{self.bits // 8}")
        self._first = tuple(region for region in self._plan.regions if region.source is None)
        self.size = self._plan.spec.group_words
        """Long words of the image in each group."""
        self.groups = tuple(sorted({region.group for region in self._first}))
        """The groups that hold the first copies of all elements."""

    def to_image(self, array: NDArray[Any]) -> NDArray[np.uint64]:
        """The image of `array`, (4, size): all copies written, padding zero."""
        words = _carriers(array, self.bits)
        return self._to_image(words) if self._small is None else self._small.to_image(words)

    def from_image(self, rows: Mapping[int, NDArray[np.uint64]]) -> NDArray[Any]:
        """The array that an image holds, read from the first copy of each element; `rows` are those of `groups`."""
        words = [np.ascontiguousarray(rows[group], dtype="<u8").view(self._word) for group in self.groups]
        found = self._from_image(words) if self._small is None else self._small.from_image(words)
        return _decoded(found.reshape(self.shape), self.dtype)

    @cached_property
    def _small(self) -> _Small | None:
        """Tables for the image as a whole, made by converting numbers in place of elements; None for large images."""
        count = 4 * self.size * self._plan.spec.per_word
        if count > _SMALL_ELEMENTS:
            return None
        numbers = np.arange(1, prod(self.shape) + 1).astype(self._word).reshape(self.shape)
        rows = np.arange(len(self.groups) * count // 4).astype(self._word).reshape(len(self.groups), -1)
        elements = self._to_image(numbers).view(self._word).astype(np.intp)
        return _Small(elements, self._from_image(list(rows)).reshape(-1).astype(np.intp))

    def _to_image(self, words: _Words) -> NDArray[np.uint64]:
        plan = self._plan
        source = _padded(words, plan.padded)
        image = np.zeros((4, self.size), dtype="<u8")
        memory = image.view(self._word)
        buffer = np.empty(plan.window, dtype=self._word)
        length = plan.spec.l2bm_words * plan.spec.per_word
        for region in plan.regions:
            target = memory[region.group, region.position : region.position + length]
            if region.source is None:
                for chunk in plan.chunks:
                    part = target[chunk.position : chunk.position + chunk.pattern.size]
                    chunk.pattern.fill(part, source[region.base + chunk.base :], buffer)
            else:
                group, position = region.source
                target[:] = memory[group, position : position + length]
        return image.astype(np.uint64, copy=False)

    def _from_image(self, rows: Sequence[_Words]) -> _Words:
        plan = self._plan
        target = np.empty(prod(plan.padded), dtype=self._word)
        buffer = np.empty(plan.window, dtype=self._word)
        memory = dict(zip(self.groups, rows, strict=True))
        for region in self._first:
            for chunk in plan.chunks:
                start = region.position + chunk.position
                part = memory[region.group][start : start + chunk.pattern.size]
                chunk.pattern.collect(part, target[region.base + chunk.base :], buffer)
        return target if plan.padded == self.shape else _cut(target.reshape(plan.padded), self.shape)


@dataclass(frozen=True, slots=True)
class _Small:
    """Conversion in one step, where a table of the whole image is small.

    `elements` gives for each position of the image (4, ...) the number of its element in the array, from 1 on, 0 for
    padding; `positions` for each element the position of its first copy in the rows of the groups that hold them.
    """

    elements: NDArray[np.intp]
    positions: NDArray[np.intp]

    def to_image(self, words: _Words) -> NDArray[np.uint64]:
        source = np.zeros(words.size + 1, dtype=words.dtype)
        source[1:] = words.reshape(-1)
        return source.take(self.elements).view("<u8").astype(np.uint64, copy=False)

    def from_image(self, rows: Sequence[_Words]) -> _Words:
        memory = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return memory.take(self.positions)


@lru_cache(maxsize=256)
def converter(layout: Layout, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Converter:
    """The converter of arrays of `shape` and `dtype`. Raises SourceError PF0202 to PF0207."""
    return Converter(layout, shape, dtype)


def to_image(array: NDArray[Any], layout: Layout) -> NDArray[np.uint64]:
    """The image of `array`: all copies written, padding zero. Raises SourceError PF0202 to PF0207."""
    return converter(layout, array.shape, array.dtype).to_image(array)


def from_image(image: NDArray[np.uint64], layout: Layout, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """The array of `shape` and `dtype` that `image` (4, group_words) holds, read from the first copy of each element.

    bool means "not zero"; float16 is converted from 1-6-9 halves, beyond its range to infinity. Raises SourceError
    PF0202 to PF0207.
    """
    found = converter(layout, shape, np.dtype(dtype))
    if image.shape != (4, found.size) or image.dtype != np.uint64:
        raise SourceError("PF0207", f"an image of shape {image.shape} is not the expected (4, {found.size})")
    return found.from_image({group: image[group] for group in found.groups})


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


def _cut(padded: _Words, shape: tuple[int, ...]) -> _Words:
    return np.ascontiguousarray(padded[tuple(slice(size) for size in shape)])


def _decoded(words: _Words, dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype == np.bool_:
        return np.asarray(words != 0)
    if dtype == np.float16:
        return half_to_float16(words)
    return words.view(dtype.newbyteorder("<")).astype(dtype, copy=False)
