"""Models that hear and speak: encoders of sound, by themselves and before a text model, talkers, makers of sound."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ingest.architecture.families.moe import CHOSEN, LOCAL, QWEN_WINDOW, WIDTH
from ingest.architecture.families.vision_encoders import SO400M, qwen2_5_vl_tower, qwen3_vl_tower, siglip_tower
from ingest.architecture.families.vision_language import TOWERS, text_part
from ingest.architecture.hf_config import MAX_BLOCKS, MAX_LAYERS, ModelConfig
from ingest.architecture.layers import (
    attention,
    biased,
    encoder_attention,
    encoder_layer,
    gated_mlp,
    head_width,
    linear,
    norm,
    plain_mlp,
    positions,
    products,
    sizes,
    tower_sizes,
)
from ingest.architecture.registry import class_suffix, families, family
from ingest.architecture.weight_table import TableRow, Weight, aside, relabelled, times, without

#: Keys that place sound and images in time, and words for the talker.
_MARKS = ("seconds_per_chunk", "position_id_per_seconds", "spatial_merge_size", "accept_hidden_layer", "speaker_id")


@family("wav2vec2", "hubert")
def wav2vec2(config: ModelConfig) -> Iterator[TableRow]:
    """Baevski et al. 2020 and HuBERT: convolutions over the wave, then an encoder, where a token is a frame."""
    hidden, inner = config.size("hidden_size", 768), config.integer("intermediate_size", 3072)
    layers, heads = config.size("num_hidden_layers", 12, high=MAX_LAYERS), config.integer("num_attention_heads", 12)
    widths = config.listed("conv_dim", [512] * 7)
    taps = config.listed("conv_kernel", [10, 3, 3, 3, 3, 2, 2], len(widths))
    strides = config.listed("conv_stride", [5, 2, 2, 2, 2, 2, 2], len(widths))
    bias = config.flag("conv_bias", False)
    each = config.text("feat_extract_norm", "group", choices=("group", "layer")) == "layer"
    config.fixed(add_adapter=False, adapter_attn_dim=None, conv_pos_batch_norm=False, feat_proj_layer_norm=True)
    starts = ("mask_", "ctc_", "tdnn_", "adapter_", "num_code", "codevector")
    config.ignore(*(key for key in config.data if key.startswith(starts)))
    config.ignore("do_stable_layer_norm", "num_feat_extract_layers", "use_weighted_layer_sum", "classifier_proj_size")
    config.ignore("proj_codevector_dim", "num_negatives", "xvector_output_dim", "output_hidden_size", "num_adapter_layers")
    config.ignore("contrastive_logits_temperature", "feat_extract_activation")
    if config.data.get("mask_time_prob", 0.05) or config.data.get("mask_feature_prob", 0.0):
        yield Weight("mask", (hidden,), "audio")
    into = 1
    for layer, (wide, long) in enumerate(zip(widths, taps, strict=True)):
        # Frames of this layer for one frame of the encoder.
        frames = math.prod(strides[layer + 1 :])
        yield from biased(f"conv{layer + 1}", (wide, into, long), "audio", frames, bias)
        yield from norm(f"conv{layer + 1}.norm", wide, True, 1 if each or layer == 0 else 0)
        into = wide
    yield from [*norm("features.norm", into, True), *linear("features", hidden, into, True)]
    places, groups = config.whole(num_conv_pos_embeddings=128, num_conv_pos_embedding_groups=16)
    yield from biased("places", (hidden, hidden // groups, places), "audio", 1)
    yield Weight("places.length", (1, 1, places), "audio")
    yield from times(layers, encoder_layer(config, hidden, inner, heads))
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "ForCTC", "Model") == "ForCTC":
        yield from linear("head", config.integer("vocab_size", 32), hidden, True, "head")
    else:
        config.ignore("vocab_size")


def _whisper_encoder(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """Whisper's encoder: two convolutions over the spectrum; K without bias. Returns its width and rows."""
    names = ("hidden_size|d_model", "intermediate_size|encoder_ffn_dim", "num_hidden_layers|encoder_layers",
             "num_attention_heads|encoder_attention_heads")  # fmt: skip
    hidden, inner, layers, heads = tower_sizes(config, 1280, 5120, 32, 20, names)
    bins = config.integer("num_mel_bins", 128)
    config.ignore("vocab_size", "head_dim")
    config.only("num_key_value_heads", heads)
    return hidden, [
        *biased("conv1", (hidden, bins, 3), "audio", 2),
        *biased("conv2", (hidden, hidden, 3), "audio", 1),
        positions(config.integer("max_source_positions", 1500), hidden),
        *times(layers, without(encoder_layer(config, hidden, inner, heads), "attention.k.bias")),
        *norm("final_norm", hidden, True),
    ]


