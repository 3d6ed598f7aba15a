"""From the planner's actions to items: every value gets a name, renamed values share the place of another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pfcomp.ir.model import LM_WORDS, DType, Location, MNNode, MNValue
from pfcomp.ir.packing import in_vectors
from pfcomp.kernels.api import Attribute, Scratch, Spec, Table
from pfcomp.kernels.transfer import needs_gathering
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import with_broadcast
from pfcomp.layout.model import Level, Subaxis
from pfcomp.plan import slices
from pfcomp.plan.beside import can_run_beside
from pfcomp.plan.choices import Action, Compute, Load, Rearrange, Relay, Rename, Store
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.lower.views import source_maps
from pfcomp.plan.room import layout_words
from pfcomp.plan.tasks import LOCAL, with_room
from pfcomp.plan.ways import is_pointwise
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.planner import rearrange_plan, relay_plan
from pfcomp.relayout.sharing import shared_scratch

GATHERED = 16
"""Addresses that one step stores of a value that all PEs of a MAB hold alike."""


@dataclass(frozen=True, slots=True)
class Place:
    """A range of local memory that a value needs: long words per PE, and the memory if it must be a certain one.

    `dram` names the tensor in DRAM that holds the same contents, so that the place may be given up at no cost; with
    `time` it is that time slice of the tensor's image.
    """

    name: str
    words: int
    location: Location | None = None
    dram: str | None = None
    time: int | None = None

    @property
    def attributes(self) -> tuple[tuple[str, Attribute], ...]:
        """Of a node that moves the contents between DRAM and local memory."""
        return () if self.time is None else (("slice", self.time),)


@dataclass(frozen=True, slots=True)
class Item:
    """One task before addresses: value names are those of `Linear.values`.

    `reuse` lists pairs (operand, result): the result may take the operand's place, which saves steps for `overwrites`.
    Transfers beside the item could use L2BM for `free` steps.
    """

    node: MNNode
    variant: str = ""
    scratch: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    reuse: tuple[tuple[str, str], ...] = ()
    overwrites: tuple[tuple[str, str], ...] = ()
    free: int = 0


@dataclass(slots=True)
class Linear:
    """Items in order. `values` are on-chip values without addresses, `home[v]` the place of value v and its offset.

    `tensors[v]` is the tensor of the graph that value v is a copy of.
    """

    items: list[Item] = field(default_factory=list)
    values: dict[str, MNValue] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    home: dict[str, tuple[str, int]] = field(default_factory=dict)
    images: dict[str, Layout] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    tensors: dict[str, str] = field(default_factory=dict)


def linearise(graph: CoreGraph, actions: Iterable[Action], immediates: frozenset[str], room: int = LM_WORDS) -> Linear:
    """Name all values and say what every task needs; moves are planned for memories of `room` long words."""
    walk = _Walk(graph, immediates, room)
    for action in actions:
        walk.take(action)
    return walk.result


class _Walk:
    def __init__(self, graph: CoreGraph, immediates: frozenset[str], room: int) -> None:
        self.graph, self.immediates, self.room = graph, immediates, room
        self.result = Linear()
        self.names: dict[tuple[str, Layout], str] = {}
        self.table_names: dict[bytes, str] = {}

    def take(self, action: Action) -> None:
        if isinstance(action, Load):
            self._load(action)
        elif isinstance(action, Rename):
            self._rename(action)
        elif isinstance(action, Relay):
            self._relay(action)
        elif isinstance(action, Rearrange):
            self._rearrange(action)
        elif isinstance(action, Compute):
            self._compute(action)
        else:
            self._store(action)

    def value(self, tensor: str, layout: Layout) -> str:
        """The name of the copy of a tensor in a layout."""
        return self.names[tensor, canonical(layout)]

    def _new(self, tensor: str, layout: Layout, dram: str | None = None) -> str:
        name = self._named(tensor, layout)
        words = layout_words(layout)
        self.result.places[name] = Place(name, words, dram=dram)
        self.result.home[name] = (name, 0)
        return name

    def _named(self, tensor: str, layout: Layout) -> str:
        taken = sum(1 for other, _ in self.names if other == tensor)
        name = tensor + LOCAL + (str(taken + 1) if taken else "")
        self.names[tensor, canonical(layout)] = name
        self.result.tensors[name] = tensor
        spec = self.graph.specs[tensor]
        self.result.values[name] = MNValue(name, spec.shape, spec.dtype, layout, Location.LM0)
        return name

    def _load(self, action: Load) -> None:
        tensor = self._image(action.tensor, action.layout)
        name = self._new(action.tensor, action.layout, dram=tensor)
        piece = self.graph.pieces.get(action.tensor)
        place = replace(self.result.places[name], time=None if piece is None else piece.time)
        self.result.places[name] = place
        self._item(MNNode(f"Download:{name}", "Download", (tensor,), (name,), place.attributes))

    def _image(self, name: str, layout: Layout) -> str:
        """The tensor in DRAM that a value is, or is a piece of; its image has `layout`, or one such slice per piece."""
        piece = self.graph.pieces.get(name)
        tensor = name if piece is None else piece.tensor
        self.result.images[tensor] = layout if piece is None else slices.image_layout(piece, layout)
        return tensor

    def _rename(self, action: Rename) -> None:
        tensor = action.node.outputs[0]
        if (tensor, canonical(action.target)) in self.names:
            return
        base, offset = self.result.home[self.value(action.node.inputs[0], action.source)]
        name = self._named(tensor, action.target)
        self.result.home[name] = (base, offset + action.offset)

    def _relay(self, action: Relay) -> None:
        spec, source = self.graph.specs[action.tensor], self.value(action.tensor, action.source)
        plan = relay_plan(_form(spec, action.source), _form(spec, action.target), self.room)
        target = self._new(action.tensor, action.target)
        node = MNNode(f"Move:{target}", "Move", (source,), (target,), with_room((), self.room))
        self._item(node, scratch=plan.scratch, tables=plan.tables)

    def _rearrange(self, action: Rearrange) -> None:
        job = self.graph.job(action.node, "")
        sources = [self.value(n, x) for n, x in zip(action.node.inputs, action.sources, strict=True)]
        target = self._new(action.node.outputs[0], action.target)
        plans: list[MovePlan] = [
            rearrange_plan(_form(spec, layout), _form(job.outputs[0], action.target), index, self.room)
            for spec, layout, index in zip(job.inputs, action.sources, source_maps(job), strict=True)
        ]
        attributes = with_room(action.node.attributes, self.room)
        node = replace(action.node, inputs=tuple(sources), outputs=(target,), attributes=attributes)
        scratch = shared_scratch([plan.scratch for plan in plans])
        self._item(node, scratch=scratch, tables=[t for plan in plans for t in plan.tables])

    def _compute(self, action: Compute) -> None:
        binding = action.binding
        copies, inputs = self._copies(action), self._operands(action)
        results = [self._new(n, x) for n, x in zip(action.node.outputs, binding.outputs, strict=True)]
        node = replace(action.node, inputs=inputs, outputs=tuple(results))
        free = binding.steps - binding.moving if can_run_beside(node.op) else 0
        pairs = (binding.in_place, binding.overwrites)
        reuse, overwrites = (self._reuse(action, copies, node, chosen) for chosen in pairs)
        self._item(node, binding.variant, binding.scratch, binding.tables, reuse, overwrites, free)

    def _reuse(
        self, action: Compute, copies: tuple[str, ...], node: MNNode, pairs: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[str, str], ...]:
        """Pairs (operand, result) of one place. Only element-wise nodes read an operand named twice at one address."""
        alone = {name for name in copies if is_pointwise(action.node) or copies.count(name) == 1}
        named = ((copies[operand], node.outputs[result]) for operand, result in pairs)
        return tuple(pair for pair in named if pair[0] in alone)

    def _copies(self, action: Compute) -> tuple[str, ...]:
        """Names of the copies that a binding reads; a kernel may want one tensor in two layouts."""
        return tuple(self.value(n, x) for n, x in zip(action.operands, action.binding.inputs, strict=True))

    def _operands(self, action: Compute) -> tuple[str, ...]:
        """What a node names as its operands: copies, and immediates of element-wise nodes."""
        copies = self._copies(action)
        if not is_pointwise(action.node):
            return copies
        copy_of = dict(zip(action.operands, copies, strict=True))
        return tuple(copy_of.get(n, n) for n in action.node.inputs)

    def _store(self, action: Store) -> None:
        name = self.value(action.tensor, action.layout)
        tensor = self._image(action.tensor, action.layout)
        value = replace(self.result.values[name], name=action.tensor)
        if needs_gathering(value):
            base = self.result.home[name][0]
            place = self.result.places[base]
            words = -(-place.words // GATHERED) * GATHERED
            self.result.places[base] = replace(place, words=words, location=Location.LM0)
        piece = self.graph.pieces.get(action.tensor)
        attributes: tuple[tuple[str, Attribute], ...] = () if piece is None else (("slice", piece.time),)
        self._item(MNNode(f"Upload:{action.tensor}", "Upload", (name,), (tensor,), attributes))

    def _item(
        self,
        node: MNNode,
        variant: str = "",
        scratch: Sequence[Scratch] = (),
        tables: Sequence[Table] = (),
        reuse: tuple[tuple[str, str], ...] = (),
        overwrites: tuple[tuple[str, str], ...] = (),
        free: int = 0,
    ) -> None:
        places = [self._scratch(node, k, wanted) for k, wanted in enumerate(scratch)]
        loaded = [self._table(table) for table in tables]
        self.result.items.append(Item(node, variant, tuple(places), tuple(loaded), reuse, overwrites, free))

    def _scratch(self, node: MNNode, number: int, wanted: Scratch) -> str:
        name = f"{node.name}.scratch{number}"
        words = in_vectors(wanted.words)
        layout = Layout.parse(f"(({words}:1); B@[PE,MAB,L1B,L2B])")
        self.result.places[name] = Place(name, words, wanted.location)
        self.result.home[name] = (name, 0)
        self.result.values[name] = MNValue(name, (words,), DType.LONG, layout, Location.LM0)
        return name

    def _table(self, table: Table) -> str:
        """The on-chip copy of a table; equal tables are one constant."""
        digest = table_digest(table)
        known = self.table_names.get(digest)
        if known is not None:
            return known
        tensor = f"table{len(self.table_names)}"
        shape = table.contents.shape
        self.graph.specs[tensor] = Spec(tuple(shape), DType.LONG)
        self.result.tables[tensor] = table
        name = self._new(tensor, table_layout(tuple(shape)), dram=tensor)
        self.result.images[tensor] = table_layout(tuple(shape))
        self.table_names[digest] = name
        self.result.items.append(Item(MNNode(f"Download:{name}", "Download", (tensor,), (name,))))
        return name


def table_digest(table: Table) -> bytes:
    """Equal for tables with equal contents."""
    shape = repr(table.contents.shape).encode()
    return hashlib.sha256(shape + np.ascontiguousarray(table.contents).tobytes()).digest()


def table_layout(shape: tuple[int, ...]) -> Layout:
    """Where a table with axes (L2B, L1B, MAB, PE, address) lies; axes of length 1 are copies."""
    levels = (Level.L2B, Level.L1B, Level.MAB, Level.PE)
    axes = [(Subaxis(n, level),) if n > 1 else () for n, level in zip(shape, levels, strict=False)]
    return with_broadcast(Layout((*axes, (Subaxis(shape[-1]),))))


def _form(spec: Spec, layout: Layout) -> Form:
    return Form(spec.shape, spec.dtype.bits, layout)
