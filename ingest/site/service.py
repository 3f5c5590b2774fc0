"""What a tender says besides its requirement lines: cover, terms of service, open questions, and decisions of the buyer."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.messages import Message, fact_of, in_site_words
from ingest.engine.registry import Step, unit_of
from ingest.engine.solver import Quantities
from ingest.errors import Faults, RequirementNotMet, UsageError, brief, expected_one_of, listed
from ingest.requirement import FIGURE, INFORMATION, Requirement, headline, is_of, kinds_of, term_in_words
from ingest.site.requirement_wording import WRITTEN
from ingest.site.service_records import NONE, OPEN, OTHERS, STATED, UNITS, DefaultRecord, TermRecord, default_records, records
from ingest.site.site_file import Site
from ingest.sizing.rules import RULES, Finding, finding
from ingest.text import one_line
from ingest.units import display

#: keys of `document` that hold a date, in their order in time
DATES = ("issued", "answers_by")
#: Nodes from which the terms of large systems are suggested: an assumption of ours.
SMALL_SITE = 32
#: Words of a site file that set no value of a term.
UNDECIDED = (NONE, STATED, OPEN)
#: the lines of restores: the cover names the larger one beside the headline
RESTORES = ("R-RESTART-01", "R-RESTART-02")
#: facts of the cover that a vendor needs
COVER = {"buyer": "who buys", "reference": "under which reference", "answers_by": "until when", "contact": "whom they ask"}
#: evidence levels of a rate that is not known for this model on this GPU
UNCERTAIN: Mapping[str, str] = WRITTEN["uncertain"]


@dataclass(frozen=True)
class DocumentFacts:
    """The cover of a tender; a text that the site file does not give is empty."""

    title: str = ""  # of the tender
    buyer: str = ""  # the organisation that buys
    reference: str = ""  # the buyer's own number of the tender
    issued: str = ""  # day of issue, as `2026-05-04`
    answers_by: str = ""  # last day, or minute, for offers, as `2026-06-30` or `2026-06-30 12:00`
    contact: str = ""  # who answers questions
    purchase: str = ""  # one sentence that says in figures what is bought


def document_facts(site: Site) -> DocumentFacts:
    """The section `document` of a site file.

    Raises IngestError: a date that is none, or a deadline before the issue, with the line.
    """
    described = {key: one_line(value) for key, value in site.section("document").items()}
    days = {}
    for key in (key for key in DATES if key in described):
        written = described[key]
        try:
            days[key] = datetime.datetime.strptime(written, "%Y-%m-%d" if len(written) == 10 else "%Y-%m-%d %H:%M")
        except ValueError:
            expected = "expected a day such as 2026-06-30, or 2026-06-30 12:00"
            site.refuse(("document", key), f"found {brief(written)}, {expected}")
    if len(days) == len(DATES) and days["answers_by"].date() < days["issued"].date():
        problem = f"found {described['answers_by']}, expected a day from {described['issued']} on"
        site.refuse(("document", "answers_by"), problem)
    return DocumentFacts(**described)


def with_purchase(facts: DocumentFacts, lines: Sequence[Requirement], clusters: Mapping[str, Any]) -> DocumentFacts:
    """The cover with the sentence that says what is bought: by the mandatory lines, for the clusters of the site file."""
    named = headline(lines)
    asked = [*(named[one] for one in ("hold", "read", "write") if one in named)]
    restores = [one for one in lines if one.id in RESTORES and one.priority == "mandatory"]
    if restores and not any(one in restores for one in asked):
        asked.append(max(restores, key=lambda one: one.value))
    stated = [f"{display(one.value, one.unit, binary=False)} of {one.load or 'usable capacity'}" for one in asked]
    nodes = sum(float(described["count"].value) for described in clusters.values())
    places = f" in {len(clusters)} clusters" if len(clusters) > 1 else ""
    bought = "meets the requirements of this document"
    if stated:
        bought = "provides at least " + " and ".join(filter(None, (", ".join(stated[:-1]), stated[-1])))
    return replace(facts, purchase=f"The Buyer purchases a storage system for {display(nodes, 'node')}{places} that {bought}.")


@dataclass(frozen=True)
class ServiceTerm:
    """One term of a tender."""

    id: str  # stable, such as `S-AVAIL-01`
    key: str  # of the site file that sets it, such as `service.availability`; empty for a term that is always stated
    theme: str  # a key of `THEMES`
    name: str  # a few words
    text: str  # the mandatory clause, with the value where it is set; else the request that the Vendor states a value
    value: str | None  # as people read it; None where the buyer has not set one
    suggested: str  # the suggested value
    reason: str  # of the suggestion
    verification: str  # the evidence at acceptance or in operation
    type: str = "text"  # share, time, rate, power, number, text, choice, yes or fixed
    quantity: float | None = None  # the value in base units; None for words
    unit: str = ""  # of the quantity
    bound: str = ""  # such as `at least 99.9 %`, which an offered value is compared with, or that a figure is asked for
    status: str = "set"  # `set`; `stated` where the Vendor states the value; `open` where the buyer has not decided
    grade: str = "assumed"  # of the suggestion: published or assumed
    source: str = ""  # the title of its source
    question: str = ""  # to the buyer, where the term is important
    rank: int = 0  # of the question; 0 for none

    @property
    def required(self) -> str:
        """What is required, in words."""
        return term_in_words(self.value, self.type, self.bound)

    def to_dict(self) -> dict[str, Any]:
        """The term as JSON."""
        return dict(vars(self))


def service_terms(site: Site, known: Quantities, catalog: Catalog, lines: Sequence[Requirement]) -> tuple[ServiceTerm, ...]:
    """The terms of a site: set, to be stated by the Vendor, or open; those about loads that it has.

    Of terms whose value another section of the site file holds, `known` has the quantity; the terms name the lines.

    Raises IngestError: a value of another unit, or out of range, with the line.
    """
    section = site.data.get("service") or {}
    written = {OTHERS: section} if isinstance(section, str) else section
    others = written.get(OTHERS, OPEN)
    found, kinds, named = [], kinds_of(lines), _named(lines)
    nodes = sum(float(described["count"].value) for described in site.section("clusters").values())
    for one in records():
        is_small = one.small is not None and nodes < SMALL_SITE and written.get(one.unless) in (None, False, *UNDECIDED)
        record = replace(one, suggested=one.small, grade="assumed", source="") if is_small else one
        given = written.get(record.key)
        if given is None:
            given = record.suggested if others == "suggested" else others
        needed = others == "suggested" and written.get(record.beside) not in (None, False, NONE)
        usual = is_of(record.kinds, kinds) and (needed or not record.optional)
        if given in (NONE, False) or not (record.key in written or usual):
            continue
        try:
            found.append(_term(record, given, known, catalog, named))
        except UsageError as error:
            site.refuse(("service", record.key), str(error).removeprefix(f"{record.name}: "))
    return tuple(found)


def _named(lines: Sequence[Requirement]) -> dict[str, str]:
    """The requirements that terms name, by what they are: the aggregate rates, that of one client, the largest, the wear."""
    asked = {one.id: one for one in lines if one.priority != INFORMATION}
    rates = [one for one in asked.values() if one.unit == "B/s"]
    most = max(rates, key=lambda one: one.value, default=None)
    largest = most.id if most is not None else "the largest rate"

    def first(operation: str, *names: str) -> str:
        """The usual line, else the largest of the operation, else the largest of all."""
        usual = next((name for name in names if name in asked), "")
        own = [one for one in rates if one.conditions.operation == operation]
        return usual or (max(own, key=lambda one: one.value).id if own else largest)

    reads, writes = first("read", "R-READ-03"), first("write", "R-WRITE-01")
    return {
        "reads": reads,
        "writes": writes,
        "rates": listed(dict.fromkeys((reads, writes))).replace(", ", " and "),
        "node": first("read", "R-READ-04", "R-READ-03"),
        "largest": "R-MIX-01" if "R-MIX-01" in asked else largest,
        "endurance": "the writes of R-END-01" if "R-END-01" in asked else "the period of the warranty",
    }


def _term(record: TermRecord, given: Any, known: Quantities, catalog: Catalog, named: Mapping[str, str]) -> ServiceTerm:
    value, number = _value(record, given, known)
    status = "set" if value is not None else STATED if given == STATED else OPEN
    if value is None:
        text = f"The Vendor shall state {record.states.format(**named)}."
    else:
        text = (record.options or {}).get(str(given)) or record.text.format(value=value, **named)
    bound = f"{record.sense} {value}" if record.sense and number is not None else ""
    if value is None and (record.figure or record.type in UNITS):
        bound = FIGURE
    same = {name: getattr(record, name) for name in ("id", "theme", "name", "reason", "type", "grade", "question", "rank")}
    return ServiceTerm(
        **same,
        key=record.path,
        text=text,
        value=value,
        suggested=record.suggestion,
        verification=record.verification.format(**named),
        quantity=number,
        unit=(record.unit or UNITS[record.type]) if record.type in UNITS else "",
        bound=bound,
        status=status,
        source=catalog.source(record.source).title if record.source else "",
    )


def _value(record: TermRecord, given: Any, known: Quantities) -> tuple[str | None, float | None]:
    """The value of a term in words, and in base units where it is a number."""
    if record.quantity:
        step = known.find(record.quantity)
        # A default that nobody has chosen binds no vendor.
        if step is not None and (step.source is None or step.source.origin != "default" or given not in (STATED, OPEN)):
            return record.shown(float(step.value)), float(step.value)
    if record.type == "fixed":
        return record.value, None
    if given in (STATED, OPEN):
        return None, None
    if record.type in UNITS:
        number = record.number(given)
        return record.shown(number), number
    return ("required" if given is True else one_line(given)), None


class OpenQuestion(NamedTuple):
    """What the site file does not determine."""

    key: str  # of the site file that answers it
    question: str  # to the buyer
    suggested: str  # the value in use, or the suggested one
    reason: str  # why it matters


def open_questions(
    document: DocumentFacts, service: Sequence[ServiceTerm], used: Sequence[Step], jobs: Sequence[QuantityRow], site: Site
) -> tuple[OpenQuestion, ...]:
    """The open questions, the most important first: of `used`, what the requirements rest on, and the file of the `site`.

    A figure that is stated as it holds anyway counts as a default, and its question is answered.
    """
    lacking = {key: words for key, words in COVER.items() if not getattr(document, key)}
    found = []
    if lacking:
        question = f"What do vendors have to know: {', '.join(lacking.values())}?"
        found.append(OpenQuestion("document", question, ", ".join(lacking), "the cover of the tender states it"))
    if "award" not in site.written:
        found.append(OpenQuestion("award", "How are offers ranked?", "by cost alone", "an award alone gives points to targets"))
    # The jobs whose rate is uncertain, the one that reads most first.
    reading = [(step, row) for row in jobs if (step := row.step("job_read_bandwidth")) is not None]
    for _, row in sorted(reading, key=lambda pair: -float(pair[0].value)):
        rate, why = row.step("samples_per_second_per_gpu"), UNCERTAIN.get(str(row.words.get("basis", "")))
        if why is not None and rate is not None:
            shown = display(float(rate.value), unit_of(rate.name)) + " per GPU"
            question = f"At which rate does {row.name} train on your GPUs?"
            found.append(OpenQuestion(f"jobs.{row.name}.samples_per_second", question, shown, why))
    taken = {step.name: step for step in used if step.source is not None and step.source.origin == "default"}
    asked: list[tuple[DefaultRecord | ServiceTerm, str]] = [
        (one, _shown(one, taken[one.quantity], jobs))
        for one in default_records()
        if one.quantity in taken and {*_stated(site.written, one.key)} != {True}
    ]
    asked += [(one, one.suggested) for one in service if one.rank and one.status == OPEN]
    asked.sort(key=lambda pair: pair[0].rank)
    found += [OpenQuestion(one.key, one.question, suggested, one.reason) for one, suggested in asked]
    return tuple({one.key: one for one in reversed(found)}.values())[::-1]


def _stated(written: Mapping[str, Any], key: str) -> list[bool]:
    """Whether each section of the site file that may hold a key states it; `*` in the key is any name."""
    name, _, rest = key.partition(".")
    if not rest:
        return [name in written]
    sections = written.values() if name == "*" else [written[name]] if name in written else []
    return [one for section in sections for one in _stated(section, rest)]


def _shown(record: DefaultRecord, step: Step, jobs: Sequence[QuantityRow]) -> str:
    """The value in use, or its range over the jobs."""
    if not record.shows:
        value, unit = float(step.value), unit_of(step.name)
        return f"{value * 100:.3g} %" if unit == "1" and value <= 1 else display(value, unit)
    values = sorted(float(one.value) for row in jobs if (one := row.step(record.shows)) is not None)
    ends = list(dict.fromkeys(display(value, unit_of(record.shows)) for value in (values[0], values[-1]))) if values else []
    return " to ".join(ends)


#: Lines that a decision names; of more it names the first.
MOST_LINES = 3
#: The rules that a buyer decides, by id.
DECIDED = {name: rule for name, rule in RULES.items() if rule.tender}
#: The key of a reason.
ACCEPT = "accept"
SETTLE, SETTLE_ONE = "decisions: {{{id}: {{accept: reason}}}}", "decisions: {{{id}: {{{of}: {{accept: reason}}}}}}"
#: Why an acceptance settles nothing.
CLOSED = "the rule does not apply"
SEVERAL = "it is open for {owners}; accept each by its name"


class Decision(NamedTuple):
    """A finding that the buyer decides."""

    id: str  # of its rule, such as `W46`
    lines: tuple[str, ...]  # ids of the requirement lines that it concerns
    of: str  # the job or workload that it is about, else its line; empty for the whole site
    why: str  # what is wrong with them, in the words of a site file
    settle: str  # the key of the site file that accepts it; a changed value settles it too
    reason: str = ""  # of the buyer, who accepted it; empty while it is open

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON; its reason where it is settled."""
        return {name: [*part] if isinstance(part, tuple) else part for name, part in self._asdict().items() if part != ""}

    @property
    def text(self) -> str:
        """The decision in one line."""
        return f"{self.id} ({self.concerned}) {self.why}. Settle: {self.settle}"

    @property
    def concerned(self) -> str:
        """Its lines, or the first of many."""
        return f"{self.lines[0]} and {len(self.lines) - 1} more" if len(self.lines) > MOST_LINES else listed(self.lines)


