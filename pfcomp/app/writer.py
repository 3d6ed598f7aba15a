"""Writes a GPFNApp: every section compressed and digested, the whole file sealed by its SHA-256."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pfcomp.app.flatwrite import write_flat
from pfcomp.app.model import GPFNApp
from pfcomp.app.schema import FORMAT_VERSION, IDENTIFIER, schema_hash
from pfcomp.app.sections import SECTIONS, SectionInfo
from pfcomp.app.verify import verify
from pfcomp.artifacts import atomic_write, compress


def serialize(app: GPFNApp) -> bytes:
    """The bytes of `app`: equal apps give equal bytes.

    Raises ArtifactError PF0514 where the app contradicts itself, UnsupportedError PF0517 where it exceeds 2 GiB.
    """
    verify(app, where="app")
    root = {
        "format_version": FORMAT_VERSION,
        "schema_hash": schema_hash(),
        "target_name": app.target_name,
        "producer": app.producer,
        "options_digest": app.options_digest,
        "sections": [_section(row, getattr(app, row.name)) for row in SECTIONS.values()],
    }
    body = write_flat("App", root, IDENTIFIER)
    return body + hashlib.sha256(body).digest()


def write_app(app: GPFNApp, path: str | Path) -> None:
    """Writes `app` atomically; a path that ends with `.zst` is compressed as a whole. Raises UsageError PF0502."""
    data = serialize(app)
    atomic_write(path, compress(data) if Path(path).suffix == ".zst" else data)


def _section(row: SectionInfo, value: Any) -> dict[str, Any]:
    content = row.encode(value)
    return {
        "name": row.name,
        "raw_size": len(content),
        "sha256": hashlib.sha256(content).digest(),
        "payload": compress(content),
    }
