"""What the user asks: the options of `bw`, in base units and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import ingest.formulas.bandwidth
import ingest.formulas.quantities
import ingest.formulas.throughput  # noqa: F401  registers the formulas
from ingest import ladder
from ingest.errors import UsageError, nearest
from ingest.formula import check_value, unit_of
from ingest.ladder import BASES, RATE, Given
from ingest.messages import Message, Option
from ingest.units import parse

Written = str | float

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
    sample_sizes: Mapping[str, Given] = field(default_factory=dict)
    flops_per_sample: float | None = None
    bytes_per_token: Given | None = None
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


def question_of(options: Mapping[str, Any]) -> Question:
    """Return the question that options stand for; sizes and rates may be written as people write them.

    >>> question_of({"sample_bytes": "16 MiB", "set": ["nodes=2"]}).settings
    {'nodes': 2}

    Raises:
        UsageError: a value that is no number, or in another unit.
    """
    known = {name: value for name, value in options.items() if value is not None and name not in ("set", "catalogs")}
    if "bytes_per_token" in known:
        from ingest.corpus.ratio import bytes_per_token_of

        known["bytes_per_token"] = bytes_per_token_of(known["bytes_per_token"])
    if str(known.get("sample_bytes", "")).endswith(".json"):
        from ingest.corpus.sizes_file import sample_sizes_in

        known["sample_sizes"] = sample_sizes_in(Path(known["sample_bytes"]))
        known["sample_bytes"] = known["sample_sizes"]["sample_bytes"].value
    for option, name in Question.QUANTITIES.items():
        if option in known:
            known[option] = parse(known[option], unit_of(name), f"--{option.replace('_', '-')}")
    return Question(**known, settings=settings_of(options.get("set")))


def settings_of(given: Mapping[str, Written] | str | Sequence[str] | None) -> dict[str, float]:
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