def _heard(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni's encoder of sound: Whisper's with computed places, two words, and one product into the text."""
    config.ignore("n_window", "max_source_positions")
    _, tower = _whisper_encoder(config)
    out = config.integer("output_dim", 3584)
    yield from without(tower, "position_embedding")
    yield Weight("words", (2, out), "audio")
    yield from linear("projector", out, config.integer("d_model|hidden_size", 1280), True)


def _heard_in_planes(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Omni's encoder of sound: three convolutions over time and frequency, Whisper's layers, two products."""
    names = ("d_model|hidden_size", "encoder_ffn_dim", "encoder_layers|num_hidden_layers", "encoder_attention_heads")
    hidden, inner, layers, heads = tower_sizes(config, 1280, 5120, 32, 20, names)
    planes, bands = config.whole(downsample_hidden_size=480, num_mel_bins=128)
    config.ignore("n_window", "n_window_infer", "conv_chunksize", "max_source_positions")
    yield from biased("conv1", (planes, 1, 3, 3), "audio", 1)
    for _ in range(3):
        bands = (bands + 1) // 2
    yield from times(2, biased("conv2", (planes, planes, 3, 3), "audio", 1))
    yield from linear("conv.out", hidden, planes * bands)
    yield from times(layers, encoder_layer(config, hidden, inner, heads))
    yield from norm("final_norm", hidden, True)
    yield from products("projector", hidden, hidden, config.integer("output_dim", 3584))


TOWERS.update(whisper=_whisper_encoder, planes=lambda config: (0, [*_heard_in_planes(config)]))


@family("qwen2_5_omni", "qwen2_5_omni_thinker", "qwen3_omni_moe", "qwen3_omni_moe_thinker")
def omni(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni and Qwen3-Omni, or their thinkers alone; talker and sound only where `enable_audio_output` asks for them."""
    kind = str(config.data["model_type"])
    generation = kind.removesuffix("_thinker")
    old, thinker = generation == "qwen2_5_omni", config
    if kind == generation:
        class_suffix(config, "ForConditionalGeneration", "Model")
        thinker = config.table_or_defaults("thinker_config")
        thinker.data = {**thinker.data, "model_type": f"{generation}_thinker", "architectures": None}
    thinker.ignore(*_MARKS)
    yield from text_part(thinker, f"{generation}_text", False)
    vision, audio = thinker.table_or_defaults("vision_config"), thinker.table_or_defaults("audio_config")
    vision.ignore("image_size", "in_chans", "apply_vit_abs_pos_embed", "spatial_patch_size")
    vision.ignore(*(["embed_dim"] if old else []))
    tower = qwen2_5_vl_tower(vision) if old else qwen3_vl_tower(vision)
    yield from aside([*tower, *(_heard(audio) if old else _heard_in_planes(audio))])
    if kind != generation:
        return
    config.ignore("enable_audio_output_", "enable_talker", "talker_config", "token2wav_config", "code2wav_config")
    if config.flag("enable_audio_output", True):
        talker = config.table_or_defaults("talker_config")
        codes = (key for key in talker.data if key.startswith(("codec_", "tts_")))
        talker.ignore("architectures", "model_type", *_MARKS, *codes)
        sound = config.table_or_defaults("token2wav_config" if old else "code2wav_config")
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
    yield from [*products("text", thinker, wide, s.hidden), *products("states", thinker, wide, s.hidden)]
    p = sizes(further, 1024, 3072, 5, 16, 2048, kv_heads=8, width=128)
    layer = [*p.attention(further.flag("attention_bias", False)), *p.head_norms(), *p.gated(), *p.norms(2)]
    groups = further.integer("num_code_groups", 32)
    config.only("num_code_groups", groups)
    yield from times(p.layers, layer)
    yield from norm("predictor.norm", p.hidden)
    yield Weight("predictor.codes", (p.vocabulary, p.hidden), "audio", groups - 1, groups - 1)
    yield from times(groups - 1, linear("predictor.head", p.vocabulary, p.hidden))


def _snake(width: int, number: int = 1) -> Weight:
    """An activation with two learned numbers per channel."""
    return Weight("snake", (width,), "audio", 2 * number, 2 * number)


def _upward(channels: int, taps: int) -> list[TableRow]:
    """A transposed convolution to half as many channels."""
    half = channels // 2
    return [Weight("sound.up", (channels, half, taps), "audio"), Weight("sound.up.bias", (half,), "audio")]


def _code2wav(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen3-Omni's sound: a transformer over sums of codes, upsampling, and convolutions that widen time."""
    w, layers = config.whole(hidden_size=1024, num_hidden_layers=8)
    heads, inner = config.whole(num_attention_heads=16, intermediate_size=3072)
    mixer = attention(
        w, heads, config.integer("num_key_value_heads", 16), head_width(config, w, heads),
        bias=config.flag("attention_bias", False), causal=False,
    )  # fmt: skip
    config.ignore("layer_scale_initial_scale", "codebook_dim", "semantic_codebook_size", "num_semantic_quantizers")
    config.ignore("vector_quantization_hidden_dimension")
    yield Weight("codes", (config.integer("codebook_size", 2048) * config.integer("num_quantizers", 16), w), "audio")
    yield from times(layers, [*mixer, *gated_mlp(w, inner), *norm("norm and scale", w, number=4)])
    yield from norm("final_norm", w)
    for ratio in config.listed("upsampling_ratios", [2, 2]):
        yield from biased("widen", (w, w, ratio), "audio")
        yield from [*biased("depth", (w, 1, 7), "audio"), *norm("depth.norm", w, True), *norm("depth.scale", w)]
        yield from plain_mlp(w, 4 * w, prefix="widen.mlp")
    channels = config.integer("decoder_dim", 1536)
    yield from biased("sound.in", (channels, w, 7), "audio")
    for rate in config.listed("upsample_rates", [8, 5, 4, 3]):
        yield from [_snake(channels), *_upward(channels, 2 * rate)]
        channels //= 2
        parts = [_snake(channels, 2), *biased("sound.7", (channels, channels, 7), "audio")]
        yield from times(3, [*parts, *biased("sound.1", (channels, channels, 1), "audio")])
    yield from [_snake(channels), *biased("sound.out", (1, channels, 7), "audio")]


def _token2wav(config: ModelConfig) -> Iterator[TableRow]:
    """Qwen2.5-Omni's sound: a diffusion transformer makes a spectrum of the codes, BigVGAN a wave of it.

    Each stage of BigVGAN doubles time and halves the channels, with convolutions of several reaches.
    """
    dit, vocoder = config.table_or_defaults("dit_config"), config.table_or_defaults("bigvgan_config")
    for part in (dit, vocoder):
        part.ignore("tie_word_embeddings")
    yield from _spectrum(dit)
    channels = vocoder.integer("upsample_initial_channel", 1536)
    taps = vocoder.listed("resblock_kernel_sizes", [3, 7, 11])
    ups = vocoder.listed("upsample_kernel_sizes", [11, 7, 4, 4, 4, 4])
    key, reaches = vocoder.get("resblock_dilation_sizes")
    reaches = [[1, 3, 5]] * len(taps) if reaches is None else reaches
    if not isinstance(reaches, list) or [*map(type, reaches)] != [list] * len(taps):
        raise vocoder.refuse(key, reaches, f"a list of {len(taps):,} lists")
    # The class leaves the last bias out, whatever the file says.
    vocoder.ignore("upsample_rates", "use_bias_at_final")
    yield from biased("wave.in", (channels, vocoder.integer("mel_dim", 80), 7), "audio")
    for up in ups:
        yield from _upward(channels, up)
        channels //= 2
        for reach, each in zip(taps, reaches, strict=True):
            yield from times(2 * len(each), [*biased("wave", (channels, channels, reach), "audio"), _snake(channels)])
    yield from [_snake(channels), Weight("wave.out", (1, channels, 7), "audio")]


def _spectrum(config: ModelConfig) -> Iterator[TableRow]:
    """The diffusion transformer, and the encoder of the speaker (ECAPA-TDNN).

    The speaker's encoder: convolutions over time, in groups that follow each other, with a gate per channel, pooled by
    attention.
    """
    hidden, layers = config.integer("hidden_size|dim", 1024), config.integer("num_hidden_layers|depth", 22, high=MAX_LAYERS)
    wide = config.integer("num_attention_heads|heads", 16) * config.integer("head_dim", 64)
    inner, bands = hidden * config.integer("ff_mult", 2), config.integer("mel_dim", 80)
    codes, voice, place = config.whole(emb_dim=512, enc_dim=128, enc_emb_dim=192)
    config.ignore("block_size", "look_ahead_layers", "look_backward_layers", "repeats", "enc_dilations", "enc_lin_neurons")
    config.ignore("enc_global_context")
    yield from products("time", 256, hidden, hidden)
    yield Weight("codes", (config.integer("num_embeds", 8193) + 1, codes), "audio")
    yield from linear("in", hidden, bands + voice + place + codes, True)
    widths = config.listed("enc_channels", [256, 256, 256, 256, 768])
    taps = config.listed("enc_kernel_sizes", [5, 3, 3, 3, 1], len(widths))
    scale, gate = config.integer("enc_res2net_scale", 2, high=MAX_BLOCKS), config.integer("enc_se_channels", 64)
    last, pool = widths[-1], config.integer("enc_attention_channels", 64)
    shapes = [(widths[0], bands, taps[0])]
    for before, out, reach in zip(widths, widths[1:-1], taps[1:], strict=False):
        shapes += [(out, before, 1), *[(out // scale, out // scale, reach)] * (scale - 1), (out, out, 1)]
        shapes += [(gate, out, 1), (out, gate, 1)]
    shapes += [(last, last, taps[-1]), (pool, 3 * last, 1), (last, pool, 1), (voice, 2 * last, 1)]
    for shape in shapes:
        yield from biased("speaker", shape, "audio")
    matrices = ((6 * hidden, hidden), *[(wide, hidden)] * 3, (hidden, wide), (inner, hidden), (hidden, inner))
    yield from times(layers, [row for out, into in matrices for row in linear("layer", out, into, True)])
    yield from [*linear("out.norm", 2 * hidden, hidden, True), *linear("out", bands, hidden, True)]


def _conformer(config: ModelConfig, channels: int, reach: int) -> tuple[int, list[TableRow]]:
    """Phi-4's encoder of sound: halved three times, then networks around attention and a convolution. Returns its width.

    `channels` are those of the convolutions that halve, `reach` the places before and behind that attention tells apart.
    """
    names = ("attention_dim|hidden_size", "linear_units|intermediate_size", "num_blocks", "attention_heads|num_attention_heads")
    width, inner, layers, heads = tower_sizes(config, 1024, 1536, 24, 16, names)
    reduced, taps = config.integer("input_size", 80) // config.integer("time_reduction", 8), config.integer("kernel_size", 3)
    for key in ("ext_pw_out_channel", "depthwise_seperable_out_channel", "depthwise_separable_out_channel"):
        config.only(key, width)
    config.only("depthwise_multiplier", 1)
    config.ignore("conv_activation", "conv_glu_type", "left_chunk", "chunk_size", "feature_layer", "downsample_rate", "causal")
    network = [*linear("network.in", 2 * inner, width, True), *linear("network.out", width, inner, True)]
    layer: list[TableRow] = [
        *times(2, [*norm("network.norm", width, True), *network]),
        *encoder_attention(config, width, heads),
        *norm("norm", width, True, 3),
        Weight("conv.gate", (1, width, 1), "audio", 2, 2),
        *biased("conv.in", (2 * width, width, 1), "audio", 1),
        *biased("conv.taps", (width, 1, taps), "audio", 1),
        *times(2, biased("conv.out", (width, width, 1), "audio", 1)),
    ]
    return width, [
        *times(3, biased("halve.taps", (channels, 1, 3, 3), "audio", 1)),
        *times(2, biased("halve.mix", (channels, channels, 1, 1), "audio", 1)),
        *linear("features", width, channels * reduced, True),
        Weight("places", (2 * reach, heads), "audio"),
        *times(layers, layer),
    ]


def _phi4_towers(image: ModelConfig, sound: tuple[int, list[TableRow]], hidden: int) -> Iterator[TableRow]:
    """Both encoders with their projections; that of sound has one for sound alone and one beside images."""
    # The file of the release says the size of its pictures alone.
    image.data = {**SO400M, "patch_size": 14, "image_size": 448, **image.data}
    wide, tower = siglip_tower(image)
    tower += [Weight("marks", (wide,), "vision", 2, 2), *linear("projector.in", hidden, wide, True)]
    yield from aside([*tower, *linear("projector.out", hidden, hidden, True)])
    wide, tower = sound
    tower += times(2, [*linear("projector.in", hidden, wide, True), *linear("projector.out", hidden, hidden, True)])
    yield from aside(tower, "audio")


@family("phi4mm")
def phi4mm(config: ModelConfig) -> Iterator[TableRow]:
    """Phi-4-multimodal as released: Phi-4-mini with an adapter for images and one for sound on every product."""
    config.ignore("full_attn_mod", "interpolate_factor")
    config.only("img_processor")
    config.fixed(mlp_bias=False, lm_head_bias=False, attention_bias=False)
    class_suffix(config, "ForCausalLM")
    hidden, inner = config.stated(hidden_size=3072, intermediate_size=8192)
    layers, heads = config.stated(num_hidden_layers=32, num_attention_heads=24)
    yield from families()["phi3"](config)
    groups, width = config.integer("num_key_value_heads", heads), head_width(config, hidden, heads)
    qkv, wide = (heads + 2 * groups) * width, heads * width
    both = {"qkv": hidden + qkv, "o": wide + hidden, "gate_up": hidden + 2 * inner, "down": inner + hidden}
    for name in ("vision", "speech"):
        adapter = config.part(f"{name}_lora")
        if adapter is None:
            continue
        adapter.ignore("dp", "lora_alpha", "layer")
        rank = adapter.integer("r")
        pairs = [Weight(f"{name}_adapter.{product}", (rank, sides), "other") for product, sides in both.items()]
        yield from relabelled(times(layers, pairs), "adapters", "other", computed=False)
    embedded = config.table_or_defaults("embd_layer")
    embedded.only("embedding_cls", "image_audio")
    image, heard = (embedded.table_or_defaults(f"{name}_embd_layer") for name in ("image", "audio"))
    image.fixed(use_hd_transform=True, with_learnable_separator=True, projection_cls="mlp")
    heard.fixed(use_qformer=False, use_conv_downsample=False, projection_cls="mlp")
    for part in (image, heard):
        part.ignore("embedding_cls", "enable_gradient_checkpointing")
    image.ignore("hd_transform_order", "image_token_compression_cls")
    heard.ignore("compression_rate", "downsample_rate")
    side = image.integer("crop_size", 448)
    processor = config.table_or_defaults("audio_processor")
    processor.only("name", "cascades")
    sound = processor.table_or_defaults("config")
    sound.fixed(batch_norm=False, bias_in_glu=True, cnn_layer_norm=True, ext_pw_kernel_size=1, input_layer="nemo_conv")
    sound.ignore("encoder_embedding_config", "activation_checkpointing")
    relative = sound.table_or_defaults("relative_attention_bias_args")
    relative.only("type", "t5")
    halving = sound.table_or_defaults("nemo_conv_settings")
    encoder = _conformer(sound, halving.integer("conv_channels", 1024), relative.integer("t5_bias_max_distance", 1000))
    yield from _phi4_towers(ModelConfig({"image_size": side}, config.path), encoder, hidden)


@family("phi4_multimodal")
def phi4_multimodal(config: ModelConfig) -> Iterator[TableRow]:
    """Phi-4-multimodal in the library's own form: the adapters are files beside the model."""
    class_suffix(config, "ForCausalLM")
    image, sound = config.table_or_defaults("vision_config"), config.table_or_defaults("audio_config")
    hidden = config.size("hidden_size", 3072)
    yield from families()["phi3"](config)
    image.ignore("crop_size", "feature_layer")
    sound.only("bias_symmetric", False)
    sound.ignore("nemo_activation", "nemo_final_size")
    channels, reach = sound.whole(nemo_conv_channels=1024, bias_max_distance=1000)
    yield from _phi4_towers(image, _conformer(sound, channels, reach), hidden)
