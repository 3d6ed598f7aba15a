"""Which operands an operation accepts: form selection and role checks, derived from the tables.

The parser reports these messages with line numbers; the checker and the binary reader may ask the same questions of
operations that were built by hand.
"""

from __future__ import annotations

from .model import Op, Operand, Place, Unit
from .printer import format_operand
from .tables import MATRIX_SHAPES, MNEMONICS, MREAD_WIDTHS, OPS, Mnemonic, spell_head
from .tables_forms import Direction, Form, OpInfo, Slot
from .tables_places import FORWARDS, IDS, MATRICES, PE_MEMORIES, PLACES, WIDTH_NAMES


def candidate_forms(info: OpInfo, select: int | None) -> tuple[Form, ...]:
    """The forms that remain once it is known whether `@k` was given: with it data goes up."""
    if not info.select or len(info.forms) == 1:
        return info.forms
    wanted = Direction.DOWN if select is None else Direction.UP
    return tuple(f for f in info.forms if f.direction is wanted)


def choose_form(info: OpInfo, select: int | None, operands: tuple[Operand, ...]) -> Form:
    """The form whose first source accepts the first operand, or the first form if none does."""
    forms = candidate_forms(info, select)
    for form in forms:
        if form.sources and operands and operands[0].place in form.sources[0].places:
            return form
    return forms[0]


def form_of(op: Op) -> Form:
    """The form of a finished operation, for example to know the direction of an `l1bmd`."""
    return choose_form(OPS[op.name], op.select, op.sources)


def unit_of(info: OpInfo, sources: tuple[Operand, ...]) -> Unit:
    """Issue group: a down transfer from the turnaround register has its own (isa.md 16)."""
    if info.unit is Unit.L1BM and any(s.place is Place.TURNAROUND for s in sources):
        return Unit.L1BM_TURNAROUND
    return info.unit


def mnemonic_of(op: Op) -> str:
    """Spelled mnemonic of an operation without `@`, shift and `/` modifiers, such as `fvadd`."""
    return spell_head(Mnemonic(OPS[op.name], op.precision, op.unsigned, op.half_select, op.narrow, op.reduction))


def op_errors(op: Op) -> tuple[str, ...]:
    """Everything that makes an operation impossible to write: its modifiers, its unit, then `role_errors`."""
    info = OPS.get(op.name)
    if info is None or mnemonic_of(op) not in MNEMONICS:
        return (f"{op.precision}{op.name}{op.reduction} is not an operation",)
    checks = (
        (op.immediate is not None) != info.immediate and "literal",
        op.mantissa is not None and op.precision not in info.mantissa and "mantissa length",
        op.shift is not None and abs(op.shift) > info.shift - (not info.shift) and "shift",
        op.select is not None and op.select >= info.select and "@ number",
        op.select is None and info.select_required and "@ number",
        op.l1b_set is not None and not info.l1b_set and "L1B set",
        op.l1b_set is None and info.l1b_set == "required" and "L1B set",
        op.unit is not unit_of(info, op.sources) and "issue unit",
        op.zero_flush is not None and op.zero_flush.assertion and "zero-flush assertion",
    )
    found = tuple(f"the {what} of {mnemonic_of(op)} is wrong" for what in checks if what)
    return found or role_errors(op)


def role_errors(op: Op) -> tuple[str, ...]:
    """Everything about the operands and modifiers that the operation does not accept; empty if all is well."""
    info, form = OPS[op.name], form_of(op)
    found: list[str] = []
    if len(op.sources) != len(form.sources):
        return (f"{mnemonic_of(op)} takes {_count(len(form.sources), 'source')}, found {len(op.sources)}",)
    for slot, operand in zip(form.sources, op.sources, strict=True):
        found += _slot_errors(op, slot, operand)
    found += _destination_errors(op, form)
    if op.zero_flush is not None and not (info.zero_flush and form.direction in (Direction.PE, Direction.DOWN)):
        found.append(f"{mnemonic_of(op)} takes no zero-flush mask here")
    found += _matrix_errors(op)
    return tuple(found)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _destination_errors(op: Op, form: Form) -> list[str]:
    if form.destination is None:
        return [f"{mnemonic_of(op)} takes no operands"] if op.destinations else []
    if not op.destinations:
        free = Place.NOWRITE in form.destination.places
        return [f"{mnemonic_of(op)} needs a destination" + ("; write $nowrite for none" if free else "")]
    if len(op.destinations) > form.most:
        return [f"{mnemonic_of(op)} takes at most {_count(form.most, 'destination')}, found {len(op.destinations)}"]
    return [text for operand in op.destinations for text in _slot_errors(op, form.destination, operand)]


