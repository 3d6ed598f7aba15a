"""Second pass over a trace: no in-place operations, fewer kinds of operations, and the result as pure data.

`torch.func.functionalize` turns updates of views into `*_scatter` operations and leaves one trailing
`copy_(placeholder, value)` for each changed state: that list *is* the set of updates (frontend.md 1).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx

from pfcomp.errors import InternalError, UnsupportedError
from pfcomp.frontend.decompositions import decomposition_table
from pfcomp.frontend.graph import Arg, CapturedGraph, Literal, Node, Ref, TensorSpec, spec_of
from pfcomp.frontend.substitute import SOURCE, annotate

_DROPPED_KWARGS = frozenset({"device", "layout", "pin_memory", "non_blocking"})
_ATTEMPTS = 3
_LITERALS = {torch.dtype: "dtype", torch.layout: "layout", torch.memory_format: "memory_format"}


class _SourceKeeper(Interpreter):  # type: ignore[misc]
    """Runs a recorded graph and marks what it records anew with the source line of the node being run.

    Decomposed operators may leave their results with other strides than the recorded ones had. Where these do not
    admit a recorded view, it becomes a copy, unless something is written through it or into what it shows.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self._roots, self._written = _storages(module)

    def run_node(self, n: torch.fx.Node) -> Any:
        result = self._view(n) if n.target is torch.ops.aten.view.default else super().run_node(n)
        annotate(SOURCE, n.meta.get(SOURCE, ""))
        return result

    def _view(self, n: torch.fx.Node) -> Any:
        try:
            return super().run_node(n)
        except (ValueError, RuntimeError):
            if self._roots[n] in self._written:
                raise
            args, _ = self.fetch_args_kwargs_from_env(n)
            return torch.ops.aten.reshape.default(*args)


def _storages(module: GraphModule) -> tuple[dict[torch.fx.Node, torch.fx.Node], set[torch.fx.Node]]:
    """For every node the one whose result it shows a part of, or itself; and which of these are written in place."""
    roots: dict[torch.fx.Node, torch.fx.Node] = {}
    written: set[torch.fx.Node] = set()
    for node in module.graph.nodes:
        first = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
        schema = getattr(node.target, "_schema", None)
        shows = first is not None and schema is not None and any(r.alias_info for r in schema.returns)
        roots[node] = roots[first] if shows else node
        if schema is not None and schema.is_mutable:
            written.update(roots[n] for n in node.all_input_nodes)
    return roots, written


def functionalise(raw: GraphModule) -> GraphModule:
    """The same computation without in-place operations and with decomposed operators; runs under the fake mode.

    Some of torch's decompositions work in place themselves; then the pass is applied to its own result.
    """
    pure = _functional(raw)
    for _ in range(_ATTEMPTS):
        if not _writes(pure):
            return pure
        pure = _functional(pure)
    raise InternalError("PF0312", f"in-place operations remain: {', '.join(_writes(pure))}")


def _functional(raw: GraphModule) -> GraphModule:
    fakes = [node.meta["val"].detach() for node in raw.graph.nodes if node.op == "placeholder"]
    keeper = _SourceKeeper(raw)
    with torch.no_grad():
        return make_fx(
            torch.func.functionalize(keeper.run, remove="mutations"),
            decomposition_table=decomposition_table(),
            _allow_non_fake_inputs=True,
        )(*fakes)


def _writes(pure: GraphModule) -> list[str]:
    """Operators that write into anything but a placeholder."""
    return [
        str(node.target)
        for node in pure.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.is_mutable
        and node.args[0].op != "placeholder"
    ]


@dataclass(frozen=True, slots=True)
class Interface:
    """What a trace's placeholders and outputs are.

    Placeholders are the `inputs`, then the `states` (real tensors by name, in order of first use); outputs are the
    user's keys, then the new values of the states `rebound`.
    """

    inputs: Mapping[str, TensorSpec]
    outputs: tuple[str, ...]
    rebound: tuple[str, ...]
    states: Mapping[str, Tensor]


