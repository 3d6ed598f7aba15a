"""From a schedule to micro-operations: walks the regions, interleaves loads with the arithmetic that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import DType, MNGraph, MNNode, MNValue
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, MicroProgram
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.elementwise import Immediate, VectorEmitter, emit_vector
from pfcomp.kernels.transfer import (
    Download,
    DramMove,
    TransferContext,
    Upload,
    needs_gathering,
    prepare_gathered,
)
from pfcomp.plan.axes import address_extents, address_strides
from pfcomp.plan.beside import groups
from pfcomp.plan.blocks import Block
from pfcomp.plan.emit import TaskEmitter
from pfcomp.plan.model import Region, Schedule
from pfcomp.plan.tasks import LOCAL
from pfcomp.plan.turns import Turn, turns

COMPUTE_PIECE = 64
"""Addresses per turn where nothing is loaded."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """The micro-operations of a program, and the DRAM accesses of its MVs by the number that emission gave them."""

    micro: MicroProgram
    moves: Mapping[int, DramMove]


def emit(schedule: Schedule) -> Emitted:
    """Emit all regions and tasks in order; the result has sequential meaning."""
    builder = Builder()
    context = KernelContext(builder)
    for region in schedule.regions:
        RegionEmitter(schedule.graph, region, context).emit()
    walk = TaskEmitter(schedule.graph, context, schedule.float_dtype)
    for group in groups(schedule.tasks, schedule.graph):
        walk.emit_group(group)
    return Emitted(builder.finish(), context.log)


class RegionEmitter:
    """Emits one region: `once`, then `repeated` for every block, then `last`."""

    def __init__(self, graph: MNGraph, region: Region, context: TransferContext) -> None:
        self.graph, self.region, self.context = graph, region, context
        self.immediates = {name: bits for name, _, bits in graph.immediates}

    def emit(self) -> None:
        stored = [self.graph.values[n.outputs[0]] for n in self.region.nodes if n.op == "Upload"]
        if any(needs_gathering(value) for value in stored):
            with self.context.builder.node("gather-index", op="Upload", source=""):
                prepare_gathered(self.context.builder)
        self._phase(self.region.once, self.region.full)
        for block in self.region.blocks:
            self._phase(self.region.repeated, block)
        self._phase(self.region.last, self.region.full)

    def _phase(self, nodes: Iterable[MNNode], block: Block) -> None:
        for turn in turns(nodes, lambda node: self.graph.values[node.outputs[0]].shape):
            if turn[0].op == "Upload":
                self._upload(turn[0], block)
            else:
                self._interleave(turn, block)

    def _upload(self, node: MNNode, block: Block) -> None:
        value, local = self.graph.values[node.outputs[0]], self.graph.values[node.inputs[0]]
        low, high = block.part(value.shape, self.region.table)
        transfer = Upload(self.context, value, local, (low, high), 1)
        with self._attributed(node):
            for address in range(low, high, transfer.piece):
                transfer.emit(address, min(address + transfer.piece, high))
            transfer.finish()

    def _interleave(self, nodes: Turn, block: Block) -> None:
        """Run nodes of one shape side by side, a piece of each at a time."""
        shape = self.graph.values[nodes[0].outputs[0]].shape
        low, high = block.part(shape, self.region.table)
        share = sum(n.op == "Download" for n in nodes)
        runs = [
            self._download(n, (low, high), share) if n.op == "Download" else Elementwise(self, n, block) for n in nodes
        ]
        piece = max((run.piece for run in runs if isinstance(run, Download)), default=COMPUTE_PIECE)
        for address in range(low, high, piece):
            for node, run in zip(nodes, runs, strict=True):
                with self._attributed(node):
                    run.emit(address, min(address + piece, high))

    def _download(self, node: MNNode, part: tuple[int, int], share: int) -> Download:
        value, local = self.graph.values[node.inputs[0]], self.graph.values[node.outputs[0]]
        return Download(self.context, value, local, part, share)

    def _attributed(self, node: MNNode) -> AbstractContextManager[None]:
        return self.context.builder.node(node.name, op=node.op, source=node.source)


class Elementwise:
    """One element-wise node of a block: knows which address of each operand belongs to an address of the result."""

    def __init__(self, walk: RegionEmitter, node: MNNode, block: Block) -> None:
        self.block, self.region = block, walk.region
        self.node = _in_source_names(node)
        self.emitter = VectorEmitter(walk.context.builder)
        values = walk.graph.values
        self.shape = values[node.outputs[0]].shape
        self.inputs = {name: values[name] for name in node.inputs if name in values}
        self.outputs = {name: values[name] for name in node.outputs}
        self.immediates = {n: _immediate(walk.immediates[n]) for n in node.inputs if n in walk.immediates}
        self.dtypes = {
            name: DType.FLOAT for step in (self.node, *self.node.body) for name in (*step.inputs, *step.outputs)
        }
        self.maps = {name: self._map(value) for name, value in self.inputs.items()}

    def _map(self, operand: MNValue) -> NDArray[np.int64] | None:
        """Operand address for every result address (long words), None where they are the same."""
        if operand.shape == self.shape:
            return None
        extents = address_extents(self.shape, self.region.table)
        own = address_strides(address_extents(operand.shape, self.region.table))
        missing = len(self.shape) - len(operand.shape)
        index = np.zeros((1,) * len(extents), np.int64)
        for k, n in enumerate(extents):
            if k >= missing and operand.shape[k - missing] != 1:
                along = np.arange(n).reshape((-1,) + (1,) * (len(extents) - 1 - k))
                index = index + along * own[k - missing]
        return np.broadcast_to(index, extents).reshape(-1)

    def emit(self, low: int, high: int) -> None:
        """Compute the result addresses `low`..`high`, absolute in the value."""
        for address in range(low, high, 4):
            count = min(4, high - address)
            sources = {n: self._source(n, address, count) for n in self.inputs}
            plain = {name.removesuffix(LOCAL): source for name, source in sources.items()}
            targets = {n.removesuffix(LOCAL): self._aligned(v, address) for n, v in self.outputs.items()}
            emit_vector(self.emitter, self.node, self.dtypes, {**plain, **self.immediates}, targets)

    def _source(self, name: str, address: int, count: int) -> Operand:
        value, table = self.inputs[name], self.maps[name]
        if table is None:
            return self._aligned(value, address)
        base = (value.address or 0) - self._origin(value)
        return operands.vector(value.location, [base + int(a) for a in table[address : address + count]])

    def _aligned(self, value: MNValue, address: int) -> Operand:
        return operands.run(value.location, (value.address or 0) + address - self._origin(value))

    def _origin(self, value: MNValue) -> int:
        return self.region.origin(value.name.removesuffix(LOCAL), value.shape, self.block)


def _immediate(bits: int) -> Immediate:
    return Immediate(DType.FLOAT, float(np.uint32(bits).view(np.float32)))


def _in_source_names(node: MNNode) -> MNNode:
    """The node as a body names things: without the suffix of on-chip copies."""
    inputs = tuple(name.removesuffix(LOCAL) for name in node.inputs)
    outputs = tuple(name.removesuffix(LOCAL) for name in node.outputs)
    return replace(node, inputs=inputs, outputs=outputs)
