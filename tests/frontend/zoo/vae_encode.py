"""An encoder that samples its latent with a generator, as autoencoders of diffusion models do.

A compiled function has random numbers of its own, so the noise is compared by its bounds only.
"""

import torch
from torch import nn
from torch.nn import functional as F

from tests.frontend.zoo.program import Phase, Program, named


def build():
    encoder = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 4, 3, stride=2))
    states = named("encoder", encoder)
    generator = torch.Generator()

    def encode(i):
        with torch.no_grad():
            mean, variance = encoder(F.pad(i["picture"], (0, 1, 0, 1))).split(2, 1)
            deviation = torch.exp(0.5 * variance.clamp(-30.0, 20.0))
            latent = mean + deviation * torch.randn(mean.shape, generator=generator)
            bounded = (latent - mean).abs() < 9 * deviation
        return {"mean": mean, "deviation": deviation, "bounded": bounded}

    samples = [{"picture": torch.randn(1, 3, 8, 8)} for _ in range(2)]
    return Program("vae_encode", (Phase("encode", encode, samples),), 256, states)
