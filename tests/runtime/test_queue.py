"""The job queue: order, errors at the waiting point, back pressure, fork and interpreter exit."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from pfcomp.errors import DeviceError
from pfcomp.runtime.queue import LIMIT, WorkQueue, drain_all


def test_jobs_run_in_order_on_one_thread():
    queue, seen = WorkQueue("test"), []
    tickets = [queue.submit(str(n), lambda n=n: seen.append((n, threading.get_ident()))) for n in range(50)]
    queue.drain()
    assert [n for n, _ in seen] == list(range(50))
    assert len({thread for _, thread in seen}) == 1
    assert all(ticket.done for ticket in tickets)


def test_error_reaches_every_waiter_with_the_label():
    queue = WorkQueue("test")
    ticket = queue.submit("train_step", lambda: 1 / 0)
    after = queue.submit("next", lambda: 7)
    for _ in range(2):
        with pytest.raises(DeviceError, match="PF0607: train_step: ZeroDivisionError: division by zero"):
            ticket.wait()
    assert after.wait() == 7


def test_typed_errors_stay_as_they_are():
    def fail():
        raise DeviceError("PF0606", "full")

    with pytest.raises(DeviceError, match="PF0606: full"):
        WorkQueue("test").submit("x", fail).wait()


def test_a_job_may_submit_to_its_own_queue():
    queue = WorkQueue("test")
    assert queue.submit("outer", lambda: queue.submit("inner", lambda: 5).wait()).wait() == 5


def test_outstanding_jobs_are_bounded():
    queue, gate, most = WorkQueue("test"), threading.Event(), []
    started = []

    def submit_all():
        for n in range(3 * LIMIT):
            started.append(queue.submit(str(n), gate.wait))
            most.append(len([t for t in started if not t.done]))

    worker = threading.Thread(target=submit_all)
    worker.start()
    gate.set()
    worker.join()
    drain_all()
    assert max(most) <= LIMIT + 1


def test_forked_child_has_a_working_queue_and_lost_jobs_fail():
    queue, gate = WorkQueue("test"), threading.Event()
    blocked = queue.submit("blocked", gate.wait)
    child = os.fork()
    if child == 0:
        try:
            blocked.wait()
        except DeviceError as error:
            os._exit(0 if error.code == "PF0607" and queue.submit("new", lambda: 3).wait() == 3 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.set()
    assert blocked.wait()


def test_an_interrupted_wait_loses_nothing():
    def interrupt(*_):
        raise KeyboardInterrupt

    queue, gate = WorkQueue("test"), threading.Event()
    ticket = queue.submit("long", lambda: gate.wait() and 5)
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            ticket.wait()
    finally:
        signal.signal(signal.SIGALRM, former)
    gate.set()
    assert ticket.wait() == 5


def test_jobs_are_finished_at_interpreter_exit():
    program = """
import threading
from pfcomp.runtime.queue import WorkQueue
def job():
    threading.Event().wait(0.05)
    print("done", flush=True)
WorkQueue("test").submit("late", job)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "done\n"
