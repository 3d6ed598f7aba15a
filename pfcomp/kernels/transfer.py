"""Moves between DRAM and LM through L2BM and L1BM, streamed in chunks (backend-movement.md 2.2).

A value's image in DRAM determines the instructions of every hop: its *classes* say which of the MAB, PE and L1B bits
are stored, and `HOPS` has the instruction forms of each. L1BM and L2BM are used as rings: a chunk takes the next free
range, and the packer keeps the order of accesses to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.ir.model import Location, MNValue
from pfcomp.isa.model import Move, Operand
from pfcomp.isa.pack import Builder
from pfcomp.kernels import operands
from pfcomp.layout.image import ImageSpec

L2BM_SIZE = 32768
L1BM_SIZE = 8192


@dataclass(frozen=True, slots=True)
class L1bmHop:
    """L1BM to PE and back, by which MAB and PE bits the image stores."""

    down: str
    up: str
    words: int
    """Long words of L1BM per step of the plain form; it carries four addresses of every PE."""
    double: bool
    """Whether the `$llb` form, with eight addresses per step, keeps the image's order."""


L1BM_HOPS: dict[tuple[int, int], L1bmHop] = {
    (4, 2): L1bmHop("l1bmd", "l1bmd", 256, double=False),
    (2, 2): L1bmHop("l1bmm4", "l1bmm4@0", 64, double=False),
    (0, 2): L1bmHop("l1bmm", "l1bmm@0", 16, double=True),
    (0, 0): L1bmHop("l1bmp", "l1bmm@0", 4, double=False),
}


@dataclass(frozen=True, slots=True)
class L2bmHop:
    """L2BM to L1BM and back, by how many L1B bits the image stores; `factor` L2BM words per L1BM word."""

    down: str
    up: str
    words: int
    """Long words of one L1BM per step."""
    factor: int


L2BM_HOPS: dict[int, L2bmHop] = {
    3: L2bmHop("l2bmd", "l2bmd", 32, 8),
    2: L2bmHop("l2bmb2", "l2bmr2lbor", 64, 4),
    0: L2bmHop("l2bmb", "l2bm@0", 64, 1),
}


