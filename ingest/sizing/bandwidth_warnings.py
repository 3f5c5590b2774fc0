"""The rules of `ingest.sizing.rules` applied to the results of `bw`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ingest.catalog.records import Storage
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import PARTIAL
from ingest.engine.messages import Message, Option
from ingest.engine.value import Quantity
from ingest.sizing.evidence_choice import RateBasis
from ingest.sizing.evidence_ladder import RATE, family_of
from ingest.sizing.job import CLIENTS
from ingest.sizing.published_rates import protocol_rates
from ingest.sizing.rules import Finding, Valued, applying, finding, unused
from ingest.units import display

Results = Mapping[str, Quantity]


def warnings_for(basis: RateBasis, results: Results, used: Collection[str], catalog: Catalog) -> list[Message]:
    """Return the warnings about the results of a job, the most severe first.

    Args:
        basis: the evidence that the results follow from.
        results: quantities by name.
        used: names of the inputs on which the results depend.
        catalog: where clients and rates are looked up.
    """
    found = [
        *_of_results(basis, results),
        *_of_samples(basis),
        *_of_precision(basis, results, catalog),
        *_of_clients(results, catalog),
        *_without_effect(basis),
    ]
    return [one.message() for one in applying(found)] + [unused(option) for option in _unused_options(basis, used)]


def _of_results(basis: RateBasis, results: Results) -> Iterator[Finding | None]:
    words = {"basis": basis.levels[0].basis, "family": basis.model.family if basis.model is not None else ""}
    yield finding("W01", words=words)
    yield finding("W02", results.get, words)
    read = results.get("ingest_bandwidth_per_job")
    if read is not None:
        yield finding("W07", results.get, words, read=display(read.value, read.unit, binary=False))
    if basis.node is not None:
        node = f"{basis.node.name} ({basis.node.storage_nics})"
        compute = basis.node.compute_nic_bandwidth
        if compute is not None and not basis.node.storage_nics.startswith("shared"):
            rate = display(compute.value, compute.unit, binary=False)
            node += f"; its compute NICs ({rate}) are not the storage path"
        yield finding("W09", results.get, words, node=node)


def _of_samples(basis: RateBasis) -> Iterator[Finding | None]:
    if (basis.job.encoding or "").endswith("decoded") and basis.job.sample_bytes is None:
        yield finding("W03", words={"sample": "decoded"})
    if basis.job.bytes_per_token is not None and PARTIAL in basis.job.bytes_per_token.note:
        yield finding("W04", words={"text": "part"}, part=PARTIAL)


def _of_precision(basis: RateBasis, results: Results, catalog: Catalog) -> Iterator[Finding | None]:
    """A lower precision may have been measured to be faster, and then needs more of the storage."""
    job, model = basis.job, basis.model
    if job.precision is None and basis.precision != "bf16" and model is not None:
        yield finding("W05", words={"precision": "the only one"}, model=model.id, precision=basis.precision)
    if basis.levels[0].basis != "measured" or model is None or basis.gpu is None or job.protocol:
        return
    rates = [rate for rate in catalog.rates(model) if rate.gpu == basis.gpu.id]
    for precision in dict.fromkeys(family_of(rate.precision)[0] for rate in rates):
        measured = [rate.value for rate in protocol_rates(model, rates, precision)]
        if measured and precision not in family_of(basis.precision):
            known: dict[str, Valued | float | None] = {**results, "rate_at_precision": max(measured)}
            yield finding("W06", known, precision=precision)


def _of_clients(results: Results, catalog: Catalog) -> Iterator[Finding | None]:
    many = results.get("nfs_nconnect_client_share")
    if many is None:
        return
    clients = (catalog.get(Storage, name).client_read_bandwidth for name in CLIENTS.values())
    reach = [display(client.value, client.unit, binary=False) for client in clients if client is not None]
    other = f"and nconnect ({reach[1]}) does not either" if many.value > 1 else f"nconnect ({reach[1]}) does"
    yield finding("W08", results.get, one=reach[0], other=other)


def _without_effect(basis: RateBasis) -> Iterator[Finding | None]:
    job = basis.job
    if job.protocol and basis.levels[0].given.keys() != {RATE}:
        yield finding("W10", words={"protocol": "not measured"})
    if job.protocol and job.samples_per_second is not None:
        yield finding("W11", words={"protocol": "rate given"})
    if job.encoding and job.sample_bytes is not None:
        yield finding("W12", words={"encoding": "bytes given"})


def _unused_options(basis: RateBasis, used: Collection[str]) -> Iterator[Option]:
    """Options that are quantities, and settings, on which no result depends."""
    job = basis.job
    options = {name: option for option, name in job.QUANTITIES.items() if getattr(job, option) is not None}
    of_text = {"tokens_per_sample"} if job.bytes_per_token is not None else set()
    for name in [*job.settings, *options]:
        if name not in used and name not in of_text:
            yield Option(f"set.{name}" if name in job.settings else options[name])
