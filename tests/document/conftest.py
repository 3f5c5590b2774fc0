"""The document of one site, written once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

import ingest
from ingest.reports.document.model import Document
from ingest.reports.document.rfp import Tender

SITE = Path(__file__).parents[2] / "examples/enterprise-64-nodes.yaml"


@pytest.fixture(scope="session")
def enterprise_plan():
    """The plan of the enterprise example, without draws."""
    return ingest.plan(SITE, samples=0)


@pytest.fixture(scope="session")
def enterprise_document(enterprise_plan) -> Document:
    """Its document, without charts."""
    return Tender(enterprise_plan).document()
