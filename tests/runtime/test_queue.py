"""The job queue: order, errors at the waiting point, back pressure, fork and interpreter exit."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import pytest

from pfcomp.errors import DeviceError
from pfcomp.runtime.queue import LIMIT, LOOK_SECONDS, WorkQueue, drain_all


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


def test_an_interrupted_call_comes_after_the_same_jobs_when_repeated():
    def interrupt(*_):
        raise KeyboardInterrupt

    queue, gate, seen = WorkQueue("test"), threading.Event(), []
    queue.submit("long", lambda: gate.wait() and seen.append(1))
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            queue.call(seen.copy)
    finally:
        signal.signal(signal.SIGALRM, former)
    threading.Timer(0.05, gate.set).start()
    assert queue.call(seen.copy) == [1]


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


def here(seen):
    """A job that notes the thread that runs it."""
    return lambda: seen.append(threading.get_ident())


def busy(patient):
    return nullcontext(patient)


def test_a_waiting_thread_runs_short_jobs_itself():
    queue, seen = WorkQueue("test"), []
    queue.submit("long", here(seen)).wait()
    time.sleep(3 * LOOK_SECONDS)  # the queue's thread is between two looks again
    for _ in range(20):
        queue.submit("short", here(seen), short=True).wait()
    assert seen[0] != threading.get_ident()
    assert seen[1:].count(threading.get_ident()) >= 10


def test_short_jobs_need_no_waiting_thread():
    queue, done = WorkQueue("test"), threading.Event()
    queue.submit("long", lambda: None).wait()
    for _ in range(5):
        queue.submit("short", done.set, short=True)
        assert done.wait(10)
        done.clear()


def test_a_queue_that_sleeps_soundly_is_woken(monkeypatch):
    monkeypatch.setattr("pfcomp.runtime.queue.LOOKS", 1)
    queue, done = WorkQueue("test"), threading.Event()
    queue.submit("long", lambda: None).wait()
    while queue._looking:
        time.sleep(LOOK_SECONDS)
    queue.submit("short", done.set, short=True)
    assert done.wait(10)


def test_jobs_that_would_have_to_wait_are_left_to_the_thread_of_the_queue():
    queue, seen = WorkQueue("test"), []
    for _ in range(3):
        queue.submit("short", here(seen), guard=busy, short=True).wait()
    assert len(seen) == 3
    assert threading.get_ident() not in seen


def test_failing_guard():
    def guard(patient):
        raise DeviceError("PF0605", "no board")

    queue = WorkQueue("test")
    for short in (False, True):
        with pytest.raises(DeviceError, match="PF0605: no board"):
            queue.submit("x", lambda: None, guard=guard, short=short).wait()
    assert queue.submit("y", lambda: 4).wait() == 4


def test_many_threads():
    queue, seen, total = WorkQueue("test"), [], []

    def work(first):
        for n in range(first, first + 100):
            ticket = queue.submit(str(n), lambda n=n: seen.append(n), short=n % 3 > 0)
            if n % 2:
                ticket.wait()
                total.append(queue.call(lambda: len(seen)))

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    queue.drain()
    assert sorted(seen) == [1000 * i + n for i in range(6) for n in range(100)]
    for i in range(6):
        own = [n for n in seen if n // 1000 == i]
        assert own == sorted(own)


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_signals_interrupt_no_job_but_its_waiter(error):
    def handler(*_):
        raise error

    def job():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
        seen.append(threading.get_ident())
        return 5

    def wait_for_the_signal(ticket):
        queue.help(ticket)
        time.sleep(10)  # where the queue's thread was faster, the handler runs here

    queue, seen = WorkQueue("test"), []
    queue.submit("long", lambda: None).wait()
    former = signal.signal(signal.SIGALRM, handler)
    try:
        for n in range(1, 20):
            ticket = queue.submit("short", job, short=True)
            with pytest.raises(error):
                wait_for_the_signal(ticket)
            assert ticket.wait() == 5
            assert len(seen) == n
            assert signal.getsignal(signal.SIGALRM) is handler
        assert queue.submit("next", lambda: 6).wait() == 6
        assert threading.get_ident() in seen
    finally:
        signal.signal(signal.SIGALRM, former)
