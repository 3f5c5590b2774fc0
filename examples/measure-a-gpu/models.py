"""The models that `measure_a_gpu.py` trains, with random weights; the names are ids of the catalog."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

#: name -> width, heads and layers, as llm-foundry configures them
LANGUAGE = {"mpt-125m": (768, 12, 12), "mpt-350m": (1024, 16, 24), "mpt-760m": (1536, 12, 24), "mpt-1b": (2048, 16, 24)}
VOCABULARY, MOST_TOKENS = 50368, 2048
#: channels of the levels of the 3D U-Net of MLPerf Training
LEVELS = (32, 64, 128, 256, 320, 320)


def built(name: str) -> nn.Module:
    """A model by its id."""
    return {"resnet50": resnet50, "unet3d": UNet3d}[name]() if name not in LANGUAGE else Decoder(*LANGUAGE[name])


def loss_of(model: nn.Module, items: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of classes, of voxels or, where the items are token ids, of the next token."""
    found: Tensor = model(items)
    if not items.is_floating_point():
        found, labels = found[:, :-1].flatten(0, 1), items[:, 1:].flatten()
    return functional.cross_entropy(found.float(), labels)


def normed(inner: int, outer: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inner, outer, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outer)]


class Bottleneck(nn.Module):
    """Of version 1.5: the stride is in the 3 × 3 convolution."""

    def __init__(self, inner: int, width: int, stride: int) -> None:
        super().__init__()
        ends = normed(inner, width, 1), normed(width, width, 3, stride), normed(width, 4 * width, 1)
        self.body = nn.Sequential(*ends[0], nn.ReLU(), *ends[1], nn.ReLU(), *ends[2])
        self.side = nn.Identity() if inner == 4 * width else nn.Sequential(*normed(inner, 4 * width, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.side(x))


def resnet50() -> nn.Module:
    """ResNet-50 v1.5."""
    layers, inner = [*normed(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inner, 64 << stage, 2 if stage and not block else 1))
            inner = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Block(nn.Module):
    """Attention and a feed-forward part of four times the width."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        found: Tensor = x + self.down(functional.gelu(self.up(self.norms[1](x))))
        return found


class Decoder(nn.Module):
    """A language model with learned positions and one table of embeddings for both ends."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(MOST_TOKENS, width)
        self.blocks, self.norm = nn.Sequential(*(Block(width, heads) for _ in range(layers))), nn.LayerNorm(width, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return functional.linear(self.norm(self.blocks(x)), self.words.weight)


def pair(inner: int, outer: int, stride: int = 1) -> nn.Module:
    """Two convolutions with their norms; the first may halve the volume."""
    layers: list[nn.Module] = []
    for channels, step in ((inner, stride), (outer, 1)):
        layers += [nn.Conv3d(channels, outer, 3, step, 1, bias=False), nn.InstanceNorm3d(outer, affine=True), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet3d(nn.Module):
    """The 3D U-Net of MLPerf Training: three classes of voxels."""

    def __init__(self) -> None:
        super().__init__()
        steps = [*pairwise(LEVELS)]
        self.first, self.last = pair(1, LEVELS[0]), nn.Conv3d(LEVELS[0], 3, 1)
        self.down = nn.ModuleList(pair(high, low, 2) for high, low in steps)
        self.up = nn.ModuleList(nn.ConvTranspose3d(low, high, 2, 2) for high, low in steps)
        self.join = nn.ModuleList(pair(2 * high, high) for high, _ in steps)

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(levels[-1]))
        x = levels.pop()
        for up, join in zip(reversed(self.up), reversed(self.join), strict=True):
            x = join(torch.cat((up(x), levels.pop()), 1))
        found: Tensor = self.last(x)
        return found
