"""Hand-written apps, independent of the compiler: out = x + y for a small value per PE."""

from pfcomp.app.model import Constant, DebugSpan, GPFNApp, Relocation, TensorInfo
from pfcomp.isa import parse
from pfcomp.isa.model import Move
from pfcomp.layout import Layout
from pfcomp.layout.image import to_image

LAYOUT = Layout.parse("((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])")
OTHER_LAYOUT = Layout.parse("((4_PE:1), (1:1, 2_W:1, 4:1); B@[MAB,L1B,L2B])")

# `first` and `second` are where the two summands start in DRAM, `out` the sum, in long words
ADD = """
mvb2/n64i01 $d{first} $lc0
mvb2/n64i02 $d{second} $lc64
nop; wait i01
nop; wait i02
l2bmb $lc0 $lb0
l2bmb $lc64 $lb64
nop
l1bmm $lb0 $lm0v
l1bmm $lb64 $ln0v
nop/3
fvadd $lm0v $ln0v $lr0v
nop/3
l1bmm@0 $lr0v $lb128
nop/3
l2bm@0 $lb128 $lc128
nop/3
mvp/n64i03 $lc128@.0 $d{out}
nop; wait i03
"""


def tensor(name, begin, layout=LAYOUT, **fields):
    return TensorInfo(name, (3, 4), "Float", layout, begin, begin + 16, **fields)


def add_app(inputs=("x", "y"), output="out", layout=LAYOUT, *, state=(), constant=None, updates=None):
    """An app that adds its two summands, which are inputs, states or a constant (name and array).

    `updates` names the state into whose place the sum goes; then there is no output.
    """
    summands = [*inputs, *state, *([constant[0]] if constant else [])]
    begins = {name: 64 * i for i, name in enumerate(summands)}
    target = updates or output
    places = {"first": begins[summands[0]], "second": begins[summands[1]], "out": begins.get(target, 128)}
    program = parse(ADD.format(**places), "add.vsm")
    names = {"first": summands[0], "second": summands[1], "out": target}
    moves = [i for i, s in enumerate(program.statements) if isinstance(s, Move)]
    relocations = tuple(
        Relocation(index, "destination" if role == "out" else "source", names[role], 0)
        for index, role in zip(moves, ("first", "second", "out"), strict=True)
    )
    info = {name: tensor(name, begin, layout, dirty=name == updates) for name, begin in begins.items()}
    outputs = () if updates else (tensor(output, 128, layout, dirty=True),)
    return GPFNApp(
        inputs=tuple(info[name] for name in inputs),
        outputs=outputs,
        state=tuple(info[name] for name in state),
        constants=(Constant(info[constant[0]], to_image(constant[1], layout)),) if constant else (),
        program=program,
        relocations=relocations,
        debug=(DebugSpan(0, len(program.statements), "add", "Add", "apps.py:1"),),
        statistics=(("steps", program.steps),),
    )
