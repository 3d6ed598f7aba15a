"""`pfcomp ops`: which operators are taken, from which opset, how they are lowered and within which limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

_HEAD = ("operator", "opset", "how", "limits")
_WAYS = {
    "lowered": "written as ONNX nodes",
    "decomposed": "rewritten as other ATen operators",
    "recorded": "replaced while the function runs",
}


@dataclass(frozen=True, slots=True)
class OpRow:
    """A row of the table. `opset` is `first-last`, empty for ATen operators; `compiled` is False without a kernel."""

    operator: str
    opset: str
    how: str
    limits: str
    compiled: bool

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.operator, self.opset, self.how, self.limits


@click.command("ops", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--md", "as_page", is_flag=True, help="Print the documentation page docs/ops.md.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def ops(as_page: bool, as_json: bool, debug: bool) -> None:
    """Show the operators: ONNX ones with their kernels, then the ATen overloads that have a form of our own.

    An ONNX operator without a kernel is exported and runs on pfvm:cpu, but the stage schedule refuses it. ATen
    overloads that are not listed go through PyTorch's own decompositions where it has one.
    """
    del debug
    if as_page:
        from pfcomp.frontend.coverage import page

        click.echo(page(), nl=False)
        return
    onnx, aten = onnx_rows(), aten_rows()
    if as_json:
        click.echo(json.dumps({"onnx": [asdict(r) for r in onnx], "aten": [asdict(r) for r in aten]}, indent=1))
        return
    click.echo("\n".join(table([_HEAD, *(row.cells for row in (*onnx, *aten))])))
    compiled = sum(row.compiled for row in onnx)
    click.echo(f"{len(onnx)} ONNX operators, {compiled} with a kernel; {len(aten)} ATen overloads")


def onnx_rows() -> list[OpRow]:
    """Every ONNX operator that the front end emits or a kernel takes, by name."""
    from pfcomp.kernels.table import ELEMENTWISE
    from pfcomp.passes.core_ops import CORE_OPS

    return [_onnx_row(name) for name in sorted({*CORE_OPS, *ELEMENTWISE})]


def _onnx_row(name: str) -> OpRow:
    from pfcomp.kernels.table import ELEMENTWISE
    from pfcomp.passes.core_ops import CORE_OPS, OPSET
    from pfcomp.plan.source_graph import MAX_RANK

    core, kernel = CORE_OPS.get(name), ELEMENTWISE.get(name)
    opset = f"{core.since if core else _first_opset(name, OPSET)}-{OPSET}"
    limits = [core.limits] if core and core.limits else []
    if kernel is None:
        return OpRow(name, opset, "no kernel", "; ".join(limits), compiled=False)
    limits += ["float32", f"rank up to {MAX_RANK}"]
    return OpRow(name, opset, f"element-wise: {kernel.meaning}", "; ".join(limits), compiled=True)


def _first_opset(name: str, opset: int) -> int:
    """The opset that defined the operator in the form that `opset` has."""
    from onnx import defs

    return int(defs.get_schema(name, opset, "").since_version)


def aten_rows() -> list[OpRow]:
    """Every ATen overload with a form of ours, by name."""
    from pfcomp.frontend.coverage import aten_table

    return [OpRow(row.name, "", _WAYS[row.way], "", compiled=True) for row in aten_table()]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the cells of each column left-aligned, two blanks between columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]
