"""The tables of evidence in the method chapter and the README, computed from the catalogs."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from common import CATALOG, ROOT, limits, table

from ingest.architecture.registry import families
from ingest.catalog.records import Failures, Family, Gpu, Model, Node, Optimizer, Protocol, Recipe, Scaling, Storage
from ingest.engine.expression import prose
from ingest.engine.registry import FORMULAS
from ingest.engine.value import Input
from ingest.sizing import evidence_ladder
from ingest.sizing.published_rates import LONE, NEWEST, RESIZED, PublishedRates, series_of
from ingest.sizing.transfer import transferred
from ingest.validation import Case, ValidatedSet, validate


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{share * 100:.1f} %"


class TransferCase(NamedTuple):
    """A measured rate and its prediction by the transferred level without that GPU."""

    family: str
    group: str
    measured: float
    given: Input

    @property
    def inside(self) -> bool:
        """Whether the measured rate lies in the range."""
        low, high = self.given.low or self.given.value, self.given.high or self.given.value
        return low <= self.measured <= high


def transfer_cases() -> Iterator[TransferCase]:
    """Every measured rate that other GPUs can predict under the same protocol."""
    for model in CATALOG.all(Model):
        rates = CATALOG.rates(model)
        for precision in dict.fromkeys(evidence_ladder.family_of(rate.precision)[0] for rate in rates):
            for rate in (one.few for one in series_of(model, rates, precision)):
                gpu, form = CATALOG.get(Gpu, rate.gpu), CATALOG.get(Protocol, rate.protocol).form
                rung = None
                if form != "emulation":
                    rung = transferred(PublishedRates(model, CATALOG), gpu, precision, rate.protocol)
                if rung is None:
                    continue
                given = rung.given[evidence_ladder.RATE]
                yield TransferCase(model.family, _relation(rung.warnings), rate.value, given)


def _relation(warnings: Sequence[str]) -> str:
    """How the source GPUs relate to the target, from the warnings of the transfer."""
    if not warnings:
        return "same vendor, at most 4× apart"
    if any("NVLink" in line for line in warnings):
        return "same vendor, flagged (recommendation models on PCIe GPUs)"
    return "across vendors, no protocol in common, or more than 4× apart"


def _errors(groups: Mapping[str, list[TransferCase]]) -> Iterator[tuple[str, ...]]:
    for name, cases in groups.items():
        error = statistics.median(abs(case.given.value / case.measured - 1) for case in cases)
        ratios = sorted(case.measured / case.given.value for case in cases)
        ends = [ratios[round(share * (len(ratios) - 1))] for share in (0.1, 0.5, 0.9)]
        inside = sum(case.inside for case in cases) / len(cases)
        yield (name, str(len(cases)), percent(error), percent(inside), *(f"{end:.2f}" for end in ends))


ERROR_COLUMNS = ("cases", "median error", "inside the range", "measured ÷ predicted: P10", "P50", "P90")


def transfer_by_relation() -> str:
    """Transfer errors by how the source GPUs relate to the target."""
    groups: dict[str, list[TransferCase]] = {}
    for case in transfer_cases():
        groups.setdefault(case.group, []).append(case)
    return table(("source GPUs", *ERROR_COLUMNS), _errors(groups))


def validation_table() -> str:
    """The sets of `ingest validate`."""
    rows = [
        (f"`{one.name}`", one.title, one.cases, one.within_tolerance, f"{one.median_absolute_error * 100:.2f} %", one.bar_text)
        for one in validate(catalogs=CATALOG).sets
    ]
    return table(("set", "published figures", "cases", "within", "median error", "bar"), rows)


def protocol_spread() -> str:
    """How far protocols disagree on the same model, GPU and precision."""
    rows = []
    for name, forms in (("training runs only", {"emulation"}), ("emulated rates included", set())):
        spreads = []
        for model in CATALOG.all(Model):
            rates = [rate for rate in CATALOG.rates(model) if CATALOG.get(Protocol, rate.protocol).form not in forms]
            for precision in dict.fromkeys(evidence_ladder.family_of(rate.precision)[0] for rate in rates):
                found: dict[str, list[float]] = {}
                for rate in (one.few for one in series_of(model, rates, precision)):
                    found.setdefault(rate.gpu, []).append(rate.value)
                spreads += [max(values) / min(values) for values in found.values() if len(values) > 1]
        rows.append((name, len(spreads), f"{statistics.median(spreads):.2f}×", f"{max(spreads):.1f}×"))
    return table(("protocols", "pairs of model and GPU", "median fastest ÷ slowest", "largest"), rows)


def scaling_table() -> str:
    """Share of the rate per GPU that larger jobs keep."""
    rows = [
        (one.name, name.replace("-", " "), f"{value.value:g}", limits(value), value.where)
        for one in CATALOG.all(Scaling)
        for name, value in one.factors.items()
    ]
    return table(("scaling", "GPUs", "factor", "range", "from"), rows)


def step_floors() -> str:
    """The fixed part of a step by class, and how well larger jobs follow from smaller ones."""
    errors: dict[str, list[float]] = {}
    for case in validate("scaling", catalogs=CATALOG).sets[0].results:
        family = CATALOG.get(Model, case.id.partition(" on ")[0]).family
        errors.setdefault(family, []).append(abs(case.error))
    rows = []
    for one in CATALOG.all(Family):
        found, floor = sorted(errors.get(one.id, [])), one.step_floor
        shown = [percent(found[round(share * (len(found) - 1))]) if len(found) > 1 else "" for share in (0.5, 0.9)]
        if floor is not None:
            rows.append((one.name, f"{floor.value:g}", limits(floor), str(len(found)), *shown))
    return table(("class", "floor", "range", "pairs of sizes", "median error", "P90"), rows)


def measured_floors() -> str:
    """How far a measured rate may be off at the least, and when."""
    return table(("rate", "factor either way"), [(one.why, f"×{one.factor:.3g}") for one in (NEWEST, LONE, RESIZED)])


def _rounds(heading: str, of: Callable[[Case], str]) -> str:
    """How well rounds of a benchmark follow from earlier ones, lower bounds counted as such and as rates."""
    groups: dict[str, list[Case]] = {}
    for case in validate("rounds", catalogs=CATALOG).sets[0].results:
        groups.setdefault(of(case), []).append(case)
    if heading == "round":
        *_, last, newest = sorted(groups)
        groups[f"{last} and {newest}"] = [*groups[last], *groups[newest]]
    rows = []
    for name, cases in sorted(groups.items()):
        found = ValidatedSet(name, "", tuple(cases), {})
        rows.append(_judged(name, found))
        rows += [_judged(f"{name}, bounds as rates", found.bounds_as_rates)] if any(case.bound for case in cases) else []
    return table((heading, "cells", "bounds, met", "median error", "P80", "inside", "width", "beyond ×1.8"), rows)


def _judged(name: str, found: ValidatedSet) -> tuple[str, ...]:
    """How well a group of cells follows from earlier rounds."""
    bounds, met = sum(case.bound for case in found.results), found.cases - len(found.judged)
    far = sum(abs(math.log(case.ours / case.published)) > math.log(1.8) and cell(case)[2] >= 8 for case in found.judged)
    ends = (percent(found.median_absolute_error), percent(found.percentiles["p80"]), percent(found.covered))
    return name, str(found.cases), f"{bounds}, {met}" if bounds else "", *ends, f"×{found.median_width:.2f}", str(far)


def cell(case: Case) -> tuple[str, str, int]:
    """The round, the model and the number of GPUs of a cell."""
    words, number = case.id.split(), re.search(r", ([\d,]+) GPUs: ", case.id)
    assert number is not None
    return words[0], words[1], int(number[1].replace(",", ""))


def rounds() -> str:
    """How well each round of a benchmark follows from the earlier ones."""
    return _rounds("round", lambda case: cell(case)[0])


def rounds_by_class() -> str:
    """How well rounds follow from earlier ones, by class of model."""
    return _rounds("class", lambda case: CATALOG.get(Family, CATALOG.get(Model, cell(case)[1]).family).name)


def counts() -> str:
    """The size of the catalogs."""
    models = CATALOG.all(Model)
    rates = [(model.id, rate) for model in models for rate in CATALOG.rates(model)]
    pairs = {(model, rate.gpu) for model, rate in rates}
    kinds = ((Model, "models"), (Gpu, "accelerators"), (Node, "node types"), (Storage, "storage entries"))
    rows = [(word, len(CATALOG.all(kind))) for kind, word in kinds]
    more = [("measured rates", f"{len(rates):,}"), ("pairs of model and GPU with a rate", len(pairs))]
    more += [("architectures", len(list((ROOT / "catalogs" / "architectures").glob("*.yaml"))))]
    more += [("families of architectures (values of `model_type`)", len(families()))]
    more += [(word, len(CATALOG.all(kind))) for kind, word in ((Optimizer, "optimizers"), (Recipe, "recipes of model states"))]
    more += [("failure rates", len(CATALOG.all(Failures)))]
    return table(("content", "number"), [*rows, *more, ("sources", len(CATALOG.sources))])


def ladder_formulas() -> str:
    """The formulas of the evidence levels."""
    names = (
        "unstalled_samples_per_second_per_gpu",
        "achieved_flops_per_gpu",
        "catalog_transfer_ratio",
        "transfer_ratio",
        "transferred_samples_per_second_per_gpu",
        "samples_per_second_per_gpu_at_size",
        "samples_per_second_per_gpu_in_steps",
        "samples_per_second_per_gpu",
        "ingest_bandwidth_per_gpu",
    )
    lines = [f"{name}\n  = {prose(FORMULAS[name].tree())}" for name in names]
    return "```text\n" + "\n".join(lines) + "\n```"


TABLES: dict[str, Callable[[], str]] = {
    "validation": validation_table,
    "transfer-by-relation": transfer_by_relation,
    "protocol-spread": protocol_spread,
    "scaling": scaling_table,
    "step-floors": step_floors,
    "measured-floors": measured_floors,
    "rounds": rounds,
    "rounds-by-class": rounds_by_class,
    "counts": counts,
    "ladder-formulas": ladder_formulas,
}
