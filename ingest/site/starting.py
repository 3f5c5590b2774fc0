"""What `ingest plan --new` and `--schema` hand out."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.site.schema import schema

STARTER_FILE = Path(__file__).parent / "starter.yaml"


def starter() -> str:
    """A commented site file that can be planned as it is.

    >>> starter().splitlines()[0]
    '# A site for `ingest plan`: what trains here, on what, from which data, and how it is kept.'
    """
    return STARTER_FILE.read_text(encoding="utf-8")


def schema_text() -> str:
    """The JSON Schema of a site file, for editors."""
    return json.dumps(schema(), indent=2) + "\n"
