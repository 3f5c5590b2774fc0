"""Dense decoders with rotary positions: LLaMA and those that follow it."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.hf_config import Config
from ingest.architecture.layers import norm, sizes, sliding, windowed
from ingest.architecture.registry import family
from ingest.architecture.weight_table import Row, times


@family("llama")
def llama(config: Config) -> Iterator[Row]:
    """Touvron et al. 2023: RMSNorm before each part, rotary positions, SwiGLU; grouped-query attention since Llama 2."""
    s = sizes(config, 4096, 11008, 32, 32, 32000)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.gated(bias=mlp_bias), *s.norms(2)]))


@family("internlm3")
def internlm3(config: Config) -> Iterator[Row]:
    """InternLM3: as LLaMA, one switch for all biases; `qkv_bias` and `bias` in its first files."""
    s = sizes(config, 4096, 10240, 48, 32, 128512, kv_heads=2)
    bias, mlp_bias = config.flag("attention_bias|qkv_bias", False), config.flag("mlp_bias|bias", False)
    if bias != mlp_bias:
        raise config.refuse("mlp_bias", mlp_bias, "the same as attention_bias")
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.gated(bias=mlp_bias), *s.norms(2)]))


@family("mistral")
def mistral(config: Config) -> Iterator[Row]:
    """Jiang et al. 2023: grouped-query attention within a sliding window, no biases."""
    s = sizes(config, 4096, 14336, 32, 32, 32000, kv_heads=8)
    short, window = sliding(config, s.layers, 4096, every=1)
    yield from s.frame(windowed(times(s.layers, [*s.attention(), *s.gated(), *s.norms(2)]), short, window))


@family("ministral")
def ministral(config: Config) -> Iterator[Row]:
    """Ministral 8B: as Mistral, some layers with a sliding window."""
    s = sizes(config, 4096, 14336, 32, 32, 32000, kv_heads=8)
    short, window = sliding(config, s.layers, 4096, every=1)
    yield from s.frame(windowed(times(s.layers, [*s.attention(), *s.gated(), *s.norms(2)]), short, window))


@family("ministral3_text")
def ministral3(config: Config) -> Iterator[Row]:
    """Ministral 3: as Mistral, heads of a width of their own."""
    s = sizes(config, 4096, 14336, 34, 32, 131072, kv_heads=8, width=128)
    short, window = sliding(config, s.layers, every=1)
    yield from s.frame(windowed(times(s.layers, [*s.attention(), *s.gated(), *s.norms(2)]), short, window))


@family("qwen2")
def qwen2(config: Config) -> Iterator[Row]:
    """Qwen2 and Qwen2.5: biases on Q, K and V alone."""
    s = sizes(config, 4096, 22016, 32, 32, 151936, kv_heads=32)
    short, window = _qwen_window(config, s.layers)
    rows = times(s.layers, [*s.attention(bias=True, o_bias=False), *s.gated(), *s.norms(2)])
    yield from s.frame(windowed(rows, short, window))


@family("qwen3")
def qwen3(config: Config) -> Iterator[Row]:
    """Qwen3: a norm on each head of Q and K instead of the biases."""
    s = sizes(config, 4096, 22016, 32, 32, 151936, kv_heads=32, width=128)
    short, window = _qwen_window(config, s.layers)
    bias = config.flag("attention_bias", False)
    rows = times(s.layers, [*s.attention(bias), *s.head_norms(), *s.gated(), *s.norms(2)])
    yield from s.frame(windowed(rows, short, window))


def _qwen_window(config: Config, layers: int) -> tuple[int, int]:
    """The window holds only where it is switched on, and from `max_window_layers` on."""
    on = config.flag("use_sliding_window", False)
    first = config.whole("max_window_layers", 28, low=0)
    short, window = sliding(config, layers, 4096, every=1)
    if not on:
        return 0, 0
    return (short if "layer_types" in config.data else max(layers - first, 0)), window


@family("gemma")
def gemma(config: Config) -> Iterator[Row]:
    """Gemma: heads wider than their share of the hidden size, embedding tied to the head."""
    s = sizes(config, 3072, 24576, 28, 16, 256000, kv_heads=16, width=256)
    bias = config.flag("attention_bias", False)
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.gated(), *s.norms(2)]), tied=True)


@family("gemma2")
def gemma2(config: Config) -> Iterator[Row]:
    """Gemma 2: norms before and after each part; every other layer within a window."""
    s = sizes(config, 2304, 9216, 26, 8, 256000, kv_heads=4, width=256)
    short, window = sliding(config, s.layers, 4096, every=2)
    bias = config.flag("attention_bias", False)
    rows = times(s.layers, [*s.attention(bias), *s.gated(), *s.norms(4)])
    yield from s.frame(windowed(rows, short, window), tied=True)


@family("vaultgemma")
def vaultgemma(config: Config) -> Iterator[Row]:
    """VaultGemma: Gemma 2 without the norms after each part."""
    s = sizes(config, 2304, 9216, 26, 8, 256000, kv_heads=4, width=256)
    short, window = sliding(config, s.layers, 4096, every=2)
    bias = config.flag("attention_bias", False)
    rows = times(s.layers, [*s.attention(bias), *s.gated(), *s.norms(2)])
    yield from s.frame(windowed(rows, short, window), tied=True)


@family("gemma3_text")
def gemma3(config: Config) -> Iterator[Row]:
    """Gemma 3: Gemma 2 with norms on the heads of Q and K; five layers of six within a window."""
    s = sizes(config, 2304, 9216, 26, 8, 262208, kv_heads=4, width=256)
    every = config.whole("sliding_window_pattern|_sliding_window_pattern", 6)
    short, window = sliding(config, s.layers, 4096, every=every)
    bias = config.flag("attention_bias", False)
    rows = times(s.layers, [*s.attention(bias), *s.head_norms(), *s.gated(), *s.norms(4)])
    yield from s.frame(windowed(rows, short, window), tied=True)


@family("phi3")
def phi3(config: Config) -> Iterator[Row]:
    """Phi-3: LLaMA with Q, K, V in one matrix, and gate and up in another; no biases."""
    s = sizes(config, 3072, 8192, 32, 32, 32064)
    config.ignore("attention_bias", "mlp_bias", "num_lora_layers", "lm_head_bias")
    short, window = sliding(config, s.layers, every=1)
    yield from s.frame(windowed(times(s.layers, [*s.attention(), *s.gated(), *s.norms(2)]), short, window))


@family("phi")
def phi(config: Config) -> Iterator[Row]:
    """Phi-1.5 and Phi-2: one norm for attention and feed-forward side by side, biases everywhere, the head's too."""
    s = sizes(config, 2048, 8192, 24, 32, 51200)
    width = s.width if config.flag("qk_layernorm", False) else 0
    layer = [*s.attention(bias=True), *s.plain(), *s.norms(1, bias=True), *norm("qk_norm", width, True, 2 if width else 0)]
    yield from s.frame(times(s.layers, layer), norm_bias=True, head_bias=True)


