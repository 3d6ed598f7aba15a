"""From a program's `options={...}`, a preset file and flags to one frozen set of values with a digest per stage."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import cast

from pfcomp.errors import UsageError
from pfcomp.options.table import TABLE, OptionInfo, Stage
from pfcomp.options.values import convert

PREFIX = "CODEGEN_"
"""Of variables that may stand for options."""


class OptionWarning(UserWarning):
    """An option is unknown or has a value that this version does not know; it was left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Options(Mapping[str, object]):
    """The value of every row of the table. Build it with `resolve`; read it with the accessors of the value's type."""

    _values: Mapping[str, object]

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)

    def text(self, name: str) -> str:
        return cast(str, self[name])

    def flag(self, name: str) -> bool:
        return cast(bool, self[name])

    def integer(self, name: str) -> int:
        return cast(int, self[name])

    def real(self, name: str) -> float:
        return cast(float, self[name])

    def mapping(self, name: str) -> dict[str, str]:
        return dict(cast(Mapping[str, str], self[name]))

    def changed(self) -> dict[str, object]:
        """The values that differ from the default and enter a stage's key; `resolve` of it gives the same digests."""
        return {n: self[n] for n, row in TABLE.items() if row.stages and self[n] != row.default}

    def digest(self, stage: Stage | None = None) -> str:
        """SHA-256 (hex) of the values that enter `stage`'s key.

        Codegen writes the digest of all values into the app, so all of them enter its key; None means all as well.
        """
        everything = stage in (None, "codegen")
        rows = (row for row in TABLE.values() if row.stages and (everything or stage in row.stages))
        text = json.dumps({row.name: self[row.name] for row in rows}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def resolve(options: Mapping[str, object] | None = None, option_json: str | Path | None = None) -> Options:
    """The options of a compilation, later ones winning.

    Defaults, then the process's `CODEGEN_*` variables, then the preset, then `envs`, then `options`.

    `option_json` (or the key of that name in `options`) is a path or the bare name of a preset such as `O1.json`.
    Unknown keys warn (OptionWarning) with the nearest known one. Raises UsageError for values that are not allowed
    (PF0802) and for preset files that are missing or malformed (PF0803).
    """
    given = dict(options or {})
    named = given.pop("option_json", None)
    preset = load_preset(str(option_json or named)) if option_json or named else {}
    merged = {**preset, **given}
    values: dict[str, object] = {row.name: row.default for row in TABLE.values()}
    of_process = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    layers = (_from_environment(of_process), preset, _from_environment(merged.get("envs")), given)
    for layer in layers:
        values.update(_converted(layer))
    return Options(values)


def load_preset(name: str) -> dict[str, object]:
    """Content of the option file at path `name` or, where no such file is, of the preset with that (bare) name."""
    path = Path(name)
    packaged = resources.files("preset_options") / (name if name.endswith(".json") else f"{name}.json")
    bare = path.name == name
    if not path.is_file() and not (bare and packaged.is_file()):
        hint = f"presets: {', '.join(preset_names())}"
        raise UsageError("PF0803", "no such option file", where=name, hint=hint)
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else packaged.read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError("PF0803", f"option file cannot be read ({error})", where=name) from error
    if not isinstance(content, dict):
        raise UsageError("PF0803", "option file is not a JSON object", where=name, hint='write {"option": value}')
    return content


def preset_names() -> tuple[str, ...]:
    """File names of the presets, sorted."""
    files = resources.files("preset_options").iterdir()
    return tuple(sorted(f.name for f in files if f.name.endswith(".json")))


def parse_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """`["k=v", ...]` of the command line as a mapping; raises UsageError PF0802 where the `=` is missing."""
    result: dict[str, object] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError("PF0802", f"--option {text!r} is not of the form name=value")
        result[name.strip()] = value.strip()
    return result


def _converted(layer: Mapping[str, object]) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, value in layer.items():
        row = TABLE.get(name)
        if row is None:
            _warn(f"unknown option {name!r} ignored{_nearest(name)}")
        elif row.lenient and str(value) not in row.choices:
            known = ", ".join(row.choices)
            _warn(f"option {name}: unknown value {str(value)!r}, using {row.default!r} (known: {known})")
        else:
            result[name] = convert(row, value)
    return result


def _from_environment(variables: object) -> dict[str, object]:
    """The options that the variables in `envs` stand for."""
    if variables is None:
        return {}
    given = cast(Mapping[str, str], convert(TABLE["envs"], variables))
    rows: dict[str, OptionInfo] = {row.environment: row for row in TABLE.values() if row.environment}
    return {rows[name].name: value for name, value in given.items() if name in rows}


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, TABLE, n=1)
    return f"; did you mean {close[0]!r}?" if close else "; see `pfcomp options`"


def _warn(message: str) -> None:
    warnings.warn(message, OptionWarning, stacklevel=4)
