"""Text of operands and write masks to `Operand` and `MaskRef` (isa.md 5.3, 7.1 and 14.1)."""

from __future__ import annotations

import re
from functools import lru_cache

from .model import Address, MaskRef, Operand, Place
from .problems import Trouble
from .tables_places import LOCAL_MEMORIES, PLACES

FIRST_FIXED_MASK = 16
MASK_ENTRIES = 32
LARGEST_NUMBER = (1 << 32) - 1

_N = r"[0-9]{1,10}"
_MASK = r"(?:/(?P<mask>\S+))?"
_PE = re.compile(
    rf"(?P<minus>-)?\$(?P<width>ll|l)?(?P<place>[mnrs])(?P<indirect>t)?"
    rf"(?:(?P<base>{_N})(?P<v>v(?P<stride>{_N})?)?|\[(?P<flat>{_N},{_N},{_N},{_N})\])?"
    rf"(?:j(?P<j>[0-3]))?(?P<suffix>[er])?{_MASK}\Z"
)
_PATH = re.compile(
    rf"(?P<minus>-)?\$(?:(?:ll|l)?(?P<t>t)|(?P<path>mauf|aluf|lbf|mreadf|nowrite|l2bid|l1bid|mabid|peid|subpeid|msb1))"
    rf"(?P<suffix>[er])?{_MASK}\Z"
)
_OTHER = re.compile(
    rf"(?P<minus>-)?\$(?:(?P<mask_entry>omr)(?P<entry>{_N})|(?P<bar_width>l)?(?P<bar>[mn]b)|(?P<turn>ll|l)bi"
    rf"|(?P<l1bm>ll|l)b(?P<l1bm_address>{_N})|(?P<matrix_width>ll|l)(?P<matrix>[xy])(?P<row>{_N})?){_MASK}\Z"
)
_FAR = re.compile(
    rf"(?P<minus>-)?\$(?P<place>lc|di|dar|d|p)(?P<address>{_N})(?:@(?P<group>[0-9]+)?(?:\.(?P<l2b>[0-9]+))?)?\Z"
)
_MASK_TEXT = re.compile(
    r"(?:(?P<long>ll)?(?P<bits>[01]{4})|\$(?P<length>ll|l)?imr(?P<entry>[0-9]{1,3}))(?P<as>[tp])?\Z"
)
_WIDTHS: dict[str | None, int] = {None: 1, "": 1, "l": 2, "ll": 4}
_FAR_PLACES = {"lc": Place.L2BM, "di": Place.DRAM_INDIRECT, "dar": Place.DAR, "d": Place.DRAM, "p": Place.PDM}


def number(text: str) -> int:
    """A decimal number of at most 32 bits; raises `Trouble` if it is larger."""
    value = int(text)
    if value > LARGEST_NUMBER:
        raise Trouble(f"{text} is too large; numbers have at most 32 bits", text)
    return value


@lru_cache(maxsize=1024)
def parse_mask(text: str) -> MaskRef:
    """The text after `/`: four bits, or `$imr<e>`, with optional `l`/`ll` and assertion `t`/`p`."""
    match = _MASK_TEXT.match(text)
    if match is None:
        raise Trouble(f"{text!r} is not a mask; write four bits such as 1000, ll1000 or $imr<entry>", text)
    assertion = match["as"] or ""
    if match["bits"]:
        return MaskRef(FIRST_FIXED_MASK + int(match["bits"], 2), match["long"] or "", assertion)
    entry = int(match["entry"])
    if entry >= MASK_ENTRIES:
        raise Trouble(f"mask entry {entry} does not exist; entries are 0 to {MASK_ENTRIES - 1}", text)
    return MaskRef(entry, match["length"] or "", assertion)


@lru_cache(maxsize=1 << 15)
def parse_operand(text: str) -> Operand:
    """One operand, such as `-$lm8v4`, `$lr0v/$imr1`, `$lc0@1.0`; raises `Trouble` if it is not one."""
    match = _PE.match(text)
    if match is not None:
        return _pe_operand(match, text)
    match = _PATH.match(text)
    if match is not None:
        return _path_operand(match)
    match = _OTHER.match(text)
    if match is not None:
        return _other_operand(match, text)
    match = _FAR.match(text)
    if match is not None:
        return _far_operand(match, text)
    raise Trouble(_not_an_operand(text), text)


