"""Random debug statements: dumps have the public form, name their statement, and show what `d set` stored."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pfcomp.emulator import Machine
from pfcomp.emulator.dump import NAMES
from pfcomp.emulator.inspect import ID_COUNTS, id_letters
from pfcomp.isa import parse, print_program
from pfcomp.isa.model import DebugGet, Program
from tests.isa.strategies import gets, sets

CHIP = Machine("numpy")
WORDS = r"\(f:\S+, i:\{\{0x[\dA-F]+,0x[\dA-F]+\},\{0x[\dA-F]+,0x[\dA-F]+\}\}, v:0x([\dA-F]+)\)"
TYPED = r"\(([^()]+)\) \((0x[\da-f]+(?:, 0x[\da-f]+)*)\)"
LINE = re.compile(
    rf"DEBUG-({'|'.join(NAMES.values())})\(((?:[ncbmp]\d+)+),(\d+)\):(?:{WORDS}|{TYPED}|Mask\{{\S+\}}) #(.*)"
)


@st.composite
def one_place(draw, statements):
    """A statement about one instance of a memory, near its start or its end."""
    statement = draw(statements)
    place = statement.operand.place
    ids = tuple((letter, draw(st.integers(0, ID_COUNTS[letter] - 1))) for letter in id_letters(place))
    return replace(statement, ids=ids)


def run(*statements):
    """Dump lines, from the text of the statements as a user has it."""
    program = parse(print_program(Program(statements)))
    return CHIP.run(CHIP.load(program)).dump


@given(one_place(gets()), st.integers(1, 5))
def test_lines_have_the_public_form(statement, count):
    statement = replace(statement, count=count)
    lines = run(statement)
    assert len(lines) >= count
    for line in lines:
        match = LINE.fullmatch(line)
        assert match, line
        assert NAMES[statement.operand.place] == match[1]
        assert parse(match[7]).statements == (statement,)


def stored(line):
    """The long word that a line shows."""
    untyped, typed = LINE.fullmatch(line).group(4, 6)
    return int(untyped, 16) if untyped else int("".join(part[2:] for part in typed.split(", ")), 16)


@given(one_place(sets()), st.sampled_from(["", "d", "f", "h"]))
def test_what_is_set_is_shown(statement, kind):
    operand = statement.operand
    if operand.width == 1:
        operand = replace(operand, width=2, address=replace(operand.address, base=operand.address.base & ~1))
    lines = run(replace(statement, operand=operand), DebugGet(kind, operand, statement.ids, len(statement.payload)))
    assert [stored(line) for line in lines] == list(statement.payload)
