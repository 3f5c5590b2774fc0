"""Multi-head latent attention: DeepSeek-V2 and successors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.architecture.families.linear_attention import DELTA_CHUNK
from ingest.architecture.families.moe import dense_first
from ingest.architecture.hf_config import MAX_LAYERS, REQUIRED, ModelConfig, Required
from ingest.architecture.layers import DecoderSizes, gated_mlp, linear, norm, prediction
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Attention, TableRow, Weight, recurrent, routed, times


class Latent(NamedTuple):
    """The widths of latent attention; the cache keeps `kv_rank + rope` elements per token for all heads."""

    hidden: int
    heads: int
    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int
    bias: bool

    def attention(self) -> Iterator[TableRow]:
        """Down to the latent, a norm, up to all heads; positions through a key of their own, shared by all heads."""
        wide = self.heads * (self.nope + self.rope)
        if self.q_rank:
            yield from linear("attention.q_down", self.q_rank, self.hidden, self.bias, "attention")
            yield from norm("q_norm", self.q_rank)
            yield from linear("attention.q_up", wide, self.q_rank, kind="attention")
        else:
            yield from linear("attention.q", wide, self.hidden, kind="attention")
        yield from linear("attention.kv_down", self.kv_rank + self.rope, self.hidden, self.bias, "attention")
        yield from norm("kv_norm", self.kv_rank)
        yield from linear("attention.kv_up", self.heads * (self.nope + self.value), self.kv_rank, kind="attention")
        yield from linear("attention.o", self.hidden, self.heads * self.value, self.bias, "attention")
        cached = self.kv_rank + self.rope
        yield Attention("self", self.heads, self.nope + self.rope, self.value, 1, cached)

    def indexer(self, heads: int, width: int) -> Iterator[TableRow]:
        """DeepSeek-V3.2: a light attention that selects the tokens to attend to."""
        yield from linear("indexer.q", heads * width, self.q_rank, kind="attention")
        yield from linear("indexer.k", width, self.hidden, kind="attention")
        yield from norm("indexer.norm", width, bias=True)
        yield from linear("indexer.weights", heads, self.hidden, kind="attention")
        yield Attention("indexer", heads, width, 0)


def latent(
    config: ModelConfig, hidden: int, heads: int, q_rank: int | None, kv_rank: int, nope: int, rope: int, value: int
) -> Latent:
    """Read the widths; the arguments are the family's defaults. `q_lora_rank: null` means Q without a latent."""
    null = "q_lora_rank" in config.data and config.get("q_lora_rank")[1] is None
    rank = (
        0 if null or (q_rank is None and config.get("q_lora_rank")[1] is None) else config.integer("q_lora_rank", q_rank or 0)
    )
    config.ignore("qk_head_dim", "head_dim", "num_key_value_heads")
    return Latent(
        config.size("hidden_size", hidden),
        config.size("num_attention_heads", heads),
        rank,
        config.integer("kv_lora_rank", kv_rank),
        config.integer("qk_nope_head_dim", nope, low=0),
        config.integer("qk_rope_head_dim", rope),
        config.integer("v_head_dim", value),
        config.flag("attention_bias", False),
    )


class DeepSeek(NamedTuple):
    """A family's own defaults: words, depth, inner widths of network and expert, experts, shared ones, dense layers."""

    words: int
    layers: int
    inner: int
    expert: int = 0
    number: int = 0
    shared: int = 0
    dense: int = 0
    chosen: int | Required = 0

    def rows(
        self,
        config: ModelConfig,
        a: Latent,
        index: tuple[int, int] | None = None,
        indexed: int | None = None,
        mlp_bias: bool = False,
        each: Sequence[TableRow] = (),
        beside: Sequence[TableRow] = (),
    ) -> Iterator[TableRow]:
        """Return latent attention in each layer; the first layers dense, the others with fine and shared experts, if any.

        Args:
            config: the keys.
            a: latent attention.
            index: heads of the indexer and their width.
            indexed: layers with an indexer of their own; all where None.
            mlp_bias: biases of dense networks and shared experts.
            each: further rows of every layer.
            beside: further rows of every layer with experts.
        """
        deep = config.size("num_hidden_layers", self.layers, high=MAX_LAYERS)
        vocabulary = config.size("vocab_size", self.words)
        s = DecoderSizes(config, a.hidden, 0, deep, a.heads, a.heads, a.nope, vocabulary)
        if not self.number:
            feed = s.gated(config.size("intermediate_size", self.inner), bias=mlp_bias)
            yield from s.frame(times(deep, [*a.attention(), *feed, *s.norms(2)]), tied=True)
            return
        further = config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
        config.only("moe_layer_freq", 1)
        dense = dense_first(config, deep, self.dense)
        inner = config.size("intermediate_size", self.inner)
        width = config.integer("moe_intermediate_size", self.expert)
        chosen = config.integer("num_experts_per_tok", self.chosen)
        number = config.integer("n_routed_experts|num_experts|num_local_experts", self.number)
        shared = width * config.integer("n_shared_experts", self.shared, low=0)
        rows = [*times(deep, [*a.attention(), *s.norms(2), *each])]
        if index:
            rows += times(deep if indexed is None else indexed, a.indexer(*index))
        rows += times(dense, s.gated(inner, mlp_bias))
        experts = [*s.experts(number, chosen, width, shared=shared, shared_bias=mlp_bias), *beside]
        rows += times(deep - dense, experts)
        yield from s.frame(rows)
        layer = [*a.attention(), *s.norms(2), *each, *(a.indexer(*index) if index else ()), *experts]
        yield from prediction(s.hidden, further, layer)


