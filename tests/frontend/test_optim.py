"""Each optimizer against its torch counterpart over 100 steps; states, names, loading, both keyword styles."""

import io
from types import SimpleNamespace

import pytest
import torch

from pfcomp.errors import SourceError
from pfcomp.frontend import capture, export
from pfcomp.frontend.names import get_tensor_name, set_buffer_name_in_optimizer, set_tensor_name_in_module
from pfcomp.frontend.optim import MNCoreAdam, MNCoreAdamW, MNCoreLRScheduler, MNCoreOptimizer, MNCoreSGD
from pfcomp.pfvm import PFVM

PAIRS = [
    (MNCoreSGD, torch.optim.SGD, {"lr": 0.05}),
    (MNCoreSGD, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    (MNCoreSGD, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 1e-3}),
    (MNCoreSGD, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    (MNCoreAdam, torch.optim.Adam, {"lr": 1e-2}),
    (MNCoreAdam, torch.optim.Adam, {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 1e-2}),
    (MNCoreAdamW, torch.optim.AdamW, {"lr": 1e-2}),
    (MNCoreAdamW, torch.optim.AdamW, {"lr": 1e-2, "betas": (0.8, 0.95), "weight_decay": 0.3}),
]


def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))


@pytest.mark.parametrize(("ours", "theirs", "arguments"), PAIRS)
def test_a_hundred_steps_equal_torch(ours, theirs, arguments):
    first, second = model(), model()
    pair = ours(first.parameters(), **arguments), theirs(second.parameters(), **arguments)
    generator = torch.Generator().manual_seed(1)
    for _ in range(100):
        x, y = torch.randn(8, 6, generator=generator), torch.randn(8, 2, generator=generator)
        for net, optimizer in zip((first, second), pair, strict=True):
            optimizer.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-6, atol=1e-6)


def test_old_keyword_styles():
    net = model()
    style = {"learning_rate": 0.1, "alpha": 0.8, "beta": 0.9, "norm_coefficient": 0.2, "epsilon": 1e-4}
    group = MNCoreAdam(net.parameters(), **style, chainer_use_torch=True).param_groups[0]
    assert (group["betas"], group["weight_decay"], group["eps"]) == ((0.8, 0.9), 0.2, 1e-4)
    assert float(group["lr"]) == pytest.approx(0.1)
    old = MNCoreAdamW(net.parameters(), learning_rate=0.2, beta1=0.7, beta2=0.8, eps=1e-5, weight_decay=0)
    assert old.param_groups[0]["betas"] == (0.7, 0.8)
    for kind in (MNCoreAdam, MNCoreAdamW):
        with pytest.raises(TypeError, match="unexpected keyword"):
            kind(net.parameters(), rate=1)


SENSELESS = [
    lambda p: MNCoreSGD(p, -1.0),
    lambda p: MNCoreAdam(p, betas=(1.0, 0.5)),
    lambda p: MNCoreSGD(p, 0.1, nesterov=True),
]


@pytest.mark.parametrize("build", SENSELESS)
def test_senseless_values(build):
    with pytest.raises(ValueError, match=r"Invalid|Nesterov"):
        build(model().parameters())


def test_chainers_formula():
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = MNCoreAdam([weight], lr=0.1, eps=0.5, weight_decay=0.01, chainer_use_torch=False)
    weight.grad = torch.tensor([2.0])
    optimizer.step()
    m, v = 0.1 * 2, 0.001 * 4
    rate = 0.1 * 0.001**0.5 / 0.1
    assert weight.item() == pytest.approx(1 - (rate * m / (v**0.5 + 0.5) + 0.01 * 1), abs=1e-6)


