"""What a workbook's own sheet of checks says, by the values that a program calculated last."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from ingest.text import visible

#: The sheet, and what it says of a line that holds.
CHECKS_SHEET, HOLDS = "Checks", "ok"
#: Lines that are read, and bytes of the sheet.
MOST_LINES, MOST_BYTES = 60_000, 5_000_000
#: Lines that one warning names, and characters of each.
MOST_NAMED, MOST_TEXT = 3, 120


def failing_checks(package: zipfile.ZipFile, part: str, sheet: Any) -> tuple[str, ...]:
    """The lines that do not hold, each with what it says.

    Args:
        package: the workbook.
        part: the name of the sheet's part.
        sheet: the same, as openpyxl reads it, values and not formulas.
    """
    if package.getinfo(part).file_size > MOST_BYTES:
        return (f"the sheet is larger than {MOST_BYTES:,} B and was not read",)
    return tuple(_failing(sheet))


def _failing(sheet: Any) -> Iterator[str]:
    for name, _, said in sheet.iter_rows(min_row=2, max_row=MOST_LINES, min_col=1, max_col=3, values_only=True):
        if name is not None and said != HOLDS:
            word = "not calculated" if said is None else visible(str(said)[:MOST_TEXT])
            yield f"{visible(str(name)[:MOST_TEXT])}: {word}"


def warning_of(path: object, failing: tuple[str, ...]) -> tuple[str, ...]:
    """One line of warning that names the first; none where all hold.

    >>> warning_of("sent.xlsx", ("main: share taken: plan again",))
    ("sent.xlsx: the workbook's own checks fail: main: share taken: plan again; plan again before you judge",)
    """
    if not failing:
        return ()
    more = f"; and {len(failing) - MOST_NAMED:,} more" if len(failing) > MOST_NAMED else ""
    named = "; ".join(failing[:MOST_NAMED])
    return (f"{path}: the workbook's own checks fail: {named}{more}; plan again before you judge",)
