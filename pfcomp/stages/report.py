"""What a stage says about itself when it is done."""

from __future__ import annotations

from dataclasses import dataclass

Figure = int | float | str


@dataclass(frozen=True, slots=True)
class StageReport:
    """`figures` are the main numbers in the order to show; `files` the names written, relative to the codegen_dir."""

    stage: str
    figures: tuple[tuple[str, Figure], ...]
    files: tuple[str, ...]
