"""Decoders with rotary positions, LLaMA and successors, one record per family; GPT-2 and its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig, Required
from ingest.architecture.layers import (
    DecoderSizes,
    attention,
    embedding,
    even_width,
    gated_mlp,
    head,
    kv_group_count,
    linear,
    multi_head_sizes,
    norm,
    positions,
    prediction,
    sizes,
    sliding,
    up_to,
    windowed,
)
from ingest.architecture.registry import class_suffix, family, register
from ingest.architecture.weight_table import TableRow, Weight, times

#: A constant, or the key that decides and the family's default.
Switch = bool | tuple[str, bool]
#: A key, the family's default, and the smallest value where it is not 1.
Number = tuple[str, int | Required] | tuple[str, int | Required, int]
#: How many layers have a sliding window, and its width, from the keys and the number of layers.
Window = Callable[[ModelConfig, int], tuple[int, int]]
#: Rows of one layer that only some families have.
Rows = Callable[[DecoderSizes], Iterable[TableRow]]


ATTENTION_BIAS, MLP_BIAS = ("attention_bias", False), ("mlp_bias", False)


def switched(config: ModelConfig, switch: Switch) -> bool:
    """Return the value of a switch."""
    return switch if isinstance(switch, bool) else config.flag(*switch)


def rows_if(name: str, default: bool, rows: Rows) -> Rows:
    """Return rows that a key of the config switches on."""
    return lambda s: rows(s) if s.config.flag(name, default) else ()


def slide(width: int = 0, every: int | tuple[str, int] = 1) -> Window:
    """Return the rule of a sliding window: its default width, and which layers have full attention (see `sliding`)."""
    return lambda config, layers: sliding(config, layers, width, every if isinstance(every, int) else config.integer(*every))


def listed_dense(config: ModelConfig, layers: int, default: int) -> int:
    """Return how many layers the list of types names as dense, or the default where there is no list."""
    kinds = config.texts("mlp_layer_types", layers, choices=("dense", "sparse"))
    return default if kinds is None else kinds.count("dense")


def dense_first(config: ModelConfig, layers: int, default: int) -> int:
    """Return how many layers are dense: from the list of types, or the first k."""
    return listed_dense(config, layers, min(config.integer("first_k_dense_replace", default, low=0), layers))


class Experts(NamedTuple):
    """A mixture of experts in place of the feed-forward network."""

    #: number, chosen: experts of a layer, and those that one token visits
    number: Number
    chosen: Number
    width: Number | None = None  # inner width of an expert; that of the feed-forward network where None
    shared: Number | None = None  # experts that every token visits, each as wide as the others
    shared_width: Number | None = None  # inner width of one shared expert, where the config states it
    #: layers with a feed-forward network instead: the first so many, or from the keys and the number of layers
    dense: int | Callable[[ModelConfig, int], int] | None = None
    dense_width: str = ""  # inner width of that network; that of the feed-forward network where None or absent
    #: router_bias, bias, shared_bias: biases of the router, of the experts, and of the shared ones
    router_bias: bool = False
    bias: bool = False
    shared_bias: Switch = False
    gate: bool = False  # a gate before the shared expert
    corrected: int = 0  # axes of the stored correction of each expert; 0 where there is none

    def rows(self, s: DecoderSizes) -> Iterator[TableRow]:
        """Return the rows of one layer: router, experts, shared experts."""
        number, chosen = s.config.integer(*self.number), s.config.integer(*self.chosen)
        inner = s.config.integer(*self.width) if self.width else s.inner
        shared = inner * s.config.integer(*self.shared) if self.shared else 0
        shared = s.config.integer(*self.shared_width) if self.shared_width else shared
        biases = {"bias": self.bias, "router_bias": self.router_bias, "shared_bias": switched(s.config, self.shared_bias)}
        yield from s.experts(number, chosen, inner, shared=shared, **biases)
        if self.gate:
            yield from linear("shared_expert_gate", 1, s.hidden, kind="router")
        if self.corrected:
            yield Weight("expert_bias", (*[1] * (self.corrected - 1), number), "router")


class Decoder(NamedTuple):
    """A family of decoders whose layers are alike."""

    model_types: str  # the values of `model_type`, separated by spaces
    doc: str  # the paper or model, and what differs from the other families
    #: hidden, inner, layers, heads, vocabulary, kv_heads, head_width: the family's default sizes, see `sizes`
    hidden: int
    inner: int | None
    layers: int
    heads: int
    vocabulary: int
    kv_heads: int | None = None
    head_width: int | None = None
    bias: Switch = False  # biases of Q, K and V; of O too where `o_bias` is None
    o_bias: Switch | None = None
    qk_norm: str = ""  # norms over Q and K: `heads` for one over each head, `flat` for one over all heads
    #: gated, mlp_bias: a gate in the feed-forward network, and its biases
    gated: bool = True
    mlp_bias: Switch = False
    experts: Experts | None = None  # the mixture of experts, where the family has one
    #: norms, norm_bias, final_norm: norms of a layer, their biases, and the norm after the last layer
    norms: int = 2
    norm_bias: bool = False
    final_norm: bool = True
    window: Window | None = None  # the sliding window
    #: tied, head_bias: default of `tie_word_embeddings`, and the bias of the head
    tied: bool = False
    head_bias: Switch = False
    only: tuple[tuple[str, object], ...] = ()  # keys that must have this value
    ignore: tuple[str, ...] = ()  # keys that change no weight
    sinks: bool = False  # a learned attention sink for each head
    #: after_attention, extra: further rows of a layer, after attention and at its end
    after_attention: Rows | None = None
    extra: Rows | None = None
    mtp: str = ""  # the key of how many modules predict further tokens, each with a layer like the last ones
    mtp_dense: bool = False  # the layers of these modules are dense, behind one product and norms for all of them
    mtp_plain: bool = False  # the layers of these modules are dense, each behind a product and two norms; no norm after them

    def rows(self, config: ModelConfig) -> Iterator[TableRow]:
        """Return the rows of one model of the family."""
        config.ignore(*self.ignore)
        for key, value in self.only:
            config.only(key, value)
        s = sizes(config, *self[2:7], kv_heads=self.kv_heads, width=self.head_width)
        short, window = self.window(config, s.layers) if self.window else (0, 0)
        bias, mlp_bias = switched(config, self.bias), switched(config, self.mlp_bias)
        mixer = [*s.attention(bias, bias if self.o_bias is None else switched(config, self.o_bias))]
        mixer += self.after_attention(s) if self.after_attention else ()
        mixer += [Weight("attention.sinks", (s.heads,), "attention")] if self.sinks else []
        if self.qk_norm:
            mixer += s.head_norms() if self.qk_norm == "heads" else s.flat_norms()
        ends = [*s.norms(self.norms, self.norm_bias), *(self.extra(s) if self.extra else ())]
        feed: list[TableRow]
        if self.experts:
            dense, placed = 0, self.experts.dense
            rows = [*times(s.layers, [*mixer, *ends])]
            if placed is not None:
                dense = dense_first(config, s.layers, placed) if isinstance(placed, int) else placed(config, s.layers)
                inner = config.optional_integer(self.experts.dense_width) if self.experts.dense_width else None
                rows += times(dense, s.gated(inner, mlp_bias))
            experts: list[TableRow] = [*self.experts.rows(s)]
            rows += times(s.layers - dense, experts)
            feed = [*s.gated(bias=mlp_bias)] if self.mtp_dense or self.mtp_plain else experts
        else:
            feed = [*(s.gated if self.gated else s.plain)(bias=mlp_bias)]
            rows = [*times(s.layers, [*mixer, *feed, *ends])]
        ending = {"final_norm": self.final_norm, "head_bias": switched(config, self.head_bias)}
        yield from s.frame(windowed(rows, short, window), tied=self.tied, norm_bias=self.norm_bias, **ending)
        further = config.optional_integer(self.mtp, 0, high=MAX_LAYERS) if self.mtp else None
        if further:
            joints, norms = 1 if self.mtp_dense else None, 2 if self.mtp_plain else 3
            bias = self.mtp_plain and mlp_bias
            yield from prediction(s.hidden, further, [*mixer, *ends, *feed], joints, norms=norms, bias=bias)


def qwen_window(config: ModelConfig, layers: int) -> tuple[int, int]:
    """The window holds only where it is switched on, and from `max_window_layers` on."""
    on = config.flag("use_sliding_window", False)
    first = config.integer("max_window_layers", 28, low=0)
    short, window = sliding(config, layers, 4096, every=1)
    if not on:
        return 0, 0
    return (short if "layer_types" in config.data else max(layers - first, 0)), window


def _one_switch(s: DecoderSizes) -> Iterator[TableRow]:
    """No rows: the two switches of InternLM3 must agree."""
    mlp_bias = s.config.flag("mlp_bias|bias", False)
    if s.config.flag("attention_bias|qkv_bias", False) != mlp_bias:
        raise s.config.refuse("mlp_bias", mlp_bias, "the same as attention_bias")
    return iter(())


def _undivided(s: DecoderSizes) -> Iterator[TableRow]:
    """No rows: the heads of Helium share the hidden size."""
    if s.heads * s.width != s.hidden:
        raise s.config.refuse("head_dim", s.width, f"hidden_size {s.hidden:,} shared among {s.heads:,} heads")
    return iter(())


register(
    __name__,
    Decoder("llama", "Touvron et al. 2023: RMSNorm, rotary positions, SwiGLU; grouped-query attention since Llama 2.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS),
    Decoder("granite", "Granite 3: LLaMA with multipliers.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS),
    Decoder("mistral", "Jiang et al. 2023: grouped-query attention within a sliding window, no biases.",
            4096, 14336, 32, 32, 32000, kv_heads=8, window=slide(4096)),
    Decoder("ministral", "Ministral 8B: as Mistral, some layers with a sliding window.",
            4096, 14336, 32, 32, 32000, kv_heads=8, window=slide(4096)),
    Decoder("ministral3_text", "Ministral 3: as Mistral, with a head width of its own.",
            4096, 14336, 34, 32, 131072, kv_heads=8, head_width=128, window=slide()),
    Decoder("qwen2", "Qwen2 and Qwen2.5: biases on Q, K and V alone.",
            4096, 22016, 32, 32, 151936, kv_heads=32, bias=True, o_bias=False, window=qwen_window),
    Decoder("qwen3", "Qwen3: a norm on each head of Q and K instead of the biases.",
            4096, 22016, 32, 32, 151936, kv_heads=32, head_width=128, bias=ATTENTION_BIAS, qk_norm="heads", window=qwen_window),
    Decoder("gemma", "Gemma: heads wider than their share of the hidden size, embedding tied to the head.",
            3072, 24576, 28, 16, 256000, kv_heads=16, head_width=256, bias=ATTENTION_BIAS, tied=True),
    Decoder("gemma2", "Gemma 2: norms before and after each part; every other layer within a window.",
            2304, 9216, 26, 8, 256000, kv_heads=4, head_width=256, bias=ATTENTION_BIAS, norms=4, tied=True,
            window=slide(4096, 2)),
    Decoder("vaultgemma", "VaultGemma: Gemma 2 without the norms after each part.",
            2304, 9216, 26, 8, 256000, kv_heads=4, head_width=256, bias=ATTENTION_BIAS, window=slide(4096, 2), tied=True),
    Decoder("gemma3_text", "Gemma 3: Gemma 2 with norms on the heads of Q and K; five layers of six within a window.",
            2304, 9216, 26, 8, 262208, kv_heads=4, head_width=256, bias=ATTENTION_BIAS, qk_norm="heads", norms=4, tied=True,
            window=slide(4096, ("sliding_window_pattern|_sliding_window_pattern", 6)), ignore=("use_bidirectional_attention",)),
    Decoder("phi3", "Phi-3: LLaMA with Q, K, V in one matrix, and gate and up in another; no biases.",
            3072, 8192, 32, 32, 32064, window=slide(),
            ignore=("num_lora_layers",)),
    Decoder("phi", "Phi-1.5 and Phi-2: one norm before attention and feed-forward network in parallel; biases.",
            2048, 8192, 24, 32, 51200, bias=True, gated=False, mlp_bias=True, norms=1, norm_bias=True, head_bias=True,
            extra=rows_if("qk_layernorm", False, lambda s: s.head_norms(bias=True))),
    Decoder("minicpm", "MiniCPM 1, 2 and 4: LLaMA with multipliers.",
            4096, 11008, 32, 32, 32000, ignore=("mup_denominator", "sparse_config")),
    Decoder("mimo", "MiMo 7B: Qwen2 with modules that predict further tokens.",
            4096, 11008, 36, 32, 151680, kv_heads=8, bias=("attention_bias", True), o_bias=False, window=qwen_window,
            mtp="num_nextn_predict_layers", ignore=("use_mrope",)),
    Decoder("baichuan", "Baichuan 1 and 2: LLaMA with Q, K, V in one matrix; a head that is never tied.",
            4096, 11008, 32, 32, 125696, only=(("tie_word_embeddings", False),)),
    Decoder("PanguEmbedded", "openPangu Embedded: LLaMA with one switch for the biases of attention.",
            4096, 12800, 34, 32, 153376, kv_heads=8, bias=("bias", True)),
    Decoder("internlm2", "InternLM2: LLaMA with Q, K, V in one matrix; one switch for the biases of attention.",
            4096, 11008, 32, 32, 103168, bias=("bias", True)),
    Decoder("olmo", "OLMo: norms without weights.",
            4096, 11008, 32, 32, 50304, bias=ATTENTION_BIAS, norms=0, final_norm=False),
    Decoder("olmo2", "OLMo 2: norms after each part, and over all of Q and of K.",
            4096, 11008, 32, 32, 50304, bias=ATTENTION_BIAS, qk_norm="flat"),
    Decoder("olmo3", "OLMo 3: OLMo 2 with three layers of four within a window.",
            4096, 11008, 32, 32, 50304, bias=ATTENTION_BIAS, qk_norm="flat", window=slide(4096, 4)),
    Decoder("cohere", "Command R: one norm before attention and a parallel feed-forward network; norms over Q and K by switch.",
            8192, 22528, 40, 64, 256000, bias=ATTENTION_BIAS, norms=1, tied=True,
            extra=rows_if("use_qk_norm", False, DecoderSizes.flat_norms)),
    Decoder("cohere2", "Command A: Command R with three layers of four within a window.",
            8192, 22528, 40, 64, 256000, bias=ATTENTION_BIAS, norms=1, tied=True,
            window=slide(4096, ("sliding_window_pattern", 4)), only=(("use_qk_norm", False),)),
    Decoder("starcoder2", "StarCoder2: LayerNorm, a feed-forward network without gate, biases on all matrices.",
            3072, 12288, 30, 24, 49152, kv_heads=2, bias=("use_bias", True), gated=False, mlp_bias=("use_bias", True),
            norm_bias=True, window=slide(), tied=True, ignore=("mlp_type", "norm_type")),
    Decoder("glm", "GLM-4 9B: biases on Q, K, V; gate and up in one matrix.",
            4096, 13696, 40, 32, 151552, kv_heads=2, head_width=128, bias=("attention_bias", True), o_bias=False),
    Decoder("glm4", "GLM-4 0414: GLM with norms after each part too.",
            4096, 13696, 40, 32, 151552, kv_heads=2, head_width=128, bias=("attention_bias", True), o_bias=False, norms=4),
    Decoder("ernie4_5", "ERNIE 4.5 0.3B: as LLaMA, one switch for all biases, tied.",
            1024, 3072, 18, 16, 103424, kv_heads=2, head_width=128, bias=("use_bias", False), mlp_bias=("use_bias", False),
            tied=True),
    Decoder("smollm3", "SmolLM3: as LLaMA, some layers without rotary positions, tied.",
            2048, 11008, 36, 16, 128256, kv_heads=4, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, window=qwen_window, tied=True,
            ignore=("no_rope_layers", "no_rope_layer_interval")),
    Decoder("exaone", "EXAONE 3.0, 3.5 and Deep: as LLaMA.",
            4096, 16384, 32, 32, 102400, kv_heads=32),
    Decoder("exaone4", "EXAONE 4.0: norms after each part, and on the heads of Q and K.",
            4096, 16384, 32, 32, 102400, kv_heads=32, qk_norm="heads", window=slide(4096, 4),
            ignore=("sliding_window_pattern",)),
    Decoder("hyperclovax", "HyperCLOVA X SEED: LLaMA with norms after each part too, by switch.",
            4096, 11008, 32, 32, 32000, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS,
            extra=rows_if("use_post_norm", True, lambda s: s.norms(2))),
    Decoder("iquestcoder", "IQuest-Coder: as LLaMA.",
            5120, 27648, 80, 40, 76800, kv_heads=8, head_width=128, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS),
    Decoder("granite_swa", "Granite with windows in three of four layers, and a learned attention sink per head.",
            2560, 8192, 24, 20, 100352, kv_heads=4, bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, window=slide(128, 4), tied=True,
            sinks=True),
    Decoder("seed_oss", "Seed-OSS: as LLaMA, with switches for the biases of Q, K, V and of O.",
            4096, 27648, 64, 80, 155136, kv_heads=8, head_width=128, bias=("attention_bias", True),
            o_bias=("attention_out_bias", False), mlp_bias=MLP_BIAS),
    Decoder("arcee", "Arcee AFM: LLaMA with a feed-forward network without gate (squared ReLU).",
            2560, 18432, 32, 32, 32000, bias=ATTENTION_BIAS, gated=False, mlp_bias=MLP_BIAS),
    Decoder("nemotron", "Nemotron-4 and Minitron: LayerNorm with bias, a feed-forward network without gate (squared ReLU).",
            6144, 24576, 32, 48, 256000, bias=ATTENTION_BIAS, gated=False, mlp_bias=MLP_BIAS, norm_bias=True,
            ignore=("norm_bias",)),
    Decoder("cwm", "Code World Model: LLaMA with three layers of four within a window, the first of them without.",
            6144, 21504, 64, 48, 128256, kv_heads=8, head_width=128, mlp_bias=MLP_BIAS, ignore=("attention_bias",),
            window=lambda config, layers: sliding(config, layers, 8192, 4, first=True)),
    Decoder("hunyuan_v1_dense", "Hunyuan dense: LLaMA with norms on the heads of Q and K.",
            4096, 11008, 32, 32, 290943, bias=ATTENTION_BIAS, qk_norm="heads",
            ignore=("attention_head_dim", "use_qk_norm", "mlp_bias", "norm_type")),
    Decoder("apertus", "Apertus: norms on the heads of Q and K; no gate, but xIELU, an activation with two learned numbers.",
            4096, 14336, 32, 32, 131072, bias=ATTENTION_BIAS, qk_norm="heads", gated=False, only=(("mlp_bias", False),),
            ignore=("qk_norm", "post_norm"), extra=lambda _: norm("xielu", 1, number=2)),
    Decoder("bitnet", "BitNet b1.58: LLaMA with norms inside attention and feed-forward network.",
            2560, 6912, 30, 20, 128256, kv_heads=5, bias=ATTENTION_BIAS, norms=3, extra=lambda s: norm("ffn_norm", s.inner)),
    Decoder("jais2", "Jais 2: LayerNorm, squared ReLU without gate, biases on all matrices.",
            3328, 26624, 32, 26, 150272, bias=("attention_bias", True), gated=False, mlp_bias=("mlp_bias", True),
            norm_bias=True),
    Decoder("nanochat", "nanochat: norms without weights, squared ReLU without gate.",
            768, 8192, 12, 6, 50304, bias=ATTENTION_BIAS, gated=False, norms=0, final_norm=False),
    Decoder("internlm3", "InternLM3: as LLaMA, one switch for all biases; `qkv_bias` and `bias` in its first files.",
            4096, 10240, 48, 32, 128512, kv_heads=2, head_width=128, bias=("attention_bias|qkv_bias", False),
            mlp_bias=("mlp_bias|bias", False), extra=_one_switch),
    Decoder("stablelm", "StableLM 2: LayerNorm with bias; norms of each head of Q and K, every head with a scale of its own.",
            2560, 6912, 32, 32, 50304, kv_heads=32, bias=("use_qkv_bias", False), o_bias=False, norms=1, norm_bias=True,
            extra=lambda s: [*s.norms(0 if s.config.flag("use_parallel_residual", False) else 1, bias=True),
                             *(s.flat_norms() if s.config.flag("qk_layernorm", False) else ())]),
    Decoder("gpt_neox", "GPT-NeoX and Pythia: rotary positions, LayerNorm, biases.",
            6144, 24576, 44, 64, 50432, bias=("attention_bias", True), gated=False, mlp_bias=True, norm_bias=True,
            ignore=("use_parallel_residual", "num_key_value_heads", "head_dim")),
    Decoder("helium", "Helium 1: as LLaMA; O without bias.",
            2560, 7040, 24, 20, 48000, kv_heads=20, head_width=128, bias=ATTENTION_BIAS, o_bias=False, mlp_bias=MLP_BIAS,
            extra=_undivided),
    Decoder("persimmon", "Persimmon: LayerNorm, squared ReLU, norms on the heads of Q and K, biases.",
            4096, 16384, 36, 64, 262144, bias=True, gated=False, mlp_bias=True, norm_bias=True,
            extra=rows_if("qk_layernorm", True, lambda s: s.head_norms(bias=True))),
)  # fmt: skip

#: Keys of the width, the depth and the heads, as most of these families name them.
NAMES = ("n_embd|hidden_size", "n_layer|num_hidden_layers", "n_head|num_attention_heads")


def _layer(s: DecoderSizes, inner: int, bias: bool = True, norms: int = 2) -> list[TableRow]:
    """Attention and a feed-forward network without gate, with biases, and LayerNorms."""
    return [*s.attention(bias), *s.plain(inner, bias), *s.norms(norms, bias=True)]


@family("gpt2", "gpt_bigcode", "openai-gpt")
def gpt(config: ModelConfig) -> Iterator[TableRow]:
    """Radford et al. 2018 (GPT: norms after each part, none at the end) and 2019 (GPT-2): learned positions, LayerNorm, biases.

    SantaCoder and StarCoder are GPT-2 with multi-query attention.
    """
    first = config.data["model_type"] == "openai-gpt"
    s = multi_head_sizes(config, 768, 12, 12, 40478 if first else 50257, NAMES)
    if config.data["model_type"] == "gpt_bigcode":
        config.ignore("num_key_value_heads")
        s = s._replace(kv_heads=1) if config.flag("multi_query", True) else s
    config.only("add_cross_attention", False)
    config.ignore("n_special")
    config.only("attention_head_type", "multihead" if s.kv_heads == s.heads else "multiquery")
    places = positions(config.integer("n_positions|max_position_embeddings", 512 if first else 1024), s.hidden)
    layer = _layer(s, config.integer("n_inner", 4 * s.hidden))
    yield from s.frame([places, *times(s.layers, layer)], tied=True, norm_bias=True, final_norm=not first)


@family("gptj", "codegen")
def gptj(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-J: rotary positions, one norm before attention and a parallel feed-forward network, a head with bias."""
    s = multi_head_sizes(config, 4096, 28, 16, 50400, NAMES)
    config.ignore("n_positions")
    config.only("rotary", True)
    rows = [*s.attention(), *s.plain(config.integer("n_inner", 4 * s.hidden)), *s.norms(1, bias=True)]
    yield from s.frame(times(s.layers, rows), norm_bias=True, head_bias=True)


