"""A tensor in the DRAM of a board or emulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pfcomp.app.model import TensorInfo
from pfcomp.layout.image import from_image, to_image
from pfcomp.runtime.elements import CARRIERS, Array, decode, encode
from pfcomp.runtime.engine import Buffer, Engine
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.queue import Ticket


class BoardValue:
    """A tensor in device DRAM under `spec`'s layout."""

    def __init__(self, engine: Engine, info: TensorInfo, buffer: Buffer | None = None) -> None:
        self.engine = engine
        self.info = info
        self.spec = IOSpec.of(info)
        self.buffer = buffer or engine.buffer(info.end - info.begin, info.name)
        self.version = 0
        self.ready: Ticket[None] | None = None

    def read(self) -> Array:
        engine, buffer = self.engine, self.buffer
        engine.counters["downloads"] += 1
        image = engine.queue.call(lambda: engine.read(buffer))
        if self.ready is not None:
            self.ready.wait()
        return self._decode(image)

    def image(self, array: Array) -> NDArray[np.uint64]:
        """What `array`, of as many elements, looks like in DRAM: (4, size) long words."""
        self.engine.counters["uploads"] += 1
        return to_image(encode(array.reshape(self.spec.shape), self.spec.dtype), self.info.layout)

    def write(self, array: Array) -> None:
        engine, buffer, image = self.engine, self.buffer, self.image(array)
        self.ready = engine.queue.submit(f"upload of {self.spec.name}", lambda: engine.write(buffer, image))
        self.version += 1

    def produced_by(self, ticket: Ticket[None]) -> None:
        """Note the run that writes the tensor: `read` waits for it and raises its error."""
        self.ready = ticket
        self.version += 1

    def take_over(self, other: BoardValue) -> None:
        """Become `other`, which holds the tensor's next contents: its buffer and layout, under the own name."""
        self.info = replace(other.info, name=self.info.name)
        self.spec, self.buffer, self.ready = IOSpec.of(self.info), other.buffer, other.ready
        self.version += 1

    def _decode(self, image: NDArray[np.uint64]) -> Array:
        spec = self.spec
        carriers = from_image(image, self.info.layout, spec.shape, CARRIERS[spec.dtype])
        return decode(carriers, spec.dtype, spec.torch_dtype)
