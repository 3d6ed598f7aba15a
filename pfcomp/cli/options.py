"""`pfcomp options`: the table of compile options, and what a preset sets."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from pfcomp.options import TABLE, preset_names, resolve
from pfcomp.options.page import allowed, default
from pfcomp.options.table import OptionInfo


@click.command("options", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--option_json", "--option-json", metavar="FILE", help="Show the values under this preset.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def options(option_json: str | None, as_json: bool, debug: bool) -> None:
    """Show the compile options: name, value, what it takes, meaning, the stages that run again when it changes."""
    del debug
    chosen = resolve(None, option_json)
    if as_json:
        rows = [asdict(row) | {"value": chosen[row.name]} for row in TABLE.values()]
        click.echo(json.dumps({"options": rows, "presets": preset_names()}, indent=1))
        return
    for row in TABLE.values():
        click.echo("\n".join(_lines(row, chosen[row.name])))
    click.echo(f"presets: {', '.join(preset_names())}")


def _lines(row: OptionInfo, value: object) -> list[str]:
    shown = default(row) if value == row.default else str(value)
    stages = ", ".join(row.stages) or "no stage"
    idle = "" if row.used else "; accepted, no effect in this version"
    return [f"{row.name} = {shown}", f"    {row.meaning}{idle}", f"    takes: {allowed(row)}; enters: {stages}", ""]
