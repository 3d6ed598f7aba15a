"""Runs a compiled program node by node beside the reference executor and compares every value both know.

*isolated*: operands are replaced by their reference values before the node runs, so that an error is the node's own;
operands that only the schedule has (products before their bias is added) bring theirs along.
*accumulated*: operands are what the chip computed, as in the real program. Last, the packed program itself runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfcomp.app import load_app
from pfcomp.emulator import Machine
from pfcomp.ir.element_types import ELEMENT_TYPES
from pfcomp.ir.elements import CARRIERS
from pfcomp.ir.model import MNNode, MNValue
from pfcomp.layout.image import from_image
from pfcomp.plan.model import Schedule
from pfcomp.plan.source_graph import SourceGraph
from pfcomp.plan.tasks import Task, tensor_of
from pfcomp.verify import local
from pfcomp.verify.bounds import Accumulated, Inherited, node_bound
from pfcomp.verify.chip import TaskChip, load_dram
from pfcomp.verify.compare import Errors, errors

Array = NDArray[Any]

MOVING = ("Download", "Upload")
"""Tasks between DRAM and local memory: what they bring is compared where it is used."""


@dataclass(frozen=True, slots=True)
class Row:
    """One value of one node in one mode, with its errors and the bound on the relative one."""

    mode: str
    node: str
    op: str
    tensor: str
    source: str
    found: Errors
    bound: float
    steps: int

    @property
    def held(self) -> bool:
        """True if the error is within the bound."""
        return self.found.relative <= self.bound


class _Bounds:
    """The bound of a node's result alone."""

    def __init__(self, schedule: Schedule, source: SourceGraph) -> None:
        self._values, self._float_dtype = schedule.graph.values, schedule.float_dtype
        self._roundoff = {name: ELEMENT_TYPES[tensor.element].roundoff for name, tensor in source.tensors.items()}

    def __call__(self, node: MNNode, result: MNValue) -> float:
        inputs = tuple(self._values[name] for name in node.inputs if name in self._values)
        touched = [name for step in (node, *node.body) for name in (*step.inputs, *step.outputs)]
        reference = max(self._roundoff.get(tensor_of(name), 0.0) for name in touched)
        return node_bound(node, inputs, result, self._float_dtype, reference)


def verify(directory: Path, inputs: Mapping[str, Array]) -> list[Row]:
    """All comparisons in order of execution; `inputs` has the model's inputs, states start as the model says.

    Raises ArtifactError where files of the codegen_dir are missing or damaged.
    """
    from pfcomp.pfvm import PFVM
    from pfcomp.stages.schedule import load_schedule, load_source

    schedule, source = load_schedule(directory), load_source(directory)
    vm = PFVM(directory / "model.onnx.zst")
    states = {name: vm.state[name] for name in schedule.graph.states}
    reference = {**vm.run_all_values({**inputs, **states}), **inputs, **states}
    contents: dict[str, Array] = {**source.constants, **schedule.contents, **inputs, **states}
    known = {**source.constants, **reference}
    bound = _Bounds(schedule, source)
    rows: list[Row] = []
    if schedule.tasks:
        rows += _tasks("isolated", schedule, contents, known, bound)
        rows += _tasks("accumulated", schedule, contents, known, bound)
    rows += _program(directory, schedule, contents, known, bound)
    return rows


def _tasks(
    mode: str, schedule: Schedule, contents: Mapping[str, Array], known: Mapping[str, Array], bound_of: _Bounds
) -> Iterator[Row]:
    chip = TaskChip(schedule, contents)
    grown, inherited = Accumulated(), Inherited(known)
    for task in schedule.tasks:
        if mode == "isolated":
            _inject(chip, task, known)
        steps = chip.run(task)
        if task.node.op in MOVING:
            continue
        for value in chip.local_values(task.node.outputs):
            own, tensor = bound_of(task.node, value), tensor_of(value.name)
            operands = map(tensor_of, task.node.inputs)
            bound = inherited.after(own, operands, tensor) if mode == "isolated" else grown.after(own)
            if tensor in known:
                found = errors(local.read(chip.machine, value), np.asarray(known[tensor]))
                yield Row(mode, task.node.name, task.node.op, tensor, task.node.source, found, bound, steps)


def _inject(chip: TaskChip, task: Task, known: Mapping[str, Array]) -> None:
    """Replace operands in local memory by their reference values; places without an element become unknown."""
    for value in chip.local_values(task.node.inputs):
        tensor = tensor_of(value.name)
        if tensor in known:
            local.write(chip.machine, value, np.asarray(known[tensor]))


def _program(
    directory: Path,
    schedule: Schedule,
    contents: Mapping[str, Array],
    known: Mapping[str, Array],
    bound_of: _Bounds,
) -> Iterator[Row]:
    """The outputs of the app itself."""
    app, graph = load_app(directory / "model.app"), schedule.graph
    machine = Machine()
    load_dram(machine, graph, contents)
    machine.run(machine.load(app.program))
    total = Accumulated()
    for node in schedule.nodes:
        for name in node.outputs:
            if name in graph.values:
                bound = total.after(bound_of(node, graph.values[name]))
    for tensor in app.outputs:
        value = graph.values[tensor.name]
        image = np.stack([machine.dram.read(g, tensor.begin, tensor.end - tensor.begin) for g in range(4)])
        array = from_image(image, tensor.layout, tensor.shape, CARRIERS[value.dtype])
        found = errors(array, np.asarray(known[tensor.name]))
        exact = value.dtype.value not in ("Float", "Double")
        yield Row("program", tensor.name, "output", tensor.name, "", found, 0.0 if exact else bound, app.program.steps)
