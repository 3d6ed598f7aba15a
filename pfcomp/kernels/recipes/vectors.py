"""Emits recipes into a micro-program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pfcomp.isa.model import Address, MaskRef, Operand, Place
from pfcomp.isa.pack import Builder, Virtual, neg, widened
from pfcomp.kernels.recipes.emitter import Condition, Emitter
from pfcomp.kernels.recipes.values import WORD, Constant, Result, Value, both

CONSTANT_LIFE = 16
"""Vectors for which a constant keeps its register; then it is loaded anew, which bounds register lifetimes."""

MOST_CONSTANTS = 64
"""Constants that have registers at once; the one not used for the longest time goes first."""

MASK_ENTRIES = 15


@dataclass(slots=True)
class _Pending:
    result: Result
    mnemonic: str
    operands: tuple[Operand | Virtual, ...]


@dataclass(slots=True)
class _Choice:
    """`a` where the condition holds, `b` elsewhere."""

    result: Result
    condition: Condition
    a: Value
    b: Value
    letter: str


def mask_entries() -> Callable[[], int]:
    """Hands out the variable entries of the mask register file round robin."""
    used = 0

    def take() -> int:
        nonlocal used
        used += 1
        return (used - 1) % MASK_ENTRIES + 1

    return take


class VectorEmitter(Emitter):
    """Emits the chip operations of recipes; `mask` gives the next mask register entry to write.

    The last operation is held back, so that a result can be written to local memory by the very operation that
    computes it.
    """

    def __init__(self, builder: Builder, mask: Callable[[], int] | None = None) -> None:
        self.builder = builder
        self.mask = mask or mask_entries()
        self.constants: dict[int, Virtual] = {}
        self.vectors = 0
        self.pending: _Pending | _Choice | None = None

    def begin_vector(self) -> None:
        """Must be called before each vector."""
        if self.vectors % CONSTANT_LIFE == 0:
            self.constants.clear()
        self.vectors += 1

    def op(self, mnemonic: str, *operands: Value, keep: int | None = None) -> Value:
        plain = self._plain(operands)
        self.flush()
        opcode = mnemonic if keep is None else f"{mnemonic}/$imr{keep}"
        self.pending = _Pending(Result(), opcode, plain)
        return self.pending.result

    def flagged(self, mnemonic: str, *operands: Value) -> tuple[Value, int]:
        plain = self._plain(operands)
        entry = self.mask()
        target = Operand(Place.MASK, 2, Address(entry))
        return self.builder.op(mnemonic, *plain, to=target), entry

    def negated(self, value: Value) -> Value:
        (plain,) = self._plain((value,))
        return replace(plain, negate=not plain.negate) if isinstance(plain, Operand) else neg(plain)

    def widened(self, value: Value) -> Value:
        (plain,) = self._plain((value,))
        return replace(plain, suffix="e") if isinstance(plain, Operand) else widened(plain)

    def store(self, value: Value, target: Operand) -> None:
        """Write `value` to local memory."""
        if self.pending is not None and value is self.pending.result:
            self.flush(target)
        else:
            (plain,) = self._plain((value,))
            self.flush()
            self.builder.op("lpassa", plain, to=target)

    def choose(self, condition: Condition, a: Value, b: Value, letter: str = "i") -> Value:
        self.flush()
        self.pending = _Choice(Result(), condition, a, b, letter)
        return self.pending.result

    def flush(self, to: Operand | None = None) -> None:
        """Emit the operation that was held back."""
        held, self.pending = self.pending, None
        if isinstance(held, _Pending):
            held.result.value = self.builder.op(held.mnemonic, *held.operands, to=to)
        elif held is not None:
            held.result.value = self._chosen(held, to)

    def _chosen(self, held: _Choice, to: Operand | None) -> Operand | Virtual | None:
        """A choice between what lies where the result goes and something else only writes the latter."""
        for old, new, want in ((held.a, held.b, False), (held.b, held.a, True)):
            if to is not None and old == to:
                mask, holds = held.condition(want)
                if holds is want:
                    self._overwrite(new, replace(to, mask=MaskRef(mask)))
                    return to
                return self._selected(mask, held, holds, to)
        mask, holds = held.condition(held.a != both(0))
        return self._selected(mask, held, holds, to)

    def _overwrite(self, value: Value, to: Operand) -> None:
        if value == both(0):
            self.builder.op("zero", to=to)
        else:
            self.builder.op("lpassa", *self._plain((value,)), to=to)

    def _selected(self, mask: int, held: _Choice, holds: bool, to: Operand | None) -> Operand | Virtual | None:
        result = self.select(mask, *((held.a, held.b) if holds else (held.b, held.a)), letter=held.letter)
        self.flush(to)
        return result.value if isinstance(result, Result) else None

    def _plain(self, values: tuple[Value, ...]) -> tuple[Operand | Virtual, ...]:
        self.flush()
        return tuple([self._resolved(value) for value in values])

    def _resolved(self, value: Value) -> Operand | Virtual:
        if isinstance(value, Constant):
            return self._register(value.bits)
        if not isinstance(value, Result):
            return value
        if value.value is None:
            raise ValueError("a result was used before it was emitted")
        return value.value

    def _register(self, bits: int) -> Virtual:
        found = self.constants.pop(bits, None)
        if found is None:
            found = self._loaded(bits)
            if len(self.constants) >= MOST_CONSTANTS:
                del self.constants[next(iter(self.constants))]
        self.constants[bits] = found
        return found

    def _loaded(self, bits: int) -> Virtual:
        """Emit what makes a long word."""
        high, low = bits >> 32, bits & WORD
        if high == low:
            return self.builder.op(immediate(low))
        upper = self.builder.op(f'immu ui"{high:#x}"')
        if low == 0:
            return upper
        lower = self.builder.op("ullsr", self._register(both(low).bits), self._register(both(32).bits))
        return lower if high == 0 else self.builder.op("lor", upper, lower)


def immediate(bits: int) -> str:
    """The operation that makes a 32-bit pattern, written so that a reader sees the number."""
    if bits == 0:
        return "zero"
    value = np.array([bits], np.uint32).view(np.float32)[0]
    normal = 0 < bits >> 23 & 0xFF < 0xFF
    return f'imm f"{value}"' if normal else f'imm ui"{bits:#x}"'
