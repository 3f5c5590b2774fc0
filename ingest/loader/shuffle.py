"""Shuffling: request size, host memory and mixing score of a policy; never a claim on accuracy."""

from __future__ import annotations

from ingest.engine.messages import option_error
from ingest.engine.registry import check_value
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import nearest
from ingest.units import parse

#: policy -> the results that it adds
POLICIES = {
    "buffer": ("shuffle_bytes_per_node", "mixing_score"),
    "block": ("shuffle_block_bytes", "mixing_score"),
    "global": ("samples_per_second_per_job",),
}


def shuffle_of(known: Quantities, written: str | None) -> tuple[str, ...]:
    """Set the samples that are shuffled together; returns the results that the policy adds.

    Raises:
        UsageError: an unknown policy, or not a number of samples.
    """
    if written is None:
        return ()
    policy, equals, count = written.partition("=")
    if policy not in POLICIES or (policy == "global") == bool(equals):
        hint = nearest(policy, POLICIES) if policy not in POLICIES else ""
        raise option_error("shuffle", f": found '{written}', expected buffer=N, block=N or global{hint}")
    if policy != "global":
        samples = float(check_value("shuffle_samples", parse(count, "sample", "--shuffle"), "--shuffle"))
        known.give({"shuffle_samples": Input(samples, origin="user")})
    return POLICIES[policy]
