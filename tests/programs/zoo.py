"""Programs of the zoo on the emulated chip: every phase compiled by the real stages, every call against PFVM.

Inputs, states and wires are the same on both sides in every call, so that errors do not add up over calls.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pfcomp.app import load_app
from pfcomp.app.model import GPFNApp
from pfcomp.frontend.tolerance import relative_error
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.pfvm import PFVM
from pfcomp.pfvm.executor import STATE_SUFFIX
from pfcomp.stages.pipeline import compile_function
from tests.frontend.zoo.program import Phase, Program
from tests.programs.general import run

Array = NDArray[np.generic]

SINGLE: Mapping[str, object] = {"float_dtype": "float"}
PRODUCT_ROUNDOFF = {"float": 2.0**-22, "mixed": 2.0**-8}
"""Relative error of one product of blocks, by float_dtype (backend-kernels.md 5)."""


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """ONNX nodes and steps of all phases, the largest relative error of any output or state, and seconds of CPU."""

    name: str
    nodes: int
    steps: int
    error: float
    seconds: float


def tolerance(program: Program, float_dtype: str) -> float:
    """Rounding errors of the longest sum, once forward and once backward, through a few dozen operators."""
    return PRODUCT_ROUNDOFF[float_dtype] * (16 + 4 * program.reduction**0.5)


def on_device(program: Program, directory: Path, options: Mapping[str, object] = SINGLE) -> DeviceResult:
    """Compile and run all phases in order; raises the typed errors of the stages."""
    began = time.process_time()
    states: dict[str, Array] = {}
    outputs: dict[str, Array] = {}
    nodes, steps, error = 0, 0, 0.0
    for phase in program.phases:
        compile_function(phase.function, dict(phase.samples[0]), directory / phase.name, options)
        app = load_app(directory / phase.name / "model.app")
        reference = PFVM(directory / phase.name / "model.onnx.zst")
        wires = {name: outputs[source] for name, source in phase.wired.items()}
        states, outputs, worst = _calls(app, reference, phase, states, wires)
        nodes, steps, error = nodes + len(reference.model.graph), steps + app.program.steps, max(error, worst)
    return DeviceResult(program.name, nodes, steps, error, time.process_time() - began)


def _calls(
    app: GPFNApp, reference: PFVM, phase: Phase, states: Mapping[str, Array], wires: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array], float]:
    """All calls of a phase: states and outputs at its end, by the reference, and the largest error."""
    reference.state.update({name: array for name, array in states.items() if name in reference.state})
    outputs: dict[str, Array] = {}
    error = 0.0
    for sample in phase.samples:
        feeds = {name: to_numpy(value) for name, value in sample.items()} | dict(wires)
        found = run(app, {**reference.state, **feeds})
        outputs = reference.run(feeds)
        expected = {**outputs, **{name + STATE_SUFFIX: array for name, array in reference.state.items()}}
        error = max([error, *_errors(app, found, expected)])
    return {**states, **reference.state}, outputs, error


def _errors(app: GPFNApp, found: Mapping[str, Array], expected: Mapping[str, Array]) -> Sequence[float]:
    """One for every output; a state that the program leaves alone is no output."""
    return [relative_error(found[tensor.name], expected[tensor.name]) for tensor in app.outputs]