@dataclass(slots=True)
class Ring:
    """Hands out ranges of a memory one after the other, wrapping to the start."""

    size: int
    next: int = 0

    def take(self, words: int, align: int) -> int:
        """First address of a range of `words` long words."""
        start = -(-self.next // align) * align
        if start + words > self.size:
            start = 0
        self.next = start + words
        return start


@dataclass(slots=True)
class Rings:
    """The buffers of one program."""

    l1bm: Ring = field(default_factory=lambda: Ring(L1BM_SIZE))
    l2bm: Ring = field(default_factory=lambda: Ring(L2BM_SIZE))


@dataclass(frozen=True, slots=True)
class DramMove:
    """An emitted MV and the DRAM address in it: `tensor`'s base + `offset`, on the side `operand`."""

    move: Move
    tensor: str
    operand: str
    offset: int


@dataclass(slots=True)
class TransferContext:
    """What the transfers of a program share: the builder, the buffers and the list of DRAM accesses."""

    builder: Builder
    rings: Rings = field(default_factory=Rings)
    log: list[DramMove] = field(default_factory=list)


class Transfer:
    """Addresses `part` of a value on their way between DRAM and LM, piece by piece and in ascending order.

    `share` is the number of transfers that take turns: their open chunks must fit into L2BM twice.
    """

    def __init__(self, context: TransferContext, value: MNValue, local: MNValue, part: tuple[int, int], share: int) -> None:
        self.builder, self.rings, self.log = context.builder, context.rings, context.log
        self.value, self.local = value, local
        self.start, self.stop = part
        self.spec = ImageSpec.of(value.layout, value.shape, value.dtype.bits)
        self.per_address = self.spec.mab_count * self.spec.pe_count
        self.l1bm = L1BM_HOPS[self.spec.mab_bits, self.spec.pe_bits]
        self.l2bm = L2BM_HOPS[self.spec.l1b_bits]
        self.chunk_words = max(self.piece * self.per_address, L2BM_SIZE // (2 * share) // self.l2bm.factor)
        self.chunk = (0, 0, 0)  # first and last L1BM word of the open chunk, and its L2BM address

    @property
    def piece(self) -> int:
        """Fewest addresses that are moved together: whole steps and whole rows of 64 long words."""
        return max(4, 64 // self.per_address)

    def _words(self, low: int, high: int) -> tuple[int, int]:
        """L1BM words of an address range, extended to whole L2BM steps."""
        first, last = low * self.per_address, high * self.per_address
        return first, first + -(-(last - first) // self.l2bm.words) * self.l2bm.words

    def _open(self, first: int, last: int) -> None:
        """Begin a chunk at L1BM word `first` that reaches at least to `last`."""
        limit = self._words(self.start, self.stop)[1]
        end = min(max(last, first + self.chunk_words), limit)
        self.chunk = (first, end, self.rings.l2bm.take((end - first) * self.l2bm.factor, 64))

    def _in_chunk(self, word: int) -> int:
        """L2BM address of an L1BM word of the open chunk."""
        first, _, address = self.chunk
        return address + (word - first) * self.l2bm.factor

    def _moves(self, *, load: bool) -> None:
        """The MVs between DRAM and the open chunk; they move no more than the part's own rows."""
        first, end, address = self.chunk
        words = min(end, self.stop * self.per_address) - first
        size = -(-words * self.l2bm.factor // 64) * 64
        for half in (0, 1) if self.spec.l2b_split else (0,):
            where = first * self.l2bm.factor + half * self.spec.region_words
            dram = operands.dram((self.value.address or 0) + where)
            both = load and not self.spec.l2b_split
            chip = operands.l2bm_of(address, None if both else half)
            move = Move("b2" if both else "p", size, *((dram, chip) if load else (chip, dram)))
            self.log.append(DramMove(move, self.value.name, "source" if load else "destination", where))
            self.builder.move(move)

    def _local(self, address: int) -> int:
        """Long word in LM of an absolute address of the value."""
        return (self.local.address or 0) + address - self.start


class Download(Transfer):
    """DRAM to LM."""

    def emit(self, low: int, high: int) -> None:
        """Bring the addresses `low`..`high` of a piece to every PE that holds them."""
        first, last = self._words(low, high)
        buffer = self.rings.l1bm.take(max(last - first, self.l1bm.words * -(-(high - low) // 4)), 64)
        if first >= self.chunk[1]:
            self._open(first, last)
            self._moves(load=True)
        for word in range(first, last, self.l2bm.words):
            self.builder.op(
                self.l2bm.down, operands.l2bm(self._in_chunk(word)), to=operands.l1bm(buffer + word - first)
            )
        self._deliver(low, high, buffer)

    def _deliver(self, low: int, high: int, buffer: int) -> None:
        address = low
        while address < high:
            source = buffer + (address - low) * self.per_address
            target = self._local(address)
            if self.l1bm.double and high - address > 4 and target % 2 == 0:
                wide = operands.pairs(self.local.location, target)
                self.builder.op(self.l1bm.down, operands.l1bm(source, double=True), to=wide)
                address += 8
            else:
                self.builder.op(self.l1bm.down, operands.l1bm(source), to=operands.run(self.local.location, target))
                address += 4


class Upload(Transfer):
    """LM to DRAM."""

    def emit(self, low: int, high: int) -> None:
        """Send the addresses `low`..`high` of a piece on their way; `finish` must follow the last piece."""
        first, last = self._words(low, high)
        buffer = self.rings.l1bm.take(max(last - first, self._collected(high - low)), 64)
        self._collect(low, high, buffer)
        if first >= self.chunk[1]:
            self.finish()
            self._open(first, last)
        for word in range(first, last, self.l2bm.words):
            self.builder.op(self.l2bm.up, operands.l1bm(buffer + word - first), to=operands.l2bm(self._in_chunk(word)))

    def finish(self) -> None:
        """Store the chunk that is still in L2BM."""
        if self.chunk[1] > self.chunk[0]:
            self._moves(load=False)
        self.chunk = (0, 0, 0)

    def _collected(self, addresses: int) -> int:
        """Long words of L1BM that collecting writes: whole steps."""
        return 16 * -(-addresses // 16) if self.per_address == 1 else self.l1bm.words * -(-addresses // 4)

    def _collect(self, low: int, high: int, buffer: int) -> None:
        per_step = 16 if self.per_address == 1 else 4
        for address in range(low, high, per_step):
            target = operands.l1bm(buffer + (address - low) * self.per_address)
            self.builder.op(self.l1bm.up, self._source(self._local(address)), to=target)

    def _source(self, target: int) -> Operand:
        """Without PE bits all PEs hold the same: PE p sends every fourth long word, from the p-th on."""
        alike = self.per_address == 1
        return operands.gathered(target) if alike else operands.run(self.local.location, target)


def prepare_gathered(builder: Builder) -> None:
    """Set T to twice the PE's number in its MAB, as `operands.gathered` needs it (in words)."""
    zero = builder.op("zero")
    builder.op("lpackbit", "$subpeid", zero, to="$t")


def needs_gathering(value: MNValue) -> bool:
    """True if storing `value` from LM uses T: its image has one long word per address of all PEs."""
    spec = ImageSpec.of(value.layout, value.shape, value.dtype.bits)
    return spec.mab_count * spec.pe_count == 1 and value.location is Location.DRAM
