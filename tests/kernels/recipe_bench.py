"""Runs element-wise nodes on whole vectors of all 4096 PEs: element k of a value lies at a place of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.ir.model import LM_WORDS, DType, Location, MNNode
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Packed, pack
from pfcomp.kernels import operands
from pfcomp.kernels.elementwise import Immediate, VectorEmitter, emit_vector
from pfcomp.verify import local
from tests.kernels.harness import HOST

VECTOR = 8 * 4096
"""Elements of a vector: four addresses, two words in each."""

Array = NDArray[np.generic]


@cache
def machine() -> Machine:
    """One machine for all tests: its memories are written before they are read."""
    return Machine()


def element(name: str, op: str, inputs: int | Sequence[str], output: str = "y", **attributes: object) -> MNNode:
    """A node on inputs of these names, or on that many inputs x0, x1, ..."""
    names = tuple(f"x{k}" for k in range(inputs)) if isinstance(inputs, int) else tuple(inputs)
    return MNNode(name, op, names, (output,), tuple(attributes.items()))


def compute(
    node: MNNode,
    sources: Mapping[str, tuple[DType, Array | Immediate]],
    outputs: Mapping[str, DType],
    inner: Mapping[str, DType] | None = None,
    words: int = 2,
) -> dict[str, Array]:
    """All results of a node; arrays have whole vectors of elements.

    With `words` 1, 64-bit values are single vectors of half as many elements, and 32-bit values hold copies.
    """
    arrays = {name: np.asarray(a, HOST[t]) for name, (t, a) in sources.items() if not isinstance(a, Immediate)}
    count = next(len(a) for a in arrays.values()) // (VECTOR * words // 2)
    inputs, results = _places(arrays, sources, count, words), {}
    for name, array in arrays.items():
        put(Location.LM0, inputs[name], image(array, words))
    address = 0
    for name, dtype in outputs.items():
        results[name] = address
        address += _size(dtype, words) * count
    dtypes = {**{n: t for n, (t, _) in sources.items()}, **(inner or {}), **outputs}
    immediates = {n: a for n, (_, a) in sources.items() if isinstance(a, Immediate)}
    packed = emit(node, dtypes, inputs, results, immediates, count, words)
    machine().run(machine().load(packed.program))
    return {name: get(results[name], outputs[name], count, words) for name in outputs}


def emit(
    node: MNNode,
    dtypes: Mapping[str, DType],
    inputs: Mapping[str, int],
    outputs: Mapping[str, int],
    immediates: Mapping[str, Immediate],
    count: int,
    words: int = 2,
) -> Packed:
    """The packed program: operands from these addresses of LM0, results to these of LM1."""
    builder = Builder()
    emitter = VectorEmitter(builder)
    for v in range(count):
        sources = {n: _operand(Location.LM0, a, dtypes[n], v, words) for n, a in inputs.items()}
        targets = {n: _operand(Location.LM1, a, dtypes[n], v, words) for n, a in outputs.items()}
        emit_vector(emitter, node, dtypes, {**sources, **immediates}, targets)
    return pack(builder.finish())


def _size(dtype: DType, words: int) -> int:
    """Addresses of a vector."""
    return 4 * words if dtype.bits == 64 else 4


def _places(
    arrays: Mapping[str, Array], sources: Mapping[str, tuple[DType, object]], count: int, words: int
) -> dict[str, int]:
    found, address = {}, 0
    for name in arrays:
        found[name] = address
        address += _size(sources[name][0], words) * count
    assert address <= LM_WORDS
    return found


def _operand(location: Location, base: int, dtype: DType, vector: int, words: int) -> Operand | tuple[Operand, Operand]:
    start = base + _size(dtype, words) * vector
    if dtype.bits == 32 or words == 1:
        return operands.run(location, start)
    first, second = (operands.vector(location, range(start + w, start + 8, 2)) for w in (0, 1))
    return first, second


def image(array: Array, words: int) -> NDArray[np.uint64]:
    """Long words by (address, PE): the twin of a 32-bit form for 64-bit elements."""
    if array.dtype.itemsize == 8:
        pairs = array.view(np.uint64).reshape(-1, 4096, words)
        return pairs.transpose(0, 2, 1).reshape(-1, 4096)
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64).reshape(-1, 4096, words)
    return bits[..., 0] << np.uint64(32) | bits[..., -1]


def put(location: Location, address: int, long_words: NDArray[np.uint64]) -> None:
    """Write the image of a value to all PEs, from an address of a local memory on."""
    lines = long_words.reshape(-1, 8, 512).transpose(1, 0, 2)
    start = local.ROWS[location] + address
    machine().state.mem[:, start : start + lines.shape[1]] = lines


def get(address: int, dtype: DType, count: int, words: int = 2) -> Array:
    """A value of `count` vectors in LM1."""
    start, size = local.ROWS[Location.LM1] + address, _size(dtype, words) * count
    lines = machine().state.mem[:, start : start + size].transpose(1, 0, 2).reshape(-1, 4096)
    if dtype.bits == 64:
        return lines.reshape(-1, words, 4096).transpose(0, 2, 1).reshape(-1).view(HOST[dtype])
    pair = np.stack([lines >> np.uint64(32), lines & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)
    if words == 1:
        np.testing.assert_array_equal(pair[..., 0], pair[..., 1], "the words of a copy differ")
        pair = pair[..., :1]
    return pair.reshape(-1).view(HOST[dtype])


def apply(
    op: str, sources: Sequence[tuple[DType, Array | Immediate]], output: DType, words: int = 2, **attributes: object
) -> Array:
    """The result of one operator."""
    node = element(op, op, len(sources), **attributes)
    return compute(node, {f"x{k}": s for k, s in enumerate(sources)}, {"y": output}, words=words)["y"]


def filled(values: Sequence[object], dtype: DType, words: int = 2) -> Array:
    """A vector that repeats the values."""
    return np.resize(np.array(values, HOST[dtype]), VECTOR * words // 2)


def distance(got: Array, wanted: Array) -> NDArray[np.float64]:
    """Error in units in the last place of the wanted number; equal infinities have none."""
    exact = np.asarray(wanted, np.longdouble)
    with np.errstate(all="ignore"):
        nearest = exact.astype(got.dtype)
        least = np.finfo(got.dtype).smallest_normal
        unit = np.spacing(np.maximum(np.abs(nearest), least)).astype(np.longdouble)
        error = np.abs(got.astype(np.longdouble) - exact) / unit
    return np.where(got == nearest, 0.0, error).astype(np.float64)
