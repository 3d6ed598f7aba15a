"""From a source to a codegen_dir: the functions that mlsdk and the command line call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfcomp.artifacts import atomic_write, compress, read_bytes, read_maybe_zst
from pfcomp.errors import ArtifactError, SourceError
from pfcomp.options import Options, Stage, load_preset, resolve
from pfcomp.stages import manifest as manifests
from pfcomp.stages import source
from pfcomp.stages.events import CompileResult, Observer, ignore
from pfcomp.stages.execute import Work, execute, locked
from pfcomp.stages.manifest import Manifest
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import SOURCE_MODEL, TABLE, Run, StageInfo, stage_range

if TYPE_CHECKING:
    from collections.abc import Callable

Tables = Mapping[Stage, StageInfo]


def compile_function(
    function: Callable[[dict[str, Any]], Mapping[str, Any]],
    sample: Mapping[str, Any],
    directory: str | Path,
    options: Options | Mapping[str, object] | None = None,
    *,
    states: Mapping[str, Any] | None = None,
    stop: str | None = None,
    observer: Observer | None = None,
    tables: Tables = TABLE,
) -> CompileResult:
    """Compiles a function of named tensors, for inputs like `sample`, into the folder `directory`.

    `states` are the registered tensors by name. Inside a compile-only run (`pfcomp.stages.source`) the run's folder
    and options win. The function is traced every time; later stages are skipped where nothing changed. Raises the
    typed errors of the stages, UsageError PF0502 and PF0524, ArtifactError PF0522.
    """
    run = source.active()
    target = Path(directory) if run is None else run.place(directory)
    chosen = _options(options, run)
    if run is not None:
        observer = run.observer or observer
    stages = [tables[name] for name in stage_range(None, stop)]
    stages[0] = replace(stages[0], run=_tracer(stages[0].run, function, sample, states or {}))
    work = Work(target, stages, chosen, observer or ignore, frozenset({"trace"}))
    with locked(target):
        manifest = manifests.load_for_compiling(target)
        (target / SOURCE_MODEL).unlink(missing_ok=True)
        result = CompileResult(target, execute(work, manifest))
    if run is not None:
        run.results.append(result)
    return result


def compile_onnx(
    model: str | Path,
    directory: str | Path,
    options: Options | Mapping[str, object] | None = None,
    *,
    stop: str | None = None,
    observer: Observer | None = None,
    tables: Tables = TABLE,
) -> CompileResult:
    """Compiles a `.onnx` or `.onnx.zst` file into the folder `directory`; the stage trace does not apply.

    Raises SourceError PF0804 where the model cannot be read, and what `compile_function` raises.
    """
    target = Path(directory)
    content = _read_model(Path(model))
    stages = [tables[name] for name in stage_range(None, stop, first="onnx")]
    work = Work(target, stages, _options(options, None), observer or ignore)
    with locked(target):
        manifest = manifests.load_for_compiling(target)
        manifest = _install_model(content, target, manifest)
        return CompileResult(target, execute(work, manifest))


def run_stages(
    directory: str | Path,
    start: str | None = None,
    stop: str | None = None,
    options: Mapping[str, object] | None = None,
    *,
    option_json: str | None = None,
    observer: Observer | None = None,
    tables: Tables = TABLE,
) -> CompileResult:
    """Continues in a codegen_dir: stages `start` (default onnx) to `stop` (default codegen) from the files there.

    The options are those of the folder's last compilation with `option_json` and `options` on top. Files that were
    changed by hand are kept, and what follows is made from them. Raises ArtifactError PF0520 to PF0523, and what the
    stages raise.
    """
    target = Path(directory)
    manifests.load_own(target)  # before the lock: a folder that isn't ours stays as it is
    names = stage_range(start, stop, first="onnx")
    with locked(target):
        manifest = manifests.load_own(target)
        preset = load_preset(option_json) if option_json else {}
        chosen = resolve({**manifest.options, **preset, **(options or {})})
        work = Work(target, [tables[name] for name in names], chosen, observer or ignore, keep_edits=True)
        return CompileResult(target, execute(work, manifest))


def _options(given: Options | Mapping[str, object] | None, run: source.CompileOnly | None) -> Options:
    """The options of a compilation; those of a compile-only run win over those of the script."""
    if run is None or not (run.options or run.option_json):
        return given if isinstance(given, Options) else resolve(given)
    own = given.changed() if isinstance(given, Options) else dict(given or {})
    if run.option_json is not None:
        own["option_json"] = run.option_json
    return resolve({**own, **run.options})


def _tracer(run: Run, function: Any, sample: Mapping[str, Any], states: Mapping[str, Any]) -> Run:
    """The stage trace of one function."""

    def trace(directory: Path, options: Options) -> StageReport:
        stage: Any = run
        report: StageReport = stage(directory, options, function=function, sample=sample, states=states)
        return report

    return trace


def _read_model(path: Path) -> bytes:
    try:
        return read_maybe_zst(path)
    except ArtifactError as error:
        raise SourceError("PF0804", error.what, where=str(path)) from error


def _install_model(content: bytes, directory: Path, manifest: Manifest) -> Manifest:
    """Puts the user's model into the folder, in place of what another source left there."""
    for name in TABLE["trace"].outputs:
        (directory / name).unlink(missing_ok=True)
    path = directory / SOURCE_MODEL
    packed = compress(content)
    if not path.exists() or read_bytes(path) != packed:
        atomic_write(path, packed)
    return manifest.without("trace")
