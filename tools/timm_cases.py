"""One architecture of timm in inference or over some training steps, compared with eager torch."""

from __future__ import annotations

import copy
import functools
import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from pfcomp.errors import PfcompError
from pfcomp.frontend import CapturedGraph, capture, export
from pfcomp.frontend.names import set_tensor_name_in_module
from pfcomp.frontend.optim import MNCoreSGD
from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.core_ops import classify
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM
from tests.frontend.zoo.program import Exported, named
from tools.timm_double import Function, double_check

CLASSES, BATCH, RATE, MOMENTUM = 10, 2, 0.002, 0.9
FAINT = 1e-3
"""Parameters of less spread hide what they are multiplied with."""

_TORCHVISION = torch.library.Library("torchvision", "FRAGMENT")  # its operators live as long as this object


@dataclass(frozen=True, slots=True)
class Outcome:
    """Nodes after the passes, processor seconds of (capture, export, passes), largest errors against eager torch.

    `judge` says what the errors were held against: eager torch, or double precision where a rounding decides a
    comparison. `reason` is one line where the architecture failed, else "".
    """

    name: str
    mode: str
    nodes: int = 0
    seconds: tuple[float, ...] = ()
    onnxruntime: float = 0.0
    pfvm: float = 0.0
    tolerance: float = 0.0
    judge: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Built:
    captured: CapturedGraph
    exported: Exported
    pfvm: PFVM
    nodes: int
    seconds: tuple[float, ...]


def infer(name: str, size: int) -> Outcome:
    """The architecture in evaluation mode on one picture."""
    return _guarded(name, "infer", lambda: _infer(name, size))


def train(name: str, size: int, steps: int) -> Outcome:
    """Steps of SGD with momentum on one batch: the curve of losses."""
    return _guarded(name, "train", lambda: _train(name, size, steps))


def _guarded(name: str, mode: str, run: Callable[[], Outcome]) -> Outcome:
    try:
        return run()
    except PfcompError as error:
        return Outcome(name, mode, reason=str(error))
    except Exception as error:  # a row of the table for whatever timm or torch raise
        text = " ".join(str(error).split())[:200]
        return Outcome(name, mode, reason=f"{type(error).__name__}: {text}")


def create(name: str, size: int) -> nn.Module:
    """The architecture with random weights, no constant parameter and nothing random in training."""
    timm = _timm()
    torch.manual_seed(0)
    try:
        model = timm.create_model(name, num_classes=CLASSES, img_size=size)
    except TypeError:
        model = timm.create_model(name, num_classes=CLASSES)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() == 1 or float(parameter.std()) < FAINT:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    for module in model.modules():
        _make_certain(module)
    return model


@functools.cache
def _timm() -> Any:
    """The library, after the declaration of the operators that torchvision's Python part expects."""
    for name in ("nms", "qnms"):
        _TORCHVISION.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return importlib.import_module("timm")


def _make_certain(module: nn.Module) -> None:
    """No dropout, and running statistics as after a training."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        module.p = 0.0
    for chance in ("drop_prob", "drop_rate"):
        if hasattr(module, chance):
            setattr(module, chance, 0.0)
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
        module.running_mean.normal_(0, 0.1)
        module.running_var.uniform_(0.5, 1.5)


def reduction_length(model: nn.Module) -> int:
    """Terms that one result sums up, over all layers: their rounding errors add up as those of one long sum."""
    return sum(p.numel() // p.shape[0] for p in model.parameters() if p.dim() > 1)


def _first(result: Any) -> Tensor:
    return next(leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor))


def _built(function: Function, sample: Mapping[str, Tensor]) -> _Built:
    start = time.process_time()
    captured = capture(function, sample, repeat=False)
    traced = time.process_time()
    raw = export(captured)
    written = time.process_time()
    model = export(captured)
    middle = time.process_time()
    optimise(model)
    seconds = traced - start, written - traced, time.process_time() - middle
    unknown = classify(model).unknown
    if unknown:
        raise ValueError(f"operators outside the core set: {', '.join(unknown)}")
    return _Built(captured, Exported(raw), PFVM(model), len(model.graph), seconds)


def _infer(name: str, size: int) -> Outcome:
    model = create(name, size).eval()
    set_tensor_name_in_module(model, "model")

    def function(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        with torch.no_grad():
            return {"y": _first(model(inputs["x"]))}

    sample = {"x": torch.randn(1, 3, size, size)}
    built = _built(function, sample)
    expected = to_numpy(function(sample)["y"])
    feeds = {"x": to_numpy(sample["x"])}
    errors = [relative_error(way.run(feeds)["y"], expected) for way in (built.exported, built.pfvm)]
    limit = tolerance("float32", reduction_length(model))
    failed = "" if max(errors) <= limit else f"error {max(errors):.1e} over {limit:.1e}"
    if not np.isfinite(expected).all():
        failed = "eager torch's own result is not finite"
    return Outcome(name, "infer", built.nodes, built.seconds, *errors, limit, "eager", failed)


def _training_step(model: nn.Module) -> tuple[Function, dict[str, Tensor]]:
    """A step, and all that it changes by name."""
    optimizer = MNCoreSGD(model.parameters(), RATE, MOMENTUM)
    states = named("model", model, optimizer)

    def step(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        optimizer.zero_grad()
        loss = functional.cross_entropy(_first(model(inputs["x"])), inputs["y"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return step, states


def _train(name: str, size: int, steps: int) -> Outcome:
    model = create(name, size).train()
    double = copy.deepcopy(model).double()
    sample = {"x": torch.randn(BATCH, 3, size, size), "y": torch.tensor([3, 7])}
    step, _ = _training_step(model)
    built = _built(step, sample)
    feeds = {key: to_numpy(value) for key, value in sample.items()}
    curves = [[float(way.run(feeds)["loss"]) for _ in range(steps)] for way in (built.exported, built.pfvm)]
    eager = [float(step(sample)["loss"].detach()) for _ in range(steps)]
    errors = [relative_error(curve, eager) for curve in curves]
    limit = steps * tolerance("float32", reduction_length(model))
    judge, failed = "eager", ""
    if not np.isfinite(eager).all() or max(errors) > limit:
        judge, failed = "double", double_check(built.captured, _training_step, double, sample, (*curves, eager), limit)
    return Outcome(name, "train", built.nodes, built.seconds, *errors, limit, judge, failed)
