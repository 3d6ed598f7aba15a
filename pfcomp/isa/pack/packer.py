"""Packing a micro-program into VLIW steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pfcomp.collection import no_collection
from pfcomp.errors import InternalError, UnsupportedError
from pfcomp.isa.check import check
from pfcomp.isa.model import Program

from .emit import statements
from .graph import Graph
from .micro import MicroProgram, NodeInfo
from .priority import set_priorities
from .repeats import without_repeats
from .scheduler import OutOfRegisters, Scheduler
from .shortcuts import shorten
from .stats import Stats, program_stats

_NARROWER = 4
"""Factor by which the window shrinks when the registers do not suffice."""


@dataclass(frozen=True, slots=True)
class PackOptions:
    """`window`: how many operations beyond the oldest unplaced one may be placed."""

    window: int = 256


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed program that the checker accepts.

    `origins`: for every statement the names of its graph nodes; `nodes` has their details. `move_origins`: for the
    index of every `Move` statement, how many moves had been emitted before it.
    """

    program: Program
    origins: tuple[tuple[str, ...], ...]
    move_origins: Mapping[int, int]
    nodes: tuple[NodeInfo, ...]
    stats: Stats


def pack(micro: MicroProgram, options: PackOptions | None = None) -> Packed:
    """Schedule `micro` so that it means the same. Raises PF0151 where the values do not fit into the registers."""
    window = (options or PackOptions()).window
    with no_collection():
        scheduler = _schedule(shorten(without_repeats(micro)), max(window, 1))
        packed = _packed(scheduler, micro)
    errors = [f for f in check(packed.program) if f.severity == "error"]
    if errors:
        raise InternalError("PF0152", f"statement {errors[0].index}: {errors[0].rule}: {errors[0].text}")
    return packed


def _schedule(micro: MicroProgram, window: int) -> Scheduler:
    """The schedule with the widest window for which the registers suffice."""
    while True:
        graph = Graph(micro)
        set_priorities(graph.nodes)
        scheduler = Scheduler(graph, window)
        try:
            scheduler.run()
        except OutOfRegisters:
            if window == 1:
                raise UnsupportedError(
                    "PF0151",
                    "more values are alive at once than GRF0 and GRF1 hold",
                    hint="emit consumers closer to their producers, or keep values in LM",
                ) from None
            window = max(1, window // _NARROWER)
        else:
            return scheduler


def _packed(scheduler: Scheduler, micro: MicroProgram) -> Packed:
    attributed = list(statements(scheduler.rows, micro.nodes))
    program = Program(tuple(statement for statement, _, _ in attributed))
    moves = {index: move for index, (_, _, move) in enumerate(attributed) if move >= 0}
    return Packed(program, tuple(names for _, names, _ in attributed), moves, micro.nodes, program_stats(program))
