"""The rule table of docs/checker.md, generated from `RULES` and the hazard tables.

`python -m pfcomp.isa.check.docs docs/checker.md` rewrites the part of the page between the markers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pfcomp.isa.effects_hazards import DATA_HAZARDS, PORT_HAZARDS

from .rules import RULES

BEGIN, END = "<!-- generated: rules -->", "<!-- end -->"


def rule_table() -> str:
    """Markdown tables of all rules and of the distances between steps."""
    lines = [
        "| rule | severity | isa.md | what is wrong | reading of what isa.md leaves open |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r.id} | {r.severity} | {r.section} | {r.title} | {r.reading} |" for r in RULES.values()]
    lines += ["", "| hazard | producer, then consumer | steps apart, at least | addresses |", "|---|---|---|---|"]
    for hazards, where in ((PORT_HAZARDS, "any"), (DATA_HAZARDS, "the same long words")):
        lines += [f"| {h.rule} | {h.text} | {h.gap + 1} | {where} |" for h in hazards]
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with its generated part replaced."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{rule_table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(with_table(target.read_text()))
