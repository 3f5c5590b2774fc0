"""Decoding of samples on the cores of a node or on its GPUs."""

from ingest.engine.expression import Num
from ingest.engine.registry import alternative, formula, input_quantity

input_quantity("decode_samples_per_second_per_core", "sample/s", "Samples that one CPU core decodes each second.")
alternative("decode_samples_per_second_per_core", "decoded_per_core", when="time_of_decoding_known")
alternative("decode_samples_per_second_per_core", "decode_rate_of_images", when="several_images")
alternative("decode_samples_per_second_per_core", "decode_rate_in_loader", when="one_image")
alternative("decode_samples_per_second_per_core", "decode_rate_in_loader", when="path_judged", optional=True)
input_quantity("thread_decode_rate", "sample/s", "Samples that one thread alone decodes each second.",
    label="decoding rate of one thread")  # fmt: skip
input_quantity("decode_scaling", "1", "Rate of each worker in a loader with several workers, over that of one thread alone.",
    high=1, label="share of the single-thread rate in a loader")  # fmt: skip
input_quantity("decode_workers", "1", "Workers that decode side by side.", whole=True)
input_quantity("gpu_decode_rate", "sample/s/GPU", "Samples that one GPU decodes each second while it trains.",
    label="decoding rate of the GPU")  # fmt: skip
input_quantity("single_sample", "sample", "One sample.", low=1, high=1, above=False, default=1)


@formula(unit="1/node", source="definition")
def decode_cores_per_node(samples_per_second_per_gpu: Num, gpus_per_node: Num, decode_samples_per_second_per_core: Num) -> Num:
    """CPU cores that decode the samples of the GPUs of one node."""
    return samples_per_second_per_gpu * gpus_per_node / decode_samples_per_second_per_core


@formula(unit="sample/s", source="imread-benchmark", where="one thread and the DataLoader's peak")
def decode_rate_in_loader(thread_decode_rate: Num, decode_scaling: Num) -> Num:
    """Samples that each worker of a full loader decodes: less than one thread alone, which has caches and clocks for itself."""
    return thread_decode_rate * decode_scaling


@formula(unit="1", source="imread-benchmark", where="the DataLoader's peak and one thread", high=1)
def decode_share_of_worker(loader_decode_rate: Num, decode_workers: Num, thread_decode_rate: Num) -> Num:
    """Share of the rate of one thread alone that each worker of a full loader keeps."""
    return loader_decode_rate / decode_workers / thread_decode_rate


@formula(unit="sample/s", source="definition")
def loader_decode_rate(decode_rate_in_loader: Num, decode_workers: Num) -> Num:
    """Samples that the workers of a loader decode each second."""
    return decode_rate_in_loader * decode_workers


@formula(unit="sample/s", source="definition")
def decode_rate_of_images(decode_rate_in_loader: Num, images_per_sample: Num, single_sample: Num) -> Num:
    """Samples of several images that each worker of a full loader decodes."""
    return decode_rate_in_loader / (images_per_sample * single_sample)


@formula(unit="1", source="definition", label="load of the GPU's decoder", above=False)
def gpu_decode_load(unstalled_samples_per_second_per_gpu: Num, gpu_decode_rate: Num) -> Num:
    """Samples that a GPU trains on without waiting, over those that it decodes."""
    return unstalled_samples_per_second_per_gpu / gpu_decode_rate


alternative("gpu_decode_load", "gpu_decode_load_of_images", when="several_images")


@formula(unit="1", source="definition", above=False)
def gpu_decode_load_of_images(
    unstalled_samples_per_second_per_gpu: Num, images_per_sample: Num, single_sample: Num, gpu_decode_rate: Num
) -> Num:
    """Images that a GPU trains on without waiting, over those that it decodes."""
    return unstalled_samples_per_second_per_gpu * images_per_sample * single_sample / gpu_decode_rate
