"""Stage *codegen*: the packed program as assembly text and as a GPFNApp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pfcomp import __version__
from pfcomp.app import write_app
from pfcomp.app.model import Constant, DebugSpan, GPFNApp, Relocation, TensorInfo
from pfcomp.artifacts import write_zst
from pfcomp.ir.model import DType, MNNode, MNValue
from pfcomp.isa import format_statement
from pfcomp.isa.model import Move
from pfcomp.layout.image import to_image
from pfcomp.options import Options
from pfcomp.plan.tasks import SPILL
from pfcomp.stages.program import Built, build
from pfcomp.stages.report import StageReport
from pfcomp.stages.schedule import load_source

FILES = ("model.vsm.zst", "model.app")

CONTENT = {DType.FLOAT: np.float32, DType.INT: np.int32, DType.BOOL: np.bool_, DType.DOUBLE: np.float64}
"""Element types in which constants are laid out; Long may also hold unsigned long words of tables."""


def run(directory: Path, options: Options) -> StageReport:
    """Read the schedule and the model's constants, write `model.vsm.zst` and `model.app`."""
    built = build(directory)
    app = _app(built, directory, options)
    write_zst(directory / "model.vsm.zst", _assembly(built).encode())
    write_app(app, directory / "model.app")
    figures = (
        ("steps", app.program.steps),
        ("relocations", len(app.relocations)),
        ("constants", len(app.constants)),
        ("bytes", (directory / "model.app").stat().st_size),
    )
    return StageReport("codegen", figures, FILES)


def _app(built: Built, directory: Path, options: Options) -> GPFNApp:
    graph = built.schedule.graph
    contents: dict[str, np.ndarray] = dict(built.schedule.contents)
    if any(name not in contents for name in graph.constants):
        contents.update(load_source(directory).constants)
    return GPFNApp(
        inputs=tuple(_info(graph.values[n]) for n in graph.inputs),
        outputs=tuple(_info(graph.values[n], dirty=True) for n in graph.outputs),
        state=tuple(_info(graph.values[n]) for n in graph.states),
        constants=tuple(_constant(graph.values[n], contents[n]) for n in graph.constants),
        program=built.packed.program,
        relocations=tuple(_relocations(built)),
        debug=tuple(_spans(built)),
        statistics=tuple(built.packed.stats.as_pairs()),
        options_digest=options.digest(),
        producer=f"pfcomp {__version__}",
    )


def _info(value: MNValue, *, dirty: bool = False) -> TensorInfo:
    begin = value.address or 0
    return TensorInfo(
        value.name, value.shape, value.dtype.value, value.layout, begin, begin + value.size, value.torch_dtype, dirty
    )


def _constant(value: MNValue, content: np.ndarray) -> Constant:
    if value.name.endswith(SPILL):  # space, not data: given as the image itself
        return Constant(_info(value), content.astype(np.uint64))
    array = np.asarray(content, CONTENT.get(value.dtype, content.dtype))
    return Constant(_info(value), to_image(array.reshape(value.shape), value.layout))


def _relocations(built: Built) -> Iterator[Relocation]:
    """Every MV with a DRAM operand was recorded when it was emitted."""
    for index, statement in enumerate(built.packed.program.statements):
        access = built.moves.get(built.packed.move_origins[index]) if isinstance(statement, Move) else None
        if access is not None:
            yield Relocation(index, access.operand, access.tensor, access.offset)


def _spans(built: Built) -> Iterator[DebugSpan]:
    """Maximal runs of statements that hold operations of a node, in order of their first statement."""
    nodes = {n.name: n for n in built.schedule.nodes}
    running: dict[str, int] = {}
    for index, names in enumerate((*built.packed.origins, ())):
        for name in [n for n in running if n not in names]:
            yield _span(nodes.get(name), name, running.pop(name), index)
        for name in names:
            running.setdefault(name, index)


def _span(node: MNNode | None, name: str, begin: int, end: int) -> DebugSpan:
    return DebugSpan(begin, end, name, node.op if node else "Setup", node.source if node else "")


def _assembly(built: Built) -> str:
    """The program with a comment wherever other nodes begin."""
    lines: list[str] = []
    before: tuple[str, ...] = ()
    for statement, names in zip(built.packed.program.statements, built.packed.origins, strict=True):
        if names and names != before:
            lines.append("# " + ", ".join(names))
            before = names
        lines.append(format_statement(statement))
    return "\n".join(lines) + "\n"
