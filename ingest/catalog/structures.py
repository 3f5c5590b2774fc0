"""Architectures as `ingest catalog` lists them: the hyper-parameters of a model, and what `ingest model` counts in them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ingest.catalog.reading import read_yaml
from ingest.catalog.records import Entry, Value, text, value
from ingest.catalog.store import Catalog

_HEAD = ("name", "source", "where", "model_type")


class Structure(Entry):
    """A model described by the keys of its own `config.json`.

    Attributes:
        hyper_parameters: the keys and their values, as the file has them.
    """

    kind: ClassVar[str] = "architectures"
    model_type: str = text()
    hyper_parameters: str = text()
    parameters: Value | None = value("parameter")
    parameters_active: Value | None = value("parameter")


def structure(name: str, catalog: Catalog) -> Structure:
    """One architecture by id, everyday name of its model, or YAML file.

    >>> structure("llama3-8b", Catalog()).parameters.value
    8030261248

    Raises:
        UsageError: no such architecture, with the nearest one.
        IngestError: a file that cannot be read, or a family that nobody has described.
    """
    from ingest.architecture import describe

    made = describe(name, catalog)
    places = (Path(name), *(folder / Structure.kind / f"{made.id}.yaml" for folder in catalog.folders))
    path = next(place for place in places if place.is_file())
    data = read_yaml(path)
    shown = {key: item for key, item in data.items() if key not in _HEAD and not isinstance(item, (dict, list))}
    source, where = str(data.get("source", "arithmetic")), str(data.get("where", ""))

    def counted(number: float) -> Value:
        return Value(number, "parameter", source, "derived", f"{where}: counted over the weights".removeprefix(": "))

    return Structure(
        made.id,
        path,
        name=str(data.get("name", made.id)),
        model_type=made.model_type,
        hyper_parameters=", ".join(f"{key} {item}" for key, item in shown.items()),
        parameters=counted(made.parameters),
        parameters_active=counted(made.parameters_active),
    )
