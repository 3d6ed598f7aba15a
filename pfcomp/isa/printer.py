"""Programs to canonical text: the inverse of the parser."""

from __future__ import annotations

from functools import lru_cache

from .model import (
    Address,
    DebugGet,
    DebugSet,
    L1BSet,
    MaskRef,
    Move,
    MoveNop,
    Op,
    Operand,
    Place,
    Program,
    SetMask,
    Statement,
    Step,
)
from .tables import OPS, Mnemonic, spell_head
from .tables_places import PE_MEMORIES, WIDTH_LETTERS

_FIRST_FIXED_MASK = 16
_SELF_SPELLED = frozenset({Place.DRAM, Place.DRAM_INDIRECT, Place.PDM, Place.DAR})


def format_mask(mask: MaskRef) -> str:
    """The text after `/`: fixed entries as four bits, others as `$imr<e>`."""
    if mask.entry < _FIRST_FIXED_MASK:
        return f"${mask.length}imr{mask.entry}{mask.assertion}"
    if mask.length == "l":
        return f"$limr{mask.entry}{mask.assertion}"
    return f"{mask.length}{mask.entry - _FIRST_FIXED_MASK:04b}{mask.assertion}"


def _address(address: Address, width: int) -> str:
    neighbour = "" if address.neighbour is None else f"j{address.neighbour}"
    if address.flat is not None:
        return f"[{','.join(map(str, address.flat))}]{neighbour}"
    if address.stride == 0:
        return f"{address.base}{neighbour}"
    return f"{address.base}v{'' if address.stride == width else address.stride}{neighbour}"


def _location(operand: Operand) -> str:
    if operand.group is None and operand.l2b is None:
        return ""
    group = "" if operand.group is None else str(operand.group)
    return f"@{group}" + ("" if operand.l2b is None else f".{operand.l2b}")


def _space(operand: Operand) -> str:
    """Width letters, place and address."""
    place, address = operand.place, operand.address
    letters = WIDTH_LETTERS[operand.width]
    if place in PE_MEMORIES and address is not None:
        return f"{letters}{place.value}{'t' if address.indirect else ''}{_address(address, operand.width)}"
    spelled = "" if address is None else _address(address, operand.width)
    if place is Place.L2BM:
        return f"lc{spelled}{_location(operand)}"
    if place in _SELF_SPELLED:
        return f"{place.value}{spelled}{_location(operand)}"
    if place in (Place.L1BM, Place.TURNAROUND, Place.BAR0, Place.BAR1, Place.MATRIX_X, Place.MATRIX_Y):
        return f"{letters}{place.value}{spelled}"
    return f"{place.value}{spelled}"


@lru_cache(maxsize=1 << 15)
def format_operand(operand: Operand) -> str:
    """Text of one operand, such as `-$lm8v4` or `$lr0v/$imr1`."""
    mask = "" if operand.mask is None else f"/{format_mask(operand.mask)}"
    return f"{'-' if operand.negate else ''}${_space(operand)}{operand.suffix}{mask}"


def format_l1b_set(members: L1BSet) -> str:
    """The text after `@`: one L1B, or base and don't-care bits."""
    return f"{members.base}/{members.dont_care}" if members.dont_care else str(members.base)


def format_opcode(op: Op) -> str:
    """Mnemonic with all modifiers, without operands."""
    head = Mnemonic(OPS[op.name], op.precision, op.unsigned, op.half_select, op.narrow, op.reduction)
    parts = [spell_head(head)]
    if op.select is not None:
        parts.append(f"@{op.select}")
    if op.l1b_set is not None:
        parts.append(f"@{format_l1b_set(op.l1b_set)}")
    if op.shift is not None:
        parts.append(f"{op.shift:+d}")
    if op.mantissa is not None:
        parts.append(f"/{op.mantissa}")
    if op.zero_flush is not None:
        parts.append(f"/{format_mask(op.zero_flush)}")
    return "".join(parts)


@lru_cache(maxsize=1 << 15)
def format_op(op: Op) -> str:
    """Text of one operation."""
    literal = [] if op.immediate is None else [f'{op.immediate.type}"{op.immediate.text}"']
    operands = [format_operand(o) for o in op.sources + op.destinations]
    return " ".join([format_opcode(op), *literal, *operands])


def _format_step(step: Step) -> str:
    parts = [format_op(op) for op in step.ops]
    if step.noforward:
        parts.append("noforward")
    if not parts:
        parts.append("nop" if step.repeat == 1 else f"nop/{step.repeat}")
    parts += [f"wait i{tag:02x}" for tag in step.waits]
    return "; ".join(parts)


def _format_move(move: Move) -> str:
    tag = "" if move.tag is None else f"i{move.tag:02x}"
    run = "" if move.run is None else f"nd{move.run}"
    priority = "" if move.priority is None else f"p{move.priority}"
    operands = f"{format_operand(move.source)} {format_operand(move.destination)}"
    return f"mv{move.mode}{move.reduction}/n{move.size}{tag}{run}{priority} {operands}"


def _debug_place(operand: Operand, ids: tuple[tuple[str, int], ...]) -> str:
    space = f"l{_space(operand)}" if operand.place is Place.T else _space(operand)
    return f"${space}{''.join(f'{letter}{value}' for letter, value in ids)}"


def _format_set(statement: DebugSet) -> str:
    payload = "".join(f"{value:016X}" for value in statement.payload)
    operand, count = statement.operand, len(statement.payload)
    if operand.place is Place.DRAM and operand.address is not None:  # isa.md 19.3, DRAM is filled by `r` lines
        return f"r {dict(statement.ids)['n']} {operand.address.base:09x} {count:03x} {payload}"
    return f"d set {_debug_place(operand, statement.ids)} {count} {payload}"


def format_statement(statement: Statement) -> str:
    """One line of canonical text, without the line end."""
    match statement:
        case Step():
            return _format_step(statement)
        case Move():
            return _format_move(statement)
        case MoveNop():
            return "mvnop"
        case SetMask():
            return f"mask{statement.length}{statement.memories} {statement.entry}"
        case DebugGet():
            return f"d get{statement.type} {_debug_place(statement.operand, statement.ids)} {statement.count}"
        case DebugSet():
            return _format_set(statement)


def print_program(program: Program) -> str:
    """The whole program, one statement for each line, with a final line end (empty text for no statements)."""
    return "".join(f"{format_statement(s)}\n" for s in program.statements)
