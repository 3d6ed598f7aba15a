"""Stage *simulate*: exact steps and estimated cycles of every node, memory use, and a timeline."""

from __future__ import annotations

from pathlib import Path

from pfcomp.artifacts import atomic_write, canonical_json, write_zst
from pfcomp.options import Options
from pfcomp.simulate.report import node_rows, timeline, totals
from pfcomp.simulate.timing import walk
from pfcomp.stages.program import build
from pfcomp.stages.report import StageReport

FILES = ("simulation_result.json.zst", "report.json", "trace.json")


def run(directory: Path, options: Options) -> StageReport:
    """Read the schedule, write the three files."""
    del options  # the schedule has all choices
    built = build(directory)
    program, origins = built.packed.program, built.packed.origins
    timing = walk(program)
    figures = totals(built.packed.stats, timing)
    nodes = node_rows(built.schedule, program, origins, timing)
    write_zst(directory / "simulation_result.json.zst", canonical_json({"totals": figures, "nodes": nodes}))
    atomic_write(directory / "report.json", canonical_json({"totals": figures, "nodes": nodes}, indent=1))
    atomic_write(directory / "trace.json", canonical_json(timeline(program, origins, timing)))
    shown = ("steps", "nops", "moving", "computing", "both", "moves", "cycles", "microseconds")
    return StageReport("simulate", tuple((name, figures[name]) for name in shown), FILES)
