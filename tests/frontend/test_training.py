"""Training steps: several steps of the exported model against eager torch, states included."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pfcomp.errors import SourceError
from pfcomp.frontend import capture, export
from pfcomp.frontend.guard import CaptureWarning
from pfcomp.frontend.interpret import interpret
from pfcomp.frontend.names import (
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name,
    set_tensor_name_in_module,
)
from pfcomp.frontend.optim import MNCoreAdam, MNCoreAdamW, MNCoreSGD
from pfcomp.frontend.randomness import manual_seed
from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM


class Classifier(nn.Module):
    """A convolution net with batch statistics; a bias before them would have no gradient, only rounding errors."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        return self.head(F.max_pool2d(torch.tanh(self.norm(self.conv(x))), 2).flatten(1))


class Attention(nn.Module):
    """One transformer block over a learned token."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.attention = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 5))

    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.mlp(x[:, 0])


class Recommender(nn.Module):
    """Embeddings of users and items."""

    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(7, 4), nn.Embedding(9, 4)
        self.score = nn.Linear(8, 5)

    def forward(self, pair):
        return self.score(torch.cat([self.users(pair[:, 0]), self.items(pair[:, 1])], dim=1))


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5))


IMAGE, TOKENS, PAIRS = torch.randn(6, 1, 8, 8), torch.randn(6, 3, 8), torch.randint(0, 7, (6, 2))
CASES = [
    ("mlp sgd", mlp, torch.randn(6, 6), lambda p: MNCoreSGD(p, 0.1)),
    ("mlp momentum", mlp, torch.randn(6, 6), lambda p: MNCoreSGD(p, 0.1, 0.9, 0.2, 1e-3)),
    ("mlp adam", mlp, torch.randn(6, 6), lambda p: MNCoreAdam(p, 1e-2)),
    ("cnn adamw", Classifier, IMAGE, lambda p: MNCoreAdamW(p, 1e-2)),
    ("attention adamw", Attention, TOKENS, lambda p: MNCoreAdamW(p, 1e-2, weight_decay=1e-6)),
    ("embedding adam", Recommender, PAIRS, lambda p: MNCoreAdam(p, 2e-2)),
]


def build(model_type, make_optimizer):
    torch.manual_seed(0)
    model = model_type()
    set_tensor_name_in_module(model, "model")
    optimizer = make_optimizer(model.parameters())
    set_buffer_name_in_optimizer(optimizer, "opt")

    def step(inputs):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs["x"]), inputs["y"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return model, step


@pytest.mark.parametrize(("model_type", "x", "make_optimizer"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_twenty_steps_equal_torch(model_type, x, make_optimizer):
    model, step = build(model_type, make_optimizer)
    before = copy.deepcopy(model.state_dict())
    sample = {"x": x, "y": torch.tensor([0, 1, 2, 3, 4, 0])}
    captured = capture(step, sample)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    exported = export(captured)
    optimise(exported)
    vm = PFVM(exported)
    feeds = {key: to_numpy(value) for key, value in sample.items()}
    losses = []
    for _ in range(20):
        loss = vm.run(feeds)["loss"]
        losses.append(float(step(sample)["loss"].detach()))
        assert float(loss) == pytest.approx(losses[-1], rel=1e-4, abs=1e-5)
    assert losses[-1] < losses[0]
    for name, tensor in model.state_dict().items():
        got = vm.state[f"model@{name.replace('.', '/')}"]
        # twenty steps feed rounding errors back into themselves
        assert relative_error(got, to_numpy(tensor)) < 20 * tolerance("float32", 64), name


def test_the_captured_graph_in_double_precision():
    model, step = build(Classifier, lambda p: MNCoreSGD(p, 0.1, 0.9))
    sample = {"x": IMAGE, "y": torch.tensor([0, 1, 2, 3, 4, 0])}
    captured = capture(step, sample)
    result = interpret(captured, sample, double=True)
    model.double()
    loss = F.cross_entropy(model(IMAGE.double()), sample["y"])
    loss.backward()
    assert relative_error(result["loss"], loss.detach()) < 1e-12
    expected = model.head.weight.detach() - 0.1 * model.head.weight.grad
    assert relative_error(result["model@head/weight:out"], expected) < 1e-7  # the rate 0.1 is a float32 state


def test_batch_statistics_are_kept_without_registration():
    model, step = build(Classifier, lambda p: MNCoreSGD(p, 0.1))
    states = {get_tensor_name(p): p for p in model.parameters()}
    captured = capture(step, {"x": IMAGE, "y": torch.zeros(6, dtype=torch.int64)}, states=states)
    updated = [name for name, _ in captured.updates]
    assert updated[: len(states)] == list(states)
    assert {"model@norm/running_mean", "model@norm/running_var", "model@norm/num_batches_tracked"} <= set(updated)


def test_lines_of_the_backward_pass_are_those_of_the_forward_pass():
    weight = nn.Parameter(torch.ones(3))
    set_tensor_name(weight, "w")

    def step(i):
        y = torch.exp(i["x"] * weight)
        loss = y.sum()
        loss.backward()
        return {"g": weight.grad}

    captured = capture(step, {"x": torch.ones(3)})
    first = step.__code__.co_firstlineno
    exponential = next(node for node in captured.nodes if node.op == "aten.exp.default")
    assert exponential.source == f"test_training.py:{first + 1}"
    assert captured.nodes[-1].source in {f"test_training.py:{first + 1}", f"test_training.py:{first + 3}"}
    assert {node.source for node in captured.nodes} <= {f"test_training.py:{first + n}" for n in range(1, 4)}


class Cell(nn.Module):
    """Rebinds a buffer, caches a tensor and counts its calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.calls, self.cache = 0, {}

    def forward(self, x):
        self.calls += 1
        self.cache["last"] = x
        self.other = x * 2
        self.total = self.total + x
        return self.total * 2


