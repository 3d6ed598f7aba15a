"""Finds what a function does that a capture loses or freezes, before it is compiled (mlsdk.md 1.10)."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TextIO

from torch import Tensor

from pfcomp.errors import PfcompError


class LintLevel(IntEnum):
    """How much a finding matters; a filter keeps findings of its level and above."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its level, the user's line as `file.py:12` ("" if unknown) and what is wrong and what to do."""

    level: LintLevel
    where: str
    text: str

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{self.level.name}: {place}{self.text}"


@dataclass(frozen=True, slots=True)
class LintResult:
    """The findings for one function, most serious first."""

    function: str
    findings: tuple[Finding, ...]

    def dump(self, file: TextIO | None = None) -> None:
        """Print a readable report."""
        print(self.text(), file=file or sys.stdout)

    def text(self) -> str:
        """The report: one line of summary, one line for each finding."""
        count = len(self.findings)
        head = f"{self.function}: {'no findings' if not count else f'{count} finding(s)'}"
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])


def lint(f: Callable[..., Any], args: tuple[Any, ...] = (), lint_level: LintLevel = LintLevel.INFO) -> LintResult:
    """Read and trace `f` once with fake tensors of the sample's shapes; nothing of the user's is changed.

    `args` is the sample, a tuple of one mapping of str to Tensor. Findings below `lint_level` are left out.
    """
    findings = [*_signature(f, args), *_source_findings(f)]
    if len(args) == 1 and isinstance(args[0], Mapping):
        findings += _trace_findings(f, args[0])
    kept = sorted({x for x in findings if x.level >= lint_level}, key=lambda x: (-x.level, x.where, x.text))
    return LintResult(getattr(f, "__name__", type(f).__name__), tuple(kept))


def _signature(f: Callable[..., Any], args: tuple[Any, ...]) -> list[Finding]:
    where = _place(f, 0)
    required = [
        parameter
        for parameter in inspect.signature(f).parameters.values()
        if parameter.default is parameter.empty and parameter.kind <= parameter.POSITIONAL_OR_KEYWORD
    ]
    found = []
    if len(required) != 1:
        text = f"takes {len(required)} arguments; a compiled function takes one dict[str, Tensor]"
        found.append(Finding(LintLevel.ERROR, where, text))
    if len(args) != 1 or not isinstance(args[0], Mapping):
        found.append(Finding(LintLevel.ERROR, where, "the sample must be one dict[str, Tensor]"))
    return found


def _trace_findings(f: Callable[..., Any], sample: Mapping[str, Any]) -> list[Finding]:
    """What the capture itself says: errors, and warnings about state that changes from call to call."""
    from pfcomp.frontend import capture

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            capture(f, sample)
        except PfcompError as error:
            text = f"{error.what}; {error.hint}" if error.hint else error.what
            return [Finding(LintLevel.ERROR, error.where, text)]
    return [Finding(LintLevel.WARNING, "", str(item.message)) for item in caught]


def _source_findings(f: Callable[..., Any]) -> list[Finding]:
    """What the text of the function shows: scalars taken out of tensors, and names outside that it reads or writes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(f)))
    except (OSError, TypeError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        found += _call_finding(f, node) + _scope_finding(f, node)
    return found + _captured_numbers(f)


_SCALARS = frozenset({"item", "tolist", "numpy"})


def _call_finding(f: Callable[..., Any], node: ast.AST) -> list[Finding]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SCALARS):
        return []
    text = f".{node.func.attr}() makes a Python value that is frozen at compile time or cannot be traced"
    return [Finding(LintLevel.WARNING, _place(f, node.lineno - 1), text)]


def _scope_finding(f: Callable[..., Any], node: ast.AST) -> list[Finding]:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        text = f"assigns {', '.join(node.names)} outside the function; the assignment is lost"
        return [Finding(LintLevel.WARNING, _place(f, node.lineno - 1), text)]
    return []


def _captured_numbers(f: Callable[..., Any]) -> list[Finding]:
    """Numbers and plain tensors of the enclosing scopes: their values are frozen."""
    scopes = inspect.getclosurevars(inspect.unwrap(f)) if inspect.isfunction(f) else None
    if scopes is None:
        return []
    found = []
    for name, value in sorted({**scopes.globals, **scopes.nonlocals}.items()):
        if isinstance(value, (bool, int, float, Tensor)):
            text = f"reads '{name}' of an enclosing scope; its value is frozen at compile time"
            found.append(Finding(LintLevel.INFO, _place(f, 0), text))
    return found


def _place(f: Callable[..., Any], offset: int) -> str:
    code = getattr(inspect.unwrap(f), "__code__", None)
    return "" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno + offset}"
