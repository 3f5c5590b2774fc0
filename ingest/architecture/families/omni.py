"""Models that read text, images and sound, and speak: a thinker with two encoders, a talker, and a maker of sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.architecture.families import vision_encoders
from ingest.architecture.families.audio_encoders import whisper_encoder
from ingest.architecture.families.decoders import ATTENTION_BIAS, Decoder, Experts, register
from ingest.architecture.families.moe import CHOSEN, LOCAL, QWEN_WINDOW, WIDTH, qwen_dense
from ingest.architecture.families.vision_language import joined, text_width
from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    encoder_attention,
    gated_mlp,
    head_width,
    linear,
    norm,
    plain_mlp,
    sizes,
)
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import TableRow, Weight, relabelled, times, without

# fmt: off
register(
    __name__,
    Decoder("qwen2_5_omni_text", "The text part of Qwen2.5-Omni: Qwen2 with other defaults.",
            3584, 18944, 28, 28, 152064, kv_heads=4, bias=True, o_bias=False, ignore=QWEN_WINDOW),
    Decoder("qwen3_omni_moe_text", "The text part of Qwen3-Omni: Qwen3 MoE with other defaults.",
            2048, 18944, 28, 28, 3584, kv_heads=4, bias=ATTENTION_BIAS, qk_norm="heads",
            ignore=("use_qk_norm", "shared_expert_intermediate_size", *QWEN_WINDOW),
            experts=Experts((LOCAL, 128), (CHOSEN, 8), (WIDTH, 768), dense=qwen_dense)),
)
# fmt: on

#: Keys that place sound and images in time, and words for the talker.
_MARKS = ("seconds_per_chunk", "position_id_per_seconds", "spatial_merge_size", "accept_hidden_layer", "speaker_id")


@family("qwen2_audio")
def qwen2_audio(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2-Audio: the encoder of Whisper and one product into Qwen2."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        audio = wrapper.table_or_defaults("audio_config")
        audio.ignore("model_type")
        _, tower = whisper_encoder(audio)
        yield from tower
        yield from linear("projector", text_width(wrapper), audio.integer("d_model|hidden_size", 1280), True)

    config.ignore("vocab_size")
    text, _ = config.get("text_config")
    defaults = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 22016}
    config.data = {**config.data, text: {**defaults, **(config.data.get(text) or {})}}
    yield from joined(config, "qwen2", False, rows)


def _heard(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni's encoder of sound: Whisper's with computed places, two words, and one product into the text."""
    config.ignore("model_type", "n_window", "max_source_positions", "num_hidden_layers")
    _, tower = whisper_encoder(config)
    out = config.integer("output_dim", 3584)
    yield from without(tower, "position_embedding")
    yield Weight("words", (2, out), "audio")
    yield from linear("projector", out, config.integer("d_model|hidden_size", 1280), True)


