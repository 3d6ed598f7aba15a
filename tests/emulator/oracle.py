"""Compare both engines with the scalar model on many cases of one operation.

An `Operation` says how to make inputs, which program runs, and how inputs and outputs split into cases. `verify` runs
rounds of all 4096 PEs: engines against each other on every case, the scalar model on cases that differ from all before.
`python -m tests.emulator.oracle` prints how many that are and how long it takes.
"""

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pfcomp.emulator import Machine
from tests.emulator.chip import AVAILABLE, BITS, FORMAT, elements, join

CI_CASES, SLOW_CASES, SLOW_SAMPLE = 10_000, 10_000_000, 500
SPREADS = (6, 1, 20, 2, 60, 300)
Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Operation:
    """One operation: `make(rng, spread)` gives named rows, `execute(machine, inputs)` named results.

    `cases(inputs, outputs)` gives operand columns and result columns, arrays `[case]` or `[case][element]`;
    `model(*operands)` gives a tuple of results.
    """

    name: str
    make: Callable[[np.random.Generator, int], Inputs]
    execute: Callable[[Machine, Inputs], Inputs]
    cases: Callable[[Inputs, Inputs], tuple[list[np.ndarray], list[np.ndarray]]]
    model: Callable
    first: int = 0  # so many cases are edges and always checked


@dataclass
class Count:
    """Cases compared between the engines, distinct cases compared with the scalar model, processor seconds."""

    engines: int = 0
    scalar: int = 0
    seconds: float = 0.0
    seen: set = field(default_factory=set)


def verify(operation, scalar=CI_CASES, engines=CI_CASES, sample=None, engines_used=AVAILABLE):
    """Run rounds until both numbers of cases are reached; `sample` limits the scalar checks of one round."""
    start, count, number = time.process_time(), Count(), 0
    while count.scalar < scalar or count.engines < engines:
        rng = np.random.default_rng((zlib.crc32(operation.name.encode()), number))
        inputs = operation.make(rng, SPREADS[number % len(SPREADS)])
        results = [operation.execute(Machine(engine), inputs) for engine in engines_used]
        for other in results[1:]:
            for key, rows in results[0].items():
                assert np.array_equal(rows, other[key]), (operation.name, key, np.argwhere(rows != other[key])[:4])
        _check_cases(operation, count, rng, *operation.cases(inputs, results[0]), sample or scalar)
        number += 1
    count.seconds = time.process_time() - start
    return count


def _check_cases(operation, count, rng, operands, results, limit):
    """Compare new cases of a round with the model: the edges first, then the others in random order."""
    total = len(results[0])
    count.engines += total
    order = np.concatenate([np.arange(operation.first), rng.permutation(np.arange(operation.first, total))])
    order = order[: operation.first + limit + limit // 8]
    keys = zip(*(_values(column[order]) for column in operands), strict=True)
    for key, got in zip(keys, zip(*(_values(column[order]) for column in results), strict=True), strict=True):
        if key in count.seen:
            continue
        want = operation.model(*key)
        assert got == want, (operation.name, key, want, got)
        count.seen.add(key)
        count.scalar += 1


def _values(column):
    return column.tolist() if column.ndim == 1 else [tuple(row) for row in column.tolist()]


def edges(letter):
    """Patterns at the edges of a format: zeros, denormals, ends of the range, infinities, ones, halves of a step."""
    bits = BITS[letter]
    if letter not in FORMAT:
        values = [0, 1, 2, 3, bits - 1, bits, bits + 1, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1)]
        values += [
            (1 << (bits - 1)) - 1,
            (1 << (bits - 1)) + 1,
            1 << (bits - 2),
            1 << (bits // 2),
            0x5555 % (1 << bits),
        ]
        return [*values, (1 << bits // 2) - 1]
    exponent, mantissa, bias = FORMAT[letter]
    top, ones = (1 << exponent) - 1, (1 << mantissa) - 1
    parts = [(0, 0), (0, 1), (0, ones), (1, 0), (1, 1), (1, ones), (2, 0), (bias - 1, ones), (bias, 0), (bias, 1)]
    parts += [(bias, ones), (bias, 1 << (mantissa - 1)), (bias + 1, 0), (bias + mantissa, 1), (bias + mantissa + 1, 1)]
    parts += [(bias - mantissa - 1, 0), (bias - mantissa, 1), (top - 1, 0), (top - 1, ones), (top, 0), (top, 1)]
    return [s << (bits - 1) | e << mantissa | m for e, m in parts for s in (0, 1)]


def with_first(words, bits, values):
    """Long words whose first elements (PE by PE, row by row) are `values`."""
    flat = elements(words, bits).copy()
    shape = flat.shape
    flat = flat.ravel()
    flat[: len(values)] = np.array(values, np.uint64)[: len(flat)]
    return join(flat.reshape(shape), bits)


def pairs(first, second):
    """All pairs of two lists, as two lists."""
    return [a for a in first for _ in second], [b for _ in first for b in second]


def slow(operation):
    """Ten million cases between the engines, the scalar model on samples of each round."""
    return verify(operation, CI_CASES, SLOW_CASES, SLOW_SAMPLE)


def report(groups):
    """Lines of a table: group, operations, least and all scalar cases, engine cases, processor seconds."""
    for group, operations in groups.items():
        counts = [verify(operation) for operation in operations]
        least, total = min(c.scalar for c in counts), sum(c.scalar for c in counts)
        between, seconds = sum(c.engines for c in counts), math.fsum(c.seconds for c in counts)
        yield f"| {group} | {len(operations)} | {least:,} | {total:,} | {between:,} | {seconds:.1f} |"


def main():
    from tests.emulator.operations import GROUPS

    for line in report(GROUPS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
