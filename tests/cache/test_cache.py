"""The compilation cache: hits by content, damage, eviction, many processes, trouble that must not matter."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from pfcomp.cache import ENTRY, KINDS, TAG, Cache, CacheWarning
from pfcomp.cli import cache as command
from pfcomp.cli.main import cli
from pfcomp.errors import ArtifactError, SourceError, UsageError
from pfcomp.options import STAGES
from pfcomp.stages import manifest
from pfcomp.stages.pipeline import compile_function
from tests.cli.test_main import ends
from tests.stages.fakes import fakes


@pytest.fixture(autouse=True)
def same_compiler(monkeypatch):
    """The tests must not depend on who edits the compiler's sources meanwhile."""
    monkeypatch.setattr(manifest, "code_digest", lambda: "code")


@pytest.fixture
def cache(tmp_path):
    return Cache.of(tmp_path / "cache")


@pytest.fixture
def build(tmp_path, cache):
    """Compiles into a folder; returns the stages that ran."""

    def call(name, options=None, use=cache):
        ran = []
        compile_function(lambda i: i, {"x": 1}, tmp_path / name, options, cache=use, **fakes(ran))
        return ran

    return call


def tree(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir()}


def test_a_second_folder_gets_everything_from_the_cache(build, tmp_path, cache):
    assert build("a") == list(STAGES)
    assert build("b") == ["trace"]
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert [entry.stage for entry in cache.entries()] == ["onnx", "schedule", "simulate", "codegen"]
    assert sorted(p.name for p in cache.folder.iterdir()) == sorted([*KINDS.values(), ".lock", TAG])


def test_options_of_later_stages_keep_earlier_entries(build):
    build("a")
    assert build("b", {"sram_budget": 0.5}) == ["trace", "schedule", "codegen"]
    assert build("c", {"simulation_mode": "best"}) == ["trace", "schedule", "codegen"]
    assert build("d", {"float_dtype": "half"}) == list(STAGES)


@pytest.mark.parametrize(
    ("switch", "ran"),
    [
        ({"app": False}, ["trace", "codegen"]),
        ({"onnx": False}, ["trace", "onnx"]),
        ({"codegen": False}, ["trace", "schedule", "simulate"]),
    ],
)
def test_switches(build, cache, switch, ran):
    build("a")
    assert build("b", use=Cache.of(cache.folder, **switch)) == ran


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "model.app").write_bytes(b"other"),
        lambda place: (place / "model.app").unlink(),
        lambda place: (place / ENTRY).write_bytes(b"{"),
        lambda place: (place / ENTRY).write_bytes(b"[]"),
        lambda place: (place / ENTRY).write_bytes(b'{"files": {"../../x": "0"}}'),
        lambda place: (place / ENTRY).unlink(),
    ],
)
def test_damaged_entries_are_made_again(build, cache, tmp_path, damage):
    build("a")
    damage(next(entry.folder for entry in cache.entries() if entry.stage == "codegen"))
    assert build("b") == ["trace", "codegen"]
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert build("c") == ["trace"]


def test_a_failed_stage_leaves_no_entry(cache, tmp_path):
    keywords = fakes()

    def fail(directory, options):
        (directory / "l3ir.txt").write_text("half")
        raise SourceError("PF0805", "no")

    keywords["tables"]["schedule"] = replace(keywords["tables"]["schedule"], run=fail)
    with pytest.raises(SourceError):
        compile_function(lambda i: i, {}, tmp_path / "a", cache=cache, **keywords)
    assert [entry.stage for entry in cache.entries()] == ["onnx"]


def test_the_least_recently_used_entries_go_first(build, cache):
    build("a")
    for number, entry in enumerate(cache.entries()):
        os.utime(entry.folder / ENTRY, (number, number))
    build("b", use=Cache.of(cache.folder, onnx=False, app=False))  # uses schedule and simulate
    order = [entry.stage for entry in cache.entries()]
    assert order[:2] == ["onnx", "codegen"]
    sizes = [entry.size for entry in cache.entries()]
    assert cache.collect(sum(sizes) - 1) == 1
    assert [entry.stage for entry in cache.entries()] == order[1:]
    assert cache.collect(0) == 3
    assert cache.entries() == []


