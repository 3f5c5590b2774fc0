"""Pages of the commands for one job: results, sweeps, derivations, validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from ingest.catalog.records import GRADES, Corpus, Entry, Model, Node, Storage, Structure
from ingest.engine.registry import is_quantity, unit_of
from ingest.errors import listed
from ingest.reports.labels import TABLES, is_share, plain
from ingest.reports.page import (
    FLAT_HEADER,
    Page,
    Section,
    answer_line,
    assumptions_section,
    attributes,
    flat_cells,
    more_rows,
    page_of,
    range_text,
    scenarios_line,
    sources_section,
    unknown_section,
    value_text,
)
from ingest.sizing.evidence_ladder import ALL, KINDS, PastError, blind_words
from ingest.text import grouped
from ingest.units import display, exact, physical

if TYPE_CHECKING:
    from ingest.catalog.commands import CatalogCheck, CatalogEntry, CatalogListing, Settings
    from ingest.corpus.measurement import CorpusMeasurement
    from ingest.engine.result import Answer
    from ingest.engine.value import Quantity
    from ingest.sizing.bandwidth import Estimate, Scenarios
    from ingest.sizing.explain import Explanation, RuleExplanation
    from ingest.sizing.sweep import Sweep
    from ingest.validation import History, Validation

#: What the answer of several scenarios in one line is about.
MANDATORY = "mandatory_read_bandwidth"
#: Prepositions of the constant columns in the title of a sweep.
LINKING = {"model": "of", "gpu": "on"}
#: Below the cases of a source that contradicts itself.
CONTRADICTED = (
    "expected: the figure that the published inputs give by hand, where they contradict the published figure. A case passes "
    "within its tolerance of the expected figure; the error is against the published one."
)
#: Units with prefixes or longer units: each value shows its own.
PREFIXED = ("B", "FLOP", "s", "W", "J")


def estimate_page(answer: Estimate) -> Page:
    """The page of `ingest bw`."""
    rows = tuple(_value_row(name, item) for name, item in answer.results.items())
    table = Section("", ("", "typical", "low – high"), rows, main=main_rows(answer))
    # One line per source with its first place; `explain` and JSON have them all.
    cited = []
    for name, places in answer.places.items():
        first, *more = [place for place in places if place] or [""]
        title = answer.catalog.source(name).title
        cited.append(f"{name}: {title}{first and f', {first}'}" + (f" (+{len(more)} more)" if more else ""))
    sections = [table, _ladder(answer), unknown_section(answer.unknown), assumptions_section(answer.assumptions),
                Section("Sources", lines=tuple(cited), detail="source")]  # fmt: skip
    return page_of(answer.title, sections, _table([answer]), answer_line(answer))


def _rate_of(answer: Estimate) -> str:
    """The rate as people know it: of tokens for a language model, else of samples."""
    return next(name for name in ("tokens_per_second_per_gpu", "samples_per_second_per_gpu") if name in answer.results)


def _value_row(name: str, quantity: Quantity) -> tuple[str, str, str]:
    return plain(name), value_text(name, quantity.value, quantity.unit), range_text(name, quantity)


def _ladder(answer: Estimate) -> Section:
    rows = []
    name = _rate_of(answer)
    counted = unit_of(name).removesuffix("/s/GPU") + "s"
    for position, (rung, results) in enumerate(answer.levels):
        rate, read = results.get(name), results.get("ingest_bandwidth_per_gpu")
        if rate is None:
            continue
        spread = range_text("", rate).replace(f" {counted}/s", "") or ("upper bound" if rung.basis == "peak" else "")
        typical = display(rate.value, rate.unit).removesuffix(f" {counted}/s")
        shown = display(read.value, read.unit, binary=False) if read else ""
        rows.append((("> " if position == 0 else "  ") + rung.basis, typical, spread, shown))
    notes = tuple(
        f"{rung.basis}: {'; '.join(filter(None, (rung.note, blind_words(rung.basis))))}"
        for rung, results in answer.levels
        if results
    )
    columns = ("  level", f"{counted}/s/GPU", "low – high", "read per GPU")
    return Section("Evidence levels, the one in use first", columns, tuple(rows), notes, detail="evidence level")


def _table(answers: Sequence[Estimate]) -> tuple[tuple[object, ...], ...]:
    rows: list[tuple[object, ...]] = [("model", "gpu", "nodes", "basis", "name", "value", "low", "high", "unit")]
    for one in answers:
        model, gpu = (entry.id if entry else "" for entry in (one.model, one.gpu))
        for name, item in one.results.items():
            rows.append((model, gpu, one.nodes, one.basis, name, item.value, item.low, item.high, item.unit))
    return tuple(rows)


def scenarios_page(answers: Scenarios) -> Page:
    """The page of `ingest bw` with several scenarios."""
    columns = ("model", "gpu", "nodes", "basis", "per GPU", "per node", "per job", "to require")
    rows = []
    for one in answers.scenarios:
        model, gpu = (entry.id if entry else "" for entry in (one.model, one.gpu))
        names = (*(f"ingest_bandwidth_per_{part}" for part in ("gpu", "node", "job")), MANDATORY)
        reads = [one.results.get(name) for name in names]
        shown = [display(item.value, item.unit, binary=False) if item else "not known" for item in reads]
        rows.append((model, gpu, f"{one.nodes:,.0f}", one.basis, *shown))
    title = f"Read bandwidth of {len(rows)} scenarios"
    job_reads = [one.results[MANDATORY].value for one in answers.scenarios if MANDATORY in one.results]
    answer = scenarios_line(len(rows), job_reads, len(answers.warnings))
    return Page(title, (Section("", columns, tuple(rows)),), _table(answers.scenarios), answer)


def explanation_page(explanation: Explanation) -> Page:
    """The page of `ingest explain`."""
    header = ("name", "value", "unit", "formula", "source", "where", "grade")
    rows = (header, *(tuple(row.get(key, "") for key in header) for row in explanation.rows()))
    lines = Section("", lines=tuple(explanation.lines()))
    answer = f"{explanation.name} = {display(explanation.step.value, unit_of(explanation.step.name))}"
    return Page(f"Derivation of {explanation.name}", (lines,), rows, answer)


def rule_page(explanation: RuleExplanation) -> Page:
    """The page of `ingest explain` of a rule."""
    lines = Section("", lines=tuple(explanation.lines()))
    rows = (("rule", "name", "text"), *((explanation.rule.id, name, text) for name, text in explanation.results.items()))
    return Page(f"Rule {explanation.rule.id}", (lines,), rows)


#: Scenarios that a short page lists.
MOST_SWEPT = 12


def sweep_page(sweep: Sweep, most: int = 40) -> Page:
    """The page of `ingest sweep`: the first rows for people, all of them in CSV; constant columns are named in the title."""
    same = {name: value for name in ("model", "gpu") if (value := sweep.constants.get(name))}
    needed = [*(f"ingest_bandwidth_per_{part}" for part in ("gpu", "node", "job")), "mandatory_read_bandwidth"]
    printed = dict.fromkeys(("model", "gpu", *sweep.grids[0].axes, "samples_per_second_per_gpu", *needed))
    columns = [name for name in printed if name in sweep.columns and name not in same]
    shown = [(name, sweep.columns[name][:most].tolist(), sweep.unit(name)) for name in columns]

    def cell(name: str, value: Any, unit: str) -> str:
        """A value; what is counted has its unit in the heading."""
        if not unit:
            return str(value)
        if is_share(name, unit):
            return f"{value * 100:,.3g} %"
        if physical(unit).split("/")[0] not in PREFIXED:
            return display(value, "1")
        return display(value, unit.removesuffix("/sample"), binary=False)

    rows = tuple(zip(*([cell(name, value, unit) for value in values] for name, values, unit in shown), strict=True))
    more = (f"{sweep.rows - most:,} more rows: write them with -o FILE.csv or .parquet",) if sweep.rows > most else ()
    of = "".join(f" {LINKING[name]} {value}" for name, value in same.items())
    # In words, which a narrow terminal can part.
    titles = tuple(plain(name) if sweep.unit(name) else name for name in columns)
    reads = [value for value in sweep.columns.get(MANDATORY, ()) if value == value]
    table = Section("", titles, rows, more, main=tuple(range(min(MOST_SWEPT, len(rows)))))
    return Page(f"{sweep.rows:,} scenarios{of}", (table,), (), scenarios_line(sweep.rows, reads, len(sweep.warnings)))


def validation_page(validation: Validation) -> Page:
    """The page of `ingest validate`: the sets, then every case that misses, or all cases of a single set."""
    rows = []
    for one in validation.sets:
        error, passed = f"{one.median_absolute_error * 100:.2f} %", "yes" if one.passed else "NO"
        rows.append((one.name, str(one.cases), str(one.within_tolerance), error, passed, one.bar_text))
    predicted = tuple(f"{one.name}: {one.prediction_text}" for one in validation.sets if one.prediction_text)
    sections = [Section("", ("set", "cases", "within", "median error", "passed", "bar"), tuple(rows), predicted)]
    for one in validation.sets:
        chosen = one.shown_cases(all_of_them=len(validation.sets) == 1)
        if chosen:
            heads = ("case", "published", "expected", "ours", "error", "remark")
            notes = (CONTRADICTED,) if any(case.contradicted for case in chosen) else ()
            sections.append(Section(f"{one.name}: {one.title}", heads, tuple(case.texts for case in chosen), notes))
    columns = ("published", "ours", "unit", "error", "tolerance", "within", "source", "where", "remark", "expected", "bound")
    cases = ((one.name, *row) for one in validation.sets for row in attributes(("id", *columns), one.results))
    title = f"Published results, {len(validation.sets)} set{'s' if len(validation.sets) != 1 else ''}"
    return Page(title, tuple(sections), (("set", "case", *columns), *cases))


def history_page(history: History) -> Page:
    """The page of `ingest validate --history`: all rates of a level together and each round, in full each group of figures."""

    def percent(share: float | None) -> str:
        return "" if share is None else f"{share * 100:.1f} %"

    columns = ("set", "level", "figures", "answered", "median", "P80", "inside")
    rows = tuple(
        (
            "all rates" if one.set == ALL else f"{one.set} {one.round}".strip(),
            one.level,
            f"{one.kind} {one.commit}".strip(),
            f"{one.answered:,} of {one.cases:,}",
            *map(percent, (one.median_error, one.p80_error, one.inside / one.answered if one.inside else None)),
        )
        for one in history.rows
    )
    main = tuple(at for at, one in enumerate(history.rows) if one.is_pooled or (one.kind == "left out" and one.set == "rounds"))
    lines = tuple(f"{kind}: {words}" for kind, words in KINDS.items())
    answer = "; ".join(f"{level} {error:.0%}".replace("%", " %") for level, error in history.results.items())
    title = "Errors before the product held the figures, and after: median, 80th percentile, share inside the range"
    return Page(
        title,
        (Section("", columns, rows, lines, main=main or None),),
        (PastError._fields, *history.rows),
        f"Median error on unseen rates: {answer}" if answer else title,
    )


#: Tables that a short page shows.
MAIN_TABLES = ("laws", "largest", "layouts", "placement", "stages", "parts", "footprint", "publishing")
#: rows of long tables on a page; CSV and JSON carry all of them
MOST_SHOWN = {"layouts": 12, "rejected": 8}
_SIZES = {f"{kind}_parallel": short for kind, short in (("tensor", "TP"), ("pipeline", "PP"), ("context", "CP"),
                                                        ("expert", "EP"), ("data", "DP"))}  # fmt: skip
_SIZES |= {"zero_stage": "ZeRO", "bytes_per_gpu": "per GPU"}
#: short headings of wide tables, as the field abbreviates them
HEADS = {"layouts": _SIZES, "rejected": _SIZES}
#: columns that CSV and JSON carry in full and a page leaves to the sources
HIDDEN = ("source", "where", "assumed")
#: columns that a page leaves out where the table has a clearer one, and those in decimal units alone
INSTEAD, DECIMAL = {"goodput_gain_share": "gpus_gained"}, (
    "write_bandwidth", "publish_bytes", "pull_read_bandwidth", "weights_written_per_day", "join_read_bytes",
    "join_read_bandwidth", "weights_retained_bytes", "part_bytes",
)  # fmt: skip
#: columns of tables that are no quantities of their own
UNITS = {
    **dict.fromkeys(("bytes_each", "stored_bytes", "bytes_per_node", "stage_bytes", "kept_bytes", "bytes_per_gpu"), "B"),
    **dict.fromkeys(("on_gpu", "on_host", "on_nvme", "on_storage"), "B"),
    "count": "file",
}


def answer_page(answer: Answer) -> Page:
    """The page of an answer: results, tables, what is not known, assumptions, sources."""
    own = own_labels(answer)
    rows = tuple((own.get(name, plain(name)), *_value_row(name, item)[1:]) for name, item in answer.results.items())
    ranged = any(row[2] for row in rows)
    columns = ("", "value", "range") if ranged else ("", "")
    sections = [Section("", columns, tuple(row if ranged else row[:2] for row in rows), main=main_rows(answer))]
    sections += [_answer_table(name, rows) for name, rows in answer.tables.items()]
    sections += [unknown_section(answer.unknown, own), assumptions_section(answer.assumptions)]
    sections.append(sources_section(answer.sources, places=True))
    return page_of(answer.title, sections, flat_rows(answer), answer_line(answer))


def own_labels(answer: Answer) -> dict[str, str]:
    """The labels that a question has in place of those of its quantities."""
    return {one.name: one.label for one in answer.question.results if one.label}


def main_rows(answer: Answer) -> tuple[int, ...] | None:
    """The places of the results that a short page shows; None for all of them."""
    names = answer.results.keys()
    wanted = {one.name for one in answer.question.results if one.main and one.unless not in names}
    return tuple(place for place, name in enumerate(names) if name in wanted) or None


def _answer_table(name: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    columns = tuple(column for column in rows[0] if column not in HIDDEN and INSTEAD.get(column) not in rows[0])
    most = MOST_SHOWN.get(name, len(rows))
    heads = HEADS.get(name, {})
    plain_sizes = {column for column in heads if column.endswith("_parallel")}
    shown = tuple(
        tuple(f"{row[column]:,}" if column in plain_sizes else _cell(column, row[column]) for column in columns)
        for row in rows[:most]
    )
    more = (f"{len(rows) - most:,} more: --format json or csv",) if len(rows) > most else ()
    titles = tuple(heads.get(column) or plain(column) for column in columns)
    return Section(TABLES[name], titles, shown, more, detail="" if name in MAIN_TABLES else "table")


def _cell(column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    unit = UNITS.get(column) or (unit_of(column) if is_quantity(column) else "1")
    return "small" if column == "bytes_each" and not value else value_text(column, value, unit, column not in DECIMAL)


def flat_rows(answer: Answer) -> Iterator[tuple[object, ...]]:
    """Results, then the tables, one value per row in base units."""
    yield FLAT_HEADER
    yield from (("results", "", name, item.value, item.unit, item.low, item.high) for name, item in answer.results.items())
    for table, rows in answer.tables.items():
        for number, row in enumerate(rows, start=1):
            yield from flat_cells(table, number, row, UNITS)


def list_page(found: CatalogListing) -> Page:
    """The page of `ingest catalog list`: all kinds with a few ids each, all models by class, other entries by name."""
    own = TOLD.get(found.kind)
    table = [("kind", "id", "name", "missing", *((own,) if own else ()))]
    table += [(one.kind, one.id, one.name, ", ".join(one.missing), *((_told(one),) if own else ())) for one in found.entries]
    table += [(Structure.kind, one.id, one.hub or one.id, "") for one in found.releases]
    columns, *rows = table[: len(found.entries) + 1]
    sections = []
    if found.kind == "entries":
        counts = Counter(of for of, *_ in table[1:]).items()
        kinds = tuple((kind, f"{most:,}", listed((name for of, name, *_ in table if of == kind), 2)) for kind, most in counts)
        sections.append(Section("", ("kind", "entries", "ids"), kinds))
        sections.append(Section("", lines=("One kind, or those with a word: `ingest catalog list models qwen`.",)))
    elif found.older:
        of_class = [(one.family, one.id) for one in found.entries if isinstance(one, Model) and one.id not in found.older]
        older = f"{listed(found.older, 2)} (--format csv)"
        sections.append(Section("", ("class", "ids"), (*_grouped(of_class), ("older benchmarks", older))))
        sections.append(Section("", lines=("By structure alone: `ingest catalog list architectures`, or with a word.",)))
    elif found.classes:
        some = ((name.strip("[]"), listed(ids, 3 if name[0] == "[" else len(ids))) for name, ids in found.classes.items())
        sections.append(Section("", ("class", "ids"), _in_lines(some)))
        sections.append(Section("", lines=("All with a word: `ingest catalog list gpus laptop`, or quadro, gtx, radeon.",)))
    elif rows:
        # Of one kind, the title says which; `show` says what is missing of an entry, and its whole name.
        first = 0 if len({one.kind for one in found.entries}) > 1 else 1
        shown = [(*row[first:2], *row[4:], row[2]) for row in (columns, *rows)]
        room = 78 - sum(2 + max(map(len, column)) for column in [*zip(*shown, strict=True)][:-1])
        named, *rest = ((*row, shorten(name, room, placeholder="…")) for *row, name in shown)
        sections.append(Section("", named, tuple(rest)))
    if found.releases and found.kind != "entries":
        families = _grouped(((one.model_type, one.id) for one in found.releases), 0 if found.matching else FEW)
        more = () if found.matching else ("All of a family: `ingest catalog list architectures qwen3`.",)
        sections.append(Section(f"{len(found.releases)} structures by name", ("family", "ids"), families, more))
    count = f"{len(table) - 1 if found.kind == 'entries' else len(rows)} {found.kind}"
    count += f", and {len(found.releases)} structures by name" if found.releases and found.matching else ""
    return Page(count, tuple(sections), tuple(table))


FEW, SMALL = 6, 3  # ids shown of each family, where there are many, and how many a family with a line of its own has
#: kind -> the column that tells its entries apart
TOLD = {Storage.kind: "class", Node.kind: "GPUs", Corpus.kind: "holds"}


def _told(one: Entry) -> str:
    """The class of a storage system, the GPUs of a node, what a data set holds and how much."""
    if isinstance(one, Storage):
        return one.family
    if isinstance(one, Node):
        return f"{one.gpus_per_node.value:g} {one.gpu}"
    assert isinstance(one, Corpus)
    told = []
    if count := one.tokens or one.samples or one.documents:
        size, letter = next((pair for pair in ((1e12, "T"), (1e9, "B"), (1e6, "M")) if count.value >= pair[0]), (1, ""))
        told.append(f"{count.value / size:,.{3 if letter else 9}g}{letter} {count.unit}s")
    if one.stored_bytes:
        told.append(display(one.stored_bytes.value, "B", binary=False, digits=3))
    return ", ".join([*told, *(["by URL"] if one.refers_to else [])])


def _grouped(pairs: Iterable[tuple[str, str]], most: int = 0) -> tuple[tuple[str, str], ...]:
    """Ids in lines by their group, the largest group first: what most people ask for has most entries.

    With `most`, so many of each group, those first that bear its name; small groups together, and own layouts, come last.
    """
    found = grouped(pairs)
    if most:
        small = [one for ids in found.values() if len(ids) < SMALL for one in ids]
        found = {group: ids for group, ids in found.items() if len(ids) >= SMALL} | {"Others": small}
        for group, ids in found.items():
            ids.sort(key=lambda one: not one.startswith(group.partition("_")[0].rstrip("0123456789")))
    order = sorted(found.items(), key=lambda item: (item[0][:1].isupper(), -len(item[1]), item[0]))
    return _in_lines((group, listed(ids, most or len(ids))) for group, ids in order)


def _in_lines(groups: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    lines = ((group, wrap(ids, 52, break_on_hyphens=False)) for group, ids in groups)
    return tuple(("" if number else group, line) for group, some in lines for number, line in enumerate(some))


def settings_page(found: Settings) -> Page:
    """The page of `ingest catalog path --verbose`."""
    folders = tuple((str(folder), origin) for folder, origin in found.folders)
    values = tuple((name, value or "not set", origin) for name, (value, origin) in found.values.items())
    there = "" if found.present else " (does not exist)"
    sections = (Section("", ("folder, the nearest first", "from"), folders), Section("", ("setting", "value", "from"), values))
    return Page(f"Configuration file: {found.file}{there}", sections)


def check_page(report: CatalogCheck) -> Page:
    """The page of `ingest catalog check`: how many values have which grade."""
    rows = tuple(
        (kind, f"{counts.total():,}", *(f"{counts[grade] / counts.total():.1%}".replace("%", " %") for grade in GRADES))
        for kind, counts in [*report.grades.items(), ("all", sum(report.grades.values(), Counter()))]
        if counts
    )
    return page_of(f"{report.files} files, no problem", [Section("", ("kind", "values", *GRADES), rows)] if rows else [])


def entry_page(found: CatalogEntry) -> Page:
    """The page of `ingest catalog show`."""
    values = found.results
    rows = tuple((name, display(item.value, item.unit), item.grade, item.source) for name, item in values.items())
    told = ((name, ", ".join(filter(None, (item.where, item.note)))) for name, item in values.items())
    places = [f"{name}: {text}" for name, text in told if text]
    places += [f"{name}: {item.grade}, {item.source}, {item.where}".rstrip(", ") for name, item in found.statements.items()]
    rates = []
    for rate in found.catalog.rates(found.entry) if isinstance(found.entry, Model) else ():
        each = "" if rate.samples_per_second_per_gpu is None else f"{rate.samples_per_second_per_gpu:,.6g}"
        rates.append((rate.gpu, rate.protocol, rate.precision, f"{rate.gpus:,}", each, rate.round, rate.grade))
    measured = ("gpu", "protocol", "precision", "GPUs", "samples/s/GPU", "round", "grade")
    names = [*(item.source for item in values.values()), *(item.source for item in found.statements.values())]
    cited = map(found.catalog.source, dict.fromkeys(names))
    sections = [
        Section("", lines=tuple(f"{name}: {text}" for name, text in found.words.items())),
        Section("Values", ("name", "value", "grade", "source"), rows),
        Section("Places and notes", lines=tuple(places)),
        Section(f"Measured rates ({len(rates)})", measured, tuple(rates)),
        Section("Missing", lines=tuple(f"{name}: {why}" for name, why in found.entry.missing.items())),
        Section("Notes", lines=found.entry.notes),
        Section("Sources", lines=tuple(f"{one.id}: {one.title}" + (f" <{one.url}>" if one.url else "") for one in cited)),
    ]
    header = ("value", "low", "high", "unit", "grade", "source", "where", "note")
    table = ((name, *row) for name, row in zip(values, attributes(header, values.values()), strict=True))
    return page_of(f"{found.entry.name} ({found.entry.kind} {found.id})", sections, (("name", *header), *table))


#: rows of a table that a page shows; JSON and CSV have all
SHOWN = 10
ALL_ROWS = "; --format json has all"
#: Units of things that are counted: numbers in full.
COUNTED = ("token", "file", "document", "sample")
BREAKDOWN = {"folders": "By folder", "extensions": "By extension"}
LEFT_OUT = {"files_skipped": "Files skipped", "parts_skipped": "Left out of files that count"}


def corpus_page(answer: CorpusMeasurement) -> Page:
    """Results with their intervals, the breakdown, what was left out, and with what it was measured; or sizes of samples."""
    if "sample_bytes" in answer.results:
        return samples_page(answer)
    if not answer.results:  # a part, which has none before --merge
        return page_of(answer.title, (), tuple(flat_rows(answer)), answer_line(answer))
    ranged = any(item.low is not None for item in answer.results.values())
    rows: list[tuple[str, ...]] = []
    for name, item in answer.results.items():
        ends = ("" if end is None else _text(end, item.unit) for end in (item.low, item.high))
        rows.append((plain(name), _text(item.value, item.unit), *(ends if ranged else ())))
    sections = [Section("", ("", "", "from", "to") if ranged else ("", ""), tuple(rows))]
    for make, titles in ((_breakdown, BREAKDOWN), (_left_out, LEFT_OUT)):
        sections += [make(title, answer.tables[name]) for name, title in titles.items() if name in answer.tables]
    used = answer.tokenizer
    facts = (
        f"tokenizer {used['name']}, {used['size']:,} ids, {used['source']}, sha256 {used['sha256'][:16]}…",
        f"engine {answer.engine}, {answer.date}",
        f"files {answer.manifest_hash[:23]}…",
    )
    sections += [Section("Measured with", lines=facts, detail="fact"), sources_section(answer.sources, places=True)]
    title = f"{answer.title}: PARTIAL, {answer.partial}" if answer.partial else answer.title
    head, *rest = flat_rows(answer)
    marked = [("partial", "", "partial", answer.partial, "", None, None)] if answer.partial else []
    return page_of(title, sections, (head, *marked, *rest), answer_line(answer))


def _text(value: float, unit: str) -> str:
    return exact(round(value)) if unit in COUNTED else display(value, unit)


def _size(value: float) -> str:
    return display(value, "B", binary=False)


def _breakdown(title: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    """Files, bytes and tokens of each folder or extension; of a sample, the bytes of a token with their interval."""
    kind, sampled = next(iter(rows[0])), "draws" in rows[0]
    columns = (kind, "files", "stored", *(("B/token", "from", "to") if sampled else ("text", "tokens", "B/token")))
    shown: list[tuple[str, ...]] = []
    for row in rows[:SHOWN]:
        ratios = (row.get(f"bytes_per_token{end}") for end in ("", "_low", "_high"))
        ratio, low, high = ("" if value is None else f"{value:.3f}" for value in ratios)
        if not sampled:
            counted = (_size(row["corpus_bytes"]), display(row["tokens"], "token").replace(" tokens", ""), ratio)
        else:
            counted = (row["note"], "", "") if row["note"] else (ratio, low, high)
        shown.append((row[kind], exact(row["files"]), _size(row["stored_bytes"]), *counted))
    return Section(title, columns, tuple(shown), more_rows(len(rows), SHOWN, ALL_ROWS))


def _left_out(title: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    lines = tuple(f"{row['path']}: {row['reason']}" if row["path"] else str(row["reason"]) for row in rows[:SHOWN])
    return Section(f"{title} ({len(rows):,})", lines=lines + more_rows(len(rows), SHOWN, ALL_ROWS))


def samples_page(answer: CorpusMeasurement) -> Page:
    """Results, percentiles, histograms, extensions, what was left out, and what to do with it."""
    tables = answer.tables
    results = tuple((plain(name), _text(item.value, item.unit)) for name, item in answer.results.items())
    pairs = zip(tables["sample_sizes"], tables["file_sizes"], strict=True)
    sizes = tuple((one["size"], _size(one["bytes"]), _size(other["bytes"])) for one, other in pairs)
    first = tables["extensions"][:SHOWN]
    shown = [(row["extension"], exact(row["files"]), exact(row["samples"]), _size(row["stored_bytes"])) for row in first]
    shown += [(line, "", "", "") for line in more_rows(len(tables["extensions"]), SHOWN)]
    samples, files = (
        tuple((display(row["from"], "B"), display(row["below"], "B"), exact(row["count"]), _size(row["bytes"])) for row in rows)
        for rows in (tables["sample_histogram"], tables["file_histogram"])
    )
    sections = [
        Section("", ("", ""), results),
        Section("Sizes", ("", "sample", "file"), sizes),
        Section("Samples by size", ("from", "below", "samples", "bytes"), samples),
        Section("Files by size", ("from", "below", "files", "bytes"), files),
        Section("By extension", ("extension", "files", "samples", "stored"), tuple(shown)),
        *([_left_out("Files skipped", tables["files_skipped"])] if "files_skipped" in tables else []),
        Section("Use it with", lines=(f"ingest bw --model … --sample-bytes {answer.results['sample_bytes'].value:.0f}",)),
    ]
    return page_of(answer.title, sections, flat_rows(answer), answer_line(answer))
