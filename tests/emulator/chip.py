"""Helpers of the emulator tests: random operands, lanes in and out, both engines."""

import numpy as np

from pfcomp.emulator.c import native
from pfcomp.emulator.rows import MEMORIES, PES_PER_TILE, TILES
from pfcomp.isa import parse
from pfcomp.isa.model import Place

AVAILABLE = ("numpy",) if native.compiled() is None else ("numpy", "c")


def run(machine, text):
    return machine.run(machine.load(parse(text)))


def fill(machine, place, words, first_row=0):
    """Put an array `[row][4096]` of long words into a PE memory."""
    base = MEMORIES[place].base + first_row
    rows = np.asarray(words, np.uint64)
    machine.state.mem[:, base : base + len(rows)] = rows.reshape(len(rows), TILES, PES_PER_TILE).swapaxes(0, 1)


def fetch(machine, place, rows, first_row=0):
    """The opposite of `fill`."""
    base = MEMORIES[place].base + first_row
    return machine.state.mem[:, base : base + rows].swapaxes(0, 1).reshape(rows, TILES * PES_PER_TILE).copy()


def elements(words, bits):
    """Elements of long words, most significant first: one more axis."""
    shifts = np.arange(64 - bits, -1, -bits, dtype=np.uint64)
    return (np.asarray(words, np.uint64)[..., None] >> shifts) & np.uint64((1 << bits) - 1)


def join(parts, bits):
    """The opposite of `elements`."""
    shifts = np.arange(64 - bits, -1, -bits, dtype=np.uint64)
    return (np.asarray(parts, np.uint64) << shifts).sum(axis=-1, dtype=np.uint64)


def floats(rng, shape, exponent, mantissa, bias, spread):
    """Float patterns: mostly near one another, with edges of exponent and mantissa mixed in."""
    top = (1 << exponent) - 1
    field = np.clip(bias + rng.integers(-spread, spread + 1, shape), 1, top - 1)
    edges = rng.choice([0, 1, 2, top - 2, top - 1, top], shape)
    field = np.where(rng.random(shape) < 0.15, edges, field)
    full = rng.integers(0, 1 << mantissa, shape)
    ones = (1 << mantissa) - 1
    special = rng.choice([0, 1, ones, ones - 1, 1 << (mantissa - 1), (1 << (mantissa - 1)) - 1, 31, 32], shape)
    trailing = full & ~((np.int64(1) << rng.integers(0, mantissa, shape)) - 1)
    pick = rng.random(shape)
    fraction = np.where(pick < 0.5, full, np.where(pick < 0.75, special, trailing))
    sign = rng.integers(0, 2, shape)
    body = (field.astype(np.uint64) << np.uint64(mantissa)) | fraction.astype(np.uint64)
    return (sign.astype(np.uint64) << np.uint64(exponent + mantissa)) | body


FORMAT = {"d": (11, 52, 1023), "f": (8, 23, 127), "h": (6, 9, 31)}
BITS = {"d": 64, "f": 32, "g": 32, "h": 16, "l": 64, "i": 32, "s": 16}


def random_words(rng, rows, letter, spread=12):
    """`[rows][4096]` long words of float elements of a precision, or of any integers."""
    bits = BITS[letter]
    shape = (rows, TILES * PES_PER_TILE, 64 // bits)
    if letter in FORMAT:
        return join(floats(rng, shape, *FORMAT[letter], spread), bits)
    parts = rng.integers(0, 1 << 64, shape, dtype=np.uint64)
    edge = rng.choice(np.array([0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1], np.uint64), shape)
    few = rng.random(shape) < 0.25
    return join(np.where(few, edge, parts & np.uint64((1 << bits) - 1)), bits)


LM0, LM1, GRF0, GRF1 = Place.LM0, Place.LM1, Place.GRF0, Place.GRF1
