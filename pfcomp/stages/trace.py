"""Stage *trace*: from a Python function or a saved model to the captured form and its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfcomp.artifacts import atomic_write
from pfcomp.errors import ArtifactError
from pfcomp.options import Options
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import CAPTURED, SOURCE_DATA, SOURCE_MODEL

if TYPE_CHECKING:
    from torch import Tensor

    from pfcomp.frontend.graph import CapturedGraph

TRACE_TEXT = "trace.txt"


def trace_function(
    directory: Path,
    function: Callable[[dict[str, Tensor]], Mapping[str, Tensor]],
    sample: Mapping[str, Tensor],
    states: Mapping[str, Tensor] | None = None,
    **how: Any,
) -> StageReport:
    """Capture a function into `directory`, which must exist; `how` are further arguments of `capture`.

    Raises SourceError for what cannot be captured.
    """
    from pfcomp.frontend import capture, save

    captured = capture(function, sample, states=states, **how)
    (directory / SOURCE_MODEL).unlink(missing_ok=True)
    save(captured, directory / CAPTURED)
    return _described(directory, captured)


def from_onnx(directory: Path, path: str | Path) -> StageReport:
    """Take a user's `.onnx` or `.onnx.zst` file as the source. Raises SourceError PF0315, PF0316."""
    from pfcomp.pfvm.external import write_proto
    from pfcomp.pfvm.models import check_proto, read_proto

    proto = read_proto(path)
    check_proto(proto, Path(path).name)
    (directory / CAPTURED).unlink(missing_ok=True)
    write_proto(proto, directory / SOURCE_MODEL)
    return _described_model(directory, proto)


def run(directory: Path, options: Options) -> StageReport:
    """Check the captured form that is in `directory` and write its text again."""
    if (directory / CAPTURED).exists():
        from pfcomp.frontend import load

        return _described(directory, load(directory / CAPTURED))
    if (directory / SOURCE_MODEL).exists():
        from pfcomp.pfvm.models import read_proto

        return _described_model(directory, read_proto(directory / SOURCE_MODEL))
    hint = "compile a function or a model into this folder first"
    raise ArtifactError("PF0314", "there is no captured graph", where=directory.name, hint=hint)


def _described(directory: Path, captured: CapturedGraph) -> StageReport:
    from pfcomp.frontend.text import trace_text

    atomic_write(directory / TRACE_TEXT, trace_text(captured).encode())
    figures = (
        ("inputs", len(captured.inputs)),
        ("outputs", len(captured.outputs)),
        ("states", len(captured.states)),
        ("updated states", len(captured.updates)),
        ("operations", len(captured.nodes)),
    )
    return StageReport("trace", figures, (TRACE_TEXT, CAPTURED))


def _described_model(directory: Path, proto: Any) -> StageReport:
    graph = proto.graph
    lines = [f"model {graph.name}"]
    lines += [f"input    {value.name}" for value in graph.input]
    lines += [f"  {', '.join(n.output)} = {n.op_type}({', '.join(n.input)})" for n in graph.node]
    lines += [f"output   {value.name}" for value in graph.output]
    atomic_write(directory / TRACE_TEXT, ("\n".join(lines) + "\n").encode())
    figures = (("inputs", len(graph.input)), ("outputs", len(graph.output)), ("operations", len(graph.node)))
    files = [name for name in (SOURCE_MODEL, SOURCE_DATA) if (directory / name).exists()]
    return StageReport("trace", figures, (TRACE_TEXT, *files))
