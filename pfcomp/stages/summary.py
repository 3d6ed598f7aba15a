"""Results of pipelines as lines, as a table, and as JSON's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfcomp.stages.events import CompileResult, Figure, StageOutcome

if TYPE_CHECKING:
    from rich.table import Table


def figure_text(name: str, value: Figure) -> str:
    """`nodes 3`, `microseconds 1.25`, with thousands set apart."""
    if isinstance(value, str):
        return f"{name} {value}"
    return f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:,.4g}"


def figures_text(figures: Sequence[tuple[str, Figure]]) -> str:
    """All figures in one line."""
    return ", ".join(figure_text(name, value) for name, value in figures)


def time_text(outcome: StageOutcome) -> str:
    """`0.12 s`, or why it took none."""
    return f"{outcome.seconds:.2f} s" if outcome.origin == "ran" else outcome.origin


def result_lines(result: CompileResult) -> list[str]:
    """A line for each stage and one for the whole."""
    rows = [f"{o.stage:<9} {time_text(o):>8}  {figures_text(o.figures)}".rstrip() for o in result.stages]
    return [*rows, f"{'total':<9} {result.seconds:6.2f} s  {result.directory}"]


def result_table(result: CompileResult) -> Table:
    """The same as a table for terminals."""
    from rich.table import Table

    table = Table(title=str(result.directory), title_justify="left", footer_style="bold", show_footer=True)
    table.add_column("stage", footer="total")
    table.add_column("time", justify="right", footer=f"{result.seconds:.2f} s")
    table.add_column("figures", overflow="fold")
    for outcome in result.stages:
        table.add_row(outcome.stage, time_text(outcome), figures_text(outcome.figures))
    return table


def result_json(result: CompileResult) -> dict[str, Any]:
    """The same for programs."""
    rows = [
        {"stage": o.stage, "origin": o.origin, "seconds": round(o.seconds, 6), "figures": dict(o.figures)}
        for o in result.stages
    ]
    return {"directory": str(result.directory), "seconds": round(result.seconds, 6), "stages": rows}
