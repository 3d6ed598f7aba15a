"""The slow, obvious counterpart of the packer: one operation per step, generous nops, a wait after every MV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pfcomp.errors import UnsupportedError
from pfcomp.isa.effects import find_effects
from pfcomp.isa.effects_access import long_words
from pfcomp.isa.effects_hazards import DAR_GAP, PORT_HAZARDS
from pfcomp.isa.model import Op, Operand, Place, Program, Statement, Step, Unit

from .emit import NOWRITE
from .legalise import copy_template
from .micro import MicroMove, MicroOp, MicroProgram, Virtual
from .registers import Registers
from .storage import BANKS, path_operand, register
from .values import result_path

GAP = max(h.gap for h in PORT_HAZARDS) + 1
"""Nops after every operation: more than any hazard between two steps asks for."""

Block = tuple[int, int, bool]
"""First word, width and uniformity of a value's registers, the same in both files."""


def serialize(micro: MicroProgram) -> Program:
    """The program of `micro` without any overlap. Raises PF0151 if the registers do not suffice.

    Every value is copied from its path to both register files, so half as many fit as in a packed program.
    """
    return Program(tuple(_Serial(micro).statements()))


class _Serial:
    def __init__(self, micro: MicroProgram) -> None:
        self.micro = micro
        self.registers = Registers(Place.GRF0, _physical(micro))
        self.blocks: dict[int, Block] = {}
        self.last_use: dict[int, int] = {}
        for index, item in enumerate(micro.ops):
            if isinstance(item, MicroOp):
                self.last_use.update({virtual.index: index for _, virtual in item.uses})

    def statements(self) -> Iterator[Statement]:
        """All statements in order."""
        for index, item in enumerate(self.micro.ops):
            if isinstance(item, MicroMove):
                yield replace(item.move, tag=1)
                yield Step(waits=(1,))
                continue
            yield from self._operation(item)
            for ended in [v for v in self.blocks if self.last_use[v] == index]:
                base, width, uniform = self.blocks.pop(ended)
                self.registers.free(base, width if uniform else 4 * width)
            yield Step(repeat=DAR_GAP if item.op.unit is Unit.DAR_WRITE else GAP)

    def _operation(self, item: MicroOp) -> Iterator[Statement]:
        sources = list(item.op.sources)
        ports = {a.place: None for a in find_effects(item.op).reads}
        taken: dict[Place, int] = {place: -1 for place in BANKS if place in ports}
        for position, virtual in item.uses:
            bank = self._bank(virtual, taken)
            if bank < 0:
                plain = replace(virtual, negate=False, suffix="")
                yield Step((_copy(self._register(plain, 0), NOWRITE),))
                sources[position] = path_operand(Place.ALUF, virtual.negate, virtual.suffix)
            else:
                sources[position] = self._register(virtual, bank)
        yield Step((replace(item.op, sources=tuple(sources), destinations=item.op.destinations or _none(item.op)),))
        if item.result is not None and item.result.index in self.last_use:
            yield self._store(item.op, item.result)

    def _bank(self, virtual: Virtual, taken: dict[Place, int]) -> int:
        """A register file whose read port is free or already reads this value; -1 if there is none."""
        for bank, place in enumerate(BANKS):
            if taken.setdefault(place, virtual.index) == virtual.index:
                return bank
        return -1

    def _register(self, virtual: Virtual, bank: int) -> Operand:
        base, width, uniform = self.blocks[virtual.index]
        return register(bank, base, width, uniform, virtual.negate, virtual.suffix)

    def _store(self, op: Op, result: Virtual) -> Step:
        words = result.width if result.uniform else 4 * result.width
        if not self.registers.has(words):
            raise UnsupportedError("PF0151", "more values are alive at once than half of the registers hold")
        self.blocks[result.index] = (self.registers.take(words), result.width, result.uniform)
        path = result_path(op)
        source = path_operand(path or Place.ALUF, False, "")
        return Step((_copy(source, tuple(self._register(result, bank) for bank in (0, 1))),))


def _copy(source: Operand, targets: tuple[Operand, ...]) -> Op:
    return replace(copy_template(), sources=(source,), destinations=targets)


def _none(op: Op) -> tuple[Operand, ...]:
    return NOWRITE if result_path(op) is not None else ()


def _physical(micro: MicroProgram) -> set[int]:
    """Long words of GRF0 and GRF1 that the program names itself."""
    found: set[int] = set()
    for item in micro.ops:
        if isinstance(item, MicroOp):
            effect = find_effects(item.op)
            for access in effect.reads + effect.writes:
                if access.place in BANKS:
                    found.update(long_words(access))
    return found