@family("gpt_neo")
def gpt_neo(config: ModelConfig) -> Iterator[TableRow]:
    """GPT-Neo: learned positions, no biases on Q, K, V, every other layer within a window."""
    names = ("hidden_size", "num_layers|num_hidden_layers", "num_heads|num_attention_heads")
    s = multi_head_sizes(config, 2048, 24, 16, 50257, names)
    kinds = config.texts("attention_layers", s.layers)
    short = kinds.count("local") if kinds else s.layers // 2
    window = config.integer("window_size", 256)
    places = positions(config.integer("max_position_embeddings", 2048), s.hidden)
    inner = config.integer("intermediate_size", 4 * s.hidden)
    rows = times(s.layers, [*s.attention(o_bias=True), *s.plain(inner), *s.norms(2, bias=True)])
    yield from s.frame([places, *windowed(rows, short, window)], tied=True, norm_bias=True)


@family("opt")
def opt(config: ModelConfig) -> Iterator[TableRow]:
    """Zhang et al. 2022: learned positions with an offset of two; the 350M model with a narrower embedding."""
    s = multi_head_sizes(config, 768, 12, 12, 50272)
    narrow = config.integer("word_embed_proj_dim", s.hidden)
    bias, scaled = config.flag("enable_bias", True), config.flag("layer_norm_elementwise_affine", True)
    yield embedding(s.vocabulary, narrow)
    yield positions(config.integer("max_position_embeddings", 2048) + 2, s.hidden)
    yield from times(s.layers, _layer(s, config.size("ffn_dim", 3072), bias, 2 if scaled else 0))
    if narrow != s.hidden:
        yield from linear("embedding.in", s.hidden, narrow, kind="other")
        yield from linear("embedding.out", narrow, s.hidden, kind="other")
    last = config.flag("do_layer_norm_before", True) and scaled and not config.flag("_remove_final_layer_norm", False)
    yield from norm("final_norm", s.hidden, bias=True, number=int(last))
    yield from head(s.vocabulary, narrow, config.flag("tie_word_embeddings", True))


