"""The door: the entries that a question names. What a question computes takes the entries, and looks up none itself."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ingest import architecture
from ingest.architecture.catalog_entries import entry_of, model_of, taken_for
from ingest.architecture.structure import is_numbers
from ingest.catalog.device_names import counted
from ingest.catalog.records import Gpu, Model, Node, Optimizer, Recipe
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import read_yaml
from ingest.engine.messages import Message, Option, option_error
from ingest.engine.registry import solve
from ingest.engine.value import Input, derived
from ingest.errors import IngestError, UsageError, expected_one_of
from ingest.sizing.evidence_ladder import from_catalog, from_fields
from ingest.sizing.job import USUAL_GPUS_PER_NODE, Written, check_size, encoding_in, gpus_in_node, quantities_of
from ingest.sizing.rules import ONE_EPOCH

if TYPE_CHECKING:
    from ingest.architecture.structure import Architecture
    from ingest.corpus.types import SkippedFile

#: Files of a release at most; a URL that names a whole bucket is a mistake.
MOST_FILES = 10_000
#: Options of a job with which its rate is the user's own.
OWN_RATES = ("samples_per_second", "achieved", "flops_per_sample")
#: Samples of a data set and those that a rate was measured on, as many times apart, are not read in one way.
ALIKE = 4.0
#: The file of a release that says its structure.
CONFIG = "config.json"


def machine_of(gpu: str | None, node: str | None, catalog: Catalog, trains: bool = False) -> tuple[Gpu | None, Node | None]:
    """Return the GPU and the node type: as named, or the one that the other implies.

    Raises UsageError: a node that carries another GPU, or a number of GPUs beside their kind that is not that of a node; or
    that `trains` on an accelerator for inference.
    """
    card = catalog.get(Gpu, gpu) if gpu else None
    inside = catalog.get(Node, node) if node else None
    if inside is not None and card is None:
        card = catalog.referred(Gpu, inside.gpu, by=inside.path)
    elif inside is not None and card is not None and inside.gpu != card.id:
        raise option_error("node", f": {inside.id} has {inside.gpu}, not {card.id}; expected a node with that GPU, or no --gpu")
    elif inside is None and card is not None and card.usual_node:
        inside = catalog.referred(Node, card.usual_node, by=card.path)
    if trains and card is not None and card.untrained:
        raise option_error("gpu" if gpu else "node", f": {card.id} is for inference: {card.untrained}")
    count = counted(gpu or "")
    if count and card is not None and all(count != each.value for each in gpus_in_node(card, inside).values()):
        kind = f": found '{gpu}', expected the kind alone ({card.id})"
        raise option_error("gpu", Message(kind, supply=(Option.of(f"gpus={count}"),)))
    return card, inside


def gpus_per_node_of(gpu: str | None, node: str | None, settings: Mapping[str, float], catalog: Catalog) -> float:
    """The GPUs in a node: as set, of the node type, of the GPU, or as usual."""
    if "gpus_per_node" in settings:
        return settings["gpus_per_node"]
    found = gpus_in_node(*machine_of(gpu, node, catalog))
    return found["gpus_per_node"].value if found else USUAL_GPUS_PER_NODE


def gpus_of(
    gpus: Written | None,
    nodes: Written | None,
    catalog: Catalog,
    *,
    gpu: str | None = None,
    node: str | None = None,
    settings: Mapping[str, float] = MappingProxyType({}),
) -> Written | None:
    """The GPUs of a job that states its GPUs or its nodes; None where it states neither.

    >>> gpus_of(None, 128, Catalog(), gpu="h100"), gpus_of("1024", None, Catalog())
    (1024.0, '1024')

    Raises UsageError: no number, or GPUs and nodes that contradict each other.
    """
    if nodes is None:
        return gpus
    each = gpus_per_node_of(gpu, node, settings, catalog)
    found = quantities_of({}, {"nodes": nodes, "gpus": gpus})
    if found["nodes"] % 1:
        raise option_error("nodes", f": found {nodes}, expected a whole number")
    counted = float(solve("gpus", {"nodes": found["nodes"], "gpus_per_node": each}))
    check_size(found.get("gpus", counted), found["nodes"], each)
    return counted


def model_named(source: str, sequence_length: float | None, catalog: Catalog) -> Model:
    """The model of a rate; `sequence_length` of one that is made from its structure."""
    # Only a config.json or hyper-parameters load the descriptions of architectures.
    known = isinstance(source, str) and source.lower() in catalog.ids(Model.kind)
    return catalog.get(Model, source) if known else model_of(source, catalog, sequence_length)


class ModelSize(NamedTuple):
    """The size of a model."""

    name: str  # the name to print
    given: dict[str, Input]  # its parameters, as inputs
    architecture: Architecture | None = None  # its table of weights; None if unknown
    entry: Model | None = None  # its catalog entry; None if it has none

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of its table of weights."""
        return self.architecture.warnings if self.architecture is not None else ()


