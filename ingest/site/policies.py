"""What a site file says of a job's checkpoints: each number an input with its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ingest.checkpoint_given import kept_by_policy
from ingest.checkpointing import QUANTITIES
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.formula import Step, unit_of
from ingest.site.reading import Keys
from ingest.site.sheet import link
from ingest.units import parse

#: keys of a checkpoint policy that say how large a checkpoint is, and the quantity that each is
SIZED = {"parameters": "parameters", "bytes": "checkpoint_bytes"}
#: what decisions hold against each other, beside what the row of a job takes
DECIDING = ("waste_left_for_dumps", "synchronous_waste", "asynchronous_waste", "drain_bandwidth")


class Policy(NamedTuple):
    """The checkpoints of a job.

    Attributes:
        mode: `sync` or `async`.
        said: what the site file says, by quantity.
        steps: what follows, by quantity.
    """

    mode: str
    said: Mapping[str, Step]
    steps: Mapping[str, Step]


def said_in(policy: Mapping[str, Any], keys: Keys) -> Quantities:
    """The numbers that a checkpoint policy states, each with its key in the site file.

    Args:
        policy: as it was read.
        keys: where it stands.
    """
    named = {**QUANTITIES, **SIZED}
    found = {named[key]: item for key, item in policy.items() if isinstance(item, Input)}
    for name, written in policy.get("set", {}).items():
        found[name] = _said(parse(written, unit_of(name), f"set {name}"), (*keys, "set", name))
    kept = kept_by_policy(policy.get("keep"))
    if isinstance(policy.get("keep"), str):
        # Several numbers stand in one text: none of them has a key of its own.
        found |= {name: item._replace(note=f"of {'.'.join((*keys, 'keep'))}") for name, item in kept.items()}
    else:
        found |= {name: item._replace(where=".".join((*keys, "keep"))) for name, item in kept.items()}
    known = Quantities(found)
    for name in found:
        known.step(name)
    return known


def _said(value: float, keys: Keys) -> Input:
    return Input(value, origin="user", where=".".join(keys))


def in_place_of(said: Mapping[str, Step]) -> dict[str, Step]:
    """The given quantities of an answer that are what a policy says: a rate that it states is the rate of the dumps."""
    rate = said.get("write_bandwidth")
    return {**said, **({"checkpoint_write_bandwidth": link("checkpoint_write_bandwidth", rate)} if rate is not None else {})}