@family("xglm")
def xglm(config: ModelConfig) -> Iterator[TableRow]:
    """XGLM: sinusoidal positions, LayerNorm, biases."""
    names = ("d_model|hidden_size", "num_layers|num_hidden_layers", "attention_heads|num_attention_heads")
    s = multi_head_sizes(config, 1024, 24, 16, 256008, names)
    config.only("add_cross_attention", False)
    yield from s.frame(times(s.layers, _layer(s, config.size("ffn_dim", 4096))), tied=True, norm_bias=True)


@family("bloom")
def bloom(config: ModelConfig) -> Iterator[TableRow]:
    """Workshop et al. 2022: ALiBi, a norm right after the embedding, biases."""
    s = multi_head_sizes(config, 64, 2, 8, 250880, ("hidden_size|n_embed|n_embd", *NAMES[1:]))
    config.ignore("skip_bias_add", "skip_bias_add_qkv", "apply_residual_connection_post_layernorm", "n_inner")
    config.ignore("num_key_value_heads")
    rows = [*norm("embedding_norm", s.hidden, bias=True), *times(s.layers, _layer(s, 4 * s.hidden))]
    yield from s.frame(rows, tied=True, norm_bias=True)


@family("falcon")
def falcon(config: ModelConfig) -> Iterator[TableRow]:
    """Almazrouei et al. 2023, in its three shapes: RW (multi-head, ALiBi), 7B (multi-query), 40B and 180B (grouped)."""
    names = ("hidden_size|n_embed", "num_hidden_layers|n_layer", "num_attention_heads|n_head")
    s = multi_head_sizes(config, 4544, 32, 71, 65024, names)
    bias, parallel = config.flag("bias", False), config.flag("parallel_attn", True)
    grouped, mqa = config.flag("new_decoder_architecture", False), config.flag("multi_query", True)
    config.ignore("apply_residual_connection_post_layernorm", "n_inner", "num_key_value_heads")
    stated = kv_group_count(config, s.heads, None, "num_kv_heads|n_head_kv")
    s = s._replace(kv_heads=stated if grouped else 1 if mqa else s.heads)
    parallel_norms = config.integer("num_ln_in_parallel_attn", 2 if grouped else 1)
    norms = 2 if not parallel or parallel_norms == 2 else 1
    rows = times(s.layers, _layer(s, config.integer("ffn_hidden_size", 4 * s.hidden), bias, norms))
    yield from s.frame(rows, tied=True, norm_bias=True)


