"""State-space layers, and their hybrids with attention: Mamba, Mamba-2, Jamba and successors."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.hf_config import MAX_LAYERS, REQUIRED, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    biased,
    gated_mlp,
    kv_group_count,
    linear,
    multi_head_sizes,
    norm,
    plain_mlp,
    prediction,
    products,
    sizes,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, recurrent, routed, times, work


def _selective(
    hidden: int, inner: int, state: int, conv: int, rank: int, *, bias: bool = False, conv_bias: bool = True
) -> Iterator[TableRow]:
    """Gu & Dao 2023: in and gate, a short convolution, the selection of step, B and C, the scan, out."""
    yield from linear("ssm.in", 2 * inner, hidden, bias, "ssm")
    yield from biased("ssm.conv", (inner, 1, conv), "ssm", 1, conv_bias)
    yield from linear("ssm.select", rank + 2 * state, inner, kind="ssm")
    yield from linear("ssm.step", inner, rank, True, "ssm")
    yield Weight("ssm.decay", (inner, state), "ssm", passes=1)
    yield Weight("ssm.skip", (inner,), "ssm")
    yield from linear("ssm.out", hidden, inner, bias, "ssm")
    yield recurrent(inner * state, inner * (conv - 1))


def _duality(
    hidden: int,
    heads: int,
    width: int,
    state: int,
    groups: int,
    conv: int,
    chunk: int,
    *,
    bias: bool = False,
    out_bias: bool | None = None,
    conv_bias: bool = True,
    gate_norm: bool = True,
) -> Iterator[TableRow]:
    """Dao & Gu 2024: one projection for gate, values, B, C and step; a decay per head; a norm before going out.

    The scan is computed in chunks: each token with every token of its chunk, and in and out of the state between chunks.
    """
    inner = heads * width
    mixed = inner + 2 * groups * state
    yield from linear("ssm.in", inner + mixed + heads, hidden, bias, "ssm")
    yield from biased("ssm.conv", (mixed, 1, conv), "ssm", 1, conv_bias)
    for name in ("ssm.step", "ssm.decay", "ssm.skip"):
        yield Weight(name, (heads,), "ssm")
    yield work("ssm.chunk", chunk, heads, state + width)
    yield work("ssm.state", 2, inner, state)
    if gate_norm:
        yield from norm("ssm.norm", inner)
    yield from linear("ssm.out", hidden, inner, bias if out_bias is None else out_bias, "ssm")
    yield recurrent(inner * state, mixed * (conv - 1))


def _step_rank(config: ModelConfig, key: str, hidden: int) -> int:
    """Rank of the step size: a number; a sixteenth of the width for `auto` or none."""
    return -(-hidden // 16) if config.get(key)[1] in (None, "auto") else config.integer(key)


@family("mamba", "falcon_mamba")
def mamba(config: ModelConfig) -> Iterator[TableRow]:
    """Gu & Dao 2023."""
    s = multi_head_sizes(config, 768, 32, None, 50280, ("hidden_size|d_model", "num_hidden_layers|n_layer"))
    expand = config.integer("expand", 2)
    config.ignore("d_inner", "ssm_cfg", "fused_add_norm", "rms_norm")
    rank = _step_rank(config, "time_step_rank", s.hidden)
    bias, conv_bias = config.flag("use_bias", False), config.flag("use_conv_bias", True)
    state, conv, inner = config.whole(state_size=16, conv_kernel=4, intermediate_size=expand * s.hidden)
    block = _selective(s.hidden, inner, state, conv, rank, bias=bias, conv_bias=conv_bias)
    yield from s.frame(times(s.layers, [*block, *s.norms(1)]), tied=True)


@family("mamba2")
def mamba2(config: ModelConfig) -> Iterator[TableRow]:
    """Dao & Gu 2024."""
    s = multi_head_sizes(config, 4096, 64, None, 32768)
    heads, width, expand = config.whole(num_heads=128, head_dim=64, expand=2)
    config.ignore("time_step_rank", "intermediate_size", "norm_before_gate", "rms_norm")
    if heads * width != expand * s.hidden:
        raise config.refuse("num_heads", heads, f"heads × head_dim = expand × hidden_size = {expand * s.hidden:,}")
    bias, conv_bias = config.flag("use_bias", False), config.flag("use_conv_bias", True)
    state, groups, conv, chunk = config.whole(state_size=128, n_groups=8, conv_kernel=4, chunk_size=256)
    block = _duality(s.hidden, heads, width, state, groups, conv, chunk, bias=bias, conv_bias=conv_bias)
    yield from s.frame(times(s.layers, [*block, *s.norms(1)]))


@family("jamba")
def jamba(config: ModelConfig) -> Iterator[TableRow]:
    """Lieber et al. 2024: one attention layer in eight, the others Mamba with norms inside; experts in every other layer."""
    s = sizes(config, 4096, 14336, 32, 32, 65536, kv_heads=8)
    attention_layers = _placed(config, "attn_layer", s.layers, 8, 4)
    sparse = _placed(config, "expert_layer", s.layers, 2, 1)
    state, rank = config.integer("mamba_d_state", 16), _step_rank(config, "mamba_dt_rank", s.hidden)
    inner = config.integer("mamba_expand", 2) * s.hidden
    bias, conv_bias = config.flag("mamba_proj_bias", False), config.flag("mamba_conv_bias", True)
    config.ignore("layers_block_type", "mamba_inner_layernorms", "use_mamba_kernels", "layer_types")
    block = [
        *_selective(s.hidden, inner, state, config.integer("mamba_d_conv", 4), rank, bias=bias, conv_bias=conv_bias),
        *norm("ssm.step_norm", rank),
        *norm("ssm.state_norm", state, number=2),
    ]
    number, chosen = config.integer("num_experts|num_local_experts", 16), config.integer("num_experts_per_tok", 2)
    if number == 1:
        sparse = 0
    rows = [
        *times(s.layers - attention_layers, block),
        *times(attention_layers, s.attention()),
        *times(s.layers - sparse, s.gated()),
        *(times(sparse, s.experts(number, chosen, s.inner)) if sparse else ()),
        *times(s.layers, s.norms(2)),
    ]
    yield from s.frame(rows)


def _placed(config: ModelConfig, what: str, layers: int, period: int, offset: int) -> int:
    """Return how many layers are at `offset` of every `period`."""
    every, first = config.integer(f"{what}_period", period), config.integer(f"{what}_offset", offset, low=0)
    return sum(layer % every == first for layer in range(layers))


def _mamba2(
    config: ModelConfig, hidden: int, inner: int | None = None, width: int = 64, gate_norm: bool = True
) -> Iterator[TableRow]:
    """Mamba-2 under the keys `mamba_…`; `inner` as `mamba_expand` has it."""
    bias, conv_bias = config.flag("mamba_proj_bias", False), config.flag("mamba_conv_bias", True)
    count = config.integer("mamba_n_heads", 128)
    expanded = config.integer("mamba_expand", 2) * hidden
    total = expanded if inner is None else inner
    auto = config.get("mamba_d_head")[1] == "auto"
    wide = total // count if auto else config.integer("mamba_d_head", width)
    if count * wide != total:
        rule = "mamba_expand × hidden_size = " if inner is None else ""
        raise config.refuse("mamba_d_head", wide, f"heads × width = {rule}{total:,}")
    groups, conv, chunk, state = config.whole(mamba_n_groups=1, mamba_d_conv=4, mamba_chunk_size=256, mamba_d_state=256)
    out_bias = config.flag("projectors_bias", False) if inner is not None else bias
    return _duality(
        hidden, count, wide, state, groups, conv, chunk, bias=bias, out_bias=out_bias, conv_bias=conv_bias, gate_norm=gate_norm
    )


@family("bamba")
def bamba(config: ModelConfig) -> Iterator[TableRow]:
    """Bamba: Mamba-2 layers with a few attention layers at stated places."""
    s = sizes(config, 4096, 14336, 32, 32, 128000, kv_heads=8)
    places = config.integers("attn_layer_indices", low=0) or []
    attention_layers = len({place for place in places if place < s.layers})
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    config.ignore("layers_block_type", "layer_types")
    rows = [*times(attention_layers, s.attention(bias)), *times(s.layers - attention_layers, _mamba2(config, s.hidden))]
    yield from s.frame([*rows, *times(s.layers, [*s.gated(bias=mlp_bias), *s.norms(2)])])


@family("granitemoehybrid")
def granite_hybrid(config: ModelConfig) -> Iterator[TableRow]:
    """Granite 4: Mamba-2 and attention layers; a shared network in each, and experts where the config has them."""
    s = sizes(config, 4096, 11008, 32, 32, 32000)
    known = ("mamba", "linear_attention", "attention", "full_attention")
    kinds = config.texts("layer_types|layers_block_type", s.layers, choices=known) or ["mamba"] * s.layers
    attention_layers = sum(kind in ("attention", "full_attention") for kind in kinds)
    bias = config.flag("attention_bias", False)
    rows = [*times(attention_layers, s.attention(bias)), *times(s.layers, [*s.norms(2)])]
    if attention_layers < s.layers:
        rows += times(s.layers - attention_layers, _mamba2(config, s.hidden))
    config.ignore(*(key for key in config.data if key.startswith("mamba_")))
    config.ignore("shared_mlp")
    rows += times(s.layers, s.gated(config.integer("shared_intermediate_size", 1024)))
    number, chosen = config.integer("num_local_experts", 8, low=0), config.integer("num_experts_per_tok", 2, low=0)
    if number:
        rows += times(s.layers, s.experts(number, chosen, s.inner))
    yield from s.frame(rows)


@family("falcon_h1")
def falcon_h1(config: ModelConfig) -> Iterator[TableRow]:
    """Falcon-H1: Mamba-2 and attention in parallel in every layer."""
    s = sizes(config, 4096, 14336, 32, 32, 128000, kv_heads=8)
    null = "mamba_d_ssm" in config.data and config.optional_integer("mamba_d_ssm") is None
    inner = config.integer("mamba_expand", 2) * s.hidden if null else config.integer("mamba_d_ssm", 1024)
    block = _mamba2(config, s.hidden, inner, width=8, gate_norm=config.flag("mamba_rms_norm", False))
    config.ignore("mamba_norm_before_gate", "mamba_use_mlp", "attn_layer_indices", "layer_types", "mlp_multipliers")
    config.ignore("mlp_expansion_factor", "ssm_multipliers", "time_step_rank", "ssm_in_multiplier", "ssm_out_multiplier")
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    yield from s.frame(times(s.layers, [*block, *s.attention(bias), *s.gated(bias=mlp_bias), *s.norms(2)]))


_PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_SAME = {"linear_attention": "mamba", "full_attention": "attention"}


@family("nemotron_h")
def nemotron_h(config: ModelConfig) -> Iterator[TableRow]:
    """Nemotron-H and Nemotron 3: one mixer per layer, Mamba-2, attention, a plain network (squared ReLU) or experts."""
    listed = config.texts("layers_block_type|layer_types")
    pattern = config.text("hybrid_override_pattern", "" if listed is not None else REQUIRED)
    if listed is None:
        if not pattern or set(pattern) - set(_PATTERN) or len(pattern) > MAX_LAYERS:
            raise config.refuse("hybrid_override_pattern", pattern, f"a pattern of {' '.join(_PATTERN)}")
        kinds = [_PATTERN[letter] for letter in pattern]
    else:
        kinds = [_SAME.get(kind, kind) for kind in listed]
        odd = next((kind for kind in kinds if kind not in _PATTERN.values()), None)
        if odd is not None or len(kinds) > MAX_LAYERS:
            raise config.refuse("layers_block_type", odd, f"one of {', '.join(_PATTERN.values())}")
    depth = config.integer("num_hidden_layers", len(kinds), high=MAX_LAYERS)
    if depth != len(kinds):
        raise config.refuse("num_hidden_layers", depth, f"as many as the pattern has, {len(kinds):,}")
    config.only("tie_word_embeddings", False)
    hidden, words, heads = config.stated(hidden_size=4096, vocab_size=131072, num_attention_heads=32)
    groups = kv_group_count(config, heads, 8)
    width = config.integer("head_dim|attention_head_dim", 128)
    s = DecoderSizes(config, hidden, 0, len(kinds), heads, groups, width, words)
    config.ignore("use_mamba_kernels", "time_step_rank", "mamba_dt_rank", "attention_bias", "mamba_proj_bias", "mamba_expand")
    config.ignore("expand", "moe_shared_expert_overlap", "mamba_state_scale_weights")
    bias, mlp_bias = config.flag("use_bias", False), config.flag("mlp_bias", False)
    rows: list[TableRow] = [*times(len(kinds), s.norms(1))]
    if "mamba" in kinds:
        keys = (("mamba_num_heads", 128), ("mamba_head_dim", 64), ("ssm_state_size", 128), ("mamba_n_groups|n_groups", 8),
                ("mamba_d_conv|conv_kernel", 4), ("mamba_chunk_size|chunk_size", 128))  # fmt: skip
        count, wide, state, mixed, conv, chunk = (config.integer(key, default) for key, default in keys)
        conv_bias = config.flag("mamba_conv_bias|use_conv_bias", True)
        block = _duality(hidden, count, wide, state, mixed, conv, chunk, bias=bias, conv_bias=conv_bias)
        rows += times(kinds.count("mamba"), block)
    rows += times(kinds.count("attention"), s.attention())
    if "mlp" in kinds:
        rows += times(kinds.count("mlp"), plain_mlp(hidden, config.integer("intermediate_size", 21504), mlp_bias))
    if "moe" in kinds:
        rows += times(kinds.count("moe"), _nemotron_experts(config, hidden, mlp_bias))
    config.ignore("intermediate_size", "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel")
    config.ignore("use_conv_bias", *(key for key in config.data if "expert" in key or key.startswith("moe_")))
    yield from s.frame(rows)
    yield from _nemotron_further(s, mlp_bias)


def _nemotron_further(s: DecoderSizes, bias: bool) -> Iterator[TableRow]:
    """The modules that predict further tokens: each runs through a pattern of its own."""
    further = s.config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
    pattern, listed = s.config.text("mtp_hybrid_override_pattern", ""), s.config.texts("mtp_layers_block_type")
    kinds = [_SAME.get(kind, kind) for kind in listed or [_PATTERN.get(letter, letter) for letter in pattern]]
    if not further or not kinds:
        return
    odd = next((kind for kind in kinds if kind not in ("attention", "moe")), None)
    if odd is not None or len(kinds) > MAX_LAYERS:
        raise s.config.refuse("mtp_hybrid_override_pattern", pattern or odd, "a pattern of * and E")
    layer: list[TableRow] = [*s.norms(len(kinds)), *times(kinds.count("attention"), s.attention())]
    if "moe" in kinds:
        layer += times(kinds.count("moe"), _nemotron_experts(s.config, s.hidden, bias))
    yield from prediction(s.hidden, further, layer)


def _nemotron_experts(config: ModelConfig, hidden: int, bias: bool) -> Iterator[TableRow]:
    number, chosen = config.integer("n_routed_experts|num_local_experts", 8), config.integer("num_experts_per_tok", 2)
    inner = config.integer("moe_intermediate_size", 7688)
    if (narrow := config.optional_integer("moe_latent_size")) is not None:
        yield from products("latent", hidden, narrow, hidden, bias=bias)
    yield from linear("router", number, hidden, kind="router")
    yield from routed(number, chosen, plain_mlp(narrow or hidden, inner, False, prefix="expert"))
    config.integer("n_shared_experts", 1, low=0)
    shared = config.integer("moe_shared_expert_intermediate_size", 7688)
    yield from plain_mlp(hidden, shared, bias, prefix="shared_expert")


@family("zamba2")
def zamba2(config: ModelConfig) -> Iterator[TableRow]:
    """Glorioso et al. 2024: Mamba-2 layers; before some of them one of a few shared blocks, told apart by low-rank matrices."""
    hidden, words = config.stated(hidden_size=2560, vocab_size=32000)
    layers, heads = config.stated(num_hidden_layers=54, num_attention_heads=32)
    groups = kv_group_count(config, heads, heads)
    wide = 2 * hidden
    if wide % heads:
        raise config.refuse("num_attention_heads", heads, f"a divisor of twice the hidden size, {wide:,}")
    s = DecoderSizes(config, hidden, 0, layers, heads, groups, wide // heads, words)
    known = ("mamba", "linear_attention", "hybrid")
    kinds = config.texts("layers_block_type|layer_types", layers, choices=known)
    if kinds is None and layers != len(_ZAMBA2):
        raise config.refuse("layers_block_type", None, f"a list of {layers:,} kinds of layers")
    uses = (kinds or _ZAMBA2).count("hybrid")
    blocks, rank = min(config.integer("num_mem_blocks", 1), uses), config.integer("adapter_rank", 128)
    inner = config.optional_integer("intermediate_size") or 4 * hidden
    count, expand = config.whole(n_mamba_heads=8, mamba_expand=2)
    if expand * hidden % count:
        raise config.refuse("n_mamba_heads", count, f"a divisor of mamba_expand × hidden_size = {expand * hidden:,}")
    bias = config.flag("add_bias_linear", False)
    # Without a tied head the class would give each use of a block weights of its own.
    config.only("tie_word_embeddings", True)
    config.ignore("attention_hidden_size", "attention_head_dim", "mamba_headdim", "kv_channels", "num_query_groups")
    config.ignore("use_mamba_kernels", "use_conv_bias", "use_mem_eff_path", "use_long_context", "use_mem_rope", "head_dim")
    config.ignore("hybrid_layer_ids", "ffn_hidden_size")
    keys = (("mamba_d_state", 64), ("mamba_ngroups", 1), ("mamba_d_conv", 4), ("chunk_size", 256))
    state, mixed, conv, chunk = (config.integer(key, default) for key, default in keys)
    mamba = _duality(hidden, count, expand * hidden // count, state, mixed, conv, chunk, bias=bias)
    *mixer, attending = attention(hidden, heads, groups, s.width, into=wide)
    block = [*mixer, *gated_mlp(hidden, inner, bias), *norm("block_norm", wide), *norm("norm", hidden)]
    own: list[TableRow] = [*linear("block.out", hidden, hidden), *linear("adapter.in", rank, hidden)]
    own += [*linear("adapter.out", 2 * inner, rank), attending]
    if config.flag("use_shared_attention_adapter", False):
        own += times(3, [*linear("attention.adapter.in", rank, wide), *linear("attention.adapter.out", wide, rank)])
    rows = [*times(layers, [*mamba, *s.norms(1)]), *times(uses, own)]
    for row in block:
        assert isinstance(row, Weight)
        # A token passes each use of a block; its weights are stored once per block.
        rows.append(row._replace(count=blocks, active=blocks, passes=row.passes * uses))
    yield from s.frame(rows, tied=True)


#: The kinds of the 54 layers of Zamba2-2.7B, the class's own.
_ZAMBA2 = ["mamba", *(["mamba"] * 5 + ["hybrid"]) * 7, *["mamba"] * 4, "hybrid", *["mamba"] * 3, "hybrid", *["mamba"] * 2]
