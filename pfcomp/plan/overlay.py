"""Results that lie over operands: in the same long words, address by address."""

from __future__ import annotations

from pfcomp.ir.packing import LMS, Spot
from pfcomp.plan.linear import Item, Linear


def overlays(linear: Linear, item: Item) -> dict[str, str]:
    """Places of results by those of the operands that they may lie over, no place twice."""
    found: dict[str, str] = {}
    for operand, result in dict.fromkeys((*item.overwrites, *item.reuse)):
        place, old = linear.home[result][0], linear.places[linear.home[operand][0]]
        fresh = place not in found and old.name not in found.values()
        if fresh and covers(linear, item, operand, place, Spot(old.location or LMS[0], 0, old.words)):
            found[place] = old.name
    return found


def covers(linear: Linear, item: Item, operand: str, place: str, spot: Spot) -> bool:
    """True if a result may lie over an operand in `spot`, which is large enough and holds no other operand."""
    home, offset = linear.home[operand]
    read = [n for n in dict.fromkeys(item.node.inputs) if n in linear.home]
    alone = [n for n in read if linear.home[n][0] == home] == [operand]
    wanted = linear.places[place]
    return alone and offset == 0 and spot.words >= wanted.words and wanted.location in (None, spot.location)
