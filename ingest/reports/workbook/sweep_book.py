"""The table of a sweep as a workbook: one row per scenario, written row by row."""

from __future__ import annotations

import io
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ingest.errors import UsageError
from ingest.reports.labels import label
from ingest.reports.workbook.grid import LINE, WITH_DECIMALS, Grid, lines_of, width_of
from ingest.reports.workbook.readable import style_of
from ingest.reports.workbook.style import Styles, lay_out, open_book, style_for
from ingest.units import display
from ingest.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas
    from xlsxwriter import Workbook

    from ingest.sweeping import Sweep

#: Rows of a sheet, without its heading.
MOST_ROWS = 1_048_575
TITLE = "Sweep"
#: Characters of a column of words.
WORDS = 16


def content(sweep: Sweep) -> bytes:
    """The workbook as bytes.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    frame, same = parted(sweep)
    if len(frame) > MOST_ROWS:
        raise UsageError(f"--output: {len(frame):,} scenarios, a sheet holds {MOST_ROWS:,}; expected .parquet or .csv")
    buffer = io.BytesIO()
    book, styles = open_book(buffer, "Sweep", by_row=True)
    _table(book, styles, sweep, frame)
    grid = Grid(book.add_worksheet("Read-me"), styles, (TITLE,), (120,))
    # Row by row: a heading that is written last is lost.
    grid.sheet.write_string(0, 0, TITLE, styles["heading"])
    for line in _about(sweep, same):
        grid.row(line)
    grid.close()
    book.close()
    return buffer.getvalue()


def _table(book: Workbook, styles: Styles, sweep: Sweep, frame: pandas.DataFrame) -> None:
    sheet = book.add_worksheet("Sweep")
    units = {name: sweep.unit(name) for name in frame.columns}
    heads = {name: f"{label(name)} ({unit})" if unit not in ("", "1") else label(name) for name, unit in units.items()}
    ends = {name: _ends(frame[name]) if unit else [] for name, unit in units.items()}
    widths = [width_of(heads[name], ends[name]) if unit else WORDS for name, unit in units.items()]
    named = {"model", "gpu", *sweep.grids[0].axes}
    asked = sum(1 for _ in takewhile(named.__contains__, units))
    lay_out(sheet, widths, 0, len(frame) + 1, kept=max(asked, 1))
    sheet.set_row(0, LINE * max(map(lines_of, heads.values(), widths)))
    for column, (name, unit) in enumerate(units.items()):
        # The whole column carries the format: a format per cell doubles the time.
        style = style_for(max(map(abs, ends[name])), style_of(name, unit)) if unit else "text"
        sheet.set_column(column, column, widths[column], styles[style])
        sheet.write_string(0, column, heads[name], styles["heading of numbers" if unit else "heading"])
    writers = list(enumerate(sheet.write_number if unit else sheet.write_string for unit in units.values()))
    for row, cells in enumerate(frame.itertuples(index=False, name=None), start=1):
        for column, write in writers:
            write(row, column, cells[column])


def parted(sweep: Sweep) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """The columns that vary, with the axes, and the values of those that are the same in all rows."""
    frame = sweep.to_frame()
    still = [name for name in frame.columns if name not in sweep.grids[0].axes and frame[name].nunique() == 1]
    return frame.drop(columns=still), {name: frame[name].iloc[0] for name in still}


def _ends(column: pandas.Series[float]) -> list[float]:
    """The values of a column that take most room: its ends, and the largest that is shown with decimals."""
    return [column.min(), column.max(), *column[column < WITH_DECIMALS].nlargest(1)]


def _about(sweep: Sweep, same: Mapping[str, Any]) -> list[str]:
    """What made the table: version, warnings, and what is the same in all rows."""
    first = sweep.grids[0]
    made = f"Made by ingest {__version__}; catalogs {first.estimate.catalog.content_hash()}."
    every = [{name: item["value"] for name, item in grid.estimate.inputs.items()} for grid in sweep.grids]
    chosen = {
        name: value
        for name, value in every[0].items()
        if name not in first.axes and all(one.get(name) == value for one in every)
    }
    units = {name: sweep.unit(name) for name in same}
    shown = {name: display(item, units[name]) if units[name] else item for name, item in same.items()}
    warnings = (f"Warning: {line}" for line in sweep.warnings)
    return [made, "The same in all rows:", *(f"{label(name)}: {item}" for name, item in shown.items()), *warnings,
            "Asked:", *(f"{name}: {item}" for name, item in chosen.items())]  # fmt: skip
