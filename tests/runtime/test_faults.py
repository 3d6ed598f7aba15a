"""Full disks, read-only caches, replaced apps, other versions, dead processes: what comes next is right."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name
from pfcomp.artifacts import temporary_name
from pfcomp.cache import KINDS, Cache
from pfcomp.errors import ArtifactError
from pfcomp.options import STAGES
from pfcomp.runtime.boards import board_lock
from pfcomp.stages import manifest
from pfcomp.stages.pipeline import compile_function
from tests.stages.fakes import fakes

DYING = """
import os, signal, sys
from pfcomp.runtime.boards import acquired
with acquired((0,)):
    print(os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
OPTIONS = {"float_dtype": "float"}
X = {"x": torch.ones(3, 4)}


def experiments(folder, stride):
    command = [sys.executable, "-m", "tests.runtime.faulty_compilations", str(folder), str(stride)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def judge(results):
    """What holds wherever a fault struck, and that the faults struck every stage and the cache."""
    for fault, rows in results.items():
        for row in rows:
            where = f"{fault} at {row['struck']}: {row}"
            assert row["same bytes"], where
            assert row["repaired"] == 0, where
            assert row["left in the end"] == [], where
            refused = re.fullmatch(r"PF0523: \S+/out: its last compilation did not come to an end.*", row["loadable"])
            assert row["loadable"] in ("old", "new") or refused, where
            assert row["broken"] == [], where
    for fault in ("kill", "full disk"):
        struck = {row["struck"].split("/")[0] for row in results[fault]}
        assert struck == {"out", "cache"}
    assert all(row["status"] == -9 for row in results["kill"] + results["kill, full cache"])
    for row in results["full disk"]:
        in_cache = row["struck"].startswith("cache/")
        assert row["left"] == []
        assert row["status"] == (0 if in_cache else 7)
        (line,) = row["said"]
        assert "No space left on device" in line
        assert line.startswith("warning: cache " if in_cache else "PF0502: ")
        assert row["loadable"] == "new" or not in_cache
    for row in results["small files"]:
        assert (row["left"], row["status"]) == ([], 7)
        assert any(re.match("PF0502: .*File too large", line) for line in row["said"])


def test_faults_in_the_middle_of_stages(tmp_path):
    judge(experiments(tmp_path, 3))


@pytest.mark.slow
def test_faults_at_every_write(tmp_path):
    results = experiments(tmp_path, 1)
    judge(results)
    assert {fault: len(rows) for fault, rows in results.items()} == {
        "kill": 37,
        "kill, full cache": 22,
        "full disk": 37,
        "small files": len(STAGES) + 8,
    }
    struck = {Path(row["struck"]).name.split(".")[1] for row in results["kill"]}
    assert struck >= {"captured", "trace", "model", "l3ir", "schedule", "simulation_result", "report", "manifest"}


CHILD = """
import sys
import pfcomp
pfcomp.__version__ = sys.argv[3] or pfcomp.__version__
from pathlib import Path
from pfcomp.cache import Cache
from pfcomp.stages.pipeline import compile_function
from tests.stages.fakes import fakes
for key in sys.argv[4:]:
    ran = []
    compile_function(lambda i: i, {key: 1}, Path(sys.argv[1]) / key, cache=Cache(Path(sys.argv[2])), **fakes(ran))
    print(*ran)
"""


def compile_fakes(folder, cache, *keys, version="", before=None):
    """Compile for each key in a new process of that version; the stages that ran for each, and stderr."""
    command = [sys.executable, "-c", CHILD, str(folder), str(cache), version, *keys]
    done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=before)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()], done.stderr


def obey_modes():
    """Files without write permission cannot be written, even by root."""
    drop_from_bounding_set, overrides_modes = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, overrides_modes, 0, 0, 0)


