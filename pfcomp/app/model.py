"""What a GPFNApp holds, as plain values: the writer takes this, the loader returns it, the runtime and dump read it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pfcomp.isa.model import Program
from pfcomp.layout import Layout


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input, output, state or constant tensor in device DRAM.

    `begin` and `end` are the half-open range in long words per group at which the app was linked; a written value
    also reserves up to the next multiple of 64 behind `begin`. `dtype` is the device's element type (Half, Float,
    Double, Int, Long, Bool), `torch_dtype` the host's.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    begin: int
    end: int
    torch_dtype: str = "Float"
    dirty: bool = False
    alias_base: str | None = None
    layout_kind: str = "MNCore"


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor that the loader puts into DRAM: `image[g]` is the block of group g, (4, Z) uint64 long words."""

    info: TensorInfo
    image: NDArray[np.uint64] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A DRAM address in the program: statement `index`, its "source" or "destination", is `tensor`.begin + `offset`."""

    index: int
    operand: str
    tensor: str
    offset: int


@dataclass(frozen=True, slots=True)
class DebugSpan:
    """Statements `begin`..`end` (half open) come from `node`, an `op` on the user's line `source`."""

    begin: int
    end: int
    node: str
    op: str
    source: str


@dataclass(frozen=True, slots=True)
class GPFNApp:
    """A compiled program with everything needed to run it. `statistics` holds counts by name (steps, moves, ...)."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    state: tuple[TensorInfo, ...]
    constants: tuple[Constant, ...]
    program: Program
    relocations: tuple[Relocation, ...]
    debug: tuple[DebugSpan, ...]
    statistics: tuple[tuple[str, int], ...]
    options_digest: str = ""
    producer: str = ""
    target_name: str = "GPFN3"
