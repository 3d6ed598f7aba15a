"""A compiled function on a board or the private emulator: an app, its constants in DRAM and its linked programs."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from pfcomp.app import relocate
from pfcomp.app.model import Constant, GPFNApp, TensorInfo
from pfcomp.emulator.machine import Executable
from pfcomp.errors import UsageError
from pfcomp.ir.elements import Array
from pfcomp.runtime.board_value import BoardType, BoardValue
from pfcomp.runtime.engine import Buffer, Engine
from pfcomp.runtime.handle import UPDATE, Handle
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.registry import Entry
from pfcomp.runtime.ticket import Ticket

SHORT_SECONDS = 0.005  # runs that took less may be done by the thread that waits for them, which Ctrl-C then finds late
LINKED_PROGRAMS = 8  # linked and translated programs that a function keeps, one for each combination of addresses


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as it was asked for: addresses by tensor, images to store before it, buffers to copy after it.

    `earlier` are the jobs that write its inputs; where one has failed, the run fails with the same error.
    """

    bases: dict[str, int]
    uploads: tuple[tuple[Buffer, NDArray[np.uint64]], ...]
    copies: tuple[tuple[Buffer, Buffer], ...]
    earlier: tuple[Ticket[None], ...]


class BoardFunction:
    """Runs an app against any buffers by relocation.

    `inputs`, `outputs` and `state` map names to specs in the app's order. `mutated` names the state that a run
    changes: in place where the app says so (`dirty`), or by an output `<state>:out`, whose buffer the state then takes
    over. `initials` supplies first contents of states by name.
    """

    on_device = True

    def __init__(
        self, engine: Engine, app: GPFNApp, label: str, initials: Callable[[], Mapping[str, Array]] = dict
    ) -> None:
        self.engine, self.app, self.label = engine, app, label
        self._initials = initials
        self.inputs = _specs(app.inputs)
        self.state = _specs(app.state)
        self._updates = {name: name + UPDATE for name in self.state if name + UPDATE in _specs(app.outputs)}
        self.outputs = {n: s for n, s in _specs(app.outputs).items() if n not in self._updates.values()}
        self.figures = dict(app.statistics)
        self.mutated = frozenset(info.name for info in app.state if info.dirty or info.name in self._updates)
        self._types = {info.name: BoardType(info) for info in (*app.state, *app.inputs)}
        states = {update: name for name, update in self._updates.items()}
        self._output_types = {i.name: BoardType(replace(i, name=states.get(i.name, i.name))) for i in app.outputs}
        self._aliases = _aliases(app)
        self._seconds = inf  # that the fastest run took
        self._homes: dict[str, BoardValue] = {}
        self._staged: dict[str, NDArray[np.uint64]] = {}  # images that the next run puts into `_homes`
        self._constants: dict[str, Buffer] | None = None
        self._linked: OrderedDict[tuple[int, ...], Executable] = OrderedDict()

    def new_value(self, name: str) -> BoardValue:
        """A fresh device tensor for the input or state `name`. Raises DeviceError PF0606 when memory is full."""
        return BoardValue(self.engine, self._types[name])

    def bind(self, name: str, source: Array | Handle) -> BoardValue:
        """The device tensor to run input `name` on: `source` itself where it fits as it is, else a converted copy.

        An array must have as many elements as the spec says.
        """
        if isinstance(source, Entry) and source.value is not None:
            source = source.value
        spec = self.inputs[name]
        if isinstance(source, BoardValue) and source.engine is self.engine and source.spec.is_memcopyable_to(spec):
            self.engine.counters["in_place"] += 1
            return source
        if not isinstance(source, np.ndarray):
            self.engine.counters["conversions"] += 1
            source = source.read()
        if name not in self._homes:
            self._homes[name] = self.new_value(name)
        home = self._homes[name]
        self._staged[name] = home.image(source)
        return home

    def initial(self, name: str) -> Array:
        """First contents of a state that the context knows nothing about. Raises UsageError PF0609."""
        found = self._initials().get(name)
        if found is None:
            hint = "register the tensor"
            raise UsageError("PF0609", f"state {name!r} has no contents yet", where=self.label, hint=hint)
        return found

    def call(self, inputs: Mapping[str, BoardValue], state: Mapping[str, BoardValue]) -> dict[str, BoardValue]:
        """Enqueue a run on these tensors, which must have the specs' layouts; returns fresh output tensors.

        Errors of the run reach whoever reads an output or a mutated state.
        """
        self.engine.announce()
        sources = {**inputs, **state}
        outputs = {name: BoardValue(self.engine, kind) for name, kind in self._output_types.items()}
        known = {**outputs, **sources}
        aliases = {name: known[source] for name, source in self._aliases.items()}
        run = _Run(
            bases=self._bases(known, aliases),
            uploads=tuple((self._homes[name].buffer, image) for name, image in self._staged.items()),
            copies=tuple((source.buffer, outputs[name].buffer) for name, source in aliases.items()),
            # taken now: a tensor may have been given its next contents before the job runs
            earlier=tuple(value.ready for value in sources.values() if value.ready is not None),
        )
        self._staged = {}
        short = self._seconds < SHORT_SECONDS
        ticket = self.engine.queue.submit(self.label, partial(self._execute, run), guard=self.engine.held, short=short)
        for value in (*outputs.values(), *(state[name] for name in self.mutated)):
            value.produced_by(ticket)
        for name, update in self._updates.items():
            state[name].take_over(outputs.pop(update))
        return outputs

    def _execute(self, run: _Run) -> None:
        begin = time.perf_counter()
        for ticket in run.earlier:
            ticket.wait()
        for buffer, image in run.uploads:
            self.engine.write(buffer, image)
        self.engine.run(self._link(run.bases))
        for source, target in run.copies:
            self.engine.write(target, self.engine.read(source))
        self._seconds = min(self._seconds, time.perf_counter() - begin)

    def _bases(self, *tensors: Mapping[str, BoardValue]) -> dict[str, int]:
        bases = {name: buffer.base for name, buffer in self._load_constants().items()}
        for values in tensors:
            bases |= {name: value.buffer.base for name, value in values.items()}
        return bases

    def _load_constants(self) -> dict[str, Buffer]:
        """Buffers of the app's constants, uploaded at the first call."""
        if self._constants is None:
            self._constants = {c.info.name: self._upload(c) for c in self.app.constants}
        return self._constants

    def _upload(self, constant: Constant) -> Buffer:
        buffer = self.engine.buffer(constant.image.shape[1], constant.info.name)
        label = f"upload of constant {constant.info.name}"
        self.engine.queue.submit(label, lambda: self.engine.write(buffer, constant.image), short=True)
        return buffer

    def _link(self, bases: Mapping[str, int]) -> Executable:
        """The program for these addresses, translated; only jobs of the queue come here."""
        key = tuple(bases.values())
        if key in self._linked:
            self._linked.move_to_end(key)
            return self._linked[key]
        executable = self.engine.load(relocate(self.app, bases))
        self._linked[key] = executable
        if len(self._linked) > LINKED_PROGRAMS:
            self._linked.popitem(last=False)
        return executable


def _aliases(app: GPFNApp) -> dict[str, str]:
    """Outputs that share the memory of an input, a state or an earlier output: name of the output -> that name."""
    owners = {info.begin: info.name for info in (*app.inputs, *app.state)}
    aliases: dict[str, str] = {}
    for info in app.outputs:
        owner = info.alias_base or owners.get(info.begin)
        if owner is None:
            owners[info.begin] = info.name
        else:
            aliases[info.name] = owner
    return aliases


def _specs(infos: tuple[TensorInfo, ...]) -> dict[str, IOSpec]:
    return {info.name: IOSpec.of(info) for info in infos}
