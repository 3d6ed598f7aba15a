"""Brings the chunks of an image up and down again, and finds its long words in L1BM while programs are emitted."""

from __future__ import annotations

from collections.abc import Callable

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Address, Move, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.gather.image import L1BS, L2BM_ROW, L2BS, Image, Join

DOWN_WORDS = {Join.KEPT: 32, Join.MIXED: 64, Join.ROWS: 64}
"""Long words of the image that one L2BM step brings to an L1BM."""


class Stream:
    """The image of one source; `loaded` is called with the number of each chunk that has arrived."""

    def __init__(self, context: KernelContext, image: Image, source: MNValue, loaded: Callable[[int], None]) -> None:
        self.context, self.image, self.source, self.loaded = context, image, source, loaded
        self.chunk = -1
        self.base = 0  # of the chunk in L1BM (LOCAL) or L2BM
        self.row, self.row_base = -1, 0

    def find(self, start: int, size: int) -> int:
        """L1BM address of the long words `start`.. of the image; `size` is a power of two and divides `start`."""
        chunk, offset = divmod(start, self.image.stride)
        if chunk != self.chunk:
            self.load(chunk)
        if self.image.join is Join.LOCAL:
            return self.base + offset
        row = DOWN_WORDS[self.image.join]
        if size <= row:
            if start // row != self.row:
                self.row = start // row
                self.row_base = self.context.rings.l1bm.take(row, L2BM_ROW)
                self._down(offset // row, self.row_base)
            return self.row_base + offset % row
        base = self.context.rings.l1bm.take(size, L2BM_ROW)
        limit = self.image.words(len(self.image.raised(chunk)))
        for word in range(offset, min(offset + size, limit), row):
            self._down(word // row, base + word - offset)
        return base

    def load(self, chunk: int) -> None:
        """Bring a chunk up, and to all L2Bs if L2Bs are crossed."""
        self.chunk, self.row = chunk, -1
        addresses = self.image.raised(chunk).tolist()
        self.base = self._up(addresses)
        if self.image.join is not Join.LOCAL:
            self.base = self._join(self.base, len(addresses))
        if self.image.l2bs:
            self.base = self._exchange(self.base, len(addresses))
        self.loaded(chunk)

    def _up(self, addresses: list[int]) -> int:
        name, step = ("l1bmd", 4 * L2BM_ROW) if self.image.row == L2BM_ROW else ("l1bmm@0", 16)
        steps = -(-len(addresses) // 4)
        base = self.context.rings.l1bm.take(max(steps * step, self.image.l1bm_words(len(addresses))), L2BM_ROW)
        for number in range(steps):
            four = [(self.source.address or 0) + a for a in addresses[4 * number : 4 * number + 4]]
            vector = operands.vector(self.source.location, four)
            self.context.builder.op(name, vector, to=operands.l1bm(base + number * step))
        return base

    def _join(self, l1bm: int, addresses: int) -> int:
        """L1BM to the L2BM of the same L2B."""
        words = self.image.l1bm_words(addresses)
        l2bm = self.context.rings.l2bm.take(self.image.l2bm_words(addresses), L2BM_ROW)
        op = self.context.builder.op
        if self.image.join is Join.ROWS:
            count = len(self.image.l1bs)
            for row in range(words // L2BM_ROW):
                for number, l1b in enumerate(self.image.l1bs):
                    to = operands.l2bm(l2bm + L2BM_ROW * (row * count + number))
                    op(f"l2bm@{l1b}", operands.l1bm(l1bm + L2BM_ROW * row), to=to)
            return l2bm
        for word in range(0, words, L2BM_ROW // 2):
            op("l2bmd", operands.l1bm(l1bm + word), to=operands.l2bm(l2bm + L1BS * word))
        return l2bm

    def _exchange(self, l2bm: int, addresses: int) -> int:
        """The L2BM of the own L2B to all L2BMs, through the PDM of group 0."""
        own = self.image.l2bm_words(addresses)
        size = len(self.image.l2bs) * own
        move = self.context.builder.move
        if self.image.spread:
            move(Move("d", size, operands.l2bm_of(l2bm, None), _pdm(0)))
        else:
            for number, l2b in enumerate(self.image.l2bs):
                group, half = divmod(l2b, L2BS // 4)
                chip = Operand(Place.L2BM, 2, Address(l2bm), group=group, l2b=half)
                move(Move("p", own, chip, _pdm(number * own)))
        whole = self.context.rings.l2bm.take(size, L2BM_ROW)
        move(Move("b", size, _pdm(0), operands.l2bm_of(whole, None)))
        return whole

    def _down(self, row: int, l1bm: int) -> None:
        """Row `row` of the chunk to the L1BMs."""
        name, words = ("l2bmd", L1BS * L2BM_ROW // 2) if self.image.join is Join.KEPT else ("l2bmb", L2BM_ROW)
        self.context.builder.op(name, operands.l2bm(self.base + words * row), to=operands.l1bm(l1bm))


def _pdm(address: int) -> Operand:
    return Operand(Place.PDM, 2, Address(address), group=0)
