"""Every error a user can cause: one table of codes, one exception class for each kind.

A message is one line: what is wrong, where, what to do. The command line prints it as `pfcomp: PF0801: ...` and ends
with the exit code of its kind; `docs/errors.md` is generated from the table.
"""

from __future__ import annotations

from dataclasses import dataclass


class PfcompError(Exception):
    """Base of all typed errors; `exit_code` is what the command line ends with."""

    exit_code = 70

    def __init__(self, code: str, what: str, *, where: str = "", hint: str = "") -> None:
        if code not in ERRORS:
            raise KeyError(f"error code {code} is not in pfcomp.errors.ERRORS")
        self.code, self.what, self.where, self.hint = code, what, where, hint
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """`CODE: where: what; hint` with the empty parts left out."""
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.hint}" if self.hint else ""
        return f"{self.code}: {place}{self.what}{advice}"


class UsageError(PfcompError):
    """The command line, an option or an environment variable is wrong."""

    exit_code = 2


class SourceError(PfcompError):
    """The user's script, function, sample, model or assembly text is wrong."""

    exit_code = 3


class UnsupportedError(PfcompError):
    """The input is valid but needs something that this version does not have."""

    exit_code = 4


class ArtifactError(PfcompError):
    """A file that we read (app, cache entry, codegen_dir) is damaged, foreign or of another version."""

    exit_code = 5


class DeviceError(PfcompError):
    """A device is missing, busy or failed while running."""

    exit_code = 6


class InternalError(PfcompError):
    """The compiler broke one of its own rules; please report."""

    exit_code = 70


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A row of the table: the class raised, what it means and what to do."""

    kind: type[PfcompError]
    title: str
    remedy: str


# Ranges: 01 isa, 02 layout, 03 frontend/passes/pfvm, 04 ir/plan/kernels/simulate, 05 app and artifacts,
# 06 runtime and devices, 07 emulator, 08 command line and options.
ERRORS: dict[str, ErrorInfo] = {
    # 01 isa
    # 02 layout
    "PF0201": ErrorInfo(
        SourceError, "A layout text cannot be read", "write it as ((3:1), (2_W:1, 4_PE:1); B@[MAB,L1B,L2B])"
    ),
    # 03 frontend, passes, pfvm
    # 04 ir, plan, kernels, simulate
    # 05 app and artifacts
    # 06 runtime and devices
    "PF0601": ErrorInfo(UsageError, "unknown device string", "Use one of the strings that the message lists."),
    "PF0602": ErrorInfo(UsageError, "bad environment variable of the boards", "Give a number in the stated range."),
    "PF0603": ErrorInfo(
        DeviceError, "no such board", "`gpfn3-smi list` shows the boards; PFCOMP_BOARDS sets how many."
    ),
    "PF0604": ErrorInfo(DeviceError, "boards' folder not usable", "Set PFCOMP_STATE_DIR to a writable folder."),
    "PF0605": ErrorInfo(
        DeviceError,
        "board busy for too long",
        "End the process that the message names, wait longer (PFCOMP_BOARD_WAIT, seconds), or run "
        "`gpfn3-smi reset --force`.",
    ),
    "PF0606": ErrorInfo(
        DeviceError, "device memory is full", "Drop proxies, invalidate contexts, or use smaller tensors."
    ),
    # 07 emulator
    # 08 command line and options
}
