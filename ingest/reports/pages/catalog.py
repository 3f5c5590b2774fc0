"""Catalog entries as pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.catalog.records import Model, Storage
from ingest.reports.page import Page, Section, page_of
from ingest.units import display

if TYPE_CHECKING:
    from ingest.sizing.catalog import CatalogEntry, CatalogListing


def list_page(found: CatalogListing) -> Page:
    """The page of `ingest catalog list`."""
    columns: tuple[str, ...] = ("kind", "id", "name", "missing")
    table: tuple[tuple[str, ...], ...]
    table = tuple((entry.kind, entry.id, entry.name, ", ".join(entry.missing)) for entry in found.entries)
    if found.kind == Storage.kind:
        columns = (*columns, "class")
        classes = [entry.family for entry in found.entries if isinstance(entry, Storage)]
        table = tuple((*row, word) for row, word in zip(table, classes, strict=True))
    # Of one kind, the title says which.
    first = 0 if found.kind == "entries" else 1
    rows = tuple(row[first:] for row in table)
    return Page(f"{len(rows)} {found.kind}", (Section("", columns[first:], rows),), (columns, *table))


def entry_page(found: CatalogEntry) -> Page:
    """The page of `ingest catalog show`."""
    values = found.results
    rows = tuple((name, display(item.value, item.unit), item.grade, item.source) for name, item in values.items())
    places = tuple(
        f"{name}: {', '.join(filter(None, (item.where, item.note)))}"
        for name, item in values.items()
        if item.where or item.note
    )
    sections = [
        Section("", lines=tuple(f"{name}: {text}" for name, text in found.words.items())),
        Section("Values", ("name", "value", "grade", "source"), rows),
        Section("Places and notes", lines=places),
        _rates(found),
        Section("Missing", lines=tuple(f"{name}: {why}" for name, why in found.entry.missing.items())),
        Section("Notes", lines=found.entry.notes),
        Section("Sources", lines=_sources(found)),
    ]
    header = ("name", "value", "low", "high", "unit", "grade", "source", "where", "note")
    table = tuple(
        (name, item.value, item.low, item.high, item.unit, item.grade, item.source, item.where, item.note)
        for name, item in values.items()
    )
    title = f"{found.entry.name} ({found.entry.kind} {found.id})"
    return page_of(title, sections, (header, *table))


def _rates(found: CatalogEntry) -> Section:
    if not isinstance(found.entry, Model):
        return Section("")
    rows = tuple(
        (
            rate.gpu,
            rate.protocol,
            rate.precision,
            f"{rate.gpus:,}",
            "" if rate.samples_per_second_per_gpu is None else f"{rate.samples_per_second_per_gpu:,.6g}",
            rate.round,
            rate.grade,
        )
        for rate in found.catalog.rates(found.entry)
    )
    columns = ("gpu", "protocol", "precision", "GPUs", "samples/s/GPU", "round", "grade")
    return Section(f"Measured rates ({len(rows)})", columns, rows)


def _sources(found: CatalogEntry) -> tuple[str, ...]:
    cited = dict.fromkeys(item.source for item in found.results.values())
    listed = (found.catalog.source(name) for name in cited)
    return tuple(f"{source.id}: {source.title}" + (f" <{source.url}>" if source.url else "") for source in listed)
