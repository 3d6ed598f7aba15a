"""The chip's assembly language: tables, parser, printer, binary form; checker and packer build on them."""

from __future__ import annotations

from .bindecode import decode
from .binencode import encode
from .parser import parse, parse_lines, parse_op, parse_operand, parse_statement
from .printer import format_op, format_operand, format_statement, print_program
from .problems import AsmError, Problem
from .roles import form_of, op_errors, role_errors
from .tables import MNEMONICS, OPS, PLACES, REDUCTIONS

__all__ = [
    "MNEMONICS",
    "OPS",
    "PLACES",
    "REDUCTIONS",
    "AsmError",
    "Problem",
    "decode",
    "encode",
    "form_of",
    "format_op",
    "format_operand",
    "format_statement",
    "op_errors",
    "parse",
    "parse_lines",
    "parse_op",
    "parse_operand",
    "parse_statement",
    "print_program",
    "role_errors",
]  # fmt: skip
