"""A Llama model in stages, one for each board of a pipeline (mlsdk.md 1.9)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from mlsdk.experimental.llm.kv_cache import KVCache, kv_cache_to_legacy, kv_cache_to_tensor


class EmbeddingStage(nn.Module):  # type: ignore[misc] # torch has no types here
    """Tokens to hidden states, and the rotary embedding of their positions."""

    def __init__(self, embed_tokens: nn.Module, rotary_emb: nn.Module) -> None:
        super().__init__()
        self.embed_tokens, self.rotary_emb = embed_tokens, rotary_emb

    def forward(self, input_ids: Tensor, position_ids: Tensor) -> dict[str, Tensor]:
        hidden_states = self.embed_tokens(input_ids)
        cos, sin = self.rotary_emb(hidden_states, position_ids)
        return _handed_on(hidden_states, cos, sin)


class DecoderStage(nn.Module):  # type: ignore[misc] # torch has no types here
    """Some decoder layers, `first` being the number of the first one.

    `past_key_values` is a tensor, pairs per layer, a cache object or None; `past_key_values_out` is a tensor if it was
    one, else pairs per layer.
    """

    def __init__(self, layers: list[nn.Module], first: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.first = first

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings_cos: Tensor,
        position_embeddings_sin: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
    ) -> dict[str, Any]:
        pairs = kv_cache_to_legacy(past_key_values) if isinstance(past_key_values, Tensor) else past_key_values
        cache = KVCache(pairs or (), self.first)
        for layer in self.layers:
            found = layer(
                hidden_states,
                attention_mask=attention_mask,
                position_ids=position_ids,
                past_key_value=cache,
                use_cache=True,
                position_embeddings=(position_embeddings_cos, position_embeddings_sin),
            )
            hidden_states = found if isinstance(found, Tensor) else found[0]
        new = cache.to_legacy_cache()
        out = {"past_key_values_out": kv_cache_to_tensor(new) if isinstance(past_key_values, Tensor) else new}
        return _handed_on(hidden_states, position_embeddings_cos, position_embeddings_sin) | out


class HeadStage(nn.Module):  # type: ignore[misc] # torch has no types here
    """Hidden states to logits."""

    def __init__(self, norm: nn.Module, lm_head: nn.Module) -> None:
        super().__init__()
        self.norm, self.lm_head = norm, lm_head

    def forward(self, hidden_states: Tensor) -> dict[str, Tensor]:
        return {"logits": self.lm_head(self.norm(hidden_states))}


def split_llama(model: Any, n_stages: int) -> list[nn.Module]:
    """The stages of a `LlamaForCausalLM`, which share its modules: embedding, groups of layers, head.

    There are `n_stages` - 2 groups of equally many layers; the last one may have fewer. Raises ValueError where
    `n_stages` leaves no group, or a group no layer.
    """
    inner, groups = model.model, n_stages - 2
    layers = list(inner.layers)
    if groups < 1:
        raise ValueError(f"n_stages={n_stages}: there are an embedding, a head and at least one stage between them")
    size = -(-len(layers) // groups)
    parts = [layers[start : start + size] for start in range(0, len(layers), size)]
    if len(parts) != groups:
        raise ValueError(f"{len(layers)} layers cannot be spread over {groups} stages of {size}")
    decoders = [DecoderStage(part, size * number) for number, part in enumerate(parts)]
    return [EmbeddingStage(inner.embed_tokens, inner.rotary_emb), *decoders, HeadStage(inner.norm, model.lm_head)]


def _handed_on(hidden_states: Tensor, cos: Tensor, sin: Tensor) -> dict[str, Any]:
    return {
        "hidden_states_out": hidden_states,
        "position_embeddings_cos_out": cos,
        "position_embeddings_sin_out": sin,
    }
