"""`io_spec_constraints` for registered tensors: functions agree on a layout, and nothing is converted between them."""

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name

OPTIONS = {"float_dtype": "float"}
ONES = {"x": torch.ones(8, 8)}


class Shared:
    """Functions of a weight w: they read it, change it, or only write it."""

    def __init__(self):
        self.weight = torch.arange(64.0).reshape(8, 8)
        set_tensor_name(self.weight, "w")
        self.context = Context(MNDevice("emu2"))
        self.context.register_param(self.weight)

    def scale(self, inputs):
        self.weight.mul_(0.5)
        return {"out": self.weight + inputs["x"]}

    def project(self, inputs):
        self.weight.add_(inputs["x"])
        return {"out": inputs["x"] @ self.weight}

    def copy(self, inputs):
        self.weight.copy_(inputs["x"] * 3)
        return {"out": inputs["x"] + 1}

    def replace(self, inputs):
        self.weight.copy_(inputs["x"] @ inputs["x"])
        return {"out": inputs["x"] + 1}

    def compile(self, name, folder, **constraints):
        return self.context.compile(
            getattr(self, name), ONES, folder / name, options=OPTIONS, io_spec_constraints=constraints
        )


def state_spec(function):
    """The spec in which a function keeps w."""
    return function._program.state["w"]


@pytest.mark.parametrize(
    ("given", "names"), [("scale", ("project", "copy", "replace")), ("project", ("scale", "copy", "replace"))]
)
def test_functions_take_the_layout_of_another_one(tmp_path, given, names):
    shared = Shared()
    wanted = state_spec(shared.compile(given, tmp_path / "given"))
    weight = shared.weight.clone()
    for name in names:
        free = state_spec(shared.compile(name, tmp_path / "free"))
        function = shared.compile(name, tmp_path / "forced", w=wanted)
        assert state_spec(function).is_memcopyable_to(wanted), (name, free)
        for _ in range(2):
            result = function(ONES)["out"].cpu()
            shared.context.synchronize()
            other = Shared()
            other.weight = weight
            assert torch.equal(result, getattr(other, name)(ONES)["out"])
            assert torch.equal(shared.weight, weight)


def test_the_two_functions_differ_when_they_are_free(tmp_path):
    shared = Shared()
    specs = [state_spec(shared.compile(name, tmp_path)) for name in ("scale", "project")]
    assert not specs[0].is_memcopyable_to(specs[1])


@pytest.mark.parametrize("name", ["copy", "replace"])
def test_a_tensor_that_is_only_written_keeps_its_device_value(tmp_path, name):
    shared = Shared()
    function = shared.compile(name, tmp_path)
    function(ONES)
    entry = shared.context.registry.entries["w"]
    assert entry.value.spec.is_memcopyable_to(state_spec(function))
    function(ONES)
    assert entry.copies == []
