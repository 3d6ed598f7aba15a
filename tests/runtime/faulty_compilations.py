"""Compilations that are struck by a fault at each of their writes; prints what became of the folders, as JSON.

`python -m tests.runtime.faulty_compilations FOLDER STRIDE` strikes every STRIDE-th write. All is imported and compiled
once, then each fault strikes a forked child that compiles `new` into a folder that holds `old`. A write here is one
`artifacts.atomic_write`: its fsync comes before the file has its name. The fsync is counted, not done: the machine goes
on in these experiments.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import torch

from pfcomp.cache import Cache
from pfcomp.errors import PfcompError
from pfcomp.stages.manifest import check_readable
from pfcomp.stages.pipeline import compile_function

Folder = dict[str, bytes]
Fault = Callable[[int], None]

SAMPLE = {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
WEIGHT = torch.full((3, 4), 2.0)
LOADED = ("model.app", "model.onnx.zst")  # what a program is loaded from
REFUSED = 7  # exit status of a child that ended with an error of ours


def old(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The program that was in the folder before."""
    return {"out": inputs["x"] + inputs["y"]}


def new(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The program whose compilation is struck; it has a state, so that its contents come from the model's file."""
    WEIGHT.mul_(0.5)
    return {"out": inputs["x"] * WEIGHT - inputs["y"]}


PROGRAMS = {"old": old, "new": new}


def build(name: str, folder: Path, cache: Path | None = None) -> None:
    """Compile one of PROGRAMS into `folder`."""
    opened = None if cache is None else Cache.of(cache)
    compile_function(PROGRAMS[name], SAMPLE, folder, {"float_dtype": "float"}, states={"w": WEIGHT}, cache=opened)


def kill_half(descriptor: int) -> None:
    """SIGKILL when half of the file is there."""
    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


def fill_disk(descriptor: int) -> None:
    """No space left for the second half of the file."""
    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def strike(number: int, fault: Fault, record: Path) -> None:
    """Let `fault` happen at write `number`, counted from 1, and note which file that is."""
    numbers = count(1)

    def counted(descriptor: int) -> None:
        if next(numbers) == number:
            record.write_text(os.readlink(f"/proc/self/fd/{descriptor}"))
            fault(descriptor)

    os.fsync = counted


def limit_files(size: int) -> None:
    """Let no file grow beyond `size` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def in_child(action: Callable[[], None]) -> int:
    """Run in a forked child: the negative number of the signal that ended it, or its exit status."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            action()
            status = 0
        except PfcompError:
            status = REFUSED
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def contents(folder: Path) -> Folder:
    """All files of a codegen_dir but its lock."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != ".lock"}


def loadable(folder: Path, whole: dict[str, Folder]) -> str:
    """Which program a reader of the folder gets: a name, `mixed`, or the line that refuses it."""
    try:
        check_readable(folder)
    except PfcompError as error:
        return str(error)
    found = contents(folder)
    return next((n for n, tree in whole.items() if all(found.get(f) == tree[f] for f in LOADED)), "mixed")


class Laboratory:
    """Folders for experiments under `root`, and what undisturbed compilations leave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.numbers = count()
        for name in PROGRAMS:
            build(name, root / name, root / "cache")
        self.whole = {name: contents(root / name) for name in PROGRAMS}

    def experiment(self, prepare: Callable[[Path], None], *, full_cache: bool = False) -> dict[str, Any]:
        """Compile `new` in a child that `prepare` spoils; the cache is empty before, or holds both programs.

        `prepare` may write into the file that it is given what was struck.
        """
        here = self.root / f"experiment{next(self.numbers)}"
        folder, cache, record, said = here / "out", here / "cache", here / "struck", here / "said"
        shutil.copytree(self.root / "old", folder)
        if full_cache:
            shutil.copytree(self.root / "cache", cache)
        status = in_child(lambda: self._spoilt(partial(prepare, record), folder, cache, said))
        row = {
            "struck": Path(record.read_text()).relative_to(here).as_posix() if record.exists() else None,
            "status": status,
            "said": said.read_text().splitlines() if said.exists() else [],
            "left": sorted(path.relative_to(here).as_posix() for path in here.rglob("*.tmp")),
            "loadable": loadable(folder, self.whole),
            "repaired": in_child(lambda: build("new", folder, cache)),
        }
        kept = Cache(cache)
        kept.collect()
        return {
            **row,
            "same bytes": contents(folder) == self.whole["new"],
            "left in the end": sorted(path.relative_to(here).as_posix() for path in here.rglob("*.tmp")),
            "broken": [entry.stage for entry in kept.entries() if not kept.fetch(entry.stage, entry.key, here)],
        }

    def _spoilt(self, prepare: Callable[[], None], folder: Path, cache: Path, said: Path) -> None:
        prepare()
        with warnings.catch_warnings(record=True) as caught, said.open("w") as lines:
            warnings.simplefilter("default")
            try:
                build("new", folder, cache)
            except PfcompError as error:
                print(error, file=lines)
                raise
            finally:
                limit_files(resource.RLIM_INFINITY)
                lines.writelines(f"warning: {warning.message}\n" for warning in caught)

    def everywhere(self, fault: Fault, stride: int, *, full_cache: bool = False) -> Iterator[dict[str, Any]]:
        """Experiments at the first write and every `stride`-th after it until there are no more."""
        for number in count(1, stride):
            row = self.experiment(partial(strike, number, fault), full_cache=full_cache)
            if row["struck"] is None:
                return
            yield row

    def small_files(self, stride: int) -> Iterator[dict[str, Any]]:
        """Experiments in which files of a size that is needed cannot be written."""
        for size in sorted(map(len, self.whole["new"].values()))[::stride]:
            yield self.experiment(lambda _record, size=size: limit_files(size - 1))  # type: ignore[misc]


def main() -> None:
    laboratory, stride = Laboratory(Path(sys.argv[1])), int(sys.argv[2])
    results = {
        "kill": list(laboratory.everywhere(kill_half, stride)),
        "kill, full cache": list(laboratory.everywhere(kill_half, stride, full_cache=True)),
        "full disk": list(laboratory.everywhere(fill_disk, stride)),
        "small files": list(laboratory.small_files(stride)),
    }
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
