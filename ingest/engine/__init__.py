"""Formulas, quantities and results: the machinery that knows no field."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: What imports the modules that declare quantities: first those that most questions need, then all. The engine knows no field.
declared_by: list[Callable[[], object]] = []
#: What gives the module that shows results: it knows their pages, which the engine does not.
shown_by: list[Callable[[], ModuleType]] = []
#: How to import the module whose `unmeetable` tells whether no catalogued system meets the lines of a plan.
met_by: list[Callable[[], ModuleType]] = []
