"""Moves between DRAM and LM through L2BM and L1BM, streamed in chunks (backend-movement.md 2.2).

A value's image in DRAM determines the instruction form of every hop (`pfcomp.layout.recipe`). L1BM and L2BM are used
as rings: a chunk takes the next free range, and the packer keeps the order of accesses to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Move, Operand
from pfcomp.isa.pack import Builder
from pfcomp.kernels import operands
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.recipe import Recipe, load_recipe, store_recipe

L2BM_SIZE = 32768
L1BM_SIZE = 8192
BESIDE_L1BM = 1024
"""Long words of L1BM for transfers that run beside a kernel: four pieces of the largest kind."""


@dataclass(slots=True)
class Ring:
    """Hands out ranges of `size` long words of a memory, from `base` on, one after the other, wrapping to the start."""

    size: int
    next: int = 0
    base: int = 0

    def take(self, words: int, align: int) -> int:
        """First address of a range of `words` long words."""
        start = -(-self.next // align) * align
        if start + words > self.size:
            start = 0
        self.next = start + words
        return self.base + start


@dataclass(slots=True)
class Rings:
    """The buffers of one program."""

    l1bm: Ring = field(default_factory=lambda: Ring(L1BM_SIZE))
    l2bm: Ring = field(default_factory=lambda: Ring(L2BM_SIZE))

    @staticmethod
    def apart() -> tuple[Rings, Rings]:
        """Buffers of a kernel and of the transfers that run beside it."""
        kernel = Rings(Ring(L1BM_SIZE - BESIDE_L1BM), Ring(L2BM_SIZE // 2))
        beside = Rings(Ring(BESIDE_L1BM, base=kernel.l1bm.size), Ring(L2BM_SIZE // 2, base=kernel.l2bm.size))
        return kernel, beside


@dataclass(frozen=True, slots=True)
class DramMove:
    """An emitted MV and the DRAM address in it: `tensor`'s base + `offset`, on the side `operand`."""

    move: Move
    tensor: str
    operand: str
    offset: int


@dataclass(slots=True)
class TransferContext:
    """What the transfers of a program share: the builder, the buffers and the DRAM accesses by number of the MV."""

    builder: Builder
    rings: Rings = field(default_factory=Rings)
    log: dict[int, DramMove] = field(default_factory=dict)


