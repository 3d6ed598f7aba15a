"""For every rule of the checker: a short legal program and one that breaks this rule only, with random details.

A snippet is a function of a `random.Random`; it returns the statements of both programs and which statement of the
broken one carries the finding. Snippets leave no hazards behind if eight nops follow.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from pfcomp.isa import parse
from pfcomp.isa.model import Address, Move, Operand, Place, Program, Step

Pair = tuple[list, list, int]
SNIPPETS: dict[str, Callable[[Random], Pair]] = {}


def snippet(rule):
    def add(function):
        SNIPPETS[rule] = function
        return function

    return add


def statements(*lines):
    """Statements of VSM lines."""
    return list(parse("\n".join(lines)).statements)


def pair(legal, broken, at=-1):
    """Both programs from lists of lines; `at` counts the broken program's statements (-1: the last)."""
    good, bad = statements(*legal), statements(*broken)
    return good, bad, at % len(bad)


def even(rng, size, last=16):
    """An address of a vector of long words that does not wrap."""
    return 8 * rng.randrange((size - last) // 8)


LM, GRF = 4096, 512


@snippet("5.role")
def _(rng):
    good = statements(f"lpassa $lm{even(rng, LM)}v $nowrite")
    op = good[0].ops[0]
    return good, [Step((replace(op, sources=(Operand(Place.MASK, 2, Address(1)),)),))], 0


@snippet("5.operand")
def _(rng):
    good = statements(f"lpassa $lr{even(rng, GRF)}v $nowrite")
    op = good[0].ops[0]
    bad = replace(op.sources[0], address=replace(op.sources[0].address, neighbour=1))
    return good, [Step((replace(op, sources=(bad,)),))], 0


@snippet("3.range")
def _(rng):
    a = even(rng, GRF)
    return rng.choice((
        pair([f"lpassa $lr{a} $nowrite"], [f"lpassa $lr{a + 512} $nowrite"]),
        pair([f"l1bmd $lm{a}v $lb7936"], [f"l1bmd $lm{a}v $lb8000"]),
        pair(["l2bmd $lc32512 $lb0"], ["l2bmd $lc32768 $lb0"]),
        pair(["mvp/n64i01 $p524224@0 $lc0@0.0", "nop; wait i01"],
             ["mvp/n64i01 $p524288@0 $lc0@0.0", "nop; wait i01"], 0),
    ))  # fmt: skip


@snippet("3.wrap")
def _(rng):
    m, size = rng.choice((("m", LM), ("s", GRF)))
    return pair([f"lpassa $l{m}{size - 8}v $nowrite"], [f"lpassa $l{m}{size - 4}v $nowrite"])


@snippet("3.align")
def _(rng):
    a = even(rng, LM)
    return rng.choice((
        pair([f"lpassa $ln{a + 2} $nowrite"], [f"lpassa $ln{a + 1} $nowrite"]),
        pair([f"lpassa $lm0v $llr{a % 256}v"], [f"lpassa $lm0v $llr{a % 256 + 2}v"]),
        pair([f"lpassa $lm[{a},0,2,4] $nowrite"], [f"lpassa $lm[{a},0,3,4] $nowrite"]),
    ))  # fmt: skip


@snippet("3.stride")
def _(rng):
    a = even(rng, LM, 64)
    return pair([f"lpassa $lm{a}v6 $nowrite"], [f"lpassa $lm{a}v{rng.choice((1, 3, 5))} $nowrite"])


@snippet("11.row")
def _(rng):
    p, rows = rng.choice((("d", 4), ("f", 8), ("g", 8), ("h", 16)))
    if p == "h" and rng.random() < 0.5:
        return pair(["hmwrite $llm0v $llx8"], ["hmwrite $llm0v $llx9"])
    return pair([f"{p}mwrite $lm0v $lx{rows - 1}"], [f"{p}mwrite $lm0v $lx{rows}"])


@snippet("12.align")
def _(rng):
    a = 256 * rng.randrange(16)
    return rng.choice((
        pair([f"l1bmd $lb{a} $lm0v"], [f"l1bmd $lb{a + 32} $lm0v"]),
        pair([f"l1bmp $lb{a} $lm0v"], [f"l1bmp $lb{a + 2} $lm0v"]),
        pair([f"l2bmd $lc{a} $lb{a}"], [f"l2bmd $lc{a} $lb{a + 16}"]),
        pair([f"l2bmd $lc{a} $lb{a}"], [f"l2bmd $lc{a + 32} $lb{a}"]),
    ))  # fmt: skip


@snippet("12.manual")
def _(rng):
    a = 256 * rng.randrange(16)
    return rng.choice((
        pair([f"l1bmm $lb{a} $lm0v"], [f"l1bmm $lb{a + 4} $lm0v"]),
        pair([f"l2bmb $lc{a} $lb{a}"], [f"l2bmb $lc{a + 16} $lb{a}"]),
        pair([f"l2bmb $lc{a} $lb{a}"], [f"l2bmb $lc{a} $lb{a + 48}"]),
    ))  # fmt: skip


@snippet("12.wide")
def _(rng):
    a = 32 * rng.randrange(16)
    return pair([f"l1bmr{rng.choice(('ffadd', 'lbor'))} $llm0v $llb{a}"], [f"l1bmriiadd $llm0v $llb{a}"])


@snippet("12.turn")
def _(rng):
    up = f"l1bmd $lm{even(rng, LM)}v $lbi"
    wrong = rng.choice(("l1bmm $lbi $ln0v", "l1bmp $lbi $ln0v"))
    return pair([up, "l1bmd $lbi $ln0v"], [up, wrong])


@snippet("12.shift")
def _(rng):
    up = f"l1bmd $lm{even(rng, LM)}v $lbi"
    return pair([up, "l1bmd $lbi $ln0v"], [up, f"l1bmd+{rng.randrange(1, 16)} $lbi $ln0v"])


@snippet("10.lw1")
def _(rng):
    a, p = even(rng, 128), rng.choice(("f", "d"))
    return pair([f"{p}vpassa $lm0v $lr{a}v"], [f"{p}vpassa $lm0v $llr{a}v"])


def located(place, base, group=None, l2b=None):
    return Operand(place, 2, Address(base), group=group, l2b=l2b)


@snippet("14.form")
def _(rng):
    good = statements("mvp/n64i01 $d0@0 $lc0@0.1", "nop; wait i01")
    bad = Move("b2", 64, located(Place.PDM, 64 * rng.randrange(9), 0), located(Place.L2BM, 0), tag=1)
    return good, [bad], 0


@snippet("14.size")
def _(rng):
    n = rng.choice((0, 16, 32, 65))
    return pair(["mvp/n128i01 $d0@0 $lc0@0.1", "nop; wait i01"], [f"mvp/n{n}i01 $d0@0 $lc0@0.1", "nop; wait i01"], 0)


@snippet("14.align")
def _(rng):
    a = rng.randrange(1, 16)
    return pair(["mvp/n64i01 $d16 $lc0@.1", "nop; wait i01"], [f"mvp/n64i01 $d{16 + a} $lc0@.1", "nop; wait i01"], 0)


@snippet("14.tag")
def _(rng):
    tag = f"{rng.randrange(1, 240):02x}"
    one, two, wait = f"mvp/n64i{tag} $d0 $lc0@.1", f"mvp/n64i{tag} $d0 $lc64@.1", f"nop; wait i{tag}"
    return pair([one, wait, two, wait], [one, two, wait], 1)


@snippet("14.wait")
def _(rng):
    tag = f"{rng.randrange(1, 240):02x}"
    return pair([f"mvp/n64i{tag} $d0 $lc0@.1", f"nop; wait i{tag}"], [f"nop; wait i{tag}"])


@snippet("14.end")
def _(rng):
    # tag and addresses that no other snippet has: the MV stays in flight
    mv = f"mvp/n64i{rng.randrange(240, 256):02x} $p{131072 + 64 * rng.randrange(64)}@0 $d1048576@3"
    return pair([mv, f"nop; wait {mv[7:10]}"], [mv], 0)


# section 16


@snippet("16.unit")
def _(rng):
    a = even(rng, GRF)
    return rng.choice((
        pair([f"lpassa $lr{a}v $ln0v"], [f"lpassa $lr{a}v $ln0v; linc $lm0v $ls0v"]),
        pair(["l2bmb $lc0 $lb0"], ["l2bmb $lc0 $lb0; l2bmb $lc64 $lb64"]),
        pair([f"l1bmd $lr{a}v $lb256"], [f"l1bmd $lr{a}v $lb256; l1bmm $lb0 $ln0v"]),
        pair(["mvp/n64i01 $d0 $lc0@.1", "mvp/n64i02 $d0 $lc64@.1", "nop; wait i01", "nop; wait i02"],
             ["mvp/n64i01 $d0 $lc0@.1", "mvp/n64i02 $d0 $lc64@.1", "nop; wait i01; wait i02"]),
    ))  # fmt: skip


@snippet("16.lbf")
def _(rng):
    up, turn = f"l1bmm@{rng.randrange(16)} $lm0v $lbi", "l1bmm $lbi $ln0v"
    return pair([up, f"{turn}; l1bmm@3 $lm0v $lbi"], [up, f"{turn}; l1bmp $lb64 $lr0v"])


@snippet("16.1")
def _(rng):
    good = statements(f"lpassa $lm{even(rng, LM)}v $lr0v")
    return good, [replace(good[0], repeat=rng.randrange(2, 9))], 0


@snippet("16.2")
def _(rng):
    a = even(rng, LM)
    return rng.choice((
        pair([f"gmmul $lx $lm{a}v $ln0v; gmwrite $lr0v $ly0"], [f"gmmul $lx $lm{a}v $ln0v; fmwrite $lr0v $ly0"]),
        pair([f"fvpassa $lm{a}v $ln0v; fmwrite $lr0v $ly0"],
             [f"fvpassa $lm{a}v $ln0v; fmwrite $lr0v $ly0; fmread $lx0 $ls0v"]),
    ))  # fmt: skip


@snippet("16.3")
def _(rng):
    a = even(rng, GRF, 32)
    calc = f"fvfma $lm0v $lr{a}v $ln0v $ls0v"
    return pair([f"{calc}; fmwrite $lr{a}v $lx0"], [f"{calc}; fmwrite $lm0v $lx0"])


@snippet("16.4")
def _(rng):
    a = even(rng, LM)
    one, two = rng.sample("xy", 2)
    return pair([f"gmmul $l{one} $lm{a}v $ln0v; gmwrite $lr0v $l{two}0"],
                [f"gmmul $l{one} $lm{a}v $ln0v; gmwrite $lr0v $l{one}0"])  # fmt: skip


@snippet("16.5")
def _(rng):
    a = even(rng, 256)
    return rng.choice((
        pair([f"fvmul $lr{a}v $lr{a}v $ln0v"], [f"fvmul $lr{a}v $lr{a + 8}v $ln0v"]),
        pair([f"ladd $ln{a} $lm2 $ln{a}"], [f"ladd $ln{a} $lm2 $ln{a + 2}"]),
        pair([f"lpassa $lm{a}v $lr0v; fvpassa $lm{a}v $ls0v"], [f"lpassa $lm{a}v $lr0v; fvpassa $lm{a + 8}v $ls0v"]),
        pair([f"lpassa $lm{a}v $lr0v; fvpassa $lm{a}v $ls0v"], [f"lpassa $lm{a}v $lr0v; fvpassa $lm{a}v $lr0v"]),
        pair([f"isub $lm{a}v $ln0v $omr1"], [f"isub $lm{a}v $ln0v $omr1; fvpassa $lm{a}v $omr2"]),
        pair([f"lpassa $lm{a}v $lr0v/$imr1; fvpassa $lm{a}v $ls0v/$imr1"],
             [f"lpassa $lm{a}v $lr0v/$imr1; fvpassa $lm{a}v $ls0v/$imr2"]),
        pair([f"fvpassa $lm{a}v $t"], [f"fvpassa $lm{a}v $t; zero $t"]),
        pair([f"lpassa $lm{a}v $lr0v; fvpassa $lm{a}v $ls0v"], [f"lpassa $lm{a}v $lr0v; fvpassa $m{a}v2 $ls0v"]),
    ))  # fmt: skip


@snippet("16.6")
def _(rng):
    literal = f'imm i"{rng.randrange(99)}"'
    return rng.choice((
        pair([f"{literal} $ln0; fvpassa $lr0v $ls0v"], [f"{literal} $ln0; fvpassa $lm0v $ls0v"]),
        pair([f"{literal} $ln0"], [f"{literal} $lm0"]),
    ))  # fmt: skip


@snippet("16.7")
def _(rng):
    a = even(rng, LM)
    return rng.choice((
        pair([f"lpassa/1010 $lm{a}v $lr0v; fvpassa $lm{a}v $ls0v"],
             [f"lpassa/1010 $lm{a}v $lr0v; fvpassa/1010 $lm{a}v $ls0v"]),
        pair([f"lpassa $lm{a}v $lr0v/$imr1; fvpassa $lm{a}v $ls0v/$limr1"],
             [f"lpassa $lm{a}v $lr0v/$imr1; fvpassa $lm{a}v $ls0v/$llimr1"]),
    ))  # fmt: skip


@snippet("16.8")
def _(rng):
    a = even(rng, GRF)
    return pair([f"lpassa $lm0v $lr{a}v $ls{a}v"], [f"lpassa $lm0v $lr{a}v $nowrite"])


@snippet("16.mask")
def _(rng):
    one, two = rng.sample(("1000", "0100", "0011", "$imr3"), 2)
    step = "lpassa $lm0v $lr0v/{}; fvpassa $lm0v $ls0v/{}"
    return pair([step.format(one, one)], [step.format(one, two)])


@snippet("16.overlap")
def _(rng):
    a = 256 * rng.randrange(4)
    return pair([f"l1bmd $lm0v $lb{a}; l2bmd $lc0 $lb{a + 256}"], [f"l1bmd $lm0v $lb{a}; l2bmd $lc0 $lb{a + 224}"])


# section 17: producer, exactly the nops that are needed or one less, consumer


def gap(producer, consumer, needed):
    good = [producer, *([f"nop/{needed}"] if needed else []), consumer]
    bad = [producer, *([f"nop/{needed - 1}"] if needed > 1 else []), consumer]
    return pair(good, bad)


@snippet("H1")
def _(rng):
    m, a = rng.choice("rs"), even(rng, GRF)
    return rng.choice((
        gap(f"lpassa $lm0v $l{m}{a}v", f"lpassa $l{m}{a}v $ln0v", 1),
        gap(f"lpassa $lm0v $l{m}{a}", f"lpassa $l{m}{a} $ln0v", 2),
        gap("lpassa $lm0v $t", "fvpassa $t $ln0v", 1),
        # writing only in cycle 0 and reading late saves a step
        pair([f"lpassa $lm0v $l{m}{a}/1000", f"lpassa $l{m}[{a + 2},{a + 2},{a + 2},{a}] $ln0v"],
             [f"lpassa $lm0v $l{m}{a}/1000", f"lpassa $l{m}[{a + 2},{a + 2},{a},{a + 2}] $ln0v"]),
        pair([f"lpassa $lm0v $l{m}{a}v/1000", f"lpassa $l{m}{a + 2}v $ln0v"],
             [f"lpassa $lm0v $l{m}{a}v", f"lpassa $l{m}{a + 2}v $ln0v"]),
    ))  # fmt: skip


@snippet("H3")
def _(rng):
    m, a, b = rng.choice("mn"), even(rng, LM), even(rng, LM)
    return rng.choice((
        gap(f"lpassa $lr0v $l{m}{a}v", f"lpassa $l{m}{b}v $ls0v", 2),
        gap(f"l1bmd $lb64 $l{m}{a}v", f"l1bmd $l{m}{b}v $lb512", 2),
    ))  # fmt: skip


@snippet("H7")
def _(rng):
    m, a = rng.choice("mn"), even(rng, LM)
    other = "n" if m == "m" else "m"
    return rng.choice((
        gap(f"lpassa $l{other}0 ${m}b", f"lpassa $l{m}{a}v $lr0v", 2),
        gap(f"lpassa $l{other}0 ${m}b", f"lpassa $lr0v $l{m}{a}v", 2),
    ))  # fmt: skip


@snippet("H8")
def _(rng):
    a = even(rng, 2048)
    return rng.choice((
        gap("lpassa $lr0v $t", f"lpassa $lmt{a}v $ls0v", 1),
        gap("lpassa $lr0v $t", f"lpassa $ls0v $lmt{a}v", 1),
    ))  # fmt: skip


@snippet("H9")
def _(rng):
    a, b = 256 * rng.randrange(8), 256 * rng.randrange(8)
    return gap(f"l1bmd $lm0v $lb{a}", f"l1bmd $lb{b} $ln0v", 2)


@snippet("H11")
def _(rng):
    a = 256 * rng.randrange(8)
    up = rng.choice((f"l2bmd $lb{a + 32 * rng.randrange(8)} $lc0", f"l2bm@{rng.randrange(8)} $lb{a + 64} $lc0"))
    return gap(f"l1bmd $lm0v $lb{a}", up, 2)


@snippet("H12")
def _(rng):
    a = 256 * rng.randrange(8)
    return rng.choice((
        gap(f"l2bmd $lc0 $lb{a + 32 * rng.randrange(8)}", f"l1bmd $lb{a} $ln0v", 1),
        gap(f"l2bmb@{rng.randrange(8)} $lc0 $lb{a}", f"l1bmm $lb{a + 48} $ln0v", 1),
    ))  # fmt: skip


@snippet("H13")
def _(rng):
    a, b = 256 * rng.randrange(8), 256 * rng.randrange(8)
    return gap(f"l2bmd $lb{a} $lc{b}", f"l2bmd $lc{b + 512} $lb{a + 512}", 3)


@snippet("H14")
def _(rng):
    a = 256 * rng.randrange(8)
    return pair([f"l2bmd $lb0 $lc{a}", "nop", f"mvp/n64i01 $lc{a + 64}@.1 $d0", "nop; wait i01"],
                [f"l2bmd $lb0 $lc{a}", f"mvp/n64i01 $lc{a + 64}@.1 $d0", "nop; wait i01"], 1)  # fmt: skip


@snippet("H15")
def _(rng):
    a, b = 256 * rng.randrange(8), 256 * rng.randrange(8)
    return rng.choice((
        gap(f"l2bmd $lc{a} $lb{b}", f"l2bmd $lb{a + 2560} $lc{b + 8192}", 7),
        gap(f"l2bmi@0/1 $lb{a} $lb{b}", f"l2bmd $lb{a + 2560} $lc{b}", 3),
        gap(f"l2bmi@0/1 $lb{a} $lb{b}", f"l1bmd $lb{a + 2560} $ln0v", 3),
    ))  # fmt: skip


@snippet("H16")
def _(rng):
    a, t = 256 * rng.randrange(16) + 192, f"i{rng.randrange(1, 240):02x}"
    mv, wait = f"mvp/n128{t} $d0 $lc{a}@.0", f"nop; wait {t}"
    down = f"l2bmd $lc{a - 192} $lb0"
    u = "i01" if t != "i01" else "i02"
    other = rng.choice((f"mvp/n64{u} $lc{a + 64}@0.0 $p0@0", f"mvp/n64{u} $p0@0 $lc{a + 64}@0.0",
                        f"mvp/n64{u} $p64@1 $d64@1"))  # fmt: skip
    return rng.choice((
        pair([mv, wait, down], [mv, down, wait], 1),
        pair([mv, wait, other, f"nop; wait {u}"], [mv, other, wait, f"nop; wait {u}"], 1),
        pair([mv, wait, down], [mv, f"{down}; wait {t}"], 1),  # the step of the wait may not access yet
    ))  # fmt: skip


@snippet("H18")
def _(rng):
    mv = [f"mvp/n64i01 $di{rng.randrange(900)} $lc0@.0", "nop; wait i01"]
    return pair(["l2bmdarw", "nop/128", *mv], ["l2bmdarw", "nop/127", *mv], 2)


@snippet("8.stale")
def _(rng):
    path, make = rng.choice((("mauf", "fvpassa $lm0v $nowrite"), ("aluf", "lpassa $lm0v $nowrite"),
                             ("lbf", "l1bmd $lb0 $nowrite")))  # fmt: skip
    read, between = f"lpassa ${path} $ln0v", rng.choice(("gmwrite $lr0v $lx0", "l2bmb $lc64 $lb512"))
    quiet = rng.choice(("nop/3", f"{between}; noforward"))
    return pair([make, quiet, read], [make, between, read])


def legal_filler(rng):
    """A legal statement or two that interfere with no snippet if eight nops follow."""
    a = even(rng, GRF)
    return statements(*rng.choice((
        [f"fvadd $lm{a}v $ln{a}v $lr{a}v; iadd $lm{a}v $ln{a}v $ls{a}v"],
        [f"fvmul $lr{a}v $ls{a}v $nowrite", f"lpassa $mauf $ln{a}v; fvadd $mauf $mauf $lr{a}v"],
        [f"l1bmrdfadd $lm{a}v $lbi", f"l1bmm $lbi $ln32v; l1bmrdfadd $lm{a}v $lbi"],
        ['imm f"1.5" $t; l2bmb $lc0 $lb64'],
        ["maskr 1", f"lpassa $lm{a}v $lr{a}v", "mask 0"],
        [f"d get $lm{a}n0c0b0m0p0 1"],
        ["hbfn/9 $llm0vr $lr8v; hmmulr $lx $ls8v $ln32v; hmwrite $ls8v $ly4"],
    )))  # fmt: skip


def legal_program(rng, count, broken=None):
    """A program of `count` random snippets and fillers; snippet number `broken[0]` breaks the rule `broken[1]`.

    Returns the program and the index of the statement with the finding (-1: none).
    """
    parts, index = [], -1
    others = sorted(SNIPPETS.keys() - {broken[1] if broken else ""})
    for k in range(count):
        rule = rng.choice(others)
        if broken is not None and k == broken[0]:
            _, bad, at = SNIPPETS[broken[1]](rng)
            index = sum(map(len, parts)) + at
            parts.append(bad)
        else:
            parts.append(SNIPPETS[rule](rng)[0])
        parts.append(statements("nop/8"))
        parts.append([*legal_filler(rng), *statements("nop/8")] if rng.random() < 0.5 else [])
    return Program(tuple(s for part in parts for s in part)), index
