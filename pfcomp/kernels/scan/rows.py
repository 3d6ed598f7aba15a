"""Layouts in which an axis lies in the addresses of each PE, so that walking along it crosses no lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pfcomp.kernels.api import Job
from pfcomp.kernels.reduction.geometry import geometry
from pfcomp.kernels.reduction.suggest import suggested
from pfcomp.layout import Layout, Level
from pfcomp.layout.places import axis_coordinates


@dataclass(frozen=True, slots=True)
class Rows:
    """`kept`: address pairs of every row, as in a reduction of the axis; `offsets`: address offset by axis index."""

    kept: tuple[tuple[int, int], ...]
    offsets: tuple[int, ...]


def rows_of(layout: Layout, shape: tuple[int, ...], axis: int, bits: int) -> Rows | None:
    """None if a digit of the axis lies elsewhere than in Addr."""
    found = geometry(layout, shape, (axis,), True, bits)
    if found is None or any(sub.size > 1 and sub.level is not Level.ADDR for sub in layout.axes[axis]):
        return None
    coordinates = axis_coordinates(layout.axes[axis], shape[axis])
    offsets = coordinates[Level.ADDR].tolist() if Level.ADDR in coordinates else [0]
    return Rows(found.kept, tuple(offsets))


def layouts_of(job: Job, axis: int, offered: Sequence[Sequence[Layout]]) -> Iterator[tuple[Layout, Rows]]:
    """The offered layouts with the axis in Addr; if there is none, one that spreads the other axes."""
    spec = job.inputs[0]
    taken = [layout for layout in offered[0] if rows_of(layout, spec.shape, axis, spec.dtype.bits)]
    for layout in taken or suggested(spec.shape, (axis,), spec.dtype.bits)[:1]:
        rows = rows_of(layout, spec.shape, axis, spec.dtype.bits)
        if rows is not None:
            yield layout, rows


def axis_of(job: Job) -> int:
    """The attribute `axis`."""
    axis = job.attribute("axis")
    if not isinstance(axis, int):
        raise TypeError(f"{job.op} has axis {axis!r}, not an integer")
    return axis


def required_rows(job: Job, layout: Layout) -> Rows:
    """The rows of a layout that `layouts_of` proposed; ValueError for any other."""
    spec = job.inputs[0]
    rows = rows_of(layout, spec.shape, axis_of(job), spec.dtype.bits)
    if rows is None:
        raise ValueError(f"{job.op} cannot be done in {layout}")
    return rows
