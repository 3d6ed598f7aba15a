"""Compile-only runs: how `pfcomp compile script.py` steers the compilations that a user's script asks for.

The command installs a `CompileOnly` for the time the script runs. Two places consult it:

* the pipeline (`compile_function`): where to write (`place`), which options win, whom to tell, and what was compiled;
* the runtime, before it executes a compiled function: `execution_reached(name)`, which ends the script's run by raising
  `ExecutionReached`, or returns True where the user asked to keep going (then the call runs on `pfvm:cpu`).

Outside such a run `active()` is None and `execution_reached` returns False. The state is one per process, not per
thread: a script may compile from threads of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pfcomp.stages.manifest import NAME as MANIFEST
from pfcomp.stages.table import FILES

if TYPE_CHECKING:
    from pfcomp.stages.events import CompileResult, Event


class ExecutionReached(BaseException):
    """A compile-only run came to the first call of a compiled function, named by `function`.

    Not an `Exception`, so that a script's own `except Exception` does not swallow it.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        super().__init__(f"execution of {function} reached")


@dataclass(slots=True)
class CompileOnly:
    """One compile-only run.

    `output_dir` replaces the folders that the script names (None: keep them); `option_json` and `options` win over
    the script's own options; `stop` is the last stage of every compilation; `observer` receives the stages' events;
    `results` collects what was compiled, in order.
    """

    output_dir: Path | None = None
    option_json: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    keep_going: bool = False
    stop: str = "codegen"
    observer: Callable[[Event], None] | None = None
    results: list[CompileResult] = field(default_factory=list)
    _places: dict[Path, Path] = field(default_factory=dict)

    def place(self, codegen_dir: str | Path) -> Path:
        """Where the compilation that the script wants in `codegen_dir` goes.

        The first folder becomes `output_dir` itself, further ones `output_dir/<name>`; `finish` moves the first one
        beside the others when there turned out to be several.
        """
        wanted = Path(codegen_dir)
        if self.output_dir is None:
            return wanted
        key = wanted.absolute()
        if key not in self._places:
            self._places[key] = self._new_place(self.output_dir, wanted.name or "compiled")
        return self._places[key]

    def _new_place(self, root: Path, name: str) -> Path:
        used = set(self._places.values())
        named = next(p for p in _candidates(root / name) if p not in used)
        if not self._places and not (named / MANIFEST).exists():
            return root
        return named

    def finish(self) -> None:
        """After the run: gives each of several codegen_dirs its own folder below `output_dir`."""
        root = self.output_dir
        if root is None or len(self._places) < 2 or root not in self._places.values():
            return
        key = next(k for k, place in self._places.items() if place == root)
        used = set(self._places.values())
        target = next(p for p in _candidates(root / key.name) if p not in used)
        target.mkdir(parents=True, exist_ok=True)
        for name in (*FILES, MANIFEST):
            if (root / name).exists():
                (root / name).replace(target / name)
        self._places[key] = target
        self.results[:] = [r.moved(target) if r.directory == root else r for r in self.results]


_ACTIVE: list[CompileOnly] = []


def active() -> CompileOnly | None:
    """The compile-only run that is in progress, None in ordinary programs."""
    return _ACTIVE[-1] if _ACTIVE else None


@contextmanager
def compile_only(run: CompileOnly) -> Iterator[CompileOnly]:
    """Makes `run` the active compile-only run inside the `with` block."""
    _ACTIVE.append(run)
    try:
        yield run
    finally:
        _ACTIVE.remove(run)


def execution_reached(function: str) -> bool:
    """To be called before a compiled function is executed.

    Returns False in ordinary programs (execute on the device), True where a compile-only run keeps going (execute on
    `pfvm:cpu`); otherwise raises `ExecutionReached`.
    """
    run = active()
    if run is None:
        return False
    if not run.keep_going:
        raise ExecutionReached(function)
    return True


def _candidates(path: Path) -> Iterator[Path]:
    """`path`, then `path-2`, `path-3`, ..."""
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.name}-{number}")
        number += 1
