"""The cover of a tender: who buys, by when, and one sentence that says in figures what is bought."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingest.errors import brief
from ingest.text import one_line
from ingest.units import display

if TYPE_CHECKING:
    from ingest.requirement import Requirement
    from ingest.site.site_file import Site

#: keys of `document` that hold a date, in their order in time
DATES = ("issued", "answers_by")
#: the requirement lines that the sentence states, with its words for their values
BOUGHT = {
    "R-CAP-03": "{} of usable capacity",
    "R-READ-03": "{} of reads",
    "R-WRITE-01": "{} of checkpoint writes",
    "R-RESTART-02": "{} for restoring all training runs",
}


@dataclass(frozen=True)
class DocumentFacts:
    """The cover of a tender; a text that the site file does not give is empty.

    Attributes:
        title: of the tender.
        buyer: the organisation that buys.
        reference: the buyer's own number of the tender.
        issued: day of issue, as `2026-05-04`.
        answers_by: last day, or minute, for offers, as `2026-06-30` or `2026-06-30 12:00`.
        contact: who answers questions.
        purchase: one sentence that says in figures what is bought.
    """

    title: str = ""
    buyer: str = ""
    reference: str = ""
    issued: str = ""
    answers_by: str = ""
    contact: str = ""
    purchase: str = ""


def document_facts(site: Site) -> DocumentFacts:
    """The section `document` of a site file.

    Raises:
        IngestError: a date that is none, or a deadline before the issue, with the line.
    """
    described = {key: one_line(value) for key, value in site.section("document").items()}
    days = {key: _moment(site, key, described[key]) for key in DATES if key in described}
    if len(days) == len(DATES) and days["answers_by"].date() < days["issued"].date():
        problem = f"found {described['answers_by']}, expected a day from {described['issued']} on"
        site.refuse(("document", "answers_by"), problem)
    return DocumentFacts(**described)


def _moment(site: Site, key: str, written: str) -> datetime.datetime:
    try:
        return datetime.datetime.strptime(written, "%Y-%m-%d" if len(written) == 10 else "%Y-%m-%d %H:%M")
    except ValueError:
        site.refuse(("document", key), f"found {brief(written)}, expected a day such as 2026-06-30, or 2026-06-30 12:00")


def with_purchase(facts: DocumentFacts, lines: Sequence[Requirement], clusters: Mapping[str, Any]) -> DocumentFacts:
    """The cover with the sentence that says what is bought.

    Args:
        facts: the cover.
        lines: the requirement lines; only mandatory ones count.
        clusters: the section `clusters` of the site file, in base units.
    """
    values = {one.id: display(one.value, one.unit, binary=False) for one in lines if one.priority == "mandatory"}
    stated = [words.format(values[name]) for name, words in BOUGHT.items() if name in values]
    return replace(facts, purchase=" ".join(_sentence(stated, clusters)))


def _sentence(stated: Sequence[str], clusters: Mapping[str, Any]) -> Iterator[str]:
    nodes = sum(float(described["count"].value) for described in clusters.values())
    places = f" in {len(clusters)} clusters" if len(clusters) > 1 else ""
    yield f"The Buyer purchases a storage system for {display(nodes, 'node')}{places}"
    if not stated:
        yield "that meets the requirements of this document."
    elif len(stated) == 1:
        yield f"that provides at least {stated[0]}."
    else:
        yield f"that provides at least {', '.join(stated[:-1])} and {stated[-1]}."
