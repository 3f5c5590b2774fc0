"""Fields of a buyer's template: sections, single values, and requirements by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ingest.errors import UsageError, nearest
from ingest.reports.texts import texts

#: Sections of each document by the name of their field, in order, with their titles.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    kind: {name: look["title"] for name, look in texts("document")[kind]["sections"].items()} for kind in ("vendor", "buyer")
}
#: Why a document has no field of the other one.
OTHER = {
    "vendor": "is a section of the buyer's report, which vendors do not receive",
    "buyer": "is a section of the vendors' document, which --for-vendor writes",
}
#: The field for the whole document.
WHOLE = "all"
#: Single values; the value of each requirement is a field too, under its id.
VALUES = ("title", "site", *texts("document")["cover"], "purchase", "version", "catalogs", "input")
#: Any text between the nearest double braces; an unknown name is refused.
FIELD = re.compile(r"\{\{((?:(?!\{\{).)*?)\}\}")
_REQUIREMENT = re.compile(r"R-[A-Z]+-\d+")


def listed(names: Iterable[str]) -> str:
    """Fields as they are written.

    >>> listed(["all", "scope"])
    '{{all}}, {{scope}}'
    """
    return ", ".join(f"{{{{{name}}}}}" for name in names)


def check_field(name: str, known: Iterable[str], place: str, kind: str = "") -> None:
    """Refuse a field that does not exist.

    Args:
        name: between the braces.
        known: every field there is.
        place: where the template has it.
        kind: of the document, a key of `SECTIONS`.

    Raises:
        UsageError: with the fields there are, and the nearest one.
    """
    words = list(known)
    if name in words:
        return
    if any(name in sections for other, sections in SECTIONS.items() if kind and other != kind):
        raise UsageError(f"--template: '{{{{{name}}}}}' in {place} {OTHER[kind]}")
    ids = [word for word in words if _REQUIREMENT.fullmatch(word)]
    fixed = listed(word for word in words if word not in ids)
    of_requirements = f" or the id of a requirement such as {listed(ids[:1])}" if ids else ""
    raise UsageError(
        f"--template: unknown field '{{{{{name}}}}}' in {place}, expected one of {fixed}{of_requirements}{nearest(name, words)}"
    )
