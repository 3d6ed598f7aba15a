"""Captured graphs on disk: round trip, equal bytes, damage."""

import random

import pytest
import torch

from pfcomp.errors import ArtifactError
from pfcomp.frontend import capture, load, save
from pfcomp.frontend.storage import from_bytes, to_bytes
from pfcomp.frontend.text import trace_text


def function(i):
    x = torch.clamp(i["x"], min=float("-inf"), max=2.0)
    a, b = torch.split(x.to(torch.bfloat16), 2, dim=1)
    return {"a": a, "b": b * torch.ones(2, dtype=torch.bfloat16)}


def graph():
    return capture(function, {"x": torch.zeros(2, 4)})


def test_round_trip(tmp_path):
    captured = graph()
    save(captured, tmp_path / "captured.zst")
    again = load(tmp_path / "captured.zst")
    assert again.nodes == captured.nodes
    assert (again.inputs, again.outputs, again.states) == (captured.inputs, captured.outputs, captured.states)
    assert all(torch.equal(again.constants[name], tensor) for name, tensor in captured.constants.items())


def test_equal_graphs_give_equal_bytes():
    assert to_bytes(graph()) == to_bytes(graph())


def outcome(data):
    try:
        from_bytes(data)
    except ArtifactError as error:
        return error.code
    return "read"


def test_damage_is_an_error_and_never_a_crash():
    data = to_bytes(graph())
    generator = random.Random(1)
    for _ in range(200):
        position = generator.randrange(len(data))
        damaged = bytearray(data)
        damaged[position] ^= 1 << generator.randrange(8)
        assert outcome(bytes(damaged)) in ("read", "PF0314")
    for length in range(0, len(data), 97):
        with pytest.raises(ArtifactError):
            from_bytes(data[:length])


def test_text():
    text = trace_text(capture(lambda i: {"out": i["x"] + 1}, {"x": torch.zeros(2, 3)}))
    lines = text.splitlines()
    assert lines[0] == "function <lambda>"
    assert lines[1] == "input    x: float32[2,3]"
    assert lines[2].startswith("  add: float32[2,3] = aten.add.Tensor(x, 1)  # test_storage.py:")
    assert lines[3] == "output   out = add"
