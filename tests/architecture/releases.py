"""Small releases, written by the safetensors package."""

import json

import numpy as np
from safetensors.numpy import save_file

#: numpy has no 8-bit and no brain floats: integers of the same width are saved and the header's type is replaced.
AS_INTEGERS = {"BF16": "uint16", "F8_E4M3": "uint8", "F8_E8M0": "uint8"}
PLAIN = {"F32": "float32", "F16": "float16", "U8": "uint8", "I8": "int8", "I32": "int32", "I64": "int64", "BOOL": "bool"}


def save(path, tensors):
    """Save tensors given as `{name: (type, shape)}`."""
    arrays = {name: np.zeros(shape, AS_INTEGERS.get(dtype) or PLAIN[dtype]) for name, (dtype, shape) in tensors.items()}
    save_file(arrays, path)
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    for name, (dtype, _) in tensors.items():
        header[name]["dtype"] = dtype
    write(path, header, raw[8 + length :])


def write(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def release(folder, config, *shards, index=True):
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    names = [f"model-{number:05}-of-{len(shards):05}.safetensors" for number in range(1, len(shards) + 1)]
    names = names if len(shards) > 1 else ["model.safetensors"]
    for name, tensors in zip(names, shards, strict=True):
        save(folder / name, tensors)
    if len(shards) > 1 and index:
        held = {tensor: name for name, tensors in zip(names, shards, strict=True) for tensor in tensors}
        total = sum((folder / name).stat().st_size for name in names)
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": total}, "weight_map": held})
        )
    return folder


def llama(config, dtype="BF16", prefix="model."):
    """The tensors that the class of a LLaMA saves."""
    wide, inner, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    groups = wide // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes = {f"{prefix}embed_tokens": (words, wide), f"{prefix}norm": (wide,)}
    for layer in range(config["num_hidden_layers"]):
        at = f"{prefix}layers.{layer}."
        shapes |= {f"{at}self_attn.{name}_proj": (wide, wide) for name in "qo"}
        shapes |= {f"{at}self_attn.{name}_proj": (groups, wide) for name in "kv"}
        shapes |= {f"{at}mlp.{name}_proj": (inner, wide) for name in ("gate", "up")}
        shapes |= {f"{at}mlp.down_proj": (wide, inner)}
        shapes |= {f"{at}{name}_layernorm": (wide,) for name in ("input", "post_attention")}
    if not config["tie_word_embeddings"]:
        shapes["lm_head"] = (words, wide)
    return {f"{name}.weight": (dtype, shape) for name, shape in shapes.items()}