def _plain(slot: Slot, operand: Operand) -> bool:
    """True for the common operand that needs no closer look: legal place, no modifiers."""
    return (
        operand.place in slot.places
        and not operand.negate
        and not operand.suffix
        and operand.mask is None
        and operand.l2b is None
        and operand.group is None
        and slot.row is None
        and not slot.widths
        and not slot.l2b
    )


def _slot_errors(op: Op, slot: Slot, operand: Operand) -> list[str]:
    if _plain(slot, operand):
        return []
    shown = format_operand(operand)
    if operand.place not in slot.places:
        return [f"{shown} cannot be the {slot.name} of {mnemonic_of(op)}; legal: {describe_places(slot.places)}"]
    found: list[str] = []
    if operand.negate and not slot.negate:
        found.append(f"{shown}: the {slot.name} of {mnemonic_of(op)} cannot be negated")
    if not slot.allows_suffix(operand.suffix, (op.reduction or op.precision)[:1]):
        found.append(f"{shown}: the suffix {operand.suffix} is not possible on the {slot.name} of {mnemonic_of(op)}")
    if operand.mask is not None and (not slot.mask or operand.place is Place.NOWRITE):
        found.append(f"{shown}: a write mask is possible on written memories only")
    if slot.row is not None and slot.row != (operand.address is not None):
        found.append(f"{shown}: {mnemonic_of(op)} takes the matrix " + ("with a row" if slot.row else "without a row"))
    if (
        slot.widths
        and operand.place in (MATRICES | {Place.L1BM, Place.TURNAROUND})
        and operand.width not in slot.widths
    ):
        allowed = " or ".join(WIDTH_NAMES[w] for w in slot.widths)
        found.append(f"{shown}: the {slot.name} of {mnemonic_of(op)} must be a {allowed}")
    if slot.l2b and (operand.l2b is None or operand.group is not None):
        found.append(f"{shown}: {mnemonic_of(op)} needs the L2B of its source as @.0 or @.1")
    if not slot.l2b and (operand.l2b is not None or operand.group is not None):
        found.append(f"{shown}: {mnemonic_of(op)} works in every group at once; leave out @...")
    return found


def _matrix_errors(op: Op) -> list[str]:
    """Widths of matrix rows depend on the precision (isa.md 11.1, 11.2)."""
    if op.unit is Unit.MWRITE:
        widths, rows = tuple(MATRIX_SHAPES[op.precision][1]), op.destinations
    elif op.unit is Unit.MREAD:
        widths, rows = MREAD_WIDTHS[op.precision], op.sources
    else:
        return []
    allowed = " or ".join(WIDTH_NAMES[w] for w in widths)
    return [
        f"{format_operand(row)}: {mnemonic_of(op)} takes matrix rows as {allowed}"
        for row in rows
        if row.place in MATRICES and row.width not in widths
    ]


_GROUPS: tuple[tuple[frozenset[Place], str], ...] = (
    (PE_MEMORIES, "PE memory ($m $n $r $s)"),
    (IDS, "ids ($l2bid $l1bid $mabid $peid $subpeid $msb1)"),
    (MATRICES, "$lx $ly"),
    (FORWARDS, "$mauf $aluf $lbf $mreadf"),
)
_SPELLED: dict[Place, str] = {
    Place.L1BM: "$lb<a>", Place.TURNAROUND: "$lbi", Place.L2BM: "$lc<a>", Place.MASK: "$omr<e>", Place.DAR: "$dar<e>",
    Place.DRAM: "$d<a>", Place.PDM: "$p<a>",
}  # fmt: skip


def describe_places(places: frozenset[Place]) -> str:
    """Readable list of places in table order, memories of one kind together."""
    parts: list[str] = []
    rest = set(places)
    for group, text in _GROUPS:
        if group <= rest:
            parts.append(text)
            rest -= group
    parts += [_SPELLED.get(p, f"${p.value}") for p in PLACES if p in rest]
    return ", ".join(parts)
