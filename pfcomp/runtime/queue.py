"""The queue of a device: jobs run one after another on one thread, callers wait only for what they need."""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pfcomp.errors import DeviceError, PfcompError
from pfcomp.runtime.tracing import recorded

Result = TypeVar("Result")
LIMIT = 8  # outstanding jobs of a queue


class Ticket(Generic[Result]):
    """The promise of a job's result. `wait` may be called by several threads and as often as they like."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._done = threading.Event()
        self._result: Result | None = None
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """True once the job has ended, well or not."""
        return self._done.is_set()

    def run(self, job: Callable[[], Result]) -> None:
        """Do the job now and keep its result or error."""
        try:
            self._result = job()
        except Exception as error:  # kept for the waiting caller, whatever it is
            self._error = error
        finally:
            self._done.set()

    def fail(self, error: Exception) -> None:
        """End without having run."""
        self._error = error
        self._done.set()

    def settle(self) -> None:
        """Wait for the end without looking at the outcome."""
        self._done.wait()

    def wait(self) -> Result:
        """The result. Raises the job's own typed error, or DeviceError PF0607 naming the job for any other."""
        self.settle()
        if isinstance(self._error, PfcompError):
            raise self._error
        if self._error is not None:
            what = f"{type(self._error).__name__}: {self._error}"
            raise DeviceError("PF0607", what, where=self.label) from self._error
        return self._result  # type: ignore[return-value] # set whenever there is no error


class WorkQueue:
    """Runs submitted jobs in order on a thread of its own, which starts with the first job.

    At interpreter exit outstanding jobs are finished. In a forked child the thread does not exist: jobs that were
    outstanding in the parent fail there with DeviceError PF0607, and new ones start a new thread.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._reset()

    def _reset(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._start = threading.Lock()
        self._running = threading.RLock()  # held while a job runs
        self._thread: threading.Thread | None = None
        self._pending: deque[Ticket[Any]] = deque()

    def submit(self, label: str, job: Callable[[], Result]) -> Ticket[Result]:
        """Enqueue `job`, first waiting while `LIMIT` others are outstanding; `label` names it in error messages."""
        ticket: Ticket[Result] = Ticket(label)
        if threading.current_thread() is self._thread:
            self._run(ticket, job)
            return ticket
        self._ensure_thread()
        self._settle(LIMIT - 1)  # bounds the device memory that outstanding jobs keep alive
        self._pending.append(ticket)
        self._jobs.put(lambda: self._run(ticket, job))
        return ticket

    def call(self, job: Callable[[], Result]) -> Result:
        """Run `job` on the calling thread after all jobs submitted so far: cheaper than `submit` for short ones."""
        if threading.current_thread() is not self._thread:
            self._settle(0)
        with self._running:
            return job()

    def _run(self, ticket: Ticket[Result], job: Callable[[], Result]) -> None:
        with self._running, recorded(f"queue {self.name}", ticket.label):
            ticket.run(job)

    def drain(self) -> None:
        """Wait until every job submitted so far has ended; errors stay with their tickets."""
        self.call(lambda: None)

    def after_fork(self) -> None:
        """Make the queue usable in a forked child."""
        lost = list(self._pending)
        self._reset()
        for ticket in lost:
            if not ticket.done:
                ticket.fail(DeviceError("PF0607", "the run belongs to the process that forked", where=ticket.label))

    def _settle(self, most: int) -> None:
        """Wait until at most `most` of the jobs submitted so far are outstanding, and forget the ended ones."""
        with suppress(IndexError):  # another thread may empty the list meanwhile
            while len(self._pending) > most or self._pending[0].done:
                self._pending.popleft().settle()

    def _ensure_thread(self) -> None:
        with self._start:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=_work, args=(self._jobs,), name=self.name, daemon=True)
                self._thread.start()
                _QUEUES[id(self)] = self


def _work(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        job = jobs.get()
        job()
        del job  # it holds device buffers


_QUEUES: dict[int, WorkQueue] = {}  # those that have started a thread, which lives as long as the process


def drain_all() -> None:
    """Wait for all queues of the process."""
    for each in list(_QUEUES.values()):
        each.drain()


def _after_fork() -> None:
    for each in list(_QUEUES.values()):
        each.after_fork()


atexit.register(drain_all)
os.register_at_fork(after_in_child=_after_fork)
