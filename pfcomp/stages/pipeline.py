"""From a source to a codegen_dir: the functions that mlsdk and the command line call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfcomp.cache import Cache
from pfcomp.errors import SourceError
from pfcomp.options import Options, Stage, load_preset, resolve
from pfcomp.stages import manifest as manifests
from pfcomp.stages import source
from pfcomp.stages.events import CompileResult, Observer, StageOutcome, ignore
from pfcomp.stages.execute import Work, execute, locked
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import MODEL, TABLE, StageInfo, stage_range

Function = Callable[[dict[str, Any]], Mapping[str, Any]]
Tables = Mapping[Stage, StageInfo]


def capture(directory: Path, function: Function, sample: Mapping[str, Any], states: Mapping[str, Any]) -> StageReport:
    """The stage trace of a function."""
    from pfcomp.stages.trace import trace_function

    return trace_function(directory, function, sample, states)


def take_model(directory: Path, model: Path) -> StageReport:
    """The stage trace of a user's ONNX model."""
    from pfcomp.stages.trace import from_onnx

    return from_onnx(directory, model)


def compile_function(
    function: Function,
    sample: Mapping[str, Any],
    directory: str | Path,
    options: Options | Mapping[str, object] | None = None,
    *,
    states: Mapping[str, Any] | None = None,
    stop: str | None = None,
    observer: Observer | None = None,
    cache: Cache | None = None,
    tables: Tables = TABLE,
    trace: Callable[..., StageReport] = capture,
) -> CompileResult:
    """Compiles a function of named tensors, for inputs like `sample`, into the folder `directory`.

    `states` are the registered tensors by name; `cache` supplies stages that ran before elsewhere. Inside a
    compile-only run (`pfcomp.stages.source`) the run's folder and options win. The function is traced every time;
    later stages are skipped where nothing changed. Raises the typed errors of the stages, UsageError PF0502 and
    PF0524, ArtifactError PF0522.
    """
    run = source.active()
    target = Path(directory) if run is None else run.place(directory)
    chosen = _options(options, run)
    watcher = observer if run is None else run.observer or observer
    last = stop if run is None else run.stop
    stages = _stages(tables, last, lambda folder: trace(folder, function, sample, states or {}))
    result = _compile(Work(target, stages, chosen, watcher or ignore, frozenset({"trace"}), cache=cache))
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
    cache: Cache | None = None,
    tables: Tables = TABLE,
    trace: Callable[..., StageReport] = take_model,
) -> CompileResult:
    """Compiles a `.onnx` or `.onnx.zst` file into the folder `directory`.

    Raises SourceError PF0804 where there is no such file, and what `compile_function` raises.
    """
    file = Path(model)
    if not file.is_file():
        raise SourceError("PF0804", "no such model file", where=str(file))
    stages = _stages(tables, stop, lambda folder: trace(folder, file))
    chosen = _options(options, None)
    work = Work(Path(directory), stages, chosen, observer or ignore, frozenset({"trace"}), cache=cache)
    return _compile(work)


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
        return _finish(work, execute(work, manifest))


def _options(given: Options | Mapping[str, object] | None, run: source.CompileOnly | None) -> Options:
    """The options of a compilation; those of a compile-only run win over those of the script."""
    if run is None or not (run.options or run.option_json):
        return given if isinstance(given, Options) else resolve(given)
    own = given.changed() if isinstance(given, Options) else dict(given or {})
    if run.option_json is not None:
        own["option_json"] = run.option_json
    return resolve({**own, **run.options})


def _stages(tables: Tables, stop: str | None, trace: Callable[[Path], StageReport]) -> list[StageInfo]:
    """All stages up to `stop`, the first one reading its source by `trace`."""
    first, *others = (tables[name] for name in stage_range(None, stop))
    return [replace(first, run=lambda folder, _options: trace(folder)), *others]


def _finish(work: Work, outcomes: tuple[StageOutcome, ...]) -> CompileResult:
    """The result, after the side output that `out_onnx` asks for."""
    wanted = work.options.text("out_onnx")
    if wanted and any(outcome.stage == "onnx" for outcome in outcomes):
        from pfcomp.pfvm.external import copy_model

        copy_model(work.directory / MODEL, Path(wanted))
    return CompileResult(work.directory, outcomes)


def _compile(work: Work) -> CompileResult:
    with locked(work.directory):
        manifest = manifests.load_for_compiling(work.directory)
        return _finish(work, execute(work, manifest))
