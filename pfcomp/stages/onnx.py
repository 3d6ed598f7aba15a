"""Stage *onnx*: from the captured graph (or a user's model) to the optimised standard ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pfcomp.options import Options
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import CAPTURED, MODEL, SOURCE_MODEL

if TYPE_CHECKING:
    import onnx_ir as ir


def run(directory: Path, options: Options) -> StageReport:
    """Write `model.onnx.zst`: byte-deterministic, accepted by onnx.checker, readable by any ONNX tool after unzstd.

    Weights of more than 2 GB lie beside it, as `model.onnx.data`.
    """
    from pfcomp.passes.runner import optimise
    from pfcomp.pfvm.external import write_model
    from pfcomp.pfvm.models import check_proto, to_proto

    model = _source_model(directory)
    before = len(model.graph)
    optimise(model)
    check_proto(to_proto(model), MODEL)
    files = write_model(model, directory / MODEL)
    kinds = {node.op_type for node in model.graph}
    weights = sum(value.const_value.nbytes for value in model.graph.initializers.values() if value.const_value)
    figures = (
        ("nodes before passes", before),
        ("nodes", len(model.graph)),
        ("op types", len(kinds)),
        ("weight bytes", weights),
    )
    return StageReport("onnx", figures, files)


def _source_model(directory: Path) -> ir.Model:
    if (directory / CAPTURED).exists():
        from pfcomp.frontend import export, load

        return export(load(directory / CAPTURED))
    from pfcomp.passes.core_ops import OPSET
    from pfcomp.pfvm.models import check_proto, read_proto, to_ir, to_opset

    proto = read_proto(directory / SOURCE_MODEL)
    check_proto(proto, SOURCE_MODEL)
    return to_ir(to_opset(proto, OPSET), SOURCE_MODEL)
