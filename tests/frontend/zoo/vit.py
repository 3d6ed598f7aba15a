"""A vision transformer's training step with AdamW."""

import torch
from torch import nn
from torch.nn import functional as F

from pfcomp.frontend.optim import MNCoreAdamW
from tests.frontend.zoo.program import Phase, Program, named

WIDTH = 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.rise, self.fall = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, count, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, count, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, count, WIDTH)
        x = x + self.out(y)
        return x + self.fall(F.gelu(self.rise(self.norm2(x))))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.first = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.1)
        self.places = nn.Parameter(torch.randn(1, 10, WIDTH) * 0.1)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, picture):
        x = self.patches(picture).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def build():
    model = VisionTransformer()
    optimizer = MNCoreAdamW(model.parameters(), lr=1e-3, eps=1e-4, weight_decay=0.05)
    states = named("vit", model, optimizer)

    def step(i):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(i["picture"]), i["class"], label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    samples = [{"picture": torch.randn(4, 3, 12, 12), "class": torch.tensor([0, 3, 1, 4])} for _ in range(3)]
    return Program("vit_train", (Phase("step", step, samples),), 64, states)
