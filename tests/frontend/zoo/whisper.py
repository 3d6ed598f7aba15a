"""An encoder of sound and a decoder whose cache of keys and values is buffers that `scatter_` writes (whisper)."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.frontend.zoo.program import Phase, Program, named

WIDTH, HEADS, FRAMES, LENGTH, WORDS = 16, 2, 6, 5, 13


def heads(x):
    return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], WIDTH)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(4, WIDTH, 3, padding=1), nn.Conv1d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.rise, self.fall = nn.Linear(WIDTH, 32), nn.Linear(32, WIDTH)
        self.register_buffer("places", torch.randn(FRAMES, WIDTH) * 0.1)

    def forward(self, sound):
        x = F.gelu(self.conv2(F.gelu(self.conv1(sound)))).permute(0, 2, 1) + self.places
        y = self.norm1(x)
        x = x + self.out(joined(F.scaled_dot_product_attention(*(heads(f(y)) for f in (self.q, self.k, self.v)))))
        return self.norm3(x + self.fall(F.gelu(self.rise(self.norm2(x)))))


class Decoder(nn.Module):
    """One layer: attention to the tokens before, through the cache, and to the encoder's frames."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.cross_q, self.cross_k, self.cross_v, self.cross_out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.register_buffer("keys", torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))
        self.register_buffer("values", torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))

    def frames(self, x):
        return heads(self.cross_k(x)), heads(self.cross_v(x))

    def cached(self, x, position):
        where = position.view(1, 1, 1, 1).expand(1, HEADS, 1, WIDTH // HEADS)
        self.keys.scatter_(2, where, heads(self.k(x)))
        self.values.scatter_(2, where, heads(self.v(x)))
        seen = torch.arange(LENGTH) <= position
        return F.scaled_dot_product_attention(heads(self.q(x)), self.keys, self.values, attn_mask=seen[None, :])

    def forward(self, token, position, keys, values):
        x = self.words(token) + self.places(position)
        x = x + self.out(joined(self.cached(self.norm1(x), position)))
        y = F.scaled_dot_product_attention(heads(self.cross_q(self.norm2(x))), keys, values)
        x = x + self.cross_out(joined(y))
        return F.linear(self.norm3(x), self.words.weight)[:, -1]


def build():
    encoder, decoder = Encoder(), Decoder()
    states = named("encoder", encoder) | named("decoder", decoder)

    def encode(i):
        with torch.no_grad():
            keys, values = decoder.frames(encoder(i["sound"]))
            return {"keys": keys, "values": values}

    def decode(i):
        with torch.no_grad():
            return {"logits": decoder(i["token"], i["position"], i["cross_keys"], i["cross_values"])}

    cross = torch.zeros(1, HEADS, FRAMES, WIDTH // HEADS)
    steps = [
        {"token": torch.tensor([[3 + n]]), "position": torch.tensor([n]), "cross_keys": cross, "cross_values": cross}
        for n in range(LENGTH)
    ]
    phases = (
        Phase("encode", encode, [{"sound": torch.randn(1, 4, 2 * FRAMES)}]),
        Phase("decode", decode, steps, wired={"cross_keys": "keys", "cross_values": "values"}),
    )
    return Program("whisper", phases, 32, states)
