"""The tables of operators, the check report and the pages made from them."""

import re
from pathlib import Path

import torch

from pfcomp.frontend.coverage import aten_table, check_function
from pfcomp.passes.core_ops import CORE_OPS, classify

ROOT = Path(__file__).parents[2]
# the overloads of mlsdk.md 7.2
NEEDED = """
_log_softmax _log_softmax_backward_data _softmax _softmax_backward_data _to_copy _unsafe_view add.Tensor addcdiv addcmul
addmm arange arange.start argmax binary_cross_entropy_with_logits bitwise_and.Tensor bitwise_not bmm cat clamp clone
constant_pad_nd convolution convolution_backward cos cumsum div.Scalar div.Tensor div.Tensor_mode embedding
embedding_dense_backward empty.memory_format eq.Scalar eq.Tensor exp expand full gelu gelu_backward index.Tensor
le.Tensor lerp.Scalar lt.Tensor masked_fill.Scalar max.dim max_pool2d_with_indices
max_pool2d_with_indices_backward mean.dim mm
mse_loss mse_loss_backward mul.Scalar mul.Tensor native_batch_norm native_batch_norm_backward native_group_norm
native_group_norm_backward native_layer_norm native_layer_norm_backward neg new_ones nll_loss_backward nll_loss_forward
ones_like permute pow.Scalar pow.Tensor_Scalar randn.generator relu repeat rsqrt scalar_tensor scatter.src select.int
sigmoid silu silu_backward sin slice.Tensor slice_backward split.Tensor sqrt squeeze.dim stack sub.Tensor sum
sum.dim_IntList t threshold_backward transpose.int unsqueeze upsample_nearest2d upsample_nearest2d_backward view
where.self zeros zeros_like
"""


def test_every_needed_overload_has_a_way():
    from pfcomp.frontend.decompositions import decomposition_table

    ways = {row.name for row in aten_table()} | {str(operator) for operator in decomposition_table()}
    wanted = {f"aten.{name if '.' in name else name + '.default'}" for name in NEEDED.split()}
    assert wanted <= ways


def test_the_core_set_has_every_operator_that_lowerings_emit():
    text = "".join(path.read_text() for path in (ROOT / "pfcomp/frontend/lower").glob("*.py"))
    emitted = set(re.findall(r'b\.op\(\s*"(\w+)"', text))
    emitted |= {f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min", "Prod", "LogSumExp")}
    assert emitted <= set(CORE_OPS)


def test_a_report_names_all_that_is_missing():
    def function(i):
        return {"o": torch.erf(i["x"]) + torch.sort(i["x"])[0]}

    def whole(model):
        raise AssertionError("asked although nodes are missing")

    def kernel(node):
        return None if node.op_type == "Add" else "no kernel"

    report = check_function(function, {"x": torch.ones(4)}, kernel, whole)
    assert [problem.op for problem in report.problems] == ["Erf", "TopK"]
    assert report.percent == 100 / 3
    assert all(problem.sources[0].startswith("test_coverage.py:") for problem in report.problems)
    failed = check_function(lambda i: {"o": 1}, {"x": torch.ones(1)}, kernel, whole)
    assert failed.error.startswith("PF0306")


def test_the_model_as_a_whole_is_asked_last():
    def function(i):
        return {"o": i["x"] + 1}

    report = check_function(function, {"x": torch.ones(4)}, lambda n: None, lambda m: f"{len(m.graph)} is too many")
    assert (report.percent, report.findings) == (100.0, ("1 is too many",))


def test_the_census_knows_foreign_operators():
    from tests.passes.test_passes import build

    census = classify(build("f (float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Neg(a) y = Mish(b) }"))
    assert census.counts == (("Neg", 2), ("Mish", 1))
    assert census.unknown == ("Mish",)


def test_examples_of_the_page_run(capsys):
    text = (ROOT / "docs/frontend.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "docs/frontend.md", "exec"), {})
    assert "[[2. 2. 2. 2.]" in capsys.readouterr().out
