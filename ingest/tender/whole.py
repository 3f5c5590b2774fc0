"""All that a buyer wrote into a workbook, cell by cell: packed into its key."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: A packed book that unpacks to more was not written by `ingest report`.
MOST_UNPACKED = 40_000_000

#: place -> text, number, formula; None where others fill in
Cells = Mapping[str, Any]


@dataclass(frozen=True)
class Whole:
    """A workbook as it was sent out.

    Attributes:
        sheets: the cells of each sheet; none of a sheet that is too large for a key.
        names: defined name -> what it stands for.
    """

    sheets: Mapping[str, Cells]
    names: Mapping[str, str]


def packed(whole: Whole) -> str:
    """As text for a key.

    >>> unpacked(packed(Whole({"Results": {"A1": "Id"}}, {})))
    Whole(sheets={'Results': {'A1': 'Id'}}, names={})
    """
    written = json.dumps([whole.sheets, whole.names], separators=(",", ":"))
    return base64.b64encode(zlib.compress(written.encode(), 6)).decode()


def unpacked(written: str) -> Whole:
    """The workbook that was packed.

    Raises:
        ValueError: none was, or it is larger than any.
    """
    unzip = zlib.decompressobj()
    try:
        found = unzip.decompress(base64.b64decode(written, validate=True), MOST_UNPACKED)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unzip.eof:
        raise ValueError("it has no end")
    sheets, names = json.loads(found)
    return Whole({name: dict(cells) for name, cells in sheets.items()}, {name: str(place) for name, place in names.items()})
