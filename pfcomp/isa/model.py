"""Values of the assembly language: what the parser returns and all other parts of `isa` and `emulator` take.

Everything here is immutable and comparable. Addresses are in the memory's own unit: words (32 bit) for LM0, LM1,
GRF0 and GRF1, long words (64 bit) for L1BM, L2BM, DRAM and PDM, rows for the matrix registers, entries for masks
and DAR (isa.md section 3). A *step* is four cycles; `Address.cycles()` gives one address for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

CYCLES = 4


class Place(StrEnum):
    """Where an operand lives. The value is the token between `$` (and the width letters) and the address."""

    LM0 = "m"
    LM1 = "n"
    GRF0 = "r"
    GRF1 = "s"
    T = "t"
    MAUF = "mauf"
    ALUF = "aluf"
    LBF = "lbf"
    MREADF = "mreadf"
    NOWRITE = "nowrite"
    L1BM = "b"  # written $lb<A> or $llb<A>
    TURNAROUND = "bi"  # written $lbi or $llbi
    L2BM = "c"  # written $lc<A>
    MATRIX_X = "x"
    MATRIX_Y = "y"
    MASK = "omr"
    BAR0 = "mb"
    BAR1 = "nb"
    L2BID = "l2bid"
    L1BID = "l1bid"
    MABID = "mabid"
    PEID = "peid"
    SUBPEID = "subpeid"
    MSB1 = "msb1"
    DRAM = "d"
    DRAM_INDIRECT = "di"  # $di<entry>: addresses come from DAR
    PDM = "p"
    DAR = "dar"


class Unit(StrEnum):
    """Issue group of an operation: at most one of each in a step (isa.md section 16)."""

    ALU = "alu"
    MAU = "mau-calc"
    MWRITE = "mau-mwrite"
    MREAD = "mau-mread"
    L1BM = "l1bm"
    L1BM_TURNAROUND = "l1bm-turnaround"
    L2BM = "l2bm"
    DAR_WRITE = "l2bmdarw"


@dataclass(frozen=True, slots=True)
class Address:
    """`base` + `stride`·cycle, or four explicit addresses (`flat`); words on the PE side."""

    base: int
    stride: int = 0
    flat: tuple[int, int, int, int] | None = None
    indirect: bool = False  # LM0 only: the T element of the same cycle is added
    neighbour: int | None = None  # `j<k>`: PEs 0..k of a MAB access one access width further

    def cycles(self) -> tuple[int, int, int, int]:
        """The four addresses, not wrapped, before T, BAR and `j` are added."""
        if self.flat is not None:
            return self.flat
        b, s = self.base, self.stride
        return (b, b + s, b + 2 * s, b + 3 * s)


@dataclass(frozen=True, slots=True)
class MaskRef:
    """A mask register entry used as write mask or zero-flush: 0 all, 1..15 variable, 16+k fixed pattern `/b3b2b1b0`."""

    entry: int
    length: str = ""  # "" not stated, "l" long, "ll" two long words
    assertion: str = ""  # "", "t" or "p"

    @property
    def fixed(self) -> bool:
        """True if which cycles are enabled is known without running."""
        return self.entry == 0 or self.entry >= 16


@dataclass(frozen=True, slots=True)
class Operand:
    """One source or destination.

    `width` is in words: 1 `$m`, 2 `$lm`, 4 `$llm`; T and the forwarding paths are always 4. A matrix operand has an
    address (its row) in mwrite and mread (`$lx0`) and none in matrix times vector (`$lx`). `group` and `l2b` are the
    `@n.c` of an MV operand; None where left out. L2BM operands of L2BM operations have neither.
    """

    place: Place
    width: int = 2
    address: Address | None = None
    negate: bool = False
    suffix: str = ""  # "e" widen, "r" narrow
    mask: MaskRef | None = None
    group: int | None = None
    l2b: int | None = None


@dataclass(frozen=True, slots=True)
class L1BSet:
    """Which of the eight L1Bs take part: those whose index agrees with `base` in the bits outside `dont_care`."""

    base: int
    dont_care: int = 0

    def members(self) -> tuple[int, ...]:
        keep = 7 ^ self.dont_care
        return tuple(b for b in range(8) if b & keep == self.base & keep)


@dataclass(frozen=True, slots=True)
class Immediate:
    """The payload of `imm`/`immu`: literal type (f h i s ui us), its text, and the 32-bit word it stands for."""

    type: str
    text: str
    word: int


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a step.

    `name` is the key of the mnemonic table (the op without its precision letter, `u` prefix, selectors and
    modifiers): "passa", "add", "vfma", "mfma", "mwrite", "l1bmm", "l1bmr4", "l2bmb2", "imm" and so on. The other
    fields are the modifiers of isa.md section 5.2; each is None, "" or False where the mnemonic has none.
    """

    unit: Unit
    name: str
    precision: str = ""  # d f g h l i s
    unsigned: bool = False
    half_select: str = ""  # "u" or "d" of the split double multiply
    narrow: bool = False  # trailing `r`
    mantissa: int | None = None  # bfn/6 .. bfn/9
    zero_flush: MaskRef | None = None
    reduction: str = ""  # "dfadd", "lbor", "fmax", ... of l1bmr, l1bmr4, l2bmr, l2bmr2
    select: int | None = None  # MAB of l1bmm@, l1bmm4@; L1B of l2bm@
    shift: int | None = None  # of l1bmd+n, l1bmd-n
    l1b_set: L1BSet | None = None
    immediate: Immediate | None = None
    sources: tuple[Operand, ...] = ()
    destinations: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One PE line. `repeat` > 1 only for `nop/N`, which is N steps. `waits` are MV tags (1..255)."""

    ops: tuple[Op, ...] = ()
    waits: tuple[int, ...] = ()
    noforward: bool = False
    repeat: int = 1
    line: int = field(default=0, compare=False)

    @property
    def is_nop(self) -> bool:
        return not self.ops and not self.noforward


@dataclass(frozen=True, slots=True)
class Move:
    """One MV instruction. `size` in long words, counted on the larger side (isa.md section 14)."""

    mode: str  # "p" "b" "b2" "b4" "d" "r" "r2" "r4"
    size: int
    source: Operand
    destination: Operand
    reduction: str = ""
    tag: int | None = None
    run: int | None = None  # nd<N>
    priority: int | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class MoveNop:
    """`mvnop`."""

    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SetMask:
    """`mask[l|ll][rstmnk] <entry>`: default write mask of the lines that follow; takes no step."""

    memories: str  # subset of "rstmnk", in that order
    entry: int
    length: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DebugGet:
    """`d get[<t>]`: print `count` long words at `operand`; `ids` holds the given ones of n c b m p."""

    type: str  # "" d f h bd bf bg bh
    operand: Operand
    ids: tuple[tuple[str, int], ...]
    count: int
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DebugSet:
    """`d set`: store `payload` (64-bit values) at `operand` of every location that `ids` names."""

    operand: Operand
    ids: tuple[tuple[str, int], ...]
    payload: tuple[int, ...]
    line: int = field(default=0, compare=False)


Statement = Step | Move | MoveNop | SetMask | DebugGet | DebugSet


@dataclass(frozen=True, slots=True)
class Program:
    """Statements in order. `quit` ends parsing and is not kept."""

    statements: tuple[Statement, ...]

    @property
    def steps(self) -> int:
        """Number of PE steps, nops included (one step = four cycles)."""
        return sum(s.repeat for s in self.statements if isinstance(s, Step))
