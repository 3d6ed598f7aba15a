"""Text of MV lines to `Move` and `MoveNop` (isa.md 14.1)."""

from __future__ import annotations

import re

from .model import Move, MoveNop, Operand, Place
from .operands import number, parse_operand
from .printer import format_operand
from .problems import Trouble, nearest
from .steps import parse_tag
from .tables import MODES, MOVE_FORMS, REDUCING_MODES, REDUCTIONS, MoveForm, find_move_form
from .tables_moves import Ids, base_place

_HEAD = re.compile(r"mv(?P<mode>b2|b4|r2|r4|[pbdr])(?P<reduction>[a-z]*)(?P<rest>/.*)?\Z")
_REST = re.compile(r"/n(?P<size>[0-9]{1,10})(?P<options>(?:i[0-9a-fA-F]{2}|nd[0-9]{1,10}|p[0-9])*)\Z")
_OPTION = re.compile(r"i[0-9a-fA-F]{2}|nd[0-9]{1,10}|p[0-9]")
_MODE_NAMES = tuple(f"mv{mode}" for mode in MODES)


def parse_move(text: str) -> Move | MoveNop:
    """One MV line without comment; raises `Trouble`."""
    if ";" in text:
        text = text.rstrip("; \t")
        if ";" in text:
            raise Trouble("an MV instruction stands alone on its line", ";")
    tokens = text.split()
    if tokens[0] == "mvnop":
        if len(tokens) > 1:
            raise Trouble(f"mvnop takes no operands, found {tokens[1]!r}", tokens[1])
        return MoveNop()
    mode, reduction, size, options = _head(tokens[0])
    if len(tokens) != 3:
        raise Trouble(f"{tokens[0]} takes a source and a destination, found {len(tokens) - 1} operands", tokens[0])
    source, destination = parse_operand(tokens[1]), parse_operand(tokens[2])
    move = Move(mode, size, source, destination, reduction, **options)
    errors = move_errors(move)
    if errors:
        raise Trouble(errors[0], tokens[1])
    return move


def _head(token: str) -> tuple[str, str, int, dict[str, int]]:
    head, slash, rest = token.partition("/")
    match = _HEAD.match(head)
    if match is None:
        raise Trouble(f"{head!r} is not an MV mode{nearest(head, _MODE_NAMES)}", token)
    mode, reduction = match["mode"], match["reduction"]
    if mode in REDUCING_MODES and reduction not in REDUCTIONS:
        raise Trouble(f"mv{mode} needs a reduction such as ffadd{nearest(reduction, tuple(REDUCTIONS))}", token)
    if mode not in REDUCING_MODES and reduction:
        raise Trouble(f"mv{mode} takes no reduction, found {reduction!r}", token)
    found = _REST.match(slash + rest)
    if found is None:
        raise Trouble(f"{token!r}: write /n<size>, then i<tag>, nd<run> and p<0..3> where needed", token)
    return mode, reduction, number(found["size"]), _options(found["options"], token)


def _options(text: str, token: str) -> dict[str, int]:
    options: dict[str, int] = {}
    for part in _OPTION.findall(text):
        name = {"i": "tag", "n": "run", "p": "priority"}[part[0]]
        if name in options:
            raise Trouble(f"{token!r}: {part} is given twice", token)
        options[name] = parse_tag(part) if name == "tag" else number(part.lstrip("ndp"))
    if options.get("priority", 0) > 3:
        raise Trouble(f"{token!r}: the priority is p0 to p3", token)
    return options


def location_style(operand: Operand) -> str:
    """How the location of an MV operand is written: one of the strings of `Ids`."""
    if operand.l2b is None:
        return Ids.ALL if operand.group is None else Ids.GROUP
    return Ids.EACH if operand.group is None else Ids.L2B


def move_form_of(move: Move) -> MoveForm | None:
    """The table row of a move, or None if its operands fit no form of its mode."""
    source, destination = move.source, move.destination
    return find_move_form(
        move.mode, source.place, location_style(source), destination.place, location_style(destination)
    )


def move_errors(move: Move) -> tuple[str, ...]:
    """What is wrong with the operands and options of a move; empty if all is well."""
    if move_form_of(move) is None:
        return (_no_form(move),)
    found = [
        f"{format_operand(o)}: MV operands take no sign, mask or suffix"
        for o in (move.source, move.destination)
        if o.negate or o.mask is not None or o.suffix
    ]
    indirect = Place.DRAM_INDIRECT in (move.source.place, move.destination.place)
    if move.run is not None and not indirect:
        found.append(f"nd{move.run} goes with a $di operand only")
    if move.run == 0:
        found.append("nd0: a DAR entry serves at least one block")
    return tuple(found)


def _no_form(move: Move) -> str:
    places = (base_place(move.source.place), base_place(move.destination.place))
    forms = [f for f in MOVE_FORMS if f.mode == move.mode]
    close = [f for f in forms if (f.source, f.destination) == places] or forms
    legal = ", ".join(dict.fromkeys(f"{_show(f.source, f.source_ids)} {_show(f.destination, f.destination_ids)}"
                                    for f in close))  # fmt: skip
    found = f"{format_operand(move.source)} {format_operand(move.destination)}"
    return f"mv{move.mode} cannot move {found}; legal: {legal}"


def _show(place: Place, ids: str) -> str:
    name = "$lc" if place is Place.L2BM else f"${place.value}"
    return f"{name}<a>{ids}"
