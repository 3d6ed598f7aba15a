"""MNGraph as text: one line per value and node, in execution order (the file `l3ir.txt`)."""

from __future__ import annotations

from pfcomp.ir.model import MNGraph, MNNode, MNValue
from pfcomp.layout import PadLayout


def graph_text(graph: MNGraph) -> str:
    """The whole graph; ends with a newline."""
    lines = ["inputs:", *(f"  {_value_line(graph.values[n])}" for n in graph.inputs)]
    lines += ["outputs:", *(f"  {_value_line(graph.values[n])}" for n in graph.outputs)]
    lines += ["states:", *(f"  {_value_line(graph.values[n])}" for n in graph.states)]
    lines += ["constants:", *(f"  {_value_line(graph.values[n])}" for n in graph.constants)]
    lines += ["immediates:", *(f"  {name} = 0x{bits:08x}" for name, _, bits in graph.immediates)]
    lines += ["nodes:"]
    for node in graph.nodes:
        lines += _node_lines(node, graph)
    return "\n".join(lines) + "\n"


def place_text(value: MNValue) -> str:
    """`DRAM@0-16` or `LM0@0-4`: location and half-open range in long words."""
    begin = value.address or 0
    return f"{value.location}@{begin}-{begin + value.size}"


def _value_line(value: MNValue) -> str:
    return f"{value.name}: {place_text(value)}/{value.dtype} {PadLayout(value.shape, value.layout)}"


def _node_lines(node: MNNode, graph: MNGraph) -> list[str]:
    source = f"  # {node.source}" if node.source else ""
    results = ", ".join(f"{name} ({place_text(graph.values[name])})" for name in node.outputs)
    lines = [f"  {results} = {node.op}({', '.join(node.inputs)}){source}"]
    for inner in node.body:
        origin = f"  # {inner.source}" if inner.source else ""
        lines.append(f"      {', '.join(inner.outputs)} = {inner.op}({', '.join(inner.inputs)}){origin}")
    return lines
