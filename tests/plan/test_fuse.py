"""Fusion keeps dependences, never makes a cycle, and leaves observable values observable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pfcomp.ir.model import MNNode
from pfcomp.plan.fuse import MAX_BODY, fuse


def add(name: str, a: str, b: str) -> MNNode:
    return MNNode(name, "Add", (a, b), (name,))


def test_a_chain_becomes_one_node() -> None:
    nodes = (add("a", "x", "y"), add("b", "a", "x"), add("c", "b", "a"))
    shapes = dict.fromkeys("xyabc", (3, 4))
    (fused,) = fuse(nodes, shapes, frozenset("c"))
    assert (fused.op, fused.inputs, fused.outputs) == ("Fused", ("x", "y"), ("c",))
    assert fused.body == nodes


def test_a_detour_over_another_shape_makes_no_cycle() -> None:
    shapes = {"x": (1,), "a": (1,), "big": (8,), "b": (8,), "c": (8,)}
    nodes = (add("a", "x", "x"), add("b", "a", "big"), add("c", "b", "a"))
    fused = fuse(nodes, shapes, frozenset("c"))
    assert [n.outputs for n in fused] == [("a",), ("c",)]


@given(st.data(), st.integers(1, 40))
def test_every_value_is_made_before_it_is_read(data: st.DataObject, count: int) -> None:
    names = ["x", "y"]
    shapes: dict[str, tuple[int, ...]] = {"x": (4,), "y": (1,)}
    nodes = []
    for i in range(count):
        a, b = (data.draw(st.sampled_from(names)) for _ in range(2))
        name = f"v{i}"
        shapes[name] = max(shapes[a], shapes[b])
        nodes.append(add(name, a, b))
        names.append(name)
    kept = frozenset(data.draw(st.lists(st.sampled_from(names[2:]), min_size=1)))
    known = {"x", "y"}
    for node in fuse(tuple(nodes), shapes, kept):
        assert set(node.inputs) <= known
        assert len(node.body) <= MAX_BODY
        inner = set(node.inputs)
        for step in node.body or (node,):
            assert set(step.inputs) <= inner
            inner.update(step.outputs)
        known.update(node.outputs)
    assert kept <= known
