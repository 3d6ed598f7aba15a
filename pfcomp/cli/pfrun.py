"""`pfrun`: run an app, a codegen_dir or a bare assembly program, and check what it computes (design.md 5)."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import click

from pfcomp.cli.shell import run_command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--input", "inputs", multiple=True, metavar="NAME=WHAT", help="x=x.npy, x=ones, x=zeros or x=rand:SEED.")
@click.option("--output", type=click.Path(path_type=Path), help="Write all outputs to this .npz file.")
@click.option("--expect", "expectations", multiple=True, metavar="NAME=FILE.npy", help="Compare an output with a file.")
@click.option("--rtol", type=click.FloatRange(min=0), default=1e-5, show_default=True, help="Relative tolerance.")
@click.option("--atol", type=click.FloatRange(min=0), default=1e-8, show_default=True, help="Absolute tolerance.")
@click.option("--device", default="emu2", show_default=True, help="emu2, mncore2:auto, mncore2:<index> or pfvm:cpu.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Run this many times.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("-d", "--dump", type=click.Path(path_type=Path), help="Write `d get` lines here (default: stderr).")
@click.option("--no-check", is_flag=True, help="Run a bare program even if the static checker finds mistakes.")
@click.option("--break", "stop", metavar="STEP|NODE", help="Stop before this step, or the first one of a graph node.")
@click.option("--trace", type=click.Path(path_type=Path), metavar="FILE", help="Write what each step stored here.")
@click.option("--trace-pe", "trace_pes", multiple=True, metavar="PE", help="PE of the trace [default: n0c0b0m0p0].")
@click.option("--who", multiple=True, metavar="PLACE", help="Say who wrote e.g. '$lm12n0c0b0m0p0' last.")
@click.option("--show", multiple=True, metavar="PLACE", help="Print a place at the end or stop, as `d get` does.")
@click.option("--strict", is_flag=True, help="Report reads of unwritten places, stale paths, misaligned addresses.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def cli(
    target: Path,
    inputs: tuple[str, ...],
    output: Path | None,
    expectations: tuple[str, ...],
    rtol: float,
    atol: float,
    device: str,
    repeat: int,
    as_json: bool,
    dump: Path | None,
    no_check: bool,
    stop: str | None,
    trace: Path | None,
    trace_pes: tuple[str, ...],
    who: tuple[str, ...],
    show: tuple[str, ...],
    strict: bool,
    debug: bool,
) -> None:
    """Run TARGET: a codegen_dir, an app (.app, .app.zst), or an assembly program (.vsm, .vsm.zst).

    Exit status 0: it ran and every expectation held. 1: an expectation did not hold. Others: docs/errors.md.
    """
    del debug
    from pfcomp.errors import UsageError
    from pfcomp.runtime import apprun, vsmrun
    from pfcomp.runtime.debugrun import DebugRequest
    from pfcomp.stages.manifest import check_readable

    check_readable(target)
    wanted = DebugRequest(stop, trace, trace_pes, who, show, strict)
    report: vsmrun.VsmReport | apprun.AppReport
    if target.name.endswith((".vsm", ".vsm.zst")):
        if inputs or expectations or output is not None:
            what = "an assembly program has no named inputs and outputs"
            raise UsageError("PF0614", what, where=target.name, hint="use d set and d get statements and --dump")
        report = vsmrun.run_program(target, device, dump, checked=not no_check, repeat=repeat, debug=wanted)
    else:
        request = apprun.Request(target, inputs, output, expectations, rtol, atol, device, repeat, wanted)
        report = apprun.run_app(request)
    click.echo(report.json() if as_json else report.text())
    if not report.held:
        raise SystemExit(1)


def main() -> NoReturn:
    """Entry point of the console script."""
    run_command(cli, "pfrun")


if __name__ == "__main__":
    main()
