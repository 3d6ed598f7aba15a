"""One PE with its L1B, L2B and group, as `n0c0b0m0p0`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pfcomp.emulator.inspect import ID_COUNTS
from pfcomp.emulator.rows import PES, PES_PER_L1B
from pfcomp.errors import UsageError
from pfcomp.isa.model import Place

_UNIT = re.compile("".join(rf"(?:{letter}(?P<{letter}>\d{{1,2}}))?" for letter in ID_COUNTS))


@dataclass(frozen=True, slots=True)
class Unit:
    """Ids of a PE: group n, L2B c, L1B b, MAB m, PE p."""

    n: int = 0
    c: int = 0
    b: int = 0
    m: int = 0
    p: int = 0

    @property
    def tile(self) -> int:
        """Index of the L2B in the chip."""
        return 2 * self.n + self.c

    @property
    def pe(self) -> int:
        """Index of the PE in its L2B."""
        return PES_PER_L1B * self.b + PES * self.m + self.p

    def name(self, letters: str = "ncbmp") -> str:
        """Ids in the form of a dump, such as `n0c0b0` for the letters `ncb`."""
        return "".join(f"{letter}{getattr(self, letter)}" for letter in letters)

    def member(self, place: Place) -> int:
        """Bit of this unit's L1BM, L2BM, DRAM or PDM in `Span.members`."""
        return 1 << (self.b if place == Place.L1BM else self.tile if place == Place.L2BM else self.n)

    def matches(self, ids: Mapping[str, int]) -> bool:
        """Whether the given ids, of which some may be left out, name this unit."""
        return all(getattr(self, letter) == value for letter, value in ids.items())


def parse_unit(text: str) -> Unit:
    """The PE that `n0c0b0m0p0` names; ids that are left out are 0. Raises UsageError PF0710."""
    match = _UNIT.fullmatch(text)
    ids = {letter: int(value) for letter, value in match.groupdict().items() if value} if match else {}
    if not ids or any(value >= ID_COUNTS[letter] for letter, value in ids.items()):
        what = f"{text!r} names no PE; write n0c0b0m0p0 with n below 4, c 2, b 8, m 16, p 4"
        raise UsageError("PF0710", what)
    return Unit(**ids)
