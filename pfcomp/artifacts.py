"""Files that we write and read: atomic replacement, Zstandard, digests, canonical JSON.

Everything written here is a pure function of its content: the compression level is fixed, frames carry no time and
no name, JSON has sorted keys.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from pfcomp.errors import ArtifactError, UsageError

ZSTD_LEVEL = 9
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
DEFAULT_LIMIT = 4 << 30  # bytes; a captured graph or a program beyond it is no honest file
_AGAIN = "make the file again"

_counter = itertools.count()


def sha256(data: bytes | memoryview) -> str:
    """SHA-256 of `data`, in hex."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of the file's bytes, in hex; raises ArtifactError PF0501 where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> ArtifactError:
    """The error for a file that cannot be read."""
    return ArtifactError("PF0501", f"cannot be read ({error.strerror or error})", where=str(path))


def unwritable(folder: Path, error: OSError) -> UsageError:
    """The error for a folder that cannot be written; names the folder and what to do."""
    hint = "choose another folder, or make this one writable and check the free space"
    return UsageError("PF0502", f"cannot be written ({error.strerror or error})", where=str(folder), hint=hint)


def make_folder(folder: Path) -> None:
    """Creates `folder` with its parents; raises UsageError PF0502."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def temporary_name(path: Path) -> Path:
    """A name beside `path` that no other process or thread uses: `.<name>.<process>.<number>.tmp`.

    Names that exist are passed over: they were left by a killed process that had this process's number.
    """
    names = (path.with_name(f".{path.name}.{os.getpid()}.{number}.tmp") for number in _counter)
    return next(name for name in names if not os.path.lexists(name))


def atomic_write(path: str | Path, data: bytes | memoryview) -> None:
    """Replaces `path` by `data` so that a reader sees the old or the new content, whole, whatever happens.

    The folder must exist. Raises UsageError PF0502 where it cannot be written.
    """
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """As `atomic_write`, for contents that are written piece by piece; an exception leaves the old content."""
    target = Path(path)
    scratch = temporary_name(target)
    try:
        try:
            with scratch.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(target.parent, error) from error


def remove_leftovers(folder: Path) -> None:
    """Deletes temporary files in `folder` of processes that no longer exist (killed in the middle of a write)."""
    for scratch in folder.glob(".*.tmp"):
        owner = scratch.name.split(".")[-3:-2]
        if owner and owner[0].isdigit() and not is_alive(int(owner[0])):
            scratch.unlink(missing_ok=True)


def is_alive(process: int) -> bool:
    """True if there is a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def compress(data: bytes) -> bytes:
    """A Zstandard frame of `data`; the same bytes on every machine and for every number of threads."""
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(data)


def decompress(data: bytes, *, where: str, limit: int = DEFAULT_LIMIT) -> bytes:
    """Content of one Zstandard frame of at most `limit` bytes.

    Raises ArtifactError: PF0503 for a damaged frame or trailing bytes, PF0504 for a larger content. Memory stays
    bounded by `limit` whatever the frame claims.
    """
    try:
        declared = zstandard.frame_content_size(data)
        if declared > limit:
            raise _too_large(where, limit)
        worker = zstandard.ZstdDecompressor().decompressobj()
        content = _bounded(worker, data, where, limit)
    except zstandard.ZstdError as error:
        raise ArtifactError("PF0503", "damaged Zstandard data", where=where, hint=_AGAIN) from error
    if not worker.eof or worker.unused_data:
        raise ArtifactError("PF0503", "cut or over-long Zstandard data", where=where, hint=_AGAIN)
    return content


def _bounded(worker: zstandard.ZstdDecompressionObj, data: bytes, where: str, limit: int) -> bytes:
    """Feeds `data` in small pieces, so that the content can only run past `limit` by one piece's expansion."""
    parts: list[bytes] = []
    total, start, piece = 0, 0, 1 << 12
    while start < len(data) and not worker.eof:
        part = worker.decompress(data[start : start + piece])
        start += piece
        total += len(part)
        if total > limit:
            raise _too_large(where, limit)
        parts.append(part)
    if start < len(data):
        raise zstandard.ZstdError("bytes after the frame")
    return b"".join(parts)


def _too_large(where: str, limit: int) -> ArtifactError:
    hint = "the file is damaged or hostile; make it again"
    return ArtifactError("PF0504", f"holds more than the {limit} bytes allowed", where=where, hint=hint)


def read_bytes(path: str | Path) -> bytes:
    """The file's bytes; raises ArtifactError PF0501."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise unreadable(Path(path), error) from error


def read_zst(path: str | Path, limit: int = DEFAULT_LIMIT) -> bytes:
    """Content of a `.zst` file; raises ArtifactError PF0501, PF0503, PF0504."""
    return decompress(read_bytes(path), where=str(path), limit=limit)


def write_zst(path: str | Path, data: bytes) -> None:
    """Writes `data` compressed and atomically; raises UsageError PF0502."""
    atomic_write(path, compress(data))


def read_maybe_zst(path: str | Path, limit: int = DEFAULT_LIMIT) -> bytes:
    """The file's content, decompressed where it starts like a Zstandard frame."""
    data = read_bytes(path)
    return decompress(data, where=str(path), limit=limit) if data.startswith(ZSTD_MAGIC) else data


def canonical_json(value: object, *, indent: int | None = None) -> bytes:
    """JSON text with sorted keys and a final line feed: equal values give equal bytes."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, indent=indent, separators=separators)
    return text.encode() + b"\n"
