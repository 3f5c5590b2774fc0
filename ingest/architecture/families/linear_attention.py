"""Linear attention, gated recurrences and short convolutions between layers of full attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families.decoders import Experts, qwen_dense
from ingest.architecture.families.moe import CHOSEN, LOCAL, PLAIN, SHARED_WIDTH, WIDTH
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    biased,
    embedding,
    gated_mlp,
    head,
    linear,
    multi_head_sizes,
    norm,
    plain_mlp,
    prediction,
    sizes,
    up_to,
    windowed,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, recurrent, times, work

#: Tokens of a chunk in which the gated delta rule is computed, in transformers and in flash-linear-attention.
DELTA_CHUNK = 64


def _delta_net(
    config: ModelConfig, hidden: int, defaults: tuple[int, int, int, int] = (16, 32, 128, 128)
) -> Iterator[TableRow]:
    """Yang et al. 2024, gated delta rule: Q, K, V through a short convolution, a decay and a strength per head.

    The family's defaults are heads of keys and of values, and their widths.
    """
    k_heads, v_heads = (config.integer(f"linear_num_{kind}_heads", defaults[at]) for at, kind in enumerate(("key", "value")))
    keys = k_heads * config.integer("linear_key_head_dim", defaults[2])
    width = config.integer("linear_value_head_dim", defaults[3])
    values = v_heads * width
    yield from linear("delta.qkvz", 2 * keys + 2 * values, hidden, kind="ssm")
    yield from linear("delta.ba", 2 * v_heads, hidden, kind="ssm")
    conv = config.integer("linear_conv_kernel_dim", 4)
    yield Weight("delta.conv", (2 * keys + values, 1, conv), "ssm", passes=1)
    yield Weight("delta.decay", (v_heads,), "ssm", count=2, active=2)
    # The scan: within a chunk two products of keys and one of values for each pair of tokens, three with the state.
    yield work("delta.chunk", DELTA_CHUNK, v_heads, 2 * keys // k_heads + width)
    yield work("delta.state", 3, values, keys // k_heads)
    yield from norm("delta.norm", width)
    yield from linear("delta.out", hidden, values, kind="ssm")
    yield recurrent(values * keys // k_heads, (2 * keys + values) * (conv - 1))


def _linear_layers(config: ModelConfig, layers: int) -> int:
    """How many layers attend linearly: from the list of types, or all but every fourth."""
    kinds = config.texts("layer_types", layers, choices=("linear_attention", "full_attention"))
    every = config.integer("full_attention_interval", 4)
    return layers - layers // every if kinds is None else kinds.count("linear_attention")


@family("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
def qwen3_next(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Next: three gated delta layers to one of gated attention; 512 experts and a shared one.

    Qwen3.5 has the same mixers over dense layers, or over experts in every layer; the prediction layer of the release apart.
    """
    kind = str(config.data["model_type"])
    following, expert = kind != "qwen3_next", 256 if kind == "qwen3_5_moe_text" else 512
    if kind == "qwen3_next":
        s = sizes(config, 2048, 5632, 48, 16, 151936, kv_heads=2, width=256)
    elif kind == "qwen3_5_text":
        s = sizes(config, 4096, 12288, 32, 16, 248320, kv_heads=4, width=256)
    else:
        s = sizes(config, 2048, None, 40, 16, 248320, kv_heads=2, width=256)
        config.ignore("intermediate_size")
    if following:
        config.ignore("attn_output_gate", "mlp_only_layers")
    dense = 0 if following else qwen_dense(config, s.layers)
    linears = _linear_layers(config, s.layers)
    mixer = [*s.attention(config.flag("attention_bias", False), gate=True), *s.head_norms()]
    rows = [*times(linears, _delta_net(config, s.hidden)), *times(s.layers - linears, mixer), *times(s.layers, s.norms(2))]
    chosen = 8 if following else 10
    experts = Experts((PLAIN, expert), (CHOSEN, chosen), (WIDTH, 512), shared_width=SHARED_WIDTH, gate=True)
    feed = [*(s.gated() if kind == "qwen3_5_text" else experts.rows(s))]
    yield from s.frame([*rows, *times(dense, () if following else s.gated()), *times(s.layers - dense, feed)])
    if following:
        # Attention in full and the network of the model, behind one product and its norms.
        number = config.optional_integer("mtp_num_hidden_layers", 0) or 0
        config.only("mtp_use_dedicated_embeddings", False)
        yield from prediction(s.hidden, number, [*mixer, *s.norms(2), *feed], joints=1)


