"""Capture of a Python function over a mapping of tensors (frontend.md 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel

from pfcomp.errors import PfcompError, SourceError
from pfcomp.frontend.functional import Interface, functionalise, read_graph
from pfcomp.frontend.functions import FunctionReplacement
from pfcomp.frontend.graph import CapturedGraph, spec_of
from pfcomp.frontend.guard import CaptureWarning, Guard
from pfcomp.frontend.names import get_tensor_name, named_tensors
from pfcomp.frontend.signature import check_names, check_result, check_sample
from pfcomp.frontend.sources import error_source, function_source, optimizer_of
from pfcomp.frontend.substitute import Substitution

Function = Callable[[dict[str, Tensor]], Mapping[str, Tensor]]

_DATA_ACCESS = ("is not supported for tensor subclasses", "Cannot access data pointer", "data-dependent")


def capture(
    function: Function,
    sample: Mapping[str, Tensor],
    *,
    states: Mapping[str, Tensor] | None = None,
    name_of: Callable[[Tensor], str | None] = get_tensor_name,
    repeat: bool = True,
) -> CapturedGraph:
    """Record what `function` does with tensors of the sample's shapes and dtypes; the sample's values are not used.

    `states` are the registered tensors by name; a tensor for which `name_of` knows a name is a state as well. All other
    tensors that the function reads are frozen. With `repeat` the function runs twice, and a CaptureWarning says if the
    second trace differs, because Python state that changes between calls is frozen as well. Nothing of the user's is
    changed: no parameter, buffer or gradient. Raises SourceError (PF0301 to PF0312) with the user's line for whatever
    cannot be captured.
    """
    check_sample(sample)
    first = _record(function, sample, states or {}, name_of)
    if repeat and _outline(first.raw) != _outline(_record(function, sample, states or {}, name_of).raw):
        what = f"{_function_name(function)} does other things when it is called again; the first call is compiled"
        warnings.warn(what, CaptureWarning, stacklevel=2)
    with first.recorder.fake_mode:
        pure = functionalise(first.raw)
    return read_graph(pure, _function_name(function), first.interface, tuple(states or {}))


@dataclass(frozen=True, slots=True)
class _Recording:
    """A raw trace, the mode that recorded it, and what the trace's placeholders and outputs are."""

    raw: torch.fx.GraphModule
    recorder: Substitution
    interface: Interface


def _record(
    function: Function,
    sample: Mapping[str, Tensor],
    states: Mapping[str, Tensor],
    name_of: Callable[[Tensor], str | None],
) -> _Recording:
    """Run the user's function once under the tracer."""
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
    fakes = _fake_inputs(fake_mode, sample)
    specs = {name: spec_of(fake) for name, fake in fakes.items()}
    recorder = Substitution(fake_mode, fakes, states, name_of, function_source(function))
    keys: list[str] = []
    rebound: list[str] = []

    def flat(*values: Tensor) -> list[Tensor]:
        with Guard() as guard, recorder, FunctionReplacement():
            result = function(dict(zip(specs, values, strict=True)))
            check_result(result, function_source(function))
            recorder.random.advance()
            replaced = _replacements(guard, recorder)
        keys[:] = result
        rebound[:] = replaced
        return [*(recorder.resolved(value) for value in result.values()), *replaced.values()]

    with _tracing_environment(), _kept_gradients(recorder, [*states.values(), *named_tensors()]), fake_mode:
        raw = _traced(flat, list(fakes.values()))
    fakes.clear()
    _refuse_escapes(recorder)
    check_names(specs, keys, recorder.originals)
    return _Recording(raw, recorder, Interface(specs, tuple(keys), tuple(rebound), recorder.originals))


def _refuse_escapes(recorder: Substitution) -> None:
    """SourceError PF0320 if the user's objects hold a tensor of the trace: it has no value outside."""
    lines = recorder.kept()
    if lines:
        what = "a tensor of this function is kept outside it, where a compiled function cannot put it"
        hint = "return it, or copy it into a registered or named tensor"
        raise SourceError("PF0320", what, where=lines[0], hint=hint)


