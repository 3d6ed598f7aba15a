"""Field tables of GPFNBin: every record of the binary program form; encoder, decoder and docs are made from them.

All numbers are little-endian, records are packed without padding. A field with `choices` stores the index of the
value; an optional field stores -1 for "not given".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .literals import IMMEDIATE_TYPES
from .model import Place, Unit
from .tables import MODES, OPS, REDUCTIONS
from .tables_places import GET_TYPES, ID_RANGES

MAGIC = b"GPFNBIN\n"
VERSION = 1
DIGEST_BYTES = 32

NUMBERS: dict[str, tuple[int, int]] = {
    "u1": (0, 0xFF),
    "u2": (0, 0xFFFF),
    "u4": (0, 0xFFFFFFFF),
    "u8": (0, (1 << 64) - 1),
    "i1": (-1, 0x7F),
    "i2": (-1, 0x7FFF),
    "i8": (-1, (1 << 63) - 1),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: name, number kind of `NUMBERS`, meaning, and how values map to numbers."""

    name: str
    kind: str
    meaning: str
    choices: tuple[Any, ...] = ()
    optional: bool = False
    low: int = 0
    high: int | None = None
    top: int = field(init=False)  # largest stored number

    def __post_init__(self) -> None:
        limit = NUMBERS[self.kind][1] if self.high is None else self.high
        object.__setattr__(self, "top", len(self.choices) - 1 if self.choices else limit)

    def pack(self, value: Any) -> int:
        """Number stored for a value; raises ValueError if it does not fit."""
        if value is None and self.optional:
            return -1
        number = self.choices.index(value) if self.choices else value
        if not self.low <= number <= self.top:
            raise ValueError(f"{self.name} {value} does not fit")
        return int(number)

    def unpack(self, number: int) -> Any:
        """Value for a stored number; raises ValueError if no encoder writes that number."""
        if number == -1 and self.optional:
            return None
        if not self.low <= number <= self.top:
            raise ValueError(f"{self.name} has the impossible value {number}")
        return self.choices[number] if self.choices else number


def _flag(name: str, meaning: str) -> Field:
    return Field(name, "u1", meaning, (False, True))


def _mask_fields(prefix: str, meaning: str) -> tuple[Field, ...]:
    """Three fields of an optional mask reference."""
    return (
        Field(f"{prefix}_entry", "i1", f"{meaning}: mask register entry", optional=True, high=31),
        Field(f"{prefix}_length", "u1", f"{meaning}: length", ("", "l", "ll")),
        Field(f"{prefix}_assertion", "u1", f"{meaning}: assertion", ("", "t", "p")),
    )


_OPERAND = Field("operand", "u4", "index into the operand records")
_LOCATION = tuple(
    Field(letter, "i1", f"id {letter}", optional=True, high=count - 1) for letter, count in ID_RANGES.items()
)

