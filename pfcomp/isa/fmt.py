"""Canonical formatting of assembly text that keeps comments, blank lines and what stands after `quit`."""

from __future__ import annotations

from .parser import is_quit, parse_lines, split_comment
from .printer import format_statement
from .problems import AsmError


def format_source(text: str, name: str = "<vsm>") -> str:
    """The text with every statement in canonical form; a comment stands two spaces behind its statement.

    Formatting twice changes nothing more, and the program stays the same. Raises `AsmError` for bad lines.
    """
    program, problems = parse_lines(text)
    if problems:
        raise AsmError(name, problems)
    canonical = {s.line: format_statement(s) for s in program.statements}
    lines: list[str] = []
    raw_lines = text.split("\n")
    for number, raw in enumerate(raw_lines, 1):
        code, comment = split_comment(raw)
        if is_quit(code):
            lines += [_join("quit", comment), *(line.rstrip() for line in raw_lines[number:])]
            break
        lines.append(_join(canonical.get(number, _without_statement(code)), comment))
    body = "\n".join(lines).rstrip("\n")
    return body + "\n" if body else ""


def _without_statement(code: str) -> str:
    """Text of a line that holds no statement: a host record with single spaces, or nothing."""
    return "" if not code.strip("; \t") else " ".join(code.split())


def _join(code: str, comment: str) -> str:
    return "  ".join(part for part in (code, comment) if part)
