"""trace_scope and trace_event."""

import torch

from mlsdk import Context, MNDevice, trace_event, trace_scope
from tests.runtime.test_tracing import fields


def names_in(path):
    packets = [dict(fields(body)) for number, body in fields(path.read_bytes()) if number == 1]
    return [dict(fields(packet[11])).get(23, b"").decode() for packet in packets if 11 in packet]


def test_rows_of_a_call(tmp_path):
    context = Context(MNDevice("pfvm:cpu"))

    def twice(inputs):
        return {"out": inputs["x"] * 2}

    compiled = context.compile(twice, {"x": torch.ones(2)}, tmp_path / "out")
    with trace_scope(str(tmp_path / "trace.pb")), trace_event("step"):
        compiled({"x": torch.ones(2)})
    names = names_in(tmp_path / "trace.pb")
    assert [n for n in names if n] == ["step", "call twice", "twice"]


def test_without_a_file_nothing_is_written(tmp_path):
    with trace_scope(None), trace_event("step"):
        pass
    assert not list(tmp_path.iterdir())
