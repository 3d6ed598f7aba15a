"""docs/errors.md from the table of errors: `python -m pfcomp.error_page > docs/errors.md`."""

from __future__ import annotations

import sys

from pfcomp.errors import ERRORS, ErrorInfo

_HEAD = """\
# Errors

Generated from `pfcomp/errors.py` by `python -m pfcomp.error_page`; do not edit.

An error is one line on standard error: `pfcomp: CODE: where: what is wrong; what to do`. `--debug` prints the traceback
as well. From Python it is an exception of the class below, all of them subclasses of `pfcomp.errors.PfcompError`.

| class | exit status | meaning |
|---|---|---|
"""

_AREAS = {
    "01": "Assembly language",
    "02": "Layouts",
    "03": "Capture, ONNX, reference executor",
    "04": "Planning, kernels, simulation",
    "05": "Apps and other files",
    "06": "Runtime and devices",
    "07": "Emulator",
    "08": "Command line and options",
}


def render() -> str:
    """The whole page."""
    kinds = sorted({info.kind for info in ERRORS.values()}, key=lambda kind: (kind.exit_code, kind.__name__))
    lines = [f"| `{kind.__name__}` | {kind.exit_code} | {_first_line(kind.__doc__)} |" for kind in kinds]
    for area, title in _AREAS.items():
        rows = [f"| {code} | `{i.kind.__name__}` | {i.title} | {i.remedy} |" for code, i in _of(area)]
        if rows:
            head = ["| code | class | what is wrong | what to do |", "|---|---|---|---|"]
            lines += ["", f"## {title}", "", *head, *rows]
    return _HEAD + "\n".join(lines) + "\n"


def _of(area: str) -> list[tuple[str, ErrorInfo]]:
    return [(code, ERRORS[code]) for code in sorted(ERRORS) if code.startswith(f"PF{area}")]


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0].rstrip(".")


if __name__ == "__main__":
    sys.stdout.write(render())
