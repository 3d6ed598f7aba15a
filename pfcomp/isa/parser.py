"""Assembly text to `Program`: the line driver over the statement parsers."""

from __future__ import annotations

from dataclasses import replace

from .debugtext import check_host_line, parse_debug, parse_dram_line, parse_mask_statement
from .model import Op, Operand, Program, Statement, Step
from .movetext import parse_move
from .opcodes import parse_operation
from .operands import parse_operand as _parse_operand
from .problems import AsmError, Problem, Trouble
from .steps import step

_COMMENTS = "#!"


def split_comment(line: str) -> tuple[str, str]:
    """The statement part of a line without surrounding white space, and the comment from its mark on."""
    at = min((i for i in map(line.find, _COMMENTS) if i >= 0), default=len(line))
    return line[:at].strip(), line[at:].rstrip()


def is_quit(code: str) -> bool:
    """True for the statement that ends the file."""
    return code.rstrip("; \t") == "quit"


def _statement(text: str, line: int) -> Statement | None:
    """One line without comment; None for lines that mean nothing. Raises `Trouble`."""
    if text.startswith("mv"):
        return replace(parse_move(text), line=line)
    head = text.split(None, 1)[0]
    if head == "d":
        return replace(parse_debug(text), line=line)
    if head.startswith("mask"):
        return replace(parse_mask_statement(text), line=line)
    if head == "r":
        return replace(parse_dram_line(text), line=line)
    if head == "c":
        check_host_line(text)
        return None
    found = step(text)
    return None if found is None else Step(found.ops, found.waits, found.noforward, found.repeat, line)


def parse_lines(text: str) -> tuple[Program, tuple[Problem, ...]]:
    """The good statements of the text and a problem for every bad line. Never raises."""
    statements: list[Statement] = []
    problems: list[Problem] = []
    for line, raw in enumerate(text.split("\n"), 1):
        code = split_comment(raw)[0]
        if not code:
            continue
        if is_quit(code):
            break
        try:
            statement = _statement(code, line)
        except Trouble as trouble:
            column = raw.find(trouble.token) + 1 if trouble.token else 0
            problems.append(Problem(line, column, trouble.what))
        else:
            if statement is not None:
                statements.append(statement)
    return Program(tuple(statements)), tuple(problems)


def parse(text: str, name: str = "<vsm>") -> Program:
    """The program of a VSM text. Raises `AsmError`, a `SourceError`, that lists every bad line."""
    program, problems = parse_lines(text)
    if problems:
        raise AsmError(name, problems)
    return program


def _single(text: str, name: str) -> Statement:
    program = parse(text, name)
    if len(program.statements) != 1 or "\n" in text.strip():
        raise AsmError(name, (Problem(1, 0, f"expected one statement, found {len(program.statements)}"),))
    return program.statements[0]


def parse_statement(text: str) -> Statement:
    """One statement; its `line` is 1. Raises `AsmError`."""
    return _single(text, "<statement>")


def parse_op(text: str) -> Op:
    """One operation such as `fvadd $lm0v $ln0v $lr0v`. Raises `AsmError`."""
    try:
        return parse_operation(text.split() or [""])
    except Trouble as trouble:
        raise AsmError("<op>", (Problem(1, 0, trouble.what),)) from None


def parse_operand(text: str) -> Operand:
    """One operand such as `-$lm8v`. Raises `AsmError`."""
    try:
        return _parse_operand(text.strip())
    except Trouble as trouble:
        raise AsmError("<operand>", (Problem(1, 0, trouble.what),)) from None
