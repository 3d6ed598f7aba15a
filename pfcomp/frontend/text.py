"""`trace.txt`: the captured graph for people."""

from __future__ import annotations

from pfcomp.frontend.graph import Arg, CapturedGraph, Node, TensorSpec, spec_of


def trace_text(captured: CapturedGraph) -> str:
    """One line per input, state, constant, operation, output and update; ends with a line feed."""
    lines = [f"function {captured.name}"]
    lines += [f"input    {name}: {spec}" for name, spec in captured.inputs]
    written = {name for name, _ in captured.updates}
    lines += [f"state    {name}: {spec}{' (written)' if name in written else ''}" for name, spec in captured.states]
    lines += [f"constant {name}: {spec_of(tensor)}" for name, tensor in captured.constants.items()]
    lines += [_node_line(node) for node in captured.nodes]
    lines += [f"output   {name} = {ref}" for name, ref in captured.outputs]
    lines += [f"update   {name} = {ref}" for name, ref in captured.updates]
    return "\n".join(lines) + "\n"


def _node_line(node: Node) -> str:
    kwargs = [f"{key}={_arg(value)}" for key, value in node.kwargs]
    call = f"{node.op}({', '.join([*map(_arg, node.args), *kwargs])})"
    comment = f"  # {node.source}" if node.source else ""
    return f"  {node.name}: {_results(node.results, node.listed)} = {call}{comment}"


def _results(specs: tuple[TensorSpec | None, ...], listed: bool) -> str:
    texts = ["-" if spec is None else str(spec) for spec in specs]
    return f"({', '.join(texts)})" if listed else texts[0]


def _arg(arg: Arg) -> str:
    if isinstance(arg, tuple):
        return f"[{', '.join(map(_arg, arg))}]"
    return repr(arg) if isinstance(arg, str) else str(arg)