def _not_an_operand(text: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "..."
    if not text.lstrip("-").startswith("$"):
        return f"{shown!r} is not an operand; operands start with $"
    return f"{shown!r} is not an operand; write for example $lm8v, $lr0, $ln[0,2,4,6], $t, $aluf or $nowrite"


def _mask(match: re.Match[str]) -> MaskRef | None:
    return parse_mask(match["mask"]) if match["mask"] else None


def _pe_operand(match: re.Match[str], text: str) -> Operand:
    place, width = Place(match["place"]), _WIDTHS[match["width"]]
    indirect = match["indirect"] is not None
    neighbour = int(match["j"]) if match["j"] else None
    if match["base"] is None and match["flat"] is None and not indirect:
        raise Trouble(f"{text!r} has no address", text)
    if indirect and place is not Place.LM0:
        raise Trouble(f"{text!r}: only LM0 ($m, $lm, $llm) can be addressed through T", text)
    if neighbour is not None and (indirect or place not in LOCAL_MEMORIES):
        raise Trouble(f"{text!r}: j{neighbour} goes with LM0 and LM1 only, and not with T-indirect addressing", text)
    flat = _flat(match["flat"])
    stride = 0
    if match["v"]:
        stride = number(match["stride"]) if match["stride"] else width
    address = Address(number(match["base"] or "0"), stride, flat, indirect, neighbour)
    return Operand(place, width, address, match["minus"] is not None, match["suffix"] or "", _mask(match))


def _flat(text: str | None) -> tuple[int, int, int, int] | None:
    if text is None:
        return None
    a, b, c, d = (number(t) for t in text.split(","))
    return (a, b, c, d)


def _path_operand(match: re.Match[str]) -> Operand:
    place = Place(match["t"] or match["path"])
    width = PLACES[place].fixed_width
    return Operand(place, width, None, match["minus"] is not None, match["suffix"] or "", _mask(match))


def _other_operand(match: re.Match[str], text: str) -> Operand:
    minus, mask = match["minus"] is not None, _mask(match)
    if match["mask_entry"]:
        entry, info = number(match["entry"]), PLACES[Place.MASK]
        if not info.first <= entry < info.size:
            raise Trouble(f"mask entry {entry} cannot be written; entries 1 to {info.size - 1} can", text)
        return Operand(Place.MASK, 2, Address(entry), minus, "", mask)
    if match["bar"]:
        return Operand(Place(match["bar"]), 2 if match["bar_width"] else 1, None, minus, "", mask)
    if match["turn"]:
        return Operand(Place.TURNAROUND, _WIDTHS[match["turn"]], None, minus, "", mask)
    if match["l1bm"]:
        return Operand(Place.L1BM, _WIDTHS[match["l1bm"]], Address(number(match["l1bm_address"])), minus, "", mask)
    row = Address(number(match["row"])) if match["row"] else None
    return Operand(Place(match["matrix"]), _WIDTHS[match["matrix_width"]], row, minus, "", mask)


def _far_operand(match: re.Match[str], text: str) -> Operand:
    place = _FAR_PLACES[match["place"]]
    group, l2b = match["group"], match["l2b"]
    if text.endswith("@") or (l2b is not None and place is not Place.L2BM):
        raise Trouble(f"{text!r}: the location is @n for DRAM and PDM, @n.c or @.c for L2BM", text)
    if place is Place.L2BM and group is not None and l2b is None:
        raise Trouble(f"{text!r}: an L2BM location needs its L2B, @{group}.0 or @{group}.1", text)
    if group is not None and int(group[:4]) > 3:
        raise Trouble(f"{text!r}: group {group[:4]} does not exist; groups are 0 to 3", text)
    if l2b is not None and int(l2b[:4]) > 1:
        raise Trouble(f"{text!r}: a group has the L2Bs 0 and 1", text)
    return Operand(
        place, 2, Address(number(match["address"])), match["minus"] is not None,
        group=None if group is None else int(group), l2b=None if l2b is None else int(l2b),
    )  # fmt: skip
