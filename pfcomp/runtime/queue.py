"""The queue of a device: jobs run one after another, callers wait only for what they need.

A queue has a thread of its own that runs the jobs. A caller that waits for a short job runs it itself if nobody has
begun it yet: waking another thread and being woken by it takes longer than such a job, above all on a busy computer.
For the same reason the thread is not woken for a single short job; while the queue is in use it looks for such jobs
every few milliseconds.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Generic, TypeVar

from pfcomp.errors import DeviceError, PfcompError
from pfcomp.runtime.shield import SignalShield
from pfcomp.runtime.ticket import Ticket
from pfcomp.runtime.tracing import recorded

Result = TypeVar("Result")
LIMIT = 8  # outstanding jobs of a queue
LOOK_SECONDS = 0.005  # how often the thread looks for short jobs
LOOKS = 100  # in vain, after which it waits to be woken
Guard = Callable[[bool], AbstractContextManager[bool]]
"""Makes the context in which a job runs. With False it must not wait, and the context tells whether the job may run."""


def _no_guard(_: bool) -> AbstractContextManager[bool]:
    return nullcontext(True)


class _Job(Generic[Result]):
    """A job in the queue."""

    __slots__ = ("guard", "short", "ticket", "work")

    def __init__(self, ticket: Ticket[Result], work: Callable[[], Result], guard: Guard, short: bool) -> None:
        self.ticket, self.work, self.guard, self.short = ticket, work, guard, short


def _run(job: _Job[Any], *, patient: bool, begin: Callable[[], object] = lambda: None) -> bool:
    """Call `begin` and run the job, False if its guard would have to wait. Errors stay with its ticket."""
    ticket = job.ticket
    try:
        with job.guard(patient) as ready:
            if ready:
                begin()
                with recorded(f"queue {ticket.queue.name}", ticket.label):
                    ticket.run(job.work)
            return ready
    except PfcompError as error:
        if not ticket.done:  # it was the guard that failed: the job cannot begin
            begin()
            ticket.fail(error)
        return True


class WorkQueue:
    """Runs submitted jobs in order, on a thread of its own, which starts with the first job, or on a waiting one.

    At interpreter exit outstanding jobs are finished. In a forked child the thread does not exist: jobs that were
    outstanding in the parent fail there with DeviceError PF0607, and new ones start a new thread.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._reset()

    def _reset(self) -> None:
        self._jobs: deque[_Job[Any]] = deque()
        self._pending: deque[Ticket[Any]] = deque()
        self._turn = threading.Lock()  # held by the thread that takes and runs jobs
        self._owner = 0  # id of that thread
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asleep = False  # the thread waits: for the alarm or for the time to look for jobs
        self._looking = False  # it will look before long
        self._turns = 0  # how many jobs were run
        self._alarm: queue.SimpleQueue[None] = queue.SimpleQueue()

    def submit(
        self, label: str, work: Callable[[], Result], *, guard: Guard = _no_guard, short: bool = False
    ) -> Ticket[Result]:
        """Enqueue `work`, first waiting while `LIMIT` others are outstanding; `label` names it in error messages.

        It runs inside `guard(True)`, whose entry may wait long and fail with a PfcompError. `short` allows a thread
        that waits for the job to run it, inside `guard(False)`.
        """
        ticket: Ticket[Result] = Ticket(self, label)
        job = _Job(ticket, work, guard, short)
        if self._owner == threading.get_ident():
            _run(job, patient=True)  # a job's own job: what comes later has to wait for both
            return ticket
        self._settle(LIMIT - 1)  # bounds the device memory that outstanding jobs keep alive
        self._pending.append(ticket)
        self._jobs.append(job)
        if not (short and self._looking and len(self._jobs) == 1):
            self.wake()
        return ticket

    def call(self, work: Callable[[], Result]) -> Result:
        """Run `work` on the calling thread after all jobs submitted so far: cheaper than `submit` for short ones."""
        if self._owner == threading.get_ident():
            return work()
        self._settle(0)
        try:
            with self._turn:
                return work()
        finally:
            self.wake()

    def drain(self) -> None:
        """Wait until every job submitted so far has ended; errors stay with their tickets."""
        self.call(lambda: None)

    def help(self, ticket: Ticket[Any]) -> None:
        """Run jobs until `ticket` is done, on the calling thread, as long as they are short and nobody else does."""
        while not ticket.done and self._jobs and self._jobs[0].short:
            with SignalShield():
                if not self._run_next(patient=False):
                    break
        self.wake()

    def wake(self) -> None:
        """Wake the queue's thread if there are jobs and it sleeps."""
        if not self._jobs:
            return
        if self._thread is None or not self._thread.is_alive():
            self._start_thread()
        if self._asleep:
            self._asleep = False
            self._alarm.put(None)

    def after_fork(self) -> None:
        """Make the queue usable in a forked child."""
        lost = list(self._pending)
        self._reset()
        for ticket in lost:
            if not ticket.done:
                ticket.fail(DeviceError("PF0607", "the run belongs to the process that forked", where=ticket.label))

    def _work(self) -> None:
        """What the queue's thread does: run jobs, sleep while there are none or another thread runs them."""
        turns, looks = 0, 0
        while True:
            looks = looks + 1 if turns == self._turns else 0
            turns = self._turns
            # said before looking, so that whoever adds a job or ends a turn later on knows whether to wake the thread
            self._looking, self._asleep = looks < LOOKS, True
            if not self._run_next(patient=True):
                with suppress(queue.Empty):
                    self._alarm.get(timeout=LOOK_SECONDS if self._looking else None)

    def _run_next(self, *, patient: bool) -> bool:
        """Run the next job. False if there is none, another thread has the turn, or it would have to wait."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            self._owner = threading.get_ident()
            if not self._jobs:
                return False
            self._turns += 1
            return _run(self._jobs[0], patient=patient, begin=self._jobs.popleft)
        finally:
            self._owner = 0
            self._turn.release()

    def _settle(self, most: int) -> None:
        """Wait until at most `most` of the jobs submitted so far are outstanding, and forget the ended ones."""
        while self._pending:
            with suppress(IndexError, ValueError):  # another thread may settle the same
                ticket = self._pending[0]
                if len(self._pending) <= most and not ticket.done:
                    return
                ticket.settle()
                self._pending.remove(ticket)  # only now: an interrupted caller may come back

    def _start_thread(self) -> None:
        with self._start:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
                self._thread.start()
                _QUEUES[id(self)] = self


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
