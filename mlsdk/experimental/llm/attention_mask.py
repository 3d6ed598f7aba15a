"""The additive attention mask of a language model with a cache (mlsdk.md 1.9)."""

from __future__ import annotations

import torch
from torch import Tensor


def prepare_4d_causal_attention_mask_with_cache_position(
    attention_mask: Tensor, position_ids: Tensor, dtype: torch.dtype
) -> Tensor:
    """What to add to the attention scores: 0 where a query may look, the most negative number of `dtype` elsewhere.

    `attention_mask` is (batch, keys), 0 for the padding on the left; `position_ids` is (batch, queries), and the
    queries are the last of the keys. Query and key must both be in order: a query sees keys up to itself. Returns
    (batch, 1, queries, keys). The contents of `position_ids` do not matter.
    """
    keys, queries = attention_mask.shape[1], position_ids.shape[-1]
    key = torch.arange(keys, device=attention_mask.device)
    query = torch.arange(keys - queries, keys, device=attention_mask.device)
    later = key[None, :] > query[:, None]
    hidden = later[None, None] | (attention_mask == 0)[:, None, None, :]
    shape = (attention_mask.shape[0], 1, queries, keys)
    zeros = torch.zeros(shape, dtype=dtype, device=attention_mask.device)
    return zeros.masked_fill(hidden, torch.finfo(dtype).min)
