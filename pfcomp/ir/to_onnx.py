"""MNGraph as an ONNX model without weights, for graph viewers: `l3ir_stripped.onnx`.

Moves are nodes of the domain `pfcomp`; the nodes of a fused body stand one by one, marked with the name of the fused
node. Layout and place of every value are in its documentation string.
"""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from pfcomp.ir.model import DType, MNGraph, MNNode, MNValue
from pfcomp.ir.text import place_text

OPSET = 18
IR_VERSION = 10
DOMAIN = "pfcomp"

ELEMENT_TYPES = {
    DType.HALF: TensorProto.FLOAT16,
    DType.FLOAT: TensorProto.FLOAT,
    DType.DOUBLE: TensorProto.DOUBLE,
    DType.INT: TensorProto.INT32,
    DType.LONG: TensorProto.INT64,
    DType.BOOL: TensorProto.BOOL,
}


def stripped_model(graph: MNGraph) -> onnx.ModelProto:
    """The graph as a model: constants and immediates appear as inputs without contents."""
    nodes = [proto for node in graph.nodes for proto in _protos(node)]
    given = (*graph.inputs, *graph.states, *graph.constants)
    inputs = [_info(graph.values[n]) for n in given]
    inputs += [helper.make_tensor_value_info(n, ELEMENT_TYPES[dtype], []) for n, dtype, _ in graph.immediates]
    outputs = [_info(graph.values[n]) for n in graph.outputs]
    local = [_info(v) for name, v in graph.values.items() if name not in (*given, *graph.outputs)]
    body = helper.make_graph(nodes, "MNGraph", inputs, outputs, value_info=local)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(body, opset_imports=imports, ir_version=IR_VERSION, producer_name="pfcomp")


def _info(value: MNValue) -> onnx.ValueInfoProto:
    described = f"{place_text(value)} {value.dtype} {value.layout}"
    return helper.make_tensor_value_info(value.name, ELEMENT_TYPES[value.dtype], value.shape, doc_string=described)


def _protos(node: MNNode) -> list[onnx.NodeProto]:
    if not node.body:
        domain = "" if onnx.defs.has(node.op) else DOMAIN
        proto = helper.make_node(node.op, node.inputs, node.outputs, name=node.name, domain=domain)
        return [_sourced(proto, node, "")]
    names = _body_names(node)
    result = []
    for step in node.body:
        inputs = [names.get(n, n) for n in step.inputs]
        proto = helper.make_node(step.op, inputs, [names.get(n, n) for n in step.outputs], name=step.name)
        result.append(_sourced(proto, step, node.name))
    return result


def _body_names(node: MNNode) -> dict[str, str]:
    """Names inside a body are those of the source graph; at its border they are those of the on-chip copies."""
    border = (*node.inputs, *node.outputs)
    inner = {name for step in node.body for name in (*step.inputs, *step.outputs)}
    return {name: full for full in border for name in inner if full != name and full.startswith(name + "@")}


def _sourced(proto: onnx.NodeProto, node: MNNode, fused: str) -> onnx.NodeProto:
    for key, value in (("pfcomp.source", node.source), ("pfcomp.fused", fused)):
        if value:
            proto.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    return proto
