"""What the checker returns: findings with the rule they break."""

from __future__ import annotations

from dataclasses import dataclass

from .rules import RULES


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: its id in `RULES`, the source line (0 if the program has no text), the statement's index."""

    rule: str
    line: int
    index: int
    text: str

    @property
    def severity(self) -> str:
        """ "error" or "warning"."""
        return RULES[self.rule].severity

    def describe(self, name: str = "<vsm>") -> str:
        """`name:line: severity rule: text`."""
        return f"{name}:{self.line}: {self.severity} {self.rule}: {self.text}"


class Report:
    """Collects findings; `at` sets the statement that the following ones belong to."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.index = self.line = 0

    def at(self, index: int, line: int) -> None:
        """Attribute what follows to the statement `index`."""
        self.index, self.line = index, line

    def add(self, rule: str, text: str) -> None:
        """Add a finding at the current statement, unless the very same is there already."""
        finding = Finding(rule, self.line, self.index, text)
        if not self.findings or self.findings[-1] != finding:
            self.findings.append(finding)
