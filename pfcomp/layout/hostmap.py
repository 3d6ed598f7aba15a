"""Index tables between a row-major host array and the DRAM image, built once per layout, shape and element size.

Every level of a layout adds its own part to an element's offset in the (padded) array, so one small table per level
says what a coordinate adds. A *chunk* covers adjacent addresses of one L2B's region; its long words are adjacent in
DRAM. Chunks whose addresses follow the same pattern share one index table and differ in a base offset only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout.extents import digits_of, level_extent, padded_shape, used_bits
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Layout, Level
from pfcomp.layout.pattern import Offsets as _Offsets
from pfcomp.layout.pattern import Pattern

_CHUNK_BYTES = 1 << 17  # a chunk, its window and their tables fit a second-level cache
_KEPT_PATTERNS = 8
_INSIDE = (Level.MAB, Level.PE, Level.L1B)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Elements of a region: `position` is the place of the first one in the region, `base` an array offset."""

    position: int
    base: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Region:
    """A time slice of one L2B in one group's block: `position` in elements, `base` an array offset.

    `source` is the (group, position) of an earlier region with the same content, if there is one.
    """

    group: int
    position: int
    base: int
    source: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class HostMap:
    """All chunks and regions of an image; offsets are in elements of the padded array `padded`."""

    spec: ImageSpec
    padded: tuple[int, ...]
    chunks: tuple[Chunk, ...]
    regions: tuple[Region, ...]

    @property
    def window(self) -> int:
        """Elements of the largest window that is brought together in a buffer."""
        return max((chunk.pattern.span for chunk in self.chunks if chunk.pattern.lines is not None), default=0)


@lru_cache(maxsize=32)
def host_map(spec: ImageSpec) -> HostMap:
    """The tables for `spec`; they are cached because programs convert the same few tensors again and again."""
    return HostMap(spec, padded_shape(spec.layout), tuple(_Chunker(spec).chunks()), tuple(_regions(spec)))


def level_table(layout: Layout, level: Level, count: int) -> _Offsets:
    """What each of `count` coordinates of `level` adds to an element's array offset; -1 where no digit leads."""
    coordinates, offsets = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    row = 1
    for axis in reversed(layout.axes):
        for sub in reversed(axis):
            if sub.level is level and sub.size > 1:
                digit = np.arange(sub.size, dtype=np.int64)
                coordinates = np.add.outer(digit * sub.stride, coordinates).reshape(-1)
                offsets = np.add.outer(digit * row, offsets).reshape(-1)
            row *= sub.size
    table = np.full(count, -1, dtype=np.int64)
    table[coordinates] = offsets
    return table


def _spread(layout: Layout, level: Level, table: _Offsets) -> _Offsets:
    """The table of a spatial level with the offsets of all copies filled in."""
    spread: _Offsets = table[np.arange(len(table)) & used_bits(layout, level)]
    return spread


def _regions(spec: ImageSpec) -> Iterator[Region]:
    layout, per = spec.layout, spec.per_word
    first = level_table(layout, Level.L2B, Level.L2B.extent)
    copies = _spread(layout, Level.L2B, first)
    for time, start in enumerate(level_table(layout, Level.TIME, spec.times)):
        seen: dict[int, tuple[int, int]] = {}
        for l2b in range(Level.L2B.extent):
            group, half = divmod(l2b, 2)
            if start < 0 or copies[l2b] < 0 or (half and not spec.l2b_split):
                continue
            base = int(start + copies[l2b])
            position = (time * spec.slice_words + half * spec.region_words) * per
            yield Region(group, position, base, seen.get(base))
            seen.setdefault(base, (group, position))


@dataclass(slots=True)
class _Chunker:
    """Cuts a region into chunks and keeps the patterns that occur again."""

    spec: ImageSpec
    addr: _Offsets = field(init=False)
    first: dict[Level, _Offsets] = field(init=False)
    patterns: dict[bytes, Pattern] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        layout = self.spec.layout
        self.addr = level_table(layout, Level.ADDR, self.spec.addresses)
        levels = (*_INSIDE, Level.W)
        self.first = {level: level_table(layout, level, level_extent(level, self.spec.bits)) for level in levels}

    def chunks(self) -> Iterator[Chunk]:
        width = self.spec.mab_count * self.spec.pe_count * self.spec.l1b_count * self.spec.per_word
        for start, stop in _address_ranges(self.spec, max(1, _CHUNK_BYTES * 8 // self.spec.bits // width)):
            part = self.addr[start:stop]
            if part.max() >= 0:
                base = int(part[part >= 0].min())
                yield Chunk(start * width, base, self._pattern(np.where(part >= 0, part - base, -1)))

    def _pattern(self, part: _Offsets) -> Pattern:
        key = part.tobytes()
        found = self.patterns.get(key)
        if found is None:
            if len(self.patterns) == _KEPT_PATTERNS:
                self.patterns.clear()
            found = self.patterns[key] = self._build(part)
        return found

    def _build(self, part: _Offsets) -> Pattern:
        copies = {level: _spread(self.spec.layout, level, table) for level, table in self.first.items()}
        index, valid = self._offsets(part, copies)
        own = self._offsets(part, self.first)[1]
        return Pattern.of(index, valid, own, self.spec.bits // 8)

    def _offsets(self, part: _Offsets, tables: dict[Level, _Offsets]) -> tuple[_Offsets, NDArray[np.bool_]]:
        """Array offsets of a chunk's elements in the order of memory (W counts from the top), and which exist."""
        granule = _granule(self.spec)
        rows = np.concatenate([part, np.full(-len(part) % granule, -1, dtype=np.int64)])
        words = len(rows) * self.spec.mab_count * self.spec.pe_count * self.spec.l1b_count
        addr, *inside = self.spec.coordinates(np.arange(words, dtype=np.int64))
        offsets, valid = rows[addr], rows[addr] >= 0
        for level, coordinate in zip(_INSIDE, inside, strict=True):
            more = tables[level][coordinate]
            offsets, valid = offsets + more, valid & (more >= 0)
        within = tables[Level.W][::-1]
        index = np.where(valid[:, None] & (within >= 0), offsets[:, None] + within, 0).reshape(-1)
        return index, (valid[:, None] & (within >= 0)).reshape(-1)


def _granule(spec: ImageSpec) -> int:
    """How many addresses share the rows of L2BM: chunks begin at multiples of it."""
    return max(1, spec.l1b_run // (spec.mab_count * spec.pe_count)) if spec.l1b_bits else 1


def _address_ranges(spec: ImageSpec, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of about `limit` addresses; none crosses the period of a slow digit, so that few patterns arise."""
    granule = _granule(spec)
    period = step = spec.addresses
    for sub in sorted(digits_of(spec.layout, Level.ADDR), key=lambda sub: sub.stride):
        if sub.stride * sub.size > limit:
            period, step = sub.stride * sub.size, limit // sub.stride * sub.stride or limit
            break
    step = max(granule, step // granule * granule)
    if period % granule:
        period = spec.addresses
    for start in range(0, spec.addresses, period):
        stop = min(start + period, spec.addresses)
        yield from ((first, min(first + step, stop)) for first in range(start, stop, step))
