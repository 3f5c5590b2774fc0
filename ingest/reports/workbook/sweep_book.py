"""The table of a sweep as a workbook: one row per scenario, written row by row."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ingest import __version__
from ingest.errors import UsageError
from ingest.reports.workbook.grid import style_for
from ingest.reports.workbook.style import lay_out, open_book

if TYPE_CHECKING:
    from ingest.sweeping import Sweep

#: Rows of a sheet, without its heading.
MOST_ROWS = 1_048_575


def content(sweep: Sweep) -> bytes:
    """The workbook as bytes.

    Raises:
        UsageError: more scenarios than a sheet has rows.
    """
    frame = sweep.to_frame()
    if len(frame) > MOST_ROWS:
        raise UsageError(f"--output: {len(frame):,} scenarios, a sheet holds {MOST_ROWS:,}; expected .parquet or .csv")
    buffer = io.BytesIO()
    book, styles = open_book(buffer, "Sweep", by_row=True)
    sheet = book.add_worksheet("Sweep")
    lay_out(sheet, [24] * len(frame.columns), 0, len(frame) + 1)
    for column, name in enumerate(frame.columns):
        unit = sweep.unit(name)
        # The whole column carries the format: a format per cell doubles the time.
        style = style_for(frame[name].abs().max(), "number") if unit else "text"
        sheet.set_column(column, column, 24, styles[style])
        sheet.write_string(0, column, f"{name} ({unit})" if unit else name, styles["heading"])
    writers = [sheet.write_number if sweep.unit(name) else sheet.write_string for name in frame.columns]
    for row, cells in enumerate(frame.itertuples(index=False, name=None), start=1):
        for column, (write, item) in enumerate(zip(writers, cells, strict=True)):
            write(row, column, item)
    about = book.add_worksheet("Read-me")
    given = {name: item["value"] for name, item in sweep.grids[0].estimate.inputs.items()}
    lines = [f"Made by ingest {__version__}; catalogs {sweep.grids[0].estimate.catalog.content_hash()}.", *sweep.warnings]
    lines += [f"{name}: {item}" for name, item in given.items() if name not in sweep.grids[0].axes]
    for row, line in enumerate(lines):
        about.write_string(row, 0, line, styles["text"])
    lay_out(about, [110], None, len(lines))
    book.close()
    return buffer.getvalue()
