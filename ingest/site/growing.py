"""Growth: the user's factors, or the published ones for the class that they were published for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.catalog.store import Catalog
from ingest.engine.value import Input
from ingest.rules import applying, finding, listed
from ingest.site.jobs import family_of
from ingest.site.reading import Keys, Site

PUBLISHED_FOR = "recsys"
_WHERE = "growth of a recommender fleet over two years"
_PUBLISHED = {
    "capacity_growth_factor": Input(2, source="zhao2022", where=_WHERE, grade="assumed", note="capacity ×2 in two years"),
    "bandwidth_growth_factor": Input(4, source="zhao2022", where=_WHERE, grade="assumed", note="bandwidth ×4 in two years"),
    "growth_period_seconds": Input(63_115_200, source="zhao2022", where=_WHERE, grade="assumed", note="two years"),
}
_KEYS = {"capacity": "capacity_growth_factor", "bandwidth": "bandwidth_growth_factor", "every": "growth_period_seconds"}


@dataclass(frozen=True)
class Growth:
    """How jobs and data sets grow: quantities by name of the job or data set.

    Attributes:
        jobs, datasets: what each grows by; nothing where it does not.
        warnings: where published factors were not applied.
    """

    jobs: Mapping[str, Mapping[str, Input]]
    datasets: Mapping[str, Mapping[str, Input]]
    warnings: tuple[str, ...] = ()

    def of_job(self, name: str) -> Mapping[str, Input]:
        """What a job grows by."""
        return self.jobs.get(name, {})

    def of_dataset(self, name: str) -> Mapping[str, Input]:
        """What a data set grows by."""
        return self.datasets.get(name, {})


def growth_of(site: Site, catalog: Catalog) -> Growth:
    """Read who grows by what.

    Raises:
        IngestError: published factors for a class that they were not published for; with the line.
    """
    jobs = site.section("jobs")
    recommenders = {name for name, job in jobs.items() if family_of(job, catalog) == PUBLISHED_FOR}
    theirs = {jobs[name]["data"] for name in recommenders if "data" in jobs[name]}
    shared = site.data.get("growth")
    if shared == "published" and not recommenders:
        site.refuse(("growth",), "published factors hold for recommenders and there is none here, expected factors of your own")
    found = {
        "jobs": {name: _of(site, ("jobs", name), job, shared, name in recommenders) for name, job in jobs.items()},
        "datasets": {
            name: _of(site, ("datasets", name), one, shared, name in theirs) for name, one in site.section("datasets").items()
        },
    }
    left = sorted(jobs.keys() - recommenders)
    without = finding("W38", words={"growth": str(shared)}, jobs=listed(left)) if left else None
    return Growth(found["jobs"], found["datasets"], tuple(one.message() for one in applying([without])))


def _of(site: Site, keys: Keys, described: Mapping[str, Any], shared: Any, recommender: bool) -> dict[str, Input]:
    own = described.get("growth", shared)
    if own is None:
        return {}
    if own != "published":
        return {_KEYS[key]: item for key, item in own.items()}
    if recommender:
        return dict(_PUBLISHED)
    if "growth" in described:
        site.refuse((*keys, "growth"), "published factors hold for recommenders only, expected factors of your own")
    return {}
