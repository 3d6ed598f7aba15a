"""What the back end does with every ONNX operator, found in its tables and by asking it about examples."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import defs

from pfcomp.ir.element_types import OWN
from pfcomp.ir.model import DType
from pfcomp.kernels import table
from pfcomp.kernels.registry import kernels
from pfcomp.passes.core_ops import CORE_OPS
from pfcomp.passes.lower_ops import RULES as REWRITES
from pfcomp.plan.examples import CONSTANTS, EXAMPLES, VARIANTS, Example
from pfcomp.plan.lower.build import refusal
from pfcomp.plan.lower.graph import REARRANGEMENTS, CoreGraph, Lowering
from pfcomp.plan.lower.rules import RULES, apply

EXTRA = frozenset({"Rsqrt", "ScatterRows"})
"""Operators that ONNX does not have."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """How an operator is compiled; `types` are the device element types for which it is, none if it is not.

    `limits` are the reasons for which some of its forms are refused.
    """

    how: str
    types: tuple[str, ...]
    limits: tuple[str, ...] = ()


def operators() -> tuple[str, ...]:
    """Names of all ONNX operators that the front end emits, a pass rewrites, a rule lowers or a kernel takes."""
    known = {*CORE_OPS, *REWRITES, *RULES, *kernels(), *table.NAMES} - EXTRA
    return tuple(sorted(known))


def compiled(op: str) -> Compiled:
    """What becomes of an operator; those that a pass rewrites do not come to the back end."""
    if op in REWRITES and op not in CORE_OPS:
        return Compiled("rewritten by the pass lower_ops", ("as its parts",))
    if op in table.BY_NAME and op not in RULES:
        return _element_wise(op)
    forms = {example: _answers(example) for example in (*EXAMPLES, *VARIANTS) if example.op == op}
    usual = [example for example in forms if example in EXAMPLES]
    types = tuple(t for t in OWN.values() if any(t in _allowed(op, e.operand) and not forms[e][t] for e in usual))
    if not types:
        return Compiled("no kernel", ())
    never = [answers[types[0]] for answers in forms.values() if all(answers[t] for t in types)]
    ways = [_way(e, t) for e, answers in forms.items() for t in types[:1] if not answers[t]]
    return Compiled(" or ".join(dict.fromkeys(ways)), types, tuple(dict.fromkeys(never)))


def _element_wise(op: str) -> Compiled:
    rows = table.BY_NAME[op]
    types = tuple(t for t in _allowed(op, -1) if any(row.inputs[-1] is t for row in rows))
    refused = dict.fromkeys(row.refuse({}) for row in rows)
    return Compiled(f"element-wise: {rows[0].meaning}", types, tuple(reason for reason in refused if reason))


def _allowed(op: str, operand: int) -> list[DType]:
    """The element types that ONNX gives an operator at all, of those that the device has."""
    names = defs.get_schema(op).inputs[operand].types
    return [dtype for element, dtype in OWN.items() if f"tensor({element.lower()})" in names]


def _answers(example: Example) -> dict[DType, str]:
    """For every element type "", or why the example is refused."""
    return {dtype: refusal(example.node, example.specs(dtype), CONSTANTS) for dtype in OWN.values()}


def _way(example: Example, dtype: DType) -> str:
    """The jobs that an example becomes."""
    graph = CoreGraph(example.specs(dtype), (), (), (), dict(CONSTANTS))
    apply(Lowering(graph, example.node))
    jobs = list(dict.fromkeys(job.op for job in graph.nodes))
    if len(jobs) > 1 or jobs[0] not in (*REARRANGEMENTS, *kernels()):
        return f"lowered ({_last(RULES[example.op].__module__)}.py) to {', '.join(jobs)}"
    if jobs[0] in kernels():
        return f"kernel {type(kernels()[jobs[0]]).__module__.split('.')[2]}"
    return "rearrangement" if jobs[0] == example.op else f"rearrangement {jobs[0]}"


def _last(module: str) -> str:
    return module.rpartition(".")[2]
