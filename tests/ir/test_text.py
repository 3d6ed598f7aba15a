"""The graph as text and as ONNX for viewers."""

from __future__ import annotations

import onnx
import onnx_ir

from pfcomp.ir.text import graph_text
from pfcomp.ir.to_onnx import stripped_model
from pfcomp.options import resolve
from pfcomp.plan.planner import plan
from pfcomp.plan.source_graph import read_model
from tests.programs.harness import Op, model

TEXT = """\
inputs:
  x: DRAM@0-16/Float PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])}
outputs:
  out: DRAM@16-32/Float PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])}
states:
constants:
immediates:
  two = 0x40000000
nodes:
  x@LM (LM0@0-4) = Download(x)
  out@LM (LM0@0-4) = Fused(x@LM, two)  # program.py:2
      a = Mul(x, two)  # program.py:1
      out = Relu(a)  # program.py:2
  out (DRAM@16-32) = Upload(out@LM)
"""


def graph() -> object:
    ops = [Op("Mul", ("x", "two"), "a"), Op("Relu", ("a",), "out")]
    proto = onnx.load_from_string(model(ops, {"x": (3, 4)}, ["out"], {"two": 2.0}))
    return plan(read_model(onnx_ir.serde.deserialize_model(proto)), resolve()).graph


def test_text() -> None:
    assert graph_text(graph()) == TEXT


def test_the_stripped_model_is_valid_onnx() -> None:
    stripped = stripped_model(graph())
    onnx.checker.check_model(stripped)
    assert [n.op_type for n in stripped.graph.node] == ["Download", "Mul", "Relu", "Upload"]
    assert not stripped.graph.initializer
