"""Location planner: which of the two local memories each on-chip value should lie in.

An operation reads LM0 and LM1 once each per step and blocks a memory for three steps by writing it (isa.md 17, H3),
so operands of one operation want different memories and a result wants another one than its operands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pfcomp.ir.model import Location, MNNode

LMS = (Location.LM0, Location.LM1)
OPERAND_WEIGHT = 4
RESULT_WEIGHT = 1


def choose(nodes: Iterable[MNNode], sizes: dict[str, int], pinned: frozenset[str]) -> dict[str, tuple[Location, ...]]:
    """Wished memories of every on-chip value, best first. `pinned` values must lie in LM0 (only it has T-indirect)."""
    conflicts = _conflicts(nodes, sizes)
    chosen: dict[str, Location] = {}
    filled = dict.fromkeys(LMS, 0)
    wishes: dict[str, tuple[Location, ...]] = {}
    for name, size in sizes.items():
        if name in pinned:
            wishes[name] = (Location.LM0,)
        else:
            weight = {lm: sum(w for other, w in conflicts[name].items() if chosen.get(other) is lm) for lm in LMS}
            wishes[name] = tuple(sorted(LMS, key=lambda lm: (weight[lm], filled[lm])))
        chosen[name] = wishes[name][0]
        filled[chosen[name]] += size
    return wishes


def _conflicts(nodes: Iterable[MNNode], sizes: dict[str, int]) -> dict[str, dict[str, int]]:
    """How much each pair of on-chip values would lose by lying in the same memory."""
    table: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def add(a: str, b: str, weight: int) -> None:
        if a != b and a in sizes and b in sizes:
            table[a][b] += weight
            table[b][a] += weight

    for node in nodes:
        for step in node.body or (node,):
            for i, a in enumerate(step.inputs):
                for b in step.inputs[i + 1 :]:
                    add(a, b, OPERAND_WEIGHT)
        for result in node.outputs:
            for operand in node.inputs:
                add(result, operand, RESULT_WEIGHT)
    return table