@family("olmo")
def olmo(config: Config) -> Iterator[Row]:
    """OLMo: norms without weights."""
    s = sizes(config, 4096, 11008, 32, 32, 50304)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.gated()]
    yield from s.frame(times(s.layers, layer), final_norm=False)


@family("olmo2")
def olmo2(config: Config) -> Iterator[Row]:
    """OLMo 2: norms after each part, and over all of Q and of K."""
    s = sizes(config, 4096, 11008, 32, 32, 50304)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms(), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, layer))


@family("olmo3")
def olmo3(config: Config) -> Iterator[Row]:
    """OLMo 3: OLMo 2 with three layers of four within a window."""
    s = sizes(config, 4096, 11008, 32, 32, 50304)
    short, window = sliding(config, s.layers, 4096, every=4)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.flat_norms(), *s.gated(), *s.norms(2)]
    yield from s.frame(windowed(times(s.layers, layer), short, window))


@family("cohere")
def cohere(config: Config) -> Iterator[Row]:
    """Command R: one norm for attention and feed-forward side by side; norms of Q and K, one scale per head and place."""
    s = sizes(config, 8192, 22528, 40, 64, 256000, kv_heads=None)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.gated(), *s.norms(1)]
    if config.flag("use_qk_norm", False):
        layer += [*s.flat_norms()]
    yield from s.frame(times(s.layers, layer), tied=True)


@family("cohere2")
def cohere2(config: Config) -> Iterator[Row]:
    """Command A: Command R with three layers of four within a window."""
    s = sizes(config, 8192, 22528, 40, 64, 256000)
    every = config.whole("sliding_window_pattern", 4)
    short, window = sliding(config, s.layers, 4096, every=every)
    config.only("use_qk_norm", False)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.gated(), *s.norms(1)]
    yield from s.frame(windowed(times(s.layers, layer), short, window), tied=True)


