"""What can be reduced: for every operator and element type the chip's operations and the neutral element."""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import DType


@dataclass(frozen=True, slots=True)
class Monoid:
    """An associative, commutative operation.

    `combine` are the operations that combine two values: one, or two for a product of doubles, where the second adds
    to the first. `network` is the reduction of L1BM, L2BM and MV (isa.md 15), "" if these have none. `neutral` has as
    many bits as an element. `clean` is an operation without which equal operands might give results that differ in
    bits, depending on their order (-0 and 0). `idempotent`: copies may be counted twice.
    """

    combine: tuple[str, ...]
    network: str
    neutral: int
    clean: str = ""
    idempotent: bool = False


MONOIDS: dict[tuple[str, DType], Monoid] = {
    ("ReduceSum", DType.FLOAT): Monoid(("fvadd",), "ffadd", 0),
    ("ReduceSum", DType.DOUBLE): Monoid(("dvadd",), "dfadd", 0),
    ("ReduceSum", DType.INT): Monoid(("iadd",), "iiadd", 0),
    ("ReduceSum", DType.LONG): Monoid(("ladd",), "liadd", 0),
    ("ReduceMax", DType.FLOAT): Monoid(("fmax",), "fmax", 0xFF800000, "fvpassa", idempotent=True),
    ("ReduceMax", DType.DOUBLE): Monoid(("dmax",), "dmax", 0xFFF0 << 48, "dvpassa", idempotent=True),
    ("ReduceMax", DType.INT): Monoid(("imax",), "", 1 << 31, idempotent=True),
    ("ReduceMax", DType.LONG): Monoid(("lmax",), "", 1 << 63, idempotent=True),
    ("ReduceMax", DType.BOOL): Monoid(("ior",), "lbor", 0, idempotent=True),
    ("ReduceMin", DType.FLOAT): Monoid(("fmin",), "fmin", 0x7F800000, "fvpassa", idempotent=True),
    ("ReduceMin", DType.DOUBLE): Monoid(("dmin",), "dmin", 0x7FF0 << 48, "dvpassa", idempotent=True),
    ("ReduceMin", DType.INT): Monoid(("imin",), "", (1 << 31) - 1, idempotent=True),
    ("ReduceMin", DType.LONG): Monoid(("lmin",), "", (1 << 63) - 1, idempotent=True),
    ("ReduceMin", DType.BOOL): Monoid(("iand",), "lband", 1, idempotent=True),
    ("ReduceProd", DType.FLOAT): Monoid(("fvmul",), "", 0x3F800000),
    ("ReduceProd", DType.DOUBLE): Monoid(("dvmulu", "dvfmad"), "", 0x3FF0 << 48),
}
MONOIDS |= {("ReduceMean", dtype): MONOIDS["ReduceSum", dtype] for dtype in (DType.FLOAT, DType.DOUBLE)}
"""A mean is a sum that is multiplied by 1/n in the end."""

LARGEST_KEY = Monoid(("fmax",), "fmax", 0, idempotent=True)
"""The largest of positive whole numbers in single precision."""
