"""Text and JSON views of an app; the text begins with the lines that the SDK's `dump_gpfnapp` prints (design.md 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pfcomp.app.model import DebugSpan, GPFNApp, TensorInfo
from pfcomp.app.sections import SECTIONS
from pfcomp.artifacts import sha256
from pfcomp.errors import UsageError
from pfcomp.isa.model import Move, Program, Step
from pfcomp.layout import PadLayout

Figures = dict[str, int]


def dump_text(app: GPFNApp, sections: Iterable[str] | None = None, *, node: str | None = None) -> str:
    """The app as lines of text: the target's name and the given sections, all of them by default.

    `node` limits program and debug map to one node. Raises UsageError PF0801 for a section or node that is not there.
    """
    lines = [f"target_name: {app.target_name}"]
    for name in _checked(sections):
        content = list(_TEXT[name](_only(app, node)))
        lines += [f"{name}:", *(f"  {line}" for line in content)]
    if sections is None:
        lines += [f"producer: {app.producer}", f"options_digest: {app.options_digest}"]
    return "\n".join(lines) + "\n"


def dump_json(app: GPFNApp, sections: Iterable[str] | None = None, *, node: str | None = None) -> dict[str, Any]:
    """The same content as `dump_text` in JSON's types."""
    result: dict[str, Any] = {
        "target_name": app.target_name,
        "producer": app.producer,
        "options_digest": app.options_digest,
    }
    return result | {name: _JSON[name](_only(app, node)) for name in _checked(sections)}


def disassemble(app: GPFNApp, *, node: str | None = None) -> str:
    """The program as assembly text, of one node where `node` is given; raises UsageError PF0801 for unknown nodes."""
    from pfcomp.isa import print_program

    return print_program(_only(app, node).program)


def tensor_text(info: TensorInfo) -> str:
    """`x: DRAM@0-16/Float(3,4 PadLayout{...} alias_base=null torch_dtype=Float layout_kind=MNCore)`."""
    shape = ",".join(map(str, info.shape))
    dirty = " Dirty" if info.dirty else ""
    return (
        f"{info.name}: DRAM@{info.begin}-{info.end}/{info.dtype}({shape} {PadLayout(info.shape, info.layout)}{dirty}"
        f" alias_base={info.alias_base or 'null'} torch_dtype={info.torch_dtype} layout_kind={info.layout_kind})"
    )


def program_figures(program: Program) -> Figures:
    """Counts of a program: steps, nop steps, moves, and operations by unit."""
    steps = [s for s in program.statements if isinstance(s, Step)]
    units = Counter(op.unit.value for step in steps for op in step.ops)
    return {
        "steps": program.steps,
        "nops": sum(step.repeat for step in steps if step.is_nop),
        "moves": sum(isinstance(s, Move) for s in program.statements),
        "statements": len(program.statements),
        **{f"ops {unit}": units[unit] for unit in sorted(units)},
    }


def _checked(sections: Iterable[str] | None) -> Sequence[str]:
    names = tuple(SECTIONS if sections is None else sections)
    for name in names:
        if name not in SECTIONS:
            raise UsageError("PF0801", f"an app has no section {name!r}", hint=f"sections: {', '.join(SECTIONS)}")
    return names


def _only(app: GPFNApp, node: str | None) -> GPFNApp:
    """The app with program, relocations and debug map cut down to the statements of `node`."""
    if node is None:
        return app
    spans = tuple(span for span in app.debug if span.node == node)
    if not spans:
        names = ", ".join(sorted({span.node for span in app.debug})) or "none"
        raise UsageError("PF0801", f"the app has no node {node!r}", hint=f"nodes: {names}")
    kept = sorted({index for span in spans for index in range(span.begin, span.end)})
    program = Program(tuple(app.program.statements[index] for index in kept))
    relocations = tuple(r for r in app.relocations if any(s.begin <= r.index < s.end for s in spans))
    return GPFNApp(app.inputs, app.outputs, app.state, app.constants, program, relocations, spans, app.statistics)


def _tensor_lines(infos: Iterable[TensorInfo]) -> Iterator[str]:
    return map(tensor_text, infos)


def _figure_lines(figures: Figures) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in figures.items())


def _span_line(span: DebugSpan) -> str:
    source = f" {span.source}" if span.source else ""
    return f"{span.begin}-{span.end}: {span.node} {span.op}{source}"


def _tensor_record(info: TensorInfo) -> dict[str, Any]:
    record = {name: getattr(info, name) for name in TensorInfo.__slots__}
    return record | {"shape": list(info.shape), "layout": str(info.layout)}


_TEXT: dict[str, Callable[[GPFNApp], Iterable[str]]] = {
    "inputs": lambda app: _tensor_lines(app.inputs),
    "outputs": lambda app: _tensor_lines(app.outputs),
    "state": lambda app: _tensor_lines(app.state),
    "constants": lambda app: _tensor_lines(c.info for c in app.constants),
    "program": lambda app: _figure_lines(program_figures(app.program)),
    "relocations": lambda app: (f"{r.index} {r.operand}: {r.tensor}+{r.offset}" for r in app.relocations),
    "debug": lambda app: map(_span_line, app.debug),
    "statistics": lambda app: _figure_lines(dict(app.statistics)),
}

_JSON: dict[str, Callable[[GPFNApp], Any]] = {
    "inputs": lambda app: list(map(_tensor_record, app.inputs)),
    "outputs": lambda app: list(map(_tensor_record, app.outputs)),
    "state": lambda app: list(map(_tensor_record, app.state)),
    "constants": lambda app: [_tensor_record(c.info) | {"sha256": sha256(c.image.tobytes())} for c in app.constants],
    "program": lambda app: program_figures(app.program),
    "relocations": lambda app: [
        {"index": r.index, "operand": r.operand, "tensor": r.tensor, "offset": r.offset} for r in app.relocations
    ],
    "debug": lambda app: [
        {"begin": s.begin, "end": s.end, "node": s.node, "op": s.op, "source": s.source} for s in app.debug
    ],
    "statistics": lambda app: dict(app.statistics),
}
