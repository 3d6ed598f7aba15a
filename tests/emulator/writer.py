"""Random program text over all units, and random programs that the checker accepts."""

import random
import re

from pfcomp.isa import parse
from pfcomp.isa.check import check
from pfcomp.isa.model import Program, Step

BLOCKED = {"d": 128, "f": 0, "g": 32, "h": 64}
REDUCTIONS = ["dfadd", "ffadd", "hfadd", "fmax", "hmin", "liadd", "siadd", "lband", "ibor", "land", "sor"]


# Bits to keep and bits to set so that elements are finite and of similar size: numbers that no block repairs.
FINITE = {
    "d": ("0x800fffff", "0x3ff00000"),
    "f": ("0x807fffff", "0x3f000000"),
    "g": ("0x807fffff", "0x3f000000"),
    "h": ("0x83ff83ff", "0x3c003c00"),
}


class Writer:
    """Writes random steps; sources and destinations keep to the one-port rules loosely (the engines do not care)."""

    def __init__(self, seed, gap=""):
        self.gap = gap  # a line between the steps of a matrix product
        self.r = random.Random(seed)
        self.matrix_precision = "dfgh"[seed % 4]  # mixing precisions in a register is undefined

    def memory(self, letters, width, write=False):
        place = self.r.choice(letters)
        limit = 500 if place in "rs" else 400
        base = self.r.randrange(0, limit, 4)
        mode = self.r.random()
        w = {1: "", 2: "l", 4: "ll"}[width]
        if mode < 0.6:
            text = f"${w}{place}{base}v"
        elif mode < 0.7:
            text = f"${w}{place}{base}"
        elif mode < 0.8:
            text = f"${w}{place}{base}v{4 * self.r.randrange(1, 6)}"
        elif mode < 0.9:
            text = f"${w}{place}[{','.join(str(4 * self.r.randrange(100)) for _ in range(4))}]"
        elif place in "mn":
            text = (
                f"${w}{place}t{base}v"
                if place == "m" and self.r.random() < 0.5
                else f"${w}{place}{base}vj{self.r.randrange(4)}"
            )
        else:
            text = f"${w}{place}{base}v"
        if write and self.r.random() < 0.3:
            text += "/" + self.r.choice(["1010", "0001", "$imr1", "$imr5", "$llimr2", "ll1100"])
        return text

    def source(self, width=2):
        if self.r.random() < 0.15:
            return self.r.choice(["$t", "$aluf", "$mauf", "$lbf"])
        return self.memory("mnrs", width)

    def targets(self, width=2):
        places = self.r.sample("mnrs", self.r.choice([1, 1, 1, 2]))
        found = [self.memory(place, width, write=True) for place in places]
        if self.r.random() < 0.1:
            found.append("$t")
        if self.r.random() < 0.2:
            found.append(f"$omr{self.r.randrange(1, 8)}")
        return " ".join(found)

    def flush(self):
        return self.r.choice(["", "", "", "/1100", "/$imr3", "/ll0110"])

    def alu(self):
        p, width = self.r.choice("dfhlis"), self.r.choice([1, 2, 2, 4])
        kind = {"d": "F", "f": "F", "h": "F"}.get(p, "I")
        names = {"I": ["add", "sub", "and", "or", "xor", "lsl", "lsr", "bsl", "max", "min", "packbit"],
                 "F": ["max", "min", "relu", "relu2", "lrelud", "ilrelud", "packbit"]}[kind]  # fmt: skip
        one = {"I": ["inc", "dec", "not", "lnot", "passa"], "F": ["rsqrt", "floor", "ftoi", "passa", "bfn"]}[kind]
        if self.r.random() < 0.4:
            name = self.r.choice(one)
            return f"{p}{name}{self.flush()} {self.source(width)} {self.targets(width)}"
        unsigned = self.r.choice(["", "u"]) if kind == "I" else ""
        name = self.r.choice(names)
        unsigned = unsigned if name in ("add", "sub", "lsr", "max", "min") else ""
        return f"{unsigned}{p}{name}{self.flush()} {self.source(width)} {self.source()} {self.targets(width)}"

    def mau(self):
        p, narrow = self.r.choice("dfh"), self.r.choice(["", "", "r"])
        name, count = self.r.choice([("vfma", 3), ("vmul", 2), ("vadd", 2), ("vpassa", 1)])
        split = self.r.choice("ud") if p == "d" and name in ("vfma", "vmul") else ""
        minus = self.r.choice(["", "", "-"])
        sources = " ".join(minus + self.source(4 if p == "h" and i == count - 1 else 2) for i in range(count))
        width = {"d": 2, "f": 2, "h": 4}[p] // (2 if narrow else 1)
        return f"{p}{name}{split}{narrow}{self.flush()} {sources} {self.targets(width)}"

    def matrix(self):
        p = self.matrix_precision
        base, rows = BLOCKED[p], {"d": 1, "f": 2, "g": 2, "h": 4}[p]
        keep, exponents = FINITE[p]
        lines = [f'imm i"{keep}" $lr504', f'imm i"{exponents}" $ls504']
        lines += [f"land $ln{base}v $lr504 $nowrite\nlor $aluf $ls504 $ln{base}v"]
        lines += [f"land $lm{base}v $lr504 $nowrite\nlor $aluf $ls504 $lm{base}v"]
        lines += [f"{p}bfn{'/9' if p == 'h' else ''} $ln{base}v $lr{base}v"]
        lines += [f"{p}mwrite $lr{base}v $lx{4 * self.r.randrange(rows)}", f"{p}bfn $lm{base}v $ls{base}v"]
        narrow = self.r.choice(["", "r"])
        split = self.r.choice("ud") if p == "d" else ""
        width = {"h": 4}.get(p, 2) // (2 if narrow else 1)
        lines.append(f"{p}mfma{split}{narrow} $lx $ls{base}v {self.source(4 if p == 'h' else 2)} {self.targets(width)}")
        lines.append("hmread $llx0 $lln64v" if p == "h" else f"{p}mread $lx0 $ln{base}v")
        return f"\n{self.gap}".join(lines)

    def transfer(self):
        a, c, width = 64 * self.r.randrange(12), 256 * self.r.randrange(12), self.r.choice([2, 4])
        w = "l" * (width // 2)
        up, down = self.source(width), self.targets(width).split(" $omr")[0]
        shift = self.r.choice(["", "+1", "-3"])
        members = self.r.choice(["", "@3", "@4/3", "@0/5"])
        op = self.r.choice(REDUCTIONS)
        narrow = self.r.choice([op, "ffaddr"])
        long = down.replace("$ll", "$l")
        return self.r.choice([
            f"l1bmd{shift} $lb{a} {long}", f"l1bmd{shift} {self.source()} $lb{a}", f"l1bmm ${w}b{a} {down}",
            f"l1bmp ${w}b{a} {down}", f"l1bmm4 ${w}b{a} {down}", f"l1bmm@5 {up} ${w}b{a}", f"l1bmm4@1 {up} ${w}b{a}",
            f"l1bmr{narrow} {self.source()} $lb{a}", f"l1bmr4{op} {self.source()} $lb{a}",
            f"l1bmrffadd {self.memory('mnrs', 4)} $llb{a}", f"l1bmd {self.source()} $lbi\nl1bmd{shift} $lbi {long}",
            f"l2bmb{members} $lc{c} $lb{a}", f"l2bmb2 $lc{c} $lb{a}", f"l2bmd{members} $lc{c} $lb{a}",
            f"l2bmd{members} $lb{a} $lc{c}", f"l2bm@3 $lb{a} $lc{c}", f"l2bmr{op}{members} $lb{a} $lc{c}",
            f"l2bmr2{op} $lb{a} $lc{c}", f"l2bmi@2/3 $lb{a} $lb{64 * self.r.randrange(12)}",
        ])  # fmt: skip

    def other(self):
        return self.r.choice([
            f'imm f"{self.r.uniform(-3, 3):.4f}" {self.targets()}', f'imm i"{4 * self.r.randrange(64)}" $t',
            f"msl {self.source()} {self.targets()}", f"msr {self.source()} {self.targets()}",
            f"lpassa $peid {self.targets()}", f'imm i"{4 * self.r.randrange(8)}" $nb', 'imm i"0" $nb $mb',
            f"ipassa {self.source()} $mb", "maskn 3", "mask 0", "mvp/n64 $d0 $lc0@.0", "mvd/n512 $lc0 $p0@0",
            f"hbfe/7 {self.source()} {self.targets()}", "zero $lr40v $ls8v", "nop/2",
        ])  # fmt: skip

    def step(self):
        kind = self.r.choices([self.alu, self.mau, self.matrix, self.transfer, self.other], [5, 5, 2, 4, 2])[0]
        if kind in (self.alu, self.mau) and self.r.random() < 0.3:
            return f"{self.alu()}; {self.mau()}"
        return kind()


GAP = "nop/8\n"
HEAVY = re.compile(r"\b[dh]v|bfn|bfe|mfma|[dfh]fadd|l1bmr|l2bmr")  # operations that take the numpy engine milliseconds
MEDIUM = re.compile(r"\bfv|floor|ftoi|rsqrt|[dfh]m(ax|in)|lrelu|\$omr|\$l*mt|/[01l$]|j[0-3]|\$[mnrs]\d|\$[mn]b")


def blocks(seed, count):
    """Legal blocks by cost: a block is one step, two that forward, a matrix product or a transfer with its wait.

    Random text that breaks a rule, also together with others, is left out. Each block ends with nops.
    """
    writer = Writer(seed, GAP)
    found = {"light": [], "medium": [], "heavy": []}
    for number in range(count):
        text = _block(writer, number)
        statements = parse(text + "\n" + GAP).statements
        if not any(f.severity == "error" or f.rule == "14.end" for f in check(Program(statements))):
            kind = "heavy" if HEAVY.search(text) else "medium" if MEDIUM.search(text) else "light"
            found[kind].append(statements)
    return found


def _block(writer, number):
    if number % 40 == 0:
        return writer.matrix()
    if number % 9 == 0:
        tag = f"{1 + number % 255:02x}"
        lc, dram = 256 * writer.r.randrange(12), 64 * writer.r.randrange(50)
        ways = (f"$d{dram} $lc{lc}@.0", f"$lc{lc}@.0 $d{dram}")
        return f"mvp/n64i{tag} {ways[number % 2]}\n{GAP}nop; wait i{tag}"
    step = writer.step()
    if step.startswith("mask"):
        step += f"\n{writer.alu()}\nmask 0"
    elif re.search(r"\$[mn]b\b", step):  # per-PE addresses are slow on the numpy engine, so for one step only
        step += f"\n{GAP}{writer.alu()}\n{GAP}" + 'imm i"0" $nb $mb'
    elif number % 3 == 0:
        step += f"\n{writer.alu()}"
    return step


def program(pool, seed, steps, heavy):
    """A program of `steps` steps that are not nops, at most `heavy` of its blocks heavy."""
    rng, statements, done = random.Random(seed), [], 0
    places = set(rng.sample(range(steps), heavy))
    while done < steps:
        kind = "heavy" if places & {done} else "light" if rng.random() < 0.9 else "medium"
        block = rng.choice(pool[kind])
        statements += block
        done += sum(isinstance(s, Step) and bool(s.ops) for s in block) or 1
    return Program(tuple(statements))
