"""Findings of a single operation or MV, independent of its neighbours: operands, ranges, alignment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from pfcomp.isa.effects_access import FULL_MEMBERS
from pfcomp.isa.model import Address, Move, Op, Operand, Place, Unit
from pfcomp.isa.movetext import move_errors, move_form_of
from pfcomp.isa.printer import format_operand
from pfcomp.isa.roles import op_errors
from pfcomp.isa.tables_moves import DRAM_UNIT, FIRST_TAG, LAST_TAG
from pfcomp.isa.tables_ops import MATRIX_SHAPES
from pfcomp.isa.tables_places import LOCAL_MEMORIES, MATRICES, PE_MEMORIES, PLACES, WIDTH_LETTERS
from pfcomp.isa.tables_transfers import REDUCTIONS, TRANSFERS

Broken = tuple[str, str]
"""Rule id and text."""

_LW1_UNKNOWN = ("d", "f", "g")


def op_findings(op: Op) -> tuple[Broken, ...]:
    """All findings of one operation; if the first ones are `5.…` it cannot be analysed further."""
    shape = tuple(_shape(op))
    return shape or tuple(_values(op))


def is_sound(found: tuple[Broken, ...]) -> bool:
    """True if the operation's effects can be computed: nothing is wrong with its form."""
    return not found or not found[0][0].startswith("5.")


def _shape(op: Op) -> Iterator[Broken]:
    for text in op_errors(op):
        yield "5.role", text
    for operand in op.sources + op.destinations:
        text = _malformed(operand)
        if text:
            yield "5.operand", text


def _malformed(operand: Operand) -> str:
    """Why the address form does not suit the place; empty if it does. Such operands come from outside the parser."""
    info, address = PLACES[operand.place], operand.address
    name = operand.place.name
    if address is None:
        return f"{name} needs an address" if operand.place in _ADDRESSED else ""
    if info.widths and operand.width not in info.widths:
        return f"{name} cannot be accessed {operand.width} words wide"
    pe, local = operand.place in PE_MEMORIES, operand.place in LOCAL_MEMORIES
    checks = (
        (min(address.cycles()) < 0 or address.stride < 0, "has a negative address"),
        (not pe and (address.stride != 0 or address.flat is not None), "takes one address"),
        (address.indirect and operand.place is not Place.LM0, "cannot be addressed through T"),
        (address.neighbour is not None and (not local or address.indirect), "takes no j here"),
    )
    return next((f"{name} {text}" for wrong, text in checks if wrong), "")


_ADDRESSED = frozenset({Place.MASK, *FULL_MEMBERS}) | PE_MEMORIES


def _values(op: Op) -> Iterator[Broken]:
    for operand in op.sources + op.destinations:
        if operand.address is None:
            continue
        if operand.place in PE_MEMORIES:
            yield from _pe_address(operand, operand.address)
        elif operand.place in MATRICES:
            yield from _matrix_row(op, operand, operand.address)
        elif operand.place in FULL_MEMBERS:
            yield from _transfer_address(op, operand, operand.address)
        elif not PLACES[operand.place].first <= operand.address.base < PLACES[operand.place].size:
            yield "3.range", f"{format_operand(operand)} does not exist"
    if len(op.destinations) > 1 and any(o.place is Place.NOWRITE for o in op.destinations):
        yield "16.8", "$nowrite must be the only destination"
    yield from _wide(op)


def _pe_address(operand: Operand, address: Address) -> Iterator[Broken]:
    size, width = PLACES[operand.place].size, operand.width
    shown = format_operand(operand)
    named = address.flat or (address.base,)
    if max(named) >= size:
        yield "3.range", f"{shown}: {PLACES[operand.place].title} has {size} words"
    elif max(address.cycles()) + width > size:
        yield "3.wrap", f"{shown} runs past the last word and wraps to the first"
    if not address.indirect and any(a % width for a in named):
        yield "3.align", f"{shown}: ${WIDTH_LETTERS[width]}{operand.place.value} needs multiples of {width} words"
    if address.flat is None and address.stride % width:
        yield "3.stride", f"{shown}: the stride must be a multiple of {width} words"


