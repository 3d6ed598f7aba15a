"""Random layouts of a shape, and random files of forced layouts for a graph.

A level is used as a whole, in part, or not at all; digits of the axes come in any order, addresses may have gaps, and
sizes that are no powers of two happen. Whatever an axis has left lies along the addresses.
"""

from __future__ import annotations

from math import prod

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout import Layout, Level, Subaxis, with_broadcast
from tests.programs.random_values import DOUBLE, LONG, Graph, Rng, Shape

BITS = {LONG: 64, DOUBLE: 64}
"""Of an element on the device, by ONNX element type; others have 32."""
COORDINATES = {Level.L2B: 3, Level.L1B: 3, Level.MAB: 4, Level.PE: 2}
"""Bits of each level."""
PES = 1 << sum(COORDINATES.values())
MOST_ADDRESSES = 320
ATTEMPTS = 50


def random_layout(rng: Rng, shape: Shape, bits: int) -> Layout:
    """A layout that the verifier accepts and that needs at most `_most_addresses`."""
    most = _most_addresses(shape, bits)
    for attempt in range(ATTEMPTS):
        layout = _draw(rng, shape, bits, attempt / ATTEMPTS)
        if layout is not None and _addresses(layout) <= most:
            return with_broadcast(layout) if rng.random() < 0.3 else layout
    raise AssertionError(f"no layout drawn for {shape}")


def _most_addresses(shape: Shape, bits: int) -> int:
    """Wasteful layouts are welcome as long as they leave half a memory, else those twice as long as the shortest."""
    shortest = -(-prod(shape) * bits // (64 * PES))
    wasteful = 256 // bits * shortest
    return max(MOST_ADDRESSES, min(wasteful, max(2 * shortest, LM_WORDS // 2)))


def _addresses(layout: Layout) -> int:
    return 1 + sum((s.size - 1) * s.stride for axis in layout.axes for s in axis if s.level is Level.ADDR)


def _draw(rng: Rng, shape: Shape, bits: int, eager: float) -> Layout | None:
    """One try; the more `eager`, the more bits of the levels are used."""
    left = list(shape)
    axes: list[list[Subaxis]] = [[] for _ in shape]
    for digit in _spatial(rng, bits, eager):
        long = [k for k, n in enumerate(left) if n > 1 and (eager < 0.5 or n == max(left))]
        if long:
            axis = int(rng.choice(long))
            axes[axis].append(digit)
            left[axis] = -(-left[axis] // digit.size)
    _add_addresses(rng, axes, left)
    return Layout(tuple(tuple(axis[k] for k in rng.permutation(len(axis))) for axis in axes))


def _spatial(rng: Rng, bits: int, eager: float) -> list[Subaxis]:
    """Digits of the levels in any order."""
    digits = [Subaxis(2, Level.W)] if bits == 32 and rng.random() < 0.7 + eager else []
    for level, count in COORDINATES.items():
        if rng.random() < 0.4 - eager:
            continue
        if rng.random() < 0.1 - eager:
            digits.append(Subaxis(3, level, int(rng.choice([1, 2 ** (count - 2)]))))
            continue
        used = sorted(int(k) for k in rng.permutation(count)[: count if rng.random() < 0.5 + eager else 1])
        digits += _runs(rng, level, used)
    return [digits[k] for k in rng.permutation(len(digits))]


def _runs(rng: Rng, level: Level, used: list[int]) -> list[Subaxis]:
    """Digits for these bits, neighbours often as one."""
    runs: list[Subaxis] = []
    for bit in used:
        if runs and runs[-1].size * runs[-1].stride == 1 << bit and rng.random() < 0.6:
            runs[-1] = Subaxis(2 * runs[-1].size, level, runs[-1].stride)
        else:
            runs.append(Subaxis(2, level, 1 << bit))
    return runs


def _add_addresses(rng: Rng, axes: list[list[Subaxis]], left: list[int]) -> None:
    """Digits along the addresses for what is left of every axis, the axes nested in any order."""
    sizes = []
    for axis, count in enumerate(left):
        factors = [n for n in range(2, count) if count % n == 0]
        if factors and rng.random() < 0.4:
            first = int(rng.choice(factors))
            sizes += [(axis, first), (axis, count // first)]
        elif count > 1 or rng.random() < 0.2:
            sizes.append((axis, count + int(rng.random() < 0.05)))
    stride = 1 if rng.random() < 0.85 else int(rng.integers(2, 4))
    for k in rng.permutation(len(sizes)):
        axis, size = sizes[k]
        axes[axis].append(Subaxis(size, Level.ADDR, stride))
        stride *= size


def random_entries(graph: Graph, rng: Rng) -> list[dict[str, object]]:
    """One to three entries of a `layout_spec` that speak of tensors of the graph.

    An entry is for all operands of a shape, so words are only told apart where none of them has 64 bits.
    """
    values = {value.name: value for value in graph.values}
    entries: dict[tuple[object, ...], dict[str, object]] = {}
    for _ in range(int(rng.integers(1, 4))):
        node = graph.nodes[int(rng.integers(len(graph.nodes)))]
        fixed = bool(rng.random() < 0.5)
        tensors = [values[n] for n in ((node.outputs[0],) if fixed else node.inputs) if n in values]
        if not tensors:
            continue
        value = tensors[int(rng.integers(len(tensors)))]
        alike = [v for n in (*node.inputs, *node.outputs) if (v := values.get(n)) and v.shape == value.shape]
        layout = random_layout(rng, value.shape, max(BITS.get(v.element, 32) for v in alike))
        trigger = "FixOutput" if fixed else "SwitchInput"
        entry = {"trigger": trigger, "op_type": node.op, "shape": list(value.shape), "layout": str(layout)}
        entries.setdefault((trigger, node.op, value.shape), entry)
    return list(entries.values())
