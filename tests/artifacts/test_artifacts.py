"""Atomic writes, Zstandard with limits, canonical JSON."""

import subprocess
import sys
import threading

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp import artifacts
from pfcomp.artifacts import (
    atomic_write,
    canonical_json,
    compress,
    decompress,
    read_bytes,
    read_maybe_zst,
    read_zst,
    remove_leftovers,
    sha256,
    sha256_file,
    temporary_name,
    write_zst,
)
from pfcomp.errors import ArtifactError, UsageError


def test_a_reader_sees_old_or_new_but_never_a_part(tmp_path):
    path = tmp_path / "file"
    contents = {bytes([n]) * 50_000 for n in range(4)}
    atomic_write(path, next(iter(contents)))
    stop = threading.Event()
    seen = set()

    def read():
        while not stop.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    writers = [
        threading.Thread(target=lambda c=c: [atomic_write(path, c) for _ in range(20)]) for c in sorted(contents)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    reader.join()
    assert seen <= contents
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "file"
    atomic_write(path, b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(artifacts.os, "fsync", full)
    with pytest.raises(UsageError, match=r"PF0502: .*cannot be written \(No space left on device\); choose another"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"PF0502: .*none: cannot be written"):
        atomic_write(tmp_path / "none" / "file", b"")


def test_leftovers_of_dead_processes_go_others_stay(tmp_path):
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = tmp_path / f".model.app.{int(child.stdout)}.0.tmp"
    own = temporary_name(tmp_path / "model.app")
    for path in (dead, own, tmp_path / ".other.tmp"):
        path.write_bytes(b"")
    remove_leftovers(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([own.name, ".other.tmp"])


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=5000))
def test_zstandard_round_trip_is_deterministic(data):
    assert compress(data) == compress(data)
    assert decompress(compress(data), where="x", limit=len(data)) == data


def test_zst_files(tmp_path):
    path = tmp_path / "a.zst"
    write_zst(path, b"hello")
    assert read_zst(path) == read_maybe_zst(path) == b"hello"
    atomic_write(path, b"plain")
    assert read_maybe_zst(path) == b"plain"
    with pytest.raises(ArtifactError, match=r"PF0503"):
        read_zst(path)
    with pytest.raises(ArtifactError, match=r"PF0501"):
        read_bytes(tmp_path)


@pytest.mark.parametrize(
    "change", [lambda d: d[:-1], lambda d: d + b"x", lambda d: d[:4], lambda d: b"", lambda d: d * 2]
)
def test_cut_or_longer_frames(change):
    with pytest.raises(ArtifactError, match=r"PF0503: name: .*; make the file again"):
        decompress(change(compress(b"hello" * 100)), where="name")


def test_bombs():
    with pytest.raises(ArtifactError, match=r"PF0504: x: holds more than the 1000 bytes allowed"):
        decompress(compress(bytes(1001)), where="x", limit=1000)
    silent = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    frame = silent.compress(bytes(1 << 20)) + silent.flush()
    assert zstandard.frame_content_size(frame) == -1
    with pytest.raises(ArtifactError, match=r"PF0504"):
        decompress(frame, where="x", limit=1 << 19)
    assert decompress(frame, where="x", limit=1 << 20) == bytes(1 << 20)


def test_digests_and_json(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert sha256(b"abc") == sha256_file(tmp_path / "f")
    assert sha256(b"abc").startswith("ba7816bf")
    assert canonical_json({"b": 1, "a": [1.5, "ü"]}) == '{"a":[1.5,"ü"],"b":1}\n'.encode()
    with pytest.raises(ArtifactError, match=r"PF0501"):
        sha256_file(tmp_path / "g")
