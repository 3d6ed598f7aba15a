"""The five stages as a table: what each reads and writes in a codegen_dir (design.md 5)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pfcomp.errors import UsageError
from pfcomp.options import STAGES, Options, Stage
from pfcomp.stages.report import StageReport

Run = Callable[[Path, Options], StageReport]

CAPTURED = "captured.json.zst"
SOURCE_MODEL = "source.onnx.zst"  # a user's own ONNX model, in place of a captured graph
SOURCE_DATA = "source.onnx.data"  # its weights, where they do not fit into one ONNX message
MODEL = "model.onnx.zst"
DATA = "model.onnx.data"
SCHEDULE = "schedule.json.zst"


@dataclass(frozen=True, slots=True)
class StageInfo:
    """A stage: the files it reads, in place of the first one the `alternative` if only that exists, and writes."""

    name: Stage
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Run
    alternative: str = ""

    def reads(self, directory: Path) -> tuple[str, ...]:
        """The names of the files it reads in this folder."""
        first, *rest = self.inputs or ("",)
        if self.alternative and not (directory / first).exists() and (directory / self.alternative).exists():
            return (self.alternative, *rest)
        return self.inputs


def _lazy(module: str) -> Run:
    """Runs `pfcomp.stages.<module>`; imported at the first use because stages import torch and onnx."""

    def run(directory: Path, options: Options) -> StageReport:
        stage = importlib.import_module(f"pfcomp.stages.{module}")
        return cast(StageReport, stage.run(directory, options))

    return run


TABLE: dict[Stage, StageInfo] = {
    row.name: row
    for row in (
        StageInfo("trace", (), ("trace.txt", CAPTURED), _lazy("trace")),
        StageInfo("onnx", (CAPTURED,), (MODEL,), _lazy("onnx"), SOURCE_MODEL),
        StageInfo("schedule", (MODEL,), ("l3ir.txt", "l3ir_stripped.onnx", "layout.json", SCHEDULE), _lazy("schedule")),
        StageInfo(
            "simulate", (SCHEDULE,), ("simulation_result.json.zst", "report.json", "trace.json"), _lazy("simulate")
        ),
        StageInfo("codegen", (SCHEDULE, MODEL), ("model.vsm.zst", "model.app"), _lazy("codegen")),
    )
}

FILES: tuple[str, ...] = (SOURCE_MODEL, SOURCE_DATA, DATA, *(name for row in TABLE.values() for name in row.outputs))
"""Every file that a stage may leave in a codegen_dir; the manifest comes on top."""


def stage_range(start: str | None, stop: str | None, first: Stage = "trace") -> tuple[Stage, ...]:
    """The stages `start` (default `first`) to `stop` (default codegen); raises UsageError PF0801."""
    begin, end = _index(start or first), _index(stop or STAGES[-1])
    if begin > end:
        raise UsageError("PF0801", f"stage {start} comes after {stop}", hint=f"stages: {', '.join(STAGES)}")
    return STAGES[begin : end + 1]


def _index(stage: str) -> int:
    if stage not in STAGES:
        raise UsageError("PF0801", f"there is no stage {stage!r}", hint=f"stages: {', '.join(STAGES)}")
    return STAGES.index(stage)
