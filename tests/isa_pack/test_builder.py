"""Emission: what becomes of operands, and what is refused."""

import pytest

from pfcomp.errors import InternalError
from pfcomp.isa import format_op, format_statement, print_program
from pfcomp.isa.model import Address, Move, Operand, Place, Step
from pfcomp.isa.pack import Builder, MicroMove, narrowed, neg, pack, serialize, widened


def texts(builder):
    return [format_op(item.op) for item in builder.finish().ops if not isinstance(item, MicroMove)]


def packed_ops(builder):
    return [format_op(op) for s in pack(builder.finish()).program.statements if isinstance(s, Step) for op in s.ops]


def test_operands_as_text_and_objects():
    b = Builder()
    v = b.op("fvadd", "$lm0v", Operand(Place.LM1, 2, Address(8, 2)), to=["$lm0v", "$lr8v/$imr1"])
    b.op("fvmul", neg(v), v, to=Operand(Place.LM1, 2, Address(8, 2)))
    assert texts(b) == ["fvadd $lm0v $ln8v $lm0v $lr8v/$imr1", "fvmul -$mauf $mauf $ln8v"]
    assert [use[0] for use in b.finish().ops[1].uses] == [0, 1]


def test_literals_and_modifiers():
    b = Builder()
    b.op('imm f"2.0"', to="$t")
    b.op("zero/1010", to="$ln0v")
    b.op("hbfn/7", "$llm0vr", to="$lr0v")
    b.op("l1bmd+3", "$lb64", to="$lm0v")
    b.op("l2bmb@0/6", "$lc0", to="$lb64")
    b.op("l1bmrffadd", "$llm0v", to="$llb32")
    assert texts(b) == [
        'imm f"2.0" $t', "zero/1010 $ln0v", "hbfn/7 $llm0vr $lr0v", "l1bmd+3 $lb64 $lm0v", "l2bmb@0/6 $lc0 $lb64",
        "l1bmrffadd $llm0v $llb32",
    ]  # fmt: skip


def test_reading_a_memory_twice_takes_a_copy():
    b = Builder()
    b.op("fvadd", "$lm0v", "-$lm8v", to="$ln0v")
    assert texts(b) == ["lpassa $lm8v", "fvadd $lm0v -$mauf $ln0v"]


def test_writing_the_memory_that_is_read_takes_a_copy():
    b = Builder()
    b.op("lpassa", "$llm0v", to="$llm16v")
    assert texts(b) == ["lpassa $llm0v", "lpassa $mauf $llm16v"]
    assert b.finish().ops[0].result.width == 4


def test_two_destinations_in_one_memory_and_imm_to_lm0():
    b = Builder()
    b.op("linc", "$ln0v", to=["$lr0v", "$lr8v"])
    b.op('imm i"1"', to=["$lm0", "$ln0"])
    assert texts(b) == ["linc $ln0v $lr0v", "lpassa $mauf $lr8v", 'imm i"1" $ln0', "lpassa $mauf $lm0"]


def test_two_register_files_are_written_in_two_steps_if_the_value_is_used():
    b = Builder()
    v = b.op("linc", "$ln0v", to=["$lr0v", "$ls0v"])
    assert texts(b) == ["linc $ln0v $lr0v $ls0v"]
    b.op("ldec", v, to="$ln8v")
    assert texts(b) == ["linc $ln0v $lr0v", "lpassa $mauf $ls0v", "ldec $mauf $ln8v"]


def test_paths_mean_the_last_result():
    b = Builder()
    v = b.op("fvmul", "$lm0v", "$ln0v")
    b.op("linc", "$ln0v")
    b.op("fvadd", "$aluf", "-$mauf", to="$ln8v")
    item = b.finish().ops[2]
    assert [(at, value.index, value.negate) for at, value in item.uses] == [(0, 1, False), (1, v.index, True)]


def test_widths_and_uniformity():
    b = Builder()
    assert b.op("lpassa", "$llm0v").width == 4
    assert b.op("hvadd", "$lm0v", "$llr0v").width == 4
    assert b.op("hvaddr", "$lm0v", "$llr0v").width == 2
    assert b.op("hmread", "$llx0").width == 4
    assert b.op("l1bmm", "$llb0").width == 4
    assert b.op("fvadd", "$lm0v", "$ln0v", width=4).width == 4
    one = b.op('imm f"1"')
    assert one.uniform
    assert b.op("fvadd", one, "$lr0").uniform
    assert b.op("ilsl", "$mabid", one).uniform
    assert not b.op("fvadd", one, "$lr0v").uniform
    assert not b.op("lpassa", "$t").uniform
    assert not b.op("lpassa/1000", one).uniform


def test_suffixes_of_values():
    b = Builder()
    v = b.op("hvmul", "$lm0v", "$lr0v")
    b.op("hbfn/9", narrowed(v), to="$lr0v")
    half = b.op("fvaddr", "$lm0v", "$ln0v")
    b.op("fvadd", widened(half), "$ln0v", to="$lm0v")
    assert texts(b)[1::2] == ["hbfn/9 $maufr $lr0v", "fvadd $maufe $ln0v $lm0v"]
    assert "hbfn/9 $maufr $lr0v" in packed_ops(b)