@family("olmo_hybrid")
def olmo_hybrid(config: ModelConfig) -> Iterator[TableRow]:
    """OLMo Hybrid: three gated delta layers to one of attention with norms over all of Q and K."""
    s = sizes(config, 3840, 11008, 32, 30, 100352)
    linears = _linear_layers(config, s.layers)
    config.ignore(*(f"linear_{key}" for key in ("a_log_min", "a_log_max", "dt_min", "dt_max", "dt_init_floor")))
    config.ignore("linear_allow_neg_eigval", "linear_use_gate")
    full = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms()]
    rows = [*times(linears, _delta_net(config, s.hidden, (30, 30, 96, 192))), *times(s.layers - linears, full)]
    yield from s.frame([*rows, *times(s.layers, [*s.norms(2), *s.gated()])])


@family("minimax")
def minimax(config: ModelConfig) -> Iterator[TableRow]:
    """MiniMax-Text-01 and M1: lightning attention behind a gate of its own in most layers, Mixtral's experts in all."""
    s = sizes(config, 4096, 14336, 32, 32, 32000, kv_heads=8)
    kinds = config.texts("layer_types", s.layers, choices=("linear_attention", "full_attention"))
    linears = s.layers // 2 if kinds is None else kinds.count("linear_attention")
    listed = config.integers("attn_type_list", s.layers, low=0, high=1)
    if listed is not None:
        if kinds is not None and linears != listed.count(0):
            raise config.refuse("attn_type_list", f"{listed.count(0)} zeros", f"layer_types, with {linears} linear layers")
        linears = listed.count(0)
    config.only("shared_intermediate_size", 0)
    config.ignore("postnorm", "shared_moe_mode")
    for part, short in (("full_attention", "full_attn"), ("linear_attention", "linear_attn"), ("mlp", "mlp")):
        for end in ("alpha", "beta"):
            config.ignore(f"layernorm_{part}_{end}", f"{short}_{end}_factor")
    config.ignore("block_size")
    wide = s.heads * s.width
    lightning: list[TableRow] = [
        *linear("lightning.qkv", 3 * wide, s.hidden, kind="ssm"),
        *linear("lightning.gate", wide, s.hidden, kind="ssm"),
        *linear("lightning.out", s.hidden, wide, kind="ssm"),
        *norm("lightning.norm", wide),
        # The scan: a product of keys and one of values for each pair of tokens of a block, two with the state.
        work("lightning.block", config.integer("block_size", 256), s.heads, 2 * s.width),
        work("lightning.state", 2, wide, s.width),
        recurrent(wide * s.width, 0),
    ]
    experts = Experts((LOCAL, 8), (CHOSEN, 2))
    rows = [*times(linears, lightning), *times(s.layers - linears, s.attention())]
    yield from s.frame([*rows, *times(s.layers, [*s.norms(2), *experts.rows(s)])])


def _short_conv(config: ModelConfig, hidden: int, taps: int = 3) -> Iterator[TableRow]:
    """A short convolution between two gates; `taps` is the family's default."""
    bias, length = config.flag("conv_bias", False), config.integer("conv_L_cache", taps)
    yield from linear("conv.in", 3 * hidden, hidden, bias, "conv")
    yield from biased("conv.taps", (hidden, 1, length), "conv", 1, bias)
    yield from linear("conv.out", hidden, hidden, bias, "conv")
    yield recurrent(0, hidden * (length - 1))


