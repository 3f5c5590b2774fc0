"""Autoencoders between images and latents, in the form of the diffusers library; `_class_name` names them."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.architecture.families.diffusion import convolution, residual, square, uncomputed
from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.layers import norm
from ingest.architecture.registry import family
from ingest.architecture.weight_table import TableRow, times


@family("AutoencoderKL")
def autoencoder_kl(config: ModelConfig) -> Iterator[TableRow]:
    """Rombach et al. 2022: the autoencoder of Stable Diffusion 1 to 3, XL and FLUX."""
    return uncomputed(_autoencoder_kl(config))


def _middle(wide: int, attends: bool) -> Iterator[TableRow]:
    """Two blocks of convolutions, and an attention over the image between them."""
    yield from times(2, residual(wide, wide, 0))
    if attends:
        yield from [*norm("attention.norm", wide, True), *square("attention", wide, "q", "k", "v", "o")]


def _autoencoder_kl(config: ModelConfig) -> Iterator[TableRow]:
    config.ignore("sample_size", "act_fn", "norm_num_groups", "scaling_factor", "shift_factor", "latents_mean", "latents_std")
    config.ignore("force_upcast")
    channels = config.integers("block_out_channels", low=1) or [64]
    levels, number = len(channels), config.integer("layers_per_block", 1)
    config.texts("down_block_types", levels, ("DownEncoderBlock2D",))
    config.texts("up_block_types", levels, ("UpDecoderBlock2D",))
    attends, latent = config.flag("mid_block_add_attention", True), config.integer("latent_channels", 4)
    into = channels[0]
    yield from convolution("encoder.first", into, config.integer("in_channels", 3))
    for level, wide in enumerate(channels):
        yield from [*residual(into, wide, 0), *times(number - 1, residual(wide, wide, 0))]
        yield from convolution("down", wide, wide) if level < levels - 1 else ()
        into = wide
    yield from [*_middle(into, attends), *norm("encoder.norm", into, True), *convolution("encoder.last", 2 * latent, into)]
    yield from [*convolution("decoder.first", into, latent), *_middle(into, attends)]
    for level in reversed(range(levels)):
        wide = channels[level]
        yield from [*residual(into, wide, 0), *times(number, residual(wide, wide, 0))]
        yield from convolution("up", wide, wide) if level else ()
        into = wide
    yield from [*norm("decoder.norm", into, True), *convolution("decoder.last", config.integer("out_channels", 3), into)]
    yield from convolution("quantized", 2 * latent, 2 * latent, 1) if config.flag("use_quant_conv", True) else ()
    yield from convolution("restored", latent, latent, 1) if config.flag("use_post_quant_conv", True) else ()
