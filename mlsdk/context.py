"""Context: compiled functions that share named device tensors (mlsdk.md 1.3, 1.4)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from mlsdk.automap import automap
from mlsdk.cache_options import CacheOptions
from mlsdk.device import MNDevice
from mlsdk.function import CompiledFunction, keep_programs
from mlsdk.proxy import TensorProxy
from mlsdk.tensors import TORCH_TYPES, TYPE_NAMES, TorchTensor
from pfcomp.cache import Cache
from pfcomp.errors import UnsupportedError, UsageError
from pfcomp.frontend.names import (
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
)
from pfcomp.runtime.devices import Device, DeviceKind, parse_device
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.queue import drain_all
from pfcomp.runtime.registry import Registry
from pfcomp.stages.manifest import check_readable
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.source import active as compile_only_run
from pfcomp.stages.trace import trace_function

Function = Callable[[dict[str, Tensor]], Mapping[str, Tensor]]


class ConstraintWarning(UserWarning):
    """A function cannot have the layouts that `io_spec_constraints` ask for; tensors are converted instead."""


class NamedTensors(Registry):
    """`context.registry`: the context's tensors by name, with `register` for whole modules and optimizers."""

    def register_tensor(self, tensor: Tensor) -> None:
        """Register one tensor under the name it has. Raises UsageError PF0611, UnsupportedError PF0622."""
        name = get_tensor_name(tensor)
        if name is None:
            hint = "call set_tensor_name or set_tensor_name_in_module before register_*"
            raise UsageError("PF0611", f"a tensor of shape {tuple(tensor.shape)} has no name", hint=hint)
        if tensor.dtype not in TYPE_NAMES:
            hint = f"use {', '.join(TORCH_TYPES)}"
            raise UnsupportedError("PF0622", f"tensor {name!r} has elements of type {tensor.dtype}", hint=hint)
        self.add(name, TorchTensor(tensor))

    def note(self, captured: Mapping[str, Tensor]) -> None:
        """Remember which tensors a function uses: their contents are where its states begin, unless registered.

        Raises UsageError PF0608 where the context knows another tensor of a name.
        """
        for name, tensor in captured.items():
            if tensor.dtype in TYPE_NAMES:
                self.know(name, TorchTensor(tensor))

    def register(self, name: str, obj: nn.Module | Optimizer) -> None:
        """Name and register all tensors of a module or optimizer under the prefix `name`."""
        if isinstance(obj, nn.Module):
            set_tensor_name_in_module(obj, name)
            tensors: Iterable[Tensor] = (*obj.parameters(), *obj.buffers())
        else:
            set_buffer_name_in_optimizer(obj, name)
            tensors = optimizer_tensors(obj)
        for tensor in tensors:
            self.register_tensor(tensor)


