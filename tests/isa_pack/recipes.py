"""Element-wise chains of backend-kernels.md 2, as micro-operations: input in LM0, output in LM1."""

import struct

from pfcomp.isa.pack import Builder, neg

MAG, L2E, LN2H, LN2L = 12582912.0, 1.44269504, 0.693145751953125, 1.42860677e-06
EXP = (0.49999994039535522, 0.16666521131992340, 0.04166838899254799, 0.008368736132979393, 0.001381455920636654)
LOG = (0.33333331346511841, -0.25000822544097900, 0.20001220703125, -0.16623327136039734,
       0.14201882481575012, -0.13160637021064758, 0.12760862708091736, -0.07632276415824890)  # fmt: skip


class Chain:
    """Emits recipes; constants are virtual values that are made anew for every `life` vectors."""

    def __init__(self, life=64):
        self.b, self.life, self.constants = Builder(), life, {}

    def c(self, value):
        bits = value if isinstance(value, int) else struct.unpack(">I", struct.pack(">f", value))[0]
        if bits not in self.constants:
            self.constants[bits] = self.b.op(f'imm ui"{bits}"')
        return self.constants[bits]

    def fma(self, x, y, z):
        return self.b.op("fvfma", x, y, z)

    def mul(self, x, y):
        return self.b.op("fvmul", x, y)

    def add(self, x, y):
        return self.b.op("fvadd", x, y)

    def horner(self, x, coefficients):
        p = self.c(coefficients[-1])
        for k in reversed(coefficients[:-1]):
            p = self.fma(p, x, self.c(k))
        return p

    def exp(self, x):
        x = self.b.op("fmin", x, self.c(89.0))
        x = self.b.op("fmax", x, self.c(-88.0))
        t = self.fma(x, self.c(L2E), self.c(MAG))
        k = self.add(t, neg(self.c(MAG)))
        r = self.fma(k, neg(self.c(LN2H)), x)
        r = self.fma(k, neg(self.c(LN2L)), r)
        p = self.horner(r, EXP)
        p = self.fma(p, r, self.c(1.0))
        p = self.fma(p, r, self.c(1.0))
        return self.b.op("iadd", p, self.b.op("ilsl", t, self.c(23)))

    def recip(self, x):
        y0 = self.b.op("isub", self.c(0x7EF30000), x)
        h = self.fma(neg(y0), x, self.c(2.00132))
        y1 = self.mul(y0, h)
        h = self.fma(neg(y1), x, self.c(1.0))
        p = self.fma(h, h, h)
        return self.fma(y1, p, y1)

    def sqrt(self, x):
        y = self.b.op("frsqrt", x)
        w = self.mul(y, x)
        h = self.fma(neg(w), y, self.c(1.0))
        p = self.fma(h, self.c(0.375), self.c(0.5))
        q = self.mul(h, y)
        y = self.fma(p, q, y)
        s = self.mul(y, x)
        h = self.fma(neg(s), y, self.c(1.0))
        return self.fma(self.b.op("flrelud", "$msb1", s), h, s)

    def log(self, x):
        b, c = self.b, self.c
        ib = b.op("isub", x, c(0x3F3504F3))
        e = b.op("ilsr", ib, c(23))
        em = b.op("iand", ib, c(0xFF800000))
        m = b.op("isub", x, em)
        ef = self.add(b.op("iadd", e, c(0x4B400000)), neg(c(MAG)))
        f = self.add(m, c(-1.0))
        z = self.mul(f, f)
        p = self.horner(f, LOG)
        u = self.mul(ef, c(LN2L))
        u = self.fma(z, c(-0.5), u)
        w = self.mul(f, z)
        u = self.fma(p, w, u)
        return self.fma(ef, c(LN2H), self.add(f, u))

    def sigmoid(self, x):
        return self.recip(self.add(self.exp(x), self.c(1.0)))

    def program(self, name, vectors):
        """`vectors` vectors, one after the other."""
        for v in range(vectors):
            if v % self.life == 0:
                self.constants = {}
            self.b.op("lpassa", getattr(self, name)(f"$lm{8 * v}v"), to=f"$ln{8 * v}v")
        return self.b.finish()
