"""Writes docs/isa.md and docs/gpfnbin.md from the tables: `python -m pfcomp.isa.docs [FOLDER]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .docs_binary import render_binary
from .literals import IMMEDIATE_TYPES
from .model import Unit
from .roles import describe_places
from .tables import MAPPINGS, MATRIX_SHAPES, MOVE_FORMS, OPS, PLACES, REDUCTIONS, TRANSFERS, ReductionInfo, find_heads
from .tables_forms import Flag, Form, OpInfo, Slot
from .tables_moves import FIRST_TAG, LAST_TAG, MoveForm
from .tables_places import GET_TYPES, ID_RANGES, WIDTH_LETTERS, PlaceInfo

_INTRO = """# Instruction set tables

This page is made from the tables in `pfcomp/isa` by `python -m pfcomp.isa.docs`; do not edit it. The last
columns name the sections of the chip's reference, which the code cites as isa.md.

A line is one *step* (four cycles): operations of different units joined by `;`. `#` and `!` start a comment.

| line | meaning |
|---|---|
| `op ...; op ...` | one step; the order of the operations does not matter |
| `nop`, `nop/N` | one step, or N steps, without operation; may share its line with `wait` only |
| `noforward` | this step leaves the forwarding paths as they are |
| `wait iXX` | hold until every MV with tag XX has finished; needs another expression on its line |
| `mv...` | one MV instruction, alone on its line |
| `mask[l or ll][rstmnk] E` | mask entry E for writes to the named memories from here on; no step |
| `d get[type] <memory><address>[ids] N` | print N long words; types: {types} |
| `d set <memory><address>[ids] N <payload>` | store N long words: 16 hex digits each, or pieces `l`16, `i`8, `s`4 |
| `r G <9 hex address> <3 hex count> <payload>` | store long words to the DRAM of group G |
| `c ...` | host transfer record; accepted and ignored |
| `quit` | the rest of the file is ignored |

Literals of `imm` are a type ({literals}) and a quoted number: `imm f"1.5" $lr0`. Tags are `i{first:02x}` to
`i{last:02x}`. Location ids are {ids}.
"""

_CHOICES = """
## Where isa.md leaves a choice

* Split double operations that also narrow are printed with the half first (`dvfmaur`); `dvfmaru` is read as well.
* A sign is accepted on the source of `mwrite`, because it shares its port with the second factor of a vector
  multiplication and must then be spelled like it.
* `r` on an L1BM reduction and `e` on its PE source are accepted for single operators; `hfadd` implies both.
* `imm` integers of type `i` and `s` take signed and unsigned spellings of the same bits; floats beyond the range
  become infinity, as with the C library.
