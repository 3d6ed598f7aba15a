"""Values of options: from what a program, a JSON file or the command line gives to what the compiler reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pfcomp.errors import UsageError
from pfcomp.options.layout_files import operator_entries, product_entries
from pfcomp.options.table import Kind, OptionInfo

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


def bad_value(info: OptionInfo, value: object, allowed: str) -> UsageError:
    """The error for a value that the row does not allow."""
    return UsageError("PF0802", f"option {info.name} cannot be {value!r}", hint=f"allowed: {allowed}")


def convert(info: OptionInfo, value: object) -> object:
    """Checks `value` against the row and returns it in the type of its kind; raises UsageError PF0802."""
    return _CONVERTERS[info.kind](info, value)


def _choice(info: OptionInfo, value: object) -> object:
    text = str(value)
    if text not in info.choices:
        raise bad_value(info, value, ", ".join(info.choices))
    return text


def _number(info: OptionInfo, value: object, make: Callable[[str], float], noun: str) -> float:
    low, high = info.low, info.high
    span = "" if low is None else f" from {low:g}" + ("" if high is None else f" to {high:g}")
    try:
        number = make(str(value))
    except ValueError:
        raise bad_value(info, value, noun + span) from None
    inside = (low is None or number >= low) and (high is None or number <= high)
    if not inside:
        raise bad_value(info, value, noun + span)
    return number


def _real(info: OptionInfo, value: object) -> object:
    return _number(info, value, float, "a number")


def _integer(info: OptionInfo, value: object) -> object:
    return _number(info, value, int, "an integer")


def _flag(info: OptionInfo, value: object) -> object:
    text = str(value).lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise bad_value(info, value, "true, false")


def _text(_info: OptionInfo, value: object) -> object:
    return str(value)


def _mapping(info: OptionInfo, value: object) -> object:
    parsed = _json_text(info, value) if isinstance(value, str) else value
    if not isinstance(parsed, Mapping):
        raise bad_value(info, value, "a mapping of names to text")
    return {str(k): str(v) for k, v in sorted(parsed.items(), key=lambda item: str(item[0]))}


def _file(info: OptionInfo, value: object) -> object:
    if value is None or value == "":
        return None
    path = value if isinstance(value, str | Path) else None
    content = value if path is None else _json_file(info, path)
    _CHECKS[info.name](content, f"option {info.name}" if path is None else f"{path}: option {info.name}")
    return content


def _json_file(info: OptionInfo, path: str | Path) -> object:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError("PF0803", f"option {info.name}: {_reason(error)}", where=str(path)) from error


def _json_text(info: OptionInfo, value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        raise bad_value(info, value, "JSON text") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    return f"is not JSON ({error})"


_CHECKS: dict[str, Callable[[object, str], object]] = {
    "layout_spec": operator_entries,
    "gemm_layout_spec": product_entries,
}
"""What reads the content of an option of kind "file", with the place for messages."""

_CONVERTERS: dict[Kind, Callable[[OptionInfo, object], object]] = {
    "choice": _choice,
    "real": _real,
    "integer": _integer,
    "flag": _flag,
    "text": _text,
    "mapping": _mapping,
    "file": _file,
}