def test_nodes_and_moves():
    b = Builder()
    with b.node("load", op="Download", source="a.py:3"):
        assert b.move("mvp/n64 $d0 $lc0@.0") == 0
        b.op("l2bmb", "$lc0", to="$lb0")
    with b.node("add", op="Add"):
        b.op("l1bmm", "$lb0", to="$lm0v")
        with b.node("inner"):
            b.op("fvadd", "$lm0v", "$ln0v", to="$ln0v")
    pdm, dram = (Operand(place, 2, Address(0), group=1) for place in (Place.PDM, Place.DRAM))
    assert b.move(Move("p", 64, pdm, dram)) == 1
    packed = pack(b.finish())
    named = {
        name: format_statement(s)
        for s, names in zip(packed.program.statements, packed.origins, strict=True)
        for name in names
    }
    assert named["inner"] == "fvadd $lbf $ln0v $ln0v; wait i01"  # the second move; it was issued before this step
    assert named["add"] == "l1bmm $lb0 $lm0v"
    assert packed.nodes[0].source == "a.py:3"
    moves = [s for s in packed.program.statements if isinstance(s, Move)]
    assert sorted(packed.move_origins.values()) == [0, 1]
    assert len(moves) == 2
    assert all(m.tag for m in moves)


REFUSED = {
    "unknown operation": lambda b: b.op("fvad", "$lm0v", "$ln0v"),
    "operand in the opcode": lambda b: b.op("lpassa $lm0v"),
    "no literal": lambda b: b.op("imm"),
    "too few sources": lambda b: b.op("fvadd", "$lm0v", to="$ln0v"),
    "bad operand": lambda b: b.op("lpassa", "$q0"),
    "negated ALU input": lambda b: b.op("lpassa", "-$lm0v"),
    "value of an mwrite": lambda b: b.op("lpassa", b.op("gmwrite", "$lm0v", to="$lx0")),
    "value of another builder": lambda b: b.op("lpassa", Builder().op("zero")),
    "path before anything": lambda b: b.op("lpassa", "$mauf"),
    "narrow value": lambda b: b.op("lpassa", b.op("linc", "$lm0v"), to="$lln0v"),
    "narrow addend": lambda b: b.op("hvadd", "$lm0v", b.op("linc", "$lm0v")),
    "two masks": lambda b: b.op("isub", "$lm0v", "$ln0v", to=["$omr1", "$omr2"]),
    "mask of a late copy": lambda b: b.op("isub", "$lm0v", "$ln0v", to=["$omr1", "$lm8v/$imr1"]),
    "tagged move": lambda b: b.move("mvp/n64i01 $d0 $lc0@.0"),
    "empty move": lambda b: b.move("mvnop"),
    "bad move": lambda b: b.move("mvq/n64 $d0 $lc0"),
    "impossible move": lambda b: b.move(
        Move("b4", 64, Operand(Place.PDM, 2, Address(0)), Operand(Place.L2BM, 2, Address(0)))),
    "turnaround from nothing": lambda b: (b.op("l1bmd", "$lbi", to="$lm0v"), pack(b.finish())),
    "turnaround of another family": lambda b: (
        b.op("l1bmd", "$lm0v", to="$lbi"), b.op("l1bmm", "$lbi", to="$lm0v"), pack(b.finish())),
    "turnaround read twice": lambda b: (
        b.op("l1bmd", "$lm0v", to="$lbi"), b.op("l1bmd", "$lbi", to="$lm0v"), b.op("l1bmd", "$lbi", to="$ln0v"),
        pack(b.finish())),
    "turnaround read too late": lambda b: (
        b.op("l1bmd", "$lm0v", to="$lbi"), b.op("linc", "$lr0v", to="$ln0v"), b.op("l1bmd", "$lbi", to="$ln0v"),
        pack(b.finish())),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(InternalError, match="PF0150"):
        REFUSED[name](Builder())


def test_empty_program():
    packed = pack(Builder().finish())
    assert packed.program.statements == ()
    assert packed.stats.steps == 0
    assert serialize(Builder().finish()).steps == 0


def test_example_of_the_page():
    """docs/packer.md."""
    b = Builder()
    for v in range(2):
        t = b.op("fvadd", f"$lm{8 * v}v", f"$ln{8 * v}v")
        b.op("fvmul", t, t, to=f"$ln{16 + 8 * v}v")
    text = print_program(pack(b.finish()).program)
    assert text == (
        "fvadd $lm0v $ln0v $lr0v\nfvadd $lm8v $ln8v $lr8v\nfvmul $lr0v $lr0v $ln16v\nfvmul $lr8v $lr8v $ln24v\n"
    )


def test_two_sequences_are_emitted_in_turns():
    b = Builder()

    def sums():
        for v in range(3):
            b.op("l1bmrffadd", f"$lm{8 * v}v", to="$lbi")
            b.op("l1bmm", "$lbi", to=f"$ln{8 * v}v")

    def loads():
        for v in range(6):
            b.op("l2bmb", f"$lc{64 * v}", to=f"$lb{64 * v}")

    b.beside(sums, loads)
    ops = [micro.op for micro in b.finish().ops]
    assert [op.name for op in ops if op.name != "l2bmb"] == ["l1bmr", "l1bmm"] * 3
    assert [op.sources[0].address.base for op in ops if op.name == "l2bmb"] == [64 * v for v in range(6)]
    assert all(ops[k + 1].name == "l1bmm" for k, op in enumerate(ops) if op.name == "l1bmr")
    assert ops[0].name == "l1bmr"
    assert [op.name for op in ops[2:4]] == ["l2bmb", "l2bmb"]
