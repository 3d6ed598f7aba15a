"""Text of `mask`, `d get`, `d set` and the emulator's `r` and `c` lines (isa.md 7.2 and 19)."""

from __future__ import annotations

import re

from .model import Address, DebugGet, DebugSet, Operand, Place, SetMask
from .operands import MASK_ENTRIES, number
from .problems import Trouble
from .tables_places import GET_TYPES, GETTABLE, ID_RANGES, MATRICES, PLACES, SETTABLE

_N = r"[0-9]{1,10}"
_MASK = re.compile(r"mask(?P<length>ll?)?(?P<memories>[rstmnk]*)\Z")
_PLACE = re.compile(
    rf"\$(?:(?P<width>ll|l)?(?P<pe>[mnrst])|(?P<wide>ll|l)(?P<lb>[bcxy])|(?P<plain>omr|d|p))(?P<address>{_N})?"
    r"(?:n(?P<n>[0-9]{1,3}))?(?:c(?P<c>[0-9]{1,3}))?(?:b(?P<b>[0-9]{1,3}))?(?:m(?P<m>[0-9]{1,3}))?"
    r"(?:p(?P<p>[0-9]{1,3}))?\Z"
)
_SUGAR = re.compile(r"(?:l[0-9a-fA-F]{16}|[iw][0-9a-fA-F]{8}|[sh][0-9a-fA-F]{4}|[0-9a-fA-F])*\Z")
_PREFIXES = str.maketrans("", "", "liwsh")
_DRAM_LINE = re.compile(r"r\s+([0-3])\s+([0-9a-fA-F]{9})\s+([0-9a-fA-F]{3})\s+([0-9a-fA-F]+)\Z")
_HOST_LINE = re.compile(r"c(\s+[0-9a-zA-Z]+){7,8}\Z")
MASK_ORDER = "rstmnk"
_WIDTHS: dict[str | None, int] = {None: 1, "l": 2, "ll": 4}


def parse_mask_statement(text: str) -> SetMask:
    """`mask[l|ll][rstmnk] <entry>`; raises `Trouble`."""
    tokens = text.rstrip("; \t").split()
    match = _MASK.match(tokens[0])
    if match is None:
        raise Trouble(f"{tokens[0]!r} is not a mask statement; write mask, l or ll, letters of rstmnk", tokens[0])
    if len(tokens) != 2 or not re.fullmatch(_N, tokens[1]):
        raise Trouble(f"{tokens[0]} takes one mask entry, as in maskn 1", tokens[0])
    entry = number(tokens[1])
    if entry >= MASK_ENTRIES:
        raise Trouble(f"mask entry {entry} does not exist; entries are 0 to {MASK_ENTRIES - 1}", tokens[1])
    letters = match["memories"]
    return SetMask("".join(m for m in MASK_ORDER if m in letters), entry, match["length"] or "")


def parse_debug(text: str) -> DebugGet | DebugSet:
    """`d get...` or `d set...`; raises `Trouble`."""
    tokens = text.split()
    verb = tokens[1] if len(tokens) > 1 else ""
    if verb == "set":
        return _set(tokens)
    if verb.startswith("get") and verb[3:] in GET_TYPES:
        return _get(tokens, verb[3:])
    raise Trouble(
        f"'d {verb[:20]}' is not a debug statement; write d get, d getd, d getf, d geth or d set", verb or "d"
    )


def _count(token: str) -> int:
    if not re.fullmatch(_N, token) or number(token) < 1:
        raise Trouble(f"{token[:20]!r} is not a count of long words", token)
    return number(token)


def _get(tokens: list[str], kind: str) -> DebugGet:
    if len(tokens) != 4:
        raise Trouble(f"d {tokens[1]} takes a memory and a count, as in d get $lm0n0c0b0m0p0 1", tokens[1])
    operand, ids = parse_location(tokens[2])
    if operand.place not in GETTABLE:
        raise Trouble(f"{tokens[2]} cannot be read by d get", tokens[2])
    if operand.place in MATRICES and not kind:
        raise Trouble("matrix registers need a type: getd, getf, geth, getbd, getbf, getbg or getbh", tokens[1])
    return DebugGet(kind, operand, ids, _count(tokens[3]))


def _set(tokens: list[str]) -> DebugSet:
    if len(tokens) < 5:
        raise Trouble("d set takes a memory, a count and a payload", tokens[1])
    operand, ids = parse_location(tokens[2])
    if operand.place not in SETTABLE:
        raise Trouble(f"{tokens[2]} cannot be written by d set; legal: PE memories, $t, $lb, $lc", tokens[2])
    return DebugSet(operand, ids, _payload("".join(tokens[4:]), _count(tokens[3])))


def _payload(text: str, count: int) -> tuple[int, ...]:
    """Long words of the payload: hex digits, or pieces l<16>, i<8> or w<8>, s<4> or h<4>."""
    if not _SUGAR.match(text):
        raise Trouble("the payload must be hex digits, or pieces such as l<16 digits>, i<8> and s<4>", text[:20])
    digits = text.translate(_PREFIXES)
    if len(digits) != 16 * count:
        raise Trouble(f"the payload has {len(digits)} hex digits; {count} long words need {16 * count}", text[:20])
    return tuple(int(digits[i : i + 16], 16) for i in range(0, len(digits), 16))


def parse_location(text: str) -> tuple[Operand, tuple[tuple[str, int], ...]]:
    """Memory, address and location ids of a debug statement, such as `$lm8n0c1b2m3p0`; raises `Trouble`."""
    match = _PLACE.match(text)
    if match is None:
        raise Trouble(f"{text[:40]!r} is not a memory and location such as $lm0n0c0b0m0p0", text)
    place = Place(match["pe"] or match["lb"] or match["plain"])
    address = Address(number(match["address"])) if match["address"] else None
    if address is None and place is not Place.T:
        raise Trouble(f"{text} has no address", text)
    ids = tuple((letter, int(match[letter])) for letter in ID_RANGES if match[letter])
    for letter, value in ids:
        if letter not in PLACES[place].ids:
            raise Trouble(f"{text}: this memory has no id {letter}; it has {PLACES[place].ids}", text)
        if value >= ID_RANGES[letter]:
            raise Trouble(f"{text}: {letter} must be 0 to {ID_RANGES[letter] - 1}", text)
    return Operand(place, _width(place, match), address), ids


def _width(place: Place, match: re.Match[str]) -> int:
    if place is Place.T or match["plain"]:
        return PLACES[place].fixed_width
    return _WIDTHS[match["width"] or match["wide"]]


def parse_dram_line(text: str) -> DebugSet:
    """`r <group> <address> <count> <payload>`: long words stored to a group's DRAM (isa.md 19.3)."""
    match = _DRAM_LINE.match(text)
    if match is None:
        raise Trouble("an r line is: r, group 0 to 3, 9 hex digits address, 3 hex digits count, payload", "r")
    count, address = int(match[3], 16), int(match[2], 16)
    if address >= PLACES[Place.DRAM].size:
        raise Trouble(f"DRAM address 0x{match[2]} is outside the group's DRAM", match[2])
    if count < 1:
        raise Trouble("an r line stores at least one long word", match[3])
    return DebugSet(Operand(Place.DRAM, 2, Address(address)), (("n", int(match[1])),), _payload(match[4], count))


def check_host_line(text: str) -> None:
    """A `c` record of the host's data transfers is accepted and has no effect (isa.md 19.3)."""
    if not _HOST_LINE.match(text):
        raise Trouble("a c line has seven or eight fields", "c")