def _matrix_row(op: Op, operand: Operand, address: Address) -> Iterator[Broken]:
    rows = MATRIX_SHAPES[op.precision][0]
    if address.base >= rows:
        yield "11.row", f"{format_operand(operand)}: a matrix of precision {op.precision} has rows 0 to {rows - 1}"
    elif operand.width == 4 and address.base % 2:
        yield "11.row", f"{format_operand(operand)}: two long words need an even row"


def _transfer_address(op: Op, operand: Operand, address: Address) -> Iterator[Broken]:
    transfer, base, shown = TRANSFERS[op.name], address.base, format_operand(operand)
    size = PLACES[operand.place].size
    if operand.place is Place.DAR:
        if base >= size:
            yield "3.range", f"{shown}: DAR has entries 0 to {size - 1}"
        return
    if operand.place is Place.L1BM:
        wide = operand.width == 4 and transfer.span2 > 0
        count, accepted = (transfer.span2 if wide else transfer.span1), transfer.accepted
        manual = transfer.align2 if wide else transfer.align1
    else:
        count, accepted, manual = transfer.l2bm, transfer.l2bm_accepted, transfer.l2bm_align
    if base + count > size:
        yield "3.range", f"{shown}: the {count} long words from {base} on do not fit into {size}"
    if base % accepted:
        yield "12.align", f"{shown}: the address of {op.name} must be a multiple of {accepted}"
    elif base % manual:
        yield "12.manual", f"{shown}: the manual aligns {op.name} to {manual}"


def _wide(op: Op) -> Iterator[Broken]:
    if op.name in ("l1bmr", "l1bmr4") and op.destinations and op.destinations[0].width == 4:
        if not REDUCTIONS[op.reduction].two_long:
            yield "12.wide", f"{op.name}{op.reduction} has no two-long-word form"
    elif op.unit is Unit.MAU and op.precision in _LW1_UNKNOWN:
        for operand in op.destinations:
            if operand.width == 4 and operand.place in PE_MEMORIES:
                yield "10.lw1", f"{format_operand(operand)}: the second long word of the result is unknown"


@lru_cache(maxsize=1 << 13)
def move_findings(move: Move) -> tuple[Broken, ...]:
    """All findings of one MV; `14.form` comes alone."""
    malformed = tuple(("5.operand", text) for o in (move.source, move.destination) if (text := _malformed(o)))
    if malformed:
        return malformed
    wrong = tuple(("14.form", text) for text in move_errors(move))
    return wrong or tuple(_move_values(move))


def _move_values(move: Move) -> Iterator[Broken]:
    form = move_form_of(move)
    if form is None:
        return
    if move.size <= 0 or move.size % form.unit:
        yield "14.size", f"mv{move.mode} moves a positive multiple of {form.unit} long words, found {move.size}"
    if move.tag is not None and not FIRST_TAG <= move.tag <= LAST_TAG:
        yield "14.form", f"tag {move.tag} does not exist; tags are i01 to iff"
    shares = (form.share_source, form.share_destination)
    for operand, share in zip((move.source, move.destination), shares, strict=True):
        yield from _move_address(operand, -(-move.size // share))


def _move_address(operand: Operand, count: int) -> Iterator[Broken]:
    address, shown = operand.address, format_operand(operand)
    if address is None:
        return
    size = PLACES[operand.place].size
    if operand.place is Place.DRAM_INDIRECT:
        if address.base >= size:
            yield "3.range", f"{shown}: DAR has entries 0 to {size - 1}"
        return
    if address.base + count > size:
        yield "3.range", f"{shown}: {count} long words do not fit into the {size} of {PLACES[operand.place].title}"
    if address.base % DRAM_UNIT:
        yield "14.align", f"{shown}: the address should be a multiple of {DRAM_UNIT}"
    groups = operand.group is not None and not 0 <= operand.group < 4
    if groups or (operand.l2b is not None and not 0 <= operand.l2b < 2):
        yield "3.range", f"{shown}: groups are 0 to 3, L2Bs 0 and 1"


def move_is_sound(found: tuple[Broken, ...]) -> bool:
    """True if the spans of the MV are meaningful."""
    return not any(rule in ("5.operand", "14.form") for rule, _ in found)
