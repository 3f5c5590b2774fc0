"""What tests of acceptance share: rehearsals of a second."""

import pytest

from ingest.acceptance import loads


@pytest.fixture(scope="module")
def short_rehearsal():
    """A second on little data: what fio prints is the same."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"REHEARSAL_SECONDS": 1, "REHEARSAL_BYTES": 8 * 2**20, "REHEARSAL_FILES": 200}.items():
            patched.setattr(loads, name, value)
        yield
