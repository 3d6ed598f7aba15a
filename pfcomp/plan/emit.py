"""From tasks to micro-operations: transfers, moves, element-wise nodes and kernels, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pfcomp.ir.elements import element
from pfcomp.ir.model import DType, MNGraph, MNNode, MNValue
from pfcomp.kernels import operands, pointwise
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed, Spec
from pfcomp.kernels.elementwise import Immediate, VectorEmitter, emit_vector
from pfcomp.kernels.registry import kernels
from pfcomp.kernels.transfer import Download, Rings, Upload, needs_gathering, prepare_gathered
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.plan.beside import Group, overlap
from pfcomp.plan.lower.graph import REARRANGEMENTS
from pfcomp.plan.lower.views import source_maps
from pfcomp.plan.tasks import SPILL, Task, room_of, tensor_of
from pfcomp.relayout.api import Form
from pfcomp.relayout.planner import rearrange_plan, relay_plan
from pfcomp.relayout.sharing import share_of, shared_scratch


class TaskEmitter:
    """Emits tasks into a context; `graph` has all values with their places."""

    def __init__(self, graph: MNGraph, context: KernelContext, float_dtype: str) -> None:
        self.graph, self.context, self.float_dtype = graph, context, float_dtype
        self.immediates = {name: immediate_of(dtype, bits) for name, dtype, bits in graph.immediates}
        self.inner = dict(graph.inner)

    def emit(self, task: Task) -> None:
        """Emit one task under the name of its node."""
        node = task.node
        with self.context.builder.node(node.name, op=node.op, source=node.source):
            if node.op == "Download":
                self._download(node)
            elif node.op == "Upload":
                self._upload(node)
            elif node.op == "Move":
                self._move(task)
            elif node.op in REARRANGEMENTS:
                self._rearrange(task)
            elif node.op in kernels():
                self._kernel(task)
            else:
                self._pointwise(node)

    def emit_group(self, group: Group) -> None:
        """Emit a task, in turns with the transfers beside it."""
        task, transfers = group
        if not transfers:
            self.emit(task)
            return
        usual, (own, beside) = self.context.rings, Rings.apart()

        def emit_all(tasks: Sequence[Task], rings: Rings) -> None:
            self.context.rings = rings
            for each in tasks:
                self.emit(each)

        self.context.builder.beside(lambda: emit_all([task], own), lambda: emit_all(transfers, beside))
        self.context.rings = usual

    def _value(self, name: str) -> MNValue:
        return self.graph.values[name]

    def _values(self, names: Sequence[str]) -> tuple[MNValue, ...]:
        return tuple(self.graph.values[name] for name in names)

    def _download(self, node: MNNode) -> None:
        value, local = self._value(node.inputs[0]), self._value(node.outputs[0])
        whole = (0, _addresses(value))
        transfer = Download(self.context, value, local, whole, 1, _origin(node, value))
        for address in range(0, whole[1], transfer.piece):
            transfer.emit(address, min(address + transfer.piece, whole[1]))
        if value.name in self.graph.constants and not value.name.endswith(SPILL):
            self.context.padding[local.name] = 0  # the loader wrote the image; what a program stores has any padding

    def _upload(self, node: MNNode) -> None:
        value, local = self._value(node.outputs[0]), self._value(node.inputs[0])
        whole = (0, _addresses(value))
        if needs_gathering(value):
            prepare_gathered(self.context.builder)
        transfer = Upload(self.context, value, local, whole, 1, _origin(node, value))
        for address in range(0, whole[1], transfer.piece):
            transfer.emit(address, min(address + transfer.piece, whole[1]))
        transfer.finish()

    def _move(self, task: Task) -> None:
        source, target = self._value(task.node.inputs[0]), self._value(task.node.outputs[0])
        plan = relay_plan(_form(source), _form(target), room_of(task.node))
        plan.emit(self.context, source, target, self._values(task.scratch), self._values(task.tables))

    def _rearrange(self, task: Task) -> None:
        target, node = self._value(task.node.outputs[0]), task.node
        sources = self._values(node.inputs)
        bits = dict(node.attributes).get("bits")
        if isinstance(bits, int):  # places that no element goes to
            self._fill(target, bits)
        scratch, tables = self._values(task.scratch), iter(self._values(task.tables))
        job = Job(node.op, tuple(map(_spec, sources)), (_spec(target),), node.attributes)
        plans = [
            rearrange_plan(_form(source), _form(target), index, room_of(node))
            for source, index in zip(sources, source_maps(job), strict=True)
        ]
        shared = shared_scratch(plan.scratch for plan in plans)
        for source, plan in zip(sources, plans, strict=True):
            own = [next(tables) for _ in plan.table_words]
            plan.emit(self.context, source, target, share_of(plan.scratch, shared, scratch), own)

    def _fill(self, value: MNValue, bits: int) -> None:
        """The pattern everywhere."""
        emitter = VectorEmitter(self.context.builder, self.context.mask)
        constant = immediate_of(value.dtype, bits)
        node = MNNode("", "Identity", ("x",), ("y",))
        for address in range(0, value.size, 4):
            target = operands.run(value.location, (value.address or 0) + address)
            dtypes = {"x": value.dtype, "y": value.dtype}
            emit_vector(emitter, node, dtypes, {"x": constant}, {"y": target})

    def _kernel(self, task: Task) -> None:
        node = task.node
        inputs, outputs = self._values(node.inputs), self._values(node.outputs)
        specs = tuple(map(_spec, inputs)), tuple(map(_spec, outputs))
        job = Job(node.op, *specs, node.attributes, self.float_dtype)
        layouts = tuple(v.layout for v in inputs), tuple(v.layout for v in outputs)
        binding = Binding(*layouts, 0, task.variant)
        placed = Placed(inputs, outputs, self._values(task.scratch), self._values(task.tables))
        before = dict(self.context.padding)
        kernels()[node.op].emit(self.context, job, binding, placed)
        self._forget_padding([v for v in inputs if before.get(v.name) != self.context.padding.get(v.name)])

    def _forget_padding(self, filled: list[MNValue]) -> None:
        """A fill changes the padding of renamed values in the same place as well."""
        for name in list(self.context.padding):
            other = self._value(name)
            if any(other.name != value.name and overlap(other, value) for value in filled):
                del self.context.padding[name]

    def _pointwise(self, node: MNNode) -> None:
        plain = {name: tensor_of(name) for name in (*node.inputs, *node.outputs)}
        own = replace(
            node,
            inputs=tuple(plain[n] for n in node.inputs),
            outputs=tuple(plain[n] for n in node.outputs),
        )
        values = {plain[n]: self._value(n) for n in (*node.inputs, *node.outputs) if n in self.graph.values}
        words = {n: self.immediates[n] for n in own.inputs if n in self.immediates}
        specs = {name: _spec(value) for name, value in values.items()}
        specs.update((name, Spec((), word.dtype)) for name, word in words.items())
        dtypes = {**self.inner, **{name: spec.dtype for name, spec in specs.items()}}
        inputs = {n: values[n] for n in own.inputs if n in values}
        outputs = {n: values[n] for n in own.outputs}
        pointwise.emit(self.context, own, dtypes, inputs, outputs, words)


def immediate_of(dtype: DType, bits: int) -> Immediate:
    """The constant with a bit pattern."""
    return Immediate(dtype, element(bits, dtype))


def _origin(node: MNNode, value: MNValue) -> int:
    """Long words before the time slice of the image that a transfer moves."""
    number = dict(node.attributes).get("slice", 0)
    assert isinstance(number, int)
    return number * ImageSpec.of(value.layout, value.shape, value.dtype.bits).slice_words


def _addresses(value: MNValue) -> int:
    return ImageSpec.of(value.layout, value.shape, value.dtype.bits).addresses


def _spec(value: MNValue) -> Spec:
    return Spec(value.shape, value.dtype)


def _form(value: MNValue) -> Form:
    return Form(value.shape, value.dtype.bits, value.layout)
