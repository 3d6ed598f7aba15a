"""Run the command line tools in fresh processes, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAINS = {
    "pfcomp": "pfcomp.cli.main",
    "pfrun": "pfcomp.cli.pfrun",
    "dump_gpfnapp": "pfcomp.cli.dump_gpfnapp",
    "gpfn3-smi": "pfcomp.cli.gpfn3_smi",
}


def start(*command: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Start `pfcomp ...`, `pfrun ...` or a Python script with this checkout importable."""
    name, *rest = map(str, command)
    head = ["-c", f"from {MAINS[name]} import main; main()"] if name in MAINS else [name]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, *head, *rest],
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    *command: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run to the end; at most five minutes."""
    process = start(*command, env=env, cwd=cwd)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def succeed(*command: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run, insist on exit code 0, and return what was printed."""
    done = run(*command, env=env, cwd=cwd)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def one_line_error(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    """A failed command ends with `code` and one line on stderr that holds `parts`; no traceback."""
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0]