def test_the_limit_holds_while_compiling(tmp_path):
    small = Cache.of(tmp_path / "cache", limit=2000)
    for number in range(8):
        compile_function(lambda i: i, {str(number): 1}, tmp_path / "a", cache=small, **fakes())
        assert sum(entry.size for entry in small.entries()) <= 2000
    assert small.entries()


def test_what_killed_processes_left_is_removed(build, cache):
    build("a")
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = cache.folder / "app" / f".{'0' * 40}.{int(child.stdout)}.0.tmp"
    left.mkdir()
    (left / "model.app").write_bytes(b"half")
    cache.collect()
    assert not left.exists()
    assert len(cache.entries()) == 4


def test_a_folder_that_cannot_be_written_warns_and_compiles(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning, match="cache .*file/cache not used"):
        result = compile_function(lambda i: i, {}, tmp_path / "a", cache=Cache(tmp_path / "file/cache"), **fakes())
    assert result.app.exists()


_CHILD = """
import sys
sys.path.insert(0, {root!r})
from tests.stages.fakes import fakes
from pfcomp.cache import Cache
from pfcomp.stages import manifest
from pfcomp.stages.pipeline import compile_function
manifest.code_digest = lambda: "code"
cache = Cache.of({folder!r}, limit=3000)
for number in range(12):
    compile_function(lambda i: i, {{str(number % 3): 1}}, f"{out}/{{number % 2}}", cache=cache, **fakes())
"""


def test_many_processes_share_one_cache(tmp_path, cache, request, build):
    root = str(request.config.rootpath)
    codes = [_CHILD.format(root=root, folder=str(cache.folder), out=tmp_path / f"p{n}") for n in range(3)]
    children = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for code in codes]
    assert [child.wait(300) for child in children] == [0, 0, 0]
    build("a", use=None)
    build("b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert not [p for kind in KINDS.values() for p in (cache.folder / kind).glob(".*")]


def test_info_clear_gc_why(build, cache, tmp_path, monkeypatch, capsys):
    def call(*arguments):
        return ends(monkeypatch, capsys, cli, "cache", *arguments, "--cache-dir", str(cache.folder))

    build("a")
    kinds = json.loads(call("info", "--json")[1])["kinds"]
    assert {kind: row["entries"] for kind, row in kinds.items()} == dict.fromkeys(KINDS.values(), 1)
    assert "simulation_result" in call("info")[1]
    assert call("why", str(tmp_path / "a"))[1].splitlines() == [f"{stage}: in the cache" for stage in KINDS]
    build("b", {"float_dtype": "half"}, use=None)
    lines = call("why", str(tmp_path / "b"))[1].splitlines()
    assert lines[0] == "onnx: not in the cache; different from the nearest entry: options of the stage"
    assert call("gc", "--limit", "1K")[1] != "0 entries removed\n"
    build("c")
    assert call("clear")[1] == "4 entries removed\n"
    assert call("why", str(tmp_path / "b"))[1].splitlines()[0].endswith("has no entry of this kind")
    status, _, err = call("gc", "--limit", "much")
    assert (status, err) == (2, "pfcomp: PF0801: size 'much' is not understood; write 500M or 10G\n")


def test_other_folders_are_left_alone(tmp_path, cache):
    (tmp_path / "precious" / "app" / "abc").mkdir(parents=True)
    with pytest.raises(ArtifactError, match=r"PF0530: .*precious: is not a cache of pfcomp; give the cache_dir"):
        Cache(tmp_path / "precious").clear()
    assert (tmp_path / "precious" / "app" / "abc").exists()
    assert cache.clear() == 0


def test_sizes():
    assert [command.parse_size(text) for text in ("5", "1K", "2MB", "3GiB")] == [5, 1024, 2 << 20, 3 << 30]
    with pytest.raises(UsageError):
        command.parse_size("-1")
