"""The reference executor: runs an exported or compiled model and lets every value be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from pfcomp.errors import SourceError
from pfcomp.pfvm.emulate import emulated
from pfcomp.pfvm.external import large_constants, serialised, with_references
from pfcomp.pfvm.models import read_proto, to_ir
from pfcomp.pfvm.session import open_session, run_session

STATE_SUFFIX = ":out"


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """Shape and numpy dtype of an input or output."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class PFVM:
    """Executes one model; `device` is `cpu`, `cuda` or `cuda:<index>`.

    An output `<state>:out` is the new value of the input `<state>`: PFVM keeps it and feeds it to the next call, so
    that a training step advances. A state starts with the model's default of that name.
    """

    def __init__(self, model: ir.Model | str | Path, device: str = "cpu", *, threads: int = 1) -> None:
        self.model = to_ir(read_proto(model), Path(model).name) if isinstance(model, (str, Path)) else model
        self._device, self._threads = device, threads
        graph = self.model.graph
        outputs = {value.name for value in graph.outputs}
        self.state: dict[str, Any] = {}
        for value in graph.inputs:
            if value.name + STATE_SUFFIX in outputs or value.const_value is not None:
                self.state[str(value.name)] = _default(value)
        self._session: Any = None
        self._tracing: tuple[Any, ir.Model] | None = None

    @property
    def input_specs(self) -> dict[str, ValueSpec]:
        """The inputs that a caller gives (states are not among them)."""
        return {str(v.name): _spec(v) for v in self.model.graph.inputs if v.name not in self.state}

    @property
    def output_specs(self) -> dict[str, ValueSpec]:
        """The outputs that a caller gets (new states are not among them)."""
        return {str(v.name): _spec(v) for v in self.model.graph.outputs if not self._is_state_output(v.name)}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run once: arrays by name in, arrays by name out; keeps the new states.

        An input with the right number of elements in another shape is reshaped, another dtype is converted, surplus
        keys are ignored. SourceError PF0317 for a missing input or a wrong number of elements.
        """
        if self._session is None:
            self._session = self._open(self.model)
        return self._kept(self._executed(self._session, self.model, self._feeds(inputs)))

    def run_all_values(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Every value of the graph by name, outputs included, without optimisation; the states stay as they are."""
        if self._tracing is None:
            model = _observable(self.model)
            self._tracing = self._open(model, optimise=False), model
        return self._executed(*self._tracing, self._feeds(inputs))

    def _open(self, model: ir.Model, optimise: bool = True) -> Any:
        lean = _without_defaults(emulated(model))
        large = large_constants(lean)
        data = with_references(lean, large, "weights") if large else serialised(lean)
        weights = {str(value.name): value.const_value for value in large}
        return open_session(data, self._device, threads=self._threads, optimise=optimise, weights=weights)

    def _executed(self, session: Any, model: ir.Model, feeds: dict[str, Any]) -> dict[str, Any]:
        """Outputs by name; bfloat16 passes the session's border as float32."""
        outside = {k: v.astype(np.float32) if v.dtype == ml_dtypes.bfloat16 else v for k, v in feeds.items()}
        arrays = run_session(session, outside)
        pairs = zip(model.graph.outputs, arrays, strict=True)
        return {str(v.name): a.astype(v.dtype.numpy(), copy=False) if v.dtype else a for v, a in pairs}

    def _is_state_output(self, name: str | None) -> bool:
        return name is not None and name.removesuffix(STATE_SUFFIX) in self.state and name.endswith(STATE_SUFFIX)

    def _kept(self, results: dict[str, Any]) -> dict[str, Any]:
        for name in list(results):
            if self._is_state_output(name):
                self.state[name.removesuffix(STATE_SUFFIX)] = results.pop(name)
        return results

    def _feeds(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        feeds = {}
        for value in self.model.graph.inputs:
            name = str(value.name)
            if name in inputs:
                feeds[name] = _fitted(name, np.asarray(inputs[name]), _spec(value))
            elif name in self.state:
                feeds[name] = self.state[name]
            else:
                raise SourceError("PF0317", f"input '{name}' is missing", hint=f"inputs: {_listed(self.input_specs)}")
        return feeds


def _without_defaults(model: ir.Model) -> ir.Model:
    """A copy without the first values of inputs: every call feeds the states."""
    copy: ir.Model = model.clone()
    for name in [str(value.name) for value in copy.graph.inputs]:
        copy.graph.initializers.pop(name, None)
    return copy


def _observable(model: ir.Model) -> ir.Model:
    """A copy in which every typed value is an output."""
    copy = model.clone()
    graph = copy.graph
    for node in graph:
        for value in node.outputs:
            if value.name and value.type is not None and not value.is_graph_output():
                graph.outputs.append(value)
    return copy


def _spec(value: ir.Value) -> ValueSpec:
    if value.dtype is None or value.shape is None:
        raise SourceError("PF0316", f"value '{value.name}' has no static shape or type")
    return ValueSpec(tuple(int(n) for n in value.shape), np.dtype(value.dtype.numpy()))


def _default(value: ir.Value) -> Any:
    """A state's first value: the model's default, or zeros."""
    spec = _spec(value)
    return np.zeros(spec.shape, spec.dtype) if value.const_value is None else value.const_value.numpy()


def _fitted(name: str, array: Any, spec: ValueSpec) -> Any:
    if array.size != int(np.prod(spec.shape, dtype=np.int64)):
        what = f"shape '{list(spec.shape)}' is invalid for input '{name}' of size {array.size}"
        raise SourceError("PF0317", what)
    return np.asarray(array.astype(spec.dtype, copy=False).reshape(spec.shape), order="C")


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(names) or "none"
