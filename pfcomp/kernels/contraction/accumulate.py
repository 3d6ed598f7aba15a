"""The multiplications: tiles in the matrix registers, vectors streamed through them, sums in registers.

Vectors of the streamed operand are normalised once per block of tiles. Tiles go to the two matrix registers in turn,
so that the packer can write one while the other multiplies (backend-kernels.md 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels.contraction.access import reads
from pfcomp.kernels.contraction.deliver import Sink
from pfcomp.kernels.contraction.loops import Batch, Chunk, Column, Loops, Tile
from pfcomp.kernels.contraction.modes import Mode

MOST_SUMS = 32
"""Accumulators that a block keeps: a quarter of the register files, or half of them where they are wide."""
MOST_GROUPS = 16
"""Column groups of a block: longer ones would only hold more normalised vectors."""

Four = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Tiles and column groups whose sums are formed together."""

    tiles: Sequence[Tile]
    groups: Sequence[Four]


def blocks(tiles: Sequence[Tile], groups: Sequence[Four]) -> Iterator[Block]:
    """All pairs of tiles and column groups, in even blocks of at most MOST_SUMS."""
    height, width = block_shape(len(tiles), len(groups))
    for row in range(0, len(tiles), height):
        for column in range(0, len(groups), width):
            yield Block(tiles[row : row + height], groups[column : column + width])


def block_shape(tiles: int, groups: int) -> tuple[int, int]:
    """Tiles and column groups of a block."""
    width = _even(groups, MOST_GROUPS)
    return _even(tiles, MOST_SUMS // width), width


def _even(count: int, most: int) -> int:
    """The size of the fewest equal parts of `count` that are at most `most`."""
    parts = -(-count // most)
    return -(-count // parts)


class Accumulator:
    """Emits the multiplications of one job."""

    def __init__(self, builder: Builder, mode: Mode, stationary: MNValue, streamed: MNValue) -> None:
        self.builder, self.mode = builder, mode
        self.stationary, self.streamed = stationary, streamed
        self.registers = cycle("xy")

    def run(self, loops: Loops, sink: Sink) -> None:
        """All products, delivered block by block."""
        groups = sink.fours(loops.columns)
        for batch in loops.batches:
            for block in blocks(loops.tiles, groups):
                self._block(batch, block, loops.chunks, sink)
        sink.finish()

    def _block(self, batch: Batch, block: Block, chunks: Sequence[Chunk], sink: Sink) -> None:
        sums: dict[tuple[int, int], Virtual] = {}
        passes = [(chunk, word) for chunk in chunks for word in self.mode.words]
        for number, (chunk, word) in enumerate(passes):
            vectors = [self._vector(batch, chunk, word, group) for group in block.groups]
            for t, tile in enumerate(block.tiles):
                register = self._load(batch, chunk, word, tile)
                for g, vector in enumerate(vectors):
                    last = self._halfway(register, vector, sums.get((t, g)))
                    if number + 1 < len(passes):
                        sums[t, g] = last.emit(None)
                    else:
                        spots = [batch.spot + tile.spot + column.spot for column in block.groups[g]]
                        sink.take(spots, last.emit)

    def _vector(self, batch: Batch, chunk: Chunk, word: int | None, group: Four) -> Virtual:
        """Four normalised vectors of the streamed operand."""
        start = (self.streamed.address or 0) + batch.streamed + chunk.streamed
        a, b, c, d = (start + column.address for column in group)
        return self.builder.op(self.mode.normalise, reads(self.streamed.location, (a, b, c, d), self.mode, word))

    def _load(self, batch: Batch, chunk: Chunk, word: int | None, tile: Tile) -> str:
        """Normalise a tile into the next matrix register; returns the register."""
        register = f"$l{next(self.registers)}"
        start = (self.stationary.address or 0) + batch.stationary + chunk.stationary
        for row in range(0, self.mode.rows, 4):
            a, b, c, d = (start + address for address in tile.rows[row : row + 4])
            source = reads(self.stationary.location, (a, b, c, d), self.mode, word)
            self.builder.op(self.mode.write, self.builder.op(self.mode.normalise, source), to=f"{register}{row}")
        return register

    def _halfway(self, register: str, vector: Virtual, total: Virtual | None) -> _Last:
        """All operations of a product but the last one, which may have a destination."""
        names = self.mode.mul if total is None else self.mode.fma
        for name in names[:-1]:
            total = self.builder.op(name, register, vector, *([] if total is None else [total]))
        return _Last(self.builder, names[-1], register, vector, total)


@dataclass(frozen=True, slots=True)
class _Last:
    builder: Builder
    name: str
    register: str
    vector: Virtual
    total: Virtual | None

    def emit(self, to: Operand | None) -> Virtual:
        """Emit the last operation of a product."""
        terms = [] if self.total is None else [self.total]
        return self.builder.op(self.name, self.register, self.vector, *terms, to=to)