class Context:
    """Owns named tensors and compiled functions on a device. One context is active at a time in a process."""

    _active: Context | None = None

    def __init__(self, device: MNDevice) -> None:
        self.device = device
        self.registry = NamedTensors()
        self._functions: list[CompiledFunction] = []

    @property
    def executor(self) -> Device:
        """Where calls run: the context's device, `pfvm:cpu` while `pfcomp compile --keep-going` runs the program."""
        run = compile_only_run()
        return parse_device("pfvm:cpu") if run is not None and run.keep_going else self.device.device

    @staticmethod
    def switch_context(context: Context) -> None:
        """Make `context` the active one: the tensors of the former one go back to the host first."""
        former = Context._active
        if former is context:
            return
        if former is not None:
            former.registry.leave_device()
        Context._active = context

    def activate(self) -> None:
        """`Context.switch_context(self)`."""
        Context.switch_context(self)

    def compile(
        self,
        function: Function,
        inputs: Mapping[str, Any],
        codegen_dir: str | Path,
        *,
        options: Mapping[str, Any] | None = None,
        cache_options: CacheOptions | None = None,
        num_compiler_threads: int | None = None,
        quiet: bool = False,
        export_kwargs: Mapping[str, Any] | None = None,
        optimizers: Iterable[Optimizer] | None = None,
        training: bool = True,
        io_spec_constraints: Mapping[str, IOSpec] | None = None,
        **others: Any,
    ) -> CompiledFunction:
        """Compile `function` for inputs like `inputs` into the folder `codegen_dir`.

        `io_spec_constraints` forces inputs, outputs and registered tensors of these names to the layouts of the given
        specs. The other keywords of the SDK are accepted: those that only steer its own exporter or compiler have no
        effect. On `pfvm:*` only the stages up to onnx run. Raises the typed errors of the stages.
        """
        self.activate()
        keep_programs(Path(codegen_dir))
        forced = _layouts(io_spec_constraints or {})
        cache = None if cache_options is None else cache_options.open()
        run = partial(self._compile, function, inputs, codegen_dir, cache, dict(options or {}))
        try:
            directory = run({"io_layouts": forced} if forced else {})
        except UnsupportedError as error:
            if not forced or error.code != "PF0406":
                raise
            warnings.warn(f"io_spec_constraints have no effect: {error}", ConstraintWarning, stacklevel=2)
            directory = run({})
        return self._function(directory, getattr(function, "__name__", "function"))

    def _compile(
        self,
        function: Function,
        inputs: Mapping[str, Any],
        codegen_dir: str | Path,
        cache: Cache | None,
        *options: Mapping[str, Any],
    ) -> Path:
        """Compile with these options, later ones win; returns the folder."""
        chosen = {name: value for each in options for name, value in each.items()}
        states = {name: e.host.tensor for name, e in self.registry.entries.items() if isinstance(e.host, TorchTensor)}
        stop = "onnx" if self.device.device.kind is DeviceKind.PFVM else None
        sample = {key: _like(value) for key, value in inputs.items()}
        captured: dict[str, Tensor] = {}

        def name_of(tensor: Tensor) -> str | None:
            name = get_tensor_name(tensor)
            if name is not None:
                captured[name] = tensor
            return name

        trace = partial(trace_function, name_of=name_of)
        result = compile_function(
            function, sample, codegen_dir, chosen, states=states, stop=stop, cache=cache, trace=trace
        )
        self.registry.note(captured)
        return result.directory

    def load_codegen_dir(self, path: str | Path) -> CompiledFunction:
        """The function that was compiled into the folder `path`, in this or another process."""
        check_readable(Path(path))
        return self._function(Path(path), Path(path).name)

    def compile_automap(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        codegen_dir: str | Path,
        **keywords: Any,
    ) -> Callable[..., Any]:
        """Compile a function of nested arguments; the result is called with the same structure (mlsdk.md 1.4.2)."""
        return automap(self.compile, function, args, kwargs, codegen_dir, **keywords)

    def register_param(self, param: Tensor) -> None:
        """Share a named parameter with the compiled functions and write it back at `synchronize`."""
        self.registry.register_tensor(param)

    def register_buffer(self, buffer: Tensor) -> None:
        """Share a named buffer with the compiled functions and write it back at `synchronize`."""
        self.registry.register_tensor(buffer)

    def register_optimizer_buffers(self, optimizer: Optimizer) -> None:
        """Share the optimizer's state tensors and write them back at `synchronize`."""
        for tensor in optimizer_tensors(optimizer):
            self.registry.register_tensor(tensor)

    def get_registered_value_proxy(self, tensor: Tensor) -> TensorProxy:
        """The device side of a registered tensor, usable before and between runs. Raises UsageError PF0612."""
        name = get_tensor_name(tensor)
        entry = self.registry.entries.get(name or "")
        if entry is None:
            raise UsageError(
                "PF0612", f"tensor {name!r} is not registered", hint="call register_param or register_buffer"
            )
        return TensorProxy(entry)

    def synchronize(self) -> None:
        """Wait for the device and copy every registered tensor to its host tensor. Raises the errors of failed runs."""
        drain_all()
        self.registry.write_back()

    def invalidate(self) -> None:
        """Give back what the context holds on the device; its named tensors keep their contents on the host."""
        drain_all()
        self.registry.leave_device()
        for function in self._functions:
            function.close()
        if Context._active is self:
            Context._active = None

    def _function(self, directory: Path, name: str) -> CompiledFunction:
        function = CompiledFunction(self, directory, name)
        self._functions.append(function)
        return function


def _like(value: Any) -> Any:
    """An empty tensor like the proxy `value`, whose contents a compilation does not need; other values as they are."""
    return torch.empty(value.shape, dtype=value.dtype) if isinstance(value, TensorProxy) else value


def _layouts(constraints: Mapping[str, IOSpec]) -> dict[str, str]:
    """The compiler's option `io_layouts`: element type and layout by name, where the other side has a layout."""
    return {name: f"{spec.dtype}/{spec.layout}" for name, spec in constraints.items() if spec.layout is not None}


def optimizer_tensors(optimizer: Optimizer) -> list[Tensor]:
    """State tensors of an optimizer: by parameter, then those in the parameter groups."""
    found: list[Any] = [value for state in optimizer.state.values() for value in state.values()]
    found += [value for group in optimizer.param_groups for key, value in group.items() if key != "params"]
    return [value for value in found if isinstance(value, Tensor)]
