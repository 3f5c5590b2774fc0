"""What the user asks: the options of `bw`, in base units and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ingest.catalog.records import SIZES, Gpu, Model, Node, Value
from ingest.catalog.store import Catalog
from ingest.engine.messages import Message, Option
from ingest.engine.ranges import range_of
from ingest.engine.registry import check_value, solve, unit_of
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, nearest
from ingest.sizing import evidence_ladder
from ingest.sizing.evidence_ladder import BASES, RATE, from_catalog
from ingest.units import parse

Written = str | float
#: Quantities by name, as `--set` takes them.
Settings = Mapping[str, Written] | str | Sequence[str] | None

#: Options that give the rate itself; they make a rung of their own.
RATE_OPTIONS = ("samples_per_second", "achieved", "efficiency")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the user asks, in base units; None where nothing was said.

    Attributes:
        model, gpu, node: id, alias or YAML file.
        basis: `auto` or one of the rungs.
        protocol: id of the protocol whose rate is asked for.
        encoding: an encoding of the data set, one of `stored`, `decoded`, `touched`, or both as `ID/SIZE`.
        bytes_per_token: of the text that is read, instead of ids.
        scaling: `linear` (a requirement assumes that the job scales), `weak` or `strong`.
        settings: any quantity by name; wins over everything else.
    """

    model: str | None = None
    gpu: str | None = None
    nodes: float | None = None
    gpus_per_node: float | None = None
    node: str | None = None
    basis: str = "auto"
    protocol: str | None = None
    encoding: str | None = None
    precision: str | None = None
    efficiency: float | None = None
    achieved: float | None = None
    utilization: float | None = None
    samples_per_second: float | None = None
    sample_bytes: float | None = None
    sample_sizes: Mapping[str, Input] = field(default_factory=dict)
    flops_per_sample: float | None = None
    bytes_per_token: Input | None = None
    cache_hit: float | None = None
    scaling: str = "linear"
    settings: Mapping[str, float] = field(default_factory=dict)

    #: options that are quantities, and which
    QUANTITIES: ClassVar[Mapping[str, str]] = {
        "nodes": "nodes",
        "gpus_per_node": "gpus_per_node",
        "efficiency": "model_flops_utilization",
        "achieved": "achieved_flops_per_gpu",
        "utilization": "accelerator_utilization",
        "samples_per_second": RATE,
        "sample_bytes": "sample_bytes",
        "flops_per_sample": "flops_per_sample",
        "cache_hit": "cache_hit_fraction",
    }

    def checked(self) -> Question:
        """The same question, or the reason why it cannot be asked.

        Raises:
            UsageError: a value out of range, a misspelt choice, or two options that exclude each other.
        """
        for option, name in self.QUANTITIES.items():
            value = getattr(self, option)
            if value is not None:
                check_value(name, value, f"--{option.replace('_', '-')}")
        for name, value in self.settings.items():
            check_value(name, value, f"--set {name}")
        for option, choices in (("basis", ("auto", *BASES)), ("scaling", ("linear", "weak", "strong"))):
            found = getattr(self, option)
            if found not in choices:
                hint = nearest(found, choices)
                raise UsageError(f"--{option}: found '{found}', expected one of {', '.join(choices)}{hint}")
        if self.precision is not None:
            evidence_ladder.family_of(self.precision)
        own = [
            option for option in RATE_OPTIONS if getattr(self, option) is not None or self.QUANTITIES[option] in self.settings
        ]
        if len(own) > 1 or (own and self.basis != "auto" and (own[0] == "samples_per_second" or self.basis != "efficiency")):
            named = ", ".join("--" + option.replace("_", "-") for option in own)
            raise UsageError(f"{named}: gives the rate itself; expected it alone, without another and without --basis")
        if self.model is None and self.samples_per_second is None and self.flops_per_sample is None and not self.settings:
            raise UsageError("--model is missing; expected an id (`ingest catalog list models`), or --samples-per-second")
        return self


def question_of(
    *,
    model: str | None = None,
    gpu: str | None = None,
    nodes: Written | None = None,
    gpus_per_node: Written | None = None,
    node: str | None = None,
    basis: str | None = None,
    protocol: str | None = None,
    encoding: str | None = None,
    precision: str | None = None,
    efficiency: Written | None = None,
    achieved: Written | None = None,
    utilization: Written | None = None,
    samples_per_second: Written | None = None,
    sample_bytes: Written | None = None,
    flops_per_sample: Written | None = None,
    bytes_per_token: Written | Path | None = None,
    cache_hit: Written | None = None,
    scaling: str | None = None,
    set: Settings = None,
) -> Question:
    """Return the question that options of `bw` ask; sizes and rates may be written as people write them.

    >>> question_of(sample_bytes="16 MiB", set=["nodes=2"]).settings
    {'nodes': 2}

    Raises:
        UsageError: a value that is not a number, or in another unit.
    """
    ratio, sizes = None, {}
    if bytes_per_token is not None:
        from ingest.corpus.measurement_file import bytes_per_token_of

        ratio = bytes_per_token_of(bytes_per_token)
    if str(sample_bytes).endswith(".json"):
        from ingest.corpus.measurement_file import sample_sizes_in

        sizes = sample_sizes_in(Path(str(sample_bytes)))
        sample_bytes = sizes["sample_bytes"].value
    return Question(
        model=model,
        gpu=gpu,
        nodes=number_of("nodes", nodes),
        gpus_per_node=number_of("gpus_per_node", gpus_per_node),
        node=node,
        basis=Question.basis if basis is None else basis,
        protocol=protocol,
        encoding=encoding,
        precision=precision,
        efficiency=number_of("efficiency", efficiency),
        achieved=number_of("achieved", achieved),
        utilization=number_of("utilization", utilization),
        samples_per_second=number_of("samples_per_second", samples_per_second),
        sample_bytes=number_of("sample_bytes", sample_bytes),
        sample_sizes=sizes,
        flops_per_sample=number_of("flops_per_sample", flops_per_sample),
        bytes_per_token=ratio,
        cache_hit=number_of("cache_hit", cache_hit),
        scaling=Question.scaling if scaling is None else scaling,
        settings=settings_of(set),
    )


