"""A captured graph as a standard ONNX model (opset 18, static shapes, the user's names)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx_ir as ir

from pfcomp.collection import no_collection
from pfcomp.errors import UnsupportedError
from pfcomp.frontend.graph import Arg, CapturedGraph, Node, Ref, TensorSpec
from pfcomp.frontend.lower import LOWERINGS, Builder
from pfcomp.frontend.lower.dtypes import ONNX_TYPES
from pfcomp.frontend.torch_tensor import onnx_tensor

OPSET = 18
SOURCE_KEY = "pfcomp.source"
STATE_SUFFIX = ":out"
"""The new value of state `s` is the graph output `s:out`."""


def export(captured: CapturedGraph) -> ir.Model:
    """ONNX model of a captured function.

    Inputs are the user's keys, then the states; outputs the user's keys, then `<state>:out` of each written state. A
    state's value at capture is an initializer of the same name, so the model runs as it is. Every node carries the
    user's line as `metadata_props["pfcomp.source"]`. Raises UnsupportedError PF0313 with all operators that have no
    translation.
    """
    _check_supported(captured)
    with no_collection():
        return _Exporter(captured).model()


def untranslated(captured: CapturedGraph) -> list[str]:
    """One text per operator without a translation: name, number of uses and source lines."""
    missing = [node for node in captured.nodes if node.op not in LOWERINGS]
    counts = Counter(node.op for node in missing)
    texts = []
    for op in sorted(counts):
        lines = sorted({node.source for node in missing if node.op == op and node.source})
        texts.append(f"{op} (x{counts[op]}{', ' + ', '.join(lines) if lines else ''})")
    return texts


def _check_supported(captured: CapturedGraph) -> None:
    missing = untranslated(captured)
    if missing:
        raise UnsupportedError("PF0313", f"no ONNX translation for {'; '.join(missing)}", where=captured.name)


class _Exporter:
    """State of one export: the values made so far, by printed reference."""

    def __init__(self, captured: CapturedGraph) -> None:
        self.captured = captured
        outputs = [name for name, _ in captured.outputs] + [name + STATE_SUFFIX for name, _ in captured.updates]
        names = [name for name, _ in (*captured.inputs, *captured.states)]
        self.builder = Builder({*outputs, *names, *captured.constants, *(node.name for node in captured.nodes)})
        self.values: dict[str, ir.Value] = {}
        self._specs = captured.specs()

    def model(self) -> ir.Model:
        captured = self.captured
        inputs = [self._input(name, spec) for name, spec in (*captured.inputs, *captured.states)]
        for name, tensor in captured.initials.items():
            self.values[name].const_value = onnx_tensor(tensor, name)
        for name, tensor in captured.constants.items():
            self.values[name] = self.builder.initializer(name, onnx_tensor(tensor, name))
        for node in captured.nodes:
            self._node(node)
        outputs = self._outputs()
        initializers = self.builder.initializers + [self.values[name] for name in captured.initials]
        graph = ir.Graph(
            inputs,
            outputs,
            nodes=self.builder.nodes,
            initializers=initializers,
            opset_imports={"": OPSET},
            name=captured.name,
        )
        return ir.Model(graph, ir_version=10, producer_name="pfcomp")

    def _input(self, name: str, spec: TensorSpec) -> ir.Value:
        value = ir.Value(name=name)
        _set_spec(value, spec)
        self.values[name] = value
        return value

    def _node(self, node: Node) -> None:
        first = len(self.builder.nodes)
        args = [self._arg(arg) for arg in node.args]
        kwargs = {key: self._arg(arg) for key, arg in node.kwargs}
        result = LOWERINGS[node.op](self.builder, node, *args, **kwargs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        for index, (value, spec) in enumerate(zip(results, node.results, strict=False)):
            if spec is not None:
                self._result(Ref(node.name, index if node.listed else None), value, spec)
        for made in self.builder.nodes[first:]:
            self._finish(made, node)

    def _result(self, ref: Ref, value: ir.Value, spec: TensorSpec) -> None:
        self.values[str(ref)] = value
        if value.producer() is not None and value.name is None:
            value.name = ref.name if ref.index is None else self.builder.free_name(str(ref))
            _set_spec(value, spec)

    def _finish(self, made: ir.Node, node: Node) -> None:
        """Name what the lowering made beside the results, after the captured node."""
        for value in made.outputs:
            if value.name is None:
                value.name = self.builder.free_name(f"{node.name}.{made.op_type.lower()}")
        made.name = made.outputs[0].name
        if node.source:
            made.metadata_props[SOURCE_KEY] = node.source

    def _arg(self, arg: Arg) -> Any:
        if isinstance(arg, Ref):
            return self.values[str(arg)]
        return tuple(self._arg(item) for item in arg) if isinstance(arg, tuple) else arg

    def _outputs(self) -> list[ir.Value]:
        captured = self.captured
        wanted = [(name, ref) for name, ref in captured.outputs]
        wanted += [(name + STATE_SUFFIX, ref) for name, ref in captured.updates]
        used: set[str] = set()
        values = []
        for name, ref in wanted:
            values.append(self._output(name, ref, used))
            used.add(name)
        return values

    def _output(self, name: str, ref: Ref, used: set[str]) -> ir.Value:
        """The value renamed to the user's key; an Identity where it is no node's own result or is named already."""
        value = self.values[str(ref)]
        if value.producer() is not None and not value.is_graph_output() and value.name not in used:
            own = value.producer()
            value.name = name
            if own is not None and own.outputs[0] is value:
                own.name = name
            return value
        result = self.builder.op("Identity", value)
        result.name = result.producer().name = name
        _set_spec(result, self._specs[str(ref)])
        return result


def _set_spec(value: ir.Value, spec: TensorSpec) -> None:
    value.shape = ir.Shape(spec.shape)
    value.dtype = ONNX_TYPES[spec.dtype]
