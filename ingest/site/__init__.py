"""A site file with all jobs and data sets, and its storage requirements; called, the command that counts one from a history."""

import sys
from types import ModuleType
from typing import Any


class _Command(ModuleType):
    """The package as the function of the command `site`: `ingest.site("sacct.txt", classes="classes.yaml")`."""

    def __call__(self, *histories: Any, **options: Any) -> Any:
        """What `ingest.usage` returns, of which `site` is the site file."""
        return sys.modules["ingest"].usage(*histories, **options)


sys.modules[__name__].__class__ = _Command
