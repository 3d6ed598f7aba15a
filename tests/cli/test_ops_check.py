"""`pfcomp ops` and `pfcomp check`: the table, the pages, reports on functions, models and scripts, exit statuses."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper, numpy_helper

from pfcomp.cli.main import cli
from pfcomp.errors import UnsupportedError
from pfcomp.frontend.coverage import aten_table
from pfcomp.ir.elements import HOST_TYPES
from pfcomp.ir.model import DType
from pfcomp.ir.to_onnx import ELEMENT_TYPES
from pfcomp.kernels.registry import kernels
from pfcomp.kernels.scan.topk import MOST
from pfcomp.kernels.table import ELEMENTWISE
from pfcomp.passes.core_ops import CORE_OPS, OPSET
from pfcomp.plan.coverage import EXTRA, compiled, operators
from pfcomp.plan.examples import CONSTANTS, EXAMPLES, VARIANTS
from pfcomp.plan.lower.rules import RULES
from tests.cli.test_main import ends

FUNCTIONS = """\
import torch

def axpy(inputs):
    return {"out": inputs["x"] * 2.0 + inputs["y"]}

def angles(inputs):
    angle = torch.erf(inputs["x"])
    angle = torch.erf(angle)
    return {"out": torch.sin(angle) + inputs["x"]}

def numbers(inputs):
    return {"out": inputs["x"] + 1}

def undefined(inputs):
    return {"out": inputs["x"] + torch.tensor([1.0, float("nan"), 2.0, 3.0])}

def untraceable(inputs):
    return {"out": 1}
