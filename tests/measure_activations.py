"""What PyTorch keeps for the backward pass of small models, counted by hooks; writes `activations.csv` again.

    python tests/measure_activations.py

needs PyTorch, which no test imports. Each storage counts once; parameters do not count.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

TABLE = Path(__file__).with_name("activations.csv")
WIDTH = torch.bfloat16
SIZES = ("model", "hidden", "heads", "kv_heads", "inner", "layers", "gated", "experts", "chosen")
MODELS = (
    ("plain", 256, 8, 8, 1024, 4, 0, 0, 0),
    ("gated", 256, 8, 2, 704, 4, 1, 0, 0),
    ("wide", 384, 6, 6, 1024, 3, 1, 0, 0),
    ("experts", 256, 8, 4, 512, 3, 1, 4, 2),
)
WAYS = (("none", "flash"), ("none", "scores"), ("selective", "scores"), ("full", "flash"))
VOCABULARY, BATCH, LENGTH = 512, 2, 256


def matrix(out: int, into: int) -> nn.Linear:
    """A linear layer without bias."""
    return nn.Linear(into, out, bias=False, dtype=WIDTH)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, one: dict, recompute: str, attention: str) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.width = one["heads"], one["kv_heads"], one["hidden"] // one["heads"]
        self.recompute, self.attention = recompute, attention
        self.q, self.o = (matrix(one["hidden"], one["hidden"]) for _ in range(2))
        self.k, self.v = (matrix(self.kv_heads * self.width, one["hidden"]) for _ in range(2))

    def forward(self, x, rotation):
        batch, length, _ = x.shape
        q, k, v = (row(x).view(batch, length, -1, self.width).transpose(1, 2) for row in (self.q, self.k, self.v))
        q, k = (one * rotation + torch.cat(one.chunk(2, -1)[::-1], -1) * rotation for one in (q, k))
        if self.attention == "flash":
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        elif self.recompute == "selective":
            mixed = checkpoint(self.scored, q, k, v, use_reentrant=False)
        else:
            mixed = self.scored(q, k, v)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, -1))

    def scored(self, q, k, v):
        if self.heads != self.kv_heads:
            k, v = (one.repeat_interleave(self.heads // self.kv_heads, 1) for one in (k, v))
        return torch.softmax((q / math.sqrt(self.width)) @ k.transpose(-1, -2), -1) @ v


class FeedForward(nn.Module):
    """A feed-forward network, gated or not."""

    def __init__(self, one: dict) -> None:
        super().__init__()
        self.up, self.down = matrix(one["inner"], one["hidden"]), matrix(one["hidden"], one["inner"])
        self.gate = matrix(one["inner"], one["hidden"]) if one["gated"] else None

    def forward(self, x):
        if self.gate is None:
            return self.down(functional.gelu(self.up(x)))
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Routed experts, each on the tokens that chose it."""

    def __init__(self, one: dict) -> None:
        super().__init__()
        self.router, self.chosen = matrix(one["experts"], one["hidden"]), one["chosen"]
        self.experts = nn.ModuleList(FeedForward(one) for _ in range(one["experts"]))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        shares, places = torch.softmax(self.router(flat).float(), -1).topk(self.chosen, -1)
        total = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            tokens, slot = torch.where(places == number)
            weighted = expert(flat[tokens]) * shares[tokens, slot, None].to(WIDTH)
            total = total.scatter_add(0, tokens[:, None].expand_as(weighted), weighted)
        return total.view_as(x)


class Block(nn.Module):
    """A pre-norm layer."""

    def __init__(self, one: dict, recompute: str, attention: str) -> None:
        super().__init__()
        self.first, self.second = (nn.LayerNorm(one["hidden"], bias=False, dtype=WIDTH) for _ in range(2))
        self.attention = Attention(one, recompute, attention)
        self.network = Experts(one) if one["experts"] else FeedForward(one)

    def forward(self, x, rotation):
        x = x + self.attention(self.first(x), rotation)
        return x + self.network(self.second(x))


def saved_bytes(one: dict, recompute: str, attention: str) -> int:
    """Bytes that autograd keeps of a forward pass, up to the logits."""
    torch.manual_seed(0)
    words, head = nn.Embedding(VOCABULARY, one["hidden"], dtype=WIDTH), matrix(VOCABULARY, one["hidden"])
    blocks = nn.ModuleList(Block(one, recompute, attention) for _ in range(one["layers"]))
    last = nn.LayerNorm(one["hidden"], bias=False, dtype=WIDTH)
    rotation = torch.ones(LENGTH, one["hidden"] // one["heads"], dtype=WIDTH)
    apart = {row.untyped_storage().data_ptr() for part in (words, head, blocks, last) for row in part.parameters()}
    apart.add(rotation.untyped_storage().data_ptr())
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in apart:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        x = words(torch.randint(0, VOCABULARY, (BATCH, LENGTH)))
        for block in blocks:
            x = checkpoint(block, x, rotation, use_reentrant=False) if recompute == "full" else block(x, rotation)
        head(last(x))
    return sum(size for size, _ in kept.values())


def main() -> None:
    """Write the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([*SIZES, "vocabulary", "batch", "length", "recompute", "attention", "saved_bytes", "torch"])
        for sizes in MODELS:
            one = dict(zip(SIZES, sizes, strict=True))
            for way in WAYS:
                lines.writerow([*sizes, VOCABULARY, BATCH, LENGTH, *way, saved_bytes(one, *way), torch.__version__])


if __name__ == "__main__":
    main()
