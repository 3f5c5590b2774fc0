"""Formulas, quantities and results: the machinery that knows no field."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: What gives the module that shows results: it knows their pages, which the engine does not.
shown_by: list[Callable[[], ModuleType]] = []
