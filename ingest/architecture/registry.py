"""Which function describes which `model_type`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TypeVar

from ingest.architecture.config import Config
from ingest.architecture.families import PLACES
from ingest.architecture.table import Row, Weight

Family = Callable[[Config], Iterable[Row]]
AnyFamily = TypeVar("AnyFamily", bound=Family)

FAMILIES: dict[str, Family] = {}
#: model type -> the module that describes it
KNOWN = {name: module for module, names in PLACES.items() for name in names.split()}


def family(*model_types: str) -> Callable[[AnyFamily], AnyFamily]:
    """Register a function as the description of these model types, and return it unchanged."""

    def register(function: AnyFamily) -> AnyFamily:
        for name in model_types:
            if name in FAMILIES:
                raise ValueError(f"two descriptions of the model type '{name}'")
            FAMILIES[name] = function
        return function

    return register


def find(model_type: str) -> Family | None:
    """Return the function that describes a model type, or None where nobody has.

    >>> find("llama") is not None, find("lama")
    (True, None)
    """
    if model_type not in KNOWN:
        return None
    import_module(f"ingest.architecture.families.{KNOWN[model_type]}")
    return FAMILIES[model_type]


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


def ended(config: Config, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a decoder with the end that `architectures` names: a head over the words, none, or a classifier.

    Raises:
        IngestError: another class, whose last layers nobody has described.
    """
    end = class_suffix(config, "ForCausalLM", "LMHeadModel", "Model", "ForSequenceClassification")
    width = 0
    for row in rows:
        if isinstance(row, Weight) and row.kind == "embedding":
            width = row.shape[-1]
        if end in ("ForCausalLM", "LMHeadModel") or not (isinstance(row, Weight) and row.kind == "head"):
            yield row
    if end == "ForSequenceClassification":
        yield Weight("classifier", (labels(config), width), "head")


def labels(config: Config) -> int:
    """How many classes a classifier tells apart."""
    _, named = config.get("id2label")
    config.ignore("label2id")
    return len(named) if isinstance(named, dict) and named else config.whole("num_labels|_num_labels", 2)
