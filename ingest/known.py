"""What is known on every rung of the ladder: the machine, the data set, and what the user said."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ingest import ladder
from ingest.catalog.records import SIZES, Gpu, Model, Node, Value
from ingest.catalog.store import Catalog
from ingest.engine.ranges import range_of
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, nearest
from ingest.formula import solve
from ingest.ladder import from_catalog
from ingest.messages import Message, Option
from ingest.question import RATE_OPTIONS, Question

#: A model whose sample is a token.
ONE_TOKEN = re.compile(r"(one )?token\b")

#: Storage clients that the need of a node is held against, by the name of the result.
CLIENTS = {"nfs_tcp_client_share": "nfs-tcp", "nfs_nconnect_client_share": "nfs-nconnect"}


def machine_of(gpu: str | None, node: str | None, catalog: Catalog) -> tuple[Gpu | None, Node | None]:
    """The GPU and the node type: as named, or the one that the other implies.

    Raises:
        UsageError: a node that carries another GPU.
    """
    card = catalog.get(Gpu, gpu) if gpu else None
    inside = catalog.get(Node, node) if node else None
    if inside is not None and card is None:
        card = catalog.referred(Gpu, inside.gpu, by=inside.path)
    elif inside is not None and card is not None and inside.gpu != card.id:
        raise UsageError(
            Message(
                Option("node"), f": {inside.id} carries {inside.gpu}, not {card.id}; expected a node with that GPU, or no --gpu"
            )
        )
    elif inside is None and card is not None and card.usual_node:
        inside = catalog.referred(Node, card.usual_node, by=card.path)
    return card, inside


def set_by_user(asked: Question) -> dict[str, Input]:
    """What `--set` says; it wins over everything else."""
    return {name: Input(value, origin="user") for name, value in asked.settings.items()}


def known_quantities(
    asked: Question, catalog: Catalog, model: Model | None, gpu: Gpu | None, node: Node | None, precision: str
) -> dict[str, Input]:
    """What is known whatever the rung; a later source wins over an earlier one.

    Raises:
        UsageError: an encoding that the model does not have.
    """
    options = {
        name: Input(getattr(asked, option), origin="user")
        for option, name in Question.QUANTITIES.items()
        if getattr(asked, option) is not None and option not in RATE_OPTIONS
    }
    known = {
        **_defaults(),
        **_of_machine(asked, gpu, node, precision),
        **(_of_model(asked, model) if model is not None else {}),
        **options,
        **asked.sample_sizes,
        **_of_text(asked, model),
    }
    if asked.scaling != "linear":
        known["scaling_efficiency"] = _scaling(asked, catalog, known)
    return known


def _defaults() -> dict[str, Input]:
    linear = Message("linear scaling: a requirement assumes that the job scales", supply=(Option("scaling", "strong"),))
    busy = "the GPU never waits; MLPerf Storage accepts 0.9 (UNet3D, ResNet-50) and 0.7 (CosmoFlow)"
    return {
        "nodes": Input(1, origin="default", note=Message("one node", supply=("nodes",))),
        "scaling_efficiency": Input(1, origin="default", note=linear),
        "accelerator_utilization": Input(1, origin="default", note=busy),
    }


def _of_machine(asked: Question, gpu: Gpu | None, node: Node | None, precision: str) -> dict[str, Input]:
    known: dict[str, Input] = {}
    if node is not None:
        known["gpus_per_node"] = from_catalog(node.gpus_per_node)
        if asked.node is None:
            note = Message(f"as in {node.name}", supply=("node", "gpus_per_node"))
            known["gpus_per_node"] = known["gpus_per_node"]._replace(origin="default", note=note)
        if node.storage_nic_bandwidth is not None:
            known["storage_nic_bandwidth_per_node"] = from_catalog(node.storage_nic_bandwidth)
    elif gpu is not None and gpu.gpus_per_node is not None:
        known["gpus_per_node"] = from_catalog(gpu.gpus_per_node)
    top = ladder.peak_of(gpu, precision) if gpu is not None else None
    if top is not None:
        known["peak_flops_per_gpu"] = top
    return known


def _of_model(asked: Question, model: Model) -> dict[str, Input]:
    named: dict[str, Value | None] = {
        "flops_per_sample": model.flops_per_sample,
        "dataset_samples": model.dataset_samples,
        **encoding_of(model, asked.encoding),
    }
    return {name: from_catalog(value) for name, value in named.items() if value is not None}


def _of_text(asked: Question, model: Model | None) -> dict[str, Input]:
    """Bytes of one sample where it is read as text.

    Raises:
        UsageError: another option gives them too, or nobody knows how many tokens a sample has.
    """
    ratio = asked.bytes_per_token
    if ratio is None:
        return {}
    if asked.sample_bytes is not None or asked.encoding is not None:
        other = "--encoding" if asked.sample_bytes is None else "--sample-bytes"
        raise UsageError(
            Message(
                Option("bytes_per_token"), f": found it with {other}, expected one of them: both give the bytes of a sample"
            )
        )
    length = asked.settings.get("tokens_per_sample", _tokens_of(model))
    if length is None:
        what = f"a sample of {model.id} is '{model.sample}'" if model is not None else "a sample is no token"
        raise UsageError(
            Message(Option("bytes_per_token"), f": {what}, expected how many tokens that is: --set tokens_per_sample=8192")
        )
    value = solve("text_sample_bytes", {"bytes_per_token": ratio.value, "tokens_per_sample": length})
    low, high = range_of("text_sample_bytes", {"bytes_per_token": ratio, "tokens_per_sample": Input(length)}) or (None, None)
    note = ratio.note or "text is read, as the user said"
    return {"sample_bytes": Input(value, low, high, "user", note=note)}


def _tokens_of(model: Model | None) -> float | None:
    return 1 if model is None or ONE_TOKEN.match(model.sample) else None


def _scaling(asked: Question, catalog: Catalog, known: Mapping[str, Input]) -> Input:
    gpus = solve("gpus", {name: item.value for name, item in {**known, **set_by_user(asked)}.items()})
    if gpus <= ladder.BASE_GPUS:
        return Input(1, origin="default", note=f"up to {ladder.BASE_GPUS} GPUs no loss is assumed")
    return from_catalog(ladder.scaling_factor(catalog, gpus, asked.scaling))


def encoding_of(model: Model, asked: str | None) -> dict[str, Value | None]:
    """Bytes per sample and samples per file of an encoding."""
    name, _, size = (asked or "").partition("/")
    if name in SIZES:
        name, size = "", name
    name, size = name or next(iter(model.encodings), ""), size or "stored"
    if name not in model.encodings:
        if asked is None:
            return {}
        known = ", ".join([*model.encodings, *SIZES])
        raise UsageError(
            Message(
                Option("encoding"), f": found '{asked}', expected one of {known}{nearest(name, [*model.encodings, *SIZES])}"
            )
        )
    if size not in SIZES:
        raise UsageError(
            Message(Option("encoding"), f": found '{size}', expected one of {', '.join(SIZES)}{nearest(size, SIZES)}")
        )
    encoding = model.encodings[name]
    value = getattr(encoding, size)
    if value is None and asked is not None:
        there = ", ".join(item for item in SIZES if getattr(encoding, item) is not None)
        told = f": {model.id} has no {size} bytes for {name} (known: {there})"
        raise IngestError(Message(Option("encoding"), told, supply=("sample_bytes",)))
    return {"sample_bytes": value, "samples_per_file": encoding.samples_per_file}
