"""When each statement of a packed program runs: steps are exact, cycles add the stalls for MV transfers."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.isa.model import CYCLES, Move, Program, Step
from pfcomp.simulate.bandwidth import ISSUE_INTERVAL, LATENCY, duration, rate_of


@dataclass(frozen=True, slots=True)
class Span:
    """A statement in time: `begin` and `end` in cycles."""

    begin: int
    end: int


@dataclass(slots=True)
class Timing:
    """Result of a walk: one span for every statement, the total, and how much of it was waiting."""

    spans: list[Span] = field(default_factory=list)
    cycles: int = 0
    stalls: int = 0


@dataclass(slots=True)
class _Clock:
    """Time of the PE stream, of the next MV issue and of every port; completion per tag."""

    now: int = 0
    issue: int = 0
    busy: dict[str, int] = field(default_factory=dict)
    done: dict[int, int] = field(default_factory=dict)

    def transfer(self, move: Move) -> Span:
        ports = rate_of(move).ports
        begin = max(self.now, self.issue, *(self.busy.get(p, 0) - LATENCY for p in ports), 0)
        self.issue = begin + ISSUE_INTERVAL
        end = begin + LATENCY + duration(move)
        self.busy.update(dict.fromkeys(ports, end))
        if move.tag is not None:
            self.done[move.tag] = max(end, self.done.get(move.tag, 0))
        return Span(begin, end)

    def step(self, step: Step) -> tuple[Span, int]:
        """The span of the step and the cycles it waited first."""
        ready = max([self.now, *(self.done.pop(tag, 0) for tag in step.waits)])
        stall = ready - self.now
        self.now = ready + CYCLES * step.repeat
        return Span(ready, self.now), stall


def walk(program: Program) -> Timing:
    """Run the clock over the program; transfers run beside the steps, ports one transfer at a time."""
    clock, timing = _Clock(), Timing()
    for statement in program.statements:
        if isinstance(statement, Move):
            timing.spans.append(clock.transfer(statement))
        elif isinstance(statement, Step):
            span, stall = clock.step(statement)
            timing.spans.append(span)
            timing.stalls += stall
        else:
            timing.spans.append(Span(clock.now, clock.now))
    timing.cycles = max([clock.now, *clock.busy.values()], default=0)
    return timing
