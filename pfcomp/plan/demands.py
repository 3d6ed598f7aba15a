"""Which operands and results the files of forced layouts speak of (mlsdk.md 4.6), and in which layouts they must lie.

A demand names a node by its position and one of its operands or results. Entries that apply to nothing and layouts
that a value cannot have are errors that name the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pfcomp.errors import SourceError, UnsupportedError, UsageError
from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.layout.verify import verify
from pfcomp.options.layout_files import BAD_ENTRY, OperatorEntry, ProductEntry
from pfcomp.plan.source_graph import SourceGraph

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "ChainerIndexAdd": ("ScatterElements", "ScatterND"),
    "ChainerLinear": ("MatMul", "Gemm"),
    "ChainerReduceSumTo": ("ReduceSum",),
    **dict.fromkeys(("Squeeze", "Unsqueeze", "Flatten"), ("Reshape",)),
    "GlobalAveragePool": ("ReduceMean",),
    "GlobalMaxPool": ("ReduceMax",),
}
"""Operators of the compiled graph that stand for those of the vendor's graphs and for those that passes rewrite."""

ADDING = ("ChainerIndexAdd",)
"""Names above that only mean operators with the attribute `reduction` "add"."""

PRODUCTS = ("MatMul", "Gemm")
SAME_ELEMENTS = ("Transpose", "Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""Operators through which the name of a weight is looked for."""


@dataclass(frozen=True, slots=True)
class Port:
    """An operand or a result: the node's position, which one, and the tensor."""

    node: int
    number: int
    is_result: bool
    tensor: str


@dataclass(slots=True)
class Demands:
    """Layouts by port; `movable` says whether an operand is a tensor on the chip that may come from anywhere."""

    source: SourceGraph
    dtypes: Mapping[str, DType]
    room: int
    movable: Callable[[MNNode, int], bool]
    layouts: dict[Port, Layout] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)

    def add_operators(self, entries: Sequence[OperatorEntry]) -> None:
        """Take the entries of a `layout_spec`, earlier ones first where several speak of one port."""
        for number, entry in enumerate(entries):
            where = f"layout_spec, entry {number}"
            ports = list(self._ports(entry))
            fitting = [port for port in ports if not self._misfit(port, entry.layout)]
            if ports and not fitting:
                hint = "correct the layout or the shape; docs/layout.md has the rules"
                raise UsageError(BAD_ENTRY, self._misfit(ports[0], entry.layout), where=where, hint=hint)
            if not self._take(dict.fromkeys(fitting, entry.layout), where):
                self.unused.append(f"entry {number} of layout_spec ({entry}; {self._shapes(entry)})")

    def add_products(self, entries: Sequence[ProductEntry]) -> None:
        """Take the entries of a `gemm_layout_spec`."""
        roots = _Roots(self.source)
        for number, entry in enumerate(entries):
            where, used, reasons = f"gemm_layout_spec, entry {number}", False, ["no matrix product has such a weight"]
            for position, node in enumerate(self.source.nodes):
                if node.op in PRODUCTS and any(entry.key in roots.of(name) for name in node.inputs[:2]):
                    wanted = self._product(position, node, entry)
                    misfits = [text for port, layout in wanted.items() if (text := self._misfit(port, layout))]
                    reasons = misfits or reasons
                    used |= not misfits and self._take(wanted, where)
            if not used:
                self.unused.append(f"entry {number} of gemm_layout_spec ({entry}; {reasons[0]})")

    def _ports(self, entry: OperatorEntry) -> Iterator[Port]:
        """Everything that an entry speaks of."""
        names = (entry.op_type, *OTHER_NAMES.get(entry.op_type, ()))
        for position, node in enumerate(self.source.nodes):
            if node.op not in names:
                continue
            if entry.op_type in ADDING and dict(node.attributes).get("reduction") != "add":
                continue
            is_result = entry.trigger == "FixOutput"
            for number, tensor in enumerate(node.outputs if is_result else node.inputs):
                known = self.source.tensors.get(tensor)
                usable = known is not None and known.shape == entry.shape and known.element in self.dtypes
                if usable and (is_result or self.movable(node, number)):
                    yield Port(position, number, is_result, tensor)

    def _shapes(self, entry: OperatorEntry) -> str:
        """What the graph has in place of an entry's shape."""
        names = (entry.op_type, *OTHER_NAMES.get(entry.op_type, ()))
        nodes = [node for node in self.source.nodes if node.op in names]
        if not nodes:
            return "the graph has no such operator"
        fixed = entry.trigger == "FixOutput"
        tensors = [self.source.tensors.get(t) for node in nodes for t in (node.outputs if fixed else node.inputs)]
        shapes = sorted({str(list(t.shape)) for t in tensors if t is not None})
        return (
            f"their {'results' if fixed else 'operands'} that may lie anywhere have other shapes of {', '.join(shapes)}"
        )

    def _product(self, position: int, node: MNNode, entry: ProductEntry) -> dict[Port, Layout]:
        """The ports of a product, with layouts in the order of axes that each has in the graph."""
        turned = dict(node.attributes)
        other_way = {"A": bool(turned.get("transA", 0)), "BT": not turned.get("transB", 0), "C": False}
        tensors = {"A": node.inputs[0], "BT": node.inputs[1], "C": node.outputs[0]}
        found = {}
        for number, (role, tensor) in enumerate(tensors.items()):
            if role in entry.layouts:
                layout = _of_rank(entry.layouts[role], len(self.source.tensors[tensor].shape))
                is_result = role == "C"
                port = Port(position, 0 if is_result else number, is_result, tensor)
                found[port] = _turned(layout) if other_way[role] else layout
        return found

    def _misfit(self, port: Port, layout: Layout) -> str:
        """Why a tensor cannot have a layout; "" if it can."""
        spec = self._spec(port)
        try:
            verify(layout, spec.shape, spec.dtype.bits)
        except SourceError as error:
            return f"{layout} does not fit {port.tensor!r}, {spec.dtype} {list(spec.shape)}: {error.what}"
        return ""

    def _spec(self, port: Port) -> Spec:
        tensor = self.source.tensors[port.tensor]
        return Spec(tensor.shape, self.dtypes[tensor.element])

    def _take(self, wanted: Mapping[Port, Layout], where: str) -> bool:
        """True if at least one port was still free."""
        free = {port: layout for port, layout in wanted.items() if port not in self.layouts}
        for port, layout in free.items():
            self._check_room(port, layout, where)
        self.layouts.update(free)
        return bool(free)

    def _check_room(self, port: Port, layout: Layout, where: str) -> None:
        """Raises UnsupportedError PF0406 where a tensor cannot exist on the chip in that layout."""
        words = extent(layout, Level.ADDR)
        if extent(layout, Level.TIME) > 1:
            what, hint = "has time slices, which only the compiler chooses", "leave out the digits of Time"
        elif words > self.room:
            what = f"needs {words} long words per PE of the {self.room} of a local memory"
            hint = "give more digits to L2B, L1B, MAB, PE or W, or raise the option sram_budget"
        else:
            return
        raise UnsupportedError("PF0406", f"{port.tensor!r} in {layout} {what}", where=where, hint=hint)


class _Roots:
    """Names of the inputs, states and constants whose elements a tensor has."""

    def __init__(self, source: SourceGraph) -> None:
        self.made_by = {name: node for node in source.nodes for name in node.outputs}

    def of(self, tensor: str) -> str:
        """The name at the beginning of a chain of rearrangements; "" for what is computed."""
        while tensor in self.made_by:
            node = self.made_by[tensor]
            if node.op not in SAME_ELEMENTS:
                return ""
            tensor = node.inputs[0]
        return tensor


def _of_rank(layout: Layout, rank: int) -> Layout:
    """The layout with axes of length 1 in front, or without them, for a tensor of that rank if that is enough."""
    axes = layout.axes
    while len(axes) > max(rank, 1) and not axes[0]:
        axes = axes[1:]
    return Layout(((),) * (rank - len(axes)) + axes, layout.broadcast)


def _turned(layout: Layout) -> Layout:
    """The last two axes the other way round."""
    axes = layout.axes
    return layout if len(axes) < 2 else Layout((*axes[:-2], axes[-1], axes[-2]), layout.broadcast)
