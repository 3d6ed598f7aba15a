"""Compile options: one table, presets, parsing, digests (docs/options.md is generated from the table)."""

from pfcomp.options.resolve import Options, OptionWarning, load_preset, parse_assignments, preset_names, resolve
from pfcomp.options.table import STAGES, TABLE, OptionInfo, Stage

__all__ = [
    "STAGES",
    "TABLE",
    "OptionInfo",
    "OptionWarning",
    "Options",
    "Stage",
    "load_preset",
    "parse_assignments",
    "preset_names",
    "resolve",
]
