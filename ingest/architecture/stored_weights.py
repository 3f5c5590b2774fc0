"""From the tensors of a release to rows of weights: packings undone, ties counted once, each row with its kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ingest.architecture.release import StoredTensor
from ingest.architecture.weight_table import UNTRAINED, Weight


class StoredRow(NamedTuple):
    """Tensors of one pattern of names, one type and one shape."""

    weight: Weight  # the row; its shape is that of the weights, unpacked
    dtype: str  # type of the stored elements
    bytes: int  # stored bytes of all of them


class StoredWeights(NamedTuple):
    """The rows of a release."""

    rows: tuple[StoredRow, ...]  # all of them, see `StoredRow`
    unpacked: bool  # whether every packing is known, so that the parameters are
    active: bool  # whether it is known how many experts a token visits
    notes: tuple[str, ...]  # one line each


class Sizes(NamedTuple):
    """The few sizes of a config that say how to read the tensors; 0 and None where the file does not say."""

    layers: int = 0  # depth of the text model; layers behind it predict further tokens
    #: experts, chosen: experts of a layer, and those that one token visits
    experts: int = 0
    chosen: int = 0
    tied: bool | None = None  # whether embedding and head are one matrix
    decodes: bool = False  # whether the head gives scores for words, as far as the class names say
    quantization: Mapping[str, Any] = {}  # method, bits and the like, from `quantization_config` or `hf_quant_config.json`


#: Names of nested configs of the text model, outermost first.
_TEXT = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
_CHOSEN = (
    "num_experts_per_tok", "moe_top_k", "moe_topk", "top_k_experts", "num_experts_per_token", "moe_k", "experts_per_token",
)  # fmt: skip


def sizes_of(config: Mapping[str, Any], quantization: Mapping[str, Any] | None = None) -> Sizes:
    """Return the sizes that a config states, in itself or in its nested text model, unchecked.

    `quantization` is the content of `hf_quant_config.json`, which counts where the config has no `quantization_config`.
    """
    levels = [config]
    for _ in _TEXT:
        inner = next((levels[-1][key] for key in _TEXT if isinstance(levels[-1].get(key), dict)), None)
        if inner is None:
            break
        levels.append(inner)

    def first(*keys: str) -> int:
        found = (level.get(key) for key in keys for level in reversed(levels))
        return next((size for size in found if type(size) is int and 0 < size < 10**6), 0)

    tied = next((level["tie_word_embeddings"] for level in levels if isinstance(level.get("tie_word_embeddings"), bool)), None)
    classes = config.get("architectures")
    names = [str(name) for name in classes] if isinstance(classes, list) else []
    stated = config.get("quantization_config") or config.get("compression_config") or quantization or {}
    return Sizes(
        first("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"),
        first("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts"),
        first(*_CHOSEN),
        tied,
        any(name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM")) for name in names),
        stated if isinstance(stated, dict) else {},
    )


#: Stored, but neither trained nor multiplied with: masks, angles, statistics.
_BUFFER = re.compile(
    r"(^|\.)(inv_freq|masked_bias|position_ids|token_type_ids|num_batches_tracked|running_mean|running_var|_extra_state"
    r"|relative_position_index|e_score_correction_bias|_float_tensor|rope\.freqs|freqs_cis|causal_mask|attn_mask)$"
    r"|\.attn\.bias$|\.attention\.attn\.bias$|\.rotary_emb\."
)
_VISION = re.compile(
    r"(^|\.)(visual|vision|vision_tower|vision_model|vision_encoder|vision_embed_tokens|vit|vpm|resampler|img_\w+|image_\w+"
    r"|multi_modal_projector|mm_projector|patch_merge_mlp|vision_projection|sam_model|vision_adapter|embed_vision)(\.|$)"
)
_AUDIO = re.compile(r"(^|\.)(audio|audio_tower|audio_model|audio_encoder|sound_tower|audio_projection|apm|embed_audio)(\.|$)")
_MTP = re.compile(r"(^|\.)(mtp|mtp_\w+|nextn|nextn_\w+|multi_token_predict\w*)(\.|$)")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_EXPERT = re.compile(r"(?<![a-zA-Z0-9_])(?:experts|local_experts)\.(\d+)\.")
_FUSED = re.compile(r"(?<![a-zA-Z0-9_])(?:experts|local_experts)\.")
_ROUTER = re.compile(
    r"\.(gate|router|gate\.wg|router\.(layer|classifier|proj|linear)|moe_statics\.\w+|wg|shared_expert_gate)(\.\w+)?$"
)
_EMBEDDING = re.compile(
    r"(^|\.)(embed_tokens|tok_embeddings|word_embeddings|wte|embed_in|embedding\.word_embeddings|token_embedding|shared|embeddings"
    r"|language_model\.embedding|embed)\.weight$"
)
_POSITION = re.compile(
    r"(^|\.)(wpe|position_embeddings?|positions_embed|embed_positions|pos_embed|token_type_embeddings|positional_embedding"
    r"|relative_attention_bias)(\.weight)?$"
)
_HEAD = re.compile(
    r"(^|\.)(lm_head|embed_out|output_layer|predictions\.decoder|score|classifier)\.|^output\.weight$|^head\.weight$"
)
_NORM = re.compile(r"norm|(^|\.)ln_|(^|\.)ln\w*\.")
_SSM = re.compile(r"mamba|ssm|(^|\.)(mixer|linear_attn|A_log|dt_bias|conv1d|delta_net)(\.|$)|\.D$")
_ATTENTION = re.compile(r"attn|attention|(^|\.)(q|k|v|o)_proj|\.sinks$|kv_[ab]_proj|q_[ab]_proj")
_MLP = re.compile(r"mlp|feed_forward|ffn|(^|\.)fc\d|gate_proj|up_proj|down_proj|intermediate|dense_h_to|w[123]\.|output\.dense")
TOWERS = ("vision", "audio")  # Kinds that text tokens do not pass

_SCALES = (
    "weight_scale", "weight_scale_inv", "weight_scale_2", "input_scale", "weight_global_scale", "input_global_scale", "k_scale",
    "v_scale", "output_scale", "qzeros", "g_idx", "weight_g_idx", "weight_shape", "weight_zero_point", "SCB", "weight_format",
    "pre_quant_scale", "activation_scale", "q_scale",
)  # fmt: skip
_BNB = re.compile(r"\.weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+)$")
_NARROW = ("U8", "I8", "F8_E4M3", "F8_E5M2", "F4", "I32", "F8_E8M0", "F6_E2M3", "F6_E3M2")
_INTEGERS = ("U8", "I8", "I16", "U16", "I32", "U32", "I64", "U64", "BOOL")


class _Packing(NamedTuple):
    """How the weights lie in a tensor: elements in one stored element, and the axis on which they are packed."""

    factor: float = 1
    axis: int = -1


def stored_weights(tensors: Iterable[StoredTensor], sizes: Sizes) -> StoredWeights:
    """Return the rows of a release, from the tensors of its headers.

    >>> up = StoredTensor("model.layers.0.mlp.up_proj.weight", "BF16", (8, 4), 64)
    >>> stored_weights([up, up._replace(name="model.layers.1.mlp.up_proj.weight")], Sizes(layers=2)).rows[0].weight[:4]
    ('model.layers.*.mlp.up_proj.weight', (8, 4), 'mlp', 2)
    """
    by_name = {tensor.name: tensor for tensor in tensors}
    narrow = {name for name, tensor in by_name.items() if tensor.dtype in _NARROW}
    whole_tower = not any(_EMBEDDING.search(name) for name in by_name if not _VISION.search(name) and not _AUDIO.search(name))
    # Experts of a layer by the numbers in the names; by the config where they are fused.
    experts = max((int(found[1]) + 1 for name in by_name if (found := _EXPERT.search(name))), default=0) or sizes.experts
    groups: dict[tuple[str, str, str, tuple[int, ...]], list[int]] = {}
    unknown: list[str] = []
    for tensor in by_name.values():
        kind = _kind(tensor, by_name, narrow, sizes, experts, whole_tower)
        shape = tensor.shape
        if kind not in UNTRAINED and tensor.dtype in _INTEGERS:
            packing = _packing(tensor, by_name, sizes.quantization)
            if packing is None:
                unknown.append(tensor.name)
            elif len(shape) > 2 and shape[-1] == 16 and packing.factor == 2:
                # Blocks of 32 four-bit weights in sixteen bytes, as gpt-oss stores its experts.
                shape = (*shape[:-2], shape[-2] * 32)
            elif shape:
                axis = packing.axis % len(shape)
                shape = (*shape[:axis], round(shape[axis] * packing.factor), *shape[axis + 1 :])
        pattern = re.sub(r"(?<![^.])\d+(?![^.])", "*", tensor.name)
        group = groups.setdefault((pattern, kind, tensor.dtype, shape), [0, 0])
        group[0] += 1
        group[1] += tensor.bytes
    rows = [
        StoredRow(_weight(pattern, kind, shape, number, sizes, experts), dtype, total)
        for (pattern, kind, dtype, shape), (number, total) in groups.items()
    ]
    notes = []
    if unknown:
        notes.append(f"the packing of {unknown[0]} ({by_name[unknown[0]].dtype}) is unknown, so the parameters are")
    chosen_known = bool(sizes.chosen) or not any(row.weight.kind == "expert" for row in rows)
    if not chosen_known:
        notes.append("the config does not say how many experts a token visits, so the active parameters are unknown")
    return StoredWeights(tuple(rows), not unknown, chosen_known, tuple(notes))


def _kind(
    tensor: StoredTensor, by_name: Mapping[str, StoredTensor], narrow: set[str], sizes: Sizes, experts: int, whole_tower: bool
) -> str:
    name = tensor.name
    if _is_scale(name, by_name, narrow):
        return "scale"
    if _BUFFER.search(name):
        return "buffer"
    if not whole_tower:
        if _AUDIO.search(name):
            return "audio"
        if _VISION.search(name):
            return "vision"
    layer = _LAYER.search(name)
    if _MTP.search(name) or (sizes.layers and layer and int(layer[1]) >= sizes.layers and not whole_tower):
        return "mtp"
    if _EXPERT.search(name) or (experts and _FUSED.search(name) and len(tensor.shape) > 1 and tensor.shape[0] == experts):
        return "expert"
    if experts and _ROUTER.search(name):
        return "router"
    if _POSITION.search(name):
        return "position"
    if len(tensor.shape) == 2 and _EMBEDDING.search(name):
        return "embedding"
    if name.endswith((".weight", ".bias")) and _HEAD.search(name):
        return "head"
    if len(tensor.shape) < 2 and _NORM.search(name):
        return "norm"
    kinds = (("ssm", _SSM), ("attention", _ATTENTION), ("mlp", _MLP))
    return next((kind for kind, words in kinds if words.search(name)), "conv" if "conv" in name else "other")


def _is_scale(name: str, by_name: Mapping[str, StoredTensor], narrow: set[str]) -> bool:
    """Whether a tensor belongs to the packing of another one."""
    before, _, last = name.rpartition(".")
    if _BNB.search(name):
        return name.partition(".weight.")[0] + ".weight" in by_name
    packed = any(f"{before}.{one}" in narrow for one in ("weight", "qweight", "weight_packed"))
    if last in _SCALES or last in ("scales", "scale"):
        matrix = sum(width > 1 for width in by_name[name].shape) > 1
        return packed or (last in ("k_scale", "v_scale", "q_scale") and not matrix)
    for end in ("_scales", "_scale_inv", "_scale", "_scale_2", "_input_scale"):
        if name.endswith(end):
            base = name.removesuffix(end)
            return base in narrow or f"{base}_blocks" in narrow
    return False


def _packing(tensor: StoredTensor, by_name: Mapping[str, StoredTensor], quantization: Mapping[str, Any]) -> _Packing | None:
    """How the weights lie in a tensor of integers; None if unknown."""
    before, _, last = tensor.name.rpartition(".")
    method = str(quantization.get("quant_method", "")).lower()
    # Bits of a quantized weight, where the config says so; 0 otherwise.
    stated = quantization.get("bits") or quantization.get("w_bit") or quantization.get("num_bits")
    groups = quantization.get("config_groups")
    if stated is None and isinstance(groups, dict):
        inner = [one.get("weights") for one in groups.values() if isinstance(one, dict)]
        widths = {one.get("num_bits") for one in inner if isinstance(one, dict)}
        stated = widths.pop() if len(widths) == 1 else None
    bits = stated if type(stated) is int and stated in (2, 3, 4, 8) else 0
    if last == "qweight" and tensor.dtype in ("I32", "U32") and bits:
        gptq = f"{before}.g_idx" in by_name or method != "awq"
        return _Packing(32 / bits, 0 if gptq else -1)
    if last == "weight_packed" and tensor.dtype in ("I32", "U32"):
        return _Packing(32 / bits) if bits else None
    if last == "weight_packed" or tensor.name.endswith("_blocks"):
        return _Packing(2) if tensor.dtype == "U8" else None
    if last != "weight" and not tensor.name.endswith(("_proj", ".w1", ".w2", ".w3")):
        return None
    if any(name in by_name for name in (f"{tensor.name}.quant_state.bitsandbytes__{kind}" for kind in ("nf4", "fp4"))):
        return _Packing(2)
    if method == "bitnet" and tensor.dtype == "U8":
        return _Packing(4, 0)
    scales = (f"{tensor.name}_scale", f"{tensor.name}_scale_inv", f"{before}.scale", f"{before}.SCB")
    scale = next((by_name[name] for name in scales if name in by_name), None)
    if scale is None or tensor.dtype not in ("U8", "I8"):
        return None
    if f"{tensor.name}_scale_2" in by_name:
        return _Packing(2)
    if scale.dtype == "F8_E8M0" and scale.shape and tensor.shape:
        # Blocks of 32 share a scale: sixteen bytes of four-bit weights, or 32 of eight-bit ones.
        return _Packing({16: 2, 32: 1, 128: 1}[per]) if (per := tensor.shape[-1] // scale.shape[-1]) in (16, 32, 128) else None
    return _Packing(1) if tensor.dtype == "I8" else None


def _weight(pattern: str, kind: str, shape: tuple[int, ...], number: int, sizes: Sizes, experts: int) -> Weight:
    """The row of so many tensors of one shape; a tensor that holds all experts of a layer becomes one row of each."""
    active = number
    if kind == "expert" and not _EXPERT.search(pattern.replace("*", "0")):
        number, shape = number * shape[0], shape[1:]
    if kind == "expert" and sizes.chosen and experts:
        active = number * min(sizes.chosen, experts) // experts
    if kind in UNTRAINED:
        return Weight(pattern, shape, kind, number, 0, 0)
    still = kind in ("embedding", "position", "norm", "mtp", *TOWERS) or len(shape) < 2
    return Weight(pattern, shape, kind, number, active, 0 if still else active)


def parameters_of(rows: Iterable[StoredRow]) -> int:
    """Parameters of rows, without scales and buffers."""
    return sum(row.weight.parameters for row in rows if row.weight.kind not in UNTRAINED)
