"""fx2onnx: the linter's findings, levels and report, and the re-exported names."""

import io

import pytest
import torch

import fx2onnx
from fx2onnx.linter import LintLevel, LintResult, lint
from pfcomp.frontend.names import get_tensor_name

SCALE = 3
SAMPLE = {"x": torch.ones(2)}


def clean(inputs):
    return {"o": inputs["x"] + 1}


def frozen(inputs):
    return {"o": inputs["x"] * SCALE}


def scalar(inputs):
    return {"o": inputs["x"] * inputs["x"].sum().item()}


def two(a, b):
    return {"o": a + b}


KEPT = None


def escaping(inputs):
    global KEPT  # noqa: PLW0603
    KEPT = inputs["x"] + 1
    return {"o": KEPT}


def test_a_clean_function():
    result = lint(clean, args=(SAMPLE,), lint_level=LintLevel.INFO)
    assert result == LintResult("clean", ())
    assert result.text() == "clean: no findings"


@pytest.mark.parametrize(
    ("function", "level", "text"),
    [
        (frozen, LintLevel.INFO, "reads 'SCALE' of an enclosing scope"),
        (scalar, LintLevel.WARNING, ".item() makes a Python value"),
        (scalar, LintLevel.ERROR, "the value of a tensor is needed"),
        (two, LintLevel.ERROR, "takes 2 arguments"),
        (escaping, LintLevel.ERROR, "a tensor of this function is kept outside it"),
        (escaping, LintLevel.WARNING, "assigns KEPT outside the function"),
        (lambda i: i["x"], LintLevel.ERROR, "not a mapping of str to Tensor"),
    ],
)
def test_findings(function, level, text):
    found = [finding for finding in lint(function, args=(SAMPLE,)).findings if text in finding.text]
    assert [finding.level for finding in found] == [level]
    assert found[0].where.startswith("test_linter.py:")


def test_levels_filter_and_order():
    assert lint(frozen, args=(SAMPLE,), lint_level=LintLevel.WARNING).findings == ()
    levels = [finding.level for finding in lint(scalar, args=(SAMPLE,)).findings]
    assert levels == sorted(levels, reverse=True)


def test_the_sample_must_be_a_mapping():
    assert "the sample must be one dict" in lint(clean, args=(torch.ones(1),)).text()


def test_dump_prints_the_report():
    file = io.StringIO()
    lint(scalar, args=(SAMPLE,)).dump(file)
    assert file.getvalue().startswith("scalar: 2 finding(s)\n  ERROR: test_linter.py:")


def test_names_are_re_exported():
    tensor = torch.ones(1)
    fx2onnx.set_tensor_name(tensor, "a@b")
    assert getattr(tensor, fx2onnx.FX2ONNX_EXPORTER_TENSOR_NAME_ATTR) == "a@b"
    assert get_tensor_name(tensor) == "a@b"
