"""Multi-head latent attention: DeepSeek-V2 and successors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ingest.architecture.families.decoders import dense_first
from ingest.architecture.families.linear_attention import DELTA_CHUNK
from ingest.architecture.hf_config import MAX_LAYERS, REQUIRED, ModelConfig, Required
from ingest.architecture.layers import DecoderSizes, gated_mlp, linear, norm, prediction, windowed
from ingest.architecture.registry import family, register
from ingest.architecture.weight_table import CHOSEN, Attention, TableRow, Weight, recurrent, routed, times, work
from ingest.files import table_beside


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
        yield from linear("indexer.q", heads * width, self.q_rank or self.hidden, kind="attention")
        yield from linear("indexer.k", width, self.hidden, kind="attention")
        yield from norm("indexer.norm", width, bias=True)
        yield from linear("indexer.weights", heads, self.hidden, kind="attention")
        # Any later query may choose a token by its key.
        yield Attention("indexer", heads, width, 0, 1, width)


def latent(
    config: ModelConfig, hidden: int, heads: int, q_rank: int | None, kv_rank: int, nope: int, rope: int, value: int
) -> Latent:
    """Read the widths; the arguments are the family's defaults. `q_lora_rank: null` means Q without a latent."""
    unset = config.get("q_lora_rank")[1] is None and (q_rank is None or "q_lora_rank" in config.data)
    rank = 0 if unset else config.integer("q_lora_rank", q_rank or 0)
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


def _index(config: ModelConfig, a: Latent, heads: int, ranked: bool = True) -> tuple[int, int, int]:
    """Heads of the indexer, their width, and the tokens that they choose for a query."""
    if ranked and not a.q_rank:
        raise config.refuse("q_lora_rank", None, "a rank: the indexer reads the latent of Q")
    config.ignore("layer_types")
    return config.integer("index_n_heads", heads), config.integer("index_head_dim", 128), config.integer("index_topk", 2048)


class DeepSeek(NamedTuple):
    """A family of DeepSeek's kind: latent attention; the first layers dense, the others with fine and shared experts."""

    #: model_types, doc: see `Decoder`
    model_types: str
    doc: str
    widths: Sequence[Any]  # defaults of `latent`
    #: words, layers, inner: default vocabulary, depth, inner width of a dense network
    words: int
    layers: int
    inner: int
    #: expert, number, shared, dense, chosen: default inner width of an expert, experts, shared ones, dense layers, and experts
    #: that a token visits; without experts the head is tied
    expert: int = 0
    number: int = 0
    shared: int = 0
    dense: int = 0
    chosen: int | Required = REQUIRED
    indexers: int = 0  # default heads of the indexer; 0 where there is none
    #: whether the file may switch on biases of dense networks and shared experts; None for no such key
    mlp_bias: bool | None = None
    last_norm: bool = False  # a norm after the experts too

    def rows(
        self, config: ModelConfig, indexed: int | None = None, each: Sequence[TableRow] = (), still: int = 0
    ) -> Iterator[TableRow]:
        """Return the rows of one model: so many layers with an indexer, all where None, and further rows of each layer.

        In so many layers, `still`, heads of the same width have no positions.
        """
        a = latent(config, *self.widths)
        if self.mlp_bias is False:
            config.only("mlp_bias", False)
        mlp_bias = bool(self.mlp_bias) and config.flag("mlp_bias", False)
        index = _index(config, a, self.indexers, self.widths[2] is not None) if self.indexers else None
        deep = config.size("num_hidden_layers", self.layers, high=MAX_LAYERS)
        s = DecoderSizes(config, a.hidden, 0, deep, a.heads, a.heads, a.nope, config.size("vocab_size", self.words))
        if not self.number:
            feed = s.gated(config.size("intermediate_size", self.inner), bias=mlp_bias)
            yield from s.frame(times(deep, [*a.attention(), *feed, *s.norms(2)]), tied=True)
            return
        further = config.optional_integer("num_nextn_predict_layers", 0, high=MAX_LAYERS) or 0
        config.only("moe_layer_freq", 1)
        dense = dense_first(config, deep, self.dense)
        inner = config.size("intermediate_size", self.inner)
        width, chosen = config.whole(moe_intermediate_size=self.expert, num_experts_per_tok=self.chosen)
        number = config.integer("n_routed_experts|num_experts|num_local_experts", self.number)
        shared = width * config.integer("n_shared_experts", self.shared, low=0)
        mixer, others = (
            [*(windowed(one.attention(), 1, index[2], CHOSEN) if index else one.attention()), *s.norms(2), *each]
            for one in (a, a._replace(nope=a.nope + a.rope, rope=0))
        )
        indexer = [*(a.indexer(*index[:2]) if index else ())]
        experts = [*s.experts(number, chosen, width, shared=shared, shared_bias=mlp_bias), *s.norms(int(self.last_norm))]
        yield from s.frame([
            *times(deep - still, mixer),
            *times(still, others if still else ()),
            *times(deep if indexed is None else indexed, indexer),
            *times(dense, s.gated(inner, mlp_bias)),
            *times(deep - dense, experts),
        ])  # fmt: skip
        yield from prediction(s.hidden, further, [*mixer, *indexer, *experts])