def test_a_read_only_cache_is_read_and_complained_about_once(tmp_path):
    cache = tmp_path / "cache"
    assert compile_fakes(tmp_path / "a", cache, "known") == ([list(STAGES)], "")
    before = sorted(cache.rglob("*"))
    folders = [cache, *(path for path in before if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        ran, said = compile_fakes(tmp_path / "b", cache, "known", "one", "two", before=obey_modes)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert ran == [["trace"], list(STAGES), list(STAGES)]
    assert said.count("CacheWarning") == 1, said
    assert f"cache {cache} not used: cannot be written (Permission denied); make it writable" in said
    assert sorted(cache.rglob("*")) == before
    assert (tmp_path / "b/two/model.app").exists()


def test_two_versions_share_a_cache(tmp_path):
    cache = Cache(tmp_path / "cache")
    everything, only_trace = [list(STAGES)], [["trace"]]
    for version in ("1.0.0", "2.0.0"):
        assert compile_fakes(tmp_path / version, cache.folder, "x", version=version) == (everything, "")
    assert len({entry.key["code"] for entry in cache.entries()}) == 2
    for version in ("1.0.0", "2.0.0"):
        assert compile_fakes(tmp_path / f"again{version}", cache.folder, "x", version=version) == (only_trace, "")
    assert len(cache.entries()) == 8
    newest = cache.entries()[-4:]
    assert cache.collect(sum(entry.size for entry in newest)) == 4
    assert cache.entries() == newest
    assert cache.clear() == 4
    assert compile_fakes(tmp_path / "new", cache.folder, "x", version="2.0.0") == (everything, "")


def test_two_versions_share_a_codegen_dir(tmp_path):
    folder, cache = tmp_path / "out", tmp_path / "cache"
    for version in ("1.0.0", "2.0.0", "1.0.0"):
        ran, _ = compile_fakes(folder, cache, "x", version=version)
        assert manifest.load(folder / "x").version == version
    assert ran == [["trace"]]
    with pytest.raises(ArtifactError, match=r"PF0522: .*written by pfcomp 1\.0\.0"):
        manifest.load_own(folder / "x")


def test_a_leftover_of_a_process_of_the_same_number(tmp_path):
    """In a container every process may have the same number, and counts its temporary files from 0."""
    cache = Cache(tmp_path / "cache")
    for folder in (cache.folder / kind for kind in KINDS.values()):
        folder.mkdir(parents=True)
    sample = {"x": 1}
    target = tmp_path / "first"
    compile_function(lambda i: i, sample, target, cache=cache, **fakes())
    names = [cache.place(entry.stage, entry.key) for entry in cache.entries()]
    cache.clear()
    following = int(temporary_name(tmp_path / "x").name.split(".")[-2])
    for number in range(following, following + 100):
        for place in names:
            place.with_name(f".{place.name}.{os.getpid()}.{number}.tmp").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_function(lambda i: i, sample, tmp_path / "second", cache=cache, **fakes())
    assert len(cache.entries()) == 4


class Compiled:
    """A function with a state that has been called once."""

    def __init__(self, folder):
        self.state = torch.zeros(3, 4)
        set_tensor_name(self.state, "state")
        self.folder = folder
        self.context = Context(MNDevice("emu2"))
        self.context.register_buffer(self.state)
        self.function = self.context.compile(self.count, X, folder, options=OPTIONS)

    def count(self, inputs):
        self.state.add_(inputs["x"])
        return {"out": self.state * 10}

    def call(self):
        return float(self.function(X)["out"].cpu()[0, 0])


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A codegen_dir of another program with the same input and output."""
    folder = tmp_path_factory.mktemp("other")
    Context(MNDevice("emu2")).compile(lambda i: {"out": i["x"] - 100}, X, folder, options=OPTIONS)
    return folder


def replaced_in_place(ours, other):
    for name in ("model.app", "model.onnx.zst"):
        (ours / name).write_bytes((other / name).read_bytes())


def damaged(ours, _other):
    for name in ("model.app", "model.onnx.zst"):
        os.truncate(ours / name, 100)


def removed(ours, _other):
    shutil.rmtree(ours)


@pytest.mark.parametrize("change", [replaced_in_place, damaged, removed])
def test_calls_go_on_with_the_program_that_was_loaded(tmp_path, other, change):
    ours = Compiled(tmp_path / "out")
    assert [ours.call(), ours.call()] == [10, 20]
    pending = ours.function(X)["out"]
    change(ours.folder, other)
    assert float(pending.cpu()[0, 0]) == 30
    assert [ours.call(), ours.call()] == [40, 50]
    ours.context.synchronize()
    assert torch.equal(ours.state, torch.full((3, 4), 5.0))


def test_a_board_of_a_dead_process_is_taken_over(tmp_path, other, monkeypatch):
    monkeypatch.setenv("PFCOMP_BOARDS", "1")
    dead = subprocess.run([sys.executable, "-c", DYING], check=False, capture_output=True, text=True)
    assert dead.returncode == -9, dead.stderr
    assert board_lock(0).holder().pid == int(dead.stdout)
    function = Context(MNDevice("mncore2:0")).load_codegen_dir(other)
    assert torch.equal(function(X)["out"].cpu(), torch.full((3, 4), -99.0))
    assert board_lock(0).holder().pid == os.getpid()
