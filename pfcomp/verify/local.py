"""Values in the emulator's local memory as host arrays: written to every copy, read from the first."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.emulator.rows import MEMORIES
from pfcomp.ir.elements import CARRIERS
from pfcomp.ir.model import Location, MNValue
from pfcomp.isa.model import Place
from pfcomp.layout import Layout
from pfcomp.layout.places import element_map

Array = NDArray[np.generic]

ROWS = {Location.LM0: MEMORIES[Place.LM0].base, Location.LM1: MEMORIES[Place.LM1].base}


def write(machine: Machine, value: MNValue, array: Array) -> None:
    """Write a host array to every copy of a value; places without an element keep what they hold."""
    index = index_of(value.layout, value.shape, value.dtype.bits)
    words = long_words(machine, value, index.shape[1])
    elements = elements_of(words, value.dtype.bits)
    flat = np.ascontiguousarray(array, CARRIERS[value.dtype]).reshape(-1).view(elements.dtype)
    elements[index >= 0] = flat[index[index >= 0]]
    words[:] = _joined(elements)


def read(machine: Machine, value: MNValue) -> Array:
    """The value as a host array of the shape."""
    found, _ = copies(machine, value)
    return found


def copies(machine: Machine, value: MNValue) -> tuple[Array, int]:
    """The value as a host array, and how many places hold something else than the copy that was read."""
    index = index_of(value.layout, value.shape, value.dtype.bits)
    elements = elements_of(long_words(machine, value, index.shape[1]), value.dtype.bits)
    held = index >= 0
    flat = np.zeros(int(np.prod(value.shape, dtype=np.int64)), elements.dtype)
    flat[index[held]] = elements[held]
    differing = int((elements[held] != flat[index[held]]).sum())
    return flat.view(CARRIERS[value.dtype]).reshape(value.shape), differing


def long_words(machine: Machine, value: MNValue, addresses: int) -> NDArray[np.uint64]:
    """The value's long words as (L2B, address, L1B, MAB, PE), a view."""
    start = ROWS[value.location] + (value.address or 0)
    return machine.state.mem[:, start : start + addresses].reshape(8, addresses, 8, 16, 4)


@lru_cache(maxsize=64)
def index_of(layout: Layout, shape: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """Flat element index as (L2B, address, L1B, MAB, PE, W), -1 for places without an element."""
    return element_map(layout, shape, bits)[..., 0].transpose(0, 5, 1, 2, 3, 4)


def elements_of(words: NDArray[np.uint64], bits: int) -> NDArray[np.unsignedinteger]:
    """Elements of long words along a new last axis, the most significant first; a copy."""
    if bits == 64:
        return words[..., None].copy()
    return words.astype(">u8").reshape(*words.shape, 1).view(">u4").astype(np.uint32)


def _joined(elements: NDArray[np.unsignedinteger]) -> NDArray[np.uint64]:
    if elements.dtype == np.uint64:
        return elements[..., 0]
    return np.ascontiguousarray(elements.astype(">u4")).view(">u8").astype(np.uint64)[..., 0]
