"""Linear attention, gated recurrences and short convolutions between layers of full attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families.decoders import Experts
from ingest.architecture.families.moe import CHOSEN, LOCAL, PLAIN, SHARED_WIDTH, WIDTH, qwen_sparse, shared_gate
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.layers import (
    DecoderSizes,
    biased,
    linear,
    multi_head_sizes,
    norm,
    prediction,
    sizes,
    windowed,
)
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, Weight, recurrent, times

#: Tokens of a chunk in which the gated delta rule is computed, in transformers and in flash-linear-attention.
DELTA_CHUNK = 64


def delta_net(config: ModelConfig, hidden: int, defaults: tuple[int, int, int, int] = (16, 32, 128, 128)) -> Iterator[TableRow]:
    """Yang et al. 2024, gated delta rule: Q, K, V through a short convolution, a decay and a strength per head.

    Args:
        config: the keys.
        hidden: the width of the model.
        defaults: of the family: heads of keys and of values, and their widths.
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
    yield Weight("delta.chunk (work, no weights)", (DELTA_CHUNK, v_heads, 2 * keys // k_heads + width), "ssm", 0, 0, 1)
    yield Weight("delta.state (work, no weights)", (3, values, keys // k_heads), "ssm", 0, 0, 1)
    yield from norm("delta.norm", width)
    yield from linear("delta.out", hidden, values, kind="ssm")
    yield recurrent(values * keys // k_heads, (2 * keys + values) * (conv - 1))


def linear_layers(config: ModelConfig, layers: int) -> int:
    """How many layers attend linearly: from the list of types, or all but every fourth."""
    kinds = config.texts("layer_types", layers, choices=("linear_attention", "full_attention"))
    every = config.integer("full_attention_interval", 4)
    return layers - layers // every if kinds is None else kinds.count("linear_attention")


def _mixers(config: ModelConfig, s: DecoderSizes) -> Iterator[TableRow]:
    linears = linear_layers(config, s.layers)
    bias = config.flag("attention_bias", False)
    yield from times(linears, delta_net(config, s.hidden))
    yield from times(s.layers - linears, [*s.attention(bias, gate=True), *s.head_norms()])
    yield from times(s.layers, s.norms(2))


@family("qwen3_next")
def qwen3_next(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Next: three gated delta layers to one of gated attention; 512 experts and a shared one."""
    s = sizes(config, 2048, 5632, 48, 16, 151936, kv_heads=2, width=256)
    sparse = qwen_sparse(config, s.layers)
    experts = Experts((PLAIN, 512), (CHOSEN, 10), (WIDTH, 512), shared_width=SHARED_WIDTH, extra=shared_gate)
    rows = [*_mixers(config, s), *times(s.layers - sparse, s.gated()), *times(sparse, experts.rows(s))]
    yield from s.frame(rows)


#: Keys of the release of Qwen3.5 that change no weight.
_QWEN3_5 = ("attn_output_gate", "mlp_only_layers")


@family("qwen3_5_text")
def qwen3_5(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3.5: Qwen3-Next's mixers over dense layers; the prediction layer of the release apart."""
    s = sizes(config, 4096, 12288, 32, 16, 248320, kv_heads=4, width=256)
    config.ignore(*_QWEN3_5)
    yield from s.frame([*_mixers(config, s), *times(s.layers, s.gated())])
    yield from _prediction(config, s, s.gated())


@family("qwen3_5_moe_text")
def qwen3_5_moe(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3.5 MoE: the same mixers, experts in every layer."""
    s = sizes(config, 2048, None, 40, 16, 248320, kv_heads=2, width=256)
    config.ignore("intermediate_size", *_QWEN3_5)
    experts = Experts((PLAIN, 256), (CHOSEN, 8), (WIDTH, 512), shared_width=SHARED_WIDTH, extra=shared_gate)
    yield from s.frame([*_mixers(config, s), *times(s.layers, experts.rows(s))])
    yield from _prediction(config, s, experts.rows(s))


def _prediction(config: ModelConfig, s: DecoderSizes, network: Iterable[TableRow]) -> Iterator[TableRow]:
    """Qwen's prediction layers: attention in full and the network of the model, behind one product and its norms."""
    number = config.optional_integer("mtp_num_hidden_layers", 0) or 0
    config.only("mtp_use_dedicated_embeddings", False)
    mixer = [*s.attention(config.flag("attention_bias", False), gate=True), *s.head_norms(), *s.norms(2)]
    yield from prediction(s.hidden, number, [*mixer, *network], joints=1)


@family("olmo_hybrid")
def olmo_hybrid(config: ModelConfig) -> Iterator[TableRow]:
    """OLMo Hybrid: three gated delta layers to one of attention with norms over all of Q and K."""
    s = sizes(config, 3840, 11008, 32, 30, 100352)
    linears = linear_layers(config, s.layers)
    config.ignore(*(f"linear_{key}" for key in ("a_log_min", "a_log_max", "dt_min", "dt_max", "dt_init_floor")))
    config.ignore("linear_allow_neg_eigval", "linear_use_gate")
    full = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms()]
    rows = [*times(linears, delta_net(config, s.hidden, (30, 30, 96, 192))), *times(s.layers - linears, full)]
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
    parts = ("full_attention", "linear_attention", "mlp")
    config.ignore(*(f"layernorm_{part}_{end}" for part in parts for end in ("alpha", "beta")))
    alphas = (f"{kind}_{end}_factor" for kind in ("full_attn", "linear_attn", "mlp") for end in ("alpha", "beta"))
    config.ignore("block_size", *alphas)
    wide = s.heads * s.width
    lightning: list[TableRow] = [
        *linear("lightning.qkv", 3 * wide, s.hidden, kind="ssm"),
        *linear("lightning.gate", wide, s.hidden, kind="ssm"),
        *linear("lightning.out", s.hidden, wide, kind="ssm"),
        *norm("lightning.norm", wide),
        # The scan: a product of keys and one of values for each pair of tokens of a block, two with the state.
        Weight("lightning.block (work, no weights)", (config.integer("block_size", 256), s.heads, 2 * s.width), "ssm", 0, 0, 1),
        Weight("lightning.state (work, no weights)", (2, wide, s.width), "ssm", 0, 0, 1),
        recurrent(wide * s.width, 0),
    ]
    experts = Experts((LOCAL, 8), (CHOSEN, 2))
    rows = [*times(linears, lightning), *times(s.layers - linears, s.attention())]
    yield from s.frame([*rows, *times(s.layers, [*s.norms(2), *experts.rows(s)])])


def short_conv(config: ModelConfig, hidden: int, taps: int = 3) -> Iterator[TableRow]:
    """A short convolution between two gates; `taps` is the family's default."""
    bias, length = config.flag("conv_bias", False), config.integer("conv_L_cache", taps)
    yield from linear("conv.in", 3 * hidden, hidden, bias, "conv")
    yield from biased("conv.taps", (hidden, 1, length), "conv", 1, bias)
    yield from linear("conv.out", hidden, hidden, bias, "conv")
    yield recurrent(0, hidden * (length - 1))


def _conv_layers(config: ModelConfig, layers: int) -> int:
    kinds = config.texts("layer_types", layers, choices=("conv", "full_attention"))
    places = config.integers("full_attn_idxs", low=0)
    if kinds is None:
        return layers - len({place for place in places if place < layers}) if places is not None else 0
    return kinds.count("conv")


def _lfm2_frame(config: ModelConfig, s: DecoderSizes, convs: int, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    mixers = [*times(convs, short_conv(config, s.hidden)), *times(s.layers - convs, [*s.attention(), *s.head_norms()])]
    if "tie_embedding" in config.data:
        config.only("tie_word_embeddings", config.flag("tie_embedding"))
    yield from s.frame([*mixers, *rows], tied=config.flag("tie_embedding", True))


@family("lfm2")
def lfm2(config: ModelConfig) -> Iterator[TableRow]:
    """LFM2: gated short convolutions, and attention with norms on the heads of Q and K."""
    s = sizes(config, 2560, None, 32, 32, 65536, kv_heads=8)
    config.ignore("conv_dim", "conv_dim_out", "block_dim", "block_mlp_init_scale", "num_heads")
    config.ignore("block_out_init_scale", "block_use_swiglu", "block_use_xavier_init", "conv_use_xavier_init")
    inner = config.integer("block_ff_dim|intermediate_size", 12288)
    if config.flag("block_auto_adjust_ff_dim", True):
        multiple = config.integer("block_multiple_of", 256)
        inner = int(config.number("block_ffn_dim_multiplier", 1.0) * int(2 * inner / 3))
        inner = -(-inner // multiple) * multiple
    config.ignore("block_multiple_of", "block_ffn_dim_multiplier")
    config.only("use_pos_enc", True)
    convs = _conv_layers(config, s.layers)
    yield from _lfm2_frame(config, s, convs, times(s.layers, [*s.gated(inner), *s.norms(2)]))


@family("lfm3")
def lfm3(config: ModelConfig) -> Iterator[TableRow]:
    """LFM3: LFM2 with windows in some layers, a gate per head and norms after each part, by switch."""
    s = sizes(config, 2048, 7680, 24, 16, 128000, kv_heads=4, width=128)
    kinds = config.texts("layer_types", s.layers, choices=("conv", "full_attention", "sliding_attention"))
    kinds = kinds or [
        ("conv", "conv", "full_attention", "conv", "sliding_attention")[at % 4 or 4 * (at > 0)] for at in range(s.layers)
    ]
    convs, short, window = kinds.count("conv"), kinds.count("sliding_attention"), config.integer("sliding_window", 256)
    bias = config.flag("attention_bias", False)
    gate = linear("attention.gate", s.heads, s.hidden, kind="attention") if config.flag("use_attention_gate", True) else ()
    number = 4 if config.flag("use_sandwich_norm", True) else 2
    attending = s.layers - convs
    rows: list[TableRow] = [
        *times(convs, short_conv(config, s.hidden, 7)),
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
    convs, dense = _conv_layers(config, s.layers), min(config.integer("num_dense_layers", 2, low=0), s.layers)
    if config.texts("layer_types") is None:
        raise config.refuse("layer_types", None, "a list: conv or full_attention for every layer")
    experts = Experts((PLAIN, 32), (CHOSEN, 4), (WIDTH, 1792))
    rows = [*times(dense, s.gated()), *times(s.layers - dense, experts.rows(s)), *times(s.layers, s.norms(2))]
    yield from _lfm2_frame(config, s, convs, rows)


@family("recurrent_gemma")
def recurrent_gemma(config: ModelConfig) -> Iterator[TableRow]:
    """De et al. 2024, Griffin: two gated linear recurrences to one layer of local attention."""
    s = multi_head_sizes(config, 2560, 26, None, 256000)
    hidden, layers, heads = s.hidden, s.layers, config.size("num_attention_heads", 10)
    groups = config.integer("num_key_value_heads", heads)
    lru = config.integer("lru_width", hidden)
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
    window = config.integer("attention_window_size", 2048)
    local = windowed(s.attention(bias, o_bias=True), 1, window)
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
        *linear("time.key", mixed, hidden, kind="recurrent"),
        *linear("time.value", mixed, hidden, kind="recurrent"),
        *linear("time.receptance", mixed, hidden, kind="recurrent"),
        *linear("time.out", hidden, mixed, kind="recurrent"),
        *linear("channel.key", inner, hidden),
        *linear("channel.receptance", hidden, hidden),
        *linear("channel.value", hidden, inner),
        recurrent(3 * mixed, 2 * hidden),  # numerator, denominator and maximum; the token before, twice
    ]
    yield from s.frame([*times(s.layers, layer), *norm("first_norm", hidden, True)], norm_bias=True)
