"""Comparisons joined with the Where or Cast that reads them, also where the result replaces an operand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pfcomp.ir.model import DType, Location, MNNode
from pfcomp.isa.pack import Builder, Packed, pack
from pfcomp.kernels import operands
from pfcomp.kernels.elementwise import Immediate, VectorEmitter, cost, emit_vector
from pfcomp.kernels.fusion import steps_of
from pfcomp.kernels.recipes.condition import COMPARISONS
from tests.kernels.harness import HOST
from tests.kernels.recipe_bench import VECTOR, Array, compute, element, filled, get, image, machine, put

BOOL, INT, LONG, FLOAT, DOUBLE = DType.BOOL, DType.INT, DType.LONG, DType.FLOAT, DType.DOUBLE

ORDER = {
    "Equal": np.equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less,
    "LessOrEqual": np.less_equal,
}  # fmt: skip


def edges(dtype: DType) -> list[float]:
    """Numbers next to zero, to the limits, and to where differences vanish."""
    if dtype not in (FLOAT, DOUBLE):
        least = np.iinfo(HOST[dtype]).min
        return [0, 1, -1, 2, 77, least, least + 1, -(least + 1)]
    kind = HOST[dtype]
    tiny, large = np.finfo(kind).tiny, np.finfo(kind).max
    near = [0.0, tiny, np.nextafter(tiny, kind(1)), 1.5, np.nextafter(kind(1.5), kind(2)), tiny * 2**20, large, np.inf]
    return [sign * float(x) for x in near for sign in (1, -1)]


def pairs(dtype: DType) -> tuple[Array, Array]:
    both = list(product(edges(dtype), repeat=2))
    return filled([a for a, _ in both], dtype), filled([b for _, b in both], dtype)


def joined(op: str, last: str, inputs: tuple[str, ...]) -> MNNode:
    body = (element("c", op, ("x", "y"), "c"), element("o", last, ("c", *inputs), "o"))
    return MNNode("pair", "Fused", ("x", "y", *inputs), ("o",), body=body)


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, INT, LONG], ids=str)
@pytest.mark.parametrize("op", COMPARISONS)
def test_a_choice_by_a_comparison_of_two_values(op: str, dtype: DType) -> None:
    x, y = pairs(dtype)
    a, b = filled([3, -5, 0], dtype), filled([8, 9], dtype)
    sources = {"x": (dtype, x), "y": (dtype, y), "a": (dtype, a), "b": (dtype, b)}
    got = compute(joined(op, "Where", ("a", "b")), sources, {"o": dtype}, {"c": BOOL})["o"]
    np.testing.assert_array_equal(got, np.where(ORDER[op](x, y), a, b))


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, INT, LONG], ids=str)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_with_constants(op: str, dtype: DType) -> None:
    x = filled(edges(dtype), dtype)
    kind = FLOAT if dtype.bits == 32 else LONG
    a = filled([3, -5, 7], kind)
    zero = (kind, Immediate(kind, 0))
    for bound, swapped in product(edges(dtype), (False, True)):
        names = ("y", "x") if swapped else ("x", "y")
        sources = {names[0]: (dtype, x), names[1]: (dtype, Immediate(dtype, bound)), "a": (kind, a), "zero": zero}
        true = ORDER[op](bound, x) if swapped else ORDER[op](x, bound)
        kept, dropped = joined(op, "Where", ("a", "zero")), joined(op, "Where", ("zero", "a"))
        got = [compute(node, sources, {"o": kind}, {"c": BOOL})["o"] for node in (kept, dropped)]
        np.testing.assert_array_equal(got[0], np.where(true, a, 0), f"{bound} {swapped}")
        np.testing.assert_array_equal(got[1], np.where(true, 0, a), f"{bound} {swapped}")


@pytest.mark.parametrize("target", [FLOAT, INT, BOOL], ids=str)
def test_a_comparison_as_a_number(target: DType) -> None:
    x, y = pairs(FLOAT)
    got = compute(joined("Less", "Cast", ()), {"x": (FLOAT, x), "y": (FLOAT, y)}, {"o": target}, {"c": BOOL})["o"]
    np.testing.assert_array_equal(got, (x < y).astype(HOST[target]))


def test_a_bool_that_others_read_too_stays() -> None:
    body = (*joined("Greater", "Where", ("a", "b")).body, element("n", "Not", ("c",), "n"))
    node = MNNode("both", "Fused", ("x", "y", "a", "b"), ("o", "n"), body=body)
    x, y = pairs(FLOAT)
    sources = {"x": (FLOAT, x), "y": (FLOAT, y), "a": (FLOAT, y), "b": (FLOAT, x)}
    got = compute(node, sources, {"o": FLOAT, "n": BOOL}, {"c": BOOL})
    np.testing.assert_array_equal(got["o"], np.where(x > y, y, x))
    np.testing.assert_array_equal(got["n"], x <= y)


def test_pairs_of_other_widths_are_not_joined() -> None:
    node = joined("Greater", "Where", ("a", "b"))
    types = dict.fromkeys(("x", "y"), FLOAT)
    joint = steps_of(node, {**types, "c": BOOL, **dict.fromkeys(("a", "b", "o"), INT)})
    apart = steps_of(node, {**types, "c": BOOL, **dict.fromkeys(("a", "b", "o"), LONG)})
    assert ([s.op for s in joint], [s.op for s in apart]) == (["Greater.Where"], ["Greater", "Where"])


def test_a_joined_pair_costs_less_than_its_parts() -> None:
    parts = np.add(cost("Greater", [FLOAT, FLOAT], BOOL), cost("Where", [BOOL, FLOAT, FLOAT], FLOAT))
    assert sum(cost("Greater.Where", [FLOAT] * 4, FLOAT)) < sum(parts)


def replaced(node: MNNode, kept: str, vectors: int) -> Packed:
    """`x` in LM0 and `a` in LM1 at the same addresses; the result replaces `kept`, everything else is a constant."""
    builder = Builder()
    emitter = VectorEmitter(builder)
    places = {"x": Location.LM0, "a": Location.LM1}
    constants = {"y": Immediate(FLOAT, 0.0), "zero": Immediate(FLOAT, 0.0), "seven": Immediate(FLOAT, 7.0)}
    dtypes = {**dict.fromkeys((*places, *constants, "o"), FLOAT), "c": BOOL}
    for v in range(vectors):
        sources = {n: operands.run(place, 4 * v) for n, place in places.items() if n in node.inputs}
        used = {n: c for n, c in constants.items() if n in node.inputs}
        emit_vector(emitter, node, dtypes, {**sources, **used}, {"o": sources[kept]})
    return pack(builder.finish())


@pytest.mark.parametrize(
    ("op", "chosen", "steps"),
    [("Greater", ("a", "zero"), 3), ("LessOrEqual", ("zero", "a"), 3), ("GreaterOrEqual", ("a", "seven"), 5)],
)
def test_a_result_in_place_is_only_written_where_it_differs(op: str, chosen: tuple[str, str], steps: int) -> None:
    packed = replaced(joined(op, "Where", chosen), "a", 2)
    assert packed.stats.steps <= steps
    assert "ixor" not in packed.stats.counts.mnemonics
    x, a = np.resize(pairs(FLOAT)[0], 2 * VECTOR), np.resize(filled([3, -5, 11], FLOAT), 2 * VECTOR)
    put(Location.LM0, 0, image(x, 2))
    put(Location.LM1, 0, image(a, 2))
    machine().run(machine().load(packed.program))
    values = {"a": a, "zero": np.float32(0), "seven": np.float32(7)}
    np.testing.assert_array_equal(get(0, FLOAT, 2), np.where(ORDER[op](x, 0), *(values[n] for n in chosen)))
