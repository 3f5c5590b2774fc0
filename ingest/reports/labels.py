"""Labels of quantities and columns as headings and inside sentences, the form of shares and ranges, and texts kept as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ingest.engine.registry import label_of
from ingest.files import table_beside
from ingest.requirement import Requirement
from ingest.units import display

_WRITTEN = table_beside(__file__, "labels.yaml")
#: headings: columns of tables that are not quantities, and tables of a page
COLUMNS, TABLES = _WRITTEN["columns"], _WRITTEN["tables"]
#: words in the name of a quantity that is a share, which people read in percent
SHARE_WORDS = {"share", "fraction", "waste", "utilization", "allocation", "hit", "efficiency", "headroom", "fill", "overhead",
               "duty", "goodput", "coverage", "quarterly"}  # fmt: skip
#: What the columns of a site belong to, as in `job_read_bandwidth_of_jobs`.
ROWS = ("jobs", "serving", "clusters", "datasets", "holdings", "years")
_SPELLED = (
    ("gpus", "GPUs"), ("gpu", "GPU"), ("nvme", "NVMe"), ("gb", "GB"), ("flops", "FLOPs"), ("kv", "KV"),
    ("mdt", "MDT"), ("mdts", "MDTs"), ("young", "Young"),
)  # fmt: skip


def label(name: str) -> str:
    """The heading of a quantity or of a column."""
    return capitalised(plain(name))


def line_heading(line: Requirement) -> str:
    """The quantity of a requirement line as a heading."""
    return capitalised(line_in_words(line))


def line_in_words(line: Requirement) -> str:
    """The quantity of a requirement line, with the time in which its load is moved: two of them are alike but for it."""
    return f"{plain(line.metric)} {line.within}" if line.within.startswith("within") else plain(line.metric)


def is_share(name: str, unit: str) -> bool:
    """Whether people read a quantity in percent."""
    return unit == "1" and not SHARE_WORDS.isdisjoint(name.split("_"))


def unit_word(name: str, unit: str) -> str:
    """The unit next to a number; `share` or `number` for a quantity without one."""
    return unit if unit != "1" else "share" if is_share(name, unit) else "number"


def plain(name: str) -> str:
    """A quantity or a column inside a sentence: its label, else its name in words."""
    known = COLUMNS.get(name) or label_of(name)
    if known:
        return known
    base, _, rows = name.rpartition("_of_")
    if rows in ROWS and (known := label_of(base)):
        return f"{known} of {rows}"
    words = name.removeprefix("site_").replace("_", " ")
    for small, spelled in _SPELLED:
        words = re.sub(rf"\b{small}\b", spelled, words)
    return words


def capitalised(text: str) -> str:
    """With a capital at the start, the rest as it is."""
    return text[:1].upper() + text[1:]


def span(low: float | None, high: float | None, unit: str, between: str) -> str:
    """A range as text with one unit where both ends have the same one; nothing where they look alike or are not known.

    >>> span(1e9, 2e9, "B/s", " to "), span(9e8, 2e9, "B/s", " – ")
    ('1 to 2 GB/s', '900 MB/s – 2 GB/s')
    >>> span(21.2181e9, 21.2182e9, "B/s", " to "), span(None, None, "B/s", " to ")
    ('', '')
    """
    if low is None or high is None:
        return ""
    least, most = (display(end, unit, binary=False) for end in (low, high))
    return joined_ends(least, most, between) if least != most else ""


def joined_ends(low: str, high: str, between: str) -> str:
    """Two values as a range, with one unit where both have the same one."""
    number, _, unit = low.partition(" ")
    return f"{number}{between}{high}" if unit and high.endswith(f" {unit}") else f"{low}{between}{high}"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@cache
def texts(medium: str) -> Mapping[str, Any]:
    """Texts that do not depend on the numbers, and the layout of tables: `document.yaml` or `workbook.yaml`."""
    read: Mapping[str, Any] = table_beside(__file__, f"{medium}/{medium}.yaml")
    return read
