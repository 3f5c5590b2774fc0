"""What the user asks: the options of `bw`, in base units and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ingest import ladder
from ingest.engine.value import Input
from ingest.errors import UsageError, nearest
from ingest.formula import check_value, unit_of
from ingest.ladder import BASES, RATE
from ingest.messages import Message, Option
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
            ladder.family_of(self.precision)
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
        from ingest.corpus.ratio import bytes_per_token_of

        ratio = bytes_per_token_of(bytes_per_token)
    if str(sample_bytes).endswith(".json"):
        from ingest.corpus.sizes_file import sample_sizes_in

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
