"""The rules of `ingest.sizing.rules` held against an answer of `bw`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.catalog.records import Storage
from ingest.engine.messages import Message, Option
from ingest.sizing.evidence_ladder import RATE, family_of
from ingest.sizing.job import CLIENTS
from ingest.sizing.published_rates import protocol_rates
from ingest.sizing.rules import Finding, Valued, applying, finding, unused
from ingest.units import display

if TYPE_CHECKING:
    from ingest.sizing.bandwidth import Estimate


def warnings_for(answer: Estimate) -> list[Message]:
    """What the reader of an answer should know, the most severe first."""
    found = [*_compared(answer), *_of_sample(answer), *_precision(answer), *_clients(answer), *_without_effect(answer)]
    return [one.message() for one in applying(found)] + [unused(option) for option in _unused_options(answer)]


def _compared(answer: Estimate) -> Iterator[Finding | None]:
    """What results exceed, or stay below."""
    words = {"basis": answer.basis, "family": answer.model.family if answer.model is not None else ""}
    yield finding("W01", words=words)
    yield finding("W02", answer.results.get, words)
    job = answer.results.get("ingest_bandwidth_per_job")
    if job is not None:
        yield finding("W07", answer.results.get, words, read=display(job.value, job.unit, binary=False))
    if answer.node is not None:
        node = f"{answer.node.name} ({answer.node.storage_nics})"
        compute = answer.node.compute_nic_bandwidth
        if compute is not None and not answer.node.storage_nics.startswith("shared"):
            rate = display(compute.value, compute.unit, binary=False)
            node += f"; its compute NICs ({rate}) are not the storage path"
        yield finding("W09", answer.results.get, words, node=node)


def _of_sample(answer: Estimate) -> Iterator[Finding | None]:
    """What the bytes of a sample stand for."""
    asked = answer.question
    if (asked.encoding or "").endswith("decoded") and asked.sample_bytes is None:
        yield finding("W03", words={"sample": "decoded"})
    if asked.bytes_per_token is not None:
        from ingest.corpus.measurement_file import PARTIAL

        if PARTIAL in asked.bytes_per_token.note:
            yield finding("W04", words={"text": "part"}, part=PARTIAL)


def _precision(answer: Estimate) -> Iterator[Finding | None]:
    """A lower precision may have been measured faster, and then asks more of the storage."""
    asked, model = answer.question, answer.model
    if asked.precision is None and answer.precision != "bf16" and model is not None:
        yield finding("W05", words={"precision": "the only one"}, model=model.id, precision=answer.precision)
    if answer.basis != "measured" or model is None or answer.gpu is None or asked.protocol:
        return
    rates = [rate for rate in answer.catalog.rates(model) if rate.gpu == answer.gpu.id]
    for precision in dict.fromkeys(family_of(rate.precision)[0] for rate in rates):
        measured = [rate.value for rate in protocol_rates(model, rates, precision)]
        if measured and precision not in family_of(answer.precision):
            known: dict[str, Valued | float | None] = {**answer.results, "rate_at_precision": max(measured)}
            yield finding("W06", known, precision=precision)


def _clients(answer: Estimate) -> Iterator[Finding | None]:
    """Whether a storage client of a node carries what it reads."""
    many = answer.results.get("nfs_nconnect_client_share")
    if many is None:
        return
    clients = (answer.catalog.get(Storage, name).client_read_bandwidth for name in CLIENTS.values())
    reach = [display(client.value, client.unit, binary=False) for client in clients if client is not None]
    other = f"and nconnect ({reach[1]}) does not either" if many.value > 1 else f"nconnect ({reach[1]}) does"
    yield finding("W08", answer.results.get, one=reach[0], other=other)


def _without_effect(answer: Estimate) -> Iterator[Finding | None]:
    """Options of words that change nothing."""
    asked = answer.question
    if asked.protocol and answer.rungs[0][0].given.keys() != {RATE}:
        yield finding("W10", words={"protocol": "not measured"})
    if asked.protocol and asked.samples_per_second is not None:
        yield finding("W11", words={"protocol": "rate given"})
    if asked.encoding and asked.sample_bytes is not None:
        yield finding("W12", words={"encoding": "bytes given"})


def _unused_options(answer: Estimate) -> Iterator[Option]:
    """Options that are quantities, and settings, on which no result rests."""
    asked = answer.question
    options = {name: option for option, name in asked.QUANTITIES.items() if getattr(asked, option) is not None}
    of_text = {"tokens_per_sample"} if asked.bytes_per_token is not None else set()
    for name in [*asked.settings, *options]:
        if name not in answer.used and name not in of_text:
            yield Option(f"set.{name}" if name in asked.settings else options[name])
