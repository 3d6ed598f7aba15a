"""What the files of `layout_spec` and `gemm_layout_spec` hold: entries that demand layouts (mlsdk.md 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pfcomp.errors import SourceError, UsageError

if TYPE_CHECKING:
    from pfcomp.layout import Layout

TRIGGERS = ("SwitchInput", "FixOutput")
OPERATOR_KEYS = ("trigger", "op_type", "shape", "layout")
PRODUCT_KEYS = ("A", "BT", "C")
BAD_ENTRY = "PF0809"


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """The inputs (SwitchInput) or the output (FixOutput) of `op_type` that have `shape` are to lie in `layout`."""

    trigger: str
    op_type: str
    shape: tuple[int, ...]
    layout: Layout

    def __str__(self) -> str:
        return f"{self.trigger} {self.op_type} {list(self.shape)}"


@dataclass(frozen=True, slots=True)
class ProductEntry:
    """Layouts of the product A[M,K] BT[N,K] = C[M,N] whose weight has `key` in its name, by PRODUCT_KEYS."""

    key: str
    layouts: Mapping[str, Layout]

    def __str__(self) -> str:
        return f"key {self.key!r}"


def operator_entries(content: object, where: str = "layout_spec") -> tuple[OperatorEntry, ...]:
    """The entries of a `layout_spec`; raises UsageError PF0809 that names the first wrong one."""
    found: dict[tuple[object, ...], int] = {}
    entries = []
    for number, (place, fields) in enumerate(_fields(content, where, OPERATOR_KEYS, OPERATOR_KEYS)):
        entry = _operator_entry(place, fields)
        first = found.setdefault((entry.trigger, entry.op_type, entry.shape), number)
        if first != number:
            raise _wrong(place, f"repeats entry {first} ({entry})", "remove one of the two")
        entries.append(entry)
    return tuple(entries)


def product_entries(content: object, where: str = "gemm_layout_spec") -> tuple[ProductEntry, ...]:
    """The entries of a `gemm_layout_spec`; raises UsageError PF0809 that names the first wrong one."""
    entries = []
    for place, fields in _fields(content, where, ("key", *PRODUCT_KEYS), ("key",)):
        key = fields["key"]
        if not isinstance(key, str) or not key:
            raise _wrong(place, f"key cannot be {key!r}", "write a part of the weight's name")
        layouts = {name: _layout(place, name, fields[name]) for name in PRODUCT_KEYS if name in fields}
        if not layouts:
            raise _wrong(place, "demands nothing", f"give layouts for one or more of {', '.join(PRODUCT_KEYS)}")
        entries.append(ProductEntry(key, layouts))
    return tuple(entries)


def _fields(
    content: object, where: str, known: tuple[str, ...], needed: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Place and fields of every entry."""
    if not isinstance(content, list):
        raise _wrong(where, "is not a JSON list", f'write [{{"{known[0]}": ...}}, ...]')
    for number, entry in enumerate(content):
        place = f"{where}, entry {number}"
        if not isinstance(entry, dict):
            raise _wrong(place, "is not a JSON object", f"give it the keys {', '.join(known)}")
        unknown = [name for name in entry if name not in known]
        missing = [name for name in needed if name not in entry]
        if unknown or missing:
            what = f"unknown key {unknown[0]!r}" if unknown else f"the key {missing[0]!r} is missing"
            raise _wrong(place, what, f"the keys are {', '.join(known)}")
        yield place, cast(Mapping[str, object], entry)


def _operator_entry(place: str, fields: Mapping[str, object]) -> OperatorEntry:
    trigger, op_type, shape = fields["trigger"], fields["op_type"], fields["shape"]
    if trigger not in TRIGGERS:
        raise _wrong(place, f"trigger cannot be {trigger!r}", f"write {' or '.join(TRIGGERS)}")
    if not isinstance(op_type, str) or not op_type:
        raise _wrong(place, f"op_type cannot be {op_type!r}", "write the name of an operator, as in model.onnx")
    if not isinstance(shape, list) or not all(type(n) is int and n > 0 for n in shape):
        raise _wrong(place, f"shape cannot be {shape!r}", "write a list of positive integers")
    return OperatorEntry(str(trigger), op_type, tuple(shape), _layout(place, "layout", fields["layout"]))


def _layout(place: str, name: str, text: object) -> Layout:
    from pfcomp.layout import Layout  # here, because it needs numpy and commands without such files start without it

    if not isinstance(text, str):
        raise _wrong(place, f"{name} cannot be {text!r}", "write a layout text such as ((3:1), (2_W:1, 4_PE:1))")
    try:
        return Layout.parse(text)
    except SourceError as error:
        raise _wrong(place, f"{name} cannot be read: {error.what} ({error.where})", "see docs/layout.md") from error


def _wrong(where: str, what: str, hint: str) -> UsageError:
    return UsageError(BAD_ENTRY, what, where=where, hint=hint)
