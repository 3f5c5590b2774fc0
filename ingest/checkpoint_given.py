"""What is given for checkpoints beside the model: the machine, its failures, and the policy, as said or by default."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.catalog.records import Failures, Gpu
from ingest.catalog.store import Catalog
from ingest.engine.value import Input
from ingest.errors import UsageError, nearest
from ingest.formula import check_value
from ingest.known import machine_of
from ingest.ladder import from_catalog
from ingest.messages import Message, Option
from ingest.units import parse

#: A GPU's host link, where nobody said which GPU.
USUAL_GPU = "h100-sxm"


def of_machine(gpu: str | None, failures: str | None, catalog: Catalog) -> dict[str, Input]:
    """Host link and node of the GPU; failure rate of a node."""
    card, node = machine_of(gpu, None, catalog)
    given: dict[str, Input] = {}
    if card is not None and card.host_link_bandwidth is not None:
        given["device_to_host_bandwidth"] = from_catalog(card.host_link_bandwidth)
    elif card is None:
        usual = catalog.get(Gpu, USUAL_GPU)
        if usual.host_link_bandwidth is not None:
            note = Message(f"the host link of {usual.name}", supply=("gpu",))
            given["device_to_host_bandwidth"] = from_catalog(usual.host_link_bandwidth)._replace(origin="default", note=note)
    if node is not None:
        given["gpus_per_node"] = from_catalog(node.gpus_per_node)
    if failures is not None:
        given |= _failure_rate(catalog.get(Failures, failures))
    return given


def _failure_rate(entry: Failures) -> dict[str, Input]:
    note = Message(f"failure rate of {entry.name}", supply=("checkpoint.mtti", "checkpoint.failures"))
    counted = {"observed_interrupts": entry.interrupts, "observed_seconds": entry.period, "observed_nodes": entry.nodes}
    named = {"failures_per_node_second": entry.rate} if entry.rate is not None else counted
    given = {
        name: from_catalog(value)._replace(origin="default", note=note) for name, value in named.items() if value is not None
    }
    # The rate counts failures of what its source calls a node, so the job is counted in the same nodes.
    return {**given, "gpus_per_node": from_catalog(entry.gpus_per_node)}


def of_policy(options: Mapping[str, float], keep: str | float | None) -> dict[str, Input]:
    """What a user may contest: the waste allowed, the drain window, the restart, how many are kept."""
    default = {
        "waste_allowed": Input(
            0.05, origin="default", note=Message("5 % of the time for dumps and lost work", supply=("checkpoint.waste",))
        ),
        "drain_fraction": Input(
            1, origin="default", note=Message("the whole interval drains", supply=("checkpoint.drain_fraction",))
        ),
        "persistent_every": Input(
            1,
            origin="default",
            note=Message("every checkpoint reaches shared storage", supply=("checkpoint.persistent_every",)),
        ),
        "restart_seconds": Input(
            600, origin="default", note=Message("a restart reads its checkpoint in 10 min", supply=("checkpoint.restart_time",))
        ),
        "keep_last": Input(3, origin="default", note=Message("the newest three are kept", supply=("checkpoint.keep",))),
        "checkpoints_kept_forever": Input(0, note="none is kept for good"),
    }
    if "checkpoint_interval" in options and "write_bandwidth" in options:
        del default["waste_allowed"]
    kept = kept_by_policy(keep)
    if "keep_every" in kept:
        if not {"training_seconds", "checkpoints_written"} & options.keys():
            raise UsageError(
                Message(Option("keep"), ": to keep every m-th the training must have an end; expected --duration, such as 60d")
            )
        del default["checkpoints_kept_forever"]
    return {**default, **kept}


def kept_by_policy(keep: str | float | None) -> dict[str, Input]:
    """How many checkpoints are kept, of `--keep`; nothing where it was not said.

    Raises:
        UsageError: no number, or a word that is not known.
    """
    if keep is None:
        return {}
    names = {"last": "keep_last", "every": "keep_every", "final": "keep_final"}
    found: dict[str, Input] = {}
    for part in str(keep).split(","):
        word, equals, written = part.partition("=")
        word = word.strip() if equals else "last"
        if word not in names:
            raise UsageError(
                Message(Option("keep"), f": found '{part}', expected N, or last=N,every=M,final=1{nearest(word, names)}")
            )
        value = parse(written if equals else part, "1", "--keep")
        found[names[word]] = Input(float(check_value(names[word], value, "--keep")), origin="user")
    return found