"""
SCRIPT = """\
import sys, torch
from mlsdk import Context, MNDevice
context = Context(MNDevice("pfvm:cpu"))
x = torch.ones(3, 4)
double = context.compile(lambda i: {"y": i["x"] + i["x"]}, {"x": x}, "one")
print("got", double({"x": x})["y"].cpu().sum().item(), *sys.argv[1:])
context.compile(lambda i: {"z": torch.erf(i["x"].double())}, {"x": x}, "two")
"""
CONSTRAINED = """\
import torch
from mlsdk import Context, MNDevice
context = Context(MNDevice("emu2"))
x = torch.ones(3, 4)
consumer = context.compile(lambda i: {"y": i["x"] + i["x"]}, {"x": x}, "one")
wanted = {"y": consumer.input_specs["x"]}
context.compile(lambda i: {"y": i["x"] * i["x"]}, {"x": x}, "two", io_spec_constraints=wanted)
"""
MODEL = "m (float[2,3] x) => (float[2,3] y) { a = Add(x, x) b = Foo.Mystery(a) y = Abs(b) }"
X = "x=float32[3,4]"
X64 = "x=float64[3,4]"


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "script.py").write_text(SCRIPT)
    return lambda *arguments: ends(monkeypatch, capsys, cli, *arguments)


def test_the_table_of_operators(call):
    status, out, _ = call("ops")
    lines = out.splitlines()
    assert status == 0
    assert {line.split()[0] for line in lines[1:-1]} == {*operators(), *(r.name for r in aten_table())}
    own = {*kernels(), *RULES, *ELEMENTWISE} - EXTRA
    assert set(operators()) >= {*CORE_OPS, *own}
    (erf,) = [line.split() for line in lines if line.startswith("Erf ")]
    assert erf[1] == "13-18"
    rows = {row["operator"]: row for row in json.loads(call("ops", "--json")[1])["onnx"]}
    assert {name for name, row in rows.items() if row["compiled"]} >= own
    assert rows["Sum"]["opset"] == "13-18"


@pytest.mark.parametrize(
    ("op", "how", "types"),
    [
        ("Erf", "element-wise: 1 - exp(-g(|x|)) with a polynomial g", "Float"),
        ("MatMul", "kernel contraction", "Float, Double, Int, Long"),
        ("Slice", "rearrangement", "Float, Double, Int, Long, Bool"),
        ("Gather", "kernel indexing or rearrangement Take", "Float, Double, Int, Long, Bool"),
        ("LogSoftmax", "lowered (rules.py) to ReduceMax, Sub, Exp, ReduceSum, Log", "Float, Double"),
        ("Conv", "lowered (windows.py) to Unfold, Reshape, MatMul, Add", "Float, Double"),
        ("LayerNormalization", "rewritten by the pass lower_ops", "as its parts"),
    ],
)
def test_how_operators_are_compiled(op, how, types):
    found = compiled(op)
    assert (found.how, ", ".join(found.types)) == (how, types)


def test_limits_are_reasons_of_refusals():
    assert compiled("TopK").limits == (f"TopK of more than {MOST} elements",)
    assert "select_last_index is not supported" in compiled("ArgMax").limits


def test_examples_are_what_onnx_says():
    """Shapes of the results, with a type that the operator is compiled for; the first type of an index is INT64."""
    for example in (*EXAMPLES, *VARIANTS):
        dtype = DType(next((t for t in compiled(example.op).types), "Float"))
        specs, node = example.specs(dtype), example.node
        proto = helper.make_node(node.op, node.inputs, node.outputs, **dict(node.attributes))
        names = [n for n in dict.fromkeys(node.inputs) if n and n not in CONSTANTS]
        inputs = [helper.make_tensor_value_info(n, ELEMENT_TYPES[specs[n].dtype], specs[n].shape) for n in names]
        outputs = [helper.make_tensor_value_info(n, ELEMENT_TYPES[specs[n].dtype], None) for n in node.outputs]
        constants = [
            numpy_helper.from_array(CONSTANTS[n].astype(HOST_TYPES[specs[n].dtype]), n)
            for n in node.inputs
            if n in CONSTANTS
        ]
        graph = helper.make_graph([proto], "g", inputs, outputs, initializer=constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        shapes = [tuple(d.dim_value for d in o.type.tensor_type.shape.dim) for o in inferred.graph.output]
        assert shapes == [specs[n].shape for n in node.outputs], example


def test_the_page_is_up_to_date(call):
    assert (Path(__file__).parents[2] / "docs" / "ops.md").read_text() == call("ops", "--md")[1]


def test_a_function_that_would_compile(call):
    status, out, _ = call("check", "functions.py:axpy", "--sample", X, "--sample", "y=float32[4]")
    assert (status, out) == (0, "axpy: 2 of 2 nodes would compile (100.0 %)\n  yes  Add  x1\n  yes  Mul  x1\n")


def test_all_that_is_missing_at_once(call):
    status, out, err = call("check", "functions.py:angles", "--sample", X64, "--json")
    (checked,) = json.loads(out)["checked"]
    assert (status, err) == (4, "")
    assert (checked["nodes"], checked["supported"]) == (4, {"Add": 1})
    erf = checked["problems"][0]
    assert (erf["op"], erf["count"], erf["sources"]) == ("Erf", 2, ["functions.py:7", "functions.py:8"])
    assert [problem["op"] for problem in checked["problems"]] == ["Erf", "Sin"]
    assert "functions.py:7, functions.py:8" in call("check", "functions.py:angles", "--sample", X64)[1]


def test_element_types_that_wider_ones_hold(call):
    for element in ("float16", "bfloat16", "uint8"):
        status, out, _ = call("check", "functions.py:numbers", "--sample", f"x={element}[3]")
        assert (status, "100.0 %" in out) == (0, True), out


def test_constants_that_the_chip_does_not_have(call):
    status, out, _ = call("check", "functions.py:undefined", "--sample", X)
    assert status == 4
    assert out.splitlines()[1] == "  no  constant 'const0' holds NaN, which the chip does not have"
    (checked,) = json.loads(call("check", "functions.py:undefined", "--sample", X, "--json")[1])["checked"]
    assert (checked["percent"], len(checked["findings"])) == (100.0, 1)


def test_the_plan_of_the_whole_is_checked(call, monkeypatch):
    def too_large(source, options):
        raise UnsupportedError("PF0404", "too large")

    monkeypatch.setattr("pfcomp.plan.planner.plan", too_large)
    status, out, _ = call("check", "functions.py:axpy", "--sample", X, "--sample", "y=float32[4]")
    assert status == 4
    assert "  no  PF0404: too large\n" in out


def test_specs_of_functions_that_are_only_checked(call, tmp_path):
    (tmp_path / "script.py").write_text(CONSTRAINED)
    status, out, err = call("check", "script.py")
    assert (status, err) == (0, "")
    assert out.count("1 of 1 nodes would compile") == 2


def test_a_function_that_cannot_be_captured(call):
    status, out, _ = call("check", "functions.py:untraceable", "--sample", X)
    assert status == 4
    assert out.startswith("untraceable: cannot be captured: PF0306: ")
    assert out.count("\n") == 1


def test_a_model(call, tmp_path):
    header = '<ir_version: 8, opset_import: ["" : 18, "Foo" : 1]>'
    onnx.save(onnx.parser.parse_model(header + MODEL), tmp_path / "m.onnx")
    status, out, _ = call("check", "m.onnx")
    assert status == 4
    assert out.splitlines()[0] == "m: 1 of 3 nodes would compile (33.3 %)"
    assert "Foo::Mystery" in out


def test_a_script_goes_on_to_its_last_function(call, tmp_path):
    status, out, err = call("check", "script.py", "argument")
    assert status == 4
    assert [line.split(":")[0] for line in out.splitlines() if "would compile" in line] == ["one", "two"]
    assert err == "got 24.0 argument\n"
    assert not (tmp_path / "one").exists()


def test_a_script_that_fails_later(call, tmp_path):
    lines = SCRIPT.splitlines()
    (tmp_path / "script.py").write_text("\n".join([*lines[:5], "raise ValueError('later')"]))
    status, out, err = call("check", "script.py")
    assert (status, err) == (3, "pfcomp: PF0805: script.py:6: the script raised ValueError: later\n")
    assert out.count("would compile") == 1
    (tmp_path / "script.py").write_text("\n".join([*lines[:4], 'context.compile(lambda i: {"y": 1}, {"x": x}, "a")']))
    status, out, err = call("check", "script.py")
    assert (status, err) == (4, "")
    assert out.startswith("script: cannot be captured: PF0306: ")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["none.py"], 3, "PF0804"),
        (["none"], 3, "PF0804"),
        (["functions.py"], 3, "PF0806"),
        (["functions.py:none", "--sample", X], 3, "PF0807"),
        (["functions.py:axpy", "--sample", "x"], 2, "PF0808"),
        (["functions.py:axpy", "argument"], 2, "PF0801"),
        (["functions.py", "--sample", X], 2, "PF0801"),
    ],
)
def test_mistakes_are_one_line(call, arguments, status, code):
    got, out, err = call("check", *arguments)
    assert (got, out, err.count("\n")) == (status, "", 1)
    assert err.startswith(f"pfcomp: {code}: ")


@pytest.mark.parametrize("name", ["ops", "check"])
def test_help_imports_nothing_heavy(name):
    code = (
        f"import sys\nfrom pfcomp.cli.main import cli\ncli.main(['{name}', '--help'], standalone_mode=False)\n"
        "print([m for m in ('torch', 'onnx', 'numpy', 'onnx_ir') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n"), done.stdout