register(__name__, *(DeepSeek(names, **said) for names, said in table_beside(__file__, "latent.yaml").items()))


@family("glm_moe_dsa")
def glm_moe_dsa(config: ModelConfig) -> Iterator[TableRow]:
    """GLM-5: DeepSeek-V3.2's attention at other sizes; some layers may share the indexer of another."""
    config.only("index_topk_pattern")
    kinds = config.texts("indexer_types")
    if kinds is None:
        config.only("index_topk_freq", 1)
    config.ignore("index_share_for_mtp_iteration", "index_topk_freq", "index_skip_topk_offset")
    widths = (6144, 64, 2048, 512, 192, 64, 256)
    glm = DeepSeek("", "", widths, 154880, 78, 12288, 2048, 256, 1, 3, 8, indexers=32)
    return glm.rows(config, kinds.count("full") if kinds else None)


@family("mistral_large4_text")
def mistral_large4(config: ModelConfig) -> Iterator[TableRow]:
    """Mistral Large 4: DeepSeek-V3.2 without a latent for Q; scores scaled by head, no positions in each fourth layer."""
    large = DeepSeek("", "", (6144, 64, None, 512, 64, 64, 128), 204800, 72, 24576, 6144, 128, 1, 1, 4, indexers=32)
    a = latent(config, *large.widths)
    heads, *_ = _index(config, a, large.indexers, False)
    deep = config.size("num_hidden_layers", large.layers, high=MAX_LAYERS)
    config.only("kv_source_layers", [*range(deep)])
    config.only("indexer_types", ["full"] * deep)
    rotary = config.integers("no_rope_layers", deep, low=0, high=1)
    still = deep // config.integer("no_rope_layer_interval", 4) if rotary is None else deep - sum(rotary)
    each = [*norm("indexer.q_norm", a.hidden, True),
            *(Weight("attention.scale", (number,), "attention") for number in (heads, heads, a.heads, a.heads))]  # fmt: skip
    yield from large.rows(config, None, each, still)
    yield Weight("position.scale", (a.rope // 2,), "position")


@family("hy_v4", "hy_v4_vl_text")
def hy_v4(config: ModelConfig) -> Iterator[TableRow]:
    """Hunyuan 4: DeepSeek-V3.2's attention with sinks, a gate and shared indexers, and several residual streams."""
    hunyuan = DeepSeek("", "", (2816, 32, 1536, 512, 192, 64, 256), 120832, 34, 6912, 768, 256, 1, 1, 8, indexers=16)
    if config.data["model_type"] == "hy_v4_vl_text":
        widths = (6144, 64, 2048, 512, 192, 64, 256)
        hunyuan = hunyuan._replace(widths=widths, layers=78, inner=18432, expert=2048, indexers=32)
    a = latent(config, *hunyuan.widths)
    _index(config, a, hunyuan.indexers)
    config.only("gating_type", "elementwise")
    config.ignore("learnable_sink_init", "hc_magnitude")
    # The class has no prediction modules.
    config.only("num_nextn_predict_layers", 0)
    deep = config.size("num_hidden_layers", hunyuan.layers, high=MAX_LAYERS)
    kinds = config.texts("indexer_types", deep, choices=("full", "shared"))
    full = kinds.count("full") if kinds else sum(layer == 0 or (layer - 1) % 4 == 0 for layer in range(deep))
    streams = config.integer("hc_mult", 4)
    wide = streams * a.hidden
    mixing = [*linear("residual.mix", 2 * streams, wide, kind="other"), Weight("residual.base", (2 * streams,), "other"),
              Weight("residual.scale", (2,), "other")]  # fmt: skip
    each = [Weight("attention.sinks", (a.heads,), "attention"),
            *linear("attention.gate", a.heads * a.value, a.hidden, kind="attention"), *times(2, mixing)]  # fmt: skip
    yield from hunyuan.rows(config, full, each)
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
    empty = config.integer("zero_expert_num", 256, low=0)
    chosen = config.integer("moe_topk|num_experts_per_tok", 12)
    width = config.integer("expert_ffn_hidden_size|moe_intermediate_size", 2048)
    if chosen > number + empty:
        raise config.refuse("moe_topk", chosen, f"at most the number of experts, {number + empty:,}")
    inner = config.size("ffn_hidden_size|intermediate_size", 12288)
    layer = [*times(2, [*a.attention(), *s.gated(inner), *s.norms(2)])]
    layer += linear("router", number + empty, a.hidden, config.flag("router_bias", False), "router")
    layer += routed(number, round(chosen * number / (number + empty)), gated_mlp(a.hidden, width, prefix="expert"))
    yield from s.frame(times(deep, layer))


def _kimi_delta(hidden: int, heads: int, width: int, taps: int, low_rank: Sequence[str]) -> Iterator[TableRow]:
    """Kimi Delta Attention: Q, K, V through short convolutions, a decay per channel and an output gate, some of low rank."""
    wide = heads * width
    yield from linear("delta.qkv", 3 * wide, hidden, kind="ssm")
    yield Weight("delta.conv", (3 * wide, 1, taps), "ssm", passes=1)
    yield Weight("delta.decay.step", (wide,), "ssm")
    yield Weight("delta.decay", (heads,), "ssm")
    for gate in ("forget", "output"):
        if gate in low_rank:
            yield from linear(f"delta.{gate}.down", width, hidden, kind="ssm")
        yield from linear(f"delta.{gate}.up", wide, width if gate in low_rank else hidden, kind="ssm")
    yield from linear("delta.strength", heads, hidden, kind="ssm")
    yield from norm("delta.norm", width)
    yield from linear("delta.out", hidden, wide, kind="ssm")
    yield work("delta.chunk", DELTA_CHUNK, heads, 3 * width)
    yield work("delta.state", 3, wide, width)
    yield recurrent(wide * width, 3 * wide * (taps - 1))


@family("kimi_linear")
def kimi_linear(config: ModelConfig) -> Iterator[TableRow]:
    """Kimi Linear, and K3 by switches: three layers of Kimi Delta Attention to one of latent attention; fine experts."""
    a = latent(config, 2304, 32, None, 512, 128, 64, 128)
    listed = config.part("linear_attn_config") or config
    heads, width = listed.integer("linear_num_heads|num_heads", 32), listed.integer("linear_head_dim|head_dim", 128)
    taps = listed.integer("linear_conv_kernel_dim|short_conv_kernel_size", 4)
    config.fixed(num_nextn_predict_layers=0, tie_word_embeddings=False)
    config.ignore("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "mla_use_nope")
    low_rank = ("forget",) if listed.flag("use_full_rank_gate", False) else ("forget", "output")
    delta, full = [*_kimi_delta(a.hidden, heads, width, taps, low_rank)], [*a.attention()]
    if config.flag("mla_use_output_gate", False):
        full += linear("attention.gate", a.heads * a.value, a.hidden, kind="attention")
    yield from _delta_experts(config, a, (163840, 27, 9216, 1024, 256, 1), delta, full, listed)


@family("bailing_hybrid")
def bailing_hybrid(config: ModelConfig) -> Iterator[TableRow]:
    """Ling 3: Kimi Delta Attention with full gates, and latent attention with a gate per head in each sixth layer."""
    a = latent(config, 2560, 32, None, 512, 128, 64, 128)
    config.only("q_lora_rank")
    # The prediction module of the release is not in the class, which saves another width of its heads than it reads.
    config.ignore("num_nextn_predict_layers", "mtp_loss_scaling_factor", "kda_safe_gate", "kda_lower_bound")
    config.ignore("num_key_value_heads")
    taps, width, every = config.whole(short_conv_kernel_size=4, head_dim=128, layer_group_size=6)
    config.fixed(linear_head_dim=width, linear_num_heads=a.heads, linear_conv_kernel_dim=taps, tie_word_embeddings=False)
    delta = [*_kimi_delta(a.hidden, a.heads, width, taps, ())]
    full = [*a.attention(), *linear("attention.gate", a.heads, a.hidden, kind="attention")]
    return _delta_experts(config, a, (157184, 42, 6144, 768, 512, 2), delta, full, config, every)


def _delta_experts(
    config: ModelConfig,
    a: Latent,  # latent attention
    defaults: tuple[int, int, int, int, int, int],  # words, layers, inner widths of network and expert, experts, dense layers
    delta: list[TableRow],  # the rows of a layer of Kimi Delta Attention
    full: list[TableRow],  # the rows of a layer of latent attention
    listed: ModelConfig,  # the table that numbers both kinds of layers
    every: int = 0,  # latent attention in each layer whose number this divides; 0: in each fourth after the first
) -> Iterator[TableRow]:
    """Layers of Kimi Delta Attention between those of latent attention, the first ones dense, the others with experts."""
    words, layers, inner, narrow, experts, first = defaults
    deep = config.size("num_hidden_layers", layers, high=MAX_LAYERS)
    s = DecoderSizes(config, a.hidden, 0, deep, a.heads, a.heads, a.nope, config.size("vocab_size", words))
    kinds = config.texts("layer_types", deep, choices=("linear_attention", "full_attention"))
    if kinds is not None:
        deltas = kinds.count("linear_attention")
    else:
        attending, others = ({*(listed.integers(key, low=1, high=deep) or ())} for key in ("full_attn_layers", "kda_layers"))
        both = attending | others
        if attending & others or (both and len(both) != deep):
            raise config.refuse("linear_attn_config", sorted(both), f"each of {deep} layers once")
        deltas = len(others) if others else deep - (deep // every if every else (deep - 1) // 4)
    config.only("moe_layer_freq", 1)
    config.ignore("use_grouped_topk", "moe_router_activation_func")
    dense, width = dense_first(config, deep, first), config.integer("moe_intermediate_size", narrow)
    number, chosen = config.integer("num_experts", experts), config.integer("num_experts_per_token|num_experts_per_tok", 8)
    shared = width * config.integer("num_shared_experts", 1, low=0)
    rows: list[TableRow] = [*times(deltas, delta), *times(deep - deltas, full)]
    rows += times(dense, s.gated(config.size("intermediate_size", inner)))
    narrow = config.optional_integer("routed_expert_hidden_size") or 0
    rows += times(deep - dense, s.experts(number, chosen, width, shared=shared, latent=narrow))
    if config.flag("latent_moe_use_norm", False):
        rows += times(deep - dense, norm("latent.norm", narrow))
    if config.optional_integer("attn_res_block_size"):
        # Before each part, and before the last norm, one of the blocks of layers so far is weighed.
        rows += times(2 * deep + 1, [*linear("residual.mix", 1, s.hidden, kind="other"), *s.norms(1)])
    yield from s.frame([*rows, *times(deep, s.norms(2))])