class Transfer(ABC):
    """Addresses `part` of a value on their way between DRAM and LM, piece by piece and in ascending order.

    `share` is the number of transfers that take turns: their open chunks must fit into L2BM twice. `origin` is where
    the time slice that moves begins in the image, in long words.
    """

    def __init__(
        self,
        context: TransferContext,
        value: MNValue,
        local: MNValue,
        part: tuple[int, int],
        share: int,
        origin: int = 0,
    ) -> None:
        self.builder, self.rings, self.log = context.builder, context.rings, context.log
        self.value, self.local = value, local
        self.start, self.stop = part
        self.origin = origin
        self.spec = ImageSpec.of(value.layout, value.shape, value.dtype.bits)
        self.per_address = self.spec.mab_count * self.spec.pe_count
        recipe = self._recipe()
        self.l1bm, self.wide, self.l2bm = recipe.l1bm, recipe.wide, recipe.l2bm
        self.factor = self.l2bm.outer_words // self.l2bm.inner  # L2BM words per L1BM word
        row = self.piece * self.per_address
        self.chunk_words = row * max(1, self.rings.l2bm.size // (2 * share) // self.factor // row)
        self.chunk = (0, 0, 0)  # first and last L1BM word of the open chunk, and its L2BM address

    @abstractmethod
    def _recipe(self) -> Recipe:
        """The instruction forms of this direction."""

    @property
    def piece(self) -> int:
        """Fewest addresses that are moved together: whole steps and whole rows of 64 long words."""
        return max(4, 64 // self.per_address)

    def _words(self, low: int, high: int) -> tuple[int, int]:
        """L1BM words of an address range, extended to whole L2BM steps."""
        first, last = low * self.per_address, high * self.per_address
        return first, first + -(-(last - first) // self.l2bm.inner) * self.l2bm.inner

    def _open(self, first: int, last: int) -> None:
        """Begin a chunk at L1BM word `first` that reaches at least to `last`."""
        limit = self._words(self.start, self.stop)[1]
        end = min(max(last, first + self.chunk_words), limit)
        self.chunk = (first, end, self.rings.l2bm.take((end - first) * self.factor, 64))

    def _in_chunk(self, word: int) -> int:
        """L2BM address of an L1BM word of the open chunk."""
        first, _, address = self.chunk
        return address + (word - first) * self.factor

    def _moves(self, *, load: bool) -> None:
        """The MVs between DRAM and the open chunk; they move no more than the part's own rows."""
        first, end, address = self.chunk
        words = min(end, self.stop * self.per_address) - first
        size = -(-words * self.factor // 64) * 64
        for half in (0, 1) if self.spec.l2b_split else (0,):
            where = self.origin + first * self.factor + half * self.spec.region_words
            dram = operands.dram((self.value.address or 0) + where)
            both = load and not self.spec.l2b_split
            chip = operands.l2bm_of(address, None if both else half)
            move = Move("b2" if both else "p", size, *((dram, chip) if load else (chip, dram)))
            access = DramMove(move, self.value.name, "source" if load else "destination", where)
            self.log[self.builder.move(move)] = access

    def _local(self, address: int) -> int:
        """Long word in LM of an absolute address of the value."""
        return (self.local.address or 0) + address - self.start


class Download(Transfer):
    """DRAM to LM."""

    def _recipe(self) -> Recipe:
        return load_recipe(self.spec)

    def emit(self, low: int, high: int) -> None:
        """Bring the addresses `low`..`high` of a piece to every PE that holds them."""
        first, last = self._words(low, high)
        buffer = self.rings.l1bm.take(max(last - first, self.l1bm.outer_words * -(-(high - low) // 4)), 64)
        if first >= self.chunk[1]:
            self._open(first, last)
            self._moves(load=True)
        for word in range(first, last, self.l2bm.inner):
            self.builder.op(
                self.l2bm.mnemonic, operands.l2bm(self._in_chunk(word)), to=operands.l1bm(buffer + word - first)
            )
        self._deliver(low, high, buffer)

    def _deliver(self, low: int, high: int, buffer: int) -> None:
        address = low
        while address < high:
            source = buffer + (address - low) * self.per_address
            target = self._local(address)
            if self.wide is not None and high - address > self.l1bm.inner:
                pairs = operands.pairs(self.local.location, target)
                self.builder.op(self.wide.mnemonic, operands.l1bm(source, double=True), to=pairs)
                address += self.wide.inner
            else:
                to = operands.run(self.local.location, target)
                self.builder.op(self.l1bm.mnemonic, operands.l1bm(source), to=to)
                address += self.l1bm.inner


class Upload(Transfer):
    """LM to DRAM."""

    def _recipe(self) -> Recipe:
        return store_recipe(self.spec)

    def emit(self, low: int, high: int) -> None:
        """Send the addresses `low`..`high` of a piece on their way; `finish` must follow the last piece."""
        first, last = self._words(low, high)
        buffer = self.rings.l1bm.take(max(last - first, self._collected(high - low)), 64)
        self._collect(low, high, buffer)
        if first >= self.chunk[1]:
            self.finish()
            self._open(first, last)
        for word in range(first, last, self.l2bm.inner):
            self.builder.op(
                self.l2bm.mnemonic, operands.l1bm(buffer + word - first), to=operands.l2bm(self._in_chunk(word))
            )

    def finish(self) -> None:
        """Store the chunk that is still in L2BM."""
        if self.chunk[1] > self.chunk[0]:
            self._moves(load=False)
        self.chunk = (0, 0, 0)

    def _collected(self, addresses: int) -> int:
        """Long words of L1BM that collecting writes: whole steps."""
        return self.l1bm.outer_words * -(-addresses // self.l1bm.inner)

    def _collect(self, low: int, high: int, buffer: int) -> None:
        for address in range(low, high, self.l1bm.inner):
            target = operands.l1bm(buffer + (address - low) * self.per_address)
            self.builder.op(self.l1bm.mnemonic, self._source(self._local(address)), to=target)

    def _source(self, target: int) -> Operand:
        """Without PE bits all PEs hold the same: PE p sends every fourth long word, from the p-th on."""
        return operands.gathered(target) if self.l1bm.gathered else operands.run(self.local.location, target)


def prepare_gathered(builder: Builder) -> None:
    """Set T to twice the PE's number in its MAB, as `operands.gathered` needs it (in words)."""
    zero = builder.op("zero")
    builder.op("lpackbit", "$subpeid", zero, to="$t")


def needs_gathering(value: MNValue) -> bool:
    """True if storing `value` from LM uses T: its image has one long word per address of all PEs."""
    return store_recipe(ImageSpec.of(value.layout, value.shape, value.dtype.bits)).l1bm.gathered
