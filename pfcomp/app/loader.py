"""Loads a GPFNApp; nothing of a file is used before everything in it is verified (design.md law 3).

The order: identifier, seal over the whole file, format version and schema, structure, size and SHA-256 of every
section, then meaning (`pfcomp.app.verify`) and the rules of the chip (`pfcomp.isa.check`, once per program).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NoReturn

from pfcomp.app.flatread import Broken, read_flat
from pfcomp.app.model import GPFNApp
from pfcomp.app.schema import FORMAT_VERSION, IDENTIFIER, schema_hash
from pfcomp.app.sections import SECTIONS, SectionInfo
from pfcomp.app.verify import check_program, verify
from pfcomp.artifacts import ZSTD_MAGIC, decompress, read_bytes
from pfcomp.errors import ArtifactError, PfcompError
from pfcomp.isa.model import Program

SEAL_SIZE = 32
_AGAIN = "compile the program again"
_PASSED: set[str] = set()  # SHA-256 of the programs that passed the chip's rules in this process


def load_app(source: str | Path | bytes, *, check: bool = True, where: str = "") -> GPFNApp:
    """The app in a file or in bytes, plain or Zstandard-compressed; `where` names it in messages.

    `check=False` leaves out the chip's rules (for inspection; not for running). Raises ArtifactError: PF0501 to PF0504
    and PF0510 to PF0515.
    """
    place = where or ("app" if isinstance(source, bytes) else str(source))
    data = source if isinstance(source, bytes) else read_bytes(source)
    if data.startswith(ZSTD_MAGIC):
        data = decompress(data, where=place)
    body = _sealed(data, place)
    try:
        root = _root(body, place)
        values, digest = _sections(root["sections"] or [], place)
    except Broken as error:
        raise ArtifactError("PF0513", str(error), where=place, hint=_AGAIN) from error
    header = {name: root[name] for name in ("target_name", "producer", "options_digest")}
    app = GPFNApp(**values, **header)
    verify(app, where=place)
    if check:
        _check_once(digest, place, app.program)
    return app


def _sealed(data: bytes, where: str) -> memoryview:
    """The FlatBuffer without the seal behind it."""
    if len(data) < 8 + SEAL_SIZE or data[4:8] != IDENTIFIER:
        what = "the file is empty" if not data else "not a GPFNApp (no identifier GPFN)"
        raise ArtifactError("PF0510", what, where=where, hint="give a model.app or the folder that holds it")
    body = memoryview(data)[:-SEAL_SIZE]
    if hashlib.sha256(body).digest() != data[-SEAL_SIZE:]:
        _refuse_unsealed(body, where)
    return body


def _refuse_unsealed(body: memoryview, where: str) -> NoReturn:
    what = f"damaged or cut short ({len(body) + SEAL_SIZE} bytes, checksum differs)"
    try:
        version = read_flat("App", body, ("format_version",))["format_version"]
    except Broken:
        version = FORMAT_VERSION
    if version != FORMAT_VERSION:
        what += f" or of format {version}, this version reads {FORMAT_VERSION}"
    raise ArtifactError("PF0512", what, where=where, hint=_AGAIN)


def _root(body: memoryview, where: str) -> dict[str, Any]:
    version = read_flat("App", body, ("format_version", "schema_hash"))
    if version != {"format_version": FORMAT_VERSION, "schema_hash": schema_hash()}:
        what = f"format {version['format_version']}, schema {version['schema_hash']!r}"
        ours = f"this version reads format {FORMAT_VERSION}, schema {schema_hash()!r}"
        raise ArtifactError("PF0511", f"{what}; {ours}", where=where, hint=_AGAIN)
    root = read_flat("App", body)
    if any(root[name] is None for name in ("target_name", "producer", "options_digest")):
        raise Broken("a header field is missing")
    return root


def _sections(records: list[dict[str, Any]], where: str) -> tuple[dict[str, Any], str]:
    """The decoded sections by name, and the digest of the program."""
    if [record["name"] for record in records] != list(SECTIONS):
        raise Broken(f"the sections are not {', '.join(SECTIONS)}")
    rows = zip(SECTIONS.values(), records, strict=True)
    values = {row.name: _section(row, record, where) for row, record in rows}
    digest = next(record["sha256"] for record in records if record["name"] == "program")
    return values, digest.tobytes().hex()


def _section(row: SectionInfo, record: dict[str, Any], where: str) -> Any:
    place = f"{where}: section {row.name}"
    if record["sha256"] is None or record["payload"] is None or record["raw_size"] > row.limit:
        raise ArtifactError("PF0513", "has no content or claims too much", where=place, hint=_AGAIN)
    content = decompress(record["payload"].tobytes(), where=place, limit=record["raw_size"])
    if len(content) != record["raw_size"] or hashlib.sha256(content).digest() != record["sha256"].tobytes():
        raise ArtifactError("PF0512", "content differs from its SHA-256", where=place, hint=_AGAIN)
    try:
        return row.decode(content)
    except Broken as error:
        raise ArtifactError("PF0513", str(error), where=place, hint=_AGAIN) from error
    except PfcompError as error:
        raise ArtifactError("PF0513", error.what, where=place, hint=_AGAIN) from error


def _check_once(digest: str, where: str, program: Program) -> None:
    """Applies the chip's rules to a program, unless this process did so for the same bytes before."""
    if digest not in _PASSED:
        check_program(program, where=where)
        _PASSED.add(digest)
