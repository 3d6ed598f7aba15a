"""`d get` and `d set`: the public dump format, byte for byte (isa.md 19)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

from pfcomp.emulator import inspect
from pfcomp.emulator.formats import BY_LETTER, DOUBLE, FloatFormat
from pfcomp.emulator.rows import MATRIX_ROW, MEMORIES, PES
from pfcomp.emulator.state import State
from pfcomp.isa.model import DebugGet, DebugSet, Place
from pfcomp.isa.printer import format_statement

# L2BM, PDM and matrix names are inferred (isa.md 24.14, UNCERTAIN).
NAMES: dict[Place, str] = {
    Place.LM0: "LM0",
    Place.LM1: "LM1",
    Place.GRF0: "GREG0",
    Place.GRF1: "GREG1",
    Place.T: "TREG",
    Place.MASK: "OMR",
    Place.L1BM: "L1BM",
    Place.L2BM: "L2BM",
    Place.DRAM: "DRAM",
    Place.PDM: "PDM",
    Place.MATRIX_X: "MATX",
    Place.MATRIX_Y: "MATY",
}


def number(bits: int, fmt: FloatFormat) -> float:
    """The value of a pattern in the chip's reading: exponent 0 is a signed zero, all ones an infinity."""
    sign, exponent = bits >> (fmt.bits - 1), (bits >> fmt.mantissa) & fmt.infinite
    mantissa = bits & ((1 << fmt.mantissa) - 1)
    if exponent == 0:
        magnitude = 0.0
    elif exponent == fmt.infinite:
        magnitude = math.inf
    else:
        magnitude = math.ldexp(mantissa + (1 << fmt.mantissa), exponent - fmt.bias - fmt.mantissa)
    return -magnitude if sign else magnitude


def block_number(bits: int, fmt: FloatFormat) -> float:
    """The same for a block-float pattern (isa.md 18.5)."""
    sign, exponent = bits >> (fmt.bits - 1), (bits >> fmt.mantissa) & fmt.infinite
    mantissa = bits & ((1 << fmt.mantissa) - 1)
    power = exponent - fmt.bias - (fmt.mantissa - 1)
    magnitude = math.inf if exponent == fmt.infinite else math.ldexp(mantissa, power) if exponent else 0.0
    return -magnitude if sign else magnitude


def _typed(word: int, fmt: FloatFormat, decode: Callable[[int, FloatFormat], float]) -> str:
    elements = [(word >> shift) & ((1 << fmt.bits) - 1) for shift in range(64 - fmt.bits, -1, -fmt.bits)]
    values = ", ".join(f"{decode(e, fmt):g}" for e in elements)
    return f"({values}) ({', '.join(f'0x{e:0{fmt.bits // 4}x}' for e in elements)})"


def _untyped(word: int) -> str:
    h0, h1, h2, h3 = struct.unpack(">4H", word.to_bytes(8, "big"))
    halves = f"{{{{0x{h0:X},0x{h1:X}}},{{0x{h2:X},0x{h3:X}}}}}"
    return f"(f:{number(word, DOUBLE):g}, i:{halves}, v:0x{word:X})"


def body(word: int, kind: str) -> str:
    """The text of one long word for a `d get` type."""
    if not kind:
        return _untyped(word)
    return _typed(word, BY_LETTER[kind[-1]], block_number if kind.startswith("b") else number)


def _lines(state: State, statement: DebugGet, ids: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Printed address and body of every line of one location."""
    place, count = statement.operand.place, statement.count
    address = statement.operand.address.base if statement.operand.address else 0
    if place == Place.MASK:
        for entry in range(address, address + count):
            for nibble in inspect.nibbles(state, ids, entry % 32):
                yield entry, f"Mask{{{nibble}}}"
        return
    matrix = place in MATRIX_ROW
    first, step = (PES * address, 1) if matrix else (address, 2 if place in MEMORIES else 1)
    for index, word in enumerate(inspect.get(state, place, ids, first, count)):
        yield (address + index // PES if matrix else address + step * index), body(word, statement.type)


def get_lines(state: State, statement: DebugGet) -> list[str]:
    """The dump lines of one `d get`."""
    echo, name = format_statement(statement), NAMES[statement.operand.place]
    result = []
    for ids in inspect.expand(statement.operand.place, dict(statement.ids)):
        where = "".join(f"{letter}{value}" for letter, value in ids.items())
        lines = _lines(state, statement, ids)
        result += [f"DEBUG-{name}({where},{address}):{text} #{echo}" for address, text in lines]
    return result


def apply_set(state: State, statement: DebugSet) -> None:
    """Carry out one `d set`; word-wide forms store the upper word of each payload long word (isa.md 19.2)."""
    operand = statement.operand
    address = operand.address.base if operand.address else 0
    for ids in inspect.expand(operand.place, dict(statement.ids)):
        if operand.place in MEMORIES and operand.width == 1:
            for index, word in enumerate(statement.payload):
                inspect.put_word(state, operand.place, ids, address + index, word >> 32)
        else:
            inspect.put(state, operand.place, ids, address, statement.payload)
