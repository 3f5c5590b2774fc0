"""What moves beside training: loads, preparation, starts, exports, evaluation, checkpoints on the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.value import Input, assumed
from ingest.site.site_file import Site

#: (key of a job, its key) -> quantity
OF_JOB = {
    ("start", "bytes"): "start_bytes",
    ("start", "files"): "start_files",
    ("start", "within"): "start_seconds",
    ("export", "bytes"): "export_bytes",
    ("export", "within"): "export_seconds",
    ("evaluation", "bytes"): "evaluation_bytes",
    ("evaluation", "within"): "evaluation_seconds",
}
#: times that hold unless the site file names others, by the key of a job
TIMES = {
    "start": {"start_seconds": assumed(60, "a job has read its environment within 60 s", "start.within")},
    "export": {"export_seconds": assumed(600, "a model is exported within 10 min", "export.within")},
    "evaluation": {"evaluation_seconds": assumed(60, "an evaluation has read its data within 60 s", "evaluation.within")},
}
#: keys of a data set, the quantity of each, and the time that holds unless the site file names another
OF_DATASET = {
    "load_within": ("load_seconds", assumed(604_800, "a data set is loaded within 7 days", "datasets.*.load_within")),
    "prepare_within": (
        "preparation_seconds",
        assumed(604_800, "a data set is made from its origin within 7 days", "datasets.*.prepare_within"),
    ),
}


def times_of_dataset(described: Mapping[str, Input]) -> dict[str, Input]:
    """The times in which a data set is loaded, and made from its origin where it has one."""
    keys = ("load_within", *(("prepare_within",) if "made_from" in described else ()))
    return {OF_DATASET[key][0]: described.get(key, OF_DATASET[key][1]) for key in keys}


def place_transfers(site: Site, jobs: Sequence[QuantityRow]) -> None:
    """Give each job what its keys `start`, `export` and `evaluation` say, and what its checkpoints keep on the nodes."""
    for row in jobs:
        described, known = site.section("jobs")[row.name], row.known
        for key, times in TIMES.items():
            if key in described:
                said = {quantity: described[one][word] for (one, word), quantity in OF_JOB.items()
                        if one == key and word in described[one]}  # fmt: skip
                known.give({**times, **said})
        known.state("checkpoints_on_nodes" if described.get("checkpoint", {}).get("tier") == "nodes" else "data_on_nodes")
        if row.step("nvme_tier_bytes") is not None:
            known.state("states_on_nodes")
