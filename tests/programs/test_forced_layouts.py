"""`layout_spec` and `gemm_layout_spec`: values lie where files demand it, results are right, errors name entries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from pfcomp.artifacts import write_zst
from pfcomp.errors import PfcompError
from pfcomp.options import resolve
from pfcomp.stages import schedule
from pfcomp.stages.pipeline import compile_onnx
from pfcomp.stages.table import MODEL
from tests.programs.general import FLOAT, Array, Node, agree, floats, model

F = floats(np.random.default_rng(7))
ROWS = "((4_MAB:4), (8_L1B:1, 2:1, 2_W:1))"
COLUMNS = "((3_L1B:1), (16_MAB:1, 4:2))"
INPUTS = {"x": F(3, 30), "y": F(3, 30)}
SUM = (Node("Add", ["x", "y"], ["s"]), Node("Relu", ["s"], ["out"]))


def entry(trigger: str, op_type: str, shape: Sequence[int], layout: str) -> dict[str, object]:
    return {"trigger": trigger, "op_type": op_type, "shape": list(shape), "layout": layout}


def layouts(directory: Path) -> dict[str, str]:
    """Layouts of the values on the chip, by name."""
    values = json.loads((directory / "layout.json").read_text())
    return {name: value["layout"] for name, value in values.items() if value["location"] != "DRAM"}


def check(directory: Path, nodes: Sequence[Node], inputs: Mapping[str, Array], **options: object) -> dict[str, str]:
    """Compile, compare, and return the layouts."""
    constants = {name: array for name, array in inputs.items() if name.startswith("c")}
    given = {name: array for name, array in inputs.items() if name not in constants}
    agree(directory, nodes, given, {"out": FLOAT}, constants, {"float_dtype": "float", **options})
    return layouts(directory)


def refused(directory: Path, nodes: Sequence[Node], inputs: Mapping[str, Array], **options: object) -> str:
    """The error of planning, one line."""
    constants = {name: array for name, array in inputs.items() if name.startswith("k")}
    given = {name: array for name, array in inputs.items() if name not in constants}
    write_zst(directory / MODEL, model(nodes, given, {"out": FLOAT}, constants))
    with pytest.raises(PfcompError) as caught:
        schedule.run(directory, resolve(options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_operands_of_a_streamed_graph_are_switched(tmp_path: Path) -> None:
    found = check(tmp_path, SUM, INPUTS, layout_spec=[entry("SwitchInput", "Add", (3, 30), ROWS)])
    assert found["x.switched@LM"] == found["y.switched@LM"] == ROWS


def test_a_result_is_fixed_and_the_next_operand_switched_away_from_it(tmp_path: Path) -> None:
    spec = [entry("FixOutput", "Add", (3, 30), ROWS), entry("SwitchInput", "Relu", (3, 30), COLUMNS)]
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec))
    found = check(tmp_path, SUM, INPUTS, layout_spec=file)
    assert (found["s@LM"], found["s.switched@LM"]) == (ROWS, COLUMNS)
    assert "spec.json" not in (tmp_path / "l3ir.txt").read_text()


def test_a_layout_that_a_kernel_cannot_work_on_is_met_by_moves(tmp_path: Path) -> None:
    nodes = (Node("MatMul", ["x", "c"], ["h"]), Node("Softmax", ["h"], ["out"]))
    scattered = "((5:1, 4_PE:1), (40:7))"
    spec = [entry("FixOutput", "MatMul", (20, 40), scattered)]
    assert check(tmp_path, nodes, {"x": F(20, 30), "c": F(30, 40)}, layout_spec=spec)["h@LM"] == scattered


def test_padding_of_an_axis_of_length_one_is_not_computed_over_the_elements(tmp_path: Path) -> None:
    padded = "((3:15), (4_L2B:1, 5:3), (3:1), (2_L2B:4, 2_W:1, 4_PE:1))"
    spec = [entry("SwitchInput", "Sub", (1, 17, 3, 5), padded)]
    inputs = {"x": F(1, 17, 3, 5), "y": F(1, 17, 1, 5)}
    assert check(tmp_path, [Node("Sub", ["x", "y"], ["out"])], inputs, layout_spec=spec)["out@LM"] == padded


def test_names_of_the_vendor_mean_the_operators_of_the_compiled_graph(tmp_path: Path) -> None:
    places = np.array([[1, 1, 3, 0]] * 2, np.int64)
    node = Node("ScatterElements", ["x", "i", "u"], ["out"], {"axis": 1, "reduction": "add"})
    inputs = {"x": F(2, 6), "i": places, "u": F(2, 4)}
    layout = "((2_MAB:8), (6:1))"
    found = check(tmp_path, [node], inputs, layout_spec=[entry("SwitchInput", "ChainerIndexAdd", (2, 6), layout)])
    assert found["x.switched@LM"] == layout


@pytest.mark.parametrize("transposed", [False, True])
def test_products_by_the_name_of_their_weight(tmp_path: Path, transposed: bool) -> None:
    weight = F(40, 30) if transposed else F(30, 40)
    turned = [Node("Transpose", ["c.weight"], ["t"], {"perm": [1, 0]})] if transposed else []
    nodes = (*turned, Node("MatMul", ["x", "t" if transposed else "c.weight"], ["h"]), Node("Relu", ["h"], ["out"]))
    bt, c = "((8_L1B:1, 5:1), (8:5, 4_PE:1))", "((), (20:3), (16_MAB:1, 3:1))"
    spec = [{"key": "weight", "BT": bt, "C": c}]
    found = check(tmp_path, nodes, {"x": F(20, 30), "c.weight": weight}, gemm_layout_spec=spec)
    assert found["h@LM"] == "((20:3), (16_MAB:1, 3:1))"
    assert "((8:5, 4_PE:1), (8_L1B:1, 5:1))" in found.values()


def test_entries_that_apply_to_nothing(tmp_path: Path) -> None:
    spec = [entry("FixOutput", "Add", (3, 30), ROWS), entry("FixOutput", "Add", (4, 30), ROWS)]
    message = refused(tmp_path, SUM, INPUTS, layout_spec=spec)
    assert message.startswith(
        "PF0810: nothing in the graph is meant by entry 1 of layout_spec (FixOutput Add [4, 30]; "
    )
    assert "have other shapes of [3, 30])" in message
    assert "CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC=1" in message
    allowed = check(tmp_path, SUM, INPUTS, layout_spec=spec, envs={"CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC": "1"})
    assert allowed["s@LM"] == ROWS


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([entry("FixOutput", "Gather", (3, 30), ROWS)], "PF0810: .*the graph has no such operator"),
        (
            [entry("FixOutput", "Add", (3, 30), "((3:1))")],
            r"PF0809: layout_spec, entry 0: \(\(3:1\)\) does not fit 's'",
        ),
        ([entry("FixOutput", "Add", (3, 30), "((3_PE:1), (8_MAB:1))")], "PF0809: .*axis 1 of 30 elements does not fit"),
        ([entry("FixOutput", "Add", (3, 30), "((3_PE:1), (32_MAB:1))")], "PF0809: .*coordinate 31 of MAB exceeds 15"),
        (
            [entry("FixOutput", "Add", (3, 30), "((3:1), (30:1))")],
            "PF0809: .*several indices share a coordinate of Addr",
        ),
        (
            [entry("FixOutput", "Add", (3, 30), "((3:1000), (30:1))")],
            "PF0406: layout_spec, entry 0: 's' in .* 2030 long",
        ),
        ([entry("FixOutput", "Add", (3, 30), "((3_Time:1), (30:1))")], "PF0406: .*time slices"),
    ],
)
def test_layouts_that_cannot_be(tmp_path: Path, spec: list[object], message: str) -> None:
    assert re.match(message, refused(tmp_path, SUM, INPUTS, layout_spec=spec, sram_budget=0.5))


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"key": "nobody", "C": ROWS}, "no matrix product has such a weight"),
        ({"key": "y", "C": "((3:1), (30:1))"}, "several indices share a coordinate"),
    ],
)
def test_products_that_are_not_there(tmp_path: Path, spec: dict[str, object], reason: str) -> None:
    nodes = [Node("MatMul", ["x", "y"], ["out"])]
    message = refused(tmp_path, nodes, {"x": F(3, 20), "y": F(20, 30)}, gemm_layout_spec=[spec])
    assert message.startswith("PF0810: nothing in the graph is meant by entry 0 of gemm_layout_spec (key ")
    assert reason in message


def test_shapes_and_axes_are_not_values_that_could_be_moved(tmp_path: Path) -> None:
    nodes = [Node("Reshape", ["x", "k"], ["out"])]
    inputs = {"x": F(3, 30), "k": np.array([30, 3], np.int64)}
    message = refused(tmp_path, nodes, inputs, layout_spec=[entry("SwitchInput", "Reshape", (2,), "((2:1))")])
    assert message.startswith("PF0810")


def test_an_edited_file_compiles_again_and_the_folder_does_not_know_its_path(tmp_path: Path) -> None:
    source, file, folder = tmp_path / "m.onnx", tmp_path / "spec.json", tmp_path / "a"
    source.write_bytes(model(SUM, INPUTS, {"out": FLOAT}, {}))
    apps = []
    for layout in (ROWS, COLUMNS, ROWS):
        file.write_text(json.dumps([entry("FixOutput", "Add", (3, 30), layout)]))
        compile_onnx(source, folder, {"layout_spec": str(file)})
        assert layouts(folder)["s@LM"] == layout
        apps.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert apps[0] == apps[2] != apps[1]
    assert not any(str(tmp_path).encode() in content for content in apps[0].values())
