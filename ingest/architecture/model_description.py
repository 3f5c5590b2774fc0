"""From a source (folder of a release, config.json, YAML, catalog id) to an `Architecture`: both tables, with their totals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ingest.architecture.config_description import from_config
from ingest.architecture.release import MOST_CONFIG_BYTES, LocalFiles
from ingest.architecture.structure import Architecture
from ingest.catalog.releases import stored_as
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.errors import IngestError, UsageError, nearest
from ingest.files import read_json_object

_STORED = "the name says {word}: weights are counted at 16 bits; give the release's own folder, or --precision"
_SIXTEEN = ("bf16", "fp16", "dynamic", "static", "unsloth")  # words that tell nothing about narrower weights

#: Files of weights by their suffix.
_WEIGHTS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".nemo", ".h5", ".npz")


def describe(source: str | Path, catalog: Catalog | None = None, *, strict: bool = False) -> Architecture:
    """Describe a model.

    Args:
        source: the folder of a release, a Hugging Face `config.json`, a YAML file of the same keys, or a catalog id.
        catalog: where ids are looked up; the shipped catalogs by default.
        strict: refuse a config with a key that its family has not looked at and that may change a weight.

    >>> describe("llama2-70b").parameters
    68976648192

    Raises:
        IngestError: a file that cannot be read, or a family that is not described.
        UsageError: no such file or id.
    """
    path = Path(source)
    if path.is_dir():
        # What reads headers takes as long to import as an entry of the catalogs to describe.
        from ingest.architecture.release_description import from_release

        return from_release(path.resolve().name or "release", LocalFiles(path), strict=strict)
    if path.suffix == ".json":
        # transformers writes limits of time steps as `Infinity`.
        data = read_json_object(path, "a model's config.json", most=MOST_CONFIG_BYTES, infinite=True)
        name = path.parent.name or path.stem if path.stem == "config" else path.stem
        return from_config(name, path, data, strict=strict)
    if path.suffix in (".yaml", ".yml"):
        return _from_yaml(path, strict)
    if path.suffix.lower() in _WEIGHTS and path.is_file():
        instead = "the folder of the release, or the config.json of the model that it was made from"
        raise IngestError(f"{path}: found a file of weights, which is not read alone, expected {instead}")
    return _named(str(source), catalog or Catalog(), strict)


def _named(name: str, catalog: Catalog, strict: bool = False) -> Architecture:
    """The structure that a name stands for: an entry of its own first, then a row of the table of releases."""
    wanted, ids, aliases = name.lower(), catalog.ids("architectures"), catalog.aliases.get("models", {})
    for candidate in (wanted, aliases.get(wanted, "")):
        if candidate in ids:
            return of_id(candidate, catalog, strict)
    known = catalog.releases.named(name, structure=True)
    row = catalog.releases.rows.get(known or "")
    if known is not None and (known in ids or (row is not None and row.model_type)):
        made, word = of_id(known, catalog, strict), stored_as(name)
        return replace(made, notes=(*made.notes, _STORED.format(word=word))) if word and word not in _SIXTEEN else made
    if {wanted, known} & {*catalog.ids("models"), *aliases}:
        raise IngestError(f"the structure of {name} is unknown; supply its config.json{nearest(wanted, ids)}")
    instead = "; `ingest catalog list architectures` lists them, or give its config.json"
    raise UsageError(f"unknown model '{name}'{catalog.releases.hint(name) or nearest(wanted, ids) or instead}")


def of_id(name: str, catalog: Catalog, strict: bool = False) -> Architecture:
    """The structure of an id, from its file or its row of the table of releases."""
    paths = (folder / "architectures" / f"{name}.yaml" for folder in catalog.folders)
    path = next((path for path in paths if path.is_file()), None)
    if path is not None:
        return _from_yaml(path, strict)
    row = catalog.releases.rows[name]
    # A row leaves out what its class has by default, and its parameters were checked with that.
    return replace(from_config(row.id, row.path, row.keys(), strict=strict), defaults={})


def _from_yaml(path: Path, strict: bool) -> Architecture:
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise IngestError(f"{path}: found no keys and values, expected a model's hyper-parameters")
    return from_config(path.stem, path, data, strict=strict)
