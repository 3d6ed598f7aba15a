"""A tensor in the DRAM of a board or emulator."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pfcomp.app.model import TensorInfo
from pfcomp.ir.elements import CARRIERS, Array, decode, encode
from pfcomp.layout.image import Converter, converter
from pfcomp.runtime.engine import Engine
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.ticket import Ticket


class BoardType:
    """What all device tensors of one input, output or state of an app have in common."""

    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.spec = IOSpec.of(info)
        self.size = info.end - info.begin

    @cached_property
    def converter(self) -> Converter:
        """Between carriers of the device's element type and the image in DRAM."""
        return converter(self.info.layout, self.spec.shape, CARRIERS[self.spec.dtype])

    def image(self, array: Array) -> NDArray[np.uint64]:
        """What `array`, of as many elements, looks like in DRAM: (4, size) long words."""
        return self.converter.to_image(encode(array.reshape(self.spec.shape), self.spec.dtype))


class BoardValue:
    """A tensor in device DRAM."""

    def __init__(self, engine: Engine, kind: BoardType) -> None:
        self.engine, self.kind = engine, kind
        self.buffer = engine.buffer(kind.size, kind.spec.name)
        self.version = 0
        self.ready: Ticket[None] | None = None

    @property
    def spec(self) -> IOSpec:
        """Shape, types and layout."""
        return self.kind.spec

    def read(self) -> Array:
        engine, buffer, kind = self.engine, self.buffer, self.kind
        engine.counters["downloads"] += 1
        rows = engine.queue.call(lambda: engine.read(buffer, kind.converter.groups))
        if self.ready is not None:
            self.ready.wait()
        return decode(kind.converter.from_image(rows), kind.spec.dtype, kind.spec.torch_dtype)

    def image(self, array: Array) -> NDArray[np.uint64]:
        """What `array`, of as many elements, looks like in DRAM: (4, size) long words."""
        self.engine.counters["uploads"] += 1
        return self.kind.image(array)

    def write(self, array: Array) -> None:
        engine, buffer, image = self.engine, self.buffer, self.image(array)
        label = f"upload of {self.spec.name}"
        self.ready = engine.queue.submit(label, lambda: engine.write(buffer, image), short=True)
        self.version += 1

    def produced_by(self, ticket: Ticket[None]) -> None:
        """Note the run that writes the tensor: `read` waits for it and raises its error."""
        self.ready = ticket
        self.version += 1

    def take_over(self, other: BoardValue) -> None:
        """Become `other`, which holds the tensor's next contents: its buffer and layout."""
        self.kind, self.buffer, self.ready = other.kind, other.buffer, other.ready
        self.version += 1
