"""Pages of `accept`, `verdict` and `measure-storage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingest.acceptance.verdict import PASS
from ingest.reports.labels import plain
from ingest.reports.page import Page, Section, attributes, page_of
from ingest.units import display

if TYPE_CHECKING:
    from ingest.acceptance.acceptance_result import Acceptance
    from ingest.acceptance.path_benchmark import PathBenchmark
    from ingest.acceptance.verdict import TestVerdict, Verdict


def acceptance_page(made: Acceptance) -> Page:
    """The page of `ingest accept`: which test shows which requirement."""
    rows = tuple(
        (test.id, test.requirement, test.priority, f"{load.operation} {display(load.threshold, load.unit)}")
        for test in made.tests
        for load in test.loads
    )
    columns = ("test", "requirement", "priority", "must reach")
    following = (
        f"follow {made.folder}/README.md, then: ingest verdict {made.folder} RESULTS",
        f"tests.json has sha256 {made.manifest_hash}; the verdict prints it too",
    )
    sections = [
        Section("", columns, rows),
        Section("Without a performance test", lines=tuple(f"{ident}: {why}" for ident, why in made.untested.items())),
        Section("Next", lines=following),
    ]
    of_test = ("id", "requirement", "priority", "tool")
    of_load = ("name", "threshold", "unit", "io_bytes", "clients", "threads", "seconds")
    flat = [
        (*test, *load) for one in made.tests for test in attributes(of_test, [one]) for load in attributes(of_load, one.loads)
    ]
    header = ("test", *of_test[1:], "load", *of_load[1:])
    title = made.site + (", one machine" if made.setting.rehearsal else "") + f": {made.effort}"
    return page_of(title, sections, (header, *flat))


def verdict_page(answer: Verdict) -> Page:
    """The page of `ingest verdict`: requirements, then the tests behind them, then excluded results."""
    columns = ("", "result", "measured", "required", "margin")
    sections = [
        Section("Requirements", columns, _judged(answer.requirements)),
        Section("Why", lines=tuple(f"{one.id} ({one.priority}): {one.why}" for one in answer.requirements if one.why)),
        Section("Tests", columns, _judged(answer.tests)),
        Section("Excluded results", lines=tuple(f"{name}: {why}" for name, why in answer.refused.items())),
        Section("Tests judged", lines=(f"tests.json with sha256 {answer.manifest_hash}",)),
    ]
    header = ("id", "requirement", "priority", "result", "measured", "required", "unit", "margin", "why")
    flat = [("requirement", *row) for row in attributes(header, answer.requirements)]
    flat += [("test", *row) for row in attributes(header, answer.tests)]
    passed = sum(one.result == "pass" for one in answer.requirements)
    title = f"Verdict for {answer.manifest.site}: {passed} of {len(answer.requirements)} requirements pass"
    return page_of(title, sections, (("kind", *header), *flat))


def _judged(judged: Sequence[TestVerdict]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            one.id,
            one.result,
            "" if one.measured is None else display(one.measured, one.unit, binary=False),
            display(one.required, one.unit, binary=False) if one.required else "",
            "" if one.margin is None else _margin(max(one.margin, 0) if one.result == PASS else one.margin),
        )
        for one in judged
    )


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
        threads if len(answer.points) == 1 else f"at the knee of the largest requests: {threads}",
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
    return Page(f"{answer.path}, measured from one machine", sections, (header, *flat))


#: Length of the longest bar.
BAR = 24


def _sweeps(answer: PathBenchmark) -> tuple[Section, ...]:
    """A picture of the reads for each size of request: a bar per number of threads, and the knee."""
    return tuple(_sweep(size, [row for row in answer.rows if row["io_size"] == size]) for size in answer.sizes)


def _sweep(size: int, rows: Sequence[Mapping[str, Any]]) -> Section:
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
    return Section(f"Requests of {display(size, 'B')}", heads, shown)
