"""A cache that is bounded by the memory its entries take, not by their number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Kept(Generic[V]):
    """Keeps what was made for a key, until newer entries weigh more than `limit` (bytes) together with it."""

    def __init__(self, limit: int, weight: Callable[[V], int]) -> None:
        self.limit, self.weight = limit, weight
        self.entries: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self.total = 0

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value for a key, made if it is not there; the last one always stays."""
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key][0]
        value = make()
        size = self.weight(value)
        self.entries[key] = value, size
        self.total += size
        while self.total > self.limit and len(self.entries) > 1:
            _, (_, oldest) = self.entries.popitem(last=False)
            self.total -= oldest
        return value
