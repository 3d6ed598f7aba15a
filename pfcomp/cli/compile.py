"""`pfcomp compile`: from a script, a function or an ONNX model to a codegen_dir (design.md 5)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from pfcomp.cli.show import Display
from pfcomp.errors import SourceError, UsageError
from pfcomp.options import STAGES, parse_assignments
from pfcomp.stages.events import CompileResult
from pfcomp.stages.pipeline import compile_function, compile_onnx, run_stages
from pfcomp.stages.script import FunctionSource, load_function, parse_samples, run_script, split_source
from pfcomp.stages.source import CompileOnly
from pfcomp.stages.table import stage_range

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = (
    click.option("--option_json", "--option-json", metavar="FILE", help="Option file or preset such as O1.json."),
    click.option("--option", "assignments", multiple=True, metavar="NAME=VALUE", help="A compile option; repeatable."),
    click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    click.option("--debug", is_flag=True, help="Print the traceback of errors."),
)


def common_flags(function: F) -> F:
    """The flags that `compile` shares with the commands of single stages."""
    for flag in reversed(_FLAGS):
        function = flag(function)
    return function


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for."""

    source: str
    arguments: tuple[str, ...]
    output: Path | None
    samples: tuple[str, ...]
    options: dict[str, object]
    option_json: str | None
    start: str | None
    stop: str | None
    keep_going: bool
    display: Display

    @property
    def all_options(self) -> dict[str, object]:
        return self.options if self.option_json is None else {"option_json": self.option_json, **self.options}


@click.command("compile", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The codegen_dir to write.")
@click.option("--sample", "samples", multiple=True, metavar="NAME=TYPE[SHAPE]", help="An input: x=float32[3,4].")
@click.option("--from", "start", type=click.Choice(STAGES), help="First stage; earlier ones are taken from the folder.")
@click.option("--to", "stop", type=click.Choice(STAGES), help="Last stage.")
@click.option("--keep-going", is_flag=True, help="Execute calls of compiled functions on pfvm:cpu and go on.")
@common_flags
def compile_command(
    source: str,
    arguments: tuple[str, ...],
    output: Path | None,
    samples: tuple[str, ...],
    start: str | None,
    stop: str | None,
    keep_going: bool,
    option_json: str | None,
    assignments: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Compile SOURCE.

    SOURCE is a model (.onnx, .onnx.zst), `file.py:function` with --sample for each input, a script that uses mlsdk,
    or a codegen_dir to continue in. A script runs with ARGUMENTS (after `--` where they begin with a dash) until it
    would execute a compiled function; each Context.compile in it writes its own codegen_dir, or DIR or DIR/<name>
    with `-o DIR`.
    """
    del debug
    stage_range(start, stop)
    options = parse_assignments(assignments)
    display = Display(quiet, as_json)
    order = Order(source, arguments, output, samples, options, option_json, start, stop, keep_going, display)
    results, reached = _compile(order)
    display.summary(results, reached)


def _compile(order: Order) -> tuple[list[CompileResult], str | None]:
    source = split_source(order.source)
    _refuse_idle_flags(order, source)
    if isinstance(source, FunctionSource):
        return [_function(order, source)], None
    if source.is_dir():
        return [_continue(order, source)], None
    if order.start not in (None, "trace"):
        return [_continue(order, order.output or _default_output(source))], None
    if source.name.endswith((".onnx", ".onnx.zst")):
        directory = order.output or _default_output(source)
        return [compile_onnx(source, directory, order.all_options, stop=order.stop, observer=order.display)], None
    if source.suffix != ".py" and not source.is_file():
        raise SourceError("PF0804", "no such file or folder", where=order.source)
    return _script(order, source)


def _refuse_idle_flags(order: Order, source: Path | FunctionSource) -> None:
    """Flags that would have no effect are mistakes."""
    function = isinstance(source, FunctionSource)
    if order.samples and not function:
        raise UsageError("PF0801", "--sample goes with a source of the form file.py:function")
    if order.arguments and not (isinstance(source, Path) and source.suffix == ".py"):
        raise UsageError("PF0801", f"arguments {' '.join(order.arguments)!r} go with a script only")


def _function(order: Order, source: FunctionSource) -> CompileResult:
    directory = order.output or Path(f"{source.function}.codegen")
    if order.start not in (None, "trace"):
        return _continue(order, directory)
    samples = parse_samples(order.samples)
    function = load_function(source)
    return compile_function(function, samples, directory, order.all_options, stop=order.stop, observer=order.display)


def _continue(order: Order, directory: Path) -> CompileResult:
    return run_stages(
        directory,
        order.start,
        order.stop,
        order.options,
        option_json=order.option_json,
        observer=order.display,
    )


def _script(order: Order, script: Path) -> tuple[list[CompileResult], str | None]:
    run = CompileOnly(
        output_dir=order.output,
        option_json=order.option_json,
        options=order.options,
        keep_going=order.keep_going,
        stop=order.stop or STAGES[-1],
        observer=order.display,
    )
    with _clean_stdout(order.display):
        reached = run_script(script, order.arguments, run)
    return run.results, reached


@contextlib.contextmanager
def _clean_stdout(display: Display) -> Iterator[None]:
    """With --json, what the script prints goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr) if display.as_json else contextlib.nullcontext():
        yield


def _default_output(source: Path) -> Path:
    """`add.onnx.zst` goes to `add.codegen` in the working folder."""
    return Path(f"{source.name.split('.')[0]}.codegen")