def _heard_in_planes(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Omni's encoder of sound: three convolutions over time and frequency, Whisper's layers, two products."""
    hidden, inner = config.integer("d_model|hidden_size", 1280), config.integer("encoder_ffn_dim", 5120)
    layers, heads = config.integer("encoder_layers", 32, high=MAX_LAYERS), config.integer("encoder_attention_heads", 20)
    planes, bands = config.integer("downsample_hidden_size", 480), config.integer("num_mel_bins", 128)
    config.ignore("model_type", "n_window", "n_window_infer", "conv_chunksize", "max_source_positions", "num_hidden_layers")
    yield from biased("conv1", (planes, 1, 3, 3), "audio", 1)
    for _ in range(3):
        bands = (bands + 1) // 2
    yield from times(2, biased("conv2", (planes, planes, 3, 3), "audio", 1))
    yield from linear("conv.out", hidden, planes * bands)
    mixer = encoder_attention(hidden, heads, head_width(config, hidden, heads, name="-"))
    yield from times(layers, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)])
    yield from norm("final_norm", hidden, True)
    yield from linear("projector.1", hidden, hidden, True)
    yield from linear("projector.2", config.integer("output_dim", 3584), hidden, True)


def _thinker(config: ModelConfig, generation: str) -> Iterator[TableRow]:
    """The text model with its encoders of images and of sound."""

    def rows(wrapper: ModelConfig) -> Iterator[TableRow]:
        vision, audio = wrapper.table_or_defaults("vision_config"), wrapper.table_or_defaults("audio_config")
        vision.ignore("model_type", "image_size", "in_chans", "apply_vit_abs_pos_embed", "spatial_patch_size")
        if generation == "qwen2_5_omni":
            vision.ignore("embed_dim")
            yield from vision_encoders.qwen2_5_vl(vision)
            yield from _heard(audio)
        else:
            yield from vision_encoders.qwen3_vl(vision)
            yield from _heard_in_planes(audio)

    config.ignore(*_MARKS)
    yield from joined(config, f"{generation}_text", False, rows)


@family("qwen2_5_omni", "qwen2_5_omni_thinker", "qwen3_omni_moe", "qwen3_omni_moe_thinker")
def omni(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni and Qwen3-Omni, or their thinkers alone; talker and sound only where `enable_audio_output` asks for them."""
    kind = str(config.data["model_type"])
    generation = kind.removesuffix("_thinker")
    if kind != generation:
        yield from _thinker(config, generation)
        return
    class_suffix(config, "ForConditionalGeneration", "Model")
    thinker = config.table_or_defaults("thinker_config")
    thinker.data = {**thinker.data, "model_type": f"{generation}_thinker", "architectures": None}
    yield from _thinker(thinker, generation)
    config.ignore("enable_audio_output_", "enable_talker", "talker_config", "token2wav_config", "code2wav_config")
    if config.flag("enable_audio_output", True):
        old = generation == "qwen2_5_omni"
        talker = config.table_or_defaults("talker_config")
        talker.ignore(
            "architectures", "model_type", *_MARKS, *(key for key in talker.data if key.startswith(("codec_", "tts_")))
        )
        sound = config.table_or_defaults("token2wav_config" if old else "code2wav_config")
        sound.ignore("model_type")
        rows = [*_talker(talker), *_token2wav(sound)] if old else [*_talker_of_experts(talker), *_code2wav(sound)]
        yield from relabelled(rows, "talker", "audio", computed=False)


def _talker(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni's talker: a small Qwen2 over the states of the thinker, with words of its own for sound."""
    s = sizes(config, 3584, 18944, 28, 28, 8448, kv_heads=4, width=128)
    into = config.integer("embedding_size", 3584)
    config.ignore(*QWEN_WINDOW, "layer_types")
    yield from linear("thinker_states", s.hidden, into, True)
    yield Weight("codes", (s.vocabulary, into), "audio")
    yield from times(s.layers, [*s.attention(True, False), *s.gated(), *s.norms(2)])
    yield from norm("final_norm", s.hidden)
    yield from linear("head", s.vocabulary, s.hidden)


def _talker_of_experts(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Omni's talker: a small Qwen3 MoE with a shared expert, and a predictor of the further codes of a frame."""
    text, further = config.table_or_defaults("text_config"), config.table_or_defaults("code_predictor_config")
    for part in (text, further):
        part.ignore("model_type", *QWEN_WINDOW, "layer_types")
    s = sizes(text, 1024, 2048, 20, 16, 3072, kv_heads=2)
    wide, thinker = s.inner, config.integer("thinker_hidden_size", 2048)
    text.only("decoder_sparse_step", 1)
    text.only("mlp_only_layers", [])
    bias = text.flag("attention_bias", False)
    shared = text.integer("shared_expert_intermediate_size")
    number, chosen = text.integer(LOCAL, 128), text.integer(CHOSEN, 8)
    experts = s.experts(number, chosen, text.integer(WIDTH, 384), shared=shared)
    gate = linear("shared_expert.gate_of_all", 1, s.hidden)
    yield from times(s.layers, [*s.attention(bias), *s.head_norms(), *s.norms(2), *experts, *gate])
    yield from norm("final_norm", s.hidden)
    yield Weight("codes", (s.vocabulary, s.hidden), "audio")
    yield from linear("head", s.vocabulary, s.hidden)
    for name in ("text", "states"):
        yield from linear(f"{name}.1", wide, thinker, True)
        yield from linear(f"{name}.2", s.hidden, wide, True)
    p = sizes(further, 1024, 3072, 5, 16, 2048, kv_heads=8, width=128)
    layer = [*p.attention(further.flag("attention_bias", False)), *p.head_norms(), *p.gated(), *p.norms(2)]
    groups = further.integer("num_code_groups", 32)
    config.only("num_code_groups", groups)
    yield from times(p.layers, layer)
    yield from norm("predictor.norm", p.hidden)
    yield Weight("predictor.codes", (p.vocabulary, p.hidden), "audio", groups - 1, groups - 1)
    yield from times(groups - 1, linear("predictor.head", p.vocabulary, p.hidden))


def _snake(width: int, number: int = 1) -> Iterator[TableRow]:
    """An activation with two learned numbers per channel."""
    yield Weight("snake", (width,), "audio", 2 * number, 2 * number)


def _code2wav(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Omni's sound: a transformer over sums of codes, upsampling, and convolutions that widen time."""
    w, layers = config.integer("hidden_size", 1024), config.integer("num_hidden_layers", 8, high=MAX_LAYERS)
    heads, inner = config.integer("num_attention_heads", 16), config.integer("intermediate_size", 3072)
    mixer = attention(
        w, heads, config.integer("num_key_value_heads", 16), head_width(config, w, heads),
        bias=config.flag("attention_bias", False), causal=False,
    )  # fmt: skip
    config.ignore("layer_scale_initial_scale", "codebook_dim", "semantic_codebook_size", "num_semantic_quantizers")
    config.ignore("vector_quantization_hidden_dimension", "sliding_window")
    yield Weight("codes", (config.integer("codebook_size", 2048) * config.integer("num_quantizers", 16), w), "audio")
    yield from times(layers, [*mixer, *gated_mlp(w, inner), *norm("norm and scale", w, number=4)])
    yield from norm("final_norm", w)
    for ratio in config.integers("upsampling_ratios", low=1) or [2, 2]:
        yield from biased("widen", (w, w, ratio), "audio")
        yield from [*biased("depth", (w, 1, 7), "audio"), *norm("depth.norm", w, True), *norm("depth.scale", w)]
        yield from plain_mlp(w, 4 * w, prefix="widen.mlp")
    channels = config.integer("decoder_dim", 1536)
    yield from biased("sound.in", (channels, w, 7), "audio")
    for rate in config.integers("upsample_rates", low=1) or [8, 5, 4, 3]:
        yield from _snake(channels)
        yield from _upward(channels, 2 * rate)
        channels //= 2
        parts = [*_snake(channels, 2), *biased("sound.7", (channels, channels, 7), "audio")]
        yield from times(3, [*parts, *biased("sound.1", (channels, channels, 1), "audio")])
    yield from [*_snake(channels), *biased("sound.out", (1, channels, 7), "audio")]


def _upward(channels: int, taps: int) -> Iterator[TableRow]:
    """A transposed convolution to half as many channels."""
    yield Weight("sound.up", (channels, channels // 2, taps), "audio")
    yield Weight("sound.up.bias", (channels // 2,), "audio")


def _token2wav(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni's sound: a diffusion transformer makes a spectrum of the codes, BigVGAN a wave of it."""
    dit, vocoder = config.table_or_defaults("dit_config"), config.table_or_defaults("bigvgan_config")
    for part in (dit, vocoder):
        part.ignore("model_type", "architectures", "tie_word_embeddings")
    yield from _spectrum(dit)
    yield from _wave(vocoder)


def _spectrum(config: ModelConfig) -> Iterator[TableRow]:
    """The diffusion transformer, and the encoder of the speaker (ECAPA-TDNN)."""
    hidden, layers = config.integer("hidden_size|dim", 1024), config.integer("num_hidden_layers|depth", 22, high=MAX_LAYERS)
    wide = config.integer("num_attention_heads|heads", 16) * config.integer("head_dim", 64)
    inner, bands = hidden * config.integer("ff_mult", 2), config.integer("mel_dim", 80)
    codes, voice, place = config.integer("emb_dim", 512), config.integer("enc_dim", 128), config.integer("enc_emb_dim", 192)
    config.ignore("block_size", "look_ahead_layers", "look_backward_layers", "repeats", "enc_dilations", "enc_lin_neurons")
    config.ignore("enc_global_context")
    yield from [*linear("time.1", hidden, 256, True), *linear("time.2", hidden, hidden, True)]
    yield Weight("codes", (config.integer("num_embeds", 8193) + 1, codes), "audio")
    yield from linear("in", hidden, bands + voice + place + codes, True)
    yield from _speaker(config, bands, voice)
    products: Iterable[tuple[int, int]] = [(6 * hidden, hidden), *[(wide, hidden)] * 3, (hidden, wide)]
    layer = [row for out, into in (*products, (inner, hidden), (hidden, inner)) for row in linear("layer", out, into, True)]
    yield from times(layers, layer)
    yield from [*linear("out.norm", 2 * hidden, hidden, True), *linear("out", bands, hidden, True)]


def _speaker(config: ModelConfig, bands: int, out: int) -> Iterator[TableRow]:
    """Convolutions over time, in groups that follow each other, with a gate per channel; pooled by attention."""
    widths = config.integers("enc_channels", low=1) or [256, 256, 256, 256, 768]
    taps = config.integers("enc_kernel_sizes", len(widths), low=1) or [5, 3, 3, 3, 1]
    scale, gate = config.integer("enc_res2net_scale", 2), config.integer("enc_se_channels", 64)
    last, pool = widths[-1], config.integer("enc_attention_channels", 64)
    shapes = [(widths[0], bands, taps[0])]
    for before, wide, reach in zip(widths, widths[1:-1], taps[1:], strict=False):
        shapes += [(wide, before, 1), *[(wide // scale, wide // scale, reach)] * (scale - 1), (wide, wide, 1)]
        shapes += [(gate, wide, 1), (wide, gate, 1)]
    shapes += [(last, last, taps[-1]), (pool, 3 * last, 1), (last, pool, 1), (out, 2 * last, 1)]
    for shape in shapes:
        yield from biased("speaker", shape, "audio")


def _wave(config: ModelConfig) -> Iterator[TableRow]:
    """BigVGAN: each stage doubles time and halves the channels, with convolutions of several reaches."""
    channels, taps = (
        config.integer("upsample_initial_channel", 1536),
        config.integers("resblock_kernel_sizes", low=1) or [3, 7, 11],
    )
    ups = config.integers("upsample_kernel_sizes", low=1) or [11, 7, 4, 4, 4, 4]
    _, listed = config.get("resblock_dilation_sizes")
    depths = [len(one) if isinstance(one, list) else 3 for one in listed] if isinstance(listed, list) else [3] * len(taps)
    # The class leaves the last bias out, whatever the file says.
    config.ignore("upsample_rates", "use_bias_at_final")
    yield from biased("wave.in", (channels, config.integer("mel_dim", 80), 7), "audio")
    for up in ups:
        yield from _upward(channels, up)
        channels //= 2
        for reach, depth in zip(taps, depths, strict=False):
            yield from times(2 * depth, [*biased("wave", (channels, channels, reach), "audio"), *_snake(channels)])
    yield from [*_snake(channels), Weight("wave.out", (1, channels, 7), "audio")]
