"""Fresh results are read as values instead of from local memory, where that means the same."""

import pytest

from pfcomp.isa import format_op
from pfcomp.isa.pack import Builder, pack
from pfcomp.isa.pack.shortcuts import REACH, shorten


def shortened(*ops):
    """Texts after the pass; `$mauf` stands for a value."""
    b = Builder()
    for opcode, sources, to in ops:
        b.op(opcode, *sources, to=to)
    return [format_op(item.op) for item in shorten(b.finish()).ops]


LOAD = ("l1bmd", ["$lb0"], "$lm0v")


def test_a_stored_result_is_forwarded():
    assert shortened(LOAD, ("fvadd", ["-$lm0v", "$ln0v"], "$ln0v"))[1] == "fvadd -$mauf $ln0v $ln0v"


def test_both_operands():
    ops = (LOAD, ("l1bmd", ["$lb256"], "$ln0v"), ("fvadd", ["$lm0v", "$ln0v"], "$lm0v"), ("l1bmd", ["$lm0v"], "$lb0"))
    assert shortened(*ops)[2:] == ["fvadd $mauf $mauf $lm0v", "l1bmd $mauf $lb0"]


KEPT = {
    "other addresses": (LOAD, ("linc", ["$lm2v"], "$ln8v")),
    "other width": (LOAD, ("linc", ["$m0v2"], "$ln8v")),
    "wide store": (("l1bmm", ["$llb0"], "$llm0v"), ("linc", ["$lm0v4"], "$ln8v")),
    "masked store": (("l1bmd", ["$lb0"], "$lm0v/$imr1"), ("linc", ["$lm0v"], "$ln8v")),
    "one address for all cycles": (("l1bmd", ["$lb0"], "$lm0"), ("linc", ["$lm0"], "$ln8v")),
    "partly overwritten": (LOAD, ("zero", [], "$m3"), ("linc", ["$lm0v"], "$ln8v")),
    "maybe overwritten": (LOAD, ("linc", ["$ln0v"], "$lmt64v"), ("linc", ["$lm0v"], "$ln8v")),
    "base address changed": (LOAD, ('imm i"8"', [], "$mb"), ("linc", ["$lm0v"], "$ln8v")),
    "read through T": (LOAD, ("linc", ["$lmt0v"], "$ln8v")),
    "second long word shows": (LOAD, ("lpassa", ["$lm0v"], "$lln8v")),
    "T shows it too": (LOAD, ("lpassa", ["$lm0v"], "$t")),
    "no port left": (LOAD, ("fvfma", ["$lm0v", "$lr0v", "$ls0v"], "$ln8v")),
    "too old": (LOAD, *[("linc", ["$ln0v"], "$ln8v")] * REACH, ("linc", ["$lm0v"], "$ln8v")),
}


@pytest.mark.parametrize("name", KEPT)
def test_memory_is_read(name):
    b = Builder()
    for opcode, sources, to in KEPT[name]:
        b.op(opcode, *sources, to=to)
    micro = b.finish()
    assert shorten(micro) == micro


def test_three_steps_less():
    b = Builder()
    b.op("l1bmd", "$lb0", to="$lm0v")
    b.op("fvadd", "$lm0v", "$ln0v", to="$ln0v")
    b.op("l1bmd", "$ln0v", to="$lb256")
    assert pack(b.finish()).stats.steps == 3
