"""Which function describes which `model_type`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ingest.architecture.config import Config
from ingest.architecture.table import Row

Family = Callable[[Config], Iterable[Row]]
AnyFamily = TypeVar("AnyFamily", bound=Family)

FAMILIES: dict[str, Family] = {}


def family(*model_types: str) -> Callable[[AnyFamily], AnyFamily]:
    """Register a function as the description of these model types, and return it unchanged."""

    def register(function: AnyFamily) -> AnyFamily:
        for name in model_types:
            if name in FAMILIES:
                raise ValueError(f"two descriptions of the model type '{name}'")
            FAMILIES[name] = function
        return function

    return register


def class_suffix(config: Config, *known: str) -> str:
    """Which of the known classes `architectures` names; the first one where it names none.

    >>> class_suffix(Config({"architectures": ["BertModel"]}, "config.json"), "ForMaskedLM", "Model")
    'Model'

    Raises:
        IngestError: another class, whose last layers nobody has described.
    """
    found = config.wording("architectures")
    if not found:
        return known[0]
    matching = [suffix for suffix in known if found.endswith(suffix)]
    if not matching:
        raise config.refuse("architectures", found, f"a class that ends in {', '.join(known)}")
    return max(matching, key=len)
