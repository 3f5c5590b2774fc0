"""From a source (folder of a release, config.json, YAML, catalog id, numbers) to an `Architecture`: tables with totals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ingest.architecture.registry import from_config
from ingest.architecture.release import MOST_CONFIG_BYTES, LocalFiles
from ingest.architecture.structure import Architecture, Numbers, is_numbers
from ingest.architecture.weight_table import Weight
from ingest.catalog.releases import stored_as
from ingest.catalog.store import Catalog, opened
from ingest.catalog.yaml_reader import read_yaml
from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.files import read_json_object
from ingest.units import parse

_STORED = "the name says {word}: weights are counted at 16 bits; give the release's own folder, or --precision"
_BASED = "{name} is read as {known}, on which it says it is based; its own config.json may differ, as by a larger vocabulary"
_SIXTEEN = ("bf16", "fp16", "f16", "dynamic", "static", "unsloth")  # words that tell nothing about narrower weights

#: Files of weights by their suffix.
_WEIGHTS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".nemo", ".h5", ".npz")


def describe(source: str | Path, catalog: Catalog | None = None, *, strict: bool = False) -> Architecture:
    """Describe a model; ids are looked up in the shipped catalogs by default.

    The source is the folder of a release, a Hugging Face `config.json`, a YAML file of the same keys, a catalog id, or numbers
    such as `layers=118 hidden_size=18432 parameters=540e9`. `strict` refuses a config with a key that its family has not looked
    at and that may change a weight.

    Raises IngestError: a file that cannot be read, or a family that is not described; UsageError: no such file or id.
    """
    path = Path(source)
    if is_numbers(source):
        return of_numbers(str(source))
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
    catalog, name = catalog or opened(()), str(source)
    return catalog.once(("described", name, strict), lambda: _named(name, catalog, strict))


def _named(name: str, catalog: Catalog, strict: bool = False) -> Architecture:
    """The structure that a name stands for: an entry of its own first, then a row of the table of releases."""
    wanted, ids, aliases = name.lower(), catalog.ids("architectures"), catalog.aliases.get("models", {})
    for candidate in (wanted, aliases.get(wanted, "")):
        if candidate in ids:
            return of_id(candidate, catalog, strict)
    known = catalog.releases.named(name, structure=True) or catalog.meaning("models", name).entry
    if known in catalog.ids("models"):  # of a measured model: the row that has its name, too
        known = catalog.releases.named(known, structure=True) or ""
    row = catalog.releases.rows.get(known)
    if known in ids or (row is not None and row.model_type):
        made, word = of_id(known, catalog, strict), stored_as(name)
        notes = [_BASED.format(name=brief(name), known=known)] if name in catalog.releases.based else []
        notes += [_STORED.format(word=word)] if word and word not in _SIXTEEN else []
        return replace(made, notes=(*made.notes, *notes)) if notes else made
    if {wanted, known} & {*catalog.ids("models"), *aliases}:
        raise IngestError(f"the structure of {name} is unknown; supply its config.json{nearest(wanted, ids)}")
    if device := catalog.device(name, "models"):
        raise UsageError(f"'{name}' {device}")
    instead = nearest(wanted, ids) or "; `ingest catalog list architectures` lists them"
    raise UsageError(catalog.releases.hint(name) or f"unknown model {brief(name)}{instead}")


def of_id(name: str, catalog: Catalog, strict: bool = False) -> Architecture:
    """The structure of an id, from its file or its row of the table of releases."""

    def made() -> Architecture:
        paths = (folder / "architectures" / f"{name}.yaml" for folder in catalog.folders)
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            catalog.looked_at(path)
            return _from_yaml(path, strict)
        row = catalog.releases.rows[name]
        # A row leaves out what its class has by default, and its parameters were checked with that.
        return replace(from_config(row.id, row.path, row.keys(), strict=strict), defaults={})

    return catalog.once(("structure", name, strict), made)


def _from_yaml(path: Path, strict: bool) -> Architecture:
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise IngestError(f"{path}: found no keys and values, expected a model's hyper-parameters")
    return from_config(path.stem, path, data, strict=strict)


#: Width of a head, ids of a vocabulary and experts of a token where no number states them: those of Llama 3 and Mixtral.
HEAD_WIDTH, VOCABULARY, CHOSEN_EXPERTS = 128, 128_256, 2
#: Widths of a gated block over the hidden size: the equivalent of four times without a gate; the least, and that of Gemma 7B.
USUAL_WIDTH, LEAST_WIDTH, MOST_WIDTH = 8 / 3, 1, 8


def of_numbers(source: str) -> Architecture:
    """The decoder that numbers describe: its feed-forward width follows from the parameters, or is the usual one.

    Raises UsageError: a number that no decoder has, or parameters that its layers and width cannot hold.
    """
    stated = {}
    for part in source.split():
        name, _, written = part.partition("=")
        value = parse(written, "1", name) if name in Numbers._fields else 0
        if value < 1 or value % 1 or name in stated:
            raise UsageError(
                f"{part}: expected whole numbers, each once by name, such as layers=32: {', '.join(Numbers._fields)}"
            )
        stated[name] = int(value)
    given = Numbers(**stated)
    if given == Numbers(given.parameters):
        why = "layers and width are not given; set layers and hidden_size"
        return Architecture(
            source, "by numbers", (Weight("weights", (given.parameters,), "other", passes=1),), (), basis="by-hand",
            missing={"cached_elements_per_token": why}, notes=(f"the work of attention is not counted: {why}",),
        )  # fmt: skip
    if not given.layers or not given.hidden_size:
        raise UsageError(f"{source}: expected both layers and hidden_size, or parameters alone")
    heads = given.attention_heads or max(given.hidden_size // HEAD_WIDTH, 1)
    full = Numbers(
        *given[:3], heads, given.key_value_heads or heads, given.vocabulary or VOCABULARY, given.experts,
        given.experts_per_token or min(CHOSEN_EXPERTS, given.experts),
    )  # fmt: skip
    if full.hidden_size % heads or heads % full.key_value_heads:
        raise UsageError(f"{source}: expected attention_heads that divide hidden_size, and key_value_heads that divide them")
    if full.experts_per_token > full.experts:
        raise UsageError(
            f"{source}: found {full.experts_per_token} experts of a token, expected at most experts={full.experts}"
        )
    keys = {
        "model_type": "llama", "num_hidden_layers": full.layers, "hidden_size": full.hidden_size, "num_attention_heads": heads,
        "num_key_value_heads": full.key_value_heads, "vocab_size": full.vocabulary, "tie_word_embeddings": True,
    }  # fmt: skip
    if full.experts:
        keys |= {"model_type": "mixtral", "num_local_experts": full.experts, "num_experts_per_tok": full.experts_per_token}
    every, width = max(full.experts, 1), round(USUAL_WIDTH * full.hidden_size)
    if given.parameters:
        column = 3 * full.layers * full.hidden_size * every  # parameters of one column of all feed-forward blocks
        narrowest = from_config(source, source, keys | {"intermediate_size": 1}).parameters
        width = (given.parameters - narrowest + column) // column
        if width > MOST_WIDTH * full.hidden_size:
            raise UsageError(f"{source}: too many parameters for blocks of this width: set experts, or give a config.json")
        if width * every < LEAST_WIDTH * full.hidden_size:
            raise UsageError(
                f"{source}: too few parameters: set a smaller vocabulary or key_value_heads, or give a config.json"
            )
    made = from_config(source, source, keys | {"intermediate_size": width})
    left = given.parameters - made.parameters if given.parameters else 0
    rest = (Weight("rest", (left,), "other", passes=1),) if left else ()
    taken = ", ".join(f"{name} = {value:,}" for name, value in full._asdict().items() if value and not getattr(given, name))
    notes = (*made.notes, *((f"not given, so usual: {taken}",) if taken else ()))
    return replace(made, model_type="by numbers", weights=(*made.weights, *rest), basis="by-hand", defaults={}, notes=notes)
