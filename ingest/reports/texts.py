"""Texts of documents and workbooks that do not depend on the numbers, and the layout of their tables: data beside the code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def texts(medium: str) -> Mapping[str, Any]:
    """Read `document.yaml` or `workbook.yaml`."""
    import yaml

    text = (Path(__file__).parent / medium / f"{medium}.yaml").read_text(encoding="utf-8")
    read: dict[str, Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text).get_data()
    return read