def number_of(option: str, written: Written | None) -> float | None:
    """The value of an option of `bw` in base units; None where it is not given.

    Raises:
        UsageError: a value that is not a number, or in another unit.
    """
    if written is None:
        return None
    return parse(written, unit_of(Question.QUANTITIES[option]), f"--{option.replace('_', '-')}")


def settings_of(given: Settings) -> dict[str, float]:
    """Return quantities by name from `{"name": value}` or `["name=value"]`."""
    if not given:
        return {}
    if isinstance(given, Mapping):
        return {name: parse(value, unit_of(name), f"--set {name}") for name, value in given.items()}
    return dict(parse_setting(text) for text in ([given] if isinstance(given, str) else given))


def parse_setting(text: str) -> tuple[str, float]:
    """Return name and value of `NAME=VALUE`, in the unit of the quantity.

    >>> parse_setting("sample_bytes=16 MiB")
    ('sample_bytes', 16777216)

    Raises:
        UsageError: no such quantity, or a value in another unit.
    """
    name, equals, written = text.partition("=")
    if not equals:
        raise UsageError(Message(Option("set"), f": found '{text}', expected NAME=VALUE"))
    name = name.strip()
    return name, parse(written, unit_of(name), f"--set {name}")


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
    top = evidence_ladder.peak_of(gpu, precision) if gpu is not None else None
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
    if gpus <= evidence_ladder.BASE_GPUS:
        return Input(1, origin="default", note=f"up to {evidence_ladder.BASE_GPUS} GPUs no loss is assumed")
    return from_catalog(evidence_ladder.scaling_factor(catalog, gpus, asked.scaling))


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


#: A range with more points than this is a slip of the pen.
MAX_POINTS = 10_000_000


def names_of(given: Any) -> list[Any]:
    """Return the ids of a list, or of text with commas; anything else stands for itself.

    >>> names_of("h100,a100"), names_of(["h100"]), names_of(None)
    (['h100', 'a100'], ['h100'], [None])
    """
    if isinstance(given, str):
        return given.split(",")
    return list(given) if isinstance(given, (list, tuple)) else [given]


def parse_axis(written: str, unit: str, what: str) -> list[float]:
    """Return the numbers of a list or range, in base units.

    `from..to*k` multiplies, `from..to+k` adds, `from..to` counts by one; lists are separated by commas.

    >>> parse_axis("1..1024*4", "node", "--nodes"), parse_axis("1,8,128", "node", "--nodes")
    ([1, 4, 16, 64, 256, 1024], [1, 8, 128])
    >>> parse_axis("1MB..3MB+1MB", "B/sample", "sample_bytes")
    [1000000, 2000000, 3000000]

    Raises:
        UsageError: a number in another unit, an empty or endless range.
    """
    numbers: list[float] = []
    for part in written.split(","):
        start, dots, rest = part.partition("..")
        if not dots:
            numbers.append(parse(part, unit, what))
            continue
        times, plus = rest.partition("*"), rest.partition("+")
        first, last = parse(start, unit, what), parse((times[0] if times[1] else plus[0]), unit, what)
        if times[1]:
            numbers += _geometric(first, last, parse(times[2], "1", what), what)
        else:
            numbers += _linear(first, last, parse(plus[2], unit, what) if plus[1] else 1, what)
    return numbers


def _geometric(first: float, last: float, factor: float, what: str) -> list[float]:
    if not (first > 0 and last >= first and factor > 1):
        raise UsageError(f"{what}: expected from..to*k with from above 0, to not below from, and k above 1")
    steps = math.floor(math.log(last / first) / math.log(factor) + 1e-9)
    points = [first * factor**step for step in range(steps + 1)]
    return [round(point) if point == round(point) else point for point in points]


def _linear(first: float, last: float, step: float, what: str) -> list[float]:
    if not (last >= first and step > 0) or (last - first) / step >= MAX_POINTS:
        raise UsageError(f"{what}: expected from..to+k with to not below from, k above 0, and fewer than {MAX_POINTS:,} points")
    return [first + step * count for count in range(math.floor((last - first) / step + 1e-9) + 1)]
