"""Text of opcodes and operations to `Op` (isa.md 5.2)."""

from __future__ import annotations

import re
from functools import lru_cache

from .literals import parse_immediate
from .model import Immediate, L1BSet, MaskRef, Op
from .operands import parse_mask, parse_operand
from .problems import Trouble, nearest
from .roles import choose_form, role_errors, unit_of
from .tables import MNEMONICS, Mnemonic
from .tables_forms import OpInfo

_OPCODE = re.compile(
    r"(?P<head>[a-z0-9]+)(?:@(?P<at>[0-9,]+(?:/[0-9](?![^/\s]))?))?(?P<shift>[+-][0-9]{1,3})?(?P<rest>(?:/[^/\s]+)*)\Z"
)
_LITERAL = re.compile(r'(?P<type>[A-Za-z]*)"(?P<text>[^"]*)"\Z')
_MANTISSA = ("6", "7", "8", "9")
_HEADS = tuple(MNEMONICS)
_WORDS = (*_HEADS, "nop", "noforward", "wait", "quit", "mask", "mvnop", "d")

# isa.md 13.1: an explicit list must be one of the sets that base and don't-care bits can express.
_LISTS: dict[frozenset[int], L1BSet] = {
    frozenset(s.members()): s for i in range(7, -1, -1) for b in range(7, -1, -1) for s in (L1BSet(b, i),)
}


@lru_cache(maxsize=1 << 13)
def _opcode(text: str) -> tuple[Mnemonic, dict[str, object]]:
    """The head's row and the modifiers after it."""
    match = _OPCODE.match(text)
    mnemonic = MNEMONICS.get(match["head"]) if match else None
    if match is None or mnemonic is None:
        raise Trouble(_unknown(text, match["head"] if match else text), text)
    info = mnemonic.info
    fields: dict[str, object] = {}
    at = match["at"]
    if info.select or info.l1b_set:
        fields.update(_at(info, at, text))
    elif at:
        raise Trouble(f"{match['head']} takes no @{at}", text)
    if match["shift"]:
        fields["shift"] = _shift(info, match["shift"], text)
    fields.update(_slashes(mnemonic, match["rest"], text))
    return mnemonic, fields


def parse_opcode(text: str) -> tuple[Mnemonic, dict[str, object]]:
    """The row of an opcode such as `fvadd` or `l1bmd+1`, and the `Op` fields that its modifiers set."""
    mnemonic, fields = _opcode(text)
    return mnemonic, dict(fields)


def _unknown(text: str, head: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "..."
    if head.startswith(("$", "-$")):
        return f"{shown!r} is an operand where an operation should start"
    return f"{shown!r} is not an operation{nearest(head.lower(), _WORDS)}"


def _at(info: OpInfo, at: str | None, text: str) -> dict[str, object]:
    if at is None:
        if info.select_required or info.l1b_set == "required":
            raise Trouble(f"{info.name} needs @ and the L1B", text)
        return {}
    if info.l1b_set:
        return {"l1b_set": parse_l1b_set(at)}
    if not at.isdigit() or int(at[:4]) >= info.select:
        raise Trouble(f"@{at} of {info.name} must be a number from 0 to {info.select - 1}", text)
    return {"select": int(at)}


def parse_l1b_set(text: str) -> L1BSet:
    """`b`, `b/i` or a list of L1Bs such as `4,5,6,7`; raises `Trouble` for anything else."""
    if re.fullmatch(r"[0-7](/[0-7])?", text):
        return L1BSet(int(text[0]), int(text[2:] or "0"))
    if re.fullmatch(r"[0-7](,[0-7])+", text):
        members = frozenset(int(t) for t in text.split(","))
        if members in _LISTS:
            return _LISTS[members]
        legal = " or ".join(",".join(map(str, s)) for s in _closest_sets(members))
        raise Trouble(f"the L1Bs {text} do not form a set of base and don't-care bits; nearest: {legal}", text)
    raise Trouble(f"@{text} is not a set of L1Bs; write @b, @b/i or a list, each number 0 to 7", text)


def _closest_sets(members: frozenset[int]) -> list[list[int]]:
    supersets = [sorted(s) for s in _LISTS if members <= s]
    least = min(map(len, supersets))
    return sorted(s for s in supersets if len(s) == least)[:2]


def _shift(info: OpInfo, text: str, opcode: str) -> int:
    value = int(text)
    if not info.shift:
        raise Trouble(f"{info.name} takes no shift {text}", opcode)
    if not -info.shift <= value <= info.shift:
        raise Trouble(f"shift {text} of {info.name} must be between -{info.shift} and +{info.shift}", opcode)
    return value


def _slashes(mnemonic: Mnemonic, rest: str, text: str) -> dict[str, object]:
    """Mantissa length and zero-flush mask."""
    fields: dict[str, object] = {}
    for part in rest.split("/")[1:]:
        if part in _MANTISSA and mnemonic.precision in mnemonic.info.mantissa and not fields:
            fields["mantissa"] = int(part)
        elif "zero_flush" in fields:
            raise Trouble(f"/{part} is one modifier too many", text)
        elif len(part) == 1:
            raise Trouble(f"/{part} is not possible on {mnemonic.info.name}; hbfn and hbfe take /6 to /9", text)
        else:
            fields["zero_flush"] = _zero_flush(part)
    return fields


def _zero_flush(part: str) -> MaskRef:
    mask = parse_mask(part)
    if mask.assertion:
        raise Trouble(f"/{part}: a zero-flush mask has no {mask.assertion}", part)
    return mask


def parse_operation(tokens: list[str]) -> Op:
    """Tokens of one operation to `Op`; raises `Trouble` with the first thing that is wrong."""
    mnemonic, fields = _opcode(tokens[0])
    info = mnemonic.info
    rest, literal = tokens[1:], None
    if info.immediate:
        literal, rest = _literal(info.name, rest)
    operands = tuple([parse_operand(t) for t in rest])
    select = fields.get("select")
    form = choose_form(info, select if isinstance(select, int) else None, operands)
    count = len(form.sources)
    if len(operands) < count:
        raise Trouble(f"{tokens[0]} takes {count} source{'s' if count > 1 else ''}, found {len(operands)}", tokens[0])
    sources = operands[:count]
    op = Op(
        unit_of(info, sources), info.name, mnemonic.precision, mnemonic.unsigned, mnemonic.half_select,
        mnemonic.narrow, reduction=mnemonic.reduction, immediate=literal, sources=sources,
        destinations=operands[count:], **fields,  # type: ignore[arg-type]
    )  # fmt: skip
    errors = role_errors(op)
    if errors:
        raise Trouble(errors[0], tokens[0])
    return op


def _literal(name: str, tokens: list[str]) -> tuple[Immediate, list[str]]:
    match = _LITERAL.match(tokens[0]) if tokens else None
    if match is None:
        raise Trouble(f'{name} needs a literal such as f"1.0", i"-3" or ui"0xff"', tokens[0] if tokens else name)
    return parse_immediate(match["type"], match["text"]), tokens[1:]
