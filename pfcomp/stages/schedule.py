"""Stage *schedule*: from the compiled ONNX to dtypes, layouts, locations, order and addresses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pfcomp.artifacts import atomic_write, canonical_json, read_zst, write_zst
from pfcomp.errors import ArtifactError, SourceError
from pfcomp.ir.model import Location, MNGraph, MNValue
from pfcomp.ir.text import graph_text
from pfcomp.isa.pack import pack
from pfcomp.options import Options
from pfcomp.plan import store
from pfcomp.plan.model import Schedule
from pfcomp.plan.planner import plans
from pfcomp.plan.program import emit
from pfcomp.plan.source_graph import SourceGraph, read_model
from pfcomp.stages.report import StageReport

SCHEDULE = "schedule.json.zst"
LMS = (Location.LM0, Location.LM1)
BUILT = {"best": 4, "full": 16}
"""Plans whose programs are built to be compared, by the option simulation_mode; in other modes the first is taken."""
FILES = ("l3ir.txt", "l3ir_stripped.onnx", "layout.json", SCHEDULE)


def run(directory: Path, options: Options) -> StageReport:
    """Read `model.onnx.zst`, plan it, write the schedule. Raises UnsupportedError with every reason at once."""
    from pfcomp.ir.to_onnx import stripped_model

    most = BUILT.get(options.text("simulation_mode"), 1)
    schedule = fewest_steps(plans(load_source(directory), options, most))
    graph = schedule.graph
    atomic_write(directory / "l3ir.txt", graph_text(graph).encode())
    stripped = stripped_model(graph).SerializeToString(deterministic=True)
    atomic_write(directory / "l3ir_stripped.onnx", stripped)
    atomic_write(directory / "layout.json", canonical_json(_layouts(graph), indent=1))
    write_zst(directory / SCHEDULE, canonical_json(store.to_json(schedule)))
    return StageReport("schedule", _figures(schedule), FILES)


def fewest_steps(schedules: Sequence[Schedule]) -> Schedule:
    """The schedule with the fewest steps, the first of them; builds programs where there is a choice."""
    if len(schedules) == 1:
        return schedules[0]
    return min(schedules, key=lambda schedule: pack(emit(schedule).micro).program.steps)


def load_source(directory: Path) -> SourceGraph:
    """The compiled ONNX of a codegen_dir as the planner sees it."""
    from pfcomp.pfvm.models import read_proto, to_ir

    path = directory / "model.onnx.zst"
    try:
        return read_model(to_ir(read_proto(path), path.name))
    except SourceError as error:
        raise ArtifactError("PF0408", error.what, where=path.name, hint="compile again") from error


def load_schedule(directory: Path) -> Schedule:
    """The schedule of a codegen_dir; raises ArtifactError PF0408 if the file is not one."""
    path = directory / SCHEDULE
    try:
        data = json.loads(read_zst(path))
    except ValueError as error:
        raise ArtifactError("PF0408", f"not a schedule ({error})", where=path.name, hint="compile again") from error
    return store.from_json(data, path.name)


def _layouts(graph: MNGraph) -> dict[str, dict[str, str]]:
    return {name: {"layout": str(v.layout), "location": v.location.value} for name, v in graph.values.items()}


def _figures(schedule: Schedule) -> tuple[tuple[str, int | float | str], ...]:
    graph = schedule.graph
    peak = {lm: max((_end(v) for v in graph.values.values() if v.location is lm), default=0) for lm in LMS}
    words = sum(v.size for v in graph.values.values() if v.location is Location.DRAM)
    slices = max((len(r.blocks) for r in schedule.regions), default=0)
    return (
        ("nodes", len(graph.nodes)),
        ("regions", len(schedule.regions)),
        ("slices", slices),
        ("peak LM0 words", peak[Location.LM0]),
        ("peak LM1 words", peak[Location.LM1]),
        ("DRAM words per group", words),
    )


def _end(value: MNValue) -> int:
    return (value.address or 0) + value.size
