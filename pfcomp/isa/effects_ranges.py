"""A map from address ranges to cells: the basis of exact overlap queries in near linear time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Generic, TypeVar

Cell = TypeVar("Cell")


class RangeMap(Generic[Cell]):
    """Cells over half-open ranges of non-negative addresses; `None` where nothing was put.

    The map is a sorted list of borders; cell `k` covers `borders[k]` up to `borders[k + 1]`. A cell that a border
    cuts is duplicated with `copy`, so that the halves can change independently.
    """

    __slots__ = ("_borders", "_cells", "_copy")

    def __init__(self, copy: Callable[[Cell], Cell]) -> None:
        self._borders: list[int] = [0]
        self._cells: list[Cell | None] = [None]
        self._copy = copy

    def _cut(self, address: int) -> int:
        """Index of the cell that starts at `address`, after cutting there."""
        at = bisect_left(self._borders, address)
        if at < len(self._borders) and self._borders[at] == address:
            return at
        cell = self._cells[at - 1]
        self._borders.insert(at, address)
        self._cells.insert(at, None if cell is None else self._copy(cell))
        return at

    def found(self, start: int, stop: int) -> list[Cell]:
        """The cells that overlap `start`..`stop`, in order of address."""
        first = bisect_right(self._borders, start) - 1
        last = bisect_left(self._borders, stop)
        return [cell for cell in self._cells[first:last] if cell is not None]

    def update(self, start: int, stop: int, change: Callable[[Cell | None], Cell]) -> None:
        """Replace every cell of `start`..`stop` by `change(cell)`; gaps are passed as None."""
        first, last = self._cut(start), self._cut(stop)
        self._cells[first:last] = [change(cell) for cell in self._cells[first:last]]

    def put(self, start: int, stop: int, cell: Cell) -> None:
        """Make `start`..`stop` one cell."""
        first, last = self._cut(start), self._cut(stop)
        self._borders[first:last] = [start]
        self._cells[first:last] = [cell]
