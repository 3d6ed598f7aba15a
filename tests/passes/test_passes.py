"""Each pass on small models written as text; meaning compared with onnxruntime before and after."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from pfcomp.errors import InternalError
from pfcomp.passes import (
    clean_views,
    drop_dead,
    drop_identity,
    fold_constants,
    infer_shapes,
    lift_constants,
    merge_equal,
    name_nodes,
)
from pfcomp.passes.base import Pass
from pfcomp.passes.runner import apply, optimise
from pfcomp.passes.support import unsupported
from pfcomp.pfvm import PFVM

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def build(text):
    model = ir.from_proto(onnx.parser.parse_model(HEAD + text))
    apply(model, [infer_shapes.PASS])
    return model


def ops(model):
    return [node.op_type for node in model.graph]


def same_meaning(model, passes, **inputs):
    before = PFVM(model.clone()).run(inputs)
    changes = apply(model, passes, verify=True)
    after = PFVM(model).run(inputs)
    for name, value in before.items():
        assert value.tobytes() == after[name].tobytes()
    return changes


X = np.asarray([[-0.0, 1.0, -2.0], [0.0, np.inf, 3.0]], np.float32)


def test_dead_nodes_and_constants_go():
    model = build(
        "f (float[2,3] x) => (float[2,3] y) <float[1] c = {2}, float[1] d = {3}> "
        "{ a = Neg(x) b = Mul(x, c) y = Abs(x) }"
    )
    assert same_meaning(model, [drop_dead.PASS], x=X) == 4
    assert ops(model) == ["Abs"]
    assert not model.graph.initializers


def test_equal_nodes_and_constants_are_merged():
    model = build(
        "f (float[2,3] x) => (float[2,3] y) <float[1] c = {2}, float[1] d = {2}> "
        "{ a = Mul(x, c) b = Mul(x, d) y = Add(a, b) }"
    )
    assert same_meaning(model, [merge_equal.PASS], x=X) == 2
    assert ops(model) == ["Mul", "Add"]


def test_random_nodes_are_not_merged():
    model = build(
        "f (float[2,3] x) => (float[2,3] y) { a = RandomUniformLike(x) b = RandomUniformLike(x) y = Sub(a, b) }"
    )
    assert apply(model, [merge_equal.PASS], verify=True) == 0


@pytest.mark.parametrize(
    ("expression", "dropped"),
    [
        ("Add(x, minus_zero)", 1),
        ("Add(x, zero)", 0),
        ("Sub(x, zero)", 1),
        ("Sub(x, minus_zero)", 0),
        ("Sub(zero, x)", 0),
        ("Mul(one, x)", 1),
        ("Div(x, one)", 1),
        ("Div(one, x)", 0),
        ("Mul(x, nearly)", 0),
        ("Add(x, tiny)", 0),
        ("Mul(x, zero)", 0),
        ("Add(x, bigzero)", 0),
        ("Identity(x)", 1),
        ("Transpose <perm = [0, 1]> (x)", 1),
        ("Transpose <perm = [1, 0]> (x)", 0),
        ("Cast <to = 1> (x)", 1),
        ("Reshape(x, shape)", 1),
    ],
)
def test_only_exact_no_ops_are_dropped(expression, dropped):
    constants = (
        "float zero = {0}, float minus_zero = {-0.0}, float one = {1}, float nearly = {0.999995}, "
        "float tiny = {1e-8}, float[2,1,1] bigzero = {-0.0, -0.0}, int64[2] shape = {2, 3}"
    )
    shape = "2,2,3" if "bigzero" in expression else "3,2" if "[1, 0]" in expression else "2,3"
    model = build(f"f (float[2,3] x) => (float[{shape}] y) <{constants}> {{ a = {expression} y = Neg(a) }}")
    assert same_meaning(model, [drop_identity.PASS], x=X) == dropped


def test_a_transpose_of_unit_axes_is_a_no_op_only_if_the_order_is_kept():
    model = build("f (float[1,3,3] x) => (float[1,3,3] y) { a = Transpose <perm = [0, 2, 1]> (x) y = Neg(a) }")
    assert apply(model, [drop_identity.PASS], verify=True) == 0


def test_views_are_joined():
    model = build(
        "f (float[2,3] x) => (float[3,2] y, float[4,2,3] z) <int64[1] flat = {6}, int64[2] back = {3, 2}, "
        "int64[3] one = {1, 2, 3}, int64[3] four = {4, 2, 3}, int64[3] short = {1, 1, 1}> "
        "{ a = Reshape(x, flat) b = Reshape(a, back) c = Neg(b) d = Neg(c) y = Abs(d) "
        "e = Expand(x, one) g = Expand(e, four) h = Expand(g, short) i = Transpose <perm = [2, 0, 1]> (h) "
        "j = Transpose <perm = [1, 2, 0]> (i) z = Abs(j) }"
    )
    assert same_meaning(model, [clean_views.PASS, drop_dead.PASS], x=X) > 0
    assert ops(model).count("Reshape") == 1
    assert ops(model).count("Neg") == 0
    assert ops(model).count("Transpose") == 1


def test_a_reshape_that_copies_lengths_is_left_alone():
    model = build(
        "f (float[2,3] x) => (float[6,1] y) <int64[2] a = {6, 1}, int64[2] b = {0, -1}> "
        "{ c = Reshape(x, a) y = Reshape(c, b) }"
    )
    assert same_meaning(model, [clean_views.PASS], x=X) == 0


def test_constants_are_folded_but_do_not_grow():
    model = build(
        "f (float[2,3] x) => (float[2,3] y, float[100000] z) "
        "<float[3] c = {1, 2, 3}, float s = {1}, int64[1] n = {100000}> "
        "{ a = Mul(c, c) b = Add(a, c) y = Mul(x, b) z = Expand(s, n) }"
    )
    assert same_meaning(model, [fold_constants.PASS], x=X) == 2
    assert ops(model) == ["Mul", "Expand"]


def test_defaults_of_inputs_are_no_constants():
    model = build("f (float[2,3] x, float[3] s) => (float[3] y) <float[3] s = {1, 2, 3}> { y = Neg(s) }")
    assert apply(model, [fold_constants.PASS, drop_dead.PASS, merge_equal.PASS], verify=True) == 0
    assert "s" in model.graph.initializers


def test_constant_nodes_become_initializers():
    model = build("f (float[2,3] x) => (float[2,3] y) { c = Constant <value_float = 2.0> () y = Mul(x, c) }")
    assert same_meaning(model, [lift_constants.PASS], x=X) == 1
    assert ops(model) == ["Mul"]


def test_the_standard_order_comes_to_rest():
    model = build(
        "f (float[2,3] x) => (float[2,3] y) <float zero = {-0.0}, int64[1] flat = {6}, int64[2] back = {2, 3}> "
        "{ a = Add(x, zero) b = Reshape(a, flat) c = Reshape(b, back) d = Neg(c) y = Neg(d) }"
    )
    optimise(model, verify=True)
    assert optimise(model, verify=True) == 0
    assert ops(model) == ["Neg", "Neg"]


def test_a_pass_that_breaks_its_contract_is_named():
    def rename(model):
        next(iter(model.graph)).outputs[0].name = "other"
        return 0

    model = build("f (float[2,3] x) => (float[2,3] y) { a = Neg(x) y = Neg(a) }")
    with pytest.raises(InternalError, match="PF0319: pass liar: it changed the model"):
        apply(model, [Pass("liar", rename)], verify=True)


def test_unsupported_nodes_are_listed_together():
    model = build("f (float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Erf(a) c = Erf(b) y = Tanh(c) }")
    nodes = list(model.graph)
    for number, node in enumerate(nodes):
        node.name, node.metadata_props["pfcomp.source"] = f"n{number}", f"m.py:{number}"
    found = unsupported(model, {"Neg"})
    assert [str(item) for item in found] == ["Erf x2 (n1, n2, at m.py:1, m.py:2)", "Tanh x1 (n3, at m.py:3)"]
    reasons = unsupported(model, lambda node: "no table" if node.op_type == "Tanh" else None)
    assert [str(item) for item in reasons] == ["Tanh x1 (n3, at m.py:3): no table"]


def test_nodes_get_names_of_their_own():
    model = build("f (float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Neg(a) y = Neg(b) }")
    for node in list(model.graph)[:2]:
        node.name = "same"
    assert apply(model, [name_nodes.PASS], verify=True) == 3
    assert [node.name for node in model.graph] == ["a", "b", "y"]
    assert apply(model, [name_nodes.PASS], verify=True) == 0