def test_state_survives_a_safe_load_and_keeps_identity_and_names():
    net = model()
    set_tensor_name_in_module(net, "m")
    optimizer = MNCoreSGD(net.parameters(), 0.1, 0.9, 0.0)
    set_buffer_name_in_optimizer(optimizer, "opt")
    weight = net[0].weight
    buffer = optimizer.state[weight]["momentum_buffer"]
    assert get_tensor_name(buffer) == "opt@m@0/weight/momentum_buffer"
    assert get_tensor_name(optimizer.param_groups[0]["lr"]) == "opt@0@lr"
    buffer.fill_(3)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    saved = torch.load(file)
    buffer.zero_()
    optimizer.load_state_dict(saved)
    assert optimizer.state[weight]["momentum_buffer"] is buffer
    assert buffer.unique().tolist() == [3]
    with pytest.raises(ValueError, match="other parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})


def test_torch_schedulers_change_the_rate_in_place():
    optimizer = MNCoreSGD(model().parameters(), 0.4)
    rate = optimizer.param_groups[0]["lr"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)

    wrapped = MNCoreLRScheduler(scheduler, SimpleNamespace(registry=SimpleNamespace(entries={})))
    optimizer.step()
    wrapped.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.2)
    assert wrapped.get_last_lr() == pytest.approx([0.2])
    wrapped.load_state_dict(wrapped.state_dict())
    assert isinstance(optimizer, (MNCoreOptimizer, torch.optim.Optimizer))


TORCH = [
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "foreach": True}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "fused": True}),
    (torch.optim.Adam, {"lr": 1e-2}),
    (torch.optim.Adam, {"lr": 1e-2, "foreach": True, "amsgrad": True}),
    (torch.optim.Adam, {"lr": 1e-2, "fused": True, "weight_decay": 0.1}),
    (torch.optim.AdamW, {"lr": 1e-2}),
    (torch.optim.AdamW, {"lr": 1e-2, "foreach": True}),
    (torch.optim.RMSprop, {"lr": 1e-2}),
    (torch.optim.NAdam, {"lr": 1e-2}),
]


def torch_step(kind, **arguments):
    """A network with its optimizer after one eager step, which makes the states, and the step itself."""
    net = model()
    optimizer = kind(net.parameters(), **arguments)

    def step(i):
        optimizer.zero_grad()
        loss = ((net(i["x"]) - i["y"]) ** 2).mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    set_tensor_name_in_module(net, "net")
    step(SAMPLE)
    set_buffer_name_in_optimizer(optimizer, "opt")
    return net, optimizer, step


SAMPLE = {"x": torch.linspace(-1, 1, 48).reshape(8, 6), "y": torch.ones(8, 2)}


@pytest.mark.parametrize(("kind", "arguments"), TORCH)
def test_optimizers_of_torch_are_captured(kind, arguments):
    net, optimizer, step = torch_step(kind, **arguments)
    settings = [dict(group) for group in optimizer.param_groups]
    vm = PFVM(export(capture(step, SAMPLE)))
    assert [dict(group) for group in optimizer.param_groups] == settings
    feeds = {name: value.numpy() for name, value in SAMPLE.items()}
    for _ in range(10):
        # corrections of the moments in single precision, which torch's plain form has in double precision
        assert float(vm.run(feeds)["loss"]) == pytest.approx(float(step(SAMPLE)["loss"].detach()), rel=1e-4)
    for name, value in net.named_parameters():
        assert torch.allclose(torch.from_numpy(vm.state[f"net@{name.replace('.', '/')}"]), value, rtol=1e-3, atol=1e-6)


def test_capturing_leaves_torchs_own_check():
    _, optimizer, step = torch_step(torch.optim.Adam, lr=1e-2)
    capture(step, SAMPLE)
    optimizer.param_groups[0]["capturable"] = True
    with pytest.raises(AssertionError, match="capturable=True"):
        step(SAMPLE)


def test_optimizers_that_read_values_are_refused_by_name():
    _, _, step = torch_step(torch.optim.Adagrad)
    with pytest.raises(SourceError, match=r"PF0308: test_optim.py:\d+: torch.optim.Adagrad reads .* use MNCoreAdam"):
        capture(step, SAMPLE)


@pytest.mark.parametrize("eager_steps", [0, 1])
def test_lbfgs_is_refused_by_name(eager_steps):
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2)
    set_tensor_name_in_module(net, "net")

    def step(i):
        def closure():
            optimizer.zero_grad()
            loss = ((net(i["x"]) - i["y"]) ** 2).mean()
            loss.backward()
            return loss

        return {"loss": optimizer.step(closure)}

    for _ in range(eager_steps):
        step(SAMPLE)
    set_buffer_name_in_optimizer(optimizer, "opt")
    with pytest.raises(SourceError, match=r"PF0308: test_optim.py:\d+: torch.optim.LBFGS reads .* use MNCoreAdam"):
        capture(step, SAMPLE)
