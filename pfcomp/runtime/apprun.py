"""Running an app or compiled ONNX once or several times with NumPy inputs: the work of `pfrun`."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pfcomp.app.model import GPFNApp
from pfcomp.artifacts import atomic_write
from pfcomp.emulator.debug import NodeSpan
from pfcomp.errors import UsageError
from pfcomp.ir.elements import Array
from pfcomp.runtime.compare import Comparison, compare
from pfcomp.runtime.debugrun import Debugger, DebugReport, DebugRequest, check_request
from pfcomp.runtime.devices import Device, parse_device
from pfcomp.runtime.engine import Engine
from pfcomp.runtime.feeds import load_array, make_inputs, parse_feeds
from pfcomp.runtime.functions import Program, open_app, open_program


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; `inputs` and `expectations` are `NAME=WHAT` texts."""

    target: Path
    inputs: tuple[str, ...] = ()
    output: Path | None = None
    expectations: tuple[str, ...] = ()
    rtol: float = 1e-5
    atol: float = 1e-8
    device: str = "emu2"
    repeat: int = 1
    debug: DebugRequest = field(default_factory=DebugRequest)


@dataclass(frozen=True, slots=True)
class AppReport:
    """Outcome: seconds of each run, outputs by name, comparisons in the order asked for."""

    device: str
    seconds: tuple[float, ...]
    outputs: dict[str, Array]
    comparisons: tuple[Comparison, ...]
    figures: dict[str, int] = field(default_factory=dict)
    debug: DebugReport | None = None

    @property
    def held(self) -> bool:
        """True if every expectation held."""
        return all(comparison.held for comparison in self.comparisons)

    def text(self) -> str:
        """Lines for people."""
        whole = "steps" in self.figures and not (self.debug and self.debug.stopped)
        steps = f", {self.figures['steps']} steps" if whole else ""
        lines = [f"ran on {self.device}: {len(self.seconds)} x {min(self.seconds) * 1e3:.3g} ms{steps}"]
        lines += [f"{name}: {_brief(array)}" for name, array in self.outputs.items()]
        return "\n".join([*lines, *map(str, self.comparisons), *(self.debug.lines() if self.debug else [])])

    def json(self) -> str:
        """One JSON object for programs."""
        return json.dumps(
            {
                "device": self.device,
                "held": self.held,
                "seconds": self.seconds,
                "figures": self.figures,
                "outputs": {n: {"shape": a.shape, "dtype": str(a.dtype)} for n, a in self.outputs.items()},
                "expectations": [asdict(c) | {"held": c.held} for c in self.comparisons],
            }
            | ({"debug": self.debug.fields()} if self.debug else {})
        )


def run_app(request: Request) -> AppReport:
    """Run what `request.target` holds. Raises the typed errors of arguments, file and device."""
    device = parse_device(request.device)
    program, debugger = _open(device, request)
    feeds = parse_feeds(request.inputs)
    expectations = parse_feeds(request.expectations)
    for name in expectations:
        if name not in program.outputs:
            hint = f"it has {', '.join(program.outputs)}"
            raise UsageError("PF0614", f"the program has no output {name}", hint=hint)
    references = {name: load_array(Path(file)) for name, file in expectations.items()}
    arrays = make_inputs(feeds, program.inputs | program.state)
    with debugger or nullcontext():
        outputs, seconds = _run(program, arrays, request.repeat)
    report = debugger.report() if debugger is not None else None
    if report is not None and report.stopped:
        outputs = {}  # the program has not finished them
    elif request.output is not None:
        _save(request.output, outputs)
    comparisons = tuple(compare(n, outputs[n], r, request.rtol, request.atol) for n, r in references.items())
    return AppReport(device.text, seconds, outputs, comparisons, dict(program.figures), report)


def _open(device: Device, request: Request) -> tuple[Program, Debugger | None]:
    """The program, on a chip of its own if it is to be debugged."""
    if not request.debug.active:
        return open_program(device, request.target, request.target.name), None
    check_request(request.debug, device, request.repeat)
    if request.debug.stop is not None and (request.output is not None or request.expectations):
        what = "a program that stops at --break has no outputs"
        raise UsageError("PF0623", what, hint="leave out --output and --expect")
    engine = Engine(device)
    function = open_app(engine, request.target, request.target.name)
    debugger = Debugger(request.debug, device, request.repeat, function.app.program, node_spans(function.app))
    engine.machine = debugger.machine
    return function, debugger


def node_spans(app: GPFNApp) -> tuple[NodeSpan, ...]:
    """The debug map of an app for breakpoints and traces."""
    return tuple(NodeSpan(s.begin, s.end, s.node, ", ".join(filter(None, (s.op, s.source)))) for s in app.debug)


def _run(program: Program, arrays: Mapping[str, Array], repeat: int) -> tuple[dict[str, Array], tuple[float, ...]]:
    """Outputs of the last of `repeat` runs and the seconds of each, inputs and outputs included."""
    state: dict[str, Any] = {}
    for name in program.state:
        state[name] = program.new_value(name)
        state[name].write(arrays[name])
    seconds = []
    outputs: dict[str, Array] = {}
    for _ in range(repeat):
        start = time.perf_counter()
        results = program.call({name: program.bind(name, arrays[name]) for name in program.inputs}, state)
        outputs = {name: value.read() for name, value in results.items()}
        seconds.append(time.perf_counter() - start)
    return outputs, tuple(seconds)


def _save(path: Path, outputs: Mapping[str, Array]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **outputs)
    atomic_write(path, buffer.getvalue())


def _brief(array: Array) -> str:
    """Type, shape and the first elements."""
    first = ", ".join(f"{value:g}" for value in array.reshape(-1)[:4].astype(np.float64))
    more = ", ..." if array.size > 4 else ""
    return f"{array.dtype}[{','.join(map(str, array.shape))}] = {first}{more}"
