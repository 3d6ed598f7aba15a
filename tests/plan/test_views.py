"""Rearrangements: maps of elements against numpy, and renamings against the maps."""

from __future__ import annotations

import numpy as np
import pytest

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Attribute, Job, Spec
from pfcomp.layout import Layout
from pfcomp.layout.model import Level
from pfcomp.layout.places import places
from pfcomp.plan.lower.views import original, renamed, source_maps

SHAPE = (4, 6, 8)
LAYOUT = Layout.parse("((2_L1B:1, 2:24), (6:4), (4:1, 2_W:1))")
X = np.arange(192).reshape(SHAPE)

CROPPED = np.pad(X[:, 1:], ((0, 0), (0, 0), (2, 2)), constant_values=-1)

Attributes = tuple[tuple[str, Attribute], ...]
CASES: list[tuple[str, Attributes, np.ndarray]] = [
    ("Identity", (), X),
    ("Transpose", (("perm", (2, 0, 1)),), X.transpose(2, 0, 1)),
    ("Reshape", (), X.reshape(4, 48)),
    ("Reshape", (), X.reshape(4, 1, 3, 2, 8)),
    ("Slice", (("starts", (0, 2, 0)), ("steps", (1, 1, 1))), X[:, 2:5]),
    ("Slice", (("starts", (1, 5, 0)), ("steps", (2, -2, 1))), X[1::2, 5::-2]),
    ("Expand", (), np.broadcast_to(X[None], (3, *SHAPE))),
    ("Tile", (), np.tile(X, (2, 1, 3))),
    ("Take", (("index", (5, 5, 190, 0)),), np.array([[5, 5], [190, 0]])),
    ("Pad", (("before", (1, 0, 2)), ("mode", "reflect"), ("bits", 0)), np.pad(X, ((1, 0), (0, 3), (2, 1)), "reflect")),
    ("Pad", (("before", (0, -1, 2)), ("mode", "constant"), ("bits", 7)), CROPPED),
]  # fmt: skip


def job(op: str, attributes: Attributes, result: tuple[int, ...]) -> Job:
    return Job(op, (Spec(SHAPE, DType.FLOAT),), (Spec(result, DType.FLOAT),), attributes)


@pytest.mark.parametrize(("op", "attributes", "expected"), CASES)
def test_maps_are_numpys(op: str, attributes: Attributes, expected: np.ndarray) -> None:
    (index,) = source_maps(job(op, attributes, expected.shape))
    np.testing.assert_array_equal(index.reshape(expected.shape), expected)


def test_every_operand_of_concat_fills_its_own_part() -> None:
    specs = tuple(Spec((2, n), DType.FLOAT) for n in (3, 1, 2))
    maps = source_maps(Job("Concat", specs, (Spec((2, 6), DType.FLOAT),), (("axis", 1),)))
    taken = np.stack(maps)
    assert ((taken >= 0).sum(0) == 1).all()
    operands = [10 * k + np.arange(2 * s.shape[1]) for k, s in enumerate(specs)]
    joined = sum(np.where(m >= 0, o[m], 0) for m, o in zip(maps, operands, strict=True))
    parts = [o.reshape(s.shape) for o, s in zip(operands, specs, strict=True)]
    np.testing.assert_array_equal(np.reshape(joined, (2, 6)), np.concatenate(parts, axis=1))


@pytest.mark.parametrize(("op", "attributes", "expected"), CASES[:6])
def test_a_renaming_finds_every_element_where_it_was(op: str, attributes: Attributes, expected: np.ndarray) -> None:
    view = renamed(job(op, attributes, expected.shape), LAYOUT)
    if view is None:
        assert op == "Slice"
        return
    before, after = places(LAYOUT, SHAPE), places(view.layout, expected.shape)
    for level in Level:
        shift = view.addr if level is Level.ADDR else 0
        np.testing.assert_array_equal(before[level].reshape(-1)[expected], after[level] + shift)


@pytest.mark.parametrize(("op", "attributes", "expected"), CASES[:4])
def test_the_original_of_a_renaming(op: str, attributes: Attributes, expected: np.ndarray) -> None:
    asked = job(op, attributes, expected.shape)
    view = renamed(asked, LAYOUT)
    assert view is not None
    back = original(asked, view.layout)
    assert back is not None
    for level in Level:
        np.testing.assert_array_equal(places(back, SHAPE)[level], places(LAYOUT, SHAPE)[level])
