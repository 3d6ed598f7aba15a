"""Everything a chip remembers, as arrays that both engines share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.rows import (
    BAR_ROW,
    ID_ROW,
    L1BS,
    MABS,
    MASK_ROW,
    PES,
    PES_PER_TILE,
    ROWS,
    TILES,
)
from pfcomp.emulator.sparse import DRAM_LW, GROUPS, PDM_LW, SparseMemory, reserve
from pfcomp.isa.model import CYCLES, Place

L1BM_LW = 8192
L2BM_LW = 32768
TURN_LW = 256
DAR_ENTRIES = 1024
DAR_BUFFER = 512
ALL_ONES = 0xFFFF_FFFF_FFFF_FFFF

Words = NDArray[np.uint64]


def _zeros(*shape: int) -> Words:
    return reserve(math.prod(shape)).reshape(shape)


@dataclass(slots=True)
class State:
    """Memories of one chip. All arrays are uint64 long words, lazily backed (`zeros`), except the DAR (uint32).

    mem  [L2B 8][row][PE 512]: all PE memories, see `rows`; PE index = 64·L1B + 4·MAB + PE
    l1bm [L2B 8][L1B 8][8192], turn [L2B 8][L1B 8][256] (turnaround registers), l2bm [L2B 8][32768]
    dar  [group 4][1024], dar_buffer [group 4][512]; `dar_next` counts the entries that `l2bmdarw` has copied
    """

    mem: Words = field(default_factory=lambda: _zeros(TILES, ROWS, PES_PER_TILE))
    l1bm: Words = field(default_factory=lambda: _zeros(TILES, L1BS, L1BM_LW))
    turn: Words = field(default_factory=lambda: _zeros(TILES, L1BS, TURN_LW))
    l2bm: Words = field(default_factory=lambda: _zeros(TILES, L2BM_LW))
    dar: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((GROUPS, DAR_ENTRIES), np.uint32))
    dar_buffer: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((GROUPS, DAR_BUFFER), np.uint32))
    dar_next: int = 0
    dar_base: int = 0
    dram: SparseMemory = field(default_factory=lambda: SparseMemory("DRAM", DRAM_LW))
    pdm: SparseMemory = field(default_factory=lambda: SparseMemory("PDM", PDM_LW))

    def __post_init__(self) -> None:
        self.mem[:, MASK_ROW : MASK_ROW + CYCLES] = ALL_ONES  # entry 0 writes everything
        self._fill_ids()

    def _fill_ids(self) -> None:
        pe = np.arange(PES_PER_TILE, dtype=np.uint64)
        in_l1b = pe % np.uint64(MABS * PES)
        ids = (None, pe // np.uint64(MABS * PES), in_l1b // np.uint64(PES), in_l1b, pe % np.uint64(PES))
        for index, value in enumerate(ids):
            wide = np.arange(TILES, dtype=np.uint64)[:, None] if value is None else value
            for form, spread in enumerate((1, 0x1_0000_0001, 0x1_0001_0001_0001)):
                self.mem[:, ID_ROW + 3 * index + form] = wide * np.uint64(spread)
        for form, sign in enumerate((1 << 63, 0x8000_0000_8000_0000, 0x8000_8000_8000_8000)):
            self.mem[:, ID_ROW + 3 * 5 + form] = sign

    def bar_in_use(self) -> tuple[bool, bool]:
        """Whether any PE has a non-zero base address for LM0 and for LM1."""
        rows = (BAR_ROW[Place.BAR0], BAR_ROW[Place.BAR1])
        return bool(self.mem[:, rows[0]].any()), bool(self.mem[:, rows[1]].any())
