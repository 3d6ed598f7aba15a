"""trace_scope and trace_event: timelines for Perfetto (mlsdk.md 1.8)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pfcomp.runtime.queue import drain_all
from pfcomp.runtime.tracing import host_track, recorded, recording, write_perfetto


@contextmanager
def trace_scope(filename: str | Path | None) -> Iterator[None]:
    """Record what host, queue and device do in the block and write it to `filename`; None records nothing.

    The file is a Perfetto trace. Device work that the block started is waited for.
    """
    if filename is None:
        yield
        return
    with recording() as slices:
        try:
            yield
        finally:
            drain_all()
    write_perfetto(slices, Path(filename))


def trace_event(name: str) -> AbstractContextManager[None]:
    """Show the block as a slice called `name` on the host's row of the surrounding `trace_scope`."""
    return recorded(host_track(), name)
