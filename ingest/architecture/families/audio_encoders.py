"""Encoders of sound, by themselves and before a text model."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ingest.architecture.hf_config import MAX_LAYERS, ModelConfig
from ingest.architecture.layers import biased, encoder_attention, head_width, linear, norm, plain_mlp, positions
from ingest.architecture.registry import class_suffix, family
from ingest.architecture.weight_table import TableRow, Weight, times, without


def whisper_encoder(config: ModelConfig) -> tuple[int, list[TableRow]]:
    """Whisper's encoder: two convolutions over the spectrum; K without bias. Returns its inner width and rows."""
    hidden, inner = config.integer("hidden_size|d_model", 1280), config.integer("intermediate_size|encoder_ffn_dim", 5120)
    layers = config.integer("num_hidden_layers|encoder_layers", 32, high=MAX_LAYERS)
    heads, bins = config.integer("num_attention_heads|encoder_attention_heads", 20), config.integer("num_mel_bins", 128)
    config.ignore("vocab_size", "head_dim", "num_key_value_heads", "max_position_embeddings")
    width = head_width(config, hidden, heads, name="-")
    mixer = without(encoder_attention(hidden, heads, width, True), "attention.k.bias")
    rows: list[TableRow] = [
        *biased("conv1", (hidden, bins, 3), "audio", 2),
        *biased("conv2", (hidden, hidden, 3), "audio", 1),
        positions(config.integer("max_source_positions", 1500), hidden),
        *times(layers, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)]),
        *norm("final_norm", hidden, True),
    ]
    return inner, rows


@family("wav2vec2", "hubert")
def wav2vec2(config: ModelConfig) -> Iterator[TableRow]:
    """Baevski et al. 2020 and HuBERT: convolutions over the wave, then an encoder, where a token is a frame."""
    hidden, inner = config.size("hidden_size", 768), config.integer("intermediate_size", 3072)
    layers, heads = config.size("num_hidden_layers", 12, high=MAX_LAYERS), config.integer("num_attention_heads", 12)
    widths = config.integers("conv_dim", low=1) or [512] * 7
    taps = config.integers("conv_kernel", len(widths), low=1) or [10, 3, 3, 3, 3, 2, 2]
    strides = config.integers("conv_stride", len(widths), low=1) or [5, 2, 2, 2, 2, 2, 2]
    bias, each = (
        config.flag("conv_bias", False),
        config.text("feat_extract_norm", "group", choices=("group", "layer")) == "layer",
    )
    for key, plain in (("add_adapter", False), ("adapter_attn_dim", None), ("conv_pos_batch_norm", False)):
        config.only(key, plain)
    config.only("feat_proj_layer_norm", True)
    config.ignore(
        *(key for key in config.data if key.startswith(("mask_", "ctc_", "tdnn_", "adapter_", "num_code", "codevector")))
    )
    config.ignore("do_stable_layer_norm", "num_feat_extract_layers", "use_weighted_layer_sum", "classifier_proj_size")
    config.ignore("proj_codevector_dim", "num_negatives", "xvector_output_dim", "output_hidden_size", "num_adapter_layers")
    config.ignore("contrastive_logits_temperature", "diversity_loss_weight", "feat_extract_activation")
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
    places, groups = config.integer("num_conv_pos_embeddings", 128), config.integer("num_conv_pos_embedding_groups", 16)
    yield from biased("places", (hidden, hidden // groups, places), "audio", 1)
    yield Weight("places.length", (1, 1, places), "audio")
    mixer = encoder_attention(hidden, heads, head_width(config, hidden, heads, name="-"), True)
    yield from times(layers, [*mixer, *plain_mlp(hidden, inner), *norm("norm", hidden, True, 2)])
    yield from norm("final_norm", hidden, True)
    if class_suffix(config, "ForCTC", "Model") == "ForCTC":
        yield from linear("head", config.integer("vocab_size", 32), hidden, True, "head")
    else:
        config.ignore("vocab_size")
