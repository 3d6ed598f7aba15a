"""`pfcomp trace|onnx|schedule|simulate|codegen DIR`: one stage in a codegen_dir."""

from __future__ import annotations

from pathlib import Path

import click

from pfcomp.cli.compile import common_flags
from pfcomp.cli.show import Display
from pfcomp.options import Stage, parse_assignments
from pfcomp.stages.pipeline import run_stages

_MEANINGS: dict[Stage, str] = {
    "trace": "Check the captured form in DIR and write its text.",
    "onnx": "Compile the captured graph in DIR to ONNX.",
    "schedule": "Choose layouts, locations, order and addresses for the ONNX in DIR.",
    "simulate": "Count steps and estimate cycles of the schedule in DIR.",
    "codegen": "Write assembly and app for the schedule in DIR.",
}


def _command(stage: Stage) -> click.Command:
    @click.command(stage, help=f"{_MEANINGS[stage]} A stage that is fresh is skipped.")
    @click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
    @common_flags
    def run(
        directory: Path,
        option_json: str | None,
        assignments: tuple[str, ...],
        quiet: bool,
        as_json: bool,
        debug: bool,
    ) -> None:
        del debug
        display = Display(quiet, as_json)
        options = parse_assignments(assignments)
        result = run_stages(directory, stage, stage, options, option_json=option_json, observer=display)
        display.summary([result])

    return run


trace = _command("trace")
onnx = _command("onnx")
schedule = _command("schedule")
simulate = _command("simulate")
codegen = _command("codegen")