def _lfm2_frame(config: ModelConfig, s: DecoderSizes, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The layers of LFM2 that convolve, those that attend, what follows both, and the frame."""
    kinds = config.texts("layer_types", s.layers, choices=("conv", "full_attention"))
    places = config.integers("full_attn_idxs", low=0)
    if kinds is not None:
        convs = kinds.count("conv")
    else:
        convs = s.layers - len({place for place in places if place < s.layers}) if places is not None else 0
    mixers = [*times(convs, _short_conv(config, s.hidden)), *times(s.layers - convs, [*s.attention(), *s.head_norms()])]
    if "tie_embedding" in config.data:
        config.only("tie_word_embeddings", config.flag("tie_embedding"))
    yield from s.frame([*mixers, *rows], tied=config.flag("tie_embedding", True))


@family("lfm2")
def lfm2(config: ModelConfig) -> Iterator[TableRow]:
    """LFM2: gated short convolutions, and attention with norms on the heads of Q and K."""
    s = sizes(config, 2560, None, 32, 32, 65536, kv_heads=8)
    config.ignore("conv_dim", "conv_dim_out", "block_dim", "block_mlp_init_scale", "num_heads", "block_out_init_scale")
    config.ignore("block_use_swiglu", "block_use_xavier_init", "conv_use_xavier_init")
    inner = config.integer("block_ff_dim|intermediate_size", 12288)
    if config.flag("block_auto_adjust_ff_dim", True):
        multiple = config.integer("block_multiple_of", 256)
        inner = up_to(multiple, int(config.number("block_ffn_dim_multiplier", 1.0) * int(2 * inner / 3)))
    config.ignore("block_multiple_of", "block_ffn_dim_multiplier")
    config.only("use_pos_enc", True)
    yield from _lfm2_frame(config, s, times(s.layers, [*s.gated(inner), *s.norms(2)]))


@family("lfm3")
def lfm3(config: ModelConfig) -> Iterator[TableRow]:
    """LFM3: LFM2 with windows in some layers, a gate per head and norms after each part, by switch."""
    s = sizes(config, 2048, 7680, 24, 16, 128000, kv_heads=4, width=128)
    kinds = config.texts("layer_types", s.layers, choices=("conv", "full_attention", "sliding_attention"))
    cycle = ("conv", "conv", "full_attention", "conv", "sliding_attention")
    kinds = kinds or [cycle[at % 4 or 4 * (at > 0)] for at in range(s.layers)]
    convs, short, window = kinds.count("conv"), kinds.count("sliding_attention"), config.integer("sliding_window", 256)
    bias = config.flag("attention_bias", False)
    gate = linear("attention.gate", s.heads, s.hidden, kind="attention") if config.flag("use_attention_gate", True) else ()
    number = 4 if config.flag("use_sandwich_norm", True) else 2
    attending = s.layers - convs
    rows: list[TableRow] = [
        *times(convs, _short_conv(config, s.hidden, 7)),
        *windowed(times(short, s.attention(bias)), short, window),
        *times(attending - short, s.attention(bias)),
        *times(attending, [*s.head_norms(), *gate]),
        *times(s.layers, [*s.gated(), *s.norms(number)]),
    ]
    yield from s.frame(rows, tied=True)


@family("lfm2_moe")
def lfm2_moe(config: ModelConfig) -> Iterator[TableRow]:
    """LFM2 MoE: LFM2 with the first layers dense, then experts."""
    s = sizes(config, 2048, 7168, 32, 32, 65536, kv_heads=8)
    config.ignore("conv_dim", "conv_dim_out", "num_heads", "use_expert_bias")
    dense = min(config.integer("num_dense_layers", 2, low=0), s.layers)
    if config.texts("layer_types") is None:
        raise config.refuse("layer_types", None, "a list: conv or full_attention for every layer")
    experts = Experts((PLAIN, 32), (CHOSEN, 4), (WIDTH, 1792))
    rows = [*times(dense, s.gated()), *times(s.layers - dense, experts.rows(s)), *times(s.layers, s.norms(2))]
    yield from _lfm2_frame(config, s, rows)


@family("recurrent_gemma")
def recurrent_gemma(config: ModelConfig) -> Iterator[TableRow]:
    """De et al. 2024, Griffin: two gated linear recurrences to one layer of local attention."""
    s = multi_head_sizes(config, 2560, 26, None, 256000)
    hidden, layers, heads = s.hidden, s.layers, config.size("num_attention_heads", 10)
    groups, lru = config.whole(num_key_value_heads=heads, lru_width=hidden)
    kinds = config.texts("block_types|_block_types") or ["recurrent", "recurrent", "attention"]
    config.ignore("layers_block_type", "layer_types", "embeddings_scale_by_sqrt_dim")
    if hidden % heads or lru % heads:
        raise config.refuse("num_attention_heads", heads, f"a divisor of {hidden:,} and of lru_width {lru:,}")
    attention_layers = sum(kinds[layer % len(kinds)] == "attention" for layer in range(layers))
    width, bias = config.integer("head_dim", hidden // heads), config.flag("attention_bias", False)
    inner = config.size("intermediate_size", 7680) // 2
    block, taps = lru // heads, config.integer("conv1d_width", 4)
    recurrence: list[TableRow] = [
        *linear("recurrent.y", lru, hidden, True, "recurrent"),
        *linear("recurrent.x", lru, hidden, True, "recurrent"),
        *linear("recurrent.out", hidden, lru, True, "recurrent"),
        *biased("recurrent.conv", (lru, 1, taps), "recurrent", 1),
        Weight("recurrent.decay", (lru,), "recurrent"),
        Weight("recurrent.gates", (heads, block, block), "recurrent", 2, 2, 2),
        Weight("recurrent.gates.bias", (heads, block), "recurrent", 2, 2),
        recurrent(lru, lru * (taps - 1)),
    ]
    s = s._replace(inner=inner, heads=heads, kv_heads=groups, width=width)
    local = windowed(s.attention(bias, o_bias=True), 1, config.integer("attention_window_size", 2048))
    rows = [*times(layers - attention_layers, recurrence), *times(attention_layers, local)]
    yield from s.frame([*rows, *times(layers, [*s.gated(bias=True), *s.norms(2)])], tied=True)


@family("rwkv")
def rwkv(config: ModelConfig) -> Iterator[TableRow]:
    """Peng et al. 2023, RWKV-4: time mixing and channel mixing, no attention."""
    s = multi_head_sizes(config, 4096, 32, None, 50277)
    hidden, mixed = s.hidden, config.integer("attention_hidden_size", s.hidden)
    inner = config.integer("intermediate_size", 4 * hidden)
    layer: list[TableRow] = [
        *s.norms(2, bias=True),
        Weight("time.decay", (mixed,), "recurrent", 2, 2),
        Weight("time.mix", (1, 1, hidden), "recurrent", 5, 5),
        *(row for name in ("key", "value", "receptance") for row in linear(f"time.{name}", mixed, hidden, kind="recurrent")),
        *linear("time.out", hidden, mixed, kind="recurrent"),
        *linear("channel.key", inner, hidden),
        *linear("channel.receptance", hidden, hidden),
        *linear("channel.value", hidden, inner),
        recurrent(3 * mixed, 2 * hidden),  # numerator, denominator and maximum; the token before, twice
    ]
    yield from s.frame([*times(s.layers, layer), *norm("first_norm", hidden, True)], norm_bias=True)


def _fused(config: ModelConfig) -> None:
    """Keys of the library's kernels; layers of full attention between the recurrent ones are not described."""
    config.only("attn")
    config.ignore("attn_mode", "fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")


def _wide(config: ModelConfig, hidden: int, key: str, default: float) -> int:
    """A width as a share of a number of channels, cut to a whole number as the library does; at least one."""
    wide = int(hidden * config.number(key, default))
    if not wide:
        raise config.refuse(key, config.get(key)[1], f"a share of {hidden:,} channels that leaves at least one")
    return wide


@family("gla")
def gla(config: ModelConfig) -> Iterator[TableRow]:
    """Yang et al. 2023: linear attention whose state fades by a gate per channel, of low rank."""
    _fused(config)
    config.fixed(elementwise_affine=True, use_gk=True, use_gv=False)
    config.only("attnres_block_size")
    config.ignore("feature_map", "gate_fn", "clamp_min", "share_conv_kernel")
    hidden, heads = config.stated(hidden_size=2048, num_heads=4)
    keys, values = _wide(config, hidden, "expand_k", 0.5), _wide(config, hidden, "expand_v", 1.0)
    shared = config.optional_integer("num_kv_heads") or heads
    for width, name in ((heads, "num_heads"), (shared, "num_kv_heads")):
        if keys % heads or values % heads or heads % shared:
            raise config.refuse(name, width, f"a divisor of the {keys:,} keys, the {values:,} values and the heads")
    few_keys, few_values = keys * shared // heads, values * shared // heads
    inner = config.optional_integer("intermediate_size")
    ratio = config.number("hidden_ratio", 4.0)
    layer: list[TableRow] = [
        *linear("gla.q", keys, hidden, kind="ssm"),
        *linear("gla.k", few_keys, hidden, kind="ssm"),
        *linear("gla.v", few_values, hidden, kind="ssm"),
        *linear("gla.fade.down", 16, hidden, kind="ssm"),
        *linear("gla.fade.up", few_keys, 16, True, "ssm"),
        *linear("gla.o", hidden, values, kind="ssm"),
        *norm("gla.norm", values // heads),
        *norm("norm", hidden, number=2),
        *gated_mlp(hidden, inner or up_to(256, int(hidden * ratio * 2 / 3))),
        # Within a chunk the scores of pairs and their values; between chunks the state is read and written.
        work("gla.chunk", DELTA_CHUNK, keys + values),
        work("gla.state", 2, keys, values // heads),
    ]
    taps = config.integer("conv_size", 4)
    short = config.flag("use_short_conv", False)
    if config.flag("use_output_gate", True):
        layer += linear("gla.gate", values, hidden, kind="ssm")
    if short:
        layer += [Weight("gla.conv", (keys + few_keys + few_values, 1, taps), "ssm", passes=1)]
    window = (keys + few_keys + few_values) * (taps - 1) if short else 0
    yield from _decoder(config, hidden, [*layer, recurrent(keys * values // heads, window)])


def _decoder(config: ModelConfig, hidden: int, layer: list[TableRow], bias: bool = False) -> Iterator[TableRow]:
    deep, words = config.stated(num_hidden_layers=24, vocab_size=32000)
    yield embedding(words, hidden)
    yield from times(deep, layer)
    yield from norm("final_norm", hidden, bias)
    yield from head(words, hidden, config.flag("tie_word_embeddings", False))


@family("rwkv7")
def rwkv7(config: ModelConfig) -> Iterator[TableRow]:
    """Peng et al. 2025: a state per head that a delta rule of its own writes; decay, strength and gates of low rank."""
    _fused(config)
    hidden, width = config.size("hidden_size", 2048), config.integer("head_dim", 64)
    if hidden % width:
        raise config.refuse("head_dim", width, f"a divisor of the hidden size {hidden:,}")
    config.only("num_heads", hidden // width)
    config.only("value_dim", hidden, [hidden] * config.size("num_hidden_layers", 32, high=MAX_LAYERS))
    bias, first = config.flag("norm_bias", True), config.flag("norm_first", True)
    inner = config.optional_integer("intermediate_size")
    ratio = config.number("hidden_ratio", 4.0)
    low_rank: dict[str, list[TableRow]] = {}
    for name, default in (("decay", 64), ("gate", 128), ("a", 64), ("v", 16)):
        rank = config.integer(f"{name}_low_rank_dim", default)
        low_rank[name] = [*linear(f"time.{name}.down", rank, hidden, kind="ssm")]
        low_rank[name] += linear(f"time.{name}.up", hidden, rank, name != "gate", "ssm")
    layer: list[TableRow] = [
        Weight("time.mix", (hidden,), "ssm", 6, 6),
        Weight("time.scales", (hidden,), "ssm", 3, 3),
        *times(4, linear("time.r, k, v and o", hidden, hidden, kind="ssm")),
        *low_rank["decay"],
        *low_rank["a"],
        *low_rank["gate"],
        *norm("time.norm", hidden, True),
        *norm("norm", hidden, bias, 2),
        Weight("channel.mix", (hidden,), "mlp"),
        *plain_mlp(hidden, inner or up_to(32, int(hidden * ratio)), bias=False),
        # The state is read by two vectors and written by two products for each token.
        work("time.state", 4, hidden, width),
        recurrent(hidden * width, 2 * hidden),
    ]
    deep = config.size("num_hidden_layers", 32, high=MAX_LAYERS)
    yield from _decoder(config, hidden, layer, bias)
    yield from times(deep - 1, low_rank["v"])
    yield from norm("first_norm", hidden, bias, 1 if first else 0)


@family("jet_nemotron")
def jet_nemotron(config: ModelConfig) -> Iterator[TableRow]:
    """Gu et al. 2025: Qwen2.5 whose attention gives way to gated delta rules with a convolution that each token generates."""
    s = sizes(config, 1536, 8960, 28, 12, 151936, kv_heads=2)
    kinds = config.texts("layer_types", s.layers, choices=("jet", "attn", "swa")) or ["attn"] * s.layers
    config.ignore("use_mrope")
    config.only("attention_bias")
    both = config.part("efficient_attention_config")
    jet = both.part("jet") if both is not None else None
    near = both.part("swa") if both is not None else None
    if (jet is None and "jet" in kinds) or (near is None and "swa" in kinds):
        raise config.refuse("efficient_attention_config", None, "a table for each kind of layer in layer_types")
    if jet is not None:
        yield from times(kinds.count("jet"), _jet(jet, s.hidden))
    window = near.integer("window_size") if near is not None else 0
    attending = s.layers - kinds.count("jet")
    mixer = windowed(times(attending, s.attention(True, False)), attending - kinds.count("attn"), window)
    yield from s.frame([*mixer, *times(s.layers, [*s.gated(), *s.norms(2)])], tied=True)


def _jet(config: ModelConfig, hidden: int) -> Iterator[TableRow]:
    """One layer: Q, K, V, decay and strength per head, a short convolution from a small network, a gate, a norm."""
    heads, width, taps = config.whole(num_heads=6, head_dim=256, conv_size=4)
    # The share is rounded in the files, 2.6666666667: the library cuts the product to a whole number.
    keys = heads * width
    values = _wide(config, keys, "expand_v", 2.0)
    narrow = values // config.integer("dconv_generator_reduction", 8, high=values)
    config.ignore("mode", "dconv_implementation")
    yield from linear("jet.q and k", 2 * keys, hidden, kind="ssm")
    yield from linear("jet.v", values, hidden, kind="ssm")
    yield from linear("jet.decay and strength", 2 * heads, hidden, kind="ssm")
    yield Weight("jet.decay", (heads,), "ssm", 2, 2)
    yield from linear("jet.conv.down", narrow, hidden, kind="ssm")
    yield from linear("jet.conv.up", values * taps, narrow, True, "ssm")
    yield from linear("jet.gate", values, hidden, kind="ssm")
    yield from norm("jet.norm", _wide(config, width, "expand_v", 2.0))
    yield from linear("jet.o", hidden, values, kind="ssm")
    yield work("jet.chunk", DELTA_CHUNK, 2 * keys + values)
    yield work("jet.state", 3, keys, values // heads)
    yield recurrent(keys * values // heads, values * (taps - 1))
