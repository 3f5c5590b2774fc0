"""Plain words where a number alone would mislead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ingest.catalog.records import Storage
from ingest.known import CLIENTS
from ingest.ladder import RATE, family_of
from ingest.measurement import protocol_rates
from ingest.units import display

if TYPE_CHECKING:
    from ingest.estimate import Estimate

#: Below this share of the storage NIC, reading tokens does not size the storage of a language model.
NEGLIGIBLE_SHARE = 0.01


def warnings_for(answer: Estimate) -> list[str]:
    """Return what a buyer should know before using the answer."""
    return [
        line
        for rule in (_basis, _above_peak, _bytes, _partial, _precision, _faster, _tokens, _clients, _nic, _unused)
        for line in rule(answer)
    ]


def _basis(answer: Estimate) -> Iterator[str]:
    if answer.basis == "peak":
        yield "the peak rung is an upper bound: measured trainings stay 2 to 80 times below it; do not buy for it"


def _above_peak(answer: Estimate) -> Iterator[str]:
    share = answer.results.get("implied_flops_utilization")
    if answer.basis in ("measured", "given", "efficiency") and share is not None and (share.high or share.value) > 1:
        yield (
            "the rate exceeds the dense peak by its FLOPs per sample: either these overcount (padding, sequences shorter than "
            "the maximum), or the run used a lower precision than its log states"
        )


def _bytes(answer: Estimate) -> Iterator[str]:
    encoding = answer.question.encoding or ""
    if encoding.endswith("decoded") and answer.question.sample_bytes is None:
        yield "decoded bytes are what the host hands to the GPU, not what storage moves: drop --encoding decoded for storage"


def _partial(answer: Estimate) -> Iterator[str]:
    ratio = answer.question.bytes_per_token
    if ratio is not None:
        from ingest.corpus.result import PART

        if PART in ratio.note:
            yield f"--bytes-per-token was measured on {PART}: files come in the order of their paths, so others may differ"


def _precision(answer: Estimate) -> Iterator[str]:
    if answer.question.precision is None and answer.precision != "bf16" and answer.model is not None:
        yield f"{answer.model.id} has only been measured at {answer.precision}: answered at that precision"


def _faster(answer: Estimate) -> Iterator[str]:
    """A lower precision may have been measured faster, and then asks more of the storage."""
    if answer.basis != "measured" or answer.model is None or answer.gpu is None or answer.question.protocol:
        return
    rates = [rate for rate in answer.catalog.rates(answer.model) if rate.gpu == answer.gpu.id]
    for precision in dict.fromkeys(family_of(rate.precision)[0] for rate in rates):
        if precision in family_of(answer.precision):
            continue
        found = [rate.value for rate in protocol_rates(answer.model, rates, precision)]
        if found and max(found) > 1.1 * answer.results["samples_per_second_per_gpu"].value:
            rate = f"up to {max(found):,.4g} samples/s per GPU"
            yield f"measured at {precision} too, {rate}: --precision {precision} asks more of the storage"


def _tokens(answer: Estimate) -> Iterator[str]:
    share, job = answer.results.get("storage_nic_share"), answer.results.get("ingest_bandwidth_per_job")
    if answer.model is None or answer.model.family != "llm" or job is None:
        return
    if share is None or share.value < NEGLIGIBLE_SHARE:
        read = display(job.value, job.unit, binary=False)
        yield f"reading tokens is negligible here ({read} for the whole job): checkpoints size this storage"


def _clients(answer: Estimate) -> Iterator[str]:
    one, many = (answer.results.get(name) for name in CLIENTS)
    if one is None or many is None or one.value <= 1:
        return
    clients = (answer.catalog.get(Storage, name).client_read_bandwidth for name in CLIENTS.values())
    reach = [display(client.value, client.unit, binary=False) for client in clients if client is not None]
    beyond = f"and nconnect ({reach[1]}) does not either" if many.value > 1 else f"nconnect ({reach[1]}) does"
    yield f"one NFS/TCP mount per node ({reach[0]}) does not carry this, {beyond}"


def _nic(answer: Estimate) -> Iterator[str]:
    share, node = answer.results.get("storage_nic_share"), answer.node
    if share is None or node is None or share.value <= 1:
        return
    text = f"the reads need {share.value:.1f} times the storage NICs of {node.name} ({node.storage_nics})"
    compute = node.compute_nic_bandwidth
    if compute is not None and not node.storage_nics.startswith("shared"):
        text += f"; its compute NICs ({display(compute.value, compute.unit, binary=False)}) are not the storage path"
    yield text


def _unused(answer: Estimate) -> Iterator[str]:
    asked = answer.question
    if asked.protocol and answer.rungs[0][0].given.keys() != {RATE}:
        yield "--protocol changes nothing here: the rate does not come from a measurement"
    if asked.protocol and asked.samples_per_second is not None:
        yield "--protocol changes nothing here: the rate is yours"
    if asked.encoding and asked.sample_bytes is not None:
        yield "--encoding changes no bytes here: --sample-bytes is given"
    options = {name: option for option, name in asked.QUANTITIES.items() if getattr(asked, option) is not None}
    of_text = {"tokens_per_sample"} if asked.bytes_per_token is not None else set()
    for name in [*asked.settings, *options]:
        if name not in answer.used and name not in of_text:
            shown = f"--set {name}" if name in asked.settings else "--" + options[name].replace("_", "-")
            yield f"{shown} changes nothing here: the results do not depend on it"
