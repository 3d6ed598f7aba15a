"""What a program of the zoo is, and its comparison: eager torch, onnxruntime on the export, PFVM after the passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnxruntime
import torch

from pfcomp.frontend import capture, export
from pfcomp.frontend.names import get_tensor_name, set_buffer_name_in_optimizer, set_tensor_name_in_module
from pfcomp.frontend.randomness import SEED_NAME
from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.core_ops import classify
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM
from pfcomp.pfvm.executor import STATE_SUFFIX
from pfcomp.pfvm.external import serialised

Function = Callable[[dict[str, torch.Tensor]], Mapping[str, torch.Tensor]]


@dataclass(frozen=True, slots=True)
class Phase:
    """A function that is compiled, and the inputs of its calls in order.

    `wired` maps inputs to outputs of the last call before this phase, which all its calls receive; their values in
    `samples` only give shape and dtype.
    """

    name: str
    function: Function
    samples: Sequence[dict[str, torch.Tensor]]
    wired: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """Phases that share named states, as the compiled functions of one context do.

    `reduction` is the length of the longest sum in the program, which the tolerance depends on; `states` are the
    tensors that eager torch changes, by name.
    """

    name: str
    phases: tuple[Phase, ...]
    reduction: int
    states: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """ONNX nodes of all phases, calls, and the largest relative errors of outputs and final states to eager torch."""

    name: str
    nodes: int
    steps: int
    onnxruntime: float
    pfvm: float
    tolerance: float

    @property
    def worst(self) -> float:
        return max(self.onnxruntime, self.pfvm)


def named(prefix: str, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> dict[str, Any]:
    """Name a module's tensors and those of its optimizer; returns them by name."""
    set_tensor_name_in_module(module, prefix)
    tensors = [*module.parameters(), *module.buffers()]
    if optimizer is not None:
        set_buffer_name_in_optimizer(optimizer, f"{prefix}_optimizer")
        held = [*optimizer.param_groups, *optimizer.state.values()]
        tensors += [value for values in held for value in values.values() if isinstance(value, torch.Tensor)]
    return {str(get_tensor_name(tensor)): tensor for tensor in tensors}


class Exported:
    """The export as it is, run by onnxruntime without anything of PFVM; states are fed back by hand."""

    def __init__(self, model: Any) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # no warning that states are inputs with a default
        self._session = onnxruntime.InferenceSession(serialised(model), options, providers=["CPUExecutionProvider"])
        self.outputs = [value.name for value in self._session.get_outputs()]
        inputs = model.graph.inputs
        self.inputs = [value.name for value in inputs]
        self.state = {v.name: v.const_value.numpy() for v in inputs if v.const_value is not None}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        feeds = {k: v for k, v in {**self.state, **inputs}.items() if k in self.inputs}
        results = dict(zip(self.outputs, self._session.run(None, feeds), strict=True))
        updates = [name for name in results if name.removesuffix(STATE_SUFFIX) in self.state]
        for name in updates:
            self.state[name.removesuffix(STATE_SUFFIX)] = results.pop(name)
        return results


@dataclass(slots=True)
class _Way:
    """The executors of all phases of a program on one of the ways, with what they share."""

    executors: list[Any]
    shared: dict[str, Any]
    outputs: dict[str, Any]
    wires: dict[str, Any]
    error: float = 0.0

    def enter(self, number: int, phase: Phase) -> None:
        state = self.executors[number].state
        state.update({name: value for name, value in self.shared.items() if name in state})
        self.wires = {name: self.outputs[source] for name, source in phase.wired.items()}

    def call(self, number: int, sample: Mapping[str, torch.Tensor], expected: Mapping[str, Any]) -> None:
        feeds = {name: to_numpy(value) for name, value in sample.items()} | self.wires
        self.outputs = self.executors[number].run(feeds)
        self.shared |= self.executors[number].state
        assert list(self.outputs) == list(expected)
        self._compare(self.outputs, expected)

    def finish(self, states: Mapping[str, torch.Tensor]) -> None:
        """Compare all states but the seed, which eager torch does not have; another one it lacks is a KeyError."""
        self._compare(self.shared, {name: states[name] for name in self.shared if name != SEED_NAME})

    def _compare(self, values: Mapping[str, Any], expected: Mapping[str, torch.Tensor]) -> None:
        for name, value in expected.items():
            self.error = max(self.error, relative_error(values[name], to_numpy(value)))


def standard(model: Any, feeds: Mapping[str, Any]) -> None:
    """The passes, without a look at what they do."""
    optimise(model)


def compare(program: Program, passes: Callable[[Any, dict[str, Any]], Any] = standard) -> Result:
    """Capture all phases, then run them in order on all ways; `passes` gets each model and the first call's inputs.

    AssertionError where an exported model holds an operator outside the core set or outputs in another order.
    """
    exported, optimised = [], []
    nodes = 0
    for phase in program.phases:
        captured = capture(phase.function, phase.samples[0], repeat=False)
        exported.append(Exported(export(captured)))
        model = export(captured)
        passes(model, {name: to_numpy(value) for name, value in phase.samples[0].items()})
        assert classify(model).unknown == ()
        nodes += len(model.graph)
        optimised.append(PFVM(model))
    ways = [_Way(exported, {}, {}, {}), _Way(optimised, {}, {}, {})]
    _run(program, ways)
    for way in ways:
        way.finish(program.states)
    steps = sum(len(phase.samples) for phase in program.phases)
    limit = tolerance("float32", program.reduction)
    return Result(program.name, nodes, steps, ways[0].error, ways[1].error, limit)


def _run(program: Program, ways: Sequence[_Way]) -> None:
    outputs: Mapping[str, torch.Tensor] = {}
    for number, phase in enumerate(program.phases):
        for way in ways:
            way.enter(number, phase)
        wires = {name: outputs[source].detach() for name, source in phase.wired.items()}
        for sample in phase.samples:
            outputs = phase.function(sample | wires)
            for way in ways:
                way.call(number, sample, outputs)


def eagerly(program: Program) -> None:
    """Every phase once per sample with eager torch alone."""
    _run(program, ())
