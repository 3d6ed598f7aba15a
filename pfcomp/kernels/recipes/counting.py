"""Counts what recipes emit."""

from __future__ import annotations

from pfcomp.kernels.recipes.emitter import Emitter
from pfcomp.kernels.recipes.values import Result, Value

MAU_STEMS = ("vfma", "vmul", "vadd", "vpassa")


class CountingEmitter(Emitter):
    """Emits nothing: counts operations of MAU and ALU. Constants are not counted, they serve many vectors."""

    def __init__(self) -> None:
        self.mau = self.alu = 0

    def operand(self, words: int) -> tuple[Value, ...]:
        """A value that is not known, of that many vectors."""
        return tuple(Result() for _ in range(words))

    def op(self, mnemonic: str, *operands: Value, keep: int | None = None) -> Value:
        if mnemonic[1:].startswith(MAU_STEMS):
            self.mau += 1
        else:
            self.alu += 1
        return Result()

    def flagged(self, mnemonic: str, *operands: Value) -> tuple[Value, int]:
        return self.op(mnemonic, *operands), 0

    def negated(self, value: Value) -> Value:
        return value

    def widened(self, value: Value) -> Value:
        return value
