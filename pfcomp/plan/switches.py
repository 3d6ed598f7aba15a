"""Forced layouts become nodes of the graph: a `LayoutSwitch` has the elements of its operand, in a layout it names.

`SwitchInput` puts one between a tensor and its reader, `FixOutput` one between an operator and its result. Everything
behind the planner's front door treats it as an operator; only the layout planner knows what it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pfcomp.errors import UsageError
from pfcomp.ir.model import LM_WORDS, DType, MNNode
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout
from pfcomp.options import Options
from pfcomp.options.layout_files import operator_entries, product_entries
from pfcomp.plan.demands import Demands, Port
from pfcomp.plan.lower.build import reads_on_chip
from pfcomp.plan.lower.graph import SWITCH, CoreGraph
from pfcomp.plan.source_graph import SourceGraph, Tensor

LAYOUT = "layout"
"""The attribute of a switch that has its layout as text."""


def with_switches(source: SourceGraph, options: Options, dtypes: Mapping[str, DType]) -> SourceGraph:
    """The graph with a switch wherever `layout_spec` and `gemm_layout_spec` demand a layout.

    Raises UsageError PF0809 for layouts that their values cannot have and PF0810 for entries that apply to nothing,
    UnsupportedError PF0406 for layouts with which a value does not fit into local memory.
    """
    operators, products = options["layout_spec"], options["gemm_layout_spec"]
    if operators is None and products is None:
        return source
    room = int(LM_WORDS * options.real("sram_budget"))
    demands = Demands(source, dtypes, room, _movable(source, dtypes))
    demands.add_operators(operator_entries(operators or []))
    demands.add_products(product_entries(products or []))
    if demands.unused and not options.flag("allow_unused_layout_spec"):
        hint = "correct or remove them, or set CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC=1"
        raise UsageError("PF0810", f"nothing in the graph is meant by {'; '.join(demands.unused)}", hint=hint)
    return _Rewriter(source, demands.layouts).run()


def layout_of_switch(node: MNNode) -> Layout:
    """The layout that a switch demands."""
    return Layout.parse(str(dict(node.attributes)[LAYOUT]))


def demanded(graph: CoreGraph) -> dict[str, Layout]:
    """Layouts by the tensor that a switch brings there."""
    return {node.inputs[0]: layout_of_switch(node) for node in graph.nodes if node.op == SWITCH}


def _movable(source: SourceGraph, dtypes: Mapping[str, DType]) -> Callable[[MNNode, int], bool]:
    """Whether an operand is a tensor on the chip that may come from anywhere."""
    specs = {t.name: Spec(t.shape, dtypes[t.element]) for t in source.tensors.values() if t.element in dtypes}
    return lambda node, number: reads_on_chip(node, number, specs, source.constants)


@dataclass(slots=True)
class _Rewriter:
    source: SourceGraph
    layouts: Mapping[Port, Layout]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[MNNode] = field(default_factory=list)
    copies: dict[tuple[str, str], str] = field(default_factory=dict)
    """The copy of a tensor in a layout that other readers wanted before."""

    def run(self) -> SourceGraph:
        self.tensors.update(self.source.tensors)
        wanted = {(port.node, port.number, port.is_result): layout for port, layout in self.layouts.items()}
        for position, node in enumerate(self.source.nodes):
            operands = [wanted.get((position, k, False)) for k in range(len(node.inputs))]
            results = [wanted.get((position, k, True)) for k in range(len(node.outputs))]
            inputs = tuple(map(self._switched, node.inputs, operands, (node,) * len(operands)))
            outputs = [
                name if x is None else self._like(name, "made") for name, x in zip(node.outputs, results, strict=True)
            ]
            self.nodes.append(replace(node, inputs=inputs, outputs=tuple(outputs)))
            for made, name, layout in zip(outputs, node.outputs, results, strict=True):
                if layout is not None:
                    self._switch(made, name, layout, node)
        return replace(self.source, tensors=self.tensors, nodes=tuple(self.nodes))

    def _switched(self, tensor: str, layout: Layout | None, reader: MNNode) -> str:
        if layout is None:
            return tensor
        key = tensor, str(layout)
        if key not in self.copies:
            self.copies[key] = self._like(tensor, "switched")
            self._switch(tensor, self.copies[key], layout, reader)
        return self.copies[key]

    def _switch(self, operand: str, result: str, layout: Layout, node: MNNode) -> None:
        attributes = ((LAYOUT, str(layout)),)
        self.nodes.append(MNNode(f"{SWITCH}:{result}", SWITCH, (operand,), (result,), attributes, node.source))

    def _like(self, tensor: str, kind: str) -> str:
        """A new tensor of the shape and type of another one."""
        names = (f"{tensor}.{kind}{'' if k == 1 else k}" for k in count(1))
        name = next(n for n in names if n not in self.tensors)
        self.tensors[name] = replace(self.tensors[tensor], name=name)
        return name
