"""Routes: the way from what is known to a quantity, recorded once for all jobs of whom the same quantities are known.

Which formulas yield a quantity follows from the names that are given and known, not from their values. A site asks the same
of a thousand jobs in the same order, so that the route which the first of them found serves the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingest.engine.registry import Formula
from ingest.errors import MissingQuantity

#: Sets of inputs whose routes are kept: more than the kinds of jobs of one site.
MOST_KEPT = 200


class Route(NamedTuple):
    """How a quantity follows from what is known.

    Attributes:
        steps: the quantities to derive, inputs first, each with its formula; None for one that is given or has a default.
        after: the names that are known then.
        missing: the refusal where it cannot be derived.
    """

    steps: tuple[tuple[str, Formula | None], ...]
    after: Names
    missing: MissingQuantity | None = None


class Names:
    """The names of what is given and known, in the order in which they came, whatever the values."""

    def __init__(self) -> None:
        #: The routes found so far, by the quantity that they lead to, or by several in the order in which they are asked for.
        self.routes: dict[str | tuple[str, ...], Route] = {}
        self._after: dict[str, Names] = {}

    def after(self, change: str) -> Names:
        """The names after one more is known, `+name` is given or `-name` is withdrawn."""
        found = self._after.get(change)
        if found is None:
            found = self._after[change] = Names()
        return found


_kept: dict[str, Names] = {}


def names_of(given: Mapping[str, object]) -> Names:
    """The names of inputs before anything is derived from them."""
    key = " ".join(given)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        found = _kept[key] = Names()
    return found
