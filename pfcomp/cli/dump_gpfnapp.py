"""`dump_gpfnapp`: what an app holds, beginning with the lines of the SDK's tool of that name (design.md 7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import click

from pfcomp.cli.shell import run_command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--section", "sections", multiple=True, metavar="NAME", help="Only this section; repeatable.")
@click.option("--node", metavar="NAME", help="Only the program and debug entries of this node.")
@click.option("--disasm", is_flag=True, help="Print the program as assembly text instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def cli(file: Path, sections: tuple[str, ...], node: str | None, disasm: bool, as_json: bool, debug: bool) -> None:
    """Show what FILE holds: an app (model.app, model.app.zst) or a codegen_dir with one.

    Sections: inputs, outputs, state, constants, program, relocations, debug, statistics.
    """
    del debug
    from pfcomp.app import dump_json, dump_text, load_app
    from pfcomp.app.dump import disassemble

    app = load_app(_app_file(file), check=False)
    if disasm:
        text = disassemble(app, node=node)
        click.echo(json.dumps({"program": text.splitlines()}, indent=1) if as_json else text, nl=as_json)
    elif as_json:
        click.echo(json.dumps(dump_json(app, sections or None, node=node), indent=1))
    else:
        click.echo(dump_text(app, sections or None, node=node), nl=False)


def _app_file(path: Path) -> Path:
    """The app in a codegen_dir, or the path itself."""
    if not path.is_dir():
        return path
    found = next((path / name for name in ("model.app", "model.app.zst") if (path / name).exists()), None)
    return found or path / "model.app"


def main() -> NoReturn:
    """Entry point of the console script."""
    run_command(cli, "dump_gpfnapp")


if __name__ == "__main__":
    main()
