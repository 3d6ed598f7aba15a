"""The compilation cache: results of stages by content (mlsdk.md 1.6).

An entry is a folder `<kind>/<key>` with the stage's files and `entry.json`, which names them with their SHA-256, the
parts of the key and the figures of the summary. The key is the digest of what the stage was made from: the compiler's
sources, the options that matter to it, the files that it read. Entries are published by one rename, verified when
read, removed when damaged, and the least recently used ones go when the folder exceeds its limit. Trouble with the
cache never stops a compilation.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pfcomp.artifacts import (
    atomic_write,
    canonical_json,
    is_alive,
    read_bytes,
    remove_leftovers,
    sha256,
    temporary_name,
    unwritable,
)
from pfcomp.errors import ArtifactError, PfcompError

Figures = tuple[tuple[str, int | float | str], ...]

KINDS = {"onnx": "onnx", "schedule": "schedule", "simulate": "simulation_result", "codegen": "app"}
"""Stage and the name of its kind of entry; the stage trace always runs, because it makes the first key."""

ENTRY = "entry.json"
TAG = "CACHEDIR.TAG"  # lets backup programs skip the folder, and us recognise it as ours
TAG_TEXT = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compilation cache of pfcomp; safe to delete.\n"
DEFAULT_LIMIT = 10 << 30

_warned: set[Path] = set()  # cache folders of which a warning has been given


class CacheWarning(UserWarning):
    """The cache could not be used; the compilation went on without it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry on disk: its size in bytes and when it was last used (seconds since the epoch)."""

    stage: str
    folder: Path
    key: Mapping[str, Any]
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache folder, the stages that use it, and how many bytes it may hold."""

    folder: Path
    stages: frozenset[str] = frozenset(KINDS)
    limit: int = DEFAULT_LIMIT

    @staticmethod
    def of(
        cache_dir: str | Path, *, app: bool = True, onnx: bool = True, codegen: bool = True, limit: int = DEFAULT_LIMIT
    ) -> Cache:
        """The cache of `CacheOptions`: switches for the app, the ONNX, and schedule and simulation."""
        switches = {"onnx": onnx, "schedule": codegen, "simulate": codegen, "codegen": app}
        return Cache(Path(cache_dir), frozenset(stage for stage, on in switches.items() if on), limit)

    def fetch(self, stage: str, key: Mapping[str, Any], directory: Path) -> tuple[tuple[str, ...], Figures] | None:
        """Copies the entry's files into `directory`; returns their names and the figures, None where there is none.

        A damaged entry is removed and counts as none.
        """
        if stage not in self.stages:
            return None
        place = self.place(stage, key)
        try:
            content = json.loads((place / ENTRY).read_bytes())
            files = {str(name): _verified(place, str(name), digest) for name, digest in content["files"].items()}
            figures = tuple((str(name), value) for name, value in content["figures"])
            with suppress(OSError):  # a cache that this process may only read
                os.utime(place / ENTRY)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, PfcompError):
            shutil.rmtree(place, ignore_errors=True)
            return None
        for name, data in files.items():
            atomic_write(directory / name, data)
        return tuple(files), figures

    def store(
        self, stage: str, key: Mapping[str, Any], directory: Path, names: Sequence[str], figures: Figures
    ) -> None:
        """Publishes the files `names` of `directory`.

        Warns (CacheWarning), once in a process, where the folder cannot be written.
        """
        if stage not in self.stages:
            return
        try:
            self._publish(stage, key, {name: read_bytes(directory / name) for name in names}, figures)
            self.collect()
        except (OSError, PfcompError) as error:
            if self.folder not in _warned:
                _warned.add(self.folder)
                reason = error if isinstance(error, PfcompError) else unwritable(self.folder, error)
                hint = "make it writable and check the free space, or choose another cache_dir"
                warnings.warn(f"cache {self.folder} not used: {reason.what}; {hint}", CacheWarning, stacklevel=2)

    def place(self, stage: str, key: Mapping[str, Any]) -> Path:
        """The folder of the entry for `key`, whether or not it exists."""
        return self.folder / KINDS[stage] / sha256(canonical_json([stage, dict(key)]))[:40]

    def _publish(self, stage: str, key: Mapping[str, Any], files: Mapping[str, bytes], figures: Figures) -> None:
        place = self.place(stage, key)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not (self.folder / TAG).exists():
            atomic_write(self.folder / TAG, TAG_TEXT)
        scratch = temporary_name(place)
        scratch.mkdir()
        try:
            for name, data in files.items():
                atomic_write(scratch / name, data)
            digests = {name: sha256(data) for name, data in files.items()}
            content = {"key": dict(key), "files": digests, "figures": [list(figure) for figure in figures]}
            atomic_write(scratch / ENTRY, canonical_json(content, indent=1))
            if place.exists() and not (place / ENTRY).exists():
                _remove(place)
            if not place.exists():
                scratch.rename(place)
        except OSError:
            if not (place / ENTRY).exists():  # else another process published the same entry first
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def entries(self) -> list[Entry]:
        """All readable entries, the least recently used first."""
        found = (entry for stage, kind in KINDS.items() for entry in _entries(stage, self.folder / kind))
        return sorted(found, key=lambda entry: (entry.used, entry.folder.name))

    def collect(self, limit: int | None = None) -> int:
        """Removes the least recently used entries until at most `limit` (default: the cache's) bytes remain.

        Also removes what killed processes left. Returns the number of entries removed; 0 while another process does it.
        Raises UsageError PF0502 where the folder cannot be written.
        """
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                self._remove_leftovers()
                return self._shrink(self.limit if limit is None else limit)
        except Timeout:
            return 0
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def _shrink(self, limit: int) -> int:
        entries = self.entries()
        excess = sum(entry.size for entry in entries) - limit
        removed = 0
        for entry in entries:
            if excess <= 0:
                break
            removed += _remove(entry.folder)
            excess -= entry.size
        return removed

    def _remove_leftovers(self) -> None:
        remove_leftovers(self.folder)
        for kind in KINDS.values():
            for scratch in (self.folder / kind).glob(".*.tmp"):
                owner = scratch.name.split(".")[-3]
                if not owner.isdigit() or not is_alive(int(owner)):
                    shutil.rmtree(scratch, ignore_errors=True)

    def clear(self) -> int:
        """Removes all entries and nothing else; returns their number.

        Raises ArtifactError PF0530, see `require`, and UsageError PF0502 where the folder cannot be written.
        """
        self.require()
        removed = 0
        for kind in KINDS.values():
            for folder in (self.folder / kind).glob("*") if (self.folder / kind).is_dir() else ():
                removed += _remove(folder)
        return removed

    def require(self) -> None:
        """Raises ArtifactError PF0530 unless the folder is a cache of ours or does not exist yet."""
        if self.folder.exists() and not (self.folder / TAG).is_file():
            hint = "give the cache_dir of CacheOptions"
            raise ArtifactError("PF0530", "is not a cache of pfcomp", where=str(self.folder), hint=hint)


