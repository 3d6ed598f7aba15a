"""What the front end takes: every ATen overload with the way it goes, and a check of one function without compiling.

Data for `pfcomp ops` and `pfcomp check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.errors import PfcompError
from pfcomp.passes.support import Unsupported, unsupported


@dataclass(frozen=True, slots=True)
class AtenRow:
    """An ATen overload: `way` is lowered, decomposed (by us) or recorded (replaced while the function runs)."""

    name: str
    way: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What would compile. `percent` is the share of nodes that are supported; `error` is set where capture failed.

    `findings` are reasons against the model as a whole.
    """

    nodes: int
    percent: float
    counts: tuple[tuple[str, int], ...]
    problems: tuple[Unsupported, ...]
    error: str = ""
    findings: tuple[str, ...] = ()


def aten_table() -> tuple[AtenRow, ...]:
    """Every ATen overload with a form of ours, by name; torch's own decompositions take many more."""
    from pfcomp.frontend.decompositions import decomposition_table
    from pfcomp.frontend.decompositions.table import OURS
    from pfcomp.frontend.lower import LOWERINGS
    from pfcomp.frontend.overrides import OVERRIDES

    decomposition_table()
    ways = dict.fromkeys(LOWERINGS, "lowered")
    ways |= {str(operator): "decomposed" for operator in OURS}
    ways |= {str(operator): "recorded" for operator in OVERRIDES}
    return tuple(AtenRow(name, ways[name]) for name in sorted(ways))


def check_function(
    function: Callable[..., Any],
    sample: Mapping[str, Any],
    supported: Callable[[ir.Node], str | None],
    whole: Callable[[ir.Model], str],
) -> CheckReport:
    """Capture, export and optimise; then as `check_model`."""
    from pfcomp.frontend import capture, export
    from pfcomp.passes.runner import optimise

    try:
        model = export(capture(function, sample))
    except PfcompError as error:
        return CheckReport(0, 0.0, (), (), str(error))
    optimise(model)
    return check_model(model, supported, whole)


def check_model(
    model: ir.Model, supported: Callable[[ir.Node], str | None], whole: Callable[[ir.Model], str]
) -> CheckReport:
    """Every node of a model against `supported`; where all are, the model against `whole` ("" or the reason)."""
    problems = unsupported(model, supported)
    count = len(model.graph)
    bad = sum(problem.count for problem in problems)
    counts = Counter(node.op_type for node in model.graph)
    ordered = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    findings = _nan_constants(model)
    if not problems and not findings and (reason := whole(model)):
        findings = (reason,)
    percent = 100.0 if not count else 100.0 * (count - bad) / count
    return CheckReport(count, percent, ordered, problems, findings=findings)


def _nan_constants(model: ir.Model) -> tuple[str, ...]:
    values = model.graph.initializers.values()
    arrays = {str(v.name): v.const_value.numpy() for v in values if v.const_value is not None}
    bad = [name for name, array in arrays.items() if array.dtype.kind == "f" and np.isnan(array).any()]
    return tuple(f"constant '{name}' holds NaN, which the chip does not have" for name in bad)
