"""What the translator knows while it walks through a program, and the list it writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.rows import SLOTS, ZERO_QUAD, Value, slot
from pfcomp.errors import UnsupportedError
from pfcomp.isa.model import MaskRef, Place

PATHS = (Place.MAUF, Place.ALUF, Place.LBF, Place.MREADF)
_SLOTS = tuple(slot(i) for i in range(SLOTS))
_BY_ROW = {value.hi[0]: i for i, value in enumerate(_SLOTS)}
_micro = tuple.__new__  # as Micro(...) does, without a Python call for each of many thousands
_MASK_PLACES: dict[str, tuple[Place, ...]] = {
    "r": (Place.GRF0,),
    "s": (Place.GRF1,),
    "t": (Place.T,),
    "m": (Place.LM0, Place.BAR0),
    "n": (Place.LM1, Place.BAR1),
    "k": (Place.MASK,),
}


@dataclass(slots=True)
class Emitter:
    """State of a translation.

    `paths` says in which rows each forwarding path lies now; a new result goes to another slot, so a step can read
    the old value of a path while it writes the new one. `bars` are the base addresses in words if they are the same
    known number in every PE, else None.
    """

    bars: dict[Place, int | None]
    micros: list[Micro] = field(default_factory=list)
    paths: dict[Place, Value] = field(default_factory=lambda: dict.fromkeys(PATHS, Value(ZERO_QUAD)))
    defaults: dict[Place, MaskRef] = field(default_factory=dict)
    line: int = 0
    _free: list[int] = field(default_factory=lambda: list(range(SLOTS - 1, -1, -1)))
    _used: list[int] = field(default_factory=list)
    _kept: dict[Place, int] = field(default_factory=dict)
    _pending: dict[Place, tuple[int, Value]] = field(default_factory=dict)

    def emit(self, code: Code, dst: Value | None, src: tuple[Value, ...], *params: int) -> None:
        """Append a micro-operation."""
        self.micros.append(_micro(Micro, (code, dst, src, params, self.line)))

    def temporary(self) -> Value:
        """A slot that is free again after this step unless `keep` holds it."""
        index = self._free.pop()
        self._used.append(index)
        return _SLOTS[index]

    def keep(self, path: Place, value: Value, home: Value) -> None:
        """Make `value`, which lies in the slot `home`, what `path` reads from the next step on."""
        index = _BY_ROW[home.hi[0]]
        self._used.remove(index)
        self._pending[path] = (index, value)

    def end_step(self) -> None:
        """Give the step's scratch slots back and let the paths take their new values."""
        for path, (index, value) in self._pending.items():
            if path in self._kept:
                self._used.append(self._kept[path])
            self._kept[path], self.paths[path] = index, value
        self._pending.clear()
        self._free.extend(self._used)
        self._used.clear()

    def set_default(self, memories: str, mask: MaskRef) -> None:
        """The `mask` statement: listed memories use `mask`, the others are unmasked (isa.md 7.2)."""
        self.defaults = {place: mask for letter in memories for place in _MASK_PLACES[letter]}

    def mask_of(self, place: Place, own: MaskRef | None) -> MaskRef | None:
        """The write mask in force for a destination, None if everything is written."""
        mask = own if own is not None else self.defaults.get(place)
        return None if mask is None or mask.entry == 0 else mask

    def unsupported(self, what: str) -> UnsupportedError:
        """The error for an operation that no engine implements."""
        return UnsupportedError("PF0701", what, where=f"line {self.line}")
