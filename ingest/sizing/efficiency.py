"""The efficiency level: dense peak × a model FLOPs utilization ÷ FLOPs per sample."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.catalog.records import Family, Gpu, Model
from ingest.catalog.store import Catalog
from ingest.engine.registry import solve
from ingest.engine.value import Evidence, Input
from ingest.sizing.evidence_ladder import FAMILIES, RATE, EvidenceLevel, family_of, from_catalog, median, peak_of
from ingest.sizing.published_rates import part_of, protocol_rates, rates_of
from ingest.sizing.rules import told
from ingest.units import exact


def efficiency(
    catalog: Catalog, model: Model, gpu: Gpu, precision: str, flops: Input | None, protocol: str | None = None
) -> EvidenceLevel | None:
    """Return the efficiency level: from the model's own utilization if it is known, else from that of its class.

    A rate of the model on this GPU that is only recalled is such a utilization, and comes first.
    """
    peak = peak_of(gpu, precision)
    if peak is None or flops is None:
        return None
    warnings: tuple[str, ...] = ()
    shares = list(utilizations(catalog, model, precision))
    remembered = _recalled(catalog, model, gpu, precision, protocol)
    if flops.origin == "user" and (shares or remembered):
        # These were derived with the FLOPs per sample of the catalog and do not apply to others.
        return None
    if remembered is not None:
        given = remembered
        warnings = (told("W64"),)
    elif shares:
        values = [share.value for share in shares]
        note = f"utilization of {model.name} on {len(shares)} GPU{'s' if len(shares) > 1 else ''}"
        given = Input(
            median(values), min(values), max(values), source="ingest-rates", grade="derived", note=note, parts=tuple(shares)
        )
    else:
        shared = catalog.referred(Family, model.family, by=model.path).efficiency
        if shared is None or precision not in FAMILIES[0]:
            # The utilization of a class is a share of the 16-bit peak.
            return None
        given = from_catalog(shared)._replace(note=f"utilization of its class ({model.family}), not of this model")
    known = {"peak_flops_per_gpu": peak, "model_flops_utilization": given, "flops_per_sample": flops}
    return EvidenceLevel("efficiency", known, given.note, warnings)


def _recalled(catalog: Catalog, model: Model, gpu: Gpu, precision: str, protocol: str | None) -> Input | None:
    """The utilization from a rate on this GPU that is recalled and has not been read again."""
    rows = [rate for rate in catalog.rates(model) if rate.grade == "assumed" and rate.gpu == gpu.id]
    found = [rate for rate in protocol_rates(model, rows, precision) if protocol in (None, rate.protocol)]
    if not found:
        return None
    part = part_of(catalog, model, found[0])
    share = _share(model, gpu, precision, part.value)
    if share is None:
        return None
    note = (
        f"a rate of {model.name} on {gpu.id} from memory, not checked against its source: {exact(part.value)} samples/s per GPU"
    )
    return Input(share, source=part.source, where=part.where, grade="assumed", note=note)


def _share(model: Model, gpu: Gpu, precision: str, rate: float) -> float | None:
    """The share of the dense peak that a rate of a model reaches; None if its FLOPs or the peak are unknown."""
    peak = peak_of(gpu, precision)
    if peak is None or model.flops_per_sample is None:
        return None
    known = {RATE: rate, "flops_per_sample": model.flops_per_sample.value, "peak_flops_per_gpu": peak.value}
    return float(solve("implied_flops_utilization", known))


def utilizations(catalog: Catalog, model: Model, precision: str) -> Iterator[Evidence]:
    """The share of the dense peak that training runs of a model reached, one per GPU."""
    rates = protocol_rates(model, rates_of(catalog, model), precision)
    for name in dict.fromkeys(rate.gpu for rate in rates):
        own = [rate for rate in rates if rate.gpu == name]
        gpu = catalog.referred(Gpu, name, by=model.path.with_suffix(".csv"))
        share = _share(model, gpu, family_of(precision)[0], median(rate.value for rate in own))
        if share is not None:
            row = own[0].rows[0]
            yield Evidence(name, share, row.source, row.where, "derived")
