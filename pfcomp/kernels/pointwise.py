"""Element-wise and fused nodes on values in local memory, whatever their layouts: which ones fit, and the emission.

Operands lie where the result is computed: in the same PE and word, at any address. 64-bit operands lie in the twin of
the 32-bit form (`pfcomp.layout.twin`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location, MNNode, MNValue
from pfcomp.isa.model import CYCLES, Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import elementwise, operands
from pfcomp.kernels.api import Binding, KernelContext, Spec
from pfcomp.layout import Layout, address_map, aligned, broadcast_operand
from pfcomp.layout.canonical import canonical, same
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.layout.twin import paired, splits_words, twin, widened

FILL_STEPS = 4
"""Steps until the first result of a chain is written."""

LEAST_READS, MOST_HELD = 2, 4
"""Reads of a vector from which on it may be kept in a register, and how many vectors of an operand may be."""


def refuse(node: MNNode, specs: Mapping[str, Spec]) -> str:
    """Why a node cannot be computed element by element, "" if it can."""
    inputs = [specs[name].dtype for name in node.inputs if name]
    return elementwise.refuse(node.op, inputs, specs[node.outputs[0]].dtype, node.attributes)


def is_wide(specs: Sequence[Spec]) -> bool:
    """True if all values have 64 bits, so that their layouts need not be twins of another form."""
    return all(spec.dtype.bits == 64 for spec in specs)


def binding(
    node: MNNode, specs: Mapping[str, Spec], form: Layout, offered: Mapping[str, Sequence[Layout]], vector_steps: int
) -> Binding:
    """How to compute with the result in `form` (32-bit unless all values are wide); operands as offered where they fit.

    Operands without an entry in `offered` are immediates.
    """
    shape = specs[node.outputs[0]].shape
    wide = is_wide([specs[n] for n in (*node.outputs, *offered)])
    inputs = tuple(_operand(form, shape, specs[name], wide, layouts) for name, layouts in offered.items())
    outputs = tuple(_own(form, specs[name], wide) for name in node.outputs)
    vectors = -(-extent(form, Level.ADDR) // CYCLES)
    in_place = _in_place(node, [specs[name] for name in offered], inputs, specs[node.outputs[0]], outputs)
    kept = _kept(node)
    overwrites = tuple(pair for pair, name in _named(in_place, offered) if name in kept)
    return Binding(inputs, outputs, vectors * vector_steps + FILL_STEPS, in_place=in_place, overwrites=overwrites)


def _named(pairs: Sequence[tuple[int, int]], offered: Iterable[str]) -> Iterator[tuple[tuple[int, int], str]]:
    names = tuple(offered)
    return ((pair, names[pair[0]]) for pair in pairs)


def _kept(node: MNNode) -> frozenset[str]:
    """Operands of which a choice leaves some elements as they are, so that only the others need be written."""
    last = node.body[-1] if node.body else node
    return frozenset(last.inputs[1:]) if last.op == "Where" else frozenset()


def _in_place(
    node: MNNode, operands: Sequence[Spec], inputs: Sequence[Layout], result: Spec, outputs: Sequence[Layout]
) -> tuple[tuple[int, int], ...]:
    """A single result may replace an operand of its layout, vector by vector."""
    if len(node.outputs) > 1:
        return ()
    return tuple(
        (k, 0)
        for k, (spec, layout) in enumerate(zip(operands, inputs, strict=True))
        if (spec.shape, spec.dtype.bits) == (result.shape, result.dtype.bits) and same(layout, outputs[0])
    )


def _own(form: Layout, spec: Spec, wide: bool) -> Layout:
    return twin(form) if spec.dtype.bits == 64 and not wide else form


def _operand(form: Layout, shape: tuple[int, ...], spec: Spec, wide: bool, offered: Sequence[Layout]) -> Layout:
    own = _own(form, spec, wide)
    fitting = next((layout for layout in offered if _aligned(own, shape, layout, spec.shape)), None)
    return fitting or (own if spec.shape == shape else broadcast_operand(own, shape, spec.shape))


@lru_cache(maxsize=1 << 14)
def _aligned(out: Layout, shape: tuple[int, ...], layout: Layout, own: tuple[int, ...]) -> bool:
    """In its own PE and word, at an address that all PEs have in common."""
    if own == shape:
        return canonical(out) == canonical(layout)
    return aligned(out, shape, layout, own) and address_map(out, shape, layout, own) is not None


def forms(node: MNNode, specs: Mapping[str, Spec], offered: Mapping[str, Sequence[Layout]]) -> list[Layout]:
    """Forms for the result in which an operand of its shape lies already."""
    shape = specs[node.outputs[0]].shape
    wide = is_wide([specs[n] for n in (*node.outputs, *offered)])
    found: dict[Layout, Layout] = {}
    for name, layouts in offered.items():
        if specs[name].shape == shape:
            for layout in layouts:
                form = widened(layout) if specs[name].dtype.bits == 64 and not wide else layout
                found.setdefault(canonical(form), form)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Access:
    """Where the vectors of a value lie: address for every address of the form, in one or two parts."""

    value: MNValue
    parts: tuple[NDArray[np.int64], ...]

    def at(self, address: int) -> Operand | tuple[Operand, Operand]:
        base = self.value.address or 0
        found = [
            operands.vector(self.value.location, [base + int(a) for a in part[address : address + CYCLES]])
            for part in self.parts
        ]
        return found[0] if len(found) == 1 else (found[0], found[1])


def emit(
    context: KernelContext,
    node: MNNode,
    dtypes: Mapping[str, DType],
    inputs: Mapping[str, MNValue],
    outputs: Mapping[str, MNValue],
    immediates: Mapping[str, elementwise.Immediate],
) -> None:
    """Compute all vectors; `inputs` and `outputs` are placed values by the names that the node and its body use.

    `dtypes` has the element types of these and of all values inside the body.
    """
    form, wide = _form(inputs, outputs)
    shape = outputs[node.outputs[0]].shape
    sources = {name: _access(form, shape, value, wide) for name, value in inputs.items()}
    targets = {name: _access(form, shape, value, wide) for name, value in outputs.items()}
    emitter = elementwise.VectorEmitter(context.builder, context.mask)
    addresses = range(0, extent(form, Level.ADDR), CYCLES)
    repeated = _repeated(sources, {value.location for value in outputs.values()}, addresses)
    held: dict[elementwise.Source, Virtual] = {}
    for address in addresses:
        given: dict[str, elementwise.Source] = {name: access.at(address) for name, access in sources.items()}
        for name in repeated:
            given[name] = _held(context, held, given[name])
        results = {name: access.at(address) for name, access in targets.items()}
        elementwise.emit_vector(emitter, node, dtypes, {**given, **immediates}, results)


def _repeated(sources: Mapping[str, _Access], written: Collection[Location], addresses: range) -> tuple[str, ...]:
    """Operands of few vectors, read often from the memory of a result, where every write delays reads (H3)."""
    found = []
    for name, access in sources.items():
        if access.value.location in written and len(access.parts) == 1:
            vectors = {access.at(address) for address in addresses}
            if len(vectors) <= min(MOST_HELD, len(addresses) // LEAST_READS):
                found.append(name)
    return tuple(found)


def _held(context: KernelContext, held: dict[elementwise.Source, Virtual], source: elementwise.Source) -> Virtual:
    """The operand in a register."""
    if source not in held:
        assert isinstance(source, Operand)
        held[source] = context.builder.op("lpassa", source)
    return held[source]


def _form(inputs: Mapping[str, MNValue], outputs: Mapping[str, MNValue]) -> tuple[Layout, bool]:
    """The form of the result that the layouts of the placed values follow."""
    wide = all(value.dtype.bits == 64 for value in (*outputs.values(), *inputs.values()))
    result = next(iter(outputs.values()))
    narrow = [v.layout for v in outputs.values() if v.dtype.bits == 32]
    if wide or narrow:
        return (narrow or [result.layout])[0], wide
    beside = [v.layout for v in inputs.values() if v.shape == result.shape and v.dtype.bits == 32]
    found = [layout for layout in beside if same(twin(layout), result.layout)]
    forms = (*found, widened(result.layout), paired(result.layout))
    return next(form for form in forms if form and _follow(form, result.shape, inputs.values())), False


def _follow(form: Layout, shape: tuple[int, ...], values: Iterable[MNValue]) -> bool:
    """True if all values lie where a result in `form` finds them."""
    return all(_aligned(twin(form) if v.dtype.bits == 64 else form, shape, v.layout, v.shape) for v in values)


def _access(form: Layout, shape: tuple[int, ...], value: MNValue, wide: bool) -> _Access:
    double = value.dtype.bits == 64 and not wide
    own = twin(form) if double else form
    table = _addresses(own, shape, value.layout, value.shape)
    if double and splits_words(form):
        return _Access(value, (table[0::2], table[1::2]))
    return _Access(value, (table,))


@lru_cache(maxsize=256)
def _addresses(form: Layout, shape: tuple[int, ...], layout: Layout, own: tuple[int, ...]) -> NDArray[np.int64]:
    """The value's address for every address of the form; any place where nothing is needed.

    A value of the result's shape lies as the result does, padding included: one that was mapped onto elements, as that
    of an axis of length 1, would be computed over them where the result replaces an operand.
    """
    if own == shape:
        return np.arange(extent(form, Level.ADDR), dtype=np.int64)
    table = address_map(form, shape, layout, own)
    if table is None:
        raise ValueError(f"an operand with {layout} is not aligned with {form}")
    found: NDArray[np.int64] = np.maximum(table[0], 0)
    return found
