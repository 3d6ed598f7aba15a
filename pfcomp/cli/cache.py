"""`pfcomp cache info|clear|gc|why`: the compilation cache."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from pfcomp.cache import DEFAULT_LIMIT, KINDS, Cache, Entry, default_folder
from pfcomp.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _folder_option(function: F) -> F:
    name = "--cache-dir", "--cache_dir"
    text = "The cache_dir of CacheOptions; default: the user's cache folder."
    return click.option(*name, "folder", type=click.Path(path_type=Path), help=text)(function)


def _cache(folder: Path | None, limit: int = DEFAULT_LIMIT) -> Cache:
    cache = Cache(folder or default_folder(), limit=limit)
    cache.require()
    return cache


@click.group("cache", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def cache(debug: bool) -> None:
    """Show and clear the cache of compilations."""
    del debug


@cache.command("info")
@_folder_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(folder: Path | None, as_json: bool) -> None:
    """Print entries and bytes by kind."""
    found = _cache(folder)
    entries = found.entries()
    rows = {
        kind: {"entries": len(own), "bytes": sum(entry.size for entry in own)}
        for stage, kind in KINDS.items()
        for own in [[entry for entry in entries if entry.stage == stage]]
    }
    if as_json:
        click.echo(json.dumps({"folder": str(found.folder), "kinds": rows}, indent=1))
        return
    click.echo(f"folder             {found.folder}")
    for kind, row in rows.items():
        click.echo(f"{kind:<18} {row['entries']:>6} entries {row['bytes']:>15,} bytes")


@cache.command("clear")
@_folder_option
def clear(folder: Path | None) -> None:
    """Remove all entries."""
    click.echo(f"{_cache(folder).clear()} entries removed")


@cache.command("gc")
@_folder_option
@click.option("--limit", default="10G", show_default=True, metavar="SIZE", help="Keep at most this much: 500M, 10G.")
def collect(folder: Path | None, limit: str) -> None:
    """Remove the least recently used entries until the cache holds at most SIZE."""
    size = parse_size(limit)
    found = _cache(folder)
    removed = found.collect(size) if found.folder.exists() else 0
    click.echo(f"{removed} entries removed")


@cache.command("why")
@_folder_option
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def why(folder: Path | None, directory: Path) -> None:
    """Say for each stage of the codegen_dir DIR whether the cache has it, and if not, what differs."""
    from pfcomp.options import resolve
    from pfcomp.stages import manifest as manifests
    from pfcomp.stages.table import TABLE

    found = _cache(folder)
    options = resolve(manifests.load_own(directory).options)
    entries = found.entries()
    for stage in KINDS:
        row = TABLE[stage]  # type: ignore[index]
        reads = row.reads(directory)
        if not all((directory / name).exists() for name in reads):
            click.echo(f"{stage}: not run yet, its inputs are missing")
            continue
        key = manifests.stage_key(row.name, directory, options, reads).key()
        hit = (found.place(stage, key) / "entry.json").exists()
        own = [entry for entry in entries if entry.stage == stage]
        click.echo(f"{stage}: {'in the cache' if hit else explain(key, own)}")


def explain(key: Mapping[str, Any], entries: list[Entry]) -> str:
    """Why no entry has `key`: what differs from the one that shares most with it."""
    if not entries:
        return "not in the cache, which has no entry of this kind"
    differing = [[name for name in key if entry.key.get(name) != key[name]] for entry in entries]
    nearest = min(reversed(differing), key=len)
    meanings = {"code": "the compiler's sources", "options": "options of the stage", "inputs": "the files it reads"}
    return f"not in the cache; different from the nearest entry: {', '.join(meanings[name] for name in nearest)}"


def parse_size(text: str) -> int:
    """`500M` as bytes; raises UsageError PF0801."""
    found = re.fullmatch(r"(\d+)([KMGT]?)i?B?", text.strip())
    if found is None:
        raise UsageError("PF0801", f"size {text!r} is not understood", hint="write 500M or 10G")
    return int(found[1]) * _UNITS[found[2]]
