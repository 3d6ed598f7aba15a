"""Which nodes of a model a back end cannot take: all of them, with names, counts and source lines."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import onnx_ir as ir

SOURCE_KEY = "pfcomp.source"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One kind of op that cannot be compiled: node names, source lines (sorted, without repetition) and the reason."""

    op: str
    reason: str
    nodes: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        lines = f", at {', '.join(self.sources)}" if self.sources else ""
        reason = f": {self.reason}" if self.reason else ""
        return (
            f"{self.op} x{self.count} ({', '.join(self.nodes[:3])}{', ...' if self.count > 3 else ''}{lines}){reason}"
        )


def unsupported(
    model: ir.Model, supported: Collection[str] | Callable[[ir.Node], str | None]
) -> tuple[Unsupported, ...]:
    """Groups of nodes that cannot be compiled, in order of first appearance.

    `supported` is a collection of op types, or a function that returns None for a node that is taken and the reason
    for one that is not.
    """
    groups: dict[tuple[str, str], list[ir.Node]] = {}
    for node in model.graph:
        reason = supported(node) if callable(supported) else None if node.op_type in supported else ""
        if reason is not None:
            groups.setdefault((_op(node), reason), []).append(node)
    return tuple(
        Unsupported(op, reason, tuple(str(n.name) for n in nodes), _sources(nodes))
        for (op, reason), nodes in groups.items()
    )


def _op(node: ir.Node) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def _sources(nodes: list[ir.Node]) -> tuple[str, ...]:
    return tuple(sorted({node.metadata_props[SOURCE_KEY] for node in nodes if SOURCE_KEY in node.metadata_props}))
