"""What all console scripts share: errors as one line with the right exit status, quiet end at a closed pipe."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import NoReturn

import click

from pfcomp.errors import PfcompError

INTERRUPTED = 130
_UNEXPECTED = 70


def run_command(command: click.Command, name: str) -> NoReturn:
    """Runs a click command on the process' arguments and ends the process.

    Errors are one line on stderr, `name: PF0801: ...`; with `--debug` among the arguments the traceback comes first.
    """
    debug = "--debug" in sys.argv
    _plain_warnings(name)
    try:
        with command.make_context(name, sys.argv[1:]) as context:  # not `main`: it ends with 1 at a closed pipe
            command.invoke(context)
        sys.stdout.flush()
        status = 0
    except (SystemExit, click.exceptions.Exit) as stop:
        raise SystemExit(stop.code if isinstance(stop, SystemExit) else stop.exit_code) from None
    except BaseException as error:
        if debug:
            traceback.print_exc()
        status = _report(error, name)
    sys.exit(status)


def _report(error: BaseException, name: str) -> int:
    """Prints the one line of an error; returns the exit status."""
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter's last flush must not fail
        return 0
    if isinstance(error, KeyboardInterrupt | click.Abort):
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, click.ClickException):
        print(f"{name}: PF0801: {_one_line(error.format_message())}; see --help", file=sys.stderr)
        return error.exit_code
    if isinstance(error, PfcompError):
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    what = _one_line(f"{type(error).__name__}: {error}")
    print(f"{name}: PF0890: unexpected failure: {what}; report it with the output of --debug", file=sys.stderr)
    return _UNEXPECTED


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _plain_warnings(name: str) -> None:
    """Warnings of ours as one line on stderr, without file and source line."""
    ordinary = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: object) -> None:
        if category.__module__.startswith(("pfcomp.", "mlsdk")):
            print(f"{name}: warning: {message}", file=sys.stderr)
        else:
            ordinary(message, category, *rest)  # type: ignore[arg-type]

    warnings.showwarning = show  # type: ignore[assignment]
