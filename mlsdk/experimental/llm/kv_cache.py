"""Key-value caches in their three forms: one tensor, pairs per layer, an object (mlsdk.md 1.9).

The tensor is (layers, 2, batch, heads, sequence, head dimension); a compiled function can take and return it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

Legacy: TypeAlias = tuple[tuple[Tensor, Tensor], ...]


class KVCache:
    """Keys and values of each layer, in the way that models ask for them.

    `first` is the number of the first layer, where a model is cut into stages. New keys and values are put behind the
    old ones.
    """

    def __init__(self, pairs: Iterable[tuple[Tensor, Tensor]] = (), first: int = 0) -> None:
        self.first = first
        self.key_cache: list[Tensor] = []
        self.value_cache: list[Tensor] = []
        for key, value in pairs:
            self.key_cache.append(key)
            self.value_cache.append(value)

    def update(self, key: Tensor, value: Tensor, layer_idx: int, _: Any = None) -> tuple[Tensor, Tensor]:
        """Append to a layer and return all its keys and values; layers are filled in order."""
        layer = layer_idx - self.first
        if layer == len(self.key_cache):
            self.key_cache.append(key)
            self.value_cache.append(value)
        else:
            self.key_cache[layer] = torch.cat([self.key_cache[layer], key], dim=-2)
            self.value_cache[layer] = torch.cat([self.value_cache[layer], value], dim=-2)
        return self.key_cache[layer], self.value_cache[layer]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Length of the sequence that a layer (default: the first) has seen."""
        layer = max(layer_idx - self.first, 0)
        return int(self.key_cache[layer].shape[-2]) if layer < len(self.key_cache) else 0

    def get_usable_length(self, _: int, layer_idx: int = 0) -> int:
        """The same: the cache has no limit."""
        return self.get_seq_length(layer_idx)

    def get_max_length(self) -> None:
        """There is no limit."""

    def to_legacy_cache(self) -> Legacy:
        """Pairs per layer."""
        return tuple(zip(self.key_cache, self.value_cache, strict=True))

    def __len__(self) -> int:
        return len(self.key_cache)

    def __getitem__(self, layer: int) -> tuple[Tensor, Tensor]:
        return self.key_cache[layer], self.value_cache[layer]

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(self.to_legacy_cache())


def kv_cache_to_tensor(past_key_values: Any) -> Tensor:
    """The tensor of pairs per layer, or of a cache object that can be asked for them; a tensor stays as it is."""
    if isinstance(past_key_values, Tensor):
        return past_key_values
    pairs = past_key_values.to_legacy_cache() if hasattr(past_key_values, "to_legacy_cache") else past_key_values
    return torch.stack([torch.stack(tuple(pair)) for pair in pairs])


def kv_cache_to_legacy(kv_cache: Tensor) -> Legacy:
    """Pairs per layer, (batch, heads, sequence, head dimension) each."""
    return tuple((layer[0], layer[1]) for layer in kv_cache.unbind(0))


def kv_cache_to_plamo(kv_cache: Tensor) -> KVCache:
    """An object that PLaMo's layers can read and extend."""
    return KVCache(kv_cache_to_legacy(kv_cache))
