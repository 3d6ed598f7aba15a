"""A whole program: which forwarding paths are read, and one micro-operation list with moves and debug statements."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from pfcomp.collection import no_collection
from pfcomp.emulator import moves
from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.lower.step import lower_step, path_of
from pfcomp.emulator.micro import Code, Micro
from pfcomp.isa.model import DebugGet, DebugSet, MaskRef, Move, Place, Program, SetMask, Statement, Step

_PATHS = frozenset({Place.MAUF, Place.ALUF, Place.LBF, Place.MREADF})
_NONE: frozenset[Place] = frozenset()


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive PE-side micro-operations; `both`: the C engine has all of them, not only the numpy engine."""

    micros: tuple[Micro, ...]
    both: bool


@dataclass(frozen=True, slots=True)
class Lowered:
    """Micro-operations in segments, and the tables that MOVE, GET and SET point into.

    `ends` says for each statement how many micro-operations there are up to its end.
    """

    segments: tuple[Micro | Segment, ...]
    moves: tuple[tuple[Move, str], ...]
    gets: tuple[DebugGet, ...]
    sets: tuple[DebugSet, ...]
    ends: tuple[int, ...] = ()


# 0: the host's own, 1: both engines, 2: only numpy
_KINDS = {code: 0 if code >= Code.MOVE else 1 if code < Code.DAR_READ else 2 for code in Code}


def _kind(micro: Micro) -> int:
    return _KINDS[micro.code]


def segments(micros: list[Micro]) -> tuple[Micro | Segment, ...]:
    """Runs of micro-operations that one engine can execute, and single ones that the host carries out."""
    parts: list[Micro | Segment] = []
    for kind, group in groupby(micros, key=_kind):
        members = tuple(group)
        if kind == 0:
            parts.extend(members)
        else:
            parts.append(Segment(members, kind == 1))
    return tuple(parts)


def live_paths(statements: tuple[Statement, ...]) -> list[frozenset[Place]]:
    """For each statement the paths whose value of that step is read before it is replaced; the end reads none."""
    result: list[frozenset[Place]] = [_NONE] * len(statements)
    wanted: frozenset[Place] = _NONE
    for index in range(len(statements) - 1, -1, -1):
        statement = statements[index]
        if not isinstance(statement, Step):
            continue
        result[index] = wanted
        if not statement.ops:
            continue
        if not statement.noforward and wanted:
            wanted = wanted - {path_of(op) for op in statement.ops}
        read = {s.place for op in statement.ops for s in op.sources if s.place in _PATHS}
        if read:
            wanted = wanted | read
    return result


def lower(program: Program, bars: dict[Place, int | None]) -> Lowered:
    """Translate `program` for a chip whose base addresses are `bars` at its start (None: not known)."""
    with no_collection():
        return _lower(program, Emitter(dict(bars)))


def _lower(program: Program, e: Emitter) -> Lowered:
    transfers: list[tuple[Move, str]] = []
    gets: list[DebugGet] = []
    sets: list[DebugSet] = []
    ends: list[int] = []
    live = live_paths(program.statements)
    for index, statement in enumerate(program.statements):
        if isinstance(statement, Step):
            if statement.ops:
                lower_step(e, statement, live[index])
        elif isinstance(statement, Move):
            e.line = statement.line
            e.emit(Code.MOVE, None, (), len(transfers))
            transfers.append((statement, moves.check(statement)))
        elif isinstance(statement, SetMask):
            e.set_default(statement.memories, MaskRef(statement.entry, statement.length))
        elif isinstance(statement, DebugGet):
            e.line = statement.line
            e.emit(Code.GET, None, (), len(gets))
            gets.append(statement)
        elif isinstance(statement, DebugSet):
            e.line = statement.line
            e.emit(Code.SET, None, (), len(sets))
            sets.append(statement)
        ends.append(len(e.micros))
    return Lowered(segments(e.micros), tuple(transfers), tuple(gets), tuple(sets), tuple(ends))