RECORDS: dict[str, tuple[Field, ...]] = {
    "literal": (
        Field("type", "u1", "literal type", IMMEDIATE_TYPES),
        Field("word", "u4", "the 32-bit word it stands for"),
        Field("length", "u2", "characters of its text; the texts follow each other in the text section"),
    ),
    "operand": (
        Field("place", "u1", "memory or path", tuple(Place)),
        Field("width", "u1", "access width in words", (1, 2, 4)),
        _flag("negate", "input is negated"),
        Field("suffix", "u1", "widen or narrow", ("", "e", "r")),
        _flag("addressed", "has an address"),
        _flag("indirect", "T is added to the address"),
        Field("neighbour", "i1", "k of j<k>", optional=True, high=3),
        Field("base", "u4", "address"),
        Field("stride", "u4", "address step of a cycle"),
        _flag("flat", "the four addresses below are used"),
        *(Field(f"flat{c}", "u4", f"address in cycle {c}") for c in range(4)),
        *_mask_fields("mask", "write mask"),
        Field("group", "i1", "group of an MV operand", optional=True, high=3),
        Field("l2b", "i1", "L2B of an MV or DAR operand", optional=True, high=1),
    ),
    "op": (
        Field("unit", "u1", "issue unit", tuple(Unit)),
        Field("name", "u1", "operation", tuple(OPS)),
        Field("precision", "u1", "precision letter", ("", *"dfghlis")),
        _flag("unsigned", "prefix u"),
        Field("half_select", "u1", "half of a split double product", ("", "u", "d")),
        _flag("narrow", "suffix r of the mnemonic"),
        Field("mantissa", "i1", "mantissa length of bfn, bfe", optional=True, low=6, high=9),
        *_mask_fields("flush", "zero-flush mask"),
        Field("reduction", "u1", "reduction operator", ("", *REDUCTIONS)),
        Field("select", "i1", "number after @", optional=True, high=15),
        Field("shift", "u1", "MAB shift", (None, *range(-15, 16))),
        Field("set_base", "i1", "L1B set, base", optional=True, high=7),
        Field("set_dont_care", "u1", "L1B set, bits that do not matter", high=7),
        Field("immediate", "i8", "index into the literal records", optional=True, high=NUMBERS["u4"][1]),
        Field("sources", "u1", "source operands, taken from the operand references in order"),
        Field("destinations", "u1", "destination operands, taken after the sources"),
    ),
    "step": (
        Field("ops", "u2", "operations, taken from the operation references in order"),
        Field("waits", "u1", "tags, taken from the tag section in order"),
        _flag("noforward", "forwarding paths are kept"),
        Field("repeat", "u4", "N of nop/N, else 1", low=1),
    ),
    "move": (
        Field("mode", "u1", "MV mode", MODES),
        Field("size", "u4", "long words on the larger side"),
        Field("reduction", "u1", "reduction operator", ("", *REDUCTIONS)),
        Field("tag", "i2", "completion tag", optional=True, low=1, high=255),
        Field("run", "i8", "N of nd<N>", optional=True, high=NUMBERS["u4"][1]),
        Field("priority", "i1", "priority", optional=True, high=3),
        Field("source", "u4", "index into the operand records"),
        Field("destination", "u4", "index into the operand records"),
    ),
    "mask": (
        Field("memories", "u1", "bits 0 to 5 for r s t m n k", high=63),
        Field("entry", "u1", "mask register entry", high=31),
        Field("length", "u1", "length", ("", "l", "ll")),
    ),
    "get": (
        Field("type", "u1", "number format", GET_TYPES),
        _OPERAND,
        *_LOCATION,
        Field("count", "u4", "long words", low=1),
    ),
    "set": (
        _OPERAND,
        *_LOCATION,
        Field("count", "u4", "long words, taken from the payload section in order", low=1),
    ),
}  # fmt: skip

# Sections without named fields: plain numbers.
ARRAYS: dict[str, tuple[str, str]] = {
    "text": ("u1", "ASCII texts of the literals"),
    "operand_refs": ("u4", "operand indices of the op records"),
    "op_refs": ("u4", "op indices of the step records"),
    "tags": ("u1", "tags of the waits"),
    "payload": ("u8", "long words of the set records"),
    "order": ("u1", "kind of every statement in program order"),
}

SECTIONS = ("text", "literal", "operand", "operand_refs", "op", "op_refs", "tags", "step", "move", "mask", "get", "set",
            "payload", "order")  # fmt: skip
# `order` holds these indices; an "mvnop" has no record.
STATEMENTS = ("step", "move", "mvnop", "mask", "get", "set")

HEADER_KINDS: tuple[tuple[str, str], ...] = (
    ("magic", "S8"),
    ("version", "u4"),
    ("tables", "u4"),
    *((f"{name}_count", "u4") for name in SECTIONS),
)


def section_dtype(name: str) -> np.dtype[Any]:
    """Packed little-endian numpy dtype of one element of a section."""
    if name in ARRAYS:
        return np.dtype("<" + ARRAYS[name][0])
    return np.dtype([(f.name, "<" + f.kind) for f in RECORDS[name]])


HEADER = np.dtype([(name, kind if kind == "S8" else "<" + kind) for name, kind in HEADER_KINDS])
DTYPES: dict[str, np.dtype[Any]] = {name: section_dtype(name) for name in SECTIONS}


def tables_fingerprint() -> int:
    """32 bits that change when a field or the order of a choice list changes."""
    listing = repr([(name, [(f.name, f.kind, [str(c) for c in f.choices]) for f in fields])
                    for name, fields in RECORDS.items()])  # fmt: skip
    return int.from_bytes(hashlib.sha256(listing.encode()).digest()[:4], "little")


def digest(header: npt.NDArray[Any], body: bytes) -> bytes:
    """sha256 over header and sections."""
    return hashlib.sha256(header.tobytes() + body).digest()