@family("chatglm")
def chatglm(config: ModelConfig) -> Iterator[TableRow]:
    """ChatGLM2, ChatGLM3 and the first files of GLM-4: few groups of keys, Q, K, V in one matrix, gate and up in another."""
    class_suffix(config, "ForConditionalGeneration", "Model")
    config.only("inner_hidden_size")
    config.only("pre_seq_len")
    config.only("tie_word_embeddings", False)
    config.ignore("prefix_projection", "apply_residual_connection_post_layernorm", "apply_query_key_layer_scaling")
    config.ignore("bias_dropout_fusion", "fp32_residual_connection", "original_rope", "interleaved_qkv", "quantization_bit")
    config.ignore("vocab_size")
    hidden, heads = config.stated(hidden_size=4096, num_attention_heads=32)
    deep = config.size("num_layers|num_hidden_layers", 28, high=MAX_LAYERS)
    width, words = config.integer("kv_channels", 128), config.size("padded_vocab_size", 65024)
    groups = heads
    if config.flag("multi_query_attention", False):
        groups = kv_group_count(config, heads, 1, "multi_query_group_num")
    else:
        config.ignore("multi_query_group_num")
    bias, shifted = config.flag("add_bias_linear", False), not config.flag("rmsnorm", True)
    q_bias = config.flag("add_qkv_bias", False) or bias
    layer = [
        *attention(hidden, heads, groups, width, bias=q_bias, o_bias=bias),
        *gated_mlp(hidden, config.size("ffn_hidden_size", 13696), bias),
        *norm("norm", hidden, shifted, 2),
    ]
    yield embedding(words, hidden)
    yield from times(deep, layer)
    yield from norm("final_norm", hidden, shifted, 1 if config.flag("post_layer_norm", True) else 0)
    yield from head(words, hidden, tied=False)


