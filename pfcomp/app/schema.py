"""The schema `gpfnapp.fbs` as a table: writer and reader are both driven by it.

The parser takes the part of the FlatBuffers schema language that the file uses: tables whose fields are scalars,
strings, other tables, or vectors of these. A field's slot is its place in the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pfcomp.artifacts import sha256

FORMAT_VERSION = 1
IDENTIFIER = b"GPFN"

# Scalar type: (size in bytes, name of the NumPy dtype, little endian).
SCALARS = {"bool": (1, "<u1"), "ubyte": (1, "<u1"), "uint": (4, "<u4"), "ulong": (8, "<u8"), "long": (8, "<i8")}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table: `type` is a scalar, "string" or a table's name; `vector` for `[type]`."""

    name: str
    type: str
    vector: bool
    slot: int

    @property
    def scalar(self) -> bool:
        return self.type in SCALARS


Tables = dict[str, tuple[Field, ...]]

_TABLE = re.compile(r"table\s+(\w+)\s*\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?)\s*(\w+)\s*\]?\s*;")


def parse_schema(text: str) -> Tables:
    """The tables of a schema text with their fields in order."""
    plain = re.sub(r"//[^\n]*", "", text)
    tables: Tables = {}
    for name, body in _TABLE.findall(plain):
        found = enumerate(_FIELD.findall(body))
        tables[name] = tuple(Field(field, kind, bool(bracket), slot) for slot, (field, bracket, kind) in found)
    return tables


@cache
def schema_text() -> str:
    """Text of `gpfnapp.fbs`."""
    return (resources.files("pfcomp.app") / "gpfnapp.fbs").read_text(encoding="utf-8")


@cache
def tables() -> Tables:
    """The tables of `gpfnapp.fbs`."""
    return parse_schema(schema_text())


@cache
def schema_hash() -> str:
    """Digest of the schema without comments and blanks: 16 hex digits, written into and demanded of every app."""
    plain = re.sub(r"//[^\n]*", "", schema_text())
    return sha256(re.sub(r"\s+", "", plain).encode())[:16]
