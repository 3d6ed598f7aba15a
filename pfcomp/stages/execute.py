"""Runs stages in a codegen_dir: under the folder's lock, skipping fresh ones, keeping the manifest true."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from pfcomp.artifacts import make_folder, remove_leftovers, sha256_file, unwritable
from pfcomp.cache import Cache
from pfcomp.errors import ArtifactError, UsageError
from pfcomp.options import STAGES, Options, Stage
from pfcomp.stages import manifest as manifests
from pfcomp.stages.events import Event, Observer, StageOutcome
from pfcomp.stages.manifest import Manifest, Record
from pfcomp.stages.table import FILES, TABLE, StageInfo

LOCK = ".lock"
LOCK_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Work:
    """Stages to run in `directory`, in order.

    `always` names stages that cannot be fresh, because what they read isn't a file (a Python function).
    `keep_edits`: a file that was changed by hand since its stage wrote it stays, and what follows is made from it;
    otherwise the stage runs again.
    """

    directory: Path
    stages: Sequence[StageInfo]
    options: Options
    observer: Observer
    always: frozenset[Stage] = frozenset()
    keep_edits: bool = False
    cache: Cache | None = None


@contextmanager
def locked(directory: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Holds the folder's lock, so that processes compiling into it take turns.

    The folder is made if missing. Raises UsageError PF0502 where it cannot be written, PF0524 after `seconds`.
    """
    make_folder(directory)
    if not os.access(directory, os.W_OK):
        raise unwritable(directory, PermissionError(13, "Permission denied"))
    lock = FileLock(directory / LOCK, timeout=seconds, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        what = f"another process has been compiling into it for {seconds:.0f} s"
        raise UsageError("PF0524", what, where=str(directory), hint="end it, or choose another folder") from error
    except OSError as error:
        raise unwritable(directory, error) from error
    try:
        remove_leftovers(directory)
        yield
    finally:
        lock.release()


def execute(work: Work, manifest: Manifest) -> tuple[StageOutcome, ...]:
    """Runs the stages that are not fresh; the lock must be held. Returns an outcome for each stage."""
    outcomes: list[StageOutcome] = []
    current = replace(manifest, options=work.options.changed())
    if current.options != manifest.options or not (work.directory / manifests.NAME).exists():
        current.save(work.directory)
    for stage in work.stages:
        _need_inputs(stage, work.directory)
        key = manifests.stage_key(stage.name, work.directory, work.options, stage.reads(work.directory))
        recorded = current.records.get(stage.name)
        if recorded is not None and _fresh(work, stage, key, recorded):
            work.observer(Event("skipped", stage.name, work.directory, 0.0, recorded.figures))
            outcomes.append(StageOutcome(stage.name, "fresh", 0.0, recorded.figures))
            continue
        current = _invalidated(current, stage.name, work.directory)
        outcome, record = _cached(work, stage, key) or _run(work, stage, key)
        current = current.with_record(stage.name, record)
        current.save(work.directory)
        outcomes.append(outcome)
    _drop_stale(work, current)
    return tuple(outcomes)


def _drop_stale(work: Work, manifest: Manifest) -> None:
    """Removes what stages after the last one made from other inputs or options: an old app must not be taken for new.

    Where the input of a stage is removed, its own files go as well.
    """
    kept = manifest
    for stage in STAGES[STAGES.index(work.stages[-1].name) + 1 :]:
        recorded, info = manifest.records.get(stage), TABLE[stage]
        if recorded is None:
            continue
        reads = info.reads(work.directory)
        complete = all((work.directory / name).exists() for name in reads)
        if complete and recorded.same_key(manifests.stage_key(stage, work.directory, work.options, reads)):
            continue
        for name in recorded.outputs:
            if name in FILES:
                (work.directory / name).unlink(missing_ok=True)
        kept = kept.without(stage)
    if kept is not manifest:
        kept.save(work.directory)


def _fresh(work: Work, stage: StageInfo, key: Record, recorded: Record) -> bool:
    if stage.name in work.always or not recorded.same_key(key):
        return False
    paths = {work.directory / name: digest for name, digest in recorded.outputs.items()}
    if not all(path.exists() for path in paths):
        return False
    return work.keep_edits or all(sha256_file(path) == digest for path, digest in paths.items())


def _need_inputs(stage: StageInfo, directory: Path) -> None:
    for name in stage.reads(directory):
        if not (directory / name).exists():
            hint = f"run the stage that writes it, or compile again; stage {stage.name} reads it"
            raise ArtifactError("PF0523", f"{name} is missing", where=str(directory), hint=hint)


def _invalidated(manifest: Manifest, stage: Stage, directory: Path) -> Manifest:
    """The manifest, on disk as well, without the record of a stage whose files are about to change."""
    if stage not in manifest.records:
        return manifest
    reduced = manifest.without(stage)
    reduced.save(directory)
    return reduced


def _cached(work: Work, stage: StageInfo, key: Record) -> tuple[StageOutcome, Record] | None:
    """The stage's files from the cache, None where it has none."""
    if work.cache is None or stage.name in work.always:
        return None
    found = work.cache.fetch(stage.name, key.key(), work.directory)
    if found is None:
        return None
    names, figures = found
    work.observer(Event("cached", stage.name, work.directory, 0.0, figures))
    record = replace(key, outputs=_digests(work.directory, names), figures=figures)
    return StageOutcome(stage.name, "cache", 0.0, figures), record


def _run(work: Work, stage: StageInfo, key: Record) -> tuple[StageOutcome, Record]:
    work.observer(Event("started", stage.name, work.directory))
    begin = time.perf_counter()
    try:
        report = stage.run(work.directory, work.options)
    except BaseException:
        work.observer(Event("failed", stage.name, work.directory, time.perf_counter() - begin))
        raise
    seconds = time.perf_counter() - begin
    if work.cache is not None and stage.name not in work.always:
        work.cache.store(stage.name, key.key(), work.directory, report.files, report.figures)
    work.observer(Event("finished", stage.name, work.directory, seconds, report.figures))
    record = replace(key, outputs=_digests(work.directory, report.files), figures=report.figures)
    return StageOutcome(stage.name, "ran", seconds, report.figures), record


def _digests(directory: Path, names: Sequence[str]) -> Mapping[str, str]:
    return {name: sha256_file(directory / name) for name in names}
