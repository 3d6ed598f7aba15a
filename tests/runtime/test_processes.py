"""Many processes on few boards, some of them killed: the others finish with right results, no board stays locked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfcomp.app import serialize
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


@pytest.fixture
def two_boards(monkeypatch):
    monkeypatch.setenv("PFCOMP_BOARDS", "2")
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", "60")


def start(app: Path, number: int, calls: int) -> subprocess.Popen:
    command = [sys.executable, "-c", WORKER, str(app), str(number), str(calls)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def test_killed_processes_harm_nobody(tmp_path, two_boards):
    app = tmp_path / "model.app"
    app.write_bytes(serialize(add_app()))
    workers = [start(app, number, 10**6 if number < 2 else 12) for number in range(4)]
    for lines, worker in enumerate(workers[:2], 1):
        for _ in range(lines):
            worker.stdout.readline()
        worker.kill()
    for number, worker in enumerate(workers):
        out, err = worker.communicate()
        assert worker.returncode < 0 if number < 2 else worker.returncode == 0, err
        assert number < 2 or out.split() == [str(n) for n in range(12)]
    with acquired((0,), seconds=0), acquired((1,), seconds=0):
        pass
