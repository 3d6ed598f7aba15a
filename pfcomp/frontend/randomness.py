"""Random operators as arithmetic on a seed that is a state, so that compiled runs are reproducible (frontend.md 1).

Element number `i` of the `n`-th random operator in a function is a hash of (seed, n, i); a call of the function adds 1
to the seed `rng@seed`, which starts with 0 (torch's own seed differs from process to process). Only integer operations
on 64-bit values below 2^32 are used:

    h = (seed * 0x9E3779B1 + n * 0x85EBCA77 + i * 0xC2B2AE3D) mod 2^32, then mixed twice:
    h = (h xor (h >> 16)) * 0x7FEB352D mod 2^32; h = (h xor (h >> 15)) * 0x846CA68B mod 2^32; h = h xor (h >> 16)

A uniform number is the upper 24 bits times 2^-24; normal numbers are Box and Muller's cosine of two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.names import set_tensor_name

SEED_NAME = "rng@seed"
_MASK = 0xFFFFFFFF
aten = torch.ops.aten


def manual_seed(seed: int) -> None:
    """Start the random numbers of functions that are compiled from now on at another seed (its low 32 bits)."""
    shared_seed().fill_(seed & _MASK)


class Randomness:
    """The random operators of one traced function."""

    def __init__(self) -> None:
        self.seed = shared_seed()
        self.calls = 0

    def bits(self, shape: Sequence[int]) -> Tensor:
        """Uniform integers below 2^32 as int64."""
        self.calls += 1
        count = math.prod(shape)
        index = torch.arange(count, dtype=torch.int64)
        value = self.seed * 0x9E3779B1 + (self.calls * 0x85EBCA77 & _MASK) + index * 0xC2B2AE3D
        value = value & _MASK
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            value = ((value ^ (value // (1 << shift))) * factor) & _MASK
        value = value ^ (value // (1 << 16))
        return value.reshape(tuple(shape))

    def uniform(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Numbers of [0, 1)."""
        return ((self.bits(shape) // 256).to(torch.float32) * 2.0**-24).to(dtype)

    def normal(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Numbers with mean 0 and deviation 1."""
        radius = (1.0 - self.uniform(shape, torch.float32)).log().mul(-2.0).sqrt()
        angle = self.uniform(shape, torch.float32) * (2 * math.pi)
        return (radius * angle.cos()).to(dtype)

    def advance(self) -> None:
        """The next call of the function draws other numbers."""
        if self.calls:
            self.seed.add_(1)


_SEED: list[Tensor] = []


def shared_seed() -> Tensor:
    """The process's seed tensor, made at first use: all functions draw from one state."""
    if not _SEED:
        _SEED.append(torch.zeros((), dtype=torch.int64))
        set_tensor_name(_SEED[0], SEED_NAME)
    return _SEED[0]


def _dtype(kwargs: dict[str, Any], like: Tensor | None = None) -> torch.dtype:
    if kwargs.get("dtype") is not None:
        return kwargs["dtype"]
    return torch.get_default_dtype() if like is None else like.dtype


def _rand(r: Randomness, size: Any, *_: Any, **kwargs: Any) -> Tensor:
    return r.uniform(size, _dtype(kwargs))


def _randn(r: Randomness, size: Any, *_: Any, **kwargs: Any) -> Tensor:
    return r.normal(size, _dtype(kwargs))


def _rand_like(r: Randomness, x: Tensor, *_: Any, **kwargs: Any) -> Tensor:
    return r.uniform(x.shape, _dtype(kwargs, x))


def _randn_like(r: Randomness, x: Tensor, *_: Any, **kwargs: Any) -> Tensor:
    return r.normal(x.shape, _dtype(kwargs, x))


def _randint(r: Randomness, *args: Any, **kwargs: Any) -> Tensor:
    low, high, size = args if len(args) == 3 else (0, *args)
    return (low + r.bits(size) % (high - low)).to(kwargs.get("dtype") or torch.int64)


def _bernoulli(r: Randomness, x: Tensor, p: Any = None, **_: Any) -> Tensor:
    return (r.uniform(x.shape, torch.float32) < (x if p is None else p)).to(x.dtype)


def _dropout(r: Randomness, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    keep = r.uniform(x.shape, torch.float32) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return x * keep.to(x.dtype) * scale, keep


def _bernoulli_in_place(r: Randomness, x: Tensor, p: Any = 0.5, **_: Any) -> Tensor:
    return x.copy_(r.uniform(x.shape, torch.float32) < p)


def _uniform_in_place(r: Randomness, x: Tensor, low: float = 0.0, high: float = 1.0, **_: Any) -> Tensor:
    return x.copy_(r.uniform(x.shape, torch.float32) * (high - low) + low)


def _exponential(r: Randomness, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Numbers with mean 1, never zero: half of the smallest step takes its place."""
    return (-(1.0 - r.uniform(shape, torch.float32)).log()).clamp(min=2.0**-25).to(dtype)


def _exponential_in_place(r: Randomness, x: Tensor, lambd: float = 1.0, **_: Any) -> Tensor:
    return x.copy_(_exponential(r, x.shape, torch.float32) / lambd)


def _log_normal_in_place(r: Randomness, x: Tensor, mean: float = 1.0, std: float = 2.0, **_: Any) -> Tensor:
    return x.copy_((r.normal(x.shape, torch.float32) * std + mean).exp())


def _randperm(r: Randomness, count: int, **kwargs: Any) -> Tensor:
    return r.bits((count,)).argsort().to(kwargs.get("dtype") or torch.int64)


def _multinomial(r: Randomness, weights: Tensor, count: int, replacement: bool = False, **_: Any) -> Tensor:
    """Races of exponential times: the first places are a sample without replacement, winners of many races one with."""
    if not replacement:
        return torch.topk(weights / _exponential(r, weights.shape, weights.dtype), count).indices
    times = _exponential(r, (*weights.shape[:-1], count, weights.shape[-1]), weights.dtype)
    return (weights.unsqueeze(-2) / times).argmax(-1)


def _rrelu(
    r: Randomness, x: Tensor, noise: Tensor, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, *_: Any
) -> Tensor:
    """Slopes of negative elements are drawn, or in their middle; `noise` tells the backward pass the factors."""
    if not training:
        return torch.where(x > 0, x, x * ((lower + upper) / 2))
    drawn = r.uniform(x.shape, torch.float32).to(x.dtype) * (upper - lower) + lower
    noise.copy_(torch.where(x > 0, 1.0, drawn))
    return x * noise


def _normal_in_place(r: Randomness, x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any) -> Tensor:
    return x.copy_(r.normal(x.shape, torch.float32) * std + mean)


OVERRIDES: dict[Any, Callable[..., Any]] = {
    aten.rand.default: _rand,
    aten.rand.generator: _rand,
    aten.randn.default: _randn,
    aten.randn.generator: _randn,
    aten.rand_like.default: _rand_like,
    aten.randn_like.default: _randn_like,
    aten.randint.default: _randint,
    aten.randint.low: _randint,
    aten.bernoulli.default: _bernoulli,
    aten.bernoulli.p: _bernoulli,
    aten.bernoulli_.float: _bernoulli_in_place,
    aten.native_dropout.default: _dropout,
    aten.exponential_.default: _exponential_in_place,
    aten.log_normal_.default: _log_normal_in_place,
    aten.multinomial.default: _multinomial,
    aten.randperm.default: _randperm,
    aten.rrelu_with_noise.default: _rrelu,
    aten.uniform_.default: _uniform_in_place,
    aten.normal_.default: _normal_in_place,
}
"""Operator -> function of (Randomness, the operator's arguments); all else that draws numbers is refused at export."""
