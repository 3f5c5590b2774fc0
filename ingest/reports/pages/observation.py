"""The pages of an observed job, and of the estimate that it is held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ingest.reports.answer_line import calibration_line, observation_line
from ingest.reports.labels import plain
from ingest.reports.page import FLAT_HEADER, Page, Section, page_of, range_text, unknown_section, value_text
from ingest.units import display, exact

if TYPE_CHECKING:
    from ingest.observation.calibration import Calibration, Comparison
    from ingest.observation.observation import Figure, Observation

PER_GPU = "sample/s/GPU"
COLUMNS = ("", "", "from", "evidence", "window", "coverage")


def observation_page(answer: Observation) -> Page:
    """Figures with source, window and coverage; sizes of requests; how each was counted; what is not known."""
    rows = tuple(_row(name, one) for name, one in answer.figures.items())
    notes = dict.fromkeys(f"{plain(name)}: {one.note}" for name, one in answer.figures.items() if one.note)
    sections = [
        Section("", COLUMNS, rows),
        Section("Read requests by size", ("from", "below", "requests"), tuple(_sizes(answer))),
        Section("Windows", lines=tuple(_windows(answer))),
        Section("How it was counted", lines=tuple(notes), detail="note"),
        Section("Job", lines=tuple(f"{name.replace('_', ' ')}: {_fact(value)}" for name, value in answer.facts.items())),
        unknown_section(answer.unknown),
    ]
    return page_of(answer.title, sections, _flat(answer), observation_line(answer))


def _row(name: str, one: Figure) -> tuple[str, ...]:
    value = value_text(name, one.value, one.unit, binary=False)
    window = display(one.window.seconds, "s") if one.window else ""
    covered = "" if one.coverage is None else f"{one.coverage:.1%}"
    spread = range_text(name, one.quantity)
    return plain(name), f"≥ {value}" if one.lower_bound else value, spread, f"{one.basis}, {one.source}", window, covered


def _sizes(answer: Observation) -> Iterator[tuple[str, str, str]]:
    for one in answer.sizes:
        if one.requests:
            yield display(one.low, "B", binary=True), display(one.below, "B", binary=True), exact(one.requests)


def _windows(answer: Observation) -> Iterator[str]:
    seen = {(one.source, one.window) for one in answer.figures.values() if one.window}
    for source, window in sorted(seen):
        cut = f", cut {display(window.cut_before, 's')} before and {display(window.cut_after, 's')} after it"
        yield f"{source}: {display(window.seconds, 's')}{cut if window.cut_before or window.cut_after else ''}: {window.note}"


def _fact(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else exact(value) if isinstance(value, int) else str(value)


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
    sections = [
        *_together(answer),
        Section("", columns, rows),
        Section("Why they differ", lines=tuple(dict.fromkeys(f"{plain(one.quantity)}: {one.why}" for one in answer.rows))),
        Section(f"Written to {answer.folder}", lines=tuple(answer.files)),
        Section("Use it with", lines=commands),
    ]
    flat = [(one.quantity, one.observed.value, one.observed.unit, one.ratio, one.inside) for one in answer.rows]
    return page_of(f"{answer.model} on {answer.gpu}: estimate and observation", sections,
                   [("quantity", "observed", "unit", "ratio", "inside"), *flat], calibration_line(answer))  # fmt: skip


def _together(answer: Calibration) -> Iterator[Section]:
    """What several observations show together, with their intervals."""
    if answer.scaling is None:
        return
    found = answer.scaling
    rows = tuple(
        (plain(name), value_text(name, one.value, one.unit, binary=False), range_text(name, one), str(found.points[name]))
        for name, one in found.results.items()
    )
    yield Section("All observations together", ("", "", "95 % interval", "observations"), rows)
    yield unknown_section(found.unknown)


def _compared(one: Comparison) -> tuple[str, ...]:
    seen = value_text(one.quantity, one.observed.value, one.observed.unit, binary=False)
    if one.estimated is None or one.ratio is None:
        return plain(one.quantity), "not known", seen, "", ""
    guess = value_text(one.quantity, one.estimated.value, one.estimated.unit, binary=False)
    spread = range_text(one.quantity, one.estimated)
    shown = f"{guess} ({spread})" if spread else guess
    bound = "≥ " if one.observed.lower_bound else ""
    return plain(one.quantity), shown, f"{bound}{seen}", f"{one.ratio:.3g}", "yes" if one.inside else "no"


def _flat(answer: Observation) -> Iterator[tuple[object, ...]]:
    yield FLAT_HEADER
    for name, one in answer.figures.items():
        yield "results", one.source, name, one.value, one.unit, one.low, one.high
