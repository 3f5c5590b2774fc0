"""Mixtures of data sets by weight, and samples of several parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.engine.derivation_graph import QuantityRow, columns_of
from ingest.engine.registry import Step, solve
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.site.site_file import Keys, Site

#: (part, its key) -> quantity of a sample of several parts
PARTS = {
    ("text", "tokens"): "text_tokens_per_sample",
    ("text", "bytes_per_token"): "text_bytes_per_token",
    ("images", "per_sample"): "images_per_sample",
    ("images", "bytes"): "image_bytes",
    ("audio", "seconds"): "audio_seconds_per_sample",
    ("audio", "bytes_per_second"): "audio_bytes_per_second",
}
#: what all data sets of a mixture have to hold, and the case in which the mixture has it
CASES = {"source_samples": "mixture_of_known_samples", "source_samples_in_file": "mixture_of_known_files"}
NO_PART = Input(0, note="a sample has no such part")
USUAL_WEIGHTS = "samples"
#: what a data set holds once it is in a mixture, and the quantity of its source
OF_SOURCE = {"data_bytes": "source_bytes", "data_samples": "source_samples", "samples_in_file": "source_samples_in_file"}
#: what weights count -> how a source yields its bytes for one of them: given, or from its total
PER_WEIGHT = {
    "samples": ("source_sample_bytes", "data_sample_bytes", "bytes_of_one_sample", "samples"),
    "tokens": ("source_token_bytes", "data_bytes_per_token", "bytes_of_one_token", "tokens"),
}
#: what weights count -> the column of the bytes of the sources, each times its weight
WEIGHTED = {"samples": "weighted_sample_bytes_of_sources", "tokens": "weighted_token_bytes_of_sources"}


def place_parts(parts: Mapping[str, Mapping[str, Input]], known: Quantities) -> None:
    """Let the bytes of a sample be those of its parts."""
    given = {quantity: parts[part][key] for (part, key), quantity in PARTS.items() if part in parts}
    absent = dict.fromkeys((quantity for (_, key), quantity in PARTS.items() if key != "bytes_per_token"), NO_PART)
    known.give({**absent, **given})
    known.state("samples_of_parts")


def place_mixture(
    keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, rows: Mapping[str, QuantityRow]
) -> None:
    """Give a mixture the bytes, samples and files of its data sets, by weight.

    Args:
        keys: of the mixture.
        described: its keys.
        known: its quantities.
        site: the site, for refusals.
        rows: the data sets so far, those of the mixture among them.

    Raises:
        IngestError: a data set whose bytes per sample or per token are not known; with its line.
    """
    by = described.get("by", USUAL_WEIGHTS)
    sources = [_source(keys, name, weight, by, site, rows[name].known) for name, weight in described["mix"].items()]
    known.adopt(columns_of("sources", sources, known.owner))
    known.state("mixture_of_sets", *(("mixture_by_samples",) if by == "samples" else ()))
    for column, case in CASES.items():
        if all(one.step(column) is not None for one in sources) and (by == "samples" or column == "source_samples"):
            known.state(case)


def _source(keys: Keys, name: str, weight: Input, by: str, site: Site, data: Quantities) -> QuantityRow:
    """One data set of a mixture: its weight, its bytes and those of one sample or token."""
    ours, given, formula, needs = PER_WEIGHT[by]
    step = data.find(given) or data.find(formula)
    if step is None:
        site.refuse((*keys, "mix", name), f"its bytes per {needs[:-1]} are not known, expected `{needs}` of {name}")
    own = Quantities({"source_weight": weight}, f"{keys[-1]}: {name}")
    own.link(ours, step)
    for theirs, quantity in OF_SOURCE.items():
        if (found := data.find(theirs)) is not None:
            own.link(quantity, found)
    return QuantityRow(f"{keys[-1]}: {name}", {"of": name}, own)


def source_rows(site: Site, data: Mapping[str, QuantityRow]) -> list[QuantityRow]:
    """The data sets of all mixtures: the weight of each, and its bytes per sample or per token."""
    rows = []
    for name, row in data.items():
        described = site.section("datasets")[name]
        if "mix" not in described:
            continue
        entries = row.known.steps[WEIGHTED[described.get("by", USUAL_WEIGHTS)]].inputs
        for source, entry in zip(described["mix"], entries, strict=True):
            known = Quantities({}, entry.owner)
            known.adopt({step.name: step for step in entry.inputs})
            rows.append(QuantityRow(source, {"mixture": name}, known))
    return rows


def mixed_bytes_of(data: Quantities, tokens_per_sample: Input | None) -> float | None:
    """The bytes of a sample of a mixture, before its job is known in full.

    Args:
        data: the quantities of a data set.
        tokens_per_sample: as the job states them, for a mixture that is weighted by tokens.
    """
    if data.find("mixed_bytes") is None:
        return None
    if "data_sample_bytes" not in data.given and (of_sample := data.find("data_sample_bytes")) is not None:
        return float(of_sample.value)
    if tokens_per_sample is None:
        return None
    given = {"mixed_token_bytes": data.value("mixed_token_bytes"), "tokens_per_sample": tokens_per_sample.value}
    return float(solve("mixed_bytes_of_tokens", given))


def read_of_mixture(data: Quantities) -> dict[str, Step]:
    """What a job reads of a mixture: its samples and files, and of its samples all in an epoch; what is not known is left out.

    Args:
        data: the quantities of the mixture.
    """
    named = {"sample_bytes": "data_sample_bytes", "samples_per_file": "samples_in_file", "dataset_samples": "data_samples"}
    found = {ours: data.find(theirs) for ours, theirs in named.items() if theirs not in data.given}
    return {name: step for name, step in found.items() if step is not None}


def mixed_names(site: Site, name: str) -> Sequence[str]:
    """The data sets that a job reads under a name: those of a mixture, or the one."""
    described = site.section("datasets").get(name, {})
    return [*described["mix"]] if "mix" in described else [name]
