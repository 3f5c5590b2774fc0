"""Samples on the way to a GPU: the host link, shuffling, and samples of several parts."""

from ingest.engine.expression import Num, maximum, minimum
from ingest.engine.registry import alternative, formula, input_quantity

# Batches that wait
input_quantity(
    "prefetched_sample_bytes", "B/sample", "Bytes of one sample that a worker has loaded, decoded where that is known."
)
alternative("prefetched_sample_bytes", "decoded_sample_bytes", "sample_bytes", when="decoded_by_cores", optional=True)
alternative("prefetched_sample_bytes", "sample_bytes", when="decoded_by_gpu", optional=True)

# Shuffling
input_quantity("shuffle_samples", "sample", "Samples of a shuffle buffer, or of a shuffled block.", whole=True)
input_quantity("canonical_nodes", "1", "Canonical nodes over which MosaicML Streaming distributes its shards.", whole=True)
input_quantity("single_file", "file", "One file.", whole=True, default=1)
input_quantity("interleaved_shards", "1", "Shards that one reader interleaves.", whole=True, default=1)

# Samples of several parts
input_quantity("images_per_sample", "1/sample", "Images in one sample.", above=False)
input_quantity("image_bytes", "B", "Stored bytes of one image.", above=False)
input_quantity("image_tokens", "token", "Tokens that one image takes in the sequence.", above=False)
input_quantity("audio_seconds_per_sample", "s/sample", "Seconds of audio in one sample.", above=False, default=0)
input_quantity("audio_bytes_per_second", "B/s", "Stored bytes of a second of audio.", above=False, default=0)


@formula(unit="1", source="definition", above=False)
def stored_link_load(unstalled_bandwidth_per_gpu: Num, host_link_bandwidth_per_gpu: Num) -> Num:
    """Stored data over the bandwidth of the link into the GPU, where the GPU decodes."""
    return unstalled_bandwidth_per_gpu / host_link_bandwidth_per_gpu


@formula(unit="B/s/GPU", source="definition", label="decoded data per GPU")
def decoded_bandwidth_per_gpu(unstalled_samples_per_second_per_gpu: Num, decoded_sample_bytes: Num) -> Num:
    """Decoded data that the host hands to one GPU that never waits."""
    return unstalled_samples_per_second_per_gpu * decoded_sample_bytes


@formula(unit="B/s/node", source="definition", label="decoded data per node")
def decoded_bandwidth_per_node(decoded_bandwidth_per_gpu: Num, gpus_per_node: Num) -> Num:
    """Decoded data that the host hands to the GPUs of one node."""
    return decoded_bandwidth_per_gpu * gpus_per_node


@formula(unit="1", source="definition", label="load of the host link", above=False)
def host_link_load(decoded_bandwidth_per_gpu: Num, host_link_bandwidth_per_gpu: Num) -> Num:
    """Decoded data over the bandwidth of the link into the GPU."""
    return decoded_bandwidth_per_gpu / host_link_bandwidth_per_gpu


alternative("host_link_load", "stored_link_load", when="decoded_by_gpu", optional=True)


@formula(unit="B/node", source="pytorch", where="torch.utils.data.DataLoader: workers × prefetch_factor batches outstanding",
    label="memory of the prefetched batches")  # fmt: skip
def prefetched_bytes_per_node(
    prefetched_sample_bytes: Num,
    samples_per_step: Num,
    loader_prefetch: Num,
    loader_workers: Num,
    gpus_per_node: Num,
    gpus_per_loader: Num,
    single_gpu: Num,
) -> Num:
    """Host memory of the batches that the loaders of a node hold while its GPUs compute."""
    return (
        prefetched_sample_bytes
        * samples_per_step
        * loader_prefetch
        * loader_workers
        * gpus_per_node
        / gpus_per_loader
        * single_gpu
    )


@formula(unit="B/node", source="definition", label="memory of the shuffle buffers")
def shuffle_bytes_per_node(shuffle_samples: Num, sample_bytes: Num, loader_workers: Num, gpus_per_node: Num) -> Num:
    """Host memory of the shuffle buffers of a node: each worker has one of its own."""
    return shuffle_samples * sample_bytes * loader_workers * gpus_per_node


@formula(unit="B", source="definition", label="bytes of one block")
def shuffle_block_bytes(shuffle_samples: Num, sample_bytes: Num) -> Num:
    """Bytes that are read in one run before they are shuffled."""
    return shuffle_samples * sample_bytes


@formula(unit="1", source="definition", high=1, label="mixing score")
def mixing_score(shuffle_samples: Num, samples_per_file: Num, interleaved_shards: Num, single_file: Num) -> Num:
    """Samples of a buffer over those of the shards that it mixes: below 1, neighbours in a shard stay near each other.

    No figure of the accuracy that this costs is published, and none follows from it.

    >>> mixing_score(1000, 1251, 10, 1), mixing_score(20_000, 1251, 10, 1)
    (0.07993605115907274, 1)
    """
    return minimum(1, shuffle_samples / (samples_per_file * interleaved_shards * single_file))


@formula(unit="1", source="mosaicml-streaming", where="shuffle_block_size: the larger of 4,000,000 ÷ canonical nodes and 2^18")
def mosaic_block_samples(canonical_nodes: Num) -> Num:
    """Samples of a shuffled block as MosaicML Streaming sets it.

    >>> mosaic_block_samples(8), mosaic_block_samples(128)
    (500000.0, 262144)
    """
    return maximum(4_000_000 / canonical_nodes, 262_144)


@formula(unit="token/sample", source="mm1-2024", where="images × tokens of an image")
def image_tokens_per_sample(images_per_sample: Num, image_tokens: Num) -> Num:
    """Tokens of a sequence that its images take."""
    return images_per_sample * image_tokens


@formula(unit="B/sample", source="definition")
def text_bytes_of_sample(tokens_per_sample: Num, image_tokens_per_sample: Num, bytes_per_token: Num) -> Num:
    """Stored text of a sample: the tokens that images leave.

    >>> text_bytes_of_sample(4096, 2304, 4)
    7168
    """
    return maximum(0, tokens_per_sample - image_tokens_per_sample) * bytes_per_token


@formula(unit="B/sample", source="definition")
def image_bytes_of_sample(images_per_sample: Num, image_bytes: Num) -> Num:
    """Stored images of a sample."""
    return images_per_sample * image_bytes


@formula(unit="B/sample", source="definition", label="sample of several parts")
def sample_bytes_of_parts(
    text_bytes_of_sample: Num, image_bytes_of_sample: Num, audio_seconds_per_sample: Num, audio_bytes_per_second: Num
) -> Num:
    """Stored bytes of a sample of text, images and audio.

    >>> sample_bytes_of_parts(7168, 1.6e6, 0, 0)
    1607168.0
    """
    return text_bytes_of_sample + image_bytes_of_sample + audio_seconds_per_sample * audio_bytes_per_second


@formula(unit="1", source="definition")
def images_over_text(image_bytes_of_sample: Num, text_bytes_of_sample: Num) -> Num:
    """Stored images of a sample over its text."""
    return image_bytes_of_sample / text_bytes_of_sample
