"""The preparation of a data set as a job: passes over its origin, scratch space, rate of a core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.catalog.records import Pipeline
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import read_measurement
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed
from ingest.errors import IngestError
from ingest.site.site_file import Keys, Site
from ingest.site.transfers import times_of_dataset
from ingest.sizing.evidence_ladder import from_catalog

#: keys of a preparation and the quantity of each
OWN = {
    "passes": "preparation_passes",
    "intermediate": "intermediate_share",
    "documents": "preparation_documents",
    "hashes": "dedup_hashes",
    "scratch": "preparation_scratch_bytes",
    "rate": "preparation_rate",
}
#: what a pipeline of the catalogs says of a preparation
OF_PIPELINE = ("preparation_passes", "dedup_hashes", "dedup_hash_bytes")
DEFAULTS = {
    "preparation_passes": assumed(1, "the preparation reads its origin once", "preparation.passes"),
    "intermediate_share": assumed(0, "the preparation writes no intermediate files", "preparation.intermediate"),
    "preparation_documents": Input(0, note="no signatures of documents are kept"),
    "dedup_hashes": Input(1, note="no signatures of documents are kept"),
}


def place_preparation(keys: Keys, described: Mapping[str, Any], known: Quantities, site: Site, catalog: Catalog) -> None:
    """Give a data set what its key `preparation` says: what it reads, writes, keeps meanwhile, and how fast a core is.

    Raises:
        IngestError: an unknown pipeline, or a measurement without a rate; with its line.
    """
    job = described["preparation"]
    given = {quantity: job[key] for key, quantity in OWN.items() if key in job}
    if "pipeline" in job:
        given = {**_of_pipeline(job["pipeline"], (*keys, "pipeline"), site, catalog), **given}
    if "documents" in job and "dedup_hashes" not in given:
        site.refuse((*keys, "documents"), f"the pipeline {job['pipeline']} has no number of hashes, expected `hashes`")
    if "measured" in job:
        given["preparation_rate"] = _measured(job["measured"], (*keys, "measured"), site)
    scratch = "preparation_scratch_bytes" in given
    usual = {name: item for name, item in DEFAULTS.items() if not (scratch and name != "preparation_passes")}
    known.give({**usual, **given, **times_of_dataset(described)})
    known.link("prepared_copies", known.step("data_copies"))


def _of_pipeline(name: str, keys: Keys, site: Site, catalog: Catalog) -> dict[str, Input]:
    try:
        found = catalog.get(Pipeline, name)
    except IngestError as error:
        site.refuse(keys, str(error))
    values = {quantity: getattr(found, quantity) for quantity in OF_PIPELINE}
    return {quantity: from_catalog(value) for quantity, value in values.items() if value is not None}


def _measured(name: str, keys: Keys, site: Site) -> Input:
    """The rate at which one core tokenized in a measurement."""
    try:
        rate = read_measurement(site.folder / name, "measured").rate_of_core()
    except IngestError as error:
        site.refuse(keys, str(error))
    return rate._replace(origin="user", where=f"measured: {name}: rate_of_core")
