"""Bytes of the weights of a quantized release, from its `quantization_config`, where no header says what is stored.

Products of layers are stored narrow, with their scales; embedding, head, routers, norms and the modules that the config excepts
are stored at the type of the config.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ingest.architecture.weight_table import Weight

#: Kinds of matrices that a release may store narrow.
_PRODUCTS = ("attention", "mlp", "expert", "ssm", "conv", "mtp", "vision", "audio")
TYPES = {"float32": 4, "float16": 2, "bfloat16": 2}  # Bytes of a weight by the type that a config names
_SCALE = 16  # Bits of a scale: of a block in 16- or 32-bit numbers, of NVFP4 and MXFP4 in eight
#: Weights that share a scale: of MXFP4 and of NVFP4 by their definitions, of bitsandbytes by its default.
_MX, _NV, _BNB = 32, 16, 64
#: Words in the names of rows that stay at the type of the config: vectors, routers, short convolutions.
_WIDE = ("norm", "router", ".bias", "conv")
#: What the releases call the parts of a row.
_NAMES = {
    "attention.q": "self_attn.q_proj", "attention.k": "self_attn.k_proj", "attention.v": "self_attn.v_proj",
    "attention.o": "self_attn.o_proj", "attention.q_down": "self_attn.q_a_proj", "attention.q_up": "self_attn.q_b_proj",
    "attention.kv_down": "self_attn.kv_a_proj_with_mqa", "attention.kv_up": "self_attn.kv_b_proj",
    "indexer.q": "self_attn.indexer.wq_b", "indexer.k": "self_attn.indexer.wk",
    "indexer.weights": "self_attn.indexer.weights_proj", "mlp.gate": "mlp.gate_proj", "mlp.up": "mlp.up_proj",
    "mlp.down": "mlp.down_proj", "delta.qkvz": "linear_attn.in_proj_qkvz", "delta.ba": "linear_attn.in_proj_ba",
    "delta.out": "linear_attn.out_proj", "ssm.in": "mixer.in_proj", "ssm.out": "mixer.out_proj",
}  # fmt: skip


def stated_quantization(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table of quantization of a config, or of its text part; empty where there is none. MLX names it `quantization`."""
    levels = [config, *(config.get(key) for key in ("text_config", "llm_config"))]
    tables = (level.get(key) for level in levels if isinstance(level, dict) for key in ("quantization_config", "quantization"))
    return next((table for table in tables if isinstance(table, dict) and table), {})


def stated_type(config: Mapping[str, Any]) -> str:
    """The type of the weights that a config, or its text part, names; empty where neither does."""
    levels = [config, *(one for key in ("text_config", "llm_config") if isinstance(one := config.get(key), dict))]
    found = (level.get(key) for level in levels for key in ("dtype", "torch_dtype"))
    return next((name.removeprefix("torch.") for name in found if isinstance(name, str)), "")


