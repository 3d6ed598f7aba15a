"""Small models of the kinds that users bring, for comparison with eager torch."""

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """A residual block with batch norms and a strided shortcut."""

    def __init__(self, inner, outer):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outer) for _ in range(3))
        self.short = nn.Conv2d(inner, outer, 1, stride=2, bias=False)

    def forward(self, x):
        y = F.silu(self.norms[0](self.first(x)), inplace=True)
        y = self.norms[1](self.second(y))
        y += self.norms[2](self.short(x))
        return F.silu(y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.SiLU())
        self.blocks = nn.Sequential(Residual(4, 6), Residual(6, 8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.blocks(F.max_pool2d(self.stem(x), 3, 1, 1)), 1).flatten(1))


class UNet(nn.Module):
    """Down, attention in the middle, up, with group norms and a time embedding."""

    def __init__(self):
        super().__init__()
        self.time = nn.Linear(4, 8)
        self.inside = nn.Conv2d(2, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(2, 8) for _ in range(3))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.up = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, x, steps):
        angles = steps[:, None] * torch.exp(torch.arange(2) * -0.5)
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        top = F.silu(self.norms[0](self.inside(x))) + time
        low = F.gelu(self.norms[1](self.down(top)))
        n, c, h, w = low.shape
        tokens = self.norms[2](low).flatten(2).transpose(1, 2)
        low = low + self.attention(tokens, tokens, tokens)[0].transpose(1, 2).reshape(n, c, h, w)
        return self.up(torch.cat([top, F.interpolate(low, scale_factor=2, mode="nearest")], 1))


class Decoder(nn.Module):
    """One Llama-style layer with rotary positions, grouped heads and caches that are buffers."""

    def __init__(self, length=6):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.q, self.k, self.v = nn.Linear(8, 8, bias=False), nn.Linear(8, 4, bias=False), nn.Linear(8, 4, bias=False)
        self.out = nn.Linear(8, 8, bias=False)
        self.gate, self.rise, self.fall = nn.Linear(8, 12), nn.Linear(8, 12), nn.Linear(12, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.register_buffer("keys", torch.zeros(1, 1, length, 4))
        self.register_buffer("values", torch.zeros(1, 1, length, 4))

    def rotate(self, x, positions):
        angles = positions[:, None] * torch.tensor([1.0, 0.1])
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        half = torch.cat([-x[..., 2:], x[..., :2]], -1)
        return x * cos + half * sin

    def normed(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

    def forward(self, ids, positions):
        x = self.embed(ids)
        y = self.normed(x)
        count = ids.shape[1]
        q = self.rotate(self.q(y).view(1, count, 2, 4).transpose(1, 2), positions)
        k = self.rotate(self.k(y).view(1, count, 1, 4).transpose(1, 2), positions)
        self.keys.index_copy_(2, positions, k)
        self.values[:, :, positions] = self.v(y).view(1, count, 1, 4).transpose(1, 2)
        mask = torch.arange(self.keys.shape[2])[None, :] <= positions[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(1, count, 8))
        y = self.normed(x)
        x = x + self.fall(F.silu(self.gate(y)) * self.rise(y))
        return (x @ self.embed.weight.T)[:, -1]


def detection(scores, boxes):
    """Top boxes above a threshold, with argmax classes and running counts, all by masks."""
    best, classes = scores.softmax(-1).max(-1)
    value, order = best.topk(3, dim=1)
    kept = boxes.gather(1, order[..., None].expand(-1, -1, 4))
    kept = torch.cat([kept[..., :2] - kept[..., 2:] / 2, kept[..., :2] + kept[..., 2:] / 2], -1).clamp(0, 1)
    mask = value > 0.3
    return {
        "corners": kept.masked_fill(~mask[..., None], -1.0),
        "classes": classes.gather(1, order),
        "rank": mask.long().cumsum(1),
        "count": (mask & (value < 2)).sum(1),
        "area": torch.where(mask, (kept[..., 2] - kept[..., 0]) * (kept[..., 3] - kept[..., 1]), 0.0),
        "argmax": scores.argmax(-1),
        "sorted": torch.sort(value, descending=True, dim=1)[0],
    }
