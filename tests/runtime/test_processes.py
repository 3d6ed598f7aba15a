"""Many processes on few boards, some of them killed: the others finish with right results, no board stays locked."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from pfcomp.app import serialize
from pfcomp.cache import Cache
from pfcomp.runtime.boards import acquired
from tests.runtime.apps import add_app

WORKER = """
import sys
import numpy as np
from pathlib import Path
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.functions import open_program
program = open_program(parse_device("mncore2:auto"), Path(sys.argv[1]), "add")
x = np.full((3, 4), float(sys.argv[2]), np.float32)
for n in range(int(sys.argv[3])):
    y = np.full((3, 4), n, np.float32)
    out = program.call({"x": program.bind("x", x), "y": program.bind("y", y)}, {})["out"].read()
    assert (out == x + n).all()
    print(n, flush=True)
"""

COMPILING_WORKER = """
import sys
import torch
from pathlib import Path
from mlsdk import CacheOptions, Context, MNDevice
folder, number, calls = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
context = Context(MNDevice("mncore2:auto"))
x = torch.full((3, 4), float(number))
for n in range(calls):
    if n % 10 == 0:
        factor = float(n // 10 % 5 + 2)
        scale = context.compile(
            lambda i, factor=factor: {"out": i["x"] * factor + i["y"]},
            {"x": x, "y": x},
            folder / f"worker{number}",
            options={"float_dtype": "float"},
            cache_options=CacheOptions(str(folder / "cache")),
        )
    out = scale({"x": x, "y": torch.full((3, 4), float(n))})["out"].cpu()
    assert torch.equal(out, x * factor + n)
    print(n, flush=True)
"""


@pytest.fixture
def two_boards(monkeypatch):
    monkeypatch.setenv("PFCOMP_BOARDS", "2")
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", "300")


def start(worker, *arguments):
    command = [sys.executable, "-c", worker, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def stress(worker, target, *, processes, calls, victims, seed):
    """Run `processes` workers of `calls` calls; kill the first `victims` some time after a random one of their calls.

    The victims would run for ever. Checks that the others succeed and that all boards are free in the end.
    """
    generator = random.Random(seed)
    plan = [(generator.randrange(calls // 2), generator.uniform(0, 0.02)) for _ in range(victims)]
    running = [start(worker, target, n, 10**6 if n < victims else calls) for n in range(processes)]
    for (lines, pause), process in zip(plan, running, strict=False):
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(pause)
        process.kill()
    for number, process in enumerate(running):
        out, err = process.communicate()
        if number < victims:
            assert process.returncode == -signal.SIGKILL, err
        else:
            assert process.returncode == 0, err
            assert out.split() == [str(n) for n in range(calls)]
    with acquired((0,), seconds=0), acquired((1,), seconds=0):
        pass


@pytest.fixture
def app(tmp_path):
    path = tmp_path / "model.app"
    path.write_bytes(serialize(add_app()))
    return path


def test_killed_processes_harm_nobody(app, two_boards):
    stress(WORKER, app, processes=8, calls=50, victims=3, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 10))
def test_killed_processes_harm_nobody_at_other_moments(app, two_boards, seed):
    stress(WORKER, app, processes=8, calls=200, victims=3, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_compilations_break_no_cache_entry(tmp_path, two_boards, seed):
    stress(COMPILING_WORKER, tmp_path, processes=8, calls=50, victims=3, seed=seed)
    cache = Cache.of(tmp_path / "cache")
    entries = cache.entries()
    assert len(entries) >= 4
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    for entry in entries:
        assert cache.fetch(entry.stage, entry.key, fetched) is not None
    cache.collect()
    assert not list(cache.folder.rglob("*.tmp"))