def bits_per_weight(quantization: Mapping[str, Any]) -> float | None:
    """Bits of a narrow weight with its share of the scales; None for a method that is not described."""
    method, algorithm = (str(quantization.get(key, "")).lower() for key in ("quant_method", "quant_algo"))
    form = str(quantization.get("format", "")).lower()
    if "mixed" in algorithm or quantization.get("quantized_layers"):
        return None
    if method == "mxfp4" or "mxfp4" in form:
        return 4 + 8 / _MX
    if "nvfp4" in (algorithm or form):
        return 4 + 8 / _NV
    bits, group = quantization.get("bits"), quantization.get("group_size")
    if method in ("gptq", "awq"):
        bits = bits or quantization.get("w_bit")
        # A scale and a zero point for each group of inputs.
        return bits + (_SCALE + bits) / group if type(bits) is int and type(group) is int and group > 0 else None
    if method == "bitsandbytes":
        nested = quantization.get("bnb_4bit_use_double_quant")
        return 4 + (8 if nested else 32) / _BNB if quantization.get("load_in_4bit") else 8
    if not method and not algorithm:
        # MLX: a scale and a shift of 16 bits for each group of inputs; no answer where a module has a width of its own.
        odd = any(isinstance(value, dict) and value.get("bits") != bits for value in quantization.values())
        known = not odd and quantization.get("mode", "affine") == "affine"
        return bits + 2 * _SCALE / group if known and type(bits) is int and type(group) is int and group > 0 else None
    block = quantization.get("weight_block_size")
    if method == "fp8" or algorithm == "fp8":
        whole = isinstance(block, list) and len(block) == 2 and all(type(side) is int and side > 0 for side in block)
        return 8 + 32 / (block[0] * block[1]) if whole and block else 8
    # Groups of compressed-tensors: no answer where they have widths of their own.
    groups = quantization.get("config_groups") if method == "compressed-tensors" else None
    tables = [one.get("weights") for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    widths = {(one.get("num_bits"), one.get("group_size")) for one in tables if isinstance(one, dict)}
    bits, group = widths.pop() if len(widths) == 1 else (None, None)
    if type(bits) is not int or bits not in (4, 8):
        return None
    return bits + _SCALE / group if type(group) is int and group > 0 else bits


def stored_row_bytes(rows: Sequence[Weight], config: Mapping[str, Any], layers: int) -> list[float] | None:
    """Bytes of each row as a quantized release stores it; None where the config names no method, or none that is described.

    Modules that are excepted in a way that cannot be read are such a method.
    """
    quantization = stated_quantization(config)
    bits = bits_per_weight(quantization)
    # A release may store routed experts narrower than the rest, or as a type that is not known.
    stated = str(config.get("expert_dtype") or quantization.get("expert_dtype"))
    if bits is None or (chosen := {"None": bits, "fp8": bits, "fp4": 4 + 8 / _MX}.get(stated)) is None:
        return None
    lists = (quantization.get(key) or [] for key in ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"))
    patterns = [_pattern(entry) for found in lists for entry in (found if isinstance(found, list) else [found])]
    excepted = [matches for matches in patterns if matches]
    if len(excepted) < len(patterns):
        return None
    wide = 8.0 * TYPES.get(stated_type(config), 2)
    if "quant_method" in quantization or "quant_algo" in quantization:
        found = []
        for row in rows:
            mean = wide
            if row.kind in _PRODUCTS and len(row.shape) > 1 and not any(word in row.name for word in _WIDE):
                # Over the layers that have it.
                places = [*_places(row, rows, layers)]
                kept = sum(any(matches(name) for matches in excepted) for name in places)
                small = chosen if row.name.removeprefix("mtp.").startswith("expert.") else bits
                mean = (kept * wide + (len(places) - kept) * small) / len(places)
            found.append(row.parameters * mean / 8)
    else:
        # MLX stores every matrix of the text narrow, the tables of words and the routers too.
        wider = ("vision", "audio", "norm")
        narrow = [len(row.shape) == 2 and row.kind not in wider and "conv" not in row.name for row in rows]
        found = [row.parameters * (bits if small else wide) / 8 for row, small in zip(rows, narrow, strict=True)]
    if config.get("num_nextn_predict_layers"):
        # Each such module is stored with copies of embedding and head, which it shares with the model when it runs.
        modules = sum(row.count for row in rows if row.name == "mtp.join")
        tables = [row.kind in ("embedding", "head") and bool(row.count) for row in rows]
        found = [size * (1 + modules) if table else size for size, table in zip(found, tables, strict=True)]
    return found


def _places(row: Weight, rows: Iterable[Weight], layers: int) -> Iterator[str]:
    """The names of a row's modules in a release, one per layer."""
    if row.kind in ("vision", "audio"):
        yield f"{'visual' if row.kind == 'vision' else 'audio_tower'}.{row.name}"
        return
    own = row.name.removeprefix("mtp.")
    part = own.rpartition(".")[2]
    name = _NAMES.get(own, own)
    if own.startswith("expert."):
        name = f"mlp.experts.0.{part}_proj"
    elif own.startswith("shared_expert."):
        name = f"mlp.shared_experts.{part}_proj"
    if row.kind == "mtp":
        yield f"mtp.layers.0.{name}"
        return
    routers = sum(other.count for other in rows if other.name == "router")
    dense = layers - routers if routers else layers
    sparse = own.startswith(("expert.", "shared_expert."))
    span = range(dense, layers) if sparse else range(dense if own.startswith("mlp.") else layers)
    for layer in span or range(1):
        yield f"layers.{layer}.{name}"


#: Repeats in an expression, as in `.*mlp.*`: with more of them, or a repeated group, a match may take hours.
MOST_REPEATS = 3
_REPEAT = re.compile(r"[*+]|\{\d*,\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{)")


def _pattern(entry: object) -> Callable[[str], bool] | None:
    """How an entry of a list of exceptions names modules: by an expression, by wildcards, or by a part of the name."""
    if not isinstance(entry, str) or len(entry) > 300:
        return None
    if entry.startswith("re:"):
        if _REPEATED_GROUP.search(entry) or len(_REPEAT.findall(entry)) > MOST_REPEATS:
            return None
        try:
            expression = re.compile(entry[3:])
        except (re.error, OverflowError, RecursionError):
            return None
        return lambda name: bool(expression.match(name) or expression.match(f"model.{name}"))
    words = re.sub(r"^((language_)?model\.)+", "", entry)
    if words == "gate":
        # A router's name is also the beginning of that of a projection.
        return lambda _: False
    inside = f".{words.rstrip('.*')}."
    if "*" in words:
        return lambda name: fnmatchcase(name, words) or fnmatchcase(name, f"{words}.*") or fnmatchcase(f"model.{name}", words)
    return lambda name: inside in f".{name}."
