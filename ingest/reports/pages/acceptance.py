"""Pages of `accept`, `verdict` and `measure-storage`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.judgement import PASS, TestVerdict
from ingest.acceptance.pack import required_rate
from ingest.acceptance.path_benchmark import QUESTION, PathBenchmark
from ingest.acceptance.test_spec import TOOLS
from ingest.acceptance.verdict import ACCEPTED, SHARE, TIMES, UNPROVEN, Verdict
from ingest.reports.labels import counted, plain
from ingest.reports.page import Page, Section, attributes, joined, page_of, results_line
from ingest.units import display

if TYPE_CHECKING:
    from ingest.acceptance.observed_job import ObservedJob
    from ingest.acceptance.pack import Acceptance


#: What the hash of a folder that somebody else kept leaves open.
THRESHOLDS = "who has the folder can edit its thresholds: compare the hash with the one that `accept` printed, or give --plan"
#: Tests that a short page lists.
MOST_TESTS = 8


def acceptance_page(made: Acceptance) -> Page:
    """The page of `ingest accept`: which test shows which requirement."""
    alone = made.setting.rehearsal
    rows, degraded = (
        tuple(
            (*words, f"{load.operation} {required_rate(load, rehearsal=alone)}") for words, test in tests for load in test.loads
        )
        for tests in (
            [((one.id, one.requirement, one.priority), one) for one in made.tests],
            [((test.id, limit.id), test) for limit, tests in made.degraded.items() for test in tests],
        )
    )
    others = [name for name in TOOLS if name not in {test.tool for test in made.tests}]
    following = (
        f"follow {made.folder}/README.md, then: ingest verdict {made.folder} RESULTS",
        f"tests.json has sha256 {made.manifest_hash}; the verdict prints it too",
        *filter(None, (made.effort.filled, made.effort.most)),
        *([f"tests of other tools: --tool {', '.join(others)}; each fills its own data"] if others else []),
    )
    untested = tuple(f"{ident}: {why}" for ident, why in made.untested.items())
    ids = ", ".join(term.id for term in made.inspected)
    inspected = (f"{len(made.inspected)} terms, each with its evidence in README.md: {ids}",) if ids else ()
    main = tuple(range(min(MOST_TESTS, len(rows))))
    sections = [
        Section("", ("test", "requirement", "priority", "must reach"), rows, main=main),
        Section("Without a performance test", lines=untested, detail="untested line"),
        Section("In degraded operation", ("test", "term", "must reach"), degraded, detail="degraded test"),
        Section("Mandatory terms to be inspected", lines=inspected),
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
    answer = joined("Takes", [made.effort.words.partition(":")[0], counted(len(made.tests), "test")], len(made.warnings))
    return page_of(title, sections, (header, *flat), answer)


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
#: Columns of the runs behind them.
RUNS = ("test", "run", "time", "hosts", "sha256", "valid")


def verdict_page(answer: Verdict) -> Page:
    """The page of `ingest verdict`: the word, requirements, the tests behind them, excluded results."""
    tested = [one for one in answer.requirements if one.id in answer.testable]
    sections = [
        Section("Requirements", JUDGED, judged_rows(tested)),
        Section("Why", lines=tuple(f"{one.id} ({one.priority}): {one.why}" for one in tested if one.why)),
        *inspection_sections(answer),
        Section("Tests", JUDGED, judged_rows(answer.tests)),
        *(Section(f"Degraded operation, {ident}", JUDGED, judged_rows(tests)) for ident, tests in answer.degraded.items()),
        Section("Results that are not valid", lines=tuple(f"{name}: {why}" for name, why in answer.refused.items())),
        Section("Runs", RUNS, evidence_rows(answer), (answer.span, UNPROVEN) * bool(answer.span)),
        Section("Tests judged", lines=(f"tests.json with sha256 {answer.manifest_hash}", THRESHOLDS)),
    ]
    header = ("id", "requirement", "priority", "result", "measured", "low", "high", "required", "unit", "margin", "runs", "why")
    flat: list[tuple[object, ...]] = [("verdict", answer.manifest.site, "", "", answer.word, *[None] * 7, answer.counted)]
    degraded = {f"degraded {ident}": tests for ident, tests in answer.degraded.items()}
    for kind, judged in {"requirement": answer.requirements, "test": answer.tests, **degraded}.items():
        flat += [(kind, *row) for row in attributes(header, judged)]
    remaining = (line.split(": ", 1) for section in inspection_sections(answer) for line in section.lines)
    flat += [("inspection", ident, ident, "mandatory", "to be inspected", *[None] * 7, what) for ident, what in remaining]
    title = verdict_title(answer)
    return page_of(title, sections, (("kind", *header), *flat), joined("", [title], len(answer.warnings)))


def evidence_rows(answer: Verdict) -> tuple[tuple[str, ...], ...]:
    """When and where each run was, whether its file is as the script left it, and whether it is valid."""
    changed = {True: "as recorded", False: "changed", None: "not recorded"}
    return tuple(
        (
            one.test,
            str(one.number or ""),
            one.when or "unknown",
            f"{one.hosts[0]} and {len(one.hosts) - 1} more" if len(one.hosts) > 1 else "".join(one.hosts) or "unknown",
            f"{one.sha256[:12]}, {changed[one.unchanged]}",
            "not valid" if one.why else "valid",
        )
        for one in answer.evidence
    )


def inspection_sections(answer: Verdict) -> tuple[Section, ...]:
    """The mandatory requirements and terms that no test shows, each with what to inspect."""
    lines = tuple(f"{ident}: {what}" for ident, what in answer.inspected.items())
    terms = tuple(f"{term.id}: {term.name}, {term.value}: {term.verification}" for term in answer.inspected_terms)
    return (
        Section("Mandatory requirements to be inspected", lines=lines),
        Section("Mandatory terms to be inspected", lines=terms),
    )


def verdict_word(answer: Verdict) -> str:
    """The word, which covers the tests alone where something remains to be inspected."""
    return f"{answer.word} by tests" if answer.word == ACCEPTED and answer.remaining else answer.word


def verdict_title(answer: Verdict) -> str:
    """The word and what it covers."""
    rehearsal = "rehearsal on one machine, which proves no requirement of the whole system; " if answer.rehearsal else ""
    return f"{verdict_word(answer)}: {answer.manifest.site}: {rehearsal}{answer.counted}"


def judged_rows(judged: Iterable[TestVerdict]) -> tuple[tuple[str, ...], ...]:
    """The cells of lines that were judged, by the columns of `JUDGED`."""
    rows = []
    for one in judged:
        measured = "" if one.measured is None else _measured(one.measured, one.unit)
        required = _measured(one.required, one.unit) if one.required else ""
        shown = ""
        if one.margin is not None:
            # What passes by its measured value alone is never below what is required.
            share = max(one.margin, 0) if one.result == PASS and one.low is None else one.margin
            # From twice the requirement on, how many times it is.
            shown = "0 %" if share == 0 else f"{share * 100:+.3g} %" if share < 1 else f"{float(f'{share + 1:.3g}'):,g}×"
        rows.append((one.id, one.result, measured, required, shown))
    return tuple(rows)


def _measured(value: float, unit: str) -> str:
    """A rate, or the number of a service term.

    >>> _measured(0.5, "share"), _measured(1e9, "B/s"), _measured(1751, "times the mean")
    ('50 %', '1 GB/s', '1,750 times the mean')
    """
    if unit == SHARE:
        return f"{value * 100:.4g} %"
    return f"{float(f'{value:.3g}'):,.10g} {unit}" if unit == TIMES else display(value, unit, binary=False)


#: Length of the longest bar.
BAR = 24


def measured_page(answer: PathBenchmark) -> Page:
    """The page of `ingest measure-storage`: measured rates, and the GPUs that they support."""
    # The label of a bare number per second names what is counted.
    found = answer.results.items()
    rows = tuple((plain(name), display(item.value, "1" if item.unit == "1/s" else item.unit)) for name, item in found)
    trial, several = answer.chosen.run, len(answer.points) > 1
    how = f"{trial.threads} threads, {display(trial.io_bytes, 'B')} each, {display(trial.bytes, 'B')} of files"
    if several:
        how = f"at the {'knee' if answer.bent[answer.sizes[-1]] else 'most threads'} of the largest requests: {how}"
    way = "random reads, sequential writes" + (", direct I/O" if answer.direct else ", through the page cache")
    fed = tuple(
        (one.model, one.gpu, display(one.bandwidth_per_gpu, "B/s/GPU", binary=False), f"{one.gpus:,}" if one.gpus else "none")
        for one in answer.supported
    )
    feeds = Section("GPUs that the measured read bandwidth supports", ("model", "gpu", "per GPU", "GPUs"), fed)
    flat: list[tuple[object, ...]] = [("kind", "name", "gpu", "value", "unit")]
    flat += [("result", name, "", item.value, item.unit) for name, item in found]
    flat += [("feeds", one.model, one.gpu, one.gpus, "GPU") for one in answer.supported]
    swept = [_sweep(size, [row for row in answer.rows if row["io_size"] == size], answer.bent[size]) for size in answer.sizes]
    sections = (*(swept if several else ()), Section("", ("", ""), rows, (how, way)), feeds)
    line = results_line(QUESTION, answer.results, len(answer.warnings))
    return Page(f"{answer.path}, measured from one machine", sections, tuple(flat), line)


def _sweep(size: int, rows: Sequence[Mapping[str, Any]], bent: bool) -> Section:
    """A picture of the reads of a size of request: a bar per number of threads, and the knee."""
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
