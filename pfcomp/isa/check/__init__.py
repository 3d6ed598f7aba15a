"""The static checker of programs: every rule of isa.md 16 and every hazard of 17, with alignment and ranges."""

from __future__ import annotations

from .checker import check
from .findings import Finding
from .rules import RULES, Rule

__all__ = ["RULES", "Finding", "Rule", "check"]
