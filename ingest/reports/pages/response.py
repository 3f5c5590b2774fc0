"""Pages of `response`: the verdict on one offer, and several offers next to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase

from ingest.errors import listed
from ingest.reports.labels import capitalised, plain
from ingest.reports.page import Page, Section, joined, page_of
from ingest.requirement import INFORMATION
from ingest.rfp.compliance import ANSWERED, MET, PARTLY, SLIP, UNASKED, LineVerdict
from ingest.rfp.offer_verdict import MOST_LISTED, Comparison, Response, credit
from ingest.rfp.requirement_lines import TARGET
from ingest.site.requirement_wording import LINES
from ingest.site.service_records import records
from ingest.text import grouped
from ingest.units import display

#: Margins above this share are shown as "over".
MOST_MARGIN = 10
#: Columns of offers in one table: more do not fit into a terminal.
MOST_COLUMNS = 7
#: Names of requirements and terms by id.
LINE_NAMES = {one.id: capitalised(plain(one.metric)) for one in LINES} | {one.id: one.name for one in records()}
FLAT = ("id", "priority", "required", "unit", "offered", "margin", "result")


def response_page(answer: Response, verbose: bool = False) -> Page:
    """The verdict on an offer, and the lines that matter for it: not met, or with a note; `verbose` shows all of them."""
    shown = [one for one in answer.lines if verbose or one.verdict not in (MET, ANSWERED, UNASKED) or one.notes]
    hidden = len(answer.lines) - len(shown)
    heads = ("id", "priority", "required", "offered", "margin", "result")
    more = (f"{hidden} more: met, or for information, without a note (--verbose)",) if hidden else ()
    rows = []
    for one in shown:
        line = one.requirement
        required = line.bound if line.value is None else display(line.value, line.unit, binary=False)
        offered = "" if one.offered is None else display(one.offered, line.unit, binary=False)
        rows.append((line.id, line.priority, required, offered, margin_text(one), one.verdict))
    # The file, which values count, and what they are compared with.
    price = answer.price
    cost = "" if price.total is None else f"{price.total:,.0f} {price.currency} over {price.years} years".replace("  ", " ")
    basis = (answer.path, _counted(answer), answer.sent and f"sent: {answer.sent}", answer.reservations)
    sections = [
        Section("", ("", ""), (), ("; ".join(filter(None, basis)),)),
        Section("Lines that matter" if hidden else "Lines", heads, tuple(rows), more),
        Section("Notes", lines=tuple(_grouped_notes(shown))),
        Section("Beside the lines", lines=answer.beside),
        Section("Prices", lines=tuple(filter(None, (cost, *price.notes)))),
        Section("Differences from the requirements sent", lines=answer.changes),
    ]
    flat = [(*(line.to_dict()[column] for column in FLAT), line.notes) for line in answer.lines]
    return page_of(answer.summary, sections, ((*FLAT, "note"), *flat), joined("", [answer.summary], len(answer.warnings)))


def _counted(answer: Response) -> str:
    return "tuned values count" if answer.optimized else "values as delivered count"


def _grouped_notes(lines: Iterable[LineVerdict]) -> Iterator[str]:
    """Each note with the ids of its lines."""
    found = grouped((line.notes, line.requirement.id) for line in lines)
    yield from (f"{listed(ids, MOST_LISTED)}: {note}" for note, ids in found.items() if note)


def margin_text(line: LineVerdict) -> str:
    """`+10.0 %`; what meets a requirement as it is printed is never below it, what misses it never looks even."""
    if line.margin is None:
        return ""
    if line.margin > MOST_MARGIN:
        return f"over {MOST_MARGIN * 100:,} %"
    share = max(line.margin, 0.0) if line.verdict in (MET, PARTLY) else line.margin
    percent = f"{share * 100:+.1f}"
    if percent.strip("+-0.") == "":
        percent = "0.0" if share >= 0 else f"{share * 100:.1g}"
    return f"{percent} %"


def comparison_page(found: Comparison, verbose: bool = False) -> Page:
    """Several offers: a verdict each, then compliance and margins line by line, targets with their weights, notes, differences.

    `verbose` tells whether lines that are for information, or that every offer meets, are shown too.
    """
    letters = letters_of(len(found.offers))
    places = []
    for place, one in enumerate(found.requirements):
        # A line distinguishes offers, or keeps one from complying.
        tells = one.priority != INFORMATION and any(line.verdict not in (MET, ANSWERED) for line in found.row(place))
        if verbose or tells:
            places.append(place)
    hidden = len(found.requirements) - len(places)
    more = (f"{hidden} more: met by all, or for information (--verbose)",) if hidden else ()
    heads = ("", "offer", "verdict", "mandatory", "targets", "score", "changed", "notes")
    verdicts = {place: [line.verdict for line in found.row(place)] for place in places}
    margins = {place: [margin_text(line) for line in found.row(place)] for place in places}
    earned = {
        place: [f"{credit(line) * 100:.1f} %" for line in found.row(place)]
        for place, one in enumerate(found.requirements)
        if one.priority == TARGET
    }
    named = zip(letters, found.offers, strict=True)
    # Slips of units first, since they decide.
    notes = grouped(
        (note, letter)
        for slips in (True, False)
        for letter, offer in zip(letters, found.offers, strict=True)
        for note in _grouped_notes([line for line in offer.lines if (line.verdict == SLIP) == slips])
    )
    sections = [
        Section("", heads, tuple((letter, *row) for letter, row in zip(letters, summary_rows(found), strict=True))),
        *_ranking(found),
        *_blocks("Compliance", found, verdicts, more, named=verbose),
        *_blocks("Margins", found, {place: texts for place, texts in margins.items() if any(texts)}, named=verbose),
        *_blocks("Targets", found, earned, weights=True, named=verbose),
        Section("Notes", lines=tuple(f"{', '.join(of)} {note}" for note, of in notes.items())),
        Section(
            "Differences from the requirements sent",
            lines=tuple(f"{letter} {change}" for letter, offer in named for change in offer.changes),
        ),
    ]
    flat = [
        (name, *(line.to_dict()[column] for column in FLAT), line.notes)
        for name, offer in zip(found.names, found.offers, strict=True)
        for line in offer.lines
    ]
    # How many offers comply, and which.
    complying = f": {', '.join(found.complying)}" if found.complying else ""
    title = f"{len(found.complying)} of {len(found.offers)} offers comply{complying}; {_counted(found.offers[0])}"
    return page_of(title, sections, (("offer", *FLAT, "note"), *flat), joined("", [title], len(found.warnings)))


def _ranking(found: Comparison) -> Iterator[Section]:
    """The offers in the order of the award, what decides, and what is said of their prices."""
    award = found.award
    offers = dict(zip(found.names, found.offers, strict=True))
    points_of = (f"{name} ({points:g})" for name, points in award.points.items())
    heads = ("rank", "offer", "verdict", *points_of, award.method, f"cost over {award.years} years")
    rows = [
        (str(one.rank), one.offer, offers[one.offer].verdict, *(f"{points:.1f}" for points in one.points.values()),
         f"{one.total:,.1f}", "" if one.cost is None else f"{one.cost:,.0f} {offers[one.offer].price.currency}".rstrip())
        for one in found.ranking
    ]  # fmt: skip
    notes = grouped(
        (note, name)
        for name, one in offers.items()
        for note in (*one.price.notes, *(f"beside the lines: {text}" for text in one.beside))
    )
    if rows or notes or award.stated:
        said = (f"{', '.join(names)}: {note}" for note, names in notes.items())
        yield Section("Ranking", heads if rows else ("", ""), tuple(rows), (*found.deciding, *said))


def letters_of(number: int) -> tuple[str, ...]:
    """Short names of offers, as columns of a spreadsheet.

    >>> letters_of(3), letters_of(28)[-2:]
    (('A', 'B', 'C'), ('AA', 'AB'))
    """
    one = tuple(ascii_uppercase)
    return (*one, *(f"{first}{second}" for first in one for second in one))[:number]


def summary_rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """A row for each offer: its name, verdict, counts and score."""
    for name, one, score in zip(found.names, found.offers, found.scores, strict=True):
        met = [
            f"{sum(line.verdict == MET for line in lines)} of {len(lines)}" for lines in (one.of("mandatory"), one.of(TARGET))
        ]
        shown = "" if score is None else f"{score * 100:.1f} %"
        changed = len({change.id for change in one.differences})
        yield (name, one.verdict, *met, shown, str(changed or ""), str(sum(bool(line.notes) for line in one.lines) or ""))


def _blocks(
    title: str, found: Comparison, texts: Mapping[int, Sequence[str]], more: tuple[str, ...] = (), weights: bool = False,
    named: bool = False,
) -> Iterator[Section]:  # fmt: skip
    """A table with a column for each offer, in parts for which a terminal is wide enough.

    `texts` are the cells by the place of the requirement; with `weights` those of the targets stand before them, and below all
    the score; `named` ones have the names of requirements and terms.
    """
    letters = letters_of(len(found.offers))
    for first in range(0, len(letters), MOST_COLUMNS):
        part = slice(first, first + MOST_COLUMNS)
        whole = title if len(letters) <= MOST_COLUMNS else f"{title}, {letters[part][0]} to {letters[part][-1]}"
        rows: list[tuple[str, ...]] = []
        for place, cells in texts.items():
            ident = found.requirements[place].id
            own = [LINE_NAMES.get(ident, "")] * named + [f"{found.weights.get(ident, 1):g}"] * weights
            rows.append((ident, *own, *cells[part]))
        if weights and rows:
            rows.append(
                ("score", *[""] * len(own), *("" if score is None else f"{score * 100:.1f} %" for score in found.scores[part]))
            )
        heads = ("id", *["requirement"] * named, *["weight"] * weights, *letters[part])
        yield Section(whole, heads, tuple(rows), more if part.stop >= len(letters) else ())
