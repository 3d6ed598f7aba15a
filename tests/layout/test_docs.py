"""The examples of docs/layout.md run as printed, and the package exports exactly its documented names."""

import doctest
import re
from pathlib import Path

import pfcomp.layout

DOCS = Path(__file__).parents[2] / "docs" / "layout.md"


def test_examples_of_the_page():
    text = "\n".join(re.findall(r"```pycon\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL))
    example = doctest.DocTestParser().get_doctest(text, {}, "layout.md", str(DOCS), 0)
    assert len(example.examples) > 20
    report = []
    runner = doctest.DocTestRunner()
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_public_names():
    names = [
        "LEVEL_EXTENTS", "SPATIAL_LEVELS", "Broadcast", "Layout", "Level", "PadLayout", "Place", "SliceView", "Subaxis",
        "address_map", "aligned", "broadcast_operand", "canonical", "coordinates", "copy_levels", "copy_offsets",
        "dense", "element_at", "element_map", "extent", "extents", "free_bits", "padded_shape", "padding", "place_of",
        "places", "reshape", "same", "slice_axis", "transpose", "used_bits", "verify", "with_broadcast",
    ]  # fmt: skip
    assert pfcomp.layout.__all__ == names
    assert all(getattr(pfcomp.layout, name).__doc__ for name in names if callable(getattr(pfcomp.layout, name)))
