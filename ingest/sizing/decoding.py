"""Decoding of samples: the rates of CPU threads, of the workers of a loader, and of GPUs, from the catalog of decoders."""

from __future__ import annotations

from collections.abc import Callable

from ingest.catalog.records import Decoder, Encoding
from ingest.engine.messages import Option, option_error
from ingest.engine.registry import solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import listed
from ingest.sizing.evidence_choice import RateBasis
from ingest.sizing.evidence_ladder import from_catalog, from_fields, median
from ingest.sizing.job import encoding_in

#: The decoder whose workers every loader is taken to be like, where nothing else is known.
USUAL_DECODER = "torchvision"
#: A decoder by its id: which one a loader takes follows from what is known of the job.
Decoders = Callable[[str], Decoder]


def decoding_of(encoding: Encoding | None, decoder: str | None, decoders: Decoders) -> dict[str, Input]:
    """What CPUs decode: the share of the rate of one thread that each worker of a loader keeps, and that rate where known.

    The decoder may be another than that of the encoding, whose own rate holds before that of its decoder.

    >>> from ingest.catalog.store import Catalog
    >>> made = decoding_of(None, "torchvision", lambda name: Catalog().get(Decoder, name))
    >>> [[round(end, 2) for end in (one.low, one.value, one.high)] for one in made.values()]
    [[0.32, 0.43, 0.57], [440, 643, 864]]
    """
    named = decoder or (encoding.decoder if encoding is not None else "")
    found = decoders(named or USUAL_DECODER)
    shares = [decode_share(found, cpu) for cpu in found.loader_rates]
    where = f"{found.name}: median over {len(shares)} CPUs of 16 vCPU"
    sourced = next(iter(found.loader_rates.values()))
    scaling = Input(median(shares), min(shares), max(shares), source=sourced.source, grade="measured", where=where)
    why = f"each worker of a loader decodes at {scaling.value:.2f} of the rate of one thread alone"
    made = {"decode_scaling": scaling.by_default(why, Option("set.decode_scaling"))}
    if encoding is not None and encoding.decode_rate is not None and decoder is None:
        return {**made, "thread_decode_rate": from_catalog(encoding.decode_rate)}
    if not named:
        return made
    rates = [value.value for value in found.thread_rates.values()]
    first, where = next(iter(found.thread_rates.values())), f"{found.name}: median over {', '.join(found.thread_rates)}"
    middle = Input(median(rates), min(rates), max(rates), "catalog", first.source, where, first.grade)
    return {**made, "thread_decode_rate": middle}


def decode_share(decoder: Decoder, cpu: str) -> float:
    """The share of the rate of one thread that each worker keeps at the peak of a loader, as measured on a CPU."""
    rates = {"thread_decode_rate": decoder.thread_rates, "loader_decode_rate": decoder.loader_rates}
    given = {name: values[cpu].value for name, values in rates.items()}
    return float(solve("decode_share_of_worker", {**given, "decode_workers": decoder.loader_workers[cpu].value}))


def gpu_decoding(decoder: str, gpu: str | None, encoding: Encoding | None, decoders: Decoders) -> Input | None:
    """The rate at which a GPU decodes; None for a decoder of CPUs.

    Raises UsageError: an unknown decoder, other samples than it decodes, or a GPU without a rate.
    """
    found = decoders(decoder)
    if encoding is not None and not encoding.decoder:
        raise option_error("decoder", f": found {found.id}, which decodes {found.codec}: the samples are no such images")
    if not found.gpu_rates:
        return None
    rate = found.gpu_rates.get(gpu or "")
    if rate is None:
        known = listed(list(found.gpu_rates))
        what = f": no rate of {found.id} on {gpu or 'an unknown GPU'} is published, expected {known}, or your own with"
        raise option_error("decoder", f"{what} --set gpu_decode_rate=RATE")
    return from_catalog(rate)


def place_threads(known: Quantities, encoding: Encoding | None, decoder: str | None, decoders: Decoders) -> None:
    """Give what CPUs decode of an encoding, and state whether a sample is one image or several, where a rate is known."""
    found = decoding_of(encoding, decoder, decoders)
    known.give({name: item for name, item in found.items() if name not in known.given})
    if "thread_decode_rate" in known.given:
        images = known.given.get("images_per_sample")
        known.state("several_images" if images is not None and images.value > 0 else "one_image")


def place_decoding(known: Quantities, rate: RateBasis, decoder: str | None, decoders: Decoders) -> None:
    """Give what decodes, CPU cores or the GPU, and what samples take of host memory and of the link into the GPU.

    The decoder is that of the encoding where none is named.

    Raises UsageError: a decoder that does not decode these samples, or not on this GPU.
    """
    chosen = encoding_in(rate.model, rate.job.encoding)
    gpu = rate.gpu.id if rate.gpu is not None else None
    on_gpu = "gpu_decode_rate" in known.given
    if decoder is not None and not on_gpu and (speed := gpu_decoding(decoder, gpu, chosen, decoders)) is not None:
        known.give({"gpu_decode_rate": speed})
        on_gpu = True
    if chosen is not None and chosen.decoded is not None and "decoded_sample_bytes" not in known.given:
        known.give(from_fields({"decoded_sample_bytes": chosen.decoded}))
    known.state("decoded_by_gpu" if on_gpu else "decoded_by_cores")
    if rate.node is not None and "host_memory_per_node" not in known.given:
        known.give(from_fields({"host_memory_per_node": rate.node.host_memory_bytes}))
    crossing = "sample_bytes" if on_gpu else "decoded_sample_bytes"
    if rate.gpu is not None and "host_link_bandwidth_per_gpu" not in known.given and known.find(crossing) is not None:
        known.give(from_fields({"host_link_bandwidth_per_gpu": rate.gpu.host_link_bandwidth}))
    images, given = known.given.get("images_per_sample"), known.given.get("sample_decode_seconds")
    several = images is not None and images.value > 0
    if several and on_gpu:
        known.state("several_images")
    if given is None and not on_gpu:
        place_threads(known, chosen, decoder, decoders)
        if "thread_decode_rate" in known.given:
            return
    if given is None:
        given = Input(0).by_default("the GPU decodes" if on_gpu else "decoding takes no time", "decode_time")
        known.give({"sample_decode_seconds": given})
    if given.value:
        known.state("time_of_decoding_known")
    else:
        known.give({"decode_cores_per_node": given})
