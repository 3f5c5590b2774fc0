"""The pages of an observed job, and of the estimate that it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.reports.answer_line import calibration_line, results_line
from ingest.reports.labels import plain
from ingest.reports.page import FLAT_HEADER, Page, Section, page_of, range_text, unknown_section, value_text
from ingest.units import display, exact

if TYPE_CHECKING:
    from ingest.observation.calibration import Calibration, Comparison
    from ingest.observation.observation import Observation

PER_GPU = "sample/s/GPU"
COLUMNS = ("", "", "from", "evidence", "window", "coverage")


def observation_page(answer: Observation) -> Page:
    """Figures with source, window and coverage; sizes of requests; how each was counted; what is not known."""
    rows: list[tuple[str, ...]] = []
    flat: list[tuple[object, ...]] = [FLAT_HEADER]
    for name, one in answer.figures.items():
        value = value_text(name, one.value, one.unit, binary=False)
        window = display(one.window.seconds, "s") if one.window else ""
        covered = "" if one.coverage is None else f"{one.coverage:.1%}"
        spread, origin = range_text(name, one.quantity), f"{one.basis}, {one.source}"
        rows.append((plain(name), f"≥ {value}" if one.lower_bound else value, spread, origin, window, covered))
        flat.append(("results", one.source, name, one.value, one.unit, one.low, one.high))
    sizes = tuple(
        (display(one.low, "B", binary=True), display(one.below, "B", binary=True), exact(one.requests))
        for one in answer.sizes
        if one.requests
    )
    windows = []
    for source, seen in sorted({(one.source, one.window) for one in answer.figures.values() if one.window}):
        cut = f", cut {display(seen.cut_before, 's')} before and {display(seen.cut_after, 's')} after it"
        windows.append(f"{source}: {display(seen.seconds, 's')}{cut if seen.cut_before or seen.cut_after else ''}: {seen.note}")
    notes = dict.fromkeys(f"{plain(name)}: {one.note}" for name, one in answer.figures.items() if one.note)
    facts = [
        (name, f"{value:,.4g}" if isinstance(value, float) else exact(value) if isinstance(value, int) else value)
        for name, value in answer.facts.items()
    ]
    sections = [
        Section("", COLUMNS, tuple(rows)),
        Section("Read requests by size", ("from", "below", "requests"), sizes),
        Section("Windows", lines=tuple(windows)),
        Section("How it was counted", lines=tuple(notes), detail="note"),
        Section("Job", lines=tuple(f"{name.replace('_', ' ')}: {value}" for name, value in facts)),
        unknown_section(answer.unknown),
    ]
    line = results_line(answer.question, answer.results, len(answer.warnings))
    return page_of(answer.title, sections, flat, line)


def calibration_page(answer: Calibration) -> Page:
    """Estimate beside observation per quantity, why they differ, and what was written."""
    places = ("observation",) if answer.scaling is not None else ()
    columns = (*places, "", "estimated", "observed", "observed ÷ estimated", "in range")
    rows = tuple((*((one.place,) if places else ()), *_compared(one)) for one in answer.rows)
    typed = next(
        (one.observed.value for one in answer.rows if one.observed.basis == "given" and one.observed.unit == PER_GPU), None
    )
    job = f"--model {answer.model} --gpu {answer.gpu}"
    if not answer.folder:
        commands: tuple[str, ...] = ("-o DIR writes entries that --catalogs takes",)
    elif typed is not None:
        commands = (f"ingest bw {job} --samples-per-second {typed:.6g}",)
    else:
        commands = (
            f"ingest bw {job} --protocol own --catalogs {answer.folder}",
            f"ingest plan SITE.yaml --catalogs {answer.folder} --set jobs.NAME.protocol=own",
        )
    sections = []
    if (found := answer.scaling) is not None:
        together = tuple(
            (plain(name), value_text(name, one.value, one.unit, binary=False), range_text(name, one), str(found.points[name]))
            for name, one in found.results.items()
        )
        sections.append(Section("All observations together", ("", "", "95 % interval", "observations"), together))
        sections.append(unknown_section(found.unknown))
    sections += [
        Section("", columns, rows),
        Section("Why they differ", lines=tuple(dict.fromkeys(f"{plain(one.quantity)}: {one.why}" for one in answer.rows))),
        Section(f"Written to {answer.folder}", lines=tuple(answer.files)),
        Section("Use it with", lines=commands),
    ]
    flat = [(one.quantity, one.observed.value, one.observed.unit, one.ratio, one.inside) for one in answer.rows]
    return page_of(f"{answer.model} on {answer.gpu}: estimate and observation", sections,
                   [("quantity", "observed", "unit", "ratio", "inside"), *flat], calibration_line(answer))  # fmt: skip


def _compared(one: Comparison) -> tuple[str, ...]:
    seen = value_text(one.quantity, one.observed.value, one.observed.unit, binary=False)
    if one.estimated is None or one.ratio is None:
        return plain(one.quantity), "not known", seen, "", ""
    guess = value_text(one.quantity, one.estimated.value, one.estimated.unit, binary=False)
    spread = range_text(one.quantity, one.estimated)
    shown = f"{guess} ({spread})" if spread else guess
    bound = "≥ " if one.observed.lower_bound else ""
    return plain(one.quantity), shown, f"{bound}{seen}", f"{one.ratio:.3g}", "yes" if one.inside else "no"
