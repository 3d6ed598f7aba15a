"""Neural collaborative filtering: two pairs of embeddings, a product and a perceptron; Adam (mlsdk.md 6.1: ncf)."""

import torch
from torch import nn
from torch.nn import functional as F

from pfcomp.frontend.optim import MNCoreAdam
from tests.frontend.zoo.program import Phase, Program, named

USERS, ITEMS, FACTORS = 12, 20, 8


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, FACTORS), nn.Embedding(ITEMS, FACTORS)
        self.deep_users, self.deep_items = nn.Embedding(USERS, 16), nn.Embedding(ITEMS, 16)
        self.layers = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(16, FACTORS)])
        self.last = nn.Linear(2 * FACTORS, 1)

    def forward(self, user, item):
        product = self.users(user) * self.items(item)
        x = torch.cat([self.deep_users(user), self.deep_items(item)], -1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.last(torch.cat([product, x], -1)).squeeze(-1)


def build():
    model = Filter()
    optimizer = MNCoreAdam(model.parameters(), lr=1e-3, eps=1e-4, chainer_use_torch=True)
    states = named("ncf", model, optimizer)

    def train(i):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(i["user"], i["item"]), i["label"], reduction="none").mean(0)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    def evaluate(i):
        with torch.no_grad():
            return {"score": torch.sigmoid(model(i["user"], i["item"]))}

    def batch():
        users, items = torch.randint(USERS, (32,)), torch.randint(ITEMS, (32,))
        return {"user": users, "item": items, "label": (users + items).remainder(2).float()}

    samples = [batch() for _ in range(5)]
    evaluation = [{"user": torch.arange(8), "item": torch.arange(8)}]
    return Program("ncf", (Phase("train", train, samples), Phase("eval", evaluate, evaluation)), 32, states)
