"""The chip's instruction set as data: everything that parser, printer, checker, packer and emulator derive from.

`OPS` maps `Op.name` to its row; `MNEMONICS` maps every spelled opcode head (with precision, `u`, selectors, reduction
and narrowing, without `/...`, `@...`, `+n`, `-n`) to the row and the fields that the spelling fixes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Place
from .tables_forms import Direction, Flag, Form, OpInfo, Slot
from .tables_moves import MAPPINGS, MODES, MOVE_FORMS, REDUCING_MODES, MoveForm, find_move_form
from .tables_ops import ALU_OPS, MATRIX_OPS, MATRIX_SHAPES, MAU_OPS, MREAD_WIDTHS
from .tables_places import ID_RANGES, PLACES, PlaceInfo
from .tables_transfers import L1BM_OPS, L2BM_OPS, REDUCTIONS, TRANSFERS, ReductionInfo, Transfer

__all__ = [
    "ID_RANGES", "MAPPINGS", "MASK_MEMORIES", "MATRIX_SHAPES", "MNEMONICS", "MODES", "MOVE_FORMS", "MREAD_WIDTHS",
    "OPS", "PLACES", "REDUCING_MODES", "REDUCTIONS", "TRANSFERS", "Direction", "Flag", "Form", "Mnemonic", "MoveForm",
    "OpInfo", "PlaceInfo", "ReductionInfo", "Slot", "Transfer", "find_move_form",
]  # fmt: skip

OPS: dict[str, OpInfo] = {row.name: row for row in ALU_OPS + MAU_OPS + MATRIX_OPS + L1BM_OPS + L2BM_OPS}

# Letters of the `mask` statement and the memories whose writes they cover (isa.md 7.2).
MASK_MEMORIES: dict[str, tuple[Place, ...]] = {
    "r": (Place.GRF0,),
    "s": (Place.GRF1,),
    "t": (Place.T,),
    "m": (Place.LM0, Place.BAR0),
    "n": (Place.LM1, Place.BAR1),
    "k": (Place.MASK,),
}


@dataclass(frozen=True, slots=True)
class Mnemonic:
    """A spelled opcode head: its row and the modifiers that are part of the spelling."""

    info: OpInfo
    precision: str = ""
    unsigned: bool = False
    half_select: str = ""
    narrow: bool = False
    reduction: str = ""


def spell_head(m: Mnemonic) -> str:
    """Canonical spelling of an opcode head; the order `u`/`d` before `r` is ours (isa.md 5.2 leaves it open)."""
    unsigned, narrow = "u" if m.unsigned else "", "r" if m.narrow else ""
    return f"{unsigned}{m.precision}{m.info.name}{m.reduction}{m.half_select}{narrow}"


def _heads(info: OpInfo) -> Iterator[Mnemonic]:
    """Every head of a row, canonical spellings only."""
    for precision in info.precisions:
        for unsigned in (False, True) if precision in info.unsigned else (False,):
            for half in ("u", "d") if precision in info.half_select else ("",):
                for reduction in REDUCTIONS if info.reduction else ("",):
                    narrows = (reduction or precision)[:1]
                    for narrow in (False, True) if narrows and narrows in info.narrow else (False,):
                        yield Mnemonic(info, precision, unsigned, half, narrow, reduction)


def _spellings(m: Mnemonic) -> Iterator[str]:
    """All accepted spellings of a head, the canonical one first."""
    yield spell_head(m)
    for alias in m.info.aliases:
        yield spell_head(m).replace(m.info.name, alias)
    if m.half_select and m.narrow:
        yield f"{m.precision}{m.info.name}r{m.half_select}"


def _build() -> dict[str, Mnemonic]:
    table: dict[str, Mnemonic] = {}
    for info in OPS.values():
        for mnemonic in _heads(info):
            for text in _spellings(mnemonic):
                if table.setdefault(text, mnemonic) is not mnemonic:
                    raise ValueError(f"two rows of the instruction tables spell {text}")
    return table


MNEMONICS: dict[str, Mnemonic] = _build()


def find_heads(info: OpInfo) -> tuple[str, ...]:
    """Canonical spellings of a row, in table order."""
    return tuple(text for text, m in MNEMONICS.items() if m.info is info and spell_head(m) == text)
