"""Each mistake of a user gives one line with a code and, where there is one, the line of the user's code."""

from collections.abc import Mapping

import pytest
import torch

from pfcomp.errors import ArtifactError, PfcompError, SourceError, UnsupportedError
from pfcomp.frontend import capture, export
from pfcomp.frontend.graph import CapturedGraph, Node, Ref, TensorSpec
from pfcomp.frontend.storage import from_bytes

X = {"x": torch.ones(2, 3)}


class Odd(Mapping):
    """A mapping with a key that is no string."""

    def __getitem__(self, key):
        return torch.ones(1)

    def __iter__(self):
        return iter([1])

    def __len__(self):
        return 1


def item(i):
    return {"o": i["x"] * i["x"].sum().item()}


def branch(i):
    return {"o": i["x"] if i["x"].sum() > 0 else -i["x"]}


def leave(i):
    return {"o": torch.from_numpy(i["x"].numpy())}


def masked(i):
    return {"o": i["x"][i["x"] > 0]}


def in_place(i):
    i["x"].add_(1)
    return {"o": i["x"]}


def in_place_view(i):
    i["x"][0].zero_()
    return {"o": i["x"]}


COUNTER = torch.zeros(3)


def unregistered(i):
    COUNTER.add_(1)
    return {"o": i["x"] + COUNTER}


def raising(i):
    return {"o": i["x"] @ i["x"]}


def joined_targets(i):
    lengths = torch.tensor([2, 1])
    return {"o": torch.nn.functional.ctc_loss(i["x"], torch.tensor([1, 2, 1]), torch.tensor([4, 4]), lengths)}


KEPT = []


def appending(i):
    KEPT.append(i["x"].sum())
    return {"o": i["x"] + 1}


def kept_input(i):
    appending.last = i["x"]
    return {"o": i["x"] + 1}


CASES = [
    ("PF0301", lambda i: {"o": i[""]}, {"": torch.ones(1)}, False),
    ("PF0301", lambda i: {"": i["x"]}, X, True),
    ("PF0302", lambda i: {"x": i["x"] + 1}, X, False),
    ("PF0303", lambda i: {1: i["x"]}, X, True),
    ("PF0303", lambda i: {}, Odd(), False),
    ("PF0304", lambda i: {}, [torch.ones(1)], False),
    ("PF0305", lambda i: i["x"], X, True),
    ("PF0306", lambda i: {"o": 3}, X, True),
    ("PF0306", lambda i: {}, {"x": 1.0}, False),
    ("PF0307", lambda i: {}, {"x": torch.ones(1, dtype=torch.complex64)}, False),
    ("PF0308", item, X, True),
    ("PF0308", branch, X, True),
    ("PF0308", leave, X, True),
    ("PF0308", joined_targets, {"x": torch.ones(4, 2, 3)}, True),
    ("PF0309", masked, X, True),
    ("PF0310", in_place, X, True),
    ("PF0310", in_place_view, X, True),
    ("PF0311", unregistered, X, True),
    ("PF0312", raising, X, True),
    ("PF0320", appending, X, True),
    ("PF0320", kept_input, X, True),
]


@pytest.mark.parametrize(("code", "function", "sample", "has_line"), CASES)
def test_mistakes(code, function, sample, has_line):
    with pytest.raises(SourceError) as caught:
        capture(function, sample)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    if has_line:
        line = function.__code__.co_firstlineno
        where, _, number = caught.value.where.partition(":")
        assert where == "test_errors.py"
        assert line <= int(number) <= line + 2


def test_nothing_of_the_user_is_changed_by_a_failed_capture():
    with pytest.raises(PfcompError):
        capture(unregistered, X)
    assert COUNTER.tolist() == [0, 0, 0]


def test_all_operators_without_translation_are_listed():
    spec = TensorSpec((2,), "float32")
    nodes = tuple(
        Node(f"n{i}", f"aten.{op}.default", (Ref("x"),), (), (spec,), source=f"a.py:{i}")
        for i, op in enumerate(("foo", "bar", "foo"))
    )
    captured = CapturedGraph("f", (("x", spec),), (), nodes, (("o", Ref("n2")),), (), {}, {})
    with pytest.raises(UnsupportedError) as caught:
        export(captured)
    assert caught.value.code == "PF0313"
    assert "aten.foo.default (x2, a.py:0, a.py:2)" in str(caught.value)
    assert "aten.bar.default (x1, a.py:1)" in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"PFCAPT01", b"PFCAPT01" + b"\xff" * 8, b"PFCAPT01" + (2).to_bytes(8, "little") + b"{}"]
)
def test_foreign_captured_files(data):
    with pytest.raises(ArtifactError) as caught:
        from_bytes(data, "captured")
    assert caught.value.code == "PF0314"


def test_a_median_that_leaves_out_nan_is_refused():
    """It is not the median of all elements, and where NaN stands depends on values."""
    with pytest.raises(UnsupportedError, match=r"nanmedian"):
        export(capture(lambda i: {"o": i["x"].nanmedian(1)[0]}, X))
