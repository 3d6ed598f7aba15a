"""`pfcomp check`: what of a program would compile, what would not and why, all at once and without compiling."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pfcomp.cli.ops import table
from pfcomp.errors import PfcompError, SourceError, UnsupportedError, UsageError
from pfcomp.stages.script import FunctionSource, load_function, parse_samples, run_script, split_source
from pfcomp.stages.source import CompileOnly
from pfcomp.stages.table import MODEL

if TYPE_CHECKING:
    import onnx_ir as ir

    from pfcomp.frontend.coverage import CheckReport

_CAPTURE_CODES = "PF03"  # what the stages trace and onnx refuse


@dataclass(frozen=True, slots=True)
class Checked:
    """A function or model by name, and what the check says about it."""

    name: str
    report: CheckReport

    @property
    def passed(self) -> bool:
        return not (self.report.error or self.report.problems or self.report.findings)


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--sample", "samples", multiple=True, metavar="NAME=TYPE[SHAPE]", help="An input: x=float32[3,4].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def check(source: str, arguments: tuple[str, ...], samples: tuple[str, ...], as_json: bool, debug: bool) -> None:
    """Say what of SOURCE would compile: every operator, with the reason and source lines of those that would not.

    Where all operators would, the whole is planned as well: layouts and memory.

    SOURCE is a model (.onnx, .onnx.zst), `file.py:function` with --sample for each input, or a script that uses mlsdk,
    which runs with ARGUMENTS; its compiled functions execute on pfvm:cpu, what it prints goes to stderr. The exit
    status is 0 if everything would compile and 4 otherwise; a script that fails ends with the status of its error,
    after the report on what it compiled before.
    """
    del debug
    results: list[Checked] = []
    try:
        results.extend(_check(split_source(source), arguments, samples))  # keeps those before an error
    finally:
        _show(results, as_json)
    if not all(result.passed for result in results):
        raise SystemExit(UnsupportedError.exit_code)


def _show(results: Sequence[Checked], as_json: bool) -> None:
    """Print what there is; nothing where an error came before the first result."""
    if results and as_json:
        click.echo(json.dumps({"checked": [_json(result) for result in results]}, indent=1))
    elif results:
        click.echo("\n".join(line for result in results for line in _lines(result)))


def _check(source: Path | FunctionSource, arguments: Sequence[str], samples: Sequence[str]) -> Iterable[Checked]:
    if isinstance(source, FunctionSource):
        if arguments:
            raise UsageError("PF0801", f"arguments {' '.join(arguments)!r} go with a script only")
        return [_function(source, samples)]
    if samples:
        raise UsageError("PF0801", "--sample goes with a source of the form file.py:function")
    if source.name.endswith((".onnx", ".onnx.zst")):
        return [_model(source)]
    if source.suffix != ".py" and not source.is_file():
        raise SourceError("PF0804", "no such file or folder", where=str(source))
    return _script(source, arguments)


def _function(source: FunctionSource, samples: Sequence[str]) -> Checked:
    from pfcomp.frontend.coverage import check_function

    function = load_function(source)
    return Checked(source.function, check_function(function, parse_samples(samples), refusal, blocker))


def _model(path: Path) -> Checked:
    """A user's model, after the passes that the stage onnx applies to it."""
    from pfcomp.frontend.coverage import check_model
    from pfcomp.passes.core_ops import OPSET
    from pfcomp.passes.runner import optimise
    from pfcomp.pfvm.models import check_proto, read_proto, to_ir, to_opset

    proto = read_proto(path)
    check_proto(proto, path.name)
    model = to_ir(to_opset(proto, OPSET), path.name)
    optimise(model)
    return Checked(path.name.split(".")[0], check_model(model, refusal, blocker))


def _script(script: Path, arguments: Sequence[str]) -> Iterator[Checked]:
    """Every function that the script compiles; an error of the script itself is raised after those before it."""
    with tempfile.TemporaryDirectory() as folder:
        run = CompileOnly(output_dir=Path(folder) / script.stem, keep_going=True, stop="onnx")
        failure: PfcompError | None = None
        try:
            with contextlib.redirect_stdout(sys.stderr):
                run_script(script, arguments, run)
        except PfcompError as error:
            failure = error
        yield from [_compiled(result.directory) for result in run.results]
    if failure is not None:
        if not failure.code.startswith(_CAPTURE_CODES):
            raise failure
        yield _failure(script.stem, failure)


def _failure(name: str, error: PfcompError) -> Checked:
    from pfcomp.frontend.coverage import CheckReport

    return Checked(name, CheckReport(0, 0.0, (), (), str(error)))


def _compiled(directory: Path) -> Checked:
    from pfcomp.frontend.coverage import check_model
    from pfcomp.pfvm.models import read_proto, to_ir

    return Checked(directory.name, check_model(to_ir(read_proto(directory / MODEL), MODEL), refusal, blocker))


def refusal(node: ir.Node) -> str | None:
    """Why the planner would not take a node; None where it would."""
    from pfcomp.plan.source_graph import Tensor, find_offenders, to_node

    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if any(value.shape is None or not value.shape.is_static() or value.dtype is None for value in values):
        return "no static shape or element type"
    tensors = {str(v.name): Tensor(str(v.name), tuple(map(int, v.shape)), v.dtype.name) for v in values}
    contents = {str(v.name): v.const_value.numpy() for v in values if v.const_value is not None}
    found = find_offenders((to_node(node),), tensors, contents)
    return found[0].reason if found else None


def blocker(model: ir.Model) -> str:
    """Why the planner would not take a model all of whose nodes it takes: no layout, too little memory; else ""."""
    from pfcomp.options import resolve
    from pfcomp.plan.planner import plan
    from pfcomp.plan.source_graph import read_model

    try:
        plan(read_model(model), resolve(None, None))
    except PfcompError as error:
        return str(error)
    return ""


def _lines(result: Checked) -> list[str]:
    """A head line, then a row for each operator that would not compile and one for all that would."""
    report = result.report
    if report.error:
        return [f"{result.name}: cannot be captured: {report.error}"]
    bad = sum(problem.count for problem in report.problems)
    head = f"{result.name}: {report.nodes - bad} of {report.nodes} nodes would compile ({report.percent:.1f} %)"
    rows = [("no", p.op, f"x{p.count}", p.reason, ", ".join(p.sources) or ", ".join(p.nodes)) for p in report.problems]
    rows += [("yes", op, f"x{count}", "", "") for op, count in _taken(report)]
    findings = [f"  no  {finding}" for finding in report.findings]
    return [head, *findings, *(f"  {line}" for line in table(rows))] if rows else [head, *findings]


def _taken(report: CheckReport) -> list[tuple[str, int]]:
    """Operators that would compile with their number of nodes, most frequent first."""
    counts = dict(report.counts)
    for problem in report.problems:
        counts[problem.op.rpartition("::")[2]] -= problem.count
    return sorted(((op, n) for op, n in counts.items() if n), key=lambda item: (-item[1], item[0]))


def _json(result: Checked) -> dict[str, object]:
    report = result.report
    problems = [
        {"op": p.op, "count": p.count, "reason": p.reason, "nodes": p.nodes, "sources": p.sources}
        for p in report.problems
    ]
    return {
        "name": result.name,
        "nodes": report.nodes,
        "percent": report.percent,
        "supported": dict(_taken(report)),
        "problems": problems,
        "findings": list(report.findings),
        "error": report.error or None,
    }