def test_rebound_buffers_are_states_and_attributes_are_restored():
    cell = Cell()
    set_tensor_name_in_module(cell, "cell")
    total = cell.total
    with pytest.warns(CaptureWarning, match=r"Cell\.calls changes during the call"):
        captured = capture(lambda i: {"o": cell(i["x"])}, {"x": torch.ones(2)})
    assert cell.total is total
    assert (cell.calls, cell.cache, hasattr(cell, "other")) == (0, {}, False)
    vm = PFVM(export(captured))
    x = torch.tensor([1.0, 2.0]).numpy()
    assert vm.run({"x": x})["o"].tolist() == [2, 4]
    assert vm.run({"x": x})["o"].tolist() == [4, 8]


class Relative(nn.Module):
    """Makes a table anew when it meets another size, from the size or from the input's values."""

    def __init__(self, table):
        super().__init__()
        self.register_buffer("table", torch.zeros(1))
        self.make = table

    def forward(self, x):
        if len(self.table) != len(x):
            self.table = self.make(x)
        return x * self.table


def test_tables_for_a_new_size_are_part_of_the_function():
    cell = Relative(lambda x: torch.arange(len(x)).float() * 2)
    set_tensor_name_in_module(cell, "cell")
    captured = capture(lambda i: {"o": cell(i["x"])}, {"x": torch.ones(3)})
    assert PFVM(export(captured)).run({"x": torch.ones(3).numpy()})["o"].tolist() == [0, 2, 4]
    assert captured.updates == ()
    assert cell.table.tolist() == [0]


def test_states_that_grow_with_their_input_are_refused():
    cell = Relative(lambda x: torch.cat([cell.table, x])[: len(x)])
    set_tensor_name_in_module(cell, "cell")
    with pytest.raises(SourceError, match=r"PF0309.*'cell@table' changes its shape"):
        capture(lambda i: {"o": cell(i["x"])}, {"x": torch.ones(3)})


def test_python_state_that_changes_is_reported():
    numbers = iter(range(10))
    with pytest.warns(CaptureWarning, match="does other things when it is called again"):
        capture(lambda i: {"o": i["x"] + next(numbers)}, {"x": torch.ones(2)})


