"""Canonical formatting: comments and blank lines stay, the program stays, twice is once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.isa import parse, print_program
from pfcomp.isa.fmt import format_source

from . import strategies as own

TEXT = """\
# title

  linc  $lm0   $ln0v2;; fvadd $lr0 $ls0 $lt ;# why
\t; ;
c 0 0  i10 i00 0 000022000 001 0000000000000000
d get $tn0 4   ! shown
frelu0 $mauf $ln76 $nowrite
   # inside
quit # the end
  anything $$$ # goes

"""

FORMATTED = """\
# title

linc $lm0 $ln0v; fvadd $lr0 $ls0 $t  # why

c 0 0 i10 i00 0 000022000 001 0000000000000000
d get $ltn0 4  ! shown
frelu $mauf $ln76 $nowrite
# inside
quit  # the end
  anything $$$ # goes
"""


def test_comments_and_the_rest_are_kept():
    assert format_source(TEXT) == FORMATTED
    assert format_source(FORMATTED) == FORMATTED
    assert format_source("") == ""
    assert format_source("\n \n") == ""


def test_bad_lines_are_reported():
    with pytest.raises(SourceError, match=r"x\.vsm:2:"):
        format_source("nop\nnoop\n", "x.vsm")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(own.programs, st.sampled_from(["", " # c", "  ! ; d", "\n\n# x"]))
def test_program_stays(program, comment):
    text = print_program(program).replace("\n", f"{comment}\n")
    formatted = format_source(text)
    assert parse(formatted) == program
    assert format_source(formatted) == formatted
