"""What a site file says that can hardly be: warnings, each with the place in the file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.site.reading import Site
from ingest.site.sheet import Row
from ingest.units import display

#: Reads per second and node beyond what one NVMe drive serves on the node itself.
MOST_READS = 1_000_000
#: Trainings of language models are published up to this share of the dense peak.
MOST_UTILIZATION = 0.6
#: Times that differ by more than this share contradict each other.
SAME_TIME = 0.2


def doubts(site: Site, jobs: Sequence[Row]) -> list[str]:
    """Warnings about jobs whose figures contradict each other or what machines do."""
    return [*_drains(site, jobs), *(line for row in jobs for line in _of_job(site, row))]


def _drains(site: Site, jobs: Sequence[Row]) -> Iterator[str]:
    """Asynchronous checkpoints drain while others write, whatever `overlap` says."""
    draining = [row.name for row in jobs if row.words.get("mode") == "async"]
    writers = [row for row in jobs if row.step("job_write_bandwidth") is not None]
    alone = len(writers) == 1 and writers[0].known.value("concurrent_runs") == 1
    if draining and not alone and not site.section("overlap").get("checkpoints"):
        keys = ("overlap", "checkpoints") if "checkpoints" in site.section("overlap") else ("jobs", draining[0], "checkpoint")
        yield (
            f"{site.place(keys)}: asynchronous checkpoints ({_listed(draining)}) drain while other runs write, so writes do "
            "overlap: R-WRITE-03 is what they ask for on average; overlap.checkpoints: true makes their sum mandatory"
        )


def _of_job(site: Site, row: Row) -> Iterator[str]:
    keys = ("jobs", row.name)
    reads, size = row.step("node_reads_per_second"), row.step("read_request_bytes")
    if reads is not None and size is not None and reads.value > MOST_READS:
        yield (
            f"{site.place(keys)}: {reads.value:,.0f} reads of {display(size.value, 'B')} each second on every node are more "
            "than a node does; say samples_per_file of its data, or io_size and pattern: sequential of the job"
        )
    used = row.step("implied_flops_utilization") if row.words.get("basis") != "measured" else None
    if used is not None and used.value > MOST_UTILIZATION:
        yield (
            f"{site.place(keys)}: its rate is {used.value * 100:.3g} % of the peak of the GPU, published trainings reach up to "
            f"{MOST_UTILIZATION * 100:.0f} %; say efficiency, or achieved in FLOP/s"
        )
    said, found = site.section("jobs")[row.name].get("checkpoint", {}).get("duration"), row.step("run_seconds")
    if said is not None and found is not None and not close(said.value, found.value):
        yield (
            f"{site.place((*keys, 'checkpoint', 'duration'))}: found {display(said.value, 's')}, but a run takes "
            f"{display(found.value, 's')} at its rate; expected them to agree"
        )


def close(one: float, other: float) -> bool:
    """Whether two times agree."""
    return abs(one - other) <= SAME_TIME * max(one, other)


def absent_data(site: Site, years: int) -> list[str]:
    """Jobs on data sets that are not on storage in some year of the plan.

    Raises:
        IngestError: one that is there in no year; with its line.
    """
    found = []
    for name, job in site.section("jobs").items():
        described = site.section("datasets").get(job.get("data", ""), {})
        start: datetime.date | None = site.data.get("start")
        missing = [year for year in range(start.year, start.year + years + 1) if not there(described, year)] if start else []
        said = f"{job.get('data')} is not on storage in {_listed(map(str, missing))}"
        if len(missing) > years:
            site.refuse(("jobs", name, "data"), f"{said}, expected years of the plan between its `from` and `until`")
        if missing:
            found.append(f"{site.place(('jobs', name, 'data'))}: {said}; the job is planned for every year")
    return found


def there(described: Mapping[str, Any], year: int) -> bool:
    """Whether a data set is on storage in a year."""
    first, last = (described.get(word) for word in ("from", "until"))
    return (first is None or first.year <= year) and (last is None or year <= last.year)


def _listed(names: Any) -> str:
    all_names = list(names)
    return ", ".join(all_names[:5]) + (f" and {len(all_names) - 5:,} more" if len(all_names) > 5 else "")