def size_of(source: str | None, catalog: Catalog, settings: Mapping[str, float]) -> ModelSize:
    """Return the size of a model: a catalog id, `config.json`, YAML file, folder, or None if `--set parameters=N` is enough.

    Raises UsageError: an unknown model, or no size; IngestError: a catalog entry without parameters.
    """
    if source is None:
        if "parameters" not in settings and "trainable_parameters" not in settings:
            raise UsageError("the model is missing: expected a catalog id, a config.json, or --set parameters=N")
        return ModelSize("Your model", {})
    written, source = source, catalog.model_id(source)
    if "://" in source or source.endswith((".json", "/")) or os.path.isdir(source) or _is_architecture(source, catalog):
        model = model_structure(written, catalog)
        counted = derived(model.parameters_trained, f"counted over the weights of {source}")
        name = catalog.aliases.get(Model.kind, {}).get(source.lower(), source.lower())
        known = catalog.get(Model, name) if name in catalog.ids(Model.kind) else None
        if known is None and (known := entry_of(model, source, catalog)) is not None:
            model = replace(model, notes=(*model.notes, taken_for(written, known)))
        return ModelSize(known.name if known and known.id == name else model.id, {"parameters": counted}, model, known)
    entry = catalog.get(Model, source)
    if entry.parameters is None and "parameters" not in settings:
        why = f"the parameters of {entry.id} are not known: give its config.json"
        raise IngestError(Message(why, supply=(Option("set.parameters", "N"),)))
    made = model_structure(entry.structure, catalog) if entry.structure else None
    given = from_fields({"parameters": entry.parameters})
    if made is not None:
        given["parameters"] = derived(made.parameters_trained, f"counted over the weights of {made.id}")
    return ModelSize(entry.name, given, made, entry)


def _is_architecture(source: str, catalog: Catalog) -> bool:
    """Hyper-parameters or rows in a YAML file that is no catalog entry, an id or alias of an architecture, or numbers."""
    if is_numbers(source):
        return True
    if source.endswith((".yaml", ".yml")) and Path(source).is_file():
        data = read_yaml(Path(source))
        return isinstance(data, dict) and "sample" not in data
    names = {source.lower(), catalog.aliases.get(Model.kind, {}).get(source.lower(), "")}
    if any(name in catalog.ids("architectures") for name in names):
        return True
    # A model with an entry of its own is sized by it.
    return source.lower() not in catalog.ids(Model.kind) and source in catalog.releases.rows


def optimizer_of(name: str, catalog: Catalog) -> Optimizer:
    """Return an optimizer by id, alias or YAML file. Raises UsageError: an unknown optimizer; names the nearest one."""
    written = name.lower()
    known = catalog.ids(Optimizer.kind)
    if written not in known and not name.endswith((".yaml", ".yml")) and written not in catalog.aliases.get("optimizers", {}):
        raise option_error("optimizer", f": found '{written}', {expected_one_of(written, known)}")
    return catalog.get(Optimizer, name if name.endswith((".yaml", ".yml")) else written)


def recipe_of(name: str, catalog: Catalog) -> Recipe:
    """Return a recipe by id, bytes per parameter or YAML file. Raises UsageError: an unknown recipe; names the nearest one."""
    known = catalog.ids(Recipe.kind)
    for found in known:
        if name.isdecimal() and name == found.rpartition("-")[2]:
            return catalog.get(Recipe, found)
    if name.isdecimal():
        sizes = {int(number): found for found in known if (number := found.rpartition("-")[2]).isdecimal()}
        closest = sizes[min(sizes, key=lambda size: abs(size - int(name)))]
        raise option_error("recipe", f": found {name}, expected one of {', '.join(known)}; did you mean '{closest}'?")
    if name not in known and not name.endswith((".yaml", ".yml")):
        raise option_error("recipe", f": found '{name}', {expected_one_of(name, known)}")
    return catalog.get(Recipe, name)


