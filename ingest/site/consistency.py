"""Checks beyond the schema: unknown references, jobs larger than their cluster, conflicting sizes, reversed dates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import nearest
from ingest.site.datasets import SIZES
from ingest.site.jobs import RATES
from ingest.site.site_file import Keys, Site
from ingest.sizing.rules import finding, listed, refusal


def check(site: Site) -> None:
    """Refuse a site that cannot be.

    Raises:
        IngestError: the first thing that is wrong, with its line.
    """
    for name, job in site.section("jobs").items():
        _job(site, ("jobs", name), job)
    for name in site.section("clusters"):
        _allocation(site, name)
    for name, described in site.section("datasets").items():
        _dataset(site, ("datasets", name), described)
    for word in ("checkpoints", "reads_and_checkpoints"):
        if site.section("overlap").get(word) and not any("checkpoint" in job for job in site.section("jobs").values()):
            site.refuse(("overlap", word), "found true, but no job has checkpoints")
    storage = site.section("storage")
    if "failed" in storage:
        units = storage["units"].value if "units" in storage else 1
        refused = refusal(finding("E07", {"failed_servers": storage["failed"].value, "storage_units": units}))
        if refused:
            site.refuse(("storage", "failed"), refused)
    protection = storage.get("protection")
    if isinstance(protection, Mapping) and set(protection) not in ({"replicas"}, {"data", "parity"}):
        site.refuse(("storage", "protection"), f"found {', '.join(protection)}, expected `replicas`, or `data` and `parity`")


def _named(site: Site, keys: Keys, table: str, name: str) -> None:
    known = site.section(table)
    if name not in known:
        expected = f"expected one of {', '.join(known)}" if known else f"expected a table `{table}`"
        site.refuse(keys, f"unknown name '{name}' under {table}, {expected}{nearest(name, known)}")


def _job(site: Site, keys: Keys, job: Mapping[str, Any]) -> None:
    _named(site, (*keys, "cluster"), "clusters", job["cluster"])
    if "data" in job:
        _named(site, (*keys, "data"), "datasets", job["data"])
    if not any(key in job for key in (*RATES, "checkpoint")):
        site.refuse(keys, "its read rate is missing, expected `model` or `samples_per_second` with `sample_bytes`")
    have = site.section("clusters")[job["cluster"]]["count"].value
    sizes = {"nodes": job["nodes"].value, "cluster_nodes": have}
    refused = refusal(finding("E06", sizes, cluster=job["cluster"]))
    if refused:
        site.refuse((*keys, "nodes"), refused)
    if "tokens" in job and "tokens_per_sample" not in job:
        site.refuse((*keys, "tokens"), "expected `tokens_per_sample` with it: the sequence length")
    if "tokens" in job and "epochs" in job:
        site.refuse((*keys, "epochs"), "the length is given by `tokens` already, expected one of them")
    placed = job.get("placement", {})
    if placed.get("mode") in ("stage", "cache") and "data" not in job:
        site.refuse((*keys, "placement"), f"to {placed['mode']} needs the size of the data, expected `data`")
    if placed.get("mode") == "stage" and "within" not in placed:
        site.refuse((*keys, "placement"), "to stage needs a time, expected `within`, such as `30 min`")
    for word, mode in (("within", "stage"), ("each", "stage"), ("hit", "cache")):
        if word in placed and placed["mode"] != mode:
            site.refuse((*keys, "placement", word), f"only {mode} knows it, found mode {placed['mode']}")


def _allocation(site: Site, cluster: str) -> None:
    """Refuse jobs that together take more than the whole cluster."""
    jobs = {name: job for name, job in site.section("jobs").items() if job["cluster"] == cluster}
    taken = []
    for job in jobs.values():
        given = {"nodes": job["nodes"].value}
        given |= {name: job[key].value for key, name in (("runs", "concurrent_runs"), ("share", "share_of_time")) if key in job}
        taken.append(solve("nodes_on_average", given))
    have = site.section("clusters")[cluster]["count"].value
    share = solve("cluster_allocation", {"nodes_on_average_of_jobs": taken, "cluster_nodes": have})
    refused = refusal(finding("E05", {"cluster_allocation": float(share)}, jobs=listed(jobs), cluster=cluster))
    if refused:
        site.refuse(("jobs", [*jobs][-1]), refused)


def _dataset(site: Site, keys: Keys, described: Mapping[str, Any]) -> None:
    sizes = [key for key in SIZES if key in described and not (key in ("samples", "tokens") and "model" in described)]
    if "corpus" in described and "tokens" in described:
        sizes.remove("tokens")
    if len(sizes) != 1:
        found = " and ".join(sizes) or "no size"
        site.refuse(keys, f"found {found}, expected one of {', '.join(SIZES)}")
    for word, partner in (("samples", "sample_bytes"), ("made_from", "ratio"), ("retention", "refresh")):
        if word in described and partner not in described and "model" not in described:
            site.refuse((*keys, word), f"expected `{partner}` with it")
    if "tokens" in described and not {"bytes_per_token", "format"} & described.keys():
        site.refuse((*keys, "tokens"), "expected `bytes_per_token` or `format` with it")
    if "made_from" in described:
        _named(site, (*keys, "made_from"), "datasets", described["made_from"])
    first, last = described.get("from"), described.get("until")
    if first is not None and last is not None and last < first:
        site.refuse((*keys, "until"), f"found {last}, before `from` ({first}), expected them in this order")
    if (first or last) and site.data.get("start") is None:
        site.refuse((*keys, "from" if first else "until"), "dates need the year in which the plan starts, expected `start`")
