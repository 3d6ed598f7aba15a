"""Values that all MABs hold, shared among them."""

import pytest

from pfcomp.layout import Layout, padded_shape, same, verify
from pfcomp.layout.share import shared

GROUPS = "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))"


@pytest.mark.parametrize(
    ("layout", "axes", "pairs", "expected"),
    [
        (GROUPS, (0, 1), True, "((4_L2B:2, 8_MAB:2, 8:1), (2_MAB:1, 4_PE:1, 2_W:1))"),
        (GROUPS, (0,), False, "((4_L2B:2, 16_MAB:1, 4:2), (2:1, 4_PE:1, 2_W:1))"),
        ("((4:16), (16:1, 2_W:1))", (0, 1), True, "((4_MAB:4), (2_MAB:2, 4:1, 2_MAB:1, 2_W:1))"),
        ("((3:16), (16:1, 2_W:1))", (0, 1), False, "((3:1), (16_MAB:1, 2_W:1))"),
    ],
)
def test_digits_are_dealt_out(layout: str, axes: tuple[int, ...], pairs: bool, expected: str) -> None:
    found = shared(Layout.parse(layout), axes, pairs=pairs)
    assert found is not None
    assert same(found, Layout.parse(expected))
    verify(found, padded_shape(Layout.parse(layout)), 32)


@pytest.mark.parametrize("layout", ["((64:1), (4_MAB:1))", "((16:1), ())", "((30:1), (3:30))"])
def test_nothing_to_share(layout: str) -> None:
    assert shared(Layout.parse(layout), (0, 1), pairs=True) is None
