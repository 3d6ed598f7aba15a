"""`pfcomp verify`: a compiled program node by node against PFVM."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pfcomp.verify.run import Row

COLUMNS = ("", "mode", "node", "op", "max abs", "max rel", "bound", "max ulp", "cosine", "source")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--input", "inputs", multiple=True, metavar="NAME=WHAT", help="x=x.npy, x=ones, x=zeros or x=rand:SEED.")
@click.option("--all", "show_all", is_flag=True, help="Show every value, not only the worst twenty of each mode.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def verify(directory: Path, inputs: tuple[str, ...], show_all: bool, as_json: bool) -> None:
    """Run the program in DIRECTORY (a codegen_dir) node by node, isolated and accumulated, and compare all values.

    Inputs that are not given are random. Exit status 0: all errors are within their bounds. 1: some are not.
    """
    from pfcomp.verify.feeds import feeds
    from pfcomp.verify.run import verify as compare_all

    rows = compare_all(directory, feeds(directory, inputs))
    bad = [row for row in rows if not row.held]
    click.echo(_json(rows, bad) if as_json else "\n".join(_lines(rows, bad, show_all)))
    if bad:
        raise SystemExit(1)


SHOWN = 20


def _lines(rows: list[Row], bad: list[Row], show_all: bool) -> list[str]:
    """A table per mode, the largest excess over the bound first, and a summary."""
    from pfcomp.cli.ops import table

    cells: list[tuple[str, ...]] = [COLUMNS]
    for mode in ("isolated", "accumulated", "program"):
        here = sorted((row for row in rows if row.mode == mode), key=_excess, reverse=True)
        cells += [_cells(row) for row in (here if show_all else here[:SHOWN])]
    lines = table(cells)
    if bad:
        where = f" ({bad[0].source})" if bad[0].source else ""
        lines.append(f"{len(bad)} of {len(rows)} values are out of bounds; the first is {bad[0].node}{where}")
    else:
        lines.append(f"all {len(rows)} values are within their bounds")
    return lines


def _excess(row: Row) -> float:
    if row.bound:
        return row.found.relative / row.bound
    return row.found.relative and float("inf")


def _cells(row: Row) -> tuple[str, ...]:
    mark = "ok" if row.held else "BAD"
    found = row.found
    figures = [f"{v:.3g}" for v in (found.absolute, found.relative, row.bound, found.ulps)]
    return (mark, row.mode, row.node, row.op, *figures, f"{found.cosine:.7f}", row.source)


def _json(rows: list[Row], bad: list[Row]) -> str:
    listed = [{**asdict(row), "held": row.held} for row in rows]
    return json.dumps({"held": not bad, "first_bad": bad[0].node if bad else None, "values": listed})
