"""Names and texts from outside, made harmless where they enter job files, shell lines and Markdown."""

from __future__ import annotations

import re

from ingest.errors import IngestError, brief

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}(,[0-9]{1,5})?")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


def checked_id(found: object, where: str) -> str:
    """An id that can be a file name, a job name and a word of a shell line.

    >>> checked_id("R-READ-01", "plan.json")
    'R-READ-01'

    Raises:
        IngestError: anything else.
    """
    if isinstance(found, str) and _ID.fullmatch(found):
        return found
    raise IngestError(
        f"{where}: found {brief(found)}, expected letters, digits, '-' and '_', a letter first, such as R-READ-01"
    )


def checked_host(found: str, where: str) -> str:
    """A host name or address, with a port behind a comma where it has one.

    >>> checked_host("node-001.example.org", "hosts.txt")
    'node-001.example.org'

    Raises:
        IngestError: anything else.
    """
    if _HOST.fullmatch(found):
        return found
    raise IngestError(f"{where}: found {brief(found)}, expected a host name or an address")


def one_line(text: object) -> str:
    r"""A text without line breaks and control characters.

    >>> one_line("a\n[global]\texec=x")
    'a [global] exec=x'
    """
    return " ".join("".join(mark if mark.isprintable() else " " for mark in str(text)).split())


def comment(text: object) -> str:
    """The same for a comment line of a job file or a script, which ends at the line's end."""
    return "# " + one_line(text)


def markdown(text: object) -> str:
    """A text that Markdown shows as it is, in one line; it can be no heading, link, cell or tag.

    >>> markdown("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\]\\\\(y\\\\)'
    """
    return _MARKUP.sub(r"\\\1", one_line(text))
