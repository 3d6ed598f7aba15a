"""docs/options.md from the table: `python -m pfcomp.options.page > docs/options.md`."""

from __future__ import annotations

import json
import sys

from pfcomp.options.resolve import load_preset, preset_names
from pfcomp.options.table import TABLE, OptionInfo

_HEAD = """\
# Compile options

Generated from `pfcomp/options/table.py` by `python -m pfcomp.options.page`; do not edit.

Give them as `options={"name": value}` to `Context.compile`, as `--option name=value` to `pfcomp compile`, or in a JSON
file named by `option_json` (`--option_json`); a bare file name is looked up among the presets. Later ones win: default,
option file, `envs`, `options`, command line. An unknown name warns and is ignored. A stage runs again when an option
of its key changes. Variables `CODEGEN_*` of the process that an option names come between default and option file.
"""


def allowed(row: OptionInfo) -> str:
    """What the option takes, in words."""
    if row.choices:
        return ", ".join(row.choices)
    if row.low is None:
        return {"flag": "true, false", "file": "path of a JSON file", "mapping": "mapping"}.get(row.kind, row.kind)
    upper = "" if row.high is None else f" to {row.high:g}"
    return f"{row.kind} from {row.low:g}{upper}"


def default(row: OptionInfo) -> str:
    """The default as text, "-" for none."""
    return "-" if row.default in (None, "", {}) else str(row.default)


def render() -> str:
    """The whole page."""
    lines = [_HEAD, "| option | takes | default | enters | meaning |", "|---|---|---|---|---|"]
    for row in TABLE.values():
        stages = ", ".join(row.stages) or "-"
        variable = f" Variable `{row.environment}`." if row.environment else ""
        idle = "" if row.used else " Accepted; no effect in this version."
        cells = (f"`{row.name}`", allowed(row), default(row), stages, f"{row.meaning}.{variable}{idle}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "## Presets", "", "| file | content |", "|---|---|"]
    lines += [f"| `{name}` | `{json.dumps(load_preset(name))}` |" for name in preset_names()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
