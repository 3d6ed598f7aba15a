"""A pipeline of five tiny stages, for tests of the pipeline itself: every stage writes what it read, marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pfcomp.artifacts import atomic_write, read_maybe_zst, read_zst, write_zst
from pfcomp.options import Options
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import CAPTURED, SOURCE_MODEL, TABLE, StageInfo


def _content(directory: Path, info: StageInfo) -> bytes:
    return b"|".join(read_zst(directory / name) for name in info.reads(directory))


def _fake(info: StageInfo, ran: list[str] | None) -> StageInfo:
    def run(directory: Path, options: Options) -> StageReport:
        if ran is not None:
            ran.append(info.name)
        data = f"{info.name}:{options['float_dtype']}:".encode() + _content(directory, info)
        return _write(directory, info, data)

    return replace(info, run=run)


def _write(directory: Path, info: StageInfo, data: bytes) -> StageReport:
    for name in info.outputs:
        (write_zst if name.endswith(".zst") else atomic_write)(directory / name, data)
    return StageReport(info.name, (("bytes", len(data)),), info.outputs)


def fakes(ran: list[str] | None = None) -> dict[str, object]:
    """Keywords for `compile_function`: the real table with other runners; `ran` receives the names of those run."""

    def trace(directory: Path, function: object, sample: dict[str, object], states: object) -> StageReport:
        if ran is not None:
            ran.append("trace")
        (directory / SOURCE_MODEL).unlink(missing_ok=True)
        return _write(directory, TABLE["trace"], f"{sorted(sample)}".encode())

    return {"tables": fake_tables(ran), "trace": trace}


def fake_tables(ran: list[str] | None = None) -> dict[str, StageInfo]:
    """The stages only, for `run_stages`."""
    return {name: _fake(info, ran) for name, info in TABLE.items()}


def model_fakes(ran: list[str] | None = None) -> dict[str, object]:
    """The same for `compile_onnx`."""

    def trace(directory: Path, model: Path) -> StageReport:
        if ran is not None:
            ran.append("trace")
        (directory / CAPTURED).unlink(missing_ok=True)
        data = read_maybe_zst(model)
        write_zst(directory / SOURCE_MODEL, data)
        atomic_write(directory / "trace.txt", data)
        return StageReport("trace", (("bytes", len(data)),), ("trace.txt", SOURCE_MODEL))

    return {"tables": fake_tables(ran), "trace": trace}
