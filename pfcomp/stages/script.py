"""Sources that are Python: a function in a file with a sample, or a script that uses mlsdk."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pfcomp.errors import PfcompError, SourceError, UsageError
from pfcomp.stages.source import CompileOnly, ExecutionReached, compile_only

if TYPE_CHECKING:
    import torch

_SAMPLE = re.compile(r"(?P<name>[^=]+)=\s*(?P<dtype>\w+)\s*\[(?P<sizes>[\d,\s]*)\]")


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """`file.py:function`."""

    file: Path
    function: str


def split_source(text: str) -> Path | FunctionSource:
    """`file.py:function` as its parts, anything else as a path."""
    file, colon, function = text.rpartition(":")
    if colon and function.isidentifier() and file.endswith(".py"):
        return FunctionSource(Path(file), function)
    return Path(text)


def load_function(source: FunctionSource) -> Callable[..., Any]:
    """The function; its file runs as a module. Raises SourceError PF0804, PF0805, PF0807."""
    names = _run(source.file, (), "__pfcomp__")
    function: Any = names.get(source.function)
    if not callable(function):
        known = [name for name, value in names.items() if callable(value) and not name.startswith("_")]
        hint = f"it defines {', '.join(known)}" if known else "it defines none"
        raise SourceError("PF0807", f"there is no function {source.function}", where=str(source.file), hint=hint)
    return cast("Callable[..., Any]", function)


def parse_samples(texts: Sequence[str]) -> dict[str, torch.Tensor]:
    """`["x=float32[3,4]", "n=int64[]"]` as tensors of zeros; raises UsageError PF0808."""
    import torch

    samples: dict[str, torch.Tensor] = {}
    for text in texts:
        found = _SAMPLE.fullmatch(text.strip())
        dtype = getattr(torch, found["dtype"], None) if found else None
        if found is None or not isinstance(dtype, torch.dtype):
            hint = "write name=dtype[shape], such as x=float32[3,4]"
            raise UsageError("PF0808", f"sample {text!r} is not understood", hint=hint)
        sizes = [int(size) for size in found["sizes"].split(",") if size.strip()]
        samples[found["name"].strip()] = torch.zeros(sizes, dtype=dtype)
    return samples


def run_script(script: Path, arguments: Sequence[str], run: CompileOnly) -> str | None:
    """Runs a script in which `Context.compile` compiles as `run` says, up to the first call of a compiled function.

    Returns the name of that function, None where the script ended before. Raises SourceError: PF0804 unreadable,
    PF0805 it raised, PF0806 it compiled nothing; typed errors pass through.
    """
    reached: str | None = None
    with compile_only(run):
        try:
            _run(script, arguments, "__main__")
        except ExecutionReached as stop:
            reached = stop.function
        finally:
            run.finish()
    if not run.results:
        hint = "call Context.compile in it before the first call of a compiled function"
        raise SourceError("PF0806", "the script compiled nothing", where=str(script), hint=hint)
    return reached


def _run(file: Path, arguments: Sequence[str], name: str) -> dict[str, Any]:
    """Globals of the file after it ran as module `name` with `arguments` as its command line."""
    _need_text(file)
    try:
        with _as_program(file, arguments):
            return runpy.run_path(str(file), run_name=name)
    except SystemExit as stop:
        if stop.code in (None, 0):
            return {}
        raise SourceError("PF0805", f"the script ended with status {stop.code}", where=str(file)) from stop
    except PfcompError:
        raise
    except SyntaxError as error:
        place = f"{Path(error.filename or file).name}:{error.lineno}"
        raise SourceError("PF0805", f"{type(error).__name__}: {error.msg} ({place})", where=str(file)) from error
    except Exception as error:
        raise SourceError("PF0805", f"the script raised {_brief(error)}", where=_line(file, error)) from error


def _need_text(file: Path) -> None:
    try:
        file.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError("PF0804", f"cannot be read ({error.strerror})", where=str(file)) from error
    except UnicodeDecodeError as error:
        raise SourceError("PF0804", "is not a Python text", where=str(file)) from error


@contextmanager
def _as_program(file: Path, arguments: Sequence[str]) -> Iterator[None]:
    """`sys.argv` and `sys.path` as Python sets them for `python file arguments`."""
    argv, path = sys.argv, sys.path
    sys.argv, sys.path = [str(file), *arguments], [str(file.absolute().parent), *path]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, path


def _brief(error: Exception) -> str:
    """Type and first line of an exception."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def _line(file: Path, error: Exception) -> str:
    """`file:line` of the innermost frame that is in the file."""
    place, trace = str(file), error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == file:
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