@family("deepseek_v2")
def deepseek_v2(config: ModelConfig) -> Iterator[TableRow]:
    """DeepSeek-AI 2024: latent attention and fine experts; V2-Lite without a latent for Q."""
    a = latent(config, 4096, 32, 1536, 512, 128, 64, 128)
    yield from DeepSeek(102400, 32, 11008, 1407, 64, 2, 0, REQUIRED).rows(config, a, mlp_bias=config.flag("mlp_bias", False))


@family("deepseek_v3")
def deepseek_v3(config: ModelConfig) -> Iterator[TableRow]:
    """DeepSeek-AI 2024: 256 experts, of which a token visits eight; the prediction module of the release apart."""
    a = latent(config, 7168, 128, 1536, 512, 128, 64, 128)
    yield from DeepSeek(129280, 61, 18432, 2048, 256, 1, 3, 8).rows(config, a)


@family("mistral4")
def mistral4(config: ModelConfig) -> Iterator[TableRow]:
    """Mistral Small 4: DeepSeek-V3's structure at other sizes, with experts in every layer."""
    a = latent(config, 4096, 32, 1024, 256, 64, 64, 128)
    config.only("mlp_bias", False)
    yield from DeepSeek(131072, 36, 12288, 2048, 128, 1, 0, 4).rows(config, a)


def _index(config: ModelConfig, a: Latent, heads: int) -> tuple[int, int]:
    """Heads of the indexer and their width."""
    if not a.q_rank:
        raise config.refuse("q_lora_rank", None, "a rank: the indexer reads the latent of Q")
    config.ignore("layer_types", "index_topk")
    return config.integer("index_n_heads", heads), config.integer("index_head_dim", 128)


@family("deepseek_v32")
def deepseek_v32(config: ModelConfig) -> Iterator[TableRow]:
    """DeepSeek-V3.2: V3 with an indexer in every layer."""
    a = latent(config, 7168, 128, 1536, 512, 128, 64, 128)
    yield from DeepSeek(129280, 61, 18432, 2048, 256, 1, 3, 8).rows(config, a, _index(config, a, 64))