def test_data_assignment_and_views_of_states():
    weight, bias = nn.Parameter(torch.ones(2, 3)), torch.zeros(3)
    set_tensor_name(weight, "w")
    set_tensor_name(bias, "b")

    def step(i):
        weight.data = weight.data * 2 + i["x"]
        bias[1:].add_(1)
        return {"o": weight.detach()[0] + bias}

    vm = PFVM(export(capture(step, {"x": torch.ones(2, 3)})))
    vm.run({"x": torch.ones(2, 3).numpy()})
    assert vm.state["w"].tolist() == [[3.0] * 3] * 2
    assert vm.state["b"].tolist() == [0, 1, 1]
    assert weight.tolist() == [[1.0] * 3] * 2


def test_gradients_that_are_registered_accumulate():
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.zeros(2)
    set_tensor_name(weight, "w")
    set_tensor_name(weight.grad, "g")
    kept = weight.grad

    def step(i):
        (weight * i["x"]).sum().backward()
        return {"loss": weight.detach().sum()}

    vm = PFVM(export(capture(step, {"x": torch.ones(2)}, states={"w": weight, "g": kept})))
    vm.run({"x": torch.ones(2).numpy()})
    vm.run({"x": torch.ones(2).numpy()})
    assert vm.state["g"].tolist() == [2, 2]
    assert weight.grad is kept
    assert kept.tolist() == [0, 0]


def test_lazy_optimizer_state_is_refused():
    weight = nn.Parameter(torch.ones(2))
    set_tensor_name(weight, "w")
    optimizer = torch.optim.SGD([weight], 0.1, momentum=0.9, foreach=False)

    def step(i):
        (weight * i["x"]).sum().backward()
        optimizer.step()
        return {"w": weight.detach() * 1}

    with pytest.raises(SourceError, match=r"PF0311.*momentum_buffer.*use an MNCore optimizer"):
        capture(step, {"x": torch.ones(2)})
    assert optimizer.state == {}


def test_torch_sgd_works_after_a_first_eager_step():
    weight = nn.Parameter(torch.ones(2))
    set_tensor_name(weight, "w")
    optimizer = torch.optim.SGD([weight], 0.1, momentum=0.9, foreach=False)

    def step(i):
        optimizer.zero_grad()
        (weight * i["x"]).sum().backward()
        optimizer.step()
        return {"w2": weight.detach() * 1}

    step({"x": torch.ones(2)})
    set_buffer_name_in_optimizer(optimizer, "opt")
    vm = PFVM(export(capture(step, {"x": torch.ones(2)})))
    for _ in range(3):
        got = vm.run({"x": torch.ones(2).numpy()})["w2"]
        assert relative_error(got, step({"x": torch.ones(2)})["w2"]) < 1e-6


def test_dropout_draws_new_numbers_each_call_and_trains():
    def function(i):
        noise = torch.randn(1000)
        dropped, uniform = F.dropout(i["x"], 0.25, training=True), torch.rand(1000)
        return {"d": dropped, "u": uniform, "n": noise, "r": torch.randint(3, 9, (50,))}

    manual_seed(5)
    captured = capture(function, {"x": torch.ones(1000)})
    assert captured.initials["rng@seed"] == 5
    assert [name for name, _ in captured.updates] == ["rng@seed"]
    vm, again = PFVM(export(captured)), PFVM(export(captured))
    x = torch.ones(1000).numpy()
    first, second = vm.run({"x": x}), vm.run({"x": x})
    repeated = again.run({"x": x})
    assert all((repeated[name] == value).all() for name, value in first.items())
    assert (first["u"] != second["u"]).any()
    assert 0.7 < (first["d"] > 0).mean() < 0.8
    assert first["d"].max() == pytest.approx(4 / 3)
    assert abs(first["u"].mean() - 0.5) < 0.05
    assert abs(first["n"].mean()) < 0.15
    assert abs(first["n"].std() - 1) < 0.1
    assert (first["r"].min() >= 3) & (first["r"].max() < 9)
    expected = interpret(captured, {"x": torch.ones(1000)})
    assert all(relative_error(first[name], expected[name]) < 1e-6 for name in first)