@family("granite")
def granite(config: Config) -> Iterator[Row]:
    """Granite 3: LLaMA with multipliers."""
    s = sizes(config, 4096, 11008, 32, 32, 32000)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.gated(bias=mlp_bias), *s.norms(2)]))


@family("starcoder2")
def starcoder2(config: Config) -> Iterator[Row]:
    """StarCoder2: LayerNorm, a plain feed-forward network, biases everywhere."""
    s = sizes(config, 3072, 12288, 30, 24, 49152, kv_heads=2)
    config.ignore("mlp_type", "norm_type")
    bias = config.flag("use_bias", True)
    short, window = sliding(config, s.layers, every=1)
    layer = [*s.attention(bias), *s.plain(bias=bias), *s.norms(2, bias=True)]
    yield from s.frame(windowed(times(s.layers, layer), short, window), tied=True, norm_bias=True)


@family("stablelm")
def stablelm(config: Config) -> Iterator[Row]:
    """StableLM 2: LayerNorm with bias; norms of each head of Q and K, every head with a scale of its own."""
    s = sizes(config, 2560, 6912, 32, 32, 50304, kv_heads=32)
    parallel = config.flag("use_parallel_residual", False)
    layer = [*s.attention(config.flag("use_qkv_bias", False), o_bias=False), *s.gated()]
    layer += s.norms(1 if parallel else 2, bias=True)
    if config.flag("qk_layernorm", False):
        layer += s.flat_norms()
    yield from s.frame(times(s.layers, layer), norm_bias=True)


@family("glm")
def glm(config: Config) -> Iterator[Row]:
    """GLM-4 9B: biases on Q, K, V; gate and up in one matrix."""
    s = sizes(config, 4096, 13696, 40, 32, 151552, kv_heads=2, width=128)
    layer = [*s.attention(config.flag("attention_bias", True), o_bias=False), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, layer))


@family("glm4")
def glm4(config: Config) -> Iterator[Row]:
    """GLM-4 0414: GLM with norms after each part too."""
    s = sizes(config, 4096, 13696, 40, 32, 151552, kv_heads=2, width=128)
    layer = [*s.attention(config.flag("attention_bias", True), o_bias=False), *s.gated(), *s.norms(4)]
    yield from s.frame(times(s.layers, layer))


@family("helium")
def helium(config: Config) -> Iterator[Row]:
    """Helium 1: as LLaMA; O without bias."""
    s = sizes(config, 2560, 7040, 24, 20, 48000, kv_heads=20, width=128)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    if s.heads * s.width != s.hidden:
        raise config.refuse("head_dim", s.width, f"hidden_size {s.hidden:,} shared among {s.heads:,} heads")
    yield from s.frame(times(s.layers, [*s.attention(bias, o_bias=False), *s.gated(bias=mlp_bias), *s.norms(2)]))


@family("ernie4_5")
def ernie4_5(config: Config) -> Iterator[Row]:
    """ERNIE 4.5 0.3B: as LLaMA, one switch for all biases, tied."""
    s = sizes(config, 1024, 3072, 18, 16, 103424, kv_heads=2, width=128)
    bias = config.flag("use_bias", False)
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.gated(bias=bias), *s.norms(2)]), tied=True)


@family("smollm3")
def smollm3(config: Config) -> Iterator[Row]:
    """SmolLM3: as LLaMA, some layers without rotary positions, tied."""
    s = sizes(config, 2048, 11008, 36, 16, 128256, kv_heads=4)
    config.ignore("no_rope_layers", "no_rope_layer_interval")
    short, window = _qwen_window(config, s.layers)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    rows = times(s.layers, [*s.attention(bias), *s.gated(bias=mlp_bias), *s.norms(2)])
    yield from s.frame(windowed(rows, short, window), tied=True)


@family("exaone4")
def exaone4(config: Config) -> Iterator[Row]:
    """EXAONE 4.0: norms after each part, and on the heads of Q and K."""
    s = sizes(config, 4096, 16384, 32, 32, 102400, kv_heads=32)
    config.ignore("sliding_window_pattern")
    short, window = sliding(config, s.layers, 4096, every=4)
    rows = times(s.layers, [*s.attention(), *s.head_norms(), *s.gated(), *s.norms(2)])
    yield from s.frame(windowed(rows, short, window))


@family("seed_oss")
def seed_oss(config: Config) -> Iterator[Row]:
    """Seed-OSS: as LLaMA, with switches for the biases of Q, K, V and of O."""
    s = sizes(config, 4096, 27648, 64, 80, 155136, kv_heads=8, width=128)
    bias, out = config.flag("attention_bias", True), config.flag("attention_out_bias", False)
    layer = [*s.attention(bias, o_bias=out), *s.gated(bias=config.flag("mlp_bias", False)), *s.norms(2)]
    yield from s.frame(times(s.layers, layer))