@family("glm_moe_dsa")
def glm_moe_dsa(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-5: DeepSeek-V3.2's attention at other sizes; some layers may share the indexer of another."""
    a = latent(config, 6144, 64, 2048, 512, 192, 64, 256)
    index = _index(config, a, 32)
    config.only("index_topk_pattern")
    kinds = config.texts("indexer_types")
    if kinds is None:
        config.only("index_topk_freq", 1)
    config.ignore("index_share_for_mtp_iteration", "index_topk_freq", "index_skip_topk_offset")
    full = kinds.count("full") if kinds else None
    yield from DeepSeek(154880, 78, 12288, 2048, 256, 1, 3, 8).rows(config, a, index, full)


@family("axk1")
def axk1(config: ModelConfig) -> Iterator[TableRow]:
    """A.X K1: DeepSeek-V3's structure at other sizes, with a norm after the experts too."""
    a = latent(config, 7168, 64, 1536, 512, 128, 64, 128)
    yield from DeepSeek(163840, 61, 18432, 2048, 192, 1, 1, 8).rows(config, a, beside=[*norm("norm", a.hidden)])


@family("hy_v4")
def hy_v4(config: ModelConfig) -> Iterator[TableRow]:
    """Hunyuan 4: DeepSeek-V3.2's attention with sinks, a gate and shared indexers, and several residual streams."""
    a = latent(config, 2816, 32, 1536, 512, 192, 64, 256)
    index = _index(config, a, 16)
    config.only("gating_type", "elementwise")
    config.ignore("learnable_sink_init", "hc_magnitude")
    # The class has no prediction modules.
    config.only("num_nextn_predict_layers", 0)
    deep = config.size("num_hidden_layers", 34, high=MAX_LAYERS)
    kinds = config.texts("indexer_types", deep, choices=("full", "shared"))
    full = kinds.count("full") if kinds else sum(layer == 0 or (layer - 1) % 4 == 0 for layer in range(deep))
    streams = config.integer("hc_mult", 4)
    wide = streams * a.hidden
    mixing = [*linear("residual.mix", 2 * streams, wide, kind="other"), Weight("residual.base", (2 * streams,), "other"),
              Weight("residual.scale", (2,), "other")]  # fmt: skip
    each = [Weight("attention.sinks", (a.heads,), "attention"),
            *linear("attention.gate", a.heads * a.value, a.hidden, kind="attention"), *times(2, mixing)]  # fmt: skip
    yield from DeepSeek(120832, 34, 6912, 768, 256, 1, 1, 8).rows(config, a, index, full, each=each)
    yield from linear("residual.head", streams, wide, kind="other")
    yield from (Weight("residual.head.base", (streams,), "other"), Weight("residual.head.scale", (1,), "other"))


@family("longcat_flash")
def longcat_flash(config: ModelConfig) -> Iterator[TableRow]:
    """LongCat-Flash: two latent attentions and two dense networks in a layer, and beside them experts, some without weights.

    A token chooses among all experts; its work is that of an even choice.
    """
    a = latent(config, 6144, 64, 1536, 512, 128, 64, 128)
    config.only("attention_method", "MLA", "mla")
    config.only("zero_expert_type", "identity")
    deep = config.size("num_layers", 28, high=MAX_LAYERS)
    # The library counts each attention as a layer.
    config.only("num_hidden_layers", deep, 2 * deep)
    s = DecoderSizes(config, a.hidden, 0, deep, a.heads, a.heads, a.nope, config.size("vocab_size", 131072))
    number = config.integer("n_routed_experts|num_local_experts", 512)
    empty = config.optional_integer("zero_expert_num", 0) or 0
    chosen = config.integer("moe_topk|num_experts_per_tok", 12)
    width = config.integer("expert_ffn_hidden_size|moe_intermediate_size", 2048)
    if chosen > number + empty:
        raise config.refuse("moe_topk", chosen, f"at most the number of experts, {number + empty:,}")
    inner = config.size("ffn_hidden_size|intermediate_size", 12288)
    layer = [*times(2, [*a.attention(), *s.gated(inner), *s.norms(2)])]
    layer += linear("router", number + empty, a.hidden, config.flag("router_bias", False), "router")
    layer += routed(number, round(chosen * number / (number + empty)), gated_mlp(a.hidden, width, prefix="expert"))
    yield from s.frame(times(deep, layer))


@family("glm4_moe_lite")
def glm4_moe_lite(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-4.7-Flash: latent attention, the first layer dense, 64 experts."""
    a = latent(config, 2048, 20, 768, 512, 192, 64, 256)
    yield from DeepSeek(154880, 47, 10240, 1536, 64, 1, 1, 4).rows(config, a)


@family("minicpm3")
def minicpm3(config: ModelConfig) -> Iterator[TableRow]:
    """MiniCPM3: latent attention with dense layers, tied."""
    a = latent(config, 2560, 40, 768, 256, 64, 32, 64)
    yield from DeepSeek(73448, 62, 6400).rows(config, a, mlp_bias=config.flag("mlp_bias", False))


@family("youtu")
def youtu(config: ModelConfig) -> Iterator[TableRow]:
    """Youtu-LLM: latent attention with dense layers, tied."""
    a = latent(config, 2048, 16, 1536, 512, 128, 64, 128)
    config.only("mlp_bias", False)
    yield from DeepSeek(128256, 32, 6144).rows(config, a)


def kimi_delta(hidden: int, heads: int, width: int, taps: int, low_rank: bool) -> Iterator[TableRow]:
    """Kimi Delta Attention: Q, K, V through short convolutions, a decay per channel and an output gate, of low rank or full."""
    wide = heads * width
    yield from linear("delta.qkv", 3 * wide, hidden, kind="ssm")
    yield Weight("delta.conv", (3 * wide, 1, taps), "ssm", passes=1)
    yield Weight("delta.decay.step", (wide,), "ssm")
    yield Weight("delta.decay", (heads,), "ssm")
    for gate in ("forget", "output"):
        if low_rank:
            yield from linear(f"delta.{gate}.down", width, hidden, kind="ssm")
        yield from linear(f"delta.{gate}.up", wide, width if low_rank else hidden, kind="ssm")
    yield from linear("delta.strength", heads, hidden, kind="ssm")
    yield from norm("delta.norm", width)
    yield from linear("delta.out", hidden, wide, kind="ssm")
    yield Weight("delta.chunk (work, no weights)", (DELTA_CHUNK, heads, 3 * width), "ssm", 0, 0, 1)
    yield Weight("delta.state (work, no weights)", (3, wide, width), "ssm", 0, 0, 1)
    yield recurrent(wide * width, 3 * wide * (taps - 1))


@family("kimi_linear")
def kimi_linear(config: ModelConfig) -> Iterator[TableRow]:
    """Kimi Linear: three layers of Kimi Delta Attention to one of latent attention; fine experts and a shared one."""
    a = latent(config, 2304, 32, None, 512, 128, 64, 128)
    listed = config.part("linear_attn_config") or config
    heads, width = listed.integer("linear_num_heads|num_heads", 32), listed.integer("linear_head_dim|head_dim", 128)
    taps = listed.integer("linear_conv_kernel_dim|short_conv_kernel_size", 4)
    config.only("num_nextn_predict_layers", 0)
    config.only("tie_word_embeddings", False)
    config.ignore("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "mla_use_nope")
    delta = kimi_delta(a.hidden, heads, width, taps, low_rank=True)
    yield from _delta_experts(config, a, (163840, 27, 9216, 1024, 256, 1), [*delta], [*a.attention()], listed)


@family("bailing_hybrid")
def bailing_hybrid(config: ModelConfig) -> Iterator[TableRow]:
    """Ling 3: Kimi Delta Attention with full gates, and latent attention with a gate per head in each sixth layer."""
    a = latent(config, 2560, 32, None, 512, 128, 64, 128)
    config.only("q_lora_rank")
    # The prediction module of the release is not in the class.
    config.ignore("num_nextn_predict_layers", "mtp_loss_scaling_factor", "kda_safe_gate", "kda_lower_bound")
    config.ignore("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "num_key_value_heads")
    taps = config.integer("short_conv_kernel_size", 4)
    delta = kimi_delta(a.hidden, a.heads, config.integer("head_dim", 128), taps, low_rank=False)
    gate = linear("attention.gate", a.heads, a.hidden, kind="attention")
    sizes = (157184, 42, 6144, 768, 512, 2)
    yield from _delta_experts(
        config, a, sizes, [*delta], [*a.attention(), *gate], config, config.integer("layer_group_size", 6)
    )


def _delta_experts(
    config: ModelConfig,
    a: Latent,
    defaults: tuple[int, int, int, int, int, int],
    delta: list[TableRow],
    full: list[TableRow],
    listed: ModelConfig,
    every: int = 4,
) -> Iterator[TableRow]:
    """Layers of Kimi Delta Attention between those of latent attention, the first ones dense, the others with experts.

    Args:
        config: the keys.
        a: latent attention.
        defaults: words, layers, inner widths of network and expert, experts, dense layers.
        delta: the rows of a layer of Kimi Delta Attention.
        full: the rows of a layer of latent attention.
        listed: the table that numbers both kinds of layers.
        every: latent attention in each layer whose number this divides, where nothing lists them.
    """
    words, layers, inner, narrow, experts, first = defaults
    deep = config.size("num_hidden_layers", layers, high=MAX_LAYERS)
    s = DecoderSizes(config, a.hidden, 0, deep, a.heads, a.heads, a.nope, config.size("vocab_size", words))
    deltas = _delta_layers(config, listed, deep, every)
    config.only("moe_layer_freq", 1)
    config.ignore("use_grouped_topk", "moe_router_activation_func")
    dense, width = dense_first(config, deep, first), config.integer("moe_intermediate_size", narrow)
    number, chosen = config.integer("num_experts", experts), config.integer("num_experts_per_token|num_experts_per_tok", 8)
    shared = width * config.integer("num_shared_experts", 1, low=0)
    rows: list[TableRow] = [*times(deltas, delta), *times(deep - deltas, full)]
    rows += times(dense, s.gated(config.size("intermediate_size", inner)))
    rows += times(deep - dense, s.experts(number, chosen, width, shared=shared))
    yield from s.frame([*rows, *times(deep, s.norms(2))])


def _delta_layers(config: ModelConfig, listed: ModelConfig, layers: int, every: int) -> int:
    """How many layers have Kimi Delta Attention: by the list of types, the numbers of the layers, or `every`."""
    kinds = config.texts("layer_types", layers, choices=("linear_attention", "full_attention"))
    if kinds is not None:
        return kinds.count("linear_attention")
    full, delta = ({*(listed.integers(key, low=1, high=layers) or ())} for key in ("full_attn_layers", "kda_layers"))
    if full & delta or (full | delta and len(full | delta) != layers):
        raise config.refuse("linear_attn_config", sorted(full | delta), f"each of {layers} layers once")
    return len(delta) if delta else layers - layers // every
