"""One browser and one page for all tests of a process."""

import pytest
from browser import chromium, written_page


@pytest.fixture(scope="session")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    return written_page(tmp_path_factory.mktemp("page"))
