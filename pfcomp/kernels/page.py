"""The operator tables of docs/numerics.md, from the rows: `python -m pfcomp.kernels.page` writes the page anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pfcomp.kernels.elementwise import cost
from pfcomp.kernels.recipes import conversions, doubles, relations, single, whole
from pfcomp.kernels.recipes.row import Row

START, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
HEAD = "| operator | types | result | error | domain | special cases | MAU | ALU |\n|---|---|---|---|---|---|---|---|\n"

SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("Float", single.ROWS),
    ("Double", doubles.ROWS),
    ("Int, Long and Bool", whole.ROWS),
    ("Comparisons and selection", relations.ROWS),
    ("Cast", conversions.ROWS),
)

_EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {"BitShift": (("direction", "LEFT"),)}


def tables() -> str:
    """All tables, each with a heading."""
    return "\n".join(f"### {title}\n\n{HEAD}{''.join(map(_line, rows))}" for title, rows in SECTIONS)


def _line(row: Row) -> str:
    return f"| {' | '.join(_cells(row))} |\n"


def _cells(row: Row) -> Iterator[str]:
    types = list(row.inputs) if len(row.inputs) > 1 else [row.inputs[0]] * max(row.least, 2 if row.most is None else 0)
    mau, alu = cost(row.op, types, row.output, _EXAMPLES.get(row.op, ()))
    yield row.op
    yield _types(row)
    yield row.meaning.replace("|", "\\|")
    yield f"{row.ulp:g}" if row.ulp else "exact"
    yield row.domain.replace("|", "\\|") or "all"
    yield row.specials.replace("|", "\\|")
    yield str(mau)
    yield str(alu)


def _types(row: Row) -> str:
    shown = ", ".join(row.inputs)
    return shown if row.output is row.inputs[-1] else f"{shown} → {row.output}"


def page(old: str) -> str:
    """The page with its tables replaced."""
    before, _, rest = old.partition(START)
    return f"{before}{START}\n{tables()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = Path(__file__).parents[2] / "docs" / "numerics.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
