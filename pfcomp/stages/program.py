"""The packed program of a schedule, shared by the stages *simulate* and *codegen* of one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pfcomp.artifacts import read_zst, sha256
from pfcomp.isa.pack import Packed, pack
from pfcomp.kernels.transfer import DramMove
from pfcomp.plan.model import Schedule
from pfcomp.plan.program import emit
from pfcomp.stages.schedule import SCHEDULE, load_schedule


@dataclass(frozen=True, slots=True)
class Built:
    """A schedule, its packed and checked program, and the DRAM accesses of the emitted MVs."""

    schedule: Schedule
    packed: Packed
    moves: Mapping[int, DramMove]


def build(directory: Path) -> Built:
    """Emit and pack the schedule of a codegen_dir; deterministic, so simulated steps are the app's steps."""
    return _build(directory, sha256(read_zst(directory / SCHEDULE)))


@lru_cache(maxsize=1)
def _build(directory: Path, _content: str) -> Built:
    schedule = load_schedule(directory)
    emitted = emit(schedule)
    return Built(schedule, pack(emitted.micro), emitted.moves)
