"""Low and high through to the totals: the tree of steps, run again on seeded draws."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.formula import Step
from ingest.ladder import Given


def spread(steps: Mapping[str, Step], given: Mapping[int, Given], samples: int, seed: int) -> dict[str, tuple[float, float]]:
    """P10 and P90 of each requirement."""
    return {}