def default_folder() -> Path:
    """The cache folder of the user, for commands that are given none."""
    from platformdirs import user_cache_path

    return user_cache_path("pfcomp")


def _entries(stage: str, folder: Path) -> Iterator[Entry]:
    for place in sorted(folder.glob("[0-9a-f]*")):
        try:
            key = json.loads((place / ENTRY).read_bytes())["key"]
            used = (place / ENTRY).stat().st_mtime
            size = sum(file.stat().st_size for file in place.iterdir())
        except (OSError, ValueError, KeyError, TypeError):
            continue  # damaged or just being removed; `fetch` replaces it when it is wanted
        yield Entry(stage, place, key, size, used)


def _verified(place: Path, name: str, digest: str) -> bytes:
    """Content of an entry's file; names that lead out of the entry are damage too."""
    if Path(name).name != name:
        raise ValueError(f"no file name: {name}")
    data = read_bytes(place / name)
    if sha256(data) != digest:
        raise ValueError(f"{name} differs from its SHA-256")
    return data


def _remove(folder: Path) -> bool:
    """Takes an entry away by one rename, then deletes it, so that no reader finds half of it.

    False if another process was first. Raises UsageError PF0502 where the folder cannot be written.
    """
    scratch = temporary_name(folder)
    try:
        folder.rename(scratch)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unwritable(folder.parent, error) from error
    shutil.rmtree(scratch, ignore_errors=True)
    return True
