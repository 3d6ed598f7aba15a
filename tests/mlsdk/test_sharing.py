"""Functions of one context whose programs want the shared tensors in different layouts or element types."""

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name
from pfcomp.errors import PfcompError
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import engine_of

SHAPE = (64, 64)
OTHER = "((16_MAB:1, 4:4), (8_L2B:1, 4:1, 2_W:1); B@[PE,L1B])"
OPTIONS = {"float_dtype": "float"}
X = torch.arange(64.0 * 64).reshape(SHAPE) / 7


@pytest.fixture
def shared():
    tensor = torch.linspace(-3, 3, 64 * 64).reshape(SHAPE)
    set_tensor_name(tensor, "w")
    return tensor


@pytest.fixture
def counters():
    found = engine_of(parse_device("emu2")).counters
    found.clear()
    return found


class Shared:
    """A context with a function that changes `w` and one that reads it, each with forced layouts or none."""

    def __init__(self, tensor, folder, train_layout=None, read_layout=None, device="emu2", options=OPTIONS):
        self.tensor = tensor
        self.context = Context(MNDevice(device))
        self.context.register_buffer(tensor)
        self.train = self.compile(self.step, folder / "train", train_layout, options)
        self.read = self.compile(lambda i: {"y": tensor * 2 + i["x"]}, folder / "read", read_layout, options)

    def compile(self, function, folder, layout, options):
        forced = {"io_layouts": {"x": layout}} if layout else {}  # `w` follows
        return self.context.compile(function, {"x": X}, folder, options={**options, **forced})

    def step(self, inputs):
        self.tensor.mul_(0.75)
        self.tensor.add_(inputs["x"])
        return {"loss": self.tensor + 1}


@pytest.mark.parametrize(("train", "read"), [(None, None), (None, OTHER), (OTHER, None)])
def test_alternating_layouts_are_exact(train, read, shared, tmp_path):
    expected = shared.clone()
    functions = Shared(shared, tmp_path, train, read)
    layouts = {each._program.state["w"].layout for each in (functions.train, functions.read)}
    assert len(layouts) == 1 + (train != read)
    proxy = functions.context.get_registered_value_proxy(shared)
    for n in range(5):
        assert torch.equal(functions.read({"x": X})["y"].cpu(), expected * 2 + X)
        expected = expected * 0.75 + X
        assert torch.equal(functions.train({"x": X})["loss"].cpu(), expected + 1)
        assert torch.equal(proxy.cpu(), expected)
        if n == 3:
            proxy.load_from(X)
            expected = X.clone()
    functions.context.synchronize()
    assert torch.equal(shared, expected)


def test_equal_layouts_cost_no_transfer(shared, tmp_path, counters):
    functions = Shared(shared, tmp_path)
    for _ in range(2):  # the first round loads the tensor
        counters.clear()
        for _ in range(3):
            functions.train({"x": X})
            functions.read({"x": X})
    assert counters["uploads"] == 6  # x
    assert counters["downloads"] == counters["conversions"] == 0


def test_reading_in_another_layout_converts_once_for_every_change(shared, tmp_path, counters):
    functions = Shared(shared, tmp_path, None, OTHER)
    functions.train({"x": X})
    functions.read({"x": X})
    counters.clear()
    for _ in range(3):
        functions.read({"x": X})
    assert (counters["uploads"], counters["downloads"]) == (3, 0)
    functions.train({"x": X})
    for _ in range(3):
        functions.read({"x": X})
    assert (counters["uploads"], counters["downloads"]) == (3 + 1 + 3 + 1, 1)


@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_first_contents_come_from_the_program_even_without_registration(device, shared, tmp_path):
    context = Context(MNDevice(device))
    read = context.compile(lambda i: {"y": shared + i["x"]}, {"x": X}, tmp_path, options=OPTIONS)
    shared.fill_(5)
    assert torch.equal(read({"x": X})["y"].cpu(), X + 5)
    shared.fill_(6)  # the device has it by now
    assert torch.equal(read({"x": X})["y"].cpu(), X + 5)
    Context.switch_context(Context(MNDevice(device)))
    assert torch.equal(read({"x": X})["y"].cpu(), X + 6)


@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_unregistered_state_lives_on_between_runs_and_contexts(device, shared, tmp_path):
    context = Context(MNDevice(device))

    def count(inputs):
        shared.add_(1)
        return {"y": inputs["x"] + shared}

    step = context.compile(count, {"x": X}, tmp_path, options=OPTIONS)
    before = shared.clone()
    step({"x": X})
    step({"x": X})
    Context.switch_context(Context(MNDevice(device)))
    assert torch.equal(step({"x": X})["y"].cpu(), X + (before + 1 + 1 + 1))
    context.invalidate()
    assert torch.equal(step({"x": X})["y"].cpu(), X + (before + 1 + 1 + 1 + 1))
    context.synchronize()
    assert torch.equal(shared, before)


def test_two_tensors_of_one_name_clash(shared, tmp_path):
    context = Context(MNDevice("pfvm:cpu"))
    context.compile(lambda i: {"y": shared + i["x"]}, {"x": X}, tmp_path / "first")
    other = torch.ones(SHAPE)
    set_tensor_name(other, "w")
    with pytest.raises(PfcompError, match=r"PF0302.*'w'"):
        context.compile(lambda i: {"y": other + i["x"]}, {"x": X}, tmp_path / "second")


@pytest.mark.parametrize("clone", [True, False])
@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_load_from(device, clone, shared, tmp_path):
    functions = Shared(shared, tmp_path, device=device)
    proxy = functions.context.get_registered_value_proxy(shared)
    inputs = functions.read.allocate_input_proxy()
    for n in range(3):
        source = torch.full(SHAPE, float(n))
        proxy.load_from(source, clone=clone)
        inputs["x"].load_from(source.to(torch.float64).reshape(-1), clone=clone)
        result = functions.read(inputs)["y"]
        if clone:
            source.fill_(99)
        assert torch.equal(result.cpu(), torch.full(SHAPE, 3.0 * n))
    assert shared[0, 0] == -3
    functions.context.synchronize()
    assert torch.equal(shared, torch.full(SHAPE, 2.0))