* Payload pieces of `d set` are concatenated: `l` and 16, `i` or `w` and 8, `s` or `h` and 4 hex digits.
* Addresses may exceed the size of a memory; they wrap, and the checker reports them.
"""


def _table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    titles = [t.strip() for t in head.split("|")]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _place_row(info: PlaceInfo) -> tuple[object, ...]:
    size = f"{info.size} {info.unit}" if info.unit else ""
    widths = " ".join(f"`{WIDTH_LETTERS[w]}`" if WIDTH_LETTERS[w] else "word" for w in info.widths)
    port = f"{info.port} (shared)" if info.shared_port else info.port
    return (f"`{info.place.value}`", info.title, size, widths, port, info.mask_letter, " ".join(info.ids))


def _suffixes(slot: Slot) -> str:
    return ", ".join(f"`{s}` for {p}" for s, p in slot.suffixes)


def _slot_row(slot: Slot) -> tuple[object, ...]:
    extras = ["sign"] * slot.negate + ["mask"] * slot.mask
    return (slot.name, describe_places(slot.places), _suffixes(slot), ", ".join(extras))


def _form(form: Form) -> str:
    parts = [slot.name for slot in form.sources]
    if form.destination is not None:
        parts.append(form.destination.name + ("..." if form.most > 1 else ""))
    return ", ".join(parts) or "none"


def _modifiers(info: OpInfo) -> str:
    parts = ["`/6`..`/9` (h)"] * bool(info.mantissa)
    if info.select:
        parts.append(f"`@0`..`@{info.select - 1}`" + (" (up)" if not info.select_required else ""))
    parts += [f"`+n`, `-n` to {info.shift}"] * bool(info.shift)
    parts += [f"`@set` {info.l1b_set}"] * bool(info.l1b_set)
    parts += ["`/mask`"] * info.zero_flush
    return ", ".join(parts)


def _spellings(info: OpInfo) -> str:
    if info.reduction:
        return f"`{info.name}`*op*" + (f", `{info.name}`*op*`r`" if info.narrow else "")
    return " ".join(f"`{head}`" for head in find_heads(info))


def _op_rows(units: set[Unit]) -> Iterable[tuple[object, ...]]:
    for info in OPS.values():
        if info.unit in units:
            forms = " or ".join(_form(f) for f in info.forms)
            flag = "" if info.flag is Flag.NONE else info.flag.value
            full = "yes" if info.lanes128 else ""
            yield (_spellings(info), _modifiers(info), forms, info.meaning, flag, full, info.section)


def _move_row(form: MoveForm) -> tuple[object, ...]:
    source, destination = (
        f"`{'$lc' if p.value == 'c' else '$' + p.value}<a>{ids}`"
        for p, ids in ((form.source, form.source_ids), (form.destination, form.destination_ids))
    )
    name = f"`mv{form.mode}`" + ("*op*" if form.reduces else "")
    return (name, source, destination, form.unit, form.sized, f"`{MAPPINGS[form.mapping]}`")


def _reduction_row(info: ReductionInfo) -> tuple[object, ...]:
    return (f"`{info.name}`", info.precision, info.meaning, "yes" if info.two_long else "")


def _all_slots() -> list[Slot]:
    found: dict[tuple[object, ...], Slot] = {}
    for info in OPS.values():
        for form in info.forms:
            for slot in (*form.sources, *([form.destination] if form.destination else [])):
                found.setdefault(_slot_row(slot), slot)
    return list(found.values())


def _transfer_rows() -> Iterable[tuple[object, ...]]:
    for name, t in TRANSFERS.items():
        two = (t.span2, t.align2) if t.span2 else ("", "")
        far = (t.l2bm, t.l2bm_align, t.l2bm_accepted) if t.l2bm else ("", "", "")
        yield (f"`{name}`", t.span1 or "", t.align1 if t.span1 else "", *two, t.accepted if t.span1 else "", *far)


def render_isa() -> str:
    """Text of docs/isa.md."""
    intro = _INTRO.format(
        types=", ".join(t or "none" for t in GET_TYPES), literals=" ".join(IMMEDIATE_TYPES), first=FIRST_TAG,
        last=LAST_TAG, ids=", ".join(f"`{k}` below {n}" for k, n in ID_RANGES.items()),
    )  # fmt: skip
    op_head = "mnemonics | modifiers | operands | result | flag bit 1 if | both LW | isa.md"
    pe, mau = {Unit.ALU}, {Unit.MAU, Unit.MWRITE, Unit.MREAD}
    far = {Unit.L1BM, Unit.L2BM, Unit.DAR_WRITE}
    matrix = ((p, f"{n} x {n}", ", ".join(f"{r} rows as `{WIDTH_LETTERS[w]}`" for w, r in steps.items()))
              for p, (n, steps) in MATRIX_SHAPES.items())  # fmt: skip
    parts = (
        intro,
        "## Places\n",
        _table("place|what|size|widths|port|mask letter|ids", map(_place_row, PLACES.values())),
        "## Operand positions\n",
        _table("position|places|suffixes|also", map(_slot_row, _all_slots())),
        "## ALU\n",
        _table(op_head, _op_rows(pe)),
        "## MAU and matrix registers\n",
        _table(op_head, _op_rows(mau)),
        _table("precision|matrix|one step of mwrite", matrix),
        "## L1BM and L2BM\n",
        "A down transfer whose source is `$lbi` or `$llbi` belongs to its own issue group.\n",
        _table(op_head, _op_rows(far)),
        "Long words touched by one step, and alignment of the address (manual / seen in accepted programs):\n",
        _table("op|1LW span|1LW align|2LW span|2LW align|accepted|L2BM span|L2BM align|accepted", _transfer_rows()),
        "## Reductions\n",
        _table("op|element|meaning|2LW form in L1BM", map(_reduction_row, REDUCTIONS.values())),
        "## MV\n",
        "`mv<mode>[op]/n<size>[i<tag>][nd<run>][p<priority>] source destination`; `$di<e>` may stand for `$d<a>`.\n",
        _table("mode|source|destination|unit LW|size counts|elements", map(_move_row, MOVE_FORMS)),
        _CHOICES.lstrip("\n"),
    )  # fmt: skip
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """File name below docs/ -> text, for all generated pages of this package."""
    return {"isa.md": render_isa(), "gpfnbin.md": render_binary()}


def main(arguments: list[str]) -> None:
    """Write the pages into the given folder, by default `docs`."""
    folder = Path(arguments[0] if arguments else "docs")
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
