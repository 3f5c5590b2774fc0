"""Versions of weights as reinforcement learning publishes them: real optimizer steps of small models, encoded.

A model is a stack of residual blocks over token embeddings. A step is one of a policy gradient: the gradient of the
log-probability of sampled tokens times an advantage of mean 0. The optimizer keeps 32-bit weights; a version is their bf16.
"""

import socket
import threading
import time
from typing import NamedTuple

import numpy as np
import pyarrow
from safetensors.numpy import save

#: Rates from those of reinforcement learning up to those of pre-training.
RATES = (3e-7, 1e-6, 3e-6, 1e-5)
BATCH, CHUNK = 256, 1 << 18


class Shape(NamedTuple):
    """Tokens known, width of the stream and of a block, number of blocks."""

    vocabulary: int
    width: int
    inner: int
    blocks: int


#: 10, 42 and 125 million parameters.
SHAPES = (Shape(8_000, 256, 1024, 12), Shape(16_000, 512, 2048, 12), Shape(32_000, 768, 3072, 16))


def bf16(values):
    """32-bit numbers rounded to the nearest 16-bit ones, as bits."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def initial(shape, random):
    def drawn(*size, scale=0.02):
        return random.standard_normal(size, dtype=np.float32) * np.float32(scale)

    weights = {"embedding": drawn(shape.vocabulary, shape.width), "head": drawn(shape.width, shape.vocabulary)}
    for block in range(shape.blocks):
        weights[f"up{block}"] = drawn(shape.width, shape.inner)
        weights[f"down{block}"] = drawn(shape.inner, shape.width, scale=0.02 / np.sqrt(2 * shape.blocks))
    return weights


def scale_of(stream):
    return 1 / np.sqrt((stream * stream).mean(1, keepdims=True) + 1e-6)


def through_norm(gradient, stream, scale):
    return scale * (gradient - stream * scale * scale * (gradient * stream).mean(1, keepdims=True))


def gradients(weights, shape, tokens, targets, advantages):
    stream, kept = weights["embedding"][tokens], []
    for block in range(shape.blocks):
        scale = scale_of(stream)
        inner = np.maximum(stream * scale @ weights[f"up{block}"], 0)
        kept.append((stream, scale, inner))
        stream = stream + inner @ weights[f"down{block}"]
    scale = scale_of(stream)
    scores = stream * scale @ weights["head"]
    off = np.exp(scores - scores.max(1, keepdims=True))
    off /= off.sum(1, keepdims=True)
    off[np.arange(len(targets)), targets] -= 1
    off *= (advantages / len(targets))[:, None]
    found = {"head": (stream * scale).T @ off}
    back = through_norm(off @ weights["head"].T, stream, scale)
    for block in reversed(range(shape.blocks)):
        stream, scale, inner = kept[block]
        found[f"down{block}"] = inner.T @ back
        inside = (back @ weights[f"down{block}"].T) * (inner > 0)
        found[f"up{block}"] = (stream * scale).T @ inside
        back = back + through_norm(inside @ weights[f"up{block}"].T, stream, scale)
    found["embedding"] = np.zeros_like(weights["embedding"])
    np.add.at(found["embedding"], tokens, back)
    return found


def orthogonal(matrix):
    """The nearest orthogonal matrix, by the five iterations of Muon.

    Each iteration multiplies by a polynomial of the matrix of products of its rows, which those of the earlier iterations
    turn as well: all iterations work on that smaller matrix.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / (np.linalg.norm(wide) + 1e-7)
    square, turn = wide @ wide.T, np.eye(len(wide), dtype=np.float32)
    for _ in range(5):
        one = -4.7750 * square + 2.0315 * (square @ square)
        one[np.diag_indices_from(one)] += 3.4445
        square, turn = one @ square @ one, one @ turn
    found = turn @ wide
    return found if found.shape == matrix.shape else found.T


def versions(shape, optimizer, rate, steps, seed=0):
    """The weights before the first step and after each, as bits of bf16."""
    random = np.random.default_rng(seed)
    weights = initial(shape, random)
    first, second = ({name: np.zeros_like(one) for name, one in weights.items()} for _ in range(2))
    usual = 1 / np.arange(1, shape.vocabulary + 1)
    usual /= usual.sum()
    yield {name: bf16(one) for name, one in weights.items()}
    for step in range(1, steps + 1):
        tokens, targets = (random.choice(shape.vocabulary, BATCH, p=usual) for _ in range(2))
        advantages = random.standard_normal(BATCH).astype(np.float32)
        for name, one in gradients(weights, shape, tokens, targets, advantages - advantages.mean()).items():
            if optimizer == "muon" and name not in ("embedding", "head"):
                first[name] = 0.95 * first[name] + one
                change = orthogonal(one + 0.95 * first[name]) * (0.2 * np.sqrt(max(one.shape)))
            else:
                first[name] += 0.1 * (one - first[name])
                second[name] += 0.001 * (one * one - second[name])
                change = first[name] / (1 - 0.9**step) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)
            weights[name] -= np.float32(rate) * (change + np.float32(0.01) * weights[name])
        yield {name: bf16(one) for name, one in weights.items()}


def packed(data):
    return pyarrow.Codec("zstd", compression_level=1).compress(data, asbytes=True)


def encoded(old, new, encoding):
    """The bytes of a version: a file of safetensors, or what changed, tensor by tensor."""
    if encoding == "full":
        return save(new)
    parts = []
    for before, after in ((old[name].ravel(), new[name].ravel()) for name in old):
        changed = before ^ after
        places = np.flatnonzero(changed)
        gaps = np.diff(places, prepend=-1) - 1
        gaps = gaps.astype(np.uint16 if gaps.max(initial=0) < 1 << 16 else np.uint32).tobytes()
        values = after[places].tobytes()
        parts += {
            "xor-zstd": lambda changed=changed: [packed(changed.tobytes())],
            "index-value": lambda places=places, values=values: [places.astype(np.int32).tobytes(), values],
            "gap-value": lambda gaps=gaps, values=values: [gaps, values],
            "gap-zstd": lambda gaps=gaps, values=values: [packed(gaps), values],
            "sparse-zstd": lambda gaps=gaps, values=values: [packed(gaps), packed(values)],
            "bitmask": lambda changed=changed, values=values: [np.packbits(changed != 0).tobytes(), values],
        }[encoding]()
    return b"".join(parts)


def share_of(old, new):
    """The share of the parameters that changed."""
    return sum(int(np.count_nonzero(old[name] != new[name])) for name in old) / sum(one.size for one in old.values())


class ThrottledPath:
    """A path that hands out a file to any number of readers, all together at one rate."""

    def __init__(self, file, rate):
        self.file, self.rate = file, rate
        self.lock, self.free = threading.Lock(), 0.0
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            while True:
                threading.Thread(target=self._send, args=(self.server.accept()[0],), daemon=True).start()
        except OSError:
            return

    def _send(self, reader):
        with reader, self.file.open("rb") as source:
            while part := source.read(CHUNK):
                with self.lock:
                    now = time.monotonic()
                    self.free = max(self.free, now) + len(part) / self.rate
                    wait = self.free - now
                time.sleep(wait)
                reader.sendall(part)

    def close(self):
        self.server.close()


def pull(port, ready, ended):
    """Read the file once all readers are there; puts the bytes and the times of start and end."""
    ready.wait()
    start, read = time.monotonic(), 0
    with socket.create_connection(("127.0.0.1", port)) as source:
        while part := source.recv(CHUNK):
            read += len(part)
    ended.put((read, start, time.monotonic()))
