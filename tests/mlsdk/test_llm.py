"""Helpers for language models, on a small Llama of our own with the interfaces of the usual one."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from mlsdk import Context, MNDevice
from mlsdk.experimental.llm.attention_mask import prepare_4d_causal_attention_mask_with_cache_position
from mlsdk.experimental.llm.kv_cache import KVCache, kv_cache_to_legacy, kv_cache_to_plamo, kv_cache_to_tensor
from mlsdk.experimental.llm.modeling_staged_llama import split_llama

HEADS, DIM, WIDTH, WORDS = 2, 4, 8, 11


class Rotary(nn.Module):
    def forward(self, x, position_ids):
        angles = position_ids[..., None].to(x.dtype) / 10 ** torch.arange(DIM)
        return angles.cos(), angles.sin()


class Layer(nn.Module):
    def __init__(self, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden_states, attention_mask, position_ids, past_key_value, use_cache, position_embeddings):
        batch, length, _ = hidden_states.shape
        parts = self.qkv(hidden_states).view(batch, length, 3, HEADS, DIM).permute(2, 0, 3, 1, 4)
        cos, sin = (part[:, None] for part in position_embeddings)
        query, key = (part * cos + part.roll(1, -1) * sin for part in parts[:2])
        key, value = past_key_value.update(key, parts[2], self.layer_idx, {"sin": sin, "cos": cos})
        scores = query @ key.transpose(-1, -2) + attention_mask
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, WIDTH)
        return hidden_states + self.out(mixed), past_key_value


def make_model(layers):
    torch.manual_seed(0)
    inner = SimpleNamespace(
        embed_tokens=nn.Embedding(WORDS, WIDTH),
        rotary_emb=Rotary(),
        layers=nn.ModuleList(Layer(i) for i in range(layers)),
        norm=nn.LayerNorm(WIDTH),
    )
    return SimpleNamespace(model=inner, lm_head=nn.Linear(WIDTH, WORDS))


def whole(model, tokens, mask, positions, cache):
    hidden = model.model.embed_tokens(tokens)
    rotary = model.model.rotary_emb(hidden, positions)
    for layer in model.model.layers:
        hidden, _ = layer(hidden, mask, positions, cache, True, rotary)
    return model.lm_head(model.model.norm(hidden))


def staged(stages, tokens, mask, positions, caches):
    found = stages[0](input_ids=tokens, position_ids=positions)
    for number, stage in enumerate(stages[1:-1]):
        names = ("hidden_states", "position_embeddings_cos", "position_embeddings_sin")
        handed = {name: found[f"{name}_out"] for name in names}
        found = stage(attention_mask=mask, position_ids=positions, past_key_values=caches[number], **handed)
        caches[number] = found["past_key_values_out"]
    return stages[-1](hidden_states=found["hidden_states_out"])["logits"]


@pytest.mark.parametrize("n_stages", [3, 4, 5])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_stages_equal_the_whole(n_stages, as_tensor):
    model = make_model(5)
    stages = split_llama(model, n_stages)
    assert len(stages) == n_stages
    attention, tokens = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]), torch.randint(0, WORDS, (2, 6))
    positions = attention.cumsum(-1)
    mask = prepare_4d_causal_attention_mask_with_cache_position(attention, positions, torch.float32)
    cache, caches = KVCache(), [None] * (n_stages - 2)
    expected = whole(model, tokens[:, :5], mask, positions, cache)
    assert torch.equal(staged(stages, tokens[:, :5], mask, positions, caches), expected)
    if as_tensor:
        caches = [kv_cache_to_tensor(each) for each in caches]
    attention = torch.cat([attention, torch.ones(2, 1, dtype=torch.int64)], 1)
    last = positions[:, -1:] + 1
    mask = prepare_4d_causal_attention_mask_with_cache_position(attention, last, torch.float32)
    assert torch.equal(
        staged(stages, tokens[:, 5:], mask, last, caches), whole(model, tokens[:, 5:], mask, last, cache)
    )
    assert all(isinstance(each, torch.Tensor) == as_tensor for each in caches)
    assert torch.equal(torch.cat([kv_cache_to_tensor(each) for each in caches]), kv_cache_to_tensor(cache))


def test_impossible_stages():
    for n_stages, match in ((2, "at least one stage"), (6, "5 layers cannot be spread over 4 stages")):
        with pytest.raises(ValueError, match=match):
            split_llama(make_model(5), n_stages)


def test_mask():
    attention = torch.tensor([[0, 1, 1], [1, 1, 1]])
    mask = prepare_4d_causal_attention_mask_with_cache_position(attention, attention.cumsum(-1), torch.float16)
    assert (mask.shape, mask.dtype) == ((2, 1, 3, 3), torch.float16)
    assert (mask == 0)[:, 0].tolist() == [
        [[False, False, False], [False, True, False], [False, True, True]],
        [[True, False, False], [True, True, False], [True, True, True]],
    ]
    assert mask.min() == torch.finfo(torch.float16).min


def test_forms_of_the_cache():
    tensor = torch.arange(3 * 2 * 2 * HEADS * 4 * DIM).float().reshape(3, 2, 2, HEADS, 4, DIM)
    legacy = kv_cache_to_legacy(tensor)
    assert len(legacy) == 3
    assert torch.equal(legacy[1][0], tensor[1, 0])
    plamo = kv_cache_to_plamo(tensor)
    assert (len(plamo), plamo.get_seq_length(), plamo.get_usable_length(1)) == (3, 4, 4)
    assert torch.equal(plamo[2][1], tensor[2, 1])
    for form in (legacy, plamo, tensor, list(plamo)):
        assert torch.equal(kv_cache_to_tensor(form), tensor)


def test_the_helpers_can_be_compiled(tmp_path):
    def decode(inputs):
        cache = kv_cache_to_plamo(inputs["cache"])
        inputs["cache"] = None
        for layer in range(len(cache)):
            cache.update(inputs["new"], inputs["new"] * 2, layer)
        positions = inputs["attention"].cumsum(-1)
        mask = prepare_4d_causal_attention_mask_with_cache_position(inputs["attention"], positions, torch.float32)
        return {"cache_out": kv_cache_to_tensor(cache), "mask": mask}

    sample = {
        "cache": torch.randn(2, 2, 1, HEADS, 3, DIM),
        "new": torch.randn(1, HEADS, 1, DIM),
        "attention": torch.tensor([[0, 1, 1]]),
    }
    compiled = Context(MNDevice("pfvm:cpu")).compile(decode, sample, tmp_path, options={"float_dtype": "float"})
    expected = decode(dict(sample))
    found = compiled(sample)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
