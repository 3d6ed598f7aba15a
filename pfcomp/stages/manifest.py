"""manifest.json of a codegen_dir: what each stage was made from, and what it made.

A stage's record is written after its files and taken away before they change, so a folder whose compilation was
killed never looks complete.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pfcomp
from pfcomp.artifacts import atomic_write, canonical_json, read_bytes, sha256_file
from pfcomp.errors import ArtifactError
from pfcomp.options import STAGES, Options, Stage
from pfcomp.stages.events import Figure

NAME = "manifest.json"
SCHEMA = 1
_DELETE = "delete the folder and compile again"


@dataclass(frozen=True, slots=True)
class Record:
    """A stage that ran: digests of the compiler, its options, the files it read and wrote; figures of the summary."""

    code: str
    options: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    figures: tuple[tuple[str, Figure], ...] = ()

    def key(self) -> dict[str, Any]:
        """What the stage is made from, in JSON's types: the key of the cache."""
        return {"code": self.code, "options": self.options, "inputs": dict(self.inputs)}

    def same_key(self, other: Record) -> bool:
        """True if the stage was made from the same things."""
        return self.key() == other.key()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The records of a folder, and the options (those that differ from the defaults) of its last compilation."""

    options: Mapping[str, object] = field(default_factory=dict)
    records: Mapping[Stage, Record] = field(default_factory=dict)
    version: str = pfcomp.__version__

    def with_record(self, stage: Stage, record: Record) -> Manifest:
        return replace(self, records={**self.records, stage: record})

    def before(self, stage: Stage) -> Manifest:
        """Without the records of `stage` and of all stages after it."""
        kept = STAGES[: STAGES.index(stage)]
        return replace(self, records={name: r for name, r in self.records.items() if name in kept})

    def without(self, stage: Stage) -> Manifest:
        return replace(self, records={name: r for name, r in self.records.items() if name != stage})

    def save(self, directory: Path) -> None:
        """Writes it into `directory`; raises UsageError PF0502."""
        content = {
            "schema": SCHEMA,
            "pfcomp": self.version,
            "options": dict(self.options),
            "stages": {name: _record_json(r) for name, r in self.records.items()},
        }
        atomic_write(directory / NAME, canonical_json(content, indent=1))


def load(directory: Path) -> Manifest:
    """The manifest of a codegen_dir, whatever version of pfcomp wrote it.

    Raises ArtifactError: PF0520 where there is none, PF0521 where it is damaged, PF0522 where its schema is another.
    """
    path = directory / NAME
    if not path.exists():
        what = "no codegen_dir (it has no manifest.json)" if directory.is_dir() else "no such folder"
        raise ArtifactError("PF0520", what, where=str(directory), hint="compile something into it first")
    try:
        content = json.loads(read_bytes(path))
        schema = content["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path) from error
    if schema != SCHEMA:
        what = f"written with schema {schema} of the folder, this version reads {SCHEMA}"
        raise ArtifactError("PF0522", what, where=str(directory), hint=_DELETE)
    try:
        return _from_json(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path) from error


def load_own(directory: Path) -> Manifest:
    """The manifest for continuing in the folder; raises PF0522 as well where another version of pfcomp wrote it."""
    manifest = load(directory)
    if manifest.version != pfcomp.__version__:
        what = f"written by pfcomp {manifest.version}, this is {pfcomp.__version__}"
        raise ArtifactError("PF0522", what, where=str(directory), hint=_DELETE)
    return manifest


def load_for_compiling(directory: Path) -> Manifest:
    """The manifest for compiling anew: an empty one where there is none, it is damaged, or of another version.

    Raises PF0522 for another schema: what a newer version wrote isn't overwritten.
    """
    try:
        manifest = load(directory)
    except ArtifactError as error:
        if error.code not in ("PF0520", "PF0521"):
            raise
        return Manifest()
    return manifest if manifest.version == pfcomp.__version__ else Manifest()


def require(directory: Path, stage: Stage) -> Manifest:
    """The manifest of a folder in which `stage` is complete and its files are those it wrote.

    For readers of a codegen_dir. Raises ArtifactError PF0520 to PF0523.
    """
    manifest = load(directory)
    record = manifest.records.get(stage)
    hint = f"run `pfcomp {stage}` on it, or compile again"
    if record is None:
        raise ArtifactError("PF0523", f"stage {stage} is not complete", where=str(directory), hint=hint)
    for name, digest in record.outputs.items():
        path = directory / name
        if not path.exists() or sha256_file(path) != digest:
            raise ArtifactError("PF0523", f"{name} is missing or changed", where=str(directory), hint=hint)
    return manifest


def check_readable(directory: Path) -> None:
    """For whoever runs what a folder holds: refuses one of another schema, or left by a compilation that was killed.

    A folder without a manifest (someone put just an app there) is fine. Raises ArtifactError PF0521 to PF0523.
    """
    if not (directory / NAME).exists():
        return
    records = load(directory).records
    if (directory / "model.app").exists() and ("codegen" not in records or _is_old(records, directory)):
        what = "its last compilation did not come to an end, model.app may be an old one"
        raise ArtifactError("PF0523", what, where=str(directory), hint="compile again")


def _is_old(records: Mapping[Stage, Record], directory: Path) -> bool:
    """True if an earlier stage ran again since codegen and wrote something else.

    A file that was changed by hand is none of that, nor is one that codegen read after such a change.
    """
    written = {name: digest for record in records.values() for name, digest in record.outputs.items()}
    suspects = {n: digest for n, digest in records["codegen"].inputs.items() if written.get(n) != digest}
    return any((directory / n).exists() and sha256_file(directory / n) != digest for n, digest in suspects.items())


def stage_key(stage: Stage, directory: Path, options: Options, reads: tuple[str, ...]) -> Record:
    """The record of a stage before it runs: without outputs. Raises PF0501 where an input cannot be read."""
    inputs = {name: sha256_file(directory / name) for name in reads}
    return Record(code_digest(), options.digest(stage), inputs, {})


@cache
def code_digest() -> str:
    """Digest of pfcomp's own source files: a changed compiler makes every stage run again."""
    root = Path(pfcomp.__file__).parent
    files = sorted(path for pattern in ("*.py", "*.fbs") for path in root.rglob(pattern))
    total = hashlib.sha256(pfcomp.__version__.encode())
    for path in files:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def _damaged(path: Path) -> ArtifactError:
    return ArtifactError("PF0521", "damaged manifest", where=str(path), hint=_DELETE)


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "code": record.code,
        "options": record.options,
        "inputs": dict(record.inputs),
        "outputs": dict(record.outputs),
        "figures": [[name, value] for name, value in record.figures],
    }


def _from_json(content: Mapping[str, Any]) -> Manifest:
    records: dict[Stage, Record] = {}
    for stage in STAGES:
        if stage in content["stages"]:
            row = content["stages"][stage]
            figures = tuple((str(name), value) for name, value in row["figures"])
            records[stage] = Record(row["code"], row["options"], dict(row["inputs"]), dict(row["outputs"]), figures)
    return Manifest(dict(content["options"]), records, str(content["pfcomp"]))
