"""Board locks among threads and processes."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from pfcomp.errors import DeviceError, UsageError
from pfcomp.runtime import boards
from pfcomp.runtime.boards import acquired, announce, board_lock, state_folder, wait_limit

HOLD = """
import sys
from pfcomp.runtime.boards import acquired
with acquired((0,)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder():
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_one_at_a_time_within_a_process():
    inside, most = [], []

    def work():
        for _ in range(20):
            with acquired((0,)):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 80


def test_busy_board_names_its_holder(holder):
    with pytest.raises(DeviceError) as caught, acquired((0,), seconds=0.05):
        pass
    assert caught.value.code == "PF0605"
    assert f"process {holder.pid}" in str(caught.value)
    assert "after waiting 0.05 s" in str(caught.value)


def test_auto_takes_another_board(holder):
    with acquired((0, 1), seconds=0) as index:
        assert index == 1


def test_board_is_free_after_its_holder_was_killed(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with acquired((0,), seconds=10) as index:
        assert index == 0
        assert board_lock(0).holder().pid == os.getpid()


def test_waiting_ends_when_the_holder_leaves(holder):
    timer = threading.Timer(0.05, holder.stdin.close)
    timer.start()
    with acquired((0,), seconds=20) as index:
        assert index == 0
    timer.join()


def test_a_broken_lock_is_taken_again(holder):
    board_lock(0).try_acquire()
    board_lock(0).break_lock()
    with acquired((0,), seconds=0):
        assert not board_lock(0).try_acquire()


def test_a_forked_child_excludes_its_parent():
    with acquired((0,)):
        child = os.fork()
        if child == 0:
            os._exit(board_lock(0).try_acquire())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_notice_once(capfd, monkeypatch):
    monkeypatch.setattr(boards._LOCKS, "told", False)
    announce(0)
    announce(0)
    assert capfd.readouterr().err == "pfcomp: no MN-Core 2 hardware; board 0 (mnc2emu0) is emulated\n"


def test_unusable_folder(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PFCOMP_STATE_DIR", str(tmp_path / "file" / "inside"))
    with pytest.raises(DeviceError, match="PF0604"):
        state_folder()


def test_lock_file_that_cannot_be_opened():
    (state_folder() / "board0.lock").mkdir()
    with pytest.raises(DeviceError, match="PF0604"):
        board_lock(0).try_acquire()
    assert board_lock(0).holder() is None


@pytest.mark.parametrize("value", ["-1", "soon", "inf", "nan"])
def test_bad_wait(monkeypatch, value):
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", value)
    with pytest.raises(UsageError, match="PF0602"):
        wait_limit()
