"""The precisions of the matrix units: tile sizes, operations, and where rows and reduced indices lie (isa.md 11)."""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Job
from pfcomp.layout.model import Level, Subaxis

PES = Subaxis(4, Level.PE)
WORDS = Subaxis(2, Level.W)


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to multiply a tile of the stationary operand with vectors of the streamed one.

    A tile has `rows` rows; `depth` reduced indices lie in the PEs, words and (`paired`) two neighbouring long words of
    a MAB. `words` are the passes over one chunk: 0 and 1 take one word of every long word, None all of it.
    `accumulator` is the width of a result in words, `fma` and `mul` the operations of one product.
    """

    name: str
    rows: int
    depth: int
    bits: int
    paired: bool
    words: tuple[int | None, ...]
    accumulator: int
    normalise: str
    write: str
    mul: tuple[str, ...]
    fma: tuple[str, ...]
    reduction: str

    @property
    def row_digits(self) -> tuple[Subaxis | None, ...]:
        """The rows of a tile in a result, slowest first; None is the pair of long words of a wide accumulator."""
        if self.bits == 64:
            return (PES,)
        return (PES, None, WORDS) if self.wide else (PES, WORDS)

    @property
    def depth_digits(self) -> tuple[Subaxis | None, ...]:
        """The reduced indices of a chunk in both operands, slowest first; None is a pair of long words."""
        if self.bits == 64:
            return (PES,)
        return (PES, None, WORDS) if self.paired else (PES, WORDS)

    @property
    def wide(self) -> bool:
        """True if a result takes two long words per PE."""
        return self.accumulator == 4

    @property
    def read(self) -> str:
        """The operation that reads columns of a matrix register as vectors."""
        return self.write.replace("write", "read")

    @property
    def turns(self) -> bool:
        """True if a tile of an operand can be turned inside a matrix register: rows and columns are alike."""
        return not self.paired and not self.wide

    @property
    def writes(self) -> int:
        """Steps that write one tile into a matrix register."""
        return self.rows // 4


def _half(name: str, *, paired: bool) -> Mode:
    depth = 16 if paired else 8
    return Mode(
        name, 16, depth, 32, paired, (None,), 4, "hbfn/9", "hmwrite", ("hmmul",), ("hmfma",), "ffadd"
    )  # fmt: skip


MODES = {
    mode.name: mode
    for mode in (
        Mode("f", 8, 8, 32, False, (0, 1), 2, "fbfn", "fmwrite", ("fmmul",), ("fmfma",), "ffadd"),
        Mode("g", 8, 8, 32, False, (None,), 2, "gbfn", "gmwrite", ("gmmul",), ("gmfma",), "ffadd"),
        _half("h", paired=True),
        _half("h8", paired=False),
        Mode("d", 4, 4, 64, False, (None,), 2, "dbfn", "dmwrite", ("dmmulu", "dmfmad"), ("dmfmau", "dmfmad"), "dfadd"),
    )
}

_BY_FLOAT_DTYPE = {
    "float": ("f",),
    "pseudo": ("g",),
    "double": ("f",),
    "mixed": ("h", "h8"),
    "half": ("h", "h8"),
}


def modes_of(job: Job) -> tuple[Mode, ...]:
    """The modes that do the job as accurately as its `float_dtype` asks, the usual one first."""
    if job.outputs[0].dtype is DType.DOUBLE:
        return (MODES["d"],)
    return tuple(MODES[name] for name in _BY_FLOAT_DTYPE[job.float_dtype])
