"""What the planner refuses, and the schedule as a file."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import ArtifactError, PfcompError, UnsupportedError
from pfcomp.ir.model import DType, Location
from pfcomp.options import resolve
from pfcomp.plan import store
from pfcomp.plan.model import Schedule
from pfcomp.plan.planner import plan
from pfcomp.plan.source_graph import SourceGraph, read_model
from tests.programs.harness import Op, model

ADD = [Op("Add", ("x", "y"), "out")]
SHAPES = {"x": (3, 4), "y": (3, 4)}


def source(ops: list[Op], shapes: dict, outputs: list[str], constants: dict | None = None) -> SourceGraph:
    proto = onnx.load_from_string(model(ops, shapes, outputs, constants or {}))
    return read_model(onnx_ir.serde.deserialize_model(proto))


def schedule(**options: object) -> Schedule:
    return plan(source(ADD, SHAPES, ["out"]), resolve(options))


def test_all_offenders_are_in_one_message() -> None:
    ops = [
        Op("Shrink", ("x",), "q"), Op("Hardmax", ("q",), "e"), Op("Hardmax", ("e",), "f"), Op("Add", ("f", "y"), "out")
    ]  # fmt: skip
    with pytest.raises(UnsupportedError, match="PF0401") as caught:
        source(ops, SHAPES, ["out"])
    message = str(caught.value)
    assert "3 of the graph's nodes" in message
    assert "Hardmax x2 (no kernel) at program.py:2, program.py:3" in message
    assert "Shrink x1 (no kernel) at program.py:1" in message


def test_wrong_element_types_are_offenders() -> None:
    proto = onnx.load_from_string(model(ADD, SHAPES, ["out"], {}))
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.COMPLEX64
    with pytest.raises(UnsupportedError, match="element type COMPLEX64"):
        read_model(onnx_ir.serde.deserialize_model(proto))


def test_unknown_shapes_are_refused() -> None:
    proto = onnx.load_from_string(model(ADD, SHAPES, ["out"], {}))
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(UnsupportedError, match="PF0402"):
        read_model(onnx_ir.serde.deserialize_model(proto))


def test_nan_constants_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"PF0403.*\bc\b"):
        source([Op("Add", ("x", "c"), "out")], {"x": (3,)}, ["out"], {"c": np.full(3, np.nan)})


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="PF0404"):
        schedule(sram_budget=0.001)


@pytest.mark.parametrize(
    ("layouts", "part"),
    [
        ({"nobody": "((3:1), (4:3))"}, "neither an input nor an output, nor a registered tensor"),
        ({"x": "Half/((3:1), (1:1, 4_W:1, 4_PE:1))"}, "cannot be Half"),
        ({"x": "((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])", "y": "((3:1), (4_MAB:1))"}, "would have"),
    ],
)
def test_layouts_that_cannot_be_forced(layouts: dict[str, str], part: str) -> None:
    with pytest.raises(UnsupportedError, match="PF0406") as caught:
        schedule(io_layouts=layouts)
    assert part in str(caught.value)


def test_a_forced_layout_moves_the_whole_region() -> None:
    wide = "((2_MAB:1, 2:1), (1:1, 2_W:1, 4_PE:1); B@[4_MAB:2,L1B,L2B])"
    with pytest.raises(UnsupportedError):
        schedule(io_layouts={"out": "((2_MAB:1, 2:1), (4_PE:1))"})
    planned = schedule(io_layouts={"out": wide.replace("4_MAB:2", "8_MAB:2")})
    assert {str(planned.graph.values[n].layout) for n in ("x", "y", "out")} == {wide.replace("4_MAB:2", "8_MAB:2")}


def test_operators_without_kernels_in_double_precision_are_refused() -> None:
    planned = schedule(float_dtype="double")
    assert {planned.graph.values[n].dtype for n in ("x", "y", "out")} == {DType.DOUBLE}
    graph = source([Op("Sin", ("x",), "out")], {"x": (3,)}, ["out"])
    assert plan(graph, resolve({"float_dtype": "half"})).tasks
    with pytest.raises(UnsupportedError, match=r"PF0401.*Sin"):
        plan(graph, resolve({"float_dtype": "double"}))


def test_reserved_names_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="PF0409"):
        plan(source([Op("Neg", ("x@LM",), "out")], {"x@LM": (3,)}, ["out"]), resolve())


def test_small_values_take_the_public_layout_and_addresses() -> None:
    values = schedule(float_dtype="float").graph.values
    assert [values[n].address for n in ("x", "y", "out")] == [0, 16, 32]
    assert {values[n].location for n in ("x", "y", "out")} == {Location.DRAM}


def test_the_file_reads_back(tmp_path: Path) -> None:
    planned = schedule()
    text = json.dumps(store.to_json(planned))
    assert store.from_json(json.loads(text), "schedule") == planned


@settings(max_examples=100)
@given(st.data())
def test_damaged_files_are_typed_errors(data: st.DataObject) -> None:
    content = json.loads(json.dumps(store.to_json(schedule())))
    place = content
    while isinstance(place, dict | list) and place and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list):
            break
        place = place[key]
    junk = data.draw(st.sampled_from([None, -1, "x", [], {}]))
    if isinstance(place, dict) and place:
        place[data.draw(st.sampled_from(sorted(place)))] = junk
    elif isinstance(place, list) and place:
        place[data.draw(st.integers(0, len(place) - 1))] = junk
    with suppress(PfcompError):  # anything else fails the test
        store.from_json(content, "schedule")


def test_another_format_is_named() -> None:
    with pytest.raises(ArtifactError, match=r"PF0408.*format 7"):
        store.from_json({"format": 7}, "schedule.json.zst")


def test_nodes_of_one_name_stay_apart() -> None:
    ops = [Op("Neg", ("x",), "a"), Op("Abs", ("a",), "b"), Op("Neg", ("b",), "out")]
    proto = onnx.load_from_string(model(ops, {"x": (3,)}, ["out"], {}))
    for node in proto.graph.node:
        node.name = "Download:x"
    names = [node.name for node in read_model(onnx_ir.serde.deserialize_model(proto)).nodes]
    assert names == ["Download:x_2", "Download:x_3", "Download:x_4"]