def model_structure(source: str | Path, catalog: Catalog, *, strict: bool = False) -> Architecture:
    """Return the structure of a model: of what `describe` takes, or of the URL of the folder of a release.

    Raises UsageError: no such file, folder or id; IngestError: an unreadable file, or a family that is not described.
    """
    if "://" not in str(source):
        return architecture.describe(source, catalog, strict=strict)
    # Most models are files and ids: what reads releases and remote storage is imported for them only.
    from ingest.architecture.release_description import from_release

    url = str(source).rstrip("/")
    try:
        return from_release(url.rpartition("/")[2], RemoteFiles(url), strict=strict)
    except IngestError as error:
        known = catalog.releases.named(url, structure=True) if url.startswith("hf://") else None
        if known is None:
            raise
        made = architecture.describe(known, catalog, strict=strict)
        return replace(made, notes=(*made.notes, f"the table of releases answers, as {known}: {error}"))


class RemoteFiles:
    """The files of a release behind a URL; a header is read with two requests for a range.

    Raises UsageError: nothing is there; IngestError: the storage refuses, its package is not installed, or there are too many
    files for a release.
    """

    def __init__(self, url: str) -> None:
        from ingest.corpus.files import source

        self.place, self._reason = url, source.storage_reason
        self._system, self._path = source.file_system(url)
        self._hub_name = url.removeprefix("hf://") if re.fullmatch(r"hf://[\w.-]+/[\w.-]+", url) else ""
        self._online = True
        skipped: list[SkippedFile] = []
        sizes: dict[str, int] = {}
        try:
            for found, size, _ in source.list_remote(f"{url}/", skipped):
                sizes[found.removeprefix(url).lstrip("/")] = size
                if len(sizes) > MOST_FILES:
                    raise IngestError(f"{url}: found more than {MOST_FILES:,} files, expected the folder of a model")
        except IngestError as error:
            self._online = False
            kept = self._kept() if self._hub_name and not sizes else None
            if kept is None:
                instead = "; without the hub, give its config.json" if self._hub_name else ""
                raise type(error)(str(error).rstrip(".") + instead) from None
            sizes = {CONFIG: kept.stat().st_size}
        self.sizes: Mapping[str, int] = sizes

    def _kept(self) -> Path | None:
        """The config.json of a model of the hub in the cache of the hub's library, where it is put while the hub answers."""
        try:
            import huggingface_hub

            from ingest.architecture.release import MOST_CONFIG_BYTES

            if self._online:
                # The library names files in its cache by what the hub answers, and keeps them of any size.
                told = huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(self._hub_name, CONFIG))
                named = all(re.fullmatch(r"\w[\w.-]*", name or "") for name in (told.etag, told.commit_hash))
                small = (told.size or 0) <= MOST_CONFIG_BYTES
                return Path(huggingface_hub.hf_hub_download(self._hub_name, CONFIG)) if named and small else None
            found = huggingface_hub.try_to_load_from_cache(self._hub_name, CONFIG)
        except Exception:
            return None  # the library may be absent and raises any exception; without a cache, the file is read as any other
        return Path(found) if isinstance(found, str) else None

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file."""
        try:
            if self._hub_name and name == CONFIG and (kept := self._kept()):
                return kept.read_bytes()[offset : offset + size]
            return bytes(self._system.cat_file(f"{self._path.rstrip('/')}/{name}", start=offset, end=offset + size))
        except Exception as error:
            # file systems raise any exception, and none may end in a traceback
            raise IngestError(f"{self.place}/{name}: cannot be read: {self._reason(error)}") from None


def foreign_size(model: Model | None, encoding: str | None, stated: Input | None, options: Container[str]) -> Input | None:
    """The bytes nearest to stated samples that are alike to those that a rate was measured on; None where they are alike.

    Larger samples never need fewer bytes. What the user says of the rate, by one of `options`, is not held against others.
    """
    known = encoding_in(model, encoding)
    measured = known.stored if known is not None else None
    if stated is None or measured is None or any(one in options for one in OWN_RATES):
        return None
    nearest = min(max(stated.value, measured.value / ALIKE), measured.value * ALIKE)
    return None if nearest == stated.value else from_catalog(measured)._replace(value=nearest, grade="derived")


def reads_again(model: Model | None) -> bool:
    """Whether a run reads its data more than once, by the family of its model."""
    return model is not None and bool(model.family) and model.family not in ONE_EPOCH
