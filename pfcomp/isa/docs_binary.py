"""Text of docs/gpfnbin.md, made from the field tables."""

from __future__ import annotations

from .binfields import ARRAYS, DTYPES, HEADER, MAGIC, RECORDS, SECTIONS, STATEMENTS, VERSION, Field

_TEXT = """# GPFNBin: the binary form of a program

This page is made from `pfcomp/isa/binfields.py` by `python -m pfcomp.isa.docs`; do not edit it. Encoder and decoder
are made from the same tables.

GPFNBin is our own form, not the chip's machine words. It holds the statements of one program (steps, MV
instructions, mask and debug statements) without line numbers and comments. `encode` gives equal bytes for equal
programs; `decode` gives the program back, and `encode(decode(x)) == x` for every x that `encode` made.

Numbers are little-endian, records are packed. A file is: header ({header} bytes), the sections in the order of the
table with as many elements as the header says, and the sha256 ({digest} bytes) of all that precedes it. Nothing
follows.

| header field | kind | value |
|---|---|---|
| magic | 8 bytes | `{magic}` and a line feed |
| version | u4 | {version} |
| tables | u4 | fingerprint of the field tables and choice lists; another value is another dialect |
| counts | {sections} times u4 | elements of each section |

A `choice` field holds the index into its list, an `optional` field -1 for "not given".
Equal operations, operands and literals are stored once, in the order of their first use. Lists are stored without
offsets: each record says how many references it takes, and the references follow each other. The `order` section
holds one byte for each statement: {kinds}.

The decoder takes nothing on trust: magic, version, fingerprint, lengths and sha256 first, then every number against
its field, every reference against its pool, every operation and move against the instruction tables, every literal's
word against its text. What fails is an `ArtifactError`: PF0103 for foreign bytes or another version, PF0104 for damage.

## Sections

| section | bytes of an element | content |
|---|---|---|
"""


def _allowed(field: Field) -> str:
    if field.choices:
        shown = [str(c) if str(c) else "none" for c in field.choices]
        listed = shown if len(shown) <= 8 else [*shown[:3], "...", shown[-1]]
        return f"choice of {len(shown)}: {', '.join(listed)}"
    return f"{'optional, ' if field.optional else ''}{field.low} to {field.top}"


def _record_table(name: str) -> str:
    rows = "".join(f"| {f.name} | {f.kind} | {f.meaning} | {_allowed(f)} |\n" for f in RECORDS[name])
    return f"\n## Record `{name}`\n\n| field | kind | meaning | values |\n|---|---|---|---|\n{rows}"


def render_binary() -> str:
    """Text of docs/gpfnbin.md."""
    kinds = ", ".join(f"{i} {name}" for i, name in enumerate(STATEMENTS))
    text = _TEXT.format(
        header=HEADER.itemsize, digest=32, magic=MAGIC.decode().strip(), version=VERSION, sections=len(SECTIONS),
        kinds=kinds,
    )  # fmt: skip
    for name in SECTIONS:
        content = ARRAYS[name][1] if name in ARRAYS else f"`{name}` records"
        text += f"| {name} | {DTYPES[name].itemsize} | {content} |\n"
    return text + "".join(_record_table(name) for name in RECORDS)
