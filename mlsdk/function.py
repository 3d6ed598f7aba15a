"""CompiledFunction: a compiled function that is called with a mapping of tensors (mlsdk.md 1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

import torch
from torch import Tensor

from mlsdk.proxy import TensorProxy
from mlsdk.tensors import shaped_for, to_array, to_tensor
from pfcomp.errors import ArtifactError, PfcompError, UsageError
from pfcomp.runtime.devices import Device
from pfcomp.runtime.functions import Program, open_program
from pfcomp.runtime.handle import Handle
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.tracing import host_track, recorded
from pfcomp.stages.source import execution_reached

if TYPE_CHECKING:
    from mlsdk.context import Context

TensorLike: TypeAlias = Tensor | TensorProxy

_FUNCTIONS: WeakSet[CompiledFunction] = WeakSet()


class CompiledFunction:
    """A function compiled into `codegen_dir` for the device of `context`; `Context.compile` makes them."""

    def __init__(self, context: Context, codegen_dir: Path, name: str) -> None:
        self.context = context
        self.codegen_dir = codegen_dir
        self.name = name
        _FUNCTIONS.add(self)

    @property
    def input_specs(self) -> Mapping[str, IOSpec]:
        """Spec of each input by name, in the order of the sample."""
        return dict(self._compiled.inputs)

    @property
    def output_specs(self) -> Mapping[str, IOSpec]:
        """Spec of each output by name, in the order in which the function returns them."""
        return dict(self._compiled.outputs)

    def allocate_input_proxy(self) -> dict[str, TensorProxy]:
        """New device tensors, one for each input, to be filled with `load_from` and passed to a call."""
        return {name: TensorProxy(self._program.new_value(name)) for name in self._program.inputs}

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, TensorLike]:
        """Run on tensors or proxies by input name; other keys are ignored.

        Inputs may have another shape with as many elements and another element type. Returns a new dictionary of
        proxies, of plain tensors on `pfvm:*`. It may return before the device is done; errors of the device then
        reach whoever reads a result.
        """
        execution_reached(self.name)
        self.context.activate()
        program = self._program
        with recorded(host_track(), f"call {self.name}"):
            bound = {name: program.bind(name, _source(spec, inputs)) for name, spec in program.inputs.items()}
            state = {name: self._state(program, name) for name in program.state}
            results = program.call(bound, state)
        if not program.on_device:
            return {name: to_tensor(value.read(), value.spec.torch_dtype) for name, value in results.items()}
        return {name: TensorProxy(value) for name, value in results.items()}

    def _state(self, program: Program, name: str) -> Handle:
        """The device value of a named tensor for a run."""
        entry = self.context.registry.know(name)
        changes = name in program.mutated
        entry.mutated |= changes
        new, initial = partial(program.new_value, name), partial(program.initial, name)
        return entry.bind(program.state[name], new, initial, changes=changes)

    def keep(self) -> None:
        """Load what is in the folder, if it can run, before another compilation replaces it."""
        with suppress(PfcompError):
            _ = self._program

    def close(self) -> None:
        """Forget what the device holds for the function; the next use loads it again."""
        for name in ("_program", "_compiled"):
            self.__dict__.pop(name, None)

    @cached_property
    def _program(self) -> Program:
        """What calls run."""
        return self._open(self.context.executor)

    @cached_property
    def _compiled(self) -> Program:
        """What was compiled, for the specs; other than what runs only under `pfcomp compile --keep-going`."""
        device = self.context.device.device
        if device == self.context.executor:
            return self._program
        try:
            return self._open(device)
        except ArtifactError as error:
            if error.code != "PF0613" or not execution_reached(self.name):
                raise
            return self._program  # only the stages up to onnx ran: specs without layouts

    def _open(self, device: Device) -> Program:
        try:
            return open_program(device, self.codegen_dir, self.name)
        except ArtifactError as error:
            if error.code == "PF0613":  # `pfcomp compile --to onnx` has nothing that could run; it ends here
                execution_reached(self.name)
            raise


def keep_programs(codegen_dir: Path) -> None:
    """Let the functions that were compiled into a folder go on when it is used again."""
    place = codegen_dir.resolve()
    for function in list(_FUNCTIONS):
        if function.codegen_dir.resolve() == place:
            function.keep()


def _source(spec: IOSpec, inputs: Mapping[str, Any]) -> Any:
    """The input that `spec` names: a handle if it is a proxy, else an array of the spec's host type and shape."""
    if spec.name not in inputs:
        raise AssertionError(f"{spec.name} is not in inputs.")
    value = inputs[spec.name]
    if isinstance(value, TensorProxy):
        shaped_for(spec, value.numel())
        handle: Handle = value.handle
        return handle
    tensor = value if isinstance(value, Tensor) else _tensor(spec, value)
    shaped_for(spec, tensor.numel())
    return to_array(tensor, spec.torch_dtype).reshape(spec.shape)


def _tensor(spec: IOSpec, value: Any) -> Tensor:
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"input {spec.name!r} is {type(value).__name__}, not a tensor"
        raise UsageError("PF0610", what, hint="pass a torch.Tensor or a TensorProxy") from error