def _replacements(guard: Guard, recorder: Substitution) -> dict[str, Tensor]:
    """New value by name of each state that the function replaced by another tensor object."""
    found: dict[str, Tensor] = {}
    for original, new in guard.collect():
        name = recorder.state_name(original)
        if name is None:
            what = f"a buffer of shape {tuple(original.shape)} is replaced but is neither registered nor named"
            warnings.warn(f"{what}; its new value is lost", CaptureWarning, stacklevel=2)
        elif new.shape != original.shape or new.dtype != original.dtype:
            if not recorder.varies(new):
                continue  # a table that the function makes when it meets a new size
            what = f"state '{name}' changes its shape or dtype"
            raise SourceError("PF0309", what, hint="run the function once eagerly before it is compiled")
        else:
            recorder.twin(name, original)
            found[name] = recorder.resolved(new)
    return found


def _outline(raw: torch.fx.GraphModule) -> list[tuple[str, ...]]:
    """What a trace does, for comparison with another trace of the same function."""
    return [(node.op, str(node.target), str(node.args), str(node.kwargs)) for node in raw.graph.nodes]


def _fake_inputs(fake_mode: FakeTensorMode, sample: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Dense fake tensors; only shape, dtype and requires_grad of the sample matter, so that strides cannot leak in."""
    with fake_mode:
        return {
            name: torch.empty(value.shape, dtype=value.dtype, requires_grad=value.requires_grad)
            for name, value in sample.items()
        }


def _function_name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


@contextmanager
def _tracing_environment() -> Iterator[None]:
    """Plain kernels only: fused attention and oneDNN operators have no portable meaning (frontend.md 2)."""
    mkldnn = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch._C._set_mkldnn_enabled(mkldnn)


@contextmanager
def _kept_gradients(recorder: Substitution, states: Sequence[Tensor]) -> Iterator[None]:
    """Hide the `.grad` of states during the trace and put it back, so that no fake tensor stays there.

    A gradient that is a state itself stays visible: the function accumulates into it.
    """
    known = {id(tensor) for tensor in states}
    kept = {id(t): (t, t.grad) for t in states if t.is_leaf and t.requires_grad}
    for tensor, gradient in kept.values():
        if gradient is not None and id(gradient) not in known:
            tensor.grad = None
    try:
        yield
    finally:
        recorder.forget_history()
        for tensor in recorder.leaves.values():
            if id(tensor) not in kept and tensor.grad is not None:
                tensor.grad = None
        for tensor, gradient in kept.values():
            tensor.grad = gradient


def _traced(flat: Callable[..., list[Tensor]], fakes: list[Tensor]) -> torch.fx.GraphModule:
    try:
        return make_fx(flat, _allow_non_fake_inputs=True)(*fakes)
    except PfcompError:
        raise
    except DataDependentOutputException as error:
        raise _needs_value(error) from error
    except DynamicOutputShapeException as error:
        what = f"the result shape of {error.func} depends on values"
        raise SourceError("PF0309", what, where=error_source(error), hint="use masks or a fixed size") from error
    except Exception as error:
        if any(text in str(error) for text in _DATA_ACCESS):
            raise _needs_value(error) from error
        what = f"the function raised {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        raise SourceError("PF0312", what, where=error_source(error)) from error


def _needs_value(error: Exception) -> SourceError:
    where = error_source(error)
    optimizer = optimizer_of(error)
    if optimizer:
        what = f"{optimizer} reads the value of a tensor, which a traced step cannot"
        return SourceError("PF0308", what, where=where, hint="use MNCoreAdam, MNCoreAdamW or MNCoreSGD")
    hint = "replace .item(), .numpy() and `if tensor:` by tensor operations such as torch.where"
    return SourceError("PF0308", "the value of a tensor is needed while the function is traced", where=where, hint=hint)