def read_graph(pure: GraphModule, name: str, interface: Interface, registered: Sequence[str]) -> CapturedGraph:
    """The captured graph of a functional trace; registered states come first, in their order."""
    states = interface.states
    reader = _Reader(pure, [*interface.inputs, *states], reserved={*interface.inputs, *states, *interface.outputs})
    results, updates = reader.read()
    values = results[: len(interface.outputs)]
    updates |= dict(zip(interface.rebound, results[len(values) :], strict=True))
    rank = {state: number for number, state in enumerate(registered)}
    order = sorted(states, key=lambda state: rank.get(state, len(rank)))
    roots = [*values, *updates.values()]
    nodes = _reachable(reader.nodes, roots)
    used = {ref.name for ref in roots} | {ref.name for node in nodes for ref in node.refs()}
    return CapturedGraph(
        name=name,
        inputs=tuple(interface.inputs.items()),
        states=tuple((state, spec_of(states[state])) for state in order),
        nodes=nodes,
        outputs=tuple(zip(interface.outputs, values, strict=True)),
        updates=tuple((state, updates[state]) for state in order if state in updates),
        constants={name: tensor for name, tensor in reader.constants.items() if name in used},
        initials={state: states[state].detach().clone().contiguous() for state in order},
    )


class _Reader:
    """Turns an fx graph into `Node`s; `reserved` names are kept free for the user."""

    def __init__(self, module: GraphModule, placeholders: Sequence[str], reserved: set[str]) -> None:
        self.module = module
        self.nodes: list[Node] = []
        self.constants: dict[str, Tensor] = {}
        self._placeholders = list(placeholders)
        self._refs: dict[torch.fx.Node, Ref] = {}
        self._taken = set(reserved)
        self._updates: dict[str, Ref] = {}

    def read(self) -> tuple[list[Ref], dict[str, Ref]]:
        """(values of the outputs, new value of each updated state)."""
        pending = iter(self._placeholders)
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self._refs[node] = Ref(next(pending))
            elif node.op == "get_attr":
                self._refs[node] = self._constant(getattr(self.module, node.target))
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                return [self._refs[value] for value in node.args[0]], self._updates
        raise InternalError("PF0312", "the trace has no output")

    def _constant(self, tensor: Tensor) -> Ref:
        name = self._free_name(f"const{len(self.constants)}")
        self.constants[name] = tensor.detach().clone().contiguous()
        return Ref(name)

    def _free_name(self, wanted: str) -> str:
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_v{count}"
        self._taken.add(name)
        return name

    def _call(self, node: torch.fx.Node) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            self._refs[node] = Ref(self._refs[source].name, int(index))
            return
        op = _op_name(node.target)
        if op.startswith("profiler."):
            return
        if op == "aten.copy_.default":
            target, value = node.args[:2]
            self._updates[self._refs[target].name] = self._refs[value]
            self._refs[node] = self._refs[value]
            return
        result = node.meta.get("val")
        listed = isinstance(result, (list, tuple))
        specs = tuple(_result_spec(item) for item in (result if listed else (result,)))
        args = tuple(self._arg(item) for item in node.args)
        kwargs = tuple((k, self._arg(v)) for k, v in node.kwargs.items() if k not in _DROPPED_KWARGS)
        name = self._free_name(node.name)
        self.nodes.append(Node(name, op, args, kwargs, specs, listed, node.meta.get(SOURCE, "")))
        self._refs[node] = Ref(name)

    def _arg(self, value: Any) -> Arg:
        if isinstance(value, torch.fx.Node):
            return self._refs[value]
        if isinstance(value, (list, tuple)):
            return tuple(self._arg(item) for item in value)
        if isinstance(value, torch.device):
            return None
        for kind, label in _LITERALS.items():
            if isinstance(value, kind):
                return Literal(label, str(value).removeprefix("torch."))
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise UnsupportedError("PF0313", f"an operator argument of type {type(value).__name__}")


def _op_name(target: Any) -> str:
    if not isinstance(target, torch._ops.OpOverload):
        raise UnsupportedError("PF0313", f"'{getattr(target, '__name__', target)}' is not an ATen operator")
    return str(target)


def _result_spec(value: Any) -> TensorSpec | None:
    return spec_of(value) if isinstance(value, Tensor) else None


def _reachable(nodes: Sequence[Node], roots: Sequence[Ref]) -> tuple[Node, ...]:
    """The nodes that the roots depend on, in order."""
    needed = {ref.name for ref in roots}
    kept = []
    for node in reversed(nodes):
        if node.name in needed:
            needed.update(ref.name for ref in node.refs())
            kept.append(node)
    return tuple(reversed(kept))