def test_draws_from_other_distributions():
    def function(i):
        weights = torch.tensor([1.0, 0.0, 3.0, 4.0])
        return {
            "e": torch.empty(4000).exponential_(2.0),
            "l": torch.empty(4000).log_normal_(0.0, 0.5),
            "g": F.gumbel_softmax(i["x"].expand(4000, 4) * 0, hard=True).sum(0),
            "p": torch.randperm(50),
            "with": torch.multinomial(weights, 4000, replacement=True),
            "without": torch.multinomial(weights.expand(4000, 4), 2),
            "r": F.rrelu(-torch.ones(4000), 0.1, 0.3, training=True),
            "s": F.rrelu(-torch.ones(3), 0.1, 0.3),
        }

    got = PFVM(export(capture(function, {"x": torch.ones(4)}))).run({"x": torch.ones(4).numpy()})
    assert got["e"].min() > 0
    assert got["e"].mean() == pytest.approx(0.5, abs=0.05)
    assert np.log(got["l"]).std() == pytest.approx(0.5, abs=0.05)
    assert np.abs(got["g"] - 1000).max() < 150
    assert sorted(got["p"]) == list(range(50)) != list(got["p"])
    assert np.bincount(got["with"], minlength=4) / 4000 == pytest.approx([0.125, 0, 0.375, 0.5], abs=0.04)
    first, second = got["without"].T
    assert np.bincount(first, minlength=4) / 4000 == pytest.approx([0.125, 0, 0.375, 0.5], abs=0.04)
    assert (first != second).all()
    assert -0.3 <= got["r"].min() < -0.28 < -0.12 < got["r"].max() <= -0.1
    assert got["s"] == pytest.approx(-0.2)


def test_the_backward_pass_of_rrelu_takes_the_slopes_that_were_drawn():
    def function(i):
        x = (torch.ones(100) * -2).requires_grad_(True)
        y = F.rrelu(x, 0.1, 0.3, training=True)
        (y * i["x"]).sum().backward()
        return {"y": y, "g": x.grad}

    got = PFVM(export(capture(function, {"x": torch.ones(100)}))).run({"x": torch.ones(100).numpy()})
    np.testing.assert_allclose(got["y"], -2 * got["g"], rtol=1e-6)


def test_two_tensors_with_one_name_are_refused():
    a, b = torch.ones(2), torch.ones(2)
    set_tensor_name(a, "same")
    set_tensor_name(b, "same")
    with pytest.raises(SourceError, match=r"PF0302.*two tensors are named 'same'"):
        capture(lambda i: {"o": i["x"] + a + b}, {"x": torch.ones(2)})
    set_tensor_name(a, "other")
    assert [name for name, _ in capture(lambda i: {"o": i["x"] + a + b}, {"x": torch.ones(2)}).states] == [
        "other",
        "same",
    ]


def test_gradients_of_named_leaves_survive_a_capture():
    model, step = build(mlp, lambda p: MNCoreSGD(p, 0.1))
    sample = {"x": torch.ones(6, 6), "y": torch.zeros(6, dtype=torch.int64)}
    step(sample)
    before = [(p.grad, p.grad.clone()) for p in model.parameters()]
    capture(step, sample)
    for parameter, (gradient, values) in zip(model.parameters(), before, strict=True):
        assert parameter.grad is gradient
        assert torch.equal(gradient, values)


@pytest.mark.parametrize("name", ["", 3])
def test_senseless_names(name):
    with pytest.raises(SourceError, match=r"PF030[13]"):
        set_tensor_name(torch.ones(1), name)


def test_key_value_caches():
    cache = torch.zeros(1, 2, 4, 3)
    set_tensor_name(cache, "cache")

    def step(i):
        index = i["position"].reshape(1, 1, 1, 1).expand(1, 2, 1, 3)
        cache.scatter_(2, index, i["new"])
        return {"sum": cache.sum(2)}

    sample = {"position": torch.tensor([1]), "new": torch.ones(1, 2, 1, 3)}
    vm = PFVM(export(capture(step, sample)))
    for position in (1, 3):
        out = vm.run({"position": torch.tensor([position]).numpy(), "new": torch.ones(1, 2, 1, 3).numpy() * position})
    assert out["sum"][0, 0].tolist() == [4, 4, 4]
    assert vm.state["cache"][0, 0, :, 0].tolist() == [0, 1, 0, 3]


def test_no_warning_in_a_training_step():
    _, step = build(mlp, lambda p: MNCoreAdam(p, 1e-2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capture(step, {"x": torch.ones(6, 6), "y": torch.zeros(6, dtype=torch.int64)})
