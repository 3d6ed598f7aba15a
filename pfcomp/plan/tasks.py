"""The general part of a schedule: tasks in order, each on values that lie at fixed places.

A task is a node of the planned graph (`Download`, `Upload`, `Move`, `Fill`, a rearrangement, or a kernel's operator)
with what its kernel needs besides operands and results: local memory to work in and tables of constants.
"""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import LM_WORDS, MNNode
from pfcomp.kernels.api import Attribute

LOCAL = "@LM"
"""Suffix of the on-chip copy of a value; numbers behind it tell copies apart."""

SPILL = "@spill"
"""Suffix of the DRAM space of a value that was stored aside."""


ROOM = "room"
"""Attribute of a move: long words of the memories that it was planned for, if they are not whole."""


@dataclass(frozen=True, slots=True)
class Task:
    """`scratch` and `tables` name values in local memory, in the order in which the kernel asked for them.

    `variant` is the kernel's own note. A table's value is loaded from the DRAM constant of the same name without
    the suffix of on-chip copies.
    """

    node: MNNode
    variant: str = ""
    scratch: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def tensor_of(name: str) -> str:
    """The tensor that an on-chip value is a copy of; other names as they are."""
    head, mark, _ = name.rpartition(LOCAL)
    return head if mark else name


def with_room(attributes: tuple[tuple[str, Attribute], ...], room: int) -> tuple[tuple[str, Attribute], ...]:
    """Attributes of a move that was planned for memories of `room` long words, so that it is emitted as planned."""
    return attributes if room == LM_WORDS else (*attributes, (ROOM, room))


def room_of(node: MNNode) -> int:
    """Long words of the memories that a move was planned for."""
    room = dict(node.attributes).get(ROOM, LM_WORDS)
    assert isinstance(room, int)
    return room
