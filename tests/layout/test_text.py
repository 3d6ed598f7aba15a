"""Layout texts: every string of mlsdk.md 4.4 parses and prints, mistakes are typed errors with a column."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.layout import Broadcast, Layout, Level, PadLayout, Subaxis
from tests.layout.strategies import layouts

CANONICAL = [
    "((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])",
    "((8_L2B:1, 8:2), (16_MAB:1, 2:1, 4_PE:1); B@[L1B,W])",
    "((4_PE:1, 16:1, 2_W:1))",
    "((4_PE:1, 16:1, 2_W:1); B@[MAB,L1B,L2B])",
    "((8:1, 2_W:1))",
    "((20:1))",
    "((4_PE:1, 2_W:1), (8:1))",
    "((4_PE:1), (4:1))",
    "((8_L2B:1), (4_PE:1, 2:1, 2_W:1), (16:2))",
    "((8_L2B:1, 8_L1B:1, 16:1))",
    "((16_MAB:1, 4_PE:1, 16:1))",
    "((16_MAB:1, 4_PE:1, 16:1, 2_W:1))",
    "((16_MAB:1, 4_PE:1, 2_W:1), (64:1))",
    "((16_MAB:1, 4_PE:1, 2_W:1))",
    "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1); B@[MAB])",
    "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))",
    "((8_L2B:1, 32:2), (2:1, 4_PE:1, 2_W:1))",
    "((16:2), (2:1, 4_PE:1, 2_W:1))",
    "((2:1, 4_PE:1, 2_W:1))",
    "((4_L2B:2, 32:1, 2_W:1))",
    "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1); B@[8_L2B:1])",
    "((4_L2B:2, 64:8), (8:1, 2_W:1))",
    "((4_L2B:2, 256:8), (8:1, 2_W:1); B@[4_L2B:2])",
    "((4_L2B:2, 4:8), (8:1, 2_W:1))",
    "((4_L2B:2, 4:512), (512:1, 2_W:1))",
    "((1_W:1))",
    "((25_Time:1, 3:1536, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (96:16, 4_W:1, 4_PE:1); B@[L1B])",
    "((75_Time:4, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (4_Time:1, 24:16, 4_W:1, 4_PE:1); B@[L1B])",
    "((), (8:3072, 8_L1B:1, 2_Time:1, 2:1536, 16:1), (96:16, 4_W:1, 4_PE:1))",
    "((), (8_L2B:1, 8_L1B:1, 64:1), (4_Time:1, 24:64, 4_W:1, 4_PE:1))",
    "((8_L2B:1, 8_L1B:1, 64:1), (4_Time:1, 24:64, 4_W:1, 4_PE:1))",
    "((), (8:96, 8_L1B:1, 2_Time:25, 2:48, 16:1), (25_Time:1, 3:16, 8_L2B:1, 16_MAB:1, 4_W:1, 4_PE:1))",
    "((), (8_L2B:1, 8_L1B:1, 32:1, 2_W:1))",
    "((16_MAB:1, 5_Time:1, 7:16, 4:1, 4:4), (96:112, 4_W:1, 4_PE:1); B@[L1B,L2B])",
    "((96:112, 4_W:1, 4_PE:1), (16_MAB:1, 5_Time:1, 7:16, 4:1, 4:4); B@[L1B,L2B])",
    "((), (2_Time:1), (), (16_MAB:1, 16:16, 4:1, 4:4), (8:256, 4_W:1, 4_PE:1); B@[L1B,L2B])",
    "((), (2_Time:6), (6_Time:1), (16_MAB:1, 16:16, 4:1, 4:4), (8:256, 4_W:1, 4_PE:1); B@[L1B,L2B])",
    "()",
    "(())",
    "(; B@[PE,MAB])",
]

OTHER_SPELLINGS = {
    "((2_L2B:1, 16_MAB, 4:64), (2_L1B:4, 4_PE, 2_W, 8:1), (4_L2B:2, 4_L1B:1, 8:8))": (
        "((2_L2B:1, 16_MAB:1, 4:64), (2_L1B:4, 4_PE:1, 2_W:1, 8:1), (4_L2B:2, 4_L1B:1, 8:8))"
    ),
    "((8_L2B:1, 16:2, 8_L1B:1), (2:1,4_PE:1, 2_W:1))": "((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))",
    " ( ( 3_Addr : 1 , 2 ) ; B @ [ MAB , 4_L2B ] ) ": "((3:1, 2:1); B@[MAB,4_L2B:1])",
    "((3);B@[])": "((3:1))",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_published_text_prints_back(text):
    assert str(Layout.parse(text)) == text


@pytest.mark.parametrize("text", OTHER_SPELLINGS)
def test_other_spelling_has_the_canonical_value(text):
    layout = Layout.parse(text)
    assert str(layout) == OTHER_SPELLINGS[text]
    assert Layout.parse(str(layout)) == layout


def test_pad_layout_byte_for_byte():
    text = "PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])}"
    value = PadLayout.parse(text)
    assert str(value) == text
    assert value.shape == (3, 4)
    assert value.layout.axes[1] == (Subaxis(1), Subaxis(2, Level.W), Subaxis(4, Level.PE))
    assert value.layout.broadcast == (Broadcast(Level.MAB), Broadcast(Level.L1B), Broadcast(Level.L2B))
    assert PadLayout.parse(text[len("PadLayout{") : -1]) == value
    assert str(PadLayout.parse("()/()")) == "PadLayout{()/()}"


MISTAKES = [
    ("", 1, "'('", "the text ends"),
    ("((3:1)", 7, "','", "the text ends"),
    ("((3:1), )", 9, "'('", "')'"),
    ("((3:x))", 5, "a number", "'x'"),
    ("((3_PX:1))", 5, "a level (L2B, L1B, MAB, PE, W, Addr, Time)", "'PX'"),
    ("((3:1)) x", 9, "the end", "'x'"),
    ("((3:1,))", 7, "a number", "')'"),
    ("((4294967296))", 3, "a number up to 2147483647", "'4294967296'"),
    ("((3:1); C@[MAB])", 9, "'B'", "'C'"),
    ("((3:1); B@[MAB,])", 16, "a level", "']'"),
    ("((3:1); B@[4:1])", 13, "'_'", "':'"),
    ("((\N{ARABIC-INDIC DIGIT THREE}:1))", 3, "a number", ""),
]


@pytest.mark.parametrize(("text", "column", "expected", "found"), MISTAKES)
def test_mistake_names_column_and_expectation(text, column, expected, found):
    with pytest.raises(SourceError, match="PF0201") as error:
        Layout.parse(text)
    assert error.value.where == f"layout text, column {column}"
    assert f"expected {expected}" in error.value.what
    assert found in error.value.what
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["PadLayout{(3,4)/((3:1), (4:1))", "(3,4)((3:1), (4:1))", "(3,)/((3:1))", "PadLayout"])
def test_pad_layout_mistakes(text):
    with pytest.raises(SourceError, match="PF0201"):
        PadLayout.parse(text)


@given(layouts())
@settings(max_examples=100, deadline=None)
def test_any_layout_round_trips(layout):
    assert Layout.parse(str(layout)) == layout
    assert hash(Layout.parse(str(layout))) == hash(layout)
    value = PadLayout((1,) * len(layout.axes), layout)
    assert PadLayout.parse(str(value)) == value


_fragments = st.sampled_from([*"()[]{},;:_@/ \n", "B@[", "3", "16", "4_PE", "2_W:1", "MAB", "PadLayout", "9" * 30, "é"])


@given(st.one_of(st.text(max_size=30), st.lists(_fragments, max_size=20).map("".join)))
@settings(max_examples=300, deadline=None)
def test_any_text_parses_or_is_a_typed_error(text):
    for parse in (Layout.parse, PadLayout.parse):
        try:
            value = parse(text)
        except SourceError:
            continue
        assert parse(str(value)) == value
