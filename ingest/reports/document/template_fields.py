"""Fields of a buyer's template: sections, single values, and requirements by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ingest.errors import UsageError, nearest
from ingest.reports.texts import texts

#: Sections by the name of their field, in the order of the document, with their titles.
SECTIONS: Mapping[str, str] = {name: look["title"] for name, look in texts("document")["sections"].items()}
#: The field for the whole document.
WHOLE = "all"
#: Single values; the value of each requirement is a field too, under its id.
VALUES = ("title", "site", "version", "catalogs", "input")
#: Any text between double braces; an unknown name is refused.
FIELD = re.compile(r"\{\{(.*?)\}\}")
_REQUIREMENT = re.compile(r"R-[A-Z]+-\d+")


def listed(names: Iterable[str]) -> str:
    """Fields as they are written.

    >>> listed(["all", "scope"])
    '{{all}}, {{scope}}'
    """
    return ", ".join(f"{{{{{name}}}}}" for name in names)


def check_field(name: str, known: Iterable[str], place: str) -> None:
    """Refuse a field that does not exist.

    Args:
        name: between the braces.
        known: every field there is.
        place: where the template has it.

    Raises:
        UsageError: with the fields there are, and the nearest one.
    """
    words = list(known)
    if name in words:
        return
    ids = [word for word in words if _REQUIREMENT.fullmatch(word)]
    fixed = listed(word for word in words if word not in ids)
    of_requirements = f" or the id of a requirement such as {listed(ids[:1])}" if ids else ""
    raise UsageError(
        f"--template: unknown field '{{{{{name}}}}}' in {place}, expected one of {fixed}{of_requirements}{nearest(name, words)}"
    )
