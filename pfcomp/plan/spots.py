"""What lies where in both local memories, and where there is room."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.ir.model import Location
from pfcomp.ir.packing import LMS, VECTOR, Spot
from pfcomp.plan.linear import Place


@dataclass(slots=True)
class Spots:
    """Spots by the name of their place, in two memories of `budget` long words."""

    budget: int
    held: dict[str, Spot] = field(default_factory=dict)

    def free(self, wanted: Place, avoid: Location | None) -> Spot | None:
        """The first gap that is large enough, rather not in the memory `avoid`, then in the emptier one."""
        order = sorted(LMS, key=lambda lm: (lm is avoid, self.filled(lm)))
        for location in order if wanted.location is None else (wanted.location,):
            address = self._gap(location, wanted.words)
            if address is not None:
                return Spot(location, address, wanted.words)
        return None

    def filled(self, location: Location) -> int:
        """Long words of a memory that are taken."""
        return sum(spot.words for spot in self.held.values() if spot.location is location)

    def roomy(self, wanted: Place, location: Location) -> bool:
        """True if several vectors had better go to the other memory, since writing one blocks reading it (H3)."""
        other = next(lm for lm in LMS if lm is not location)
        filled = self.filled(other) + wanted.words
        return wanted.words > VECTOR and filled <= self.budget // 2 and self._gap(other, wanted.words) is not None

    def _gap(self, location: Location, words: int) -> int | None:
        address = 0
        for spot in sorted((s for s in self.held.values() if s.location is location), key=lambda s: s.address):
            if address + words <= spot.address:
                break
            address = max(address, spot.address + spot.words)
        return address if address + words <= self.budget else None
