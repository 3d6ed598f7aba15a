"""Where programs keep files: `path` is the identity on file systems (mlsdk.md 1.6)."""

from __future__ import annotations

from pathlib import Path


def path(target: str | Path) -> Path:
    """The folder or file `target` as a `pathlib.Path`."""
    return Path(target)
