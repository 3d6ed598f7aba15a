"""The fuzz targets of tools/fuzz_parsers.py on some hundred inputs: only typed errors, and real finds are seen."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from pfcomp.errors import SourceError

SCRIPT = Path(__file__).parents[2] / "tools" / "fuzz_parsers.py"


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz_parsers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def script(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["vsm", "app", "bin"])
def test_random_inputs_are_refused_or_read(fuzz, name):
    target = fuzz.TARGETS[name]
    counts = fuzz.run_plain(target, seconds=60, seed=5, limit=300)
    assert counts.total() == 300
    assert counts[fuzz.ACCEPTED] >= len(target.seeds())
    assert len(counts) >= 2


@pytest.mark.parametrize("name", ["vsm", "app", "bin"])
def test_seeds_are_accepted(fuzz, name):
    target = fuzz.TARGETS[name]
    assert {fuzz.attempt(target, data) for data in target.seeds()} == {fuzz.ACCEPTED}


def test_the_same_seed_gives_the_same_inputs(fuzz):
    target = fuzz.TARGETS["bin"]
    assert fuzz.run_plain(target, 60, seed=3, limit=50) == fuzz.run_plain(target, 60, seed=3, limit=50)


def broken(fuzz, error):
    def check(data):
        raise error

    return fuzz.Target("broken", lambda: [b"x"], check, "ArtifactError")


def test_a_find_is_saved_and_raised(fuzz, tmp_path, capsys):
    with pytest.raises(ZeroDivisionError):
        fuzz.run_plain(broken(fuzz, ZeroDivisionError()), 1, limit=3, finds=tmp_path)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"x"]
    assert "broken: find saved as " in capsys.readouterr().err


def test_a_typed_error_of_the_wrong_kind_is_a_find(fuzz):
    with pytest.raises(SourceError):
        fuzz.run_plain(broken(fuzz, SourceError("PF0101", "x")), 1, limit=3)


def test_a_slow_input_is_a_find(fuzz, monkeypatch):
    monkeypatch.setattr(fuzz, "SLOW", -1.0)
    with pytest.raises(fuzz.FindError, match="took"):
        fuzz.attempt(fuzz.TARGETS["vsm"], b"nop")


def test_without_atheris_the_script_says_so(fuzz, monkeypatch, capsys):
    monkeypatch.setattr(fuzz.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["fuzz_parsers.py"])
    assert fuzz.main() == 2
    expected = "fuzz_parsers: atheris is not installed; `pip install atheris`, or use --plain\n"
    assert capsys.readouterr().err == expected


def test_the_script_runs_and_replays(tmp_path):
    done = script("--plain", "--seconds", "0.6", "--finds", str(tmp_path / "finds"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["vsm", "app", "bin"]
    (tmp_path / "input").write_bytes(b"fvadd")
    done = script("--target", "vsm", "--replay", str(tmp_path / "input"), "--finds", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "PF0101\n")
    assert script("--replay", str(tmp_path / "input"), "--finds", str(tmp_path)).returncode == 2
