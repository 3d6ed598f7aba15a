"""`pfcomp asm`: check, format, count, encode and disassemble assembly programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pfcomp.isa.model import Program

_INPUT = click.Path(exists=True, dir_okay=False, allow_dash=True)
_OUTPUT = click.Path(dir_okay=False, allow_dash=True)
_STANDARD = "-"


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == _STANDARD else Path(file).read_bytes()


def _data(file: str) -> bytes:
    """The file's bytes, decompressed where they start like a Zstandard frame."""
    from pfcomp.artifacts import ZSTD_MAGIC, decompress

    data = _read(file)
    return decompress(data, where=_name(file)) if data.startswith(ZSTD_MAGIC) else data


def _text(file: str) -> str:
    """Assembly text; bytes that are not UTF-8 can only be right in comments, elsewhere the parser names their line."""
    return _data(file).decode("utf-8", errors="replace")


def _name(file: str) -> str:
    return "<stdin>" if file == _STANDARD else file


def _write(file: str, data: bytes) -> None:
    from pfcomp.artifacts import atomic_write

    if file == _STANDARD:
        click.echo(data, nl=False)
    else:
        atomic_write(file, data)


def _program(file: str) -> Program:
    """The program of an assembly file, a GPFNBin file made by `asm encode` or an app; all may be compressed."""
    from pfcomp.isa import parse
    from pfcomp.isa.binfields import MAGIC

    data = _data(file)
    if data.startswith(MAGIC) or _is_app(data):
        return _binary(data, file)
    return parse(data.decode("utf-8", errors="replace"), _name(file))


def _is_app(data: bytes) -> bool:
    from pfcomp.app.schema import IDENTIFIER

    return data[4:8] == IDENTIFIER


def _binary(data: bytes, file: str) -> Program:
    """The program in GPFNBin or in an app."""
    from pfcomp.isa import decode

    if _is_app(data):
        from pfcomp.app import load_app

        return load_app(data, check=False, where=_name(file)).program
    return decode(data)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def asm() -> None:
    """Check and translate assembly programs. FILE may be - for standard input."""


def _findings(file: str) -> tuple[list[str], int]:
    """Lines `file:line: RULE: text` in the order of the file, and how many of them are errors."""
    from pfcomp.isa import parse_lines
    from pfcomp.isa.check import check

    program, problems = parse_lines(_text(file))
    rows = [(p.line, "syntax", p.text, True) for p in problems]
    # The hazards of a program with holes mean nothing, so bad lines are reported alone.
    if not problems:
        rows = [(f.line, f.rule, f.text, f.severity == "error") for f in check(program)]
    lines = [f"{_name(file)}:{line}: {rule}: {text}{'' if bad else ' (warning)'}" for line, rule, text, bad in rows]
    return lines, sum(bad for *_, bad in rows)


@asm.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_INPUT)
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Print every broken rule as FILE:LINE: RULE: TEXT. The exit status is 1 if there is an error among them."""
    errors = total = 0
    for file in files:
        lines, bad = _findings(file)
        errors, total = errors + bad, total + len(lines)
        for line in lines:
            click.echo(line)
    click.echo(f"{len(files)} files, {errors} errors, {total - errors} warnings", err=True)
    ctx.exit(1 if errors else 0)


@asm.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_INPUT)
@click.option("-w", "--write", is_flag=True, help="Replace the files instead of printing.")
@click.option("--check", "only_check", is_flag=True, help="Print nothing, exit 1 if a file would change.")
@click.pass_context
def fmt(ctx: click.Context, files: tuple[str, ...], write: bool, only_check: bool) -> None:
    """Write programs in canonical form; comments stay."""
    from pfcomp.isa.fmt import format_source

    changed = 0
    for file in files:
        text = _text(file)
        formatted = format_source(text, _name(file))
        changed += formatted != text
        if only_check:
            continue
        if not write or file == _STANDARD:
            _write(_STANDARD, formatted.encode())
        elif formatted != text:
            _write(file, formatted.encode())
    ctx.exit(1 if only_check and changed else 0)


@asm.command()
@click.argument("file", metavar="FILE", type=_INPUT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats(file: str, as_json: bool) -> None:
    """Count steps, operations, unit utilisation and transfers of an assembly or GPFNBin FILE, or of an app."""
    from pfcomp.isa.stats import statistics, stats_lines

    found = statistics(_program(file))
    click.echo(json.dumps(found.to_json(), indent=1) if as_json else "\n".join(stats_lines(found)))


@asm.command()
@click.argument("file", metavar="FILE", type=_INPUT)
@click.option("-o", "--output", type=_OUTPUT, required=True, help="Where the bytes go; - for standard output.")
def encode(file: str, output: str) -> None:
    """Write an assembly FILE as GPFNBin (docs/gpfnbin.md)."""
    from pfcomp.isa import encode as encode_program

    _write(output, encode_program(_program(file)))


@asm.command()
@click.argument("file", metavar="FILE", type=_INPUT)
@click.option("-o", "--output", type=_OUTPUT, default=_STANDARD, help="Where the text goes; standard output if absent.")
def disasm(file: str, output: str) -> None:
    """Print a GPFNBin FILE, or the program of an app, as assembly. Compressed files are read too."""
    from pfcomp.isa import print_program

    _write(output, print_program(_binary(_data(file), file)).encode())
