"""Opening what the compiler wrote, for any device: the app on boards and emulators, the compiled ONNX on PFVM."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pfcomp.app import load_app
from pfcomp.errors import ArtifactError
from pfcomp.ir.elements import Array
from pfcomp.runtime.board_function import BoardFunction
from pfcomp.runtime.devices import Device, DeviceKind
from pfcomp.runtime.engine import Engine, engine_of
from pfcomp.runtime.iospec import IOSpec

APP_NAMES = ("model.app", "model.app.zst")
ONNX_NAMES = ("model.onnx.zst", "model.onnx")


class Program(Protocol):
    """A compiled function that is ready to run on a device.

    `inputs`, `outputs` and `state` are specs by name; `mutated` names the state that a run changes. `on_device` tells
    whether outputs are device tensors; `figures` are the compiler's counts (steps, moves, ...).
    """

    inputs: dict[str, IOSpec]
    outputs: dict[str, IOSpec]
    state: dict[str, IOSpec]
    mutated: frozenset[str]
    on_device: bool
    figures: dict[str, int]

    # device values are BoardValues or HostValues, never mixed inside one program

    def new_value(self, name: str) -> Any:
        """A fresh device tensor for the input or state `name`."""

    def bind(self, name: str, source: Any) -> Any:
        """The device tensor to run input `name` on, from an array or a handle."""

    def initial(self, name: str) -> Array:
        """First contents of a state that the context knows nothing about."""

    def call(self, inputs: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
        """Run on these device tensors; returns fresh output tensors by name."""


def open_program(device: Device, path: Path, label: str) -> Program:
    """The function compiled into the codegen_dir `path`, or the file itself, for `device`.

    Raises ArtifactError PF0613 if `path` has nothing that the device can run, and whatever is wrong with the file.
    """
    if device.kind is DeviceKind.PFVM:
        from pfcomp.runtime.pfvm_function import PfvmFunction

        provider = device.provider if device.index is None else f"{device.provider}:{device.index}"
        return PfvmFunction(provider, find_file(path, ONNX_NAMES, "onnx"), label)
    return open_app(engine_of(device), path, label)


def open_app(engine: Engine, path: Path, label: str) -> BoardFunction:
    """The app in `path` (a codegen_dir or an app file), loaded and verified, for `engine`."""
    app = load_app(find_file(path, APP_NAMES, "codegen"))
    return BoardFunction(engine, app, label, partial(_initials, path))


def _initials(path: Path) -> dict[str, Array]:
    """The states' contents at compile time, from the codegen_dir's model; empty if there is none."""
    folder = path if path.is_dir() else path.parent
    if not any((folder / name).is_file() for name in ONNX_NAMES):
        return {}
    from pfcomp.runtime.pfvm_function import initial_states

    return initial_states(find_file(folder, ONNX_NAMES, "onnx"))


def find_file(path: Path, names: tuple[str, ...], stage: str) -> Path:
    """`path` itself if it is a file, else the first of `names` in the folder. Raises ArtifactError PF0613."""
    if path.is_file():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    if not path.exists():
        raise ArtifactError("PF0613", "does not exist", where=str(path), hint="compile into it first")
    hint = f"compile into it, up to the stage {stage} (`pfcomp {stage} {path}`)"
    raise ArtifactError("PF0613", f"has no {names[0]}", where=str(path), hint=hint)
