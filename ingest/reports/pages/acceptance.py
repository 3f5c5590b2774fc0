"""Pages of `accept`, `verdict` and `measure-storage`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.judgement import PASS
from ingest.acceptance.test_spec import TOOLS
from ingest.acceptance.verdict import ACCEPTED, SHARE, TIMES
from ingest.reports.answer_line import joined, results_line, titled
from ingest.reports.labels import counted, plain
from ingest.reports.page import Page, Section, attributes, page_of
from ingest.units import display

if TYPE_CHECKING:
    from ingest.acceptance.judgement import TestVerdict
    from ingest.acceptance.observed_job import ObservedJob
    from ingest.acceptance.pack import Acceptance
    from ingest.acceptance.path_benchmark import PathBenchmark
    from ingest.acceptance.service_limits import MandatoryTerm
    from ingest.acceptance.verdict import Verdict


#: Tests that a short page lists.
MOST_TESTS = 8


def acceptance_page(made: Acceptance) -> Page:
    """The page of `ingest accept`: which test shows which requirement."""
    rows = tuple(
        (test.id, test.requirement, test.priority, f"{load.operation} {display(load.threshold, load.unit)}")
        for test in made.tests
        for load in test.loads
    )
    columns = ("test", "requirement", "priority", "must reach")
    degraded_rows = tuple(
        (test.id, limit.id, f"{load.operation} {display(load.threshold, load.unit)}")
        for limit, tests in made.degraded.items()
        for test in tests
        for load in test.loads
    )
    others = [name for name in TOOLS if name not in {test.tool for test in made.tests}]
    following = (
        f"follow {made.folder}/README.md, then: ingest verdict {made.folder} RESULTS",
        f"tests.json has sha256 {made.manifest_hash}; the verdict prints it too",
        *filter(None, (made.effort.filled, made.effort.most)),
        *([f"tests of other tools: --tool {', '.join(others)}; each fills its own data"] if others else []),
    )
    sections = [
        Section("", columns, rows, main=tuple(range(min(MOST_TESTS, len(rows))))),
        Section(
            "Without a performance test",
            lines=tuple(f"{ident}: {why}" for ident, why in made.untested.items()),
            detail="untested line",
        ),
        Section("In degraded operation", ("test", "term", "must reach"), degraded_rows, detail="degraded test"),
        Section("Mandatory terms to be inspected", lines=_counted_terms(made)),
        Section("Next", lines=following[:2]),
        Section("", lines=following[2:], detail="note"),
    ]
    of_test = ("id", "requirement", "priority", "tool")
    of_load = ("name", "threshold", "unit", "io_bytes", "clients", "threads", "seconds")
    flat = [
        (*test, *load) for one in made.tests for test in attributes(of_test, [one]) for load in attributes(of_load, one.loads)
    ]
    header = ("test", *of_test[1:], "load", *of_load[1:])
    title = f"{made.effort.words}; " + ("rehearsal on one machine for " if made.setting.rehearsal else "") + made.site
    total = made.effort.words.partition(":")[0]
    answer = joined("Takes", [total, counted(len(made.tests), "test")], len(made.warnings))
    return page_of(title, sections, (header, *flat), answer)


def _counted_terms(made: Acceptance) -> tuple[str, ...]:
    ids = ", ".join(term.id for term in made.inspected)
    return (f"{len(made.inspected)} terms, each with its evidence in README.md: {ids}",) if ids else ()


def observed_job_page(made: ObservedJob) -> Page:
    """The page of `ingest accept --from-observation`: the rate to reach, and requests by size."""
    rows = tuple((display(size, "B"), f"{share} %") for size, share in made.sizes.items())
    sections = [
        Section("", ("", ""), (("must reach", display(made.rate, "B/s")), ("readers", f"{made.readers:,}"))),
        Section("Requests", ("size", "share"), rows),
        Section("Next", lines=(f"follow {made.folder}/README.md",)),
    ]
    flat = [("request", size, share) for size, share in made.sizes.items()]
    return page_of(f"Observed job, {made.times:g} times", sections, [("", "size", "percent"), *flat])


#: Columns of a list of requirements or tests that were judged.
JUDGED = ("id", "result", "measured", "required", "margin")


def verdict_page(answer: Verdict) -> Page:
    """The page of `ingest verdict`: the word, requirements, the tests behind them, excluded results."""
    tested = [one for one in answer.requirements if one.id in answer.testable]
    sections = [
        Section("Requirements", JUDGED, judged_rows(tested)),
        Section("Why", lines=tuple(f"{one.id} ({one.priority}): {one.why}" for one in tested if one.why)),
        *inspection_sections(answer),
        Section("Tests", JUDGED, judged_rows(answer.tests)),
        *(Section(f"Degraded operation, {ident}", JUDGED, judged_rows(tests)) for ident, tests in answer.degraded.items()),
        Section("Excluded results", lines=tuple(f"{name}: {why}" for name, why in answer.refused.items())),
        Section("Tests judged", lines=(f"tests.json with sha256 {answer.manifest_hash}",)),
    ]
    header = ("id", "requirement", "priority", "result", "measured", "low", "high", "required", "unit", "margin", "runs", "why")
    flat: list[tuple[object, ...]] = [("verdict", answer.manifest.site, "", "", answer.word, *[None] * 7, answer.counted)]
    flat += [("requirement", *row) for row in attributes(header, answer.requirements)]
    flat += [("test", *row) for row in attributes(header, answer.tests)]
    for ident, tests in answer.degraded.items():
        flat += [(f"degraded {ident}", *row) for row in attributes(header, tests)]
    remaining = [*answer.inspected.items(), *((term.id, _evidence(term)) for term in answer.inspected_terms)]
    flat += [("inspection", ident, ident, "mandatory", "to be inspected", *[None] * 7, what) for ident, what in remaining]
    title = verdict_title(answer)
    return page_of(title, sections, (("kind", *header), *flat), titled(title, len(answer.warnings)))


def inspection_sections(answer: Verdict) -> tuple[Section, ...]:
    """The mandatory requirements and terms that no test shows, each with what to inspect."""
    lines = tuple(f"{ident}: {what}" for ident, what in answer.inspected.items())
    return (
        Section("Mandatory requirements to be inspected", lines=lines),
        Section("Mandatory terms to be inspected", lines=terms_in_words(answer.inspected_terms)),
    )


def terms_in_words(terms: Iterable[MandatoryTerm]) -> tuple[str, ...]:
    """One line for each term: its id, name, value and evidence."""
    return tuple(f"{term.id}: {_evidence(term)}" for term in terms)


def _evidence(term: MandatoryTerm) -> str:
    return f"{term.name}, {term.value}: {term.verification}"


def verdict_word(answer: Verdict) -> str:
    """The word, which covers the tests alone where something remains to be inspected."""
    return f"{answer.word} by tests" if answer.word == ACCEPTED and answer.remaining else answer.word


def verdict_title(answer: Verdict) -> str:
    """The word and what it covers."""
    rehearsal = "rehearsal on one machine, which proves no requirement of the whole system; " if answer.rehearsal else ""
    return f"{verdict_word(answer)}: {answer.manifest.site}: {rehearsal}{answer.counted}"


def judged_rows(judged: Iterable[TestVerdict]) -> tuple[tuple[str, ...], ...]:
    """The cells of lines that were judged, by the columns of `JUDGED`."""
    return tuple(
        (
            one.id,
            one.result,
            "" if one.measured is None else _measured(one.measured, one.unit),
            _measured(one.required, one.unit) if one.required else "",
            "" if one.margin is None else _margin(max(one.margin, 0) if one.result == PASS and one.low is None else one.margin),
        )
        for one in judged
    )


def _measured(value: float, unit: str) -> str:
    """A rate, or the number of a service term.

    >>> _measured(0.5, "share"), _measured(1e9, "B/s"), _measured(1751, "times the mean")
    ('50 %', '1 GB/s', '1,750 times the mean')
    """
    if unit == SHARE:
        return f"{value * 100:.4g} %"
    return f"{float(f'{value:.3g}'):,.10g} {unit}" if unit == TIMES else display(value, unit, binary=False)


def _margin(share: float) -> str:
    """`+20 %`; from twice the requirement on, how many times it is.

    >>> _margin(0.2), _margin(1.5), _margin(0)
    ('+20 %', '2.5×', '0 %')
    """
    if share == 0:
        return "0 %"
    if share < 1:
        return f"{share * 100:+.3g} %"
    return f"{float(f'{share + 1:.3g}'):,g}×"


def _rate(value: float, unit: str) -> str:
    """The label of a bare number per second names what is counted."""
    return display(value, "1") if unit == "1/s" else display(value, unit)


def measured_page(answer: PathBenchmark) -> Page:
    """The page of `ingest measure-storage`: measured rates, and the GPUs that they support."""
    rows = tuple((plain(name), _rate(item.value, item.unit)) for name, item in answer.results.items())
    trial = answer.fio_run
    threads = f"{trial.threads} threads, {display(trial.io_bytes, 'B')} each, {display(trial.bytes, 'B')} of files"
    how = (
        threads if len(answer.points) == 1 else f"at the {_point(answer)} of the largest requests: {threads}",
        "random reads, sequential writes" + (", direct I/O" if answer.direct else ", through the page cache"),
    )
    fed = tuple(
        (one.model, one.gpu, display(one.bandwidth_per_gpu, "B/s/GPU", binary=False), f"{one.gpus:,}" if one.gpus else "none")
        for one in answer.supported
    )
    feeds = Section("GPUs that the measured read bandwidth supports", ("model", "gpu", "per GPU", "GPUs"), fed)
    header = ("kind", "name", "gpu", "value", "unit")
    flat: list[tuple[object, ...]] = [("result", name, "", item.value, item.unit) for name, item in answer.results.items()]
    flat += [("feeds", one.model, one.gpu, one.gpus, "GPU") for one in answer.supported]
    swept = _sweeps(answer) if len(answer.points) > 1 else ()
    sections = (*swept, Section("", ("", ""), rows, how), feeds)
    line = results_line("measure-storage", answer.results, len(answer.warnings))
    return Page(f"{answer.path}, measured from one machine", sections, (header, *flat), line)


#: Length of the longest bar.
BAR = 24


def _sweeps(answer: PathBenchmark) -> tuple[Section, ...]:
    """A picture of the reads for each size of request: a bar per number of threads, and the knee."""
    return tuple(
        _sweep(size, [row for row in answer.rows if row["io_size"] == size], answer.bent[size]) for size in answer.sizes
    )


def _point(answer: PathBenchmark) -> str:
    return "knee" if answer.bent[answer.sizes[-1]] else "most threads"


def _sweep(size: int, rows: Sequence[Mapping[str, Any]], bent: bool) -> Section:
    best = max(row["read_bandwidth"] for row in rows)
    shown = tuple(
        (
            f"{row['threads']}",
            "█" * max(round(row["read_bandwidth"] / best * BAR), 1),
            display(row["read_bandwidth"], "B/s", binary=False),
            display(row["read_requests_per_second"], "1"),
            display(row["read_latency"], "s") if "read_latency" in row else "",
            display(row["write_bandwidth"], "B/s", binary=False),
            "knee" if row["knee"] else "",
        )
        for row in rows
    )
    heads = ("threads", "reads", "", "IOPS", "latency", "writes", "")
    most = max(row["threads"] for row in rows)
    straight = () if bent or len(rows) == 1 else (f"no knee up to {most} threads: measure with more",)
    return Section(f"Requests of {display(size, 'B')}", heads, shown, straight)