def decisions_of(site: Site, found: Iterable[Finding], lines: Sequence[Requirement]) -> tuple[Decision, ...]:
    """The decisions of a site, open and settled, the most severe first."""
    accepted: Mapping[str, Any] = site.section("decisions")
    made = [*_each(found, lines)]
    owners = owners_of(made)
    settled = []
    for one in made:
        alone = len(owners[one.id]) == 1
        said = accepted.get(one.id, {})
        said = said if alone and ACCEPT in said else said.get(one.of, {})
        way = (SETTLE if alone else SETTLE_ONE).format(id=one.id, of=one.of)
        settled.append(one._replace(reason=str(said.get(ACCEPT, "")), settle=" or ".join(filter(None, (one.settle, way)))))
    return tuple(settled)


def owners_of(decided: Iterable[Decision]) -> dict[str, list[str]]:
    """What each rule is open for or settled for, by its id."""
    found: dict[str, list[str]] = {}
    for one in decided:
        found.setdefault(one.id, [])
        found[one.id] += [one.of] if one.of not in found[one.id] else []
    return found


def stale(site: Site, decided: Iterable[Decision]) -> list[str]:
    """One line for each acceptance of a site file that settles nothing."""
    owners, found = owners_of(decided), []
    for name, said in site.section("decisions").items():
        known = owners.get(name, [])
        lost: list[tuple[tuple[str, ...], str]] = [((one,), CLOSED) for one in said if one not in {ACCEPT, *known}]
        if ACCEPT in said and len(known) != 1:
            lost = [((), SEVERAL.format(owners=listed(sorted(known))) if known else CLOSED)]
        for below, why in lost:
            one = finding("W75", words={"decision": "stale"}, why=why)
            assert one is not None, "its words decide"
            found.append(in_site_words(Message(f"{site.place(('decisions', name, *below))}: ", one.message())))
    return found


