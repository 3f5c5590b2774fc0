"""How far the numbers of a requirement may go before they are a slip of the pen."""

from __future__ import annotations

from ingest.errors import IngestError
from ingest.requirement import Requirement
from ingest.units import display, physical

#: Beyond any system that is planned today, and small enough that no size in a job file overflows.
MOST_RATE, MOST_AMOUNT = 1e18, 1e30
MOST_CONDITION = {
    "clients": (1e6, "node"),
    "threads": (4096, "1/node"),
    "io_size": (2**30, "B"),
    "duration": (30 * 86_400, "s"),
}


def check_bounds(line: Requirement, where: str) -> None:
    """Refuse a line whose test nobody could run.

    Raises:
        IngestError: the key, what was found, and the most that is taken.
    """
    most_value = MOST_AMOUNT if physical(line.unit) == "B" else MOST_RATE
    if line.value > most_value:
        raise IngestError(f"{where}: {line.id}: value: found {line.value:g}, expected at most {most_value:g}")
    for name, (most, unit) in MOST_CONDITION.items():
        found = getattr(line.conditions, name)
        if found is not None and found > most:
            raise IngestError(f"{where}: {line.id}: {name}: found {found:g}, expected at most {display(most, unit)}")
    fill = line.conditions.fill
    if fill is not None and fill > 1:
        raise IngestError(f"{where}: {line.id}: fill: found {fill:g}, expected a share up to 1")
