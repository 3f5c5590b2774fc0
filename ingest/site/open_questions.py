"""What the site file does not determine and the buyer has to answer before a tender goes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import Step, unit_of
from ingest.site.document_facts import DocumentFacts
from ingest.site.service import ServiceTerm
from ingest.site.service_records import OPEN, DefaultRecord, default_records
from ingest.units import display

#: facts of the cover that a vendor needs
COVER = {"buyer": "who buys", "reference": "under which reference", "answers_by": "until when", "contact": "whom they ask"}
#: evidence levels of a rate that is not known for this model on this GPU
UNCERTAIN = {
    "emulated": "a benchmark that emulates the accelerators gave the rate",
    "transferred": "the rate is carried over from another GPU",
    "efficiency": "the rate is a share of the peak of the GPU",
    "peak": "the rate is the peak of the GPU, an upper bound",
}


class OpenQuestion(NamedTuple):
    """What the site file does not determine.

    Attributes:
        key: of the site file that answers it.
        question: to the buyer.
        suggested: the value in use, or the suggested one.
        reason: why it matters.
    """

    key: str
    question: str
    suggested: str
    reason: str


def open_questions(
    document: DocumentFacts,
    service: Sequence[ServiceTerm],
    used: Sequence[Step],
    jobs: Sequence[QuantityRow],
) -> tuple[OpenQuestion, ...]:
    """The open questions, the most important first.

    Args:
        document: the cover of the tender.
        service: the terms of the tender.
        used: the given quantities that the requirements rest on.
        jobs: the jobs, with the evidence levels of their rates.
    """
    ranked: list[tuple[int, OpenQuestion]] = [
        *_of_defaults(used, jobs),
        *(
            (one.rank, OpenQuestion(one.key, one.question, one.suggested, one.reason))
            for one in service
            if one.rank and one.status == OPEN
        ),
    ]
    by_rank = sorted(ranked, key=lambda pair: pair[0])
    found = (*_of_cover(document), *_of_rates(jobs), *(one for _, one in by_rank))
    return tuple({one.key: one for one in reversed(found)}.values())[::-1]


def _of_cover(document: DocumentFacts) -> Iterator[OpenQuestion]:
    lacking = {key: words for key, words in COVER.items() if not getattr(document, key)}
    if lacking:
        question = f"What do vendors have to know: {', '.join(lacking.values())}?"
        yield OpenQuestion("document", question, ", ".join(lacking), "the cover of the tender states it")


def _of_rates(jobs: Sequence[QuantityRow]) -> Iterator[OpenQuestion]:
    """The jobs whose rate is uncertain, the one that reads most first."""
    reading = [(step, row) for row in jobs if (step := row.step("job_read_bandwidth")) is not None]
    for _, row in sorted(reading, key=lambda pair: -float(pair[0].value)):
        rate, why = row.step("samples_per_second_per_gpu"), UNCERTAIN.get(str(row.words.get("basis", "")))
        if why is not None and rate is not None:
            shown = display(float(rate.value), unit_of(rate.name)) + " per GPU"
            question = f"At which rate does {row.name} train on your GPUs?"
            yield OpenQuestion(f"jobs.{row.name}.samples_per_second", question, shown, why)


def _of_defaults(used: Sequence[Step], jobs: Sequence[QuantityRow]) -> Iterator[tuple[int, OpenQuestion]]:
    taken: Mapping[str, Step] = {
        step.name: step for step in used if step.source is not None and step.source.origin == "default"
    }
    for record in default_records():
        if record.quantity in taken:
            shown = _shown(record, taken[record.quantity], jobs)
            yield record.rank, OpenQuestion(record.key, record.question, shown, record.reason)


def _shown(record: DefaultRecord, step: Step, jobs: Sequence[QuantityRow]) -> str:
    """The value in use, or its range over the jobs."""
    if not record.shows:
        value, unit = float(step.value), unit_of(step.name)
        return f"{value * 100:.3g} %" if unit == "1" and value <= 1 else display(value, unit)
    values = sorted(float(one.value) for row in jobs if (one := row.step(record.shows)) is not None)
    ends = list(dict.fromkeys(display(value, unit_of(record.shows)) for value in (values[0], values[-1]))) if values else []
    return " to ".join(ends)
