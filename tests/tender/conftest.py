"""A site of one job: the smallest workbook that has every sheet a vendor returns."""

from __future__ import annotations

import pytest

import ingest
from ingest.reports.books import site_book

ONE_JOB = {
    "name": "One job",
    "clusters": {"main": {"node": "dgx-a100", "count": 8}},
    "jobs": {"universe": {"cluster": "main", "model": "cosmoflow", "nodes": 8, "data": "volumes"}},
    "datasets": {"volumes": {"model": "cosmoflow"}},
}


@pytest.fixture(scope="session")
def plan():
    """The plan of the site, without draws."""
    return ingest.plan(ONE_JOB, samples=0)


@pytest.fixture(scope="session")
def workbook(plan):
    """Its workbook, as bytes."""
    return site_book(plan)


@pytest.fixture(scope="session")
def sent(workbook, tmp_path_factory):
    """Its workbook, as the buyer sends it."""
    path = tmp_path_factory.mktemp("sent") / "rfp.xlsx"
    path.write_bytes(workbook)
    return path
