"""The lock file of a board: flock(2), so that the kernel drops it when the holder dies, however it dies.

The file's text names the holder for the message of a waiter. flock is called directly because it costs microseconds
where a general lock library costs more than a whole call of a small program.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from pfcomp.errors import DeviceError

STATE_VARIABLE = "PFCOMP_STATE_DIR"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who wrote the lock file last: process id and program name."""

    pid: int
    program: str

    @property
    def alive(self) -> bool:
        """False if no process has this id any more."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def __str__(self) -> str:
        state = "" if self.alive else ", which is gone but left a child that keeps the lock"
        return f"process {self.pid} ({self.program}){state}"


class BoardLock:
    """The lock of one board. Safe among threads of a process, among processes, and across fork."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        self._mutex = threading.Lock()

    def try_acquire(self) -> bool:
        """Take the lock if it is free and write down who has it."""
        if not self._mutex.acquire(blocking=False):
            return False
        taken = False
        try:
            taken = self._try_flock()
        finally:
            if not taken:
                self._mutex.release()
        return taken

    def release(self) -> None:
        """Give the lock back; the file keeps its text, which nobody believes while the lock is free."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._mutex.release()

    def holder(self) -> Holder | None:
        """The last process that took the lock, None if its file says nothing usable."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            fields = json.loads(self.path.read_text(encoding="utf-8"))
            return Holder(int(fields["pid"]), str(fields["program"]))
        return None

    def break_lock(self) -> None:
        """Remove the file: whoever holds the lock keeps a lock on a file without name, others make a new file."""
        self.path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Drop what a forked child inherited, so that parent and child exclude each other and no lock is kept."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
        self._mutex = threading.Lock()

    def _try_flock(self) -> bool:
        while True:
            if self._descriptor < 0:
                self._descriptor = self._open()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if os.fstat(self._descriptor).st_nlink:
                    return False
                # broken by `gpfn3-smi reset --force`: the file in its place is another one
            if os.fstat(self._descriptor).st_nlink:
                self._write_holder()
                return True
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            hint = f"set {STATE_VARIABLE} to a writable folder"
            what = f"cannot open the board's lock: {error.strerror}"
            raise DeviceError("PF0604", what, where=str(self.path), hint=hint) from error

    def _write_holder(self) -> None:
        os.pwrite(self._descriptor, _self_description(os.getpid()), 0)


@cache
def _self_description(pid: int) -> bytes:
    """What this process writes into the locks it takes: JSON of a fixed length, so that nothing old stays behind."""
    program = Path(sys.argv[0] or "python").name[:80] or "python"
    return json.dumps(asdict(Holder(pid, program))).encode().ljust(640)
