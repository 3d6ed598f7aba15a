"""How a compilation is shown: progress on a terminal, plain lines otherwise, a summary or JSON at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import click

from pfcomp.stages.events import CompileResult, Event
from pfcomp.stages.summary import result_json, result_lines, result_table


def _on_terminal() -> bool:
    return sys.stderr.isatty()


@dataclass(slots=True)
class Display:
    """Receives the events of pipelines as an observer and shows them on stderr; the summary goes to stdout."""

    quiet: bool = False
    as_json: bool = False
    terminal: bool = field(default_factory=_on_terminal)

    def __call__(self, event: Event) -> None:
        """Shows an event: one line that is overwritten on a terminal, a line for each finished stage otherwise."""
        if self.quiet or self.as_json:
            return
        if self.terminal:
            self._overwrite(event)
        elif event.kind == "finished":
            click.echo(f"{event.directory.name}: {event.stage}: {event.seconds:.2f} s", err=True)
        elif event.kind in ("skipped", "cached"):
            origin = "fresh" if event.kind == "skipped" else "from the cache"
            click.echo(f"{event.directory.name}: {event.stage}: {origin}", err=True)

    def _overwrite(self, event: Event) -> None:
        line = f"{event.directory.name}: {event.stage} ..." if event.kind == "started" else ""
        click.echo(f"\r\x1b[K{line}", nl=False, err=True, color=True)

    def summary(self, results: Sequence[CompileResult], reached: str | None = None) -> None:
        """Shows what was compiled, and that the script was stopped before the call of `reached`."""
        if self.as_json:
            content = {"compiled": [result_json(result) for result in results], "stopped_before": reached}
            click.echo(json.dumps(content, indent=1))
        elif not self.quiet:
            self._tables(results)
            if reached is not None:
                click.echo(f"stopped before the first call of {reached}")

    def _tables(self, results: Sequence[CompileResult]) -> None:
        if not sys.stdout.isatty():
            click.echo("\n".join(line for result in results for line in result_lines(result)))
            return
        from rich.console import Console

        console = Console()
        for result in results:
            console.print(result_table(result))
