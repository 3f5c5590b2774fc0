"""The headers of a release of 410 GB, as `ingest model FOLDER` reads them: 29,710 tensors in 191 files without contents."""

import json
from itertools import accumulate
from pathlib import Path

from ingest.architecture import describe

SHARDS, LAYERS, EXPERTS, WIDTH, INNER, WORDS = 191, 61, 160, 4096, 1664, 129_280


def shapes() -> dict[str, list[int]]:
    found = {"model.embed_tokens.weight": [WORDS, WIDTH], "model.norm.weight": [WIDTH], "lm_head.weight": [WORDS, WIDTH]}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        found |= {f"{at}self_attn.{name}_proj.weight": [WIDTH, WIDTH] for name in "qkvo"}
        found |= {f"{at}{name}_layernorm.weight": [WIDTH] for name in ("input", "post_attention")}
        found[f"{at}mlp.gate.weight"] = [EXPERTS, WIDTH]
        for expert in range(EXPERTS):
            found |= {f"{at}mlp.experts.{expert}.{name}_proj.weight": [INNER, WIDTH] for name in ("gate", "up")}
            found[f"{at}mlp.experts.{expert}.down_proj.weight"] = [WIDTH, INNER]
    return found


def release(folder: Path) -> None:
    tensors, held = [*shapes().items()], {}
    for number in range(SHARDS):
        part = tensors[number::SHARDS]
        ends = [0, *accumulate(2 * shape[0] * (shape[1] if len(shape) > 1 else 1) for _, shape in part)]
        header = {
            name: {"dtype": "BF16", "shape": shape, "data_offsets": [ends[place], ends[place + 1]]}
            for place, (name, shape) in enumerate(part)
        }
        text, path = json.dumps(header).encode(), folder / f"model-{number + 1:05}-of-{SHARDS:05}.safetensors"
        with path.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + ends[-1])
        held |= {name: path.name for name, _ in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": held}))


def described(folder: Path) -> int:
    return describe(folder).parameters
