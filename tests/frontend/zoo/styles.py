"""Networks in the styles of common picture libraries, small: inference after a perturbation of all constants."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.frontend.zoo.program import Phase, Program, named


class ConvNextBlock(nn.Module):
    """Depthwise convolution, normalisation over channels at the end, two linear layers, a scale for each channel."""

    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.rise, self.fall = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.fall(F.gelu(self.rise(y))) * self.scale).permute(0, 3, 1, 2)


class SqueezeExcitation(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1)

    def forward(self, x):
        gate = self.expand(F.silu(self.reduce(x.mean((2, 3), keepdim=True))))
        return x * torch.sigmoid(gate)


class InvertedResidual(nn.Module):
    """Expansion, depthwise convolution, an optional gate, projection; the activation is the style's."""

    def __init__(self, width, stride, activation, gated):
        super().__init__()
        inner = 4 * width
        self.expand = nn.Sequential(nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), activation())
        depthwise = nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False)
        self.depthwise = nn.Sequential(depthwise, nn.BatchNorm2d(inner), activation())
        self.gate = SqueezeExcitation(inner, width // 2) if gated else nn.Identity()
        self.project = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))
        self.adds = stride == 1

    def forward(self, x):
        y = self.project(self.gate(self.depthwise(self.expand(x))))
        return x + y if self.adds else y


class GroupedBottleneck(nn.Module):
    """Three convolutions, the middle one in groups, as RegNet and ResNeXt have."""

    def __init__(self, width, groups):
        super().__init__()
        layers = []
        for kernel, count in ((1, 1), (3, groups), (1, 1)):
            layers += [nn.Conv2d(width, width, kernel, padding=kernel // 2, groups=count, bias=False)]
            layers += [nn.BatchNorm2d(width), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return F.relu(x + self.layers(x))


class MixerBlock(nn.Module):
    """A perceptron over places, then one over channels."""

    def __init__(self, places, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.places = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.places(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class WindowAttention(nn.Module):
    """Attention inside windows, shifted by half a window, with a learned bias for each relative position."""

    def __init__(self, width, heads, window, side):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, window // 2
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.1)
        places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        distance = places[:, :, None] - places[:, None, :] + window - 1
        self.register_buffer("index", distance[0] * (2 * window - 1) + distance[1])
        band = torch.arange(side) // self.shift - (side // self.shift - 2)
        band = band.clamp(0)
        regions = self.windows((band[:, None] * 3 + band[None, :])[None, :, :, None]).squeeze(-1)
        self.register_buffer("mask", (regions[:, :, None] != regions[:, None, :]).float() * -100.0)

    def windows(self, x):
        """[batch, side, side, width] as [batch * windows, window^2, width]."""
        batch, side, _, width = x.shape
        count, window = side // self.window, self.window
        return x.view(batch, count, window, count, window, width).transpose(2, 3).reshape(-1, window**2, width)

    def picture(self, x, side):
        count, window = side // self.window, self.window
        return (
            x.view(-1, count, count, window, window, x.shape[-1]).transpose(2, 3).reshape(-1, side, side, x.shape[-1])
        )

    def forward(self, x):
        shifted = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        tokens = self.windows(shifted)
        q, k, v = self.qkv(tokens).view(*tokens.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.bias[self.index.view(-1)].view(*self.index.shape, -1).permute(2, 0, 1)
        scores = q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1) + bias
        scores = scores.view(-1, len(self.mask), *scores.shape[1:]) + self.mask[:, None]
        attention = scores.view(-1, *scores.shape[2:]).softmax(-1)
        y = self.out((attention @ v).transpose(1, 2).reshape(tokens.shape))
        return x + torch.roll(self.picture(y, x.shape[1]), (self.shift, self.shift), (1, 2))


class Channels(nn.Module):
    """Puts the channels of a picture last or back."""

    def __init__(self, *order):
        super().__init__()
        self.order = order

    def forward(self, x):
        return x.permute(self.order)


def classifier(*blocks, width=16):
    """A stem with stride 2, the blocks, the mean over places and a linear layer."""
    stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.Hardswish())
    return nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 5))


def convnext():
    return classifier(ConvNextBlock(16), ConvNextBlock(16), nn.MaxPool2d(2), ConvNextBlock(16))


def mobilenet():
    return classifier(*(InvertedResidual(16, stride, nn.ReLU6, gated=False) for stride in (1, 2, 1)))


def efficientnet():
    return classifier(*(InvertedResidual(16, stride, nn.SiLU, gated=True) for stride in (1, 2, 1)))


def regnet():
    return classifier(
        GroupedBottleneck(16, 4), nn.AvgPool2d(3, 2, 1, count_include_pad=False), GroupedBottleneck(16, 2)
    )


def mixer():
    blocks = [MixerBlock(16, 16) for _ in range(2)]
    head = nn.Sequential(nn.LayerNorm(16), Channels(0, 2, 1), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 5))
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.Flatten(2), Channels(0, 2, 1), *blocks, head)


def swin():
    blocks = [WindowAttention(16, 2, 4, 8) for _ in range(2)]
    return classifier(Channels(0, 2, 3, 1), *blocks, Channels(0, 3, 1, 2))


STYLES = {"convnext": convnext, "mobilenet": mobilenet, "efficientnet": efficientnet}
STYLES |= {"regnet": regnet, "mixer": mixer, "swin": swin}


def builder(style):
    """The program that runs a network of the style on two pictures."""

    def build():
        model = STYLES[style]().eval()
        with torch.no_grad():
            for tensor in [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]:
                tensor.add_(torch.rand_like(tensor) * 0.1)  # no parameter is neutral
        states = named(style, model)

        def classify(i):
            with torch.no_grad():
                return {"scores": model(i["picture"])}

        samples = [{"picture": torch.randn(2, 3, 16, 16)} for _ in range(2)]
        return Program(f"{style}_infer", (Phase("classify", classify, samples),), 1024, states)

    return build
