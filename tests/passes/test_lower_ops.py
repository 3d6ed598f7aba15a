"""Every rule of lower_ops: the rewritten model computes the same and holds core operators only."""

import numpy as np
import pytest

from pfcomp.ir.model import DType
from pfcomp.kernels import table
from pfcomp.passes import drop_identity, fold_constants, infer_shapes, lower_ops
from pfcomp.passes.core_ops import CORE_OPS
from pfcomp.passes.lower_ops import RULES
from pfcomp.passes.runner import apply, optimise
from pfcomp.pfvm import PFVM
from tests.passes.agreement import agreeing
from tests.passes.test_passes import build

X = np.random.default_rng(1).normal(size=(2, 3, 4, 5)).astype(np.float32) * 2
CONSTANTS = (
    "float low = {-1}, float high = {0.5}, int64[1] first = {0}, int64[1] front = {1}, int64[2] two = {1, 3}, "
    "float[3] scale = {1, 2, 3}, float[3] bias = {0, 1, -1}, float[3,1,1] slope = {0.1, 0.2, 0.3}, "
    "float[5] gain = {1, 2, 3, 4, 5}, float[4] other = {1, 2, 3, 4}, int64[2] sizes = {2, 3}"
)
CASES = {
    "Squeeze": ("2,3,4,5", "a = Unsqueeze(x, front) y = Squeeze(a, front)"),
    "Unsqueeze": ("1,2,3,4,5", "y = Unsqueeze(x, first)"),
    "Flatten": ("6,20", "y = Flatten <axis = 2> (x)"),
    "Dropout": ("2,3,4,5", "a = Dropout(x) y = Neg(a)"),
    "Shape": ("2,3,4,5", "s = Shape(x) a = Reshape(x, s) y = Neg(a)"),
    "Size": ("2,3,4,5", "s = Size(x) f = Cast <to = 1> (s) y = Div(x, f)"),
    "ConstantOfShape": ("2,3", "y = ConstantOfShape <value = float[1] {2.5}> (sizes)"),
    "Clip": ("2,3,4,5", "y = Clip(x, low, high)"),
    "Sum": ("2,3,4,5", "y = Sum(x, gain, x)"),
    "Mean": ("2,3,4,5", "y = Mean(x, gain, x)"),
    "Max": ("2,3,4,5", "y = Max(x, gain, low)"),
    "Min": ("2,3,4,5", "y = Min(x, gain, high)"),
    "GlobalAveragePool": ("2,3,1,1", "y = GlobalAveragePool(x)"),
    "GlobalMaxPool": ("2,3,1,1", "y = GlobalMaxPool(x)"),
    "ReduceL1": ("2,1,4,1", "y = ReduceL1(x, two)"),
    "ReduceL2": ("2,4", "y = ReduceL2 <keepdims = 0> (x, two)"),
    "ReduceSumSquare": ("1,1,1,1", "y = ReduceSumSquare(x)"),
    "ReduceLogSum": ("2,1,4,1", "p = Exp(x) y = ReduceLogSum(p, two)"),
    "LayerNormalization": ("2,3,4,5", "y = LayerNormalization <epsilon = 0.001> (x, gain, gain)"),
    "InstanceNormalization": ("2,3,4,5", "y = InstanceNormalization(x, scale, bias)"),
    "Softplus": ("2,3,4,5", "y = Softplus(x)"),
    "Softsign": ("2,3,4,5", "y = Softsign(x)"),
    "Elu": ("2,3,4,5", "y = Elu <alpha = 0.7> (x)"),
    "Celu": ("2,3,4,5", "y = Celu <alpha = 0.7> (x)"),
    "Selu": ("2,3,4,5", "y = Selu(x)"),
    "PRelu": ("2,3,4,5", "y = PRelu(x, slope)"),
    "HardSwish": ("2,3,4,5", "y = HardSwish(x)"),
    "CastLike": ("2,3,4,5", "y = CastLike(x, gain)"),
}


def model_of(name):
    shape, body = CASES[name]
    return build(f"f (float[2,3,4,5] x) => (float[{shape}] y) <{CONSTANTS}> {{ {body} }}")


def test_every_rule_has_a_case():
    assert set(CASES) == set(RULES)


@pytest.fixture
def nothing_whole(monkeypatch):
    """Rules for other types, tried on single precision: onnxruntime computes some operators in no other."""
    monkeypatch.setattr(lower_ops, "WHOLE", frozenset())


@pytest.mark.usefixtures("nothing_whole")
@pytest.mark.parametrize("name", CASES)
def test_rules_keep_the_meaning(name):
    model = model_of(name)
    before = PFVM(model.clone()).run({"x": X})["y"]
    assert apply(model, [lower_ops.PASS], verify=True) > 0
    apply(model, [infer_shapes.PASS, fold_constants.PASS, drop_identity.PASS], verify=True)
    np.testing.assert_allclose(PFVM(model).run({"x": X})["y"], before, rtol=2e-6, atol=2e-6)
    assert {node.op_type for node in model.graph} <= set(CORE_OPS)
    assert all(node.op_type != name or name in ("Max", "Min") for node in model.graph)


@pytest.mark.usefixtures("nothing_whole")
@pytest.mark.parametrize("name", CASES)
def test_all_passes_keep_the_meaning(name):
    assert "lower_ops" in agreeing(model_of(name), {"x": X})


@pytest.mark.parametrize("name", sorted(lower_ops.WHOLE))
def test_operators_with_a_recipe_stay_in_single_precision(name):
    model = model_of(name)
    assert "lower_ops" not in agreeing(model, {"x": X})
    assert [node.op_type for node in model.graph] == [name]
    assert any(row.inputs == (DType.FLOAT,) for row in table.BY_NAME[name])


def test_other_types_are_rewritten():
    model = build("f (double[2] x) => (double[2] y) { y = Softplus(x) }")
    assert apply(model, [infer_shapes.PASS, lower_ops.PASS], verify=True) > 0
    assert "Softplus" not in {node.op_type for node in model.graph}


def test_two_operands_stay():
    model = build("f (float[2] x) => (float[2] y) { a = Neg(x) y = Max(x, a) }")
    assert apply(model, [lower_ops.PASS], verify=True) == 0


def test_a_mask_that_is_used_keeps_its_dropout():
    model = build("f (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout(x) }")
    assert apply(model, [lower_ops.PASS], verify=True) == 0


def test_the_standard_passes_contain_it():
    model = model_of("LayerNormalization")
    optimise(model, verify=True)
    assert "LayerNormalization" not in {node.op_type for node in model.graph}