@family("mpt")
def mpt(config: ModelConfig) -> Iterator[TableRow]:
    """MosaicML 2023: ALiBi, norms and matrices without biases."""
    names = ("d_model|hidden_size", "n_layers|num_hidden_layers", "n_heads|num_attention_heads")
    s = multi_head_sizes(config, 2048, 24, 16, 50368, names)
    config.fixed(expansion_ratio=4, no_bias=True)
    inside = config.part("attn_config")
    if inside is not None:
        inside.ignore("alibi_bias_max", "alibi")
        inside.fixed(qk_ln=False, qk_gn=False, kv_n_heads=s.heads, attn_type="multihead_attention")
    config.ignore("learned_pos_emb", "embedding_fraction", "norm_type")
    config.part("ffn_config")
    rows = [*s.attention(), *s.plain(4 * s.hidden, bias=False), *s.norms(2)]
    yield from s.frame(times(s.layers, rows), tied=True)


#: Keys of the first files of Qwen, and those that replaced them.
_EARLY_QWEN = (
    ("n_embd", "hidden_size"), ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers"),
    ("ffn_hidden_size", "intermediate_size"), ("padded_vocab_size", "vocab_size"),
)  # fmt: skip


@family("qwen")
def qwen(config: ModelConfig) -> Iterator[TableRow]:
    """Bai et al. 2023 (the first Qwen): RMSNorm, biases on Q, K, V; `intermediate_size` counts gate and up together."""
    for early, name in _EARLY_QWEN:
        if early in config.data and name not in config.data:
            config.data = {**config.data, name: config.data[early]}
    config.ignore(*(early for early, name in _EARLY_QWEN if config.data.get(early) == config.data.get(name)))
    config.ignore("apply_residual_connection_post_layernorm", "bias_dropout_fusion", "n_positions", "pos_emb")
    s = multi_head_sizes(config, 4096, 32, 32, 151936)
    inner = config.size("intermediate_size", 22016) // 2
    config.fixed(no_bias=True, kv_channels=s.width)
    config.ignore("use_cache_kernel", "onnx_safe", "bf16", "fp16", "fp32")
    yield from s.frame(times(s.layers, [*s.attention(True, False), *s.gated(inner), *s.norms(2)]))


@family("transformer")
def transformer(config: ModelConfig) -> Iterator[TableRow]:
    """Transformer++ of flash-linear-attention: LLaMA with keys of its own; two thirds of a wide network in steps of 256."""
    hidden, heads = config.stated(hidden_size=2048, num_heads=32)
    config.ignore("fuse_swiglu", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp")
    config.only("attention_bias", False)
    inner = config.optional_integer("intermediate_size")
    inner = inner or up_to(256, int(hidden * config.integer("hidden_ratio", 4) * 2 / 3))
    deep = config.size("num_hidden_layers", 24, high=MAX_LAYERS)
    groups = kv_group_count(config, heads, None, "num_kv_heads")
    width = even_width(config, hidden, heads)
    s = DecoderSizes(config, hidden, inner, deep, heads, groups, width, config.size("vocab_size", 32000))
    config.only("window_size", None)
    layer = [*s.attention(config.flag("qkv_bias", False), False), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, [*layer, *(s.head_norms() if config.flag("qk_norm", False) else ())]))
