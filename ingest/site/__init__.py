"""A site file with all jobs and data sets, and its storage requirements."""

from collections.abc import Callable
from types import ModuleType

#: How to import the module whose `unmeetable` tells whether no catalogued system meets the lines; a layer above hands it down.
met_by: list[Callable[[], ModuleType]] = []