def unearned(site: Site, lines: Iterable[Requirement], terms: Iterable[ServiceTerm]) -> list[Message]:
    """A line for each criterion of the award that gives points for what the tender lacks."""
    lacking = {
        "targets": "" if any(one.priority == "target" for one in lines) else "has no target",
        "terms": "" if any(one.value is None for one in terms) else "asks no question",
    }
    found = []
    for criterion, lacks in lacking.items():
        points = site.section("award").get(criterion)
        one = finding("W109", {}, {"award": "unearned"}, points=points, criterion=criterion, lacks=lacks)
        if lacks and points and one is not None:
            found.append(one.message())
    return found


def check_decisions(site: Site) -> None:
    """Refuse the decisions of a site file that no rule asks for, and those that are accepted both in total and by name.

    Raises UsageError: with the line.
    """
    for name, said in site.section("decisions").items():
        if name not in DECIDED:
            site.refuse(("decisions", name), f"unknown decision '{name}', {expected_one_of(name, DECIDED)}")
        if ACCEPT in said and len(said) > 1:
            names = listed(one for one in said if one != ACCEPT)
            site.refuse(("decisions", name), f"found `accept` beside {names}, expected it below each name alone")


def _each(found: Iterable[Finding], lines: Sequence[Requirement]) -> Iterator[Decision]:
    """One decision for each rule and owner whose lines a vendor would have to meet or answer."""
    told: dict[tuple[str, str], None] = {}
    for one in sorted((one for one in found if one.true and one.rule.id in DECIDED), key=lambda one: one.rule.rank):
        line = str(one.facts.get("line", ""))
        concerned = tuple(known.id for known in lines if known.id.startswith(tuple((line or one.rule.tender).split())))
        message = one.message()
        why = in_site_words(fact_of(message))
        why = f"{one.owner}: {why}" if one.owner and not why.startswith(("R-", one.owner)) else why
        if concerned and (one.rule.id, why) not in told:
            told[one.rule.id, why] = None
            ways = " or ".join(way.in_site_file for way in message.supply)
            yield Decision(one.rule.id, concerned, one.owner or line, why, ways)


class Undecided(RequirementNotMet):
    """Decisions of a site are open: a tender is not written over them (exit code 3)."""

    lines = Faults.lines


def refuse_undecided(decisions: Sequence[Decision]) -> None:
    """Refuse to write a tender while decisions are open. Raises Undecided: with each of them."""
    left = [one for one in decisions if not one.reason]
    if left:
        head = f"the tender waits for {len(left)} decision{'s' if len(left) > 1 else ''} of the buyer"
        raise Undecided("\n".join([head, *(one.text for one in left)]))
