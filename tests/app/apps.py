"""Small apps for tests of the format."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pfcomp.app.model import Constant, DebugSpan, GPFNApp, Relocation, TensorInfo
from pfcomp.isa import parse
from pfcomp.layout import PadLayout
from pfcomp.layout.image import to_image

LAYOUT = "PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])}"

TEXT = """\
mvb2/n64i01 $d0 $lc0
mvb2/n64i02 $d16 $lc64
nop; wait i01
l2bmb $lc0 $lb0
nop; wait i02
l2bmb $lc64 $lb64
nop/4
l1bmm $lb0 $ln0v
l1bmm $lb64 $lm0v
nop/3
fvadd $lm0v $ln0v $lr0v
nop/2
l1bmm@0 $lr0v $lb128
nop/4
l2bm@0 $lb128 $lc128
nop/4
mvrlbor/n64i03 $lc128 $d32
nop; wait i03
"""


def tensor(name: str, begin: int, text: str = LAYOUT, **fields: object) -> TensorInfo:
    """A single-precision tensor at `begin`, whose layout is given as PadLayout text."""
    pad = PadLayout.parse(text)
    size = to_image(np.zeros(pad.shape, np.float32), pad.layout).shape[1]
    return TensorInfo(name, pad.shape, "Float", pad.layout, begin, begin + size, **fields)


def constant(name: str, begin: int, values: np.ndarray) -> Constant:
    """A (3, 4) constant."""
    return Constant(tensor(name, begin), to_image(values, PadLayout.parse(LAYOUT).layout))


def add_app() -> GPFNApp:
    """`out = x + y` of the tutorial, as in design.md 7."""
    program = parse(TEXT)
    moves = (0, 1, len(program.statements) - 2)
    return GPFNApp(
        inputs=(tensor("x", 0), tensor("y", 16)),
        outputs=(tensor("out", 32, dirty=True),),
        state=(),
        constants=(),
        program=program,
        relocations=(
            Relocation(moves[0], "source", "x", 0),
            Relocation(moves[1], "source", "y", 0),
            Relocation(moves[2], "destination", "out", 0),
        ),
        debug=(DebugSpan(0, 2, "load", "Download", ""), DebugSpan(2, 12, "add", "Add", "add.py:12")),
        statistics=(("steps", program.steps),),
        options_digest="0" * 64,
        producer="pfcomp test",
    )


def full_app() -> GPFNApp:
    """An app that has something in every section."""
    app = add_app()
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    return replace(
        app,
        state=(tensor("model@weight", 64, dirty=True), tensor("größe", 128, alias_base="x")),
        constants=(constant("c", 192, values), constant("d", 256, -values)),
    )
