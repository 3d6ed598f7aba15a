"""The promise of a job's result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from pfcomp.errors import DeviceError, PfcompError

Result = TypeVar("Result")


class Helper(Protocol):
    """Who can be asked to get on with a job."""

    name: str

    def help(self, ticket: Ticket[Result]) -> None:
        """Perhaps run jobs on the calling thread until `ticket` is done."""


class Ticket(Generic[Result]):
    """The promise of a job's result. `wait` may be called by several threads and as often as they like."""

    __slots__ = ("_error", "_result", "_waiters", "done", "label", "queue")

    def __init__(self, queue: Helper, label: str) -> None:
        self.queue, self.label = queue, label
        self.done = False
        """True once the job has ended, well or not."""
        self._waiters: list[threading.Lock] = []
        self._result: Result | None = None
        self._error: Exception | None = None

    def run(self, job: Callable[[], Result]) -> None:
        """Do the job now and keep its result or error."""
        try:
            self._result = job()
        except Exception as error:  # kept for the waiting caller, whatever it is
            self._error = error
        finally:
            self._end()

    def fail(self, error: Exception) -> None:
        """End without having run."""
        self._error = error
        self._end()

    def settle(self) -> None:
        """Wait for the end without looking at the outcome; help if the jobs up to this one are short."""
        if not self.done:
            self.queue.help(self)
        if not self.done:
            gate = threading.Lock()  # a bare lock, because exceptions of signal handlers leave an Event in pieces
            gate.acquire()
            self._waiters.append(gate)
            if not self.done:  # looked at again, now that the end would open the gate
                gate.acquire()

    def _end(self) -> None:
        self.done = True
        for gate in self._waiters:
            gate.release()

    def wait(self) -> Result:
        """The result. Raises the job's own typed error, or DeviceError PF0607 naming the job for any other."""
        self.settle()
        if isinstance(self._error, PfcompError):
            raise self._error
        if self._error is not None:
            what = f"{type(self._error).__name__}: {self._error}"
            raise DeviceError("PF0607", what, where=self.label) from self._error
        return self._result  # type: ignore[return-value] # set whenever there is no error
