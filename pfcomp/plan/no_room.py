"""The error of a plan that needs more local memory than there is; it says what the next plan should cut smaller."""

from __future__ import annotations

from collections.abc import Iterable

from pfcomp.errors import UnsupportedError

HINT = "use a smaller batch, raise the option sram_budget, or split the function"


class NoRoomError(UnsupportedError):
    """`nodes` and `tensors` are names of the planned graph: what had better be smaller."""

    def __init__(
        self, code: str, what: str, *, nodes: Iterable[str] = (), tensors: Iterable[str] = (), where: str = ""
    ) -> None:
        super().__init__(code, what, where=where, hint=HINT)
        self.nodes, self.tensors = tuple(nodes), tuple(tensors)
