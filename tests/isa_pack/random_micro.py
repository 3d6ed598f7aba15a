"""Random micro-programs over few addresses, so that dependences of every kind are frequent."""

import random

from pfcomp.isa.pack import Builder, neg

FLOAT_OPS = (("fvadd", 2), ("fvmul", 2), ("fvfma", 3), ("fvpassa", 1))
ALU_OPS = (("iadd", 2), ("isub", 2), ("ixor", 2), ("ior", 2), ("imax", 2), ("lpassa", 1), ("inot", 1), ("lpackbit", 2))
SMALL = ("l1bmm", "l1bmp")


class RandomMicro:
    """Emits `count` random operations into a builder; `features` limits what occurs."""

    def __init__(self, seed, count, features=("pe", "l1bm", "l2bm", "mv", "mask", "matrix", "indirect", "bar")):
        self.rng = random.Random(seed)
        self.b = Builder()
        self.values = []
        self.features = features
        self.has_t = "indirect" in features
        if self.has_t:
            self.b.op('imm i"4"', to="$t")
        actions = {
            "pe": (self.alu, self.alu, self.mau, self.mau, self.constant),
            "l1bm": (self.up, self.down, self.turn),
            "l2bm": (self.l2bm_down, self.l2bm_up),
            "mv": (self.move,),
            "mask": (self.mask,),
            "matrix": (self.matrix,),
            "indirect": (self.indirect,),
            "bar": (self.bar,),
        }
        chosen = [action for feature in features for action in actions[feature]]
        for k in range(count):
            with self.b.node(f"n{k // 5}"):
                self.rng.choice(chosen)()
        self.micro = self.b.finish()

    # operands

    def address(self, width=2):
        kind, base = self.rng.random(), 8 * self.rng.randrange(4)
        if kind < 0.7:
            return f"{base}v"
        if kind < 0.85:
            return f"{base}"
        flat = [width * self.rng.randrange(16) for _ in range(4)]
        return f"[{','.join(map(str, flat))}]"

    def memory(self, spaces="mnrs"):
        return f"$l{self.rng.choice(spaces)}{self.address()}"

    def source(self):
        kind = self.rng.random()
        if self.values and kind < 0.6:
            recent = self.values[-6:] if self.rng.random() < 0.8 else self.values
            return self.rng.choice(recent)
        return "$t" if kind > 0.95 and self.has_t else self.memory()

    def target(self):
        kind = self.rng.random()
        if kind < 0.45:
            return None
        places = [self.memory("mn") if self.rng.random() < 0.7 else self.memory("rs")]
        if kind > 0.9:
            places.append(self.memory())
        if "mask" in self.features and self.rng.random() < 0.2:
            places = [f"{p}/{self.rng.choice(('$imr1', '$imr2', '1010', '0111'))}" for p in places[:1]]
        return places

    def keep(self, value):
        if value.width == 2:
            self.values.append(value)

    # actions

    def alu(self):
        name, count = self.rng.choice(ALU_OPS)
        sources = [self.source() for _ in range(count)]
        if self.rng.random() < 0.1:
            sources[0] = self.rng.choice(("$peid", "$l1bid", "$msb1"))
        to = self.target()
        if self.rng.random() < 0.05 and not to and self.has_t:
            to = "$t"
        self.keep(self.b.op(name, *sources, to=to))

    def mau(self):
        name, count = self.rng.choice(FLOAT_OPS)
        sources = [self.source() for _ in range(count)]
        signed = [neg(s) if not isinstance(s, str) and self.rng.random() < 0.2 else s for s in sources]
        self.keep(self.b.op(name, *signed, to=self.target()))

    def constant(self):
        text = self.rng.choice(('imm f"1.5"', 'imm i"3"', "zero", 'immu ui"1065353216"'))
        self.keep(self.b.op(text, to=self.target() if self.rng.random() < 0.2 else None))

    def mask(self):
        name = self.rng.choice(("isub", "ixor"))
        self.b.op(name, self.source(), self.source(), to=f"$omr{self.rng.choice((1, 2))}")

    def up(self):
        kind = self.rng.random()
        if kind < 0.6:
            self.b.op("l1bmd", self.source(), to=f"$lb{64 * self.rng.randrange(6)}")
        elif kind < 0.8:
            self.b.op("l1bmrlbor", self.source(), to=f"$lb{16 * self.rng.randrange(20)}")
        else:
            self.b.op(f"l1bmm@{self.rng.randrange(16)}", self.source(), to=f"$lb{16 * self.rng.randrange(20)}")

    def down(self):
        name = self.rng.choice(("l1bmd", "l1bmd", "l1bmm", "l1bmp"))
        grid = 64 if name == "l1bmd" else 16
        self.keep(self.b.op(name, f"$lb{grid * self.rng.randrange(6)}", to=self.target()))

    def turn(self):
        up, down = self.rng.choice((("l1bmd", "l1bmd"), ("l1bmm@3", "l1bmm"), ("l1bmriiadd", "l1bmm")))
        self.b.op(up, self.source(), to=self.rng.choice(("$lbi", "$lb128")))
        to = self.target()
        self.keep(self.b.op(down, "$lbi", to=to))

    def l2bm_down(self):
        name = self.rng.choice(("l2bmd", "l2bmb", "l2bmb@3", "l2bmb@0/6"))
        self.b.op(name, f"$lc{64 * self.rng.randrange(8)}", to=f"$lb{64 * self.rng.randrange(6)}")

    def l2bm_up(self):
        name = self.rng.choice(("l2bmd", "l2bm@5", "l2bmriiadd", "l2bmrlbor@4/3"))
        self.b.op(name, f"$lb{64 * self.rng.randrange(6)}", to=f"$lc{64 * self.rng.randrange(8)}")

    def move(self):
        lc, d, p = (64 * self.rng.randrange(n) for n in (8, 4, 4))
        c, g = self.rng.randrange(2), self.rng.randrange(4)
        size = self.rng.choice((64, 128))
        self.b.move(self.rng.choice((
            f"mvp/n{size} $d{d} $lc{lc}@.{c}", f"mvp/n{size} $lc{lc}@.{c} $d{d}", f"mvb2/n{size} $d{d} $lc{lc}",
            f"mvp/n{size} $d{d}@{g} $p{p}@{g}", f"mvp/n{size} $p{p}@{g} $lc{lc}@{g}.{c}",
            f"mvriiadd/n{size} $lc{lc} $d{d}",
        )))  # fmt: skip

    def matrix(self):
        m, kind = self.rng.choice("xy"), self.rng.random()
        if kind < 0.5:
            self.b.op("gmwrite", self.source(), to=f"$l{m}{self.rng.choice((0, 4))}")
        elif kind < 0.75:
            self.keep(self.b.op("gmread", f"$l{m}{self.rng.choice((0, 4))}", to=self.target()))
        else:
            self.keep(self.b.op("gmfma", f"$l{m}", self.source(), self.source(), to=self.target()))

    def indirect(self):
        kind = self.rng.random()
        if kind < 0.4:
            self.b.op("iand", "$subpeid", self.b.op('imm i"6"'), to="$t")
        elif kind < 0.8:
            self.keep(self.b.op("lpassa", f"$lmt{8 * self.rng.randrange(4)}v"))
        else:
            self.b.op("lpassa", self.source() if self.values else "$ln0v", to="$lmt16v")

    def bar(self):
        if self.rng.random() < 0.3:
            text = self.rng.choice(('imm i"8"', "zero"))
            self.b.op(text, to=self.rng.choice(("$mb", "$nb")))
