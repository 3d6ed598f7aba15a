"""Regions: the sets of values that element-wise nodes connect, which therefore share one axis table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pfcomp.ir.model import MNNode


@dataclass(frozen=True, slots=True)
class Component:
    """Nodes in graph order and the tensors they touch, immediates excluded, in order of first appearance."""

    nodes: tuple[MNNode, ...]
    tensors: tuple[str, ...]


def find_components(nodes: tuple[MNNode, ...], immediates: Iterable[str]) -> tuple[Component, ...]:
    """Split a graph into its connected parts; constants in the instruction stream do not connect anything."""
    ignored = set(immediates)
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    touched = {node.name: [t for t in (*node.inputs, *node.outputs) if t not in ignored] for node in nodes}
    for node in nodes:
        first, *others = touched[node.name]
        for other in others:
            leader[find(other)] = find(first)
    members: dict[str, tuple[list[MNNode], dict[str, None]]] = {}
    for node in nodes:
        kept, tensors = members.setdefault(find(node.outputs[0]), ([], {}))
        kept.append(node)
        tensors.update(dict.fromkeys(touched[node.name]))
    return tuple(Component(tuple(kept), tuple(tensors)) for kept, tensors in members.values())
