"""A pipeline of five tiny stages, for tests of the pipeline itself: every stage writes what it read, marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pfcomp.artifacts import atomic_write, read_zst, write_zst
from pfcomp.options import Options
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import TABLE, StageInfo


def _content(directory: Path, info: StageInfo) -> bytes:
    return b"|".join(read_zst(directory / name) for name in info.reads(directory))


def fake_tables(ran: list[str] | None = None):
    """The real table with other runners; `ran` receives the names of the stages that run."""

    def fake(info: StageInfo) -> StageInfo:
        def run(directory: Path, options: Options, **traced: object) -> StageReport:
            if ran is not None:
                ran.append(info.name)
            text = f"{info.name}:{options['float_dtype']}:{sorted(traced.get('sample', {}))}:".encode()
            data = text + _content(directory, info)
            for name in info.outputs:
                (write_zst if name.endswith(".zst") else atomic_write)(directory / name, data)
            return StageReport(info.name, (("bytes", len(data)),), info.outputs)

        return replace(info, run=run)

    return {name: fake(info) for name, info in TABLE.items()}