@family("arcee")
def arcee(config: Config) -> Iterator[Row]:
    """Arcee AFM: LLaMA with a plain feed-forward network (squared ReLU)."""
    s = sizes(config, 2560, 18432, 32, 32, 32000)
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    yield from s.frame(times(s.layers, [*s.attention(bias), *s.plain(bias=mlp_bias), *s.norms(2)]))


@family("nemotron")
def nemotron(config: Config) -> Iterator[Row]:
    """Nemotron-4 and Minitron: LayerNorm with bias, a plain feed-forward network (squared ReLU)."""
    s = sizes(config, 6144, 24576, 32, 48, 256000)
    config.ignore("norm_bias")
    bias, mlp_bias = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    layer = [*s.attention(bias), *s.plain(bias=mlp_bias), *s.norms(2, bias=True)]
    yield from s.frame(times(s.layers, layer), norm_bias=True)


@family("cwm")
def cwm(config: Config) -> Iterator[Row]:
    """Code World Model: LLaMA with three layers of four within a window."""
    s = sizes(config, 6144, 21504, 64, 48, 128256, kv_heads=8, width=128)
    config.ignore("attention_bias")
    short, window = sliding(config, s.layers, 8192, every=4)
    layer = [*s.attention(), *s.gated(bias=config.flag("mlp_bias", False)), *s.norms(2)]
    yield from s.frame(windowed(times(s.layers, layer), short, window))


@family("hunyuan_v1_dense")
def hunyuan_dense(config: Config) -> Iterator[Row]:
    """Hunyuan dense: LLaMA with norms on the heads of Q and K."""
    s = sizes(config, 4096, 11008, 32, 32, 290943)
    config.ignore("attention_head_dim", "use_qk_norm", "use_cla", "cla_share_factor", "mlp_bias", "norm_type")
    layer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.gated(), *s.norms(2)]
    yield from s.frame(times(s.layers, layer))


@family("apertus")
def apertus(config: Config) -> Iterator[Row]:
    """Apertus: norms on the heads of Q and K; xIELU, an activation with two learned numbers, without gate."""
    s = sizes(config, 4096, 14336, 32, 32, 131072)
    config.only("mlp_bias", False)
    config.ignore("qk_norm", "post_norm")
    layer = [*s.attention(config.flag("attention_bias", False)), *s.head_norms(), *s.plain(bias=False), *s.norms(2)]
    yield from s.frame(times(s.layers, [*layer, *norm("xielu", 1, number=2)]))


@family("bitnet")
def bitnet(config: Config) -> Iterator[Row]:
    """BitNet b1.58: LLaMA with norms inside attention and feed-forward network."""
    s = sizes(config, 2560, 6912, 30, 20, 128256, kv_heads=5)
    layer = [*s.attention(config.flag("attention_bias", False)), *s.gated(), *s.norms(3), *norm("ffn_norm", s.inner)]
    yield from s.frame(times(s.layers, layer))


@family("jais2")
def jais2(config: Config) -> Iterator[Row]:
    """Jais 2: LayerNorm, squared ReLU without gate, biases everywhere."""
    s = sizes(config, 3328, 26624, 32, 26, 150272)
    bias, mlp_bias = config.flag("attention_bias", True), config.flag("mlp_bias", True)
    layer = [*s.attention(bias), *s.plain(bias=mlp_bias), *s.norms(2, bias=True)]
    yield from s.frame(times(s.layers, layer), norm_bias=True)


@family("nanochat")
def nanochat(config: Config) -> Iterator[Row]:
    """nanochat: norms without weights, squared ReLU without gate."""
    s = sizes(config, 768, 8192, 12, 6, 50304)
    layer = [*s.attention(config.flag("attention_bias", False), o_bias=None), *s.plain(bias=False)]
    yield from s.frame(times(s.layers, layer), final_norm=False)


@family("persimmon")
def persimmon(config: Config) -> Iterator[Row]:
    """Persimmon: LayerNorm, squared ReLU, norms on the heads of Q and K, biases."""
    s = sizes(config, 4096, 16384, 36, 64, 262144)
    layer = [*s.attention(bias=True), *s.plain(), *s.norms(2, bias=True)]
    if config.flag("qk_layernorm", True):
        layer += s.head_norms(bias=True)
    yield from s.frame(times(s.layers, layer), norm_bias=True)
