"""What happens in a pipeline, for whoever shows it, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pfcomp.options import Stage

Figure = int | float | str
Kind = Literal["started", "finished", "skipped", "cached", "failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """A stage in `directory` started, finished, was skipped because it is fresh, taken from the cache, or failed."""

    kind: Kind
    stage: Stage
    directory: Path
    seconds: float = 0.0
    figures: tuple[tuple[str, Figure], ...] = ()


Observer = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """A stage of a finished pipeline; `origin` tells whether it ran, was fresh, or came from the cache."""

    stage: Stage
    origin: Literal["ran", "fresh", "cache"]
    seconds: float
    figures: tuple[tuple[str, Figure], ...]


@dataclass(frozen=True, slots=True)
class CompileResult:
    """The codegen_dir of a compilation and its stages in order."""

    directory: Path
    stages: tuple[StageOutcome, ...]

    @property
    def app(self) -> Path:
        """Where the app is, if the stage codegen was among the stages."""
        return self.directory / "model.app"

    @property
    def seconds(self) -> float:
        return sum(outcome.seconds for outcome in self.stages)

    def moved(self, directory: Path) -> CompileResult:
        return replace(self, directory=directory)


def ignore(_event: Event) -> None:
    """The observer that shows nothing."""
