"""`pfcomp doctor`: what this installation can do, and what to do about what it cannot."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib import metadata

import click

import pfcomp

_PACKAGES = ("torch", "numpy", "onnx", "onnx-ir", "onnxscript", "onnxruntime", "flatbuffers", "zstandard")
_MISSING = "missing"


@click.command("doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Print the traceback of errors.")
def doctor(as_json: bool, debug: bool) -> None:
    """Say which versions are installed, which emulator engine is in use and where boards and cache live.

    Exit status 0 if everything that pfcomp needs is there, 1 otherwise.
    """
    del debug
    rows = {name: probe() for name, probe in _PROBES.items()}
    rows |= {name: _version(name) for name in _PACKAGES}
    lines = (f"{name:<14} {value}" for name, value in rows.items())
    click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(lines))
    if _MISSING in rows.values():
        if not as_json:
            click.echo("install what is missing: pip install pfcomp", err=True)
        raise SystemExit(1)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return _MISSING


def _engine() -> str:
    from pfcomp.emulator.c.native import describe

    return describe()


def _boards() -> str:
    from pfcomp.runtime.devices import board_count

    return f"{board_count()} emulated"


def _cache() -> str:
    from pfcomp.cache import default_folder

    return str(default_folder())


_PROBES: dict[str, Callable[[], str]] = {
    "pfcomp": lambda: pfcomp.__version__,
    "python": platform.python_version,
    "machine": lambda: f"{platform.system()} {platform.machine()}",
    "engine": _engine,
    "boards": _boards,
    "cache": _cache,
}
