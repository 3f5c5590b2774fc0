"""From the folder of a release to an `Architecture`: headers first, then the family of its config, then its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any

from ingest.architecture.registry import from_config, usual_sizes
from ingest.architecture.release import MOST_CONFIG_BYTES, Release, ReleaseFiles, read_json, release_of
from ingest.architecture.release_width import TYPES, stated_quantization, stated_type
from ingest.architecture.stored_weights import Sizes, StoredRow, parameters_of, sizes_of, stored_weights
from ingest.architecture.structure import TOKEN_COLUMNS, Architecture
from ingest.architecture.weight_table import UNTRAINED, Attention, Weight
from ingest.errors import IngestError, listed, shortened

CONFIG, PIPELINE, QUANTIZATION = "config.json", "model_index.json", "hf_quant_config.json"
MOST_FUSED = 4  # Rows of one kind that one stored row may hold together, such as Q, K and V
MOST_NAMED = 3  # Rows named in a note at most
#: Columns of the table of weights.
_WEIGHTS = ("weight_parameters", "active_weight_parameters", "embedding_weight_parameters", "multiply_adds_per_token")


def from_release(name: str, files: ReleaseFiles, *, strict: bool = False) -> Architecture:
    """Return the structure of the model whose release is in a folder.

    The headers of its safetensors files say what is stored. The family of its config adds attention and FLOPs where both
    count the same parameters; where they do not, the headers hold, and a note says which rows differ. `strict`
    refuses a config with a key that its family has not looked at and that may change a weight.

    Raises IngestError: no weights and no config, files that were cut off, or a family that is not described and no weights.
    """
    if PIPELINE in files.sizes:
        return _pipeline(name, files)
    path = f"{files.place}/{CONFIG}"
    stated = read_json(files, CONFIG, "a model's config.json", MOST_CONFIG_BYTES) if CONFIG in files.sizes else None
    release, config = release_of(files), stated or {}
    if release is None:
        if stated is None:
            raise IngestError(f"{files.place}: found no {CONFIG} and no safetensors file, expected the folder of a model")
        built = from_config(name, path, config, strict=strict)
        # Files of PyTorch without an index are programs and therefore not read.
        size = sum(size for file, size in files.sizes.items() if fnmatchcase(file, "pytorch_model*.bin"))
        if not size or "weight_parameters" in built.missing:
            return built
        why = f"its {size:,} bytes are {size / built.parameters:.3g} B per parameter, set --precision if that differs"
        return replace(built, notes=(*built.notes, f"pytorch_model.bin is not read: {why}"))
    quantization = None
    if QUANTIZATION in files.sizes:
        found = read_json(files, QUANTIZATION, "a table of quantization", MOST_CONFIG_BYTES).get("quantization")
        quantization = found if isinstance(found, dict) else None
    family, refusal = None, ""
    if isinstance(config.get("model_type"), str):
        try:
            family = from_config(name, path, config, strict=strict)
        except IngestError as error:
            if strict or (not release.tensors and release.bytes is None):
                raise
            refusal = str(error)
    sizes = sizes_of(config, quantization)
    if release.tensors:
        return _from_headers(name, release, sizes, config, family, refusal)
    if family is None:
        return _from_index(name, release, sizes, config, refusal)
    notes = (*family.notes, *_index_notes(release, family, config))
    own = None if release.bytes else family.row_bytes
    return replace(family, stored_bytes=release.bytes, row_bytes=own, notes=notes)


def _from_headers(
    name: str, release: Release, sizes: Sizes, config: Mapping[str, Any], family: Architecture | None, refusal: str
) -> Architecture:
    stored = stored_weights(release.tensors, sizes)
    rows, notes = _tied(stored.rows, sizes, family)
    notes += [*release.notes, *stored.notes]
    further = tuple(row.weight for row in rows if row.weight.kind == "mtp")
    if family is not None and stored.unpacked:
        # A buffer that the family counts as a weight is one.
        lacking = family.parameters - parameters_of(row for row in rows if row.weight.kind != "mtp")
        found = next((row for row in rows if row.weight.kind == "buffer" and row.weight.parameters == lacking > 0), None)
        if found is not None:
            trained = found._replace(weight=found.weight._replace(kind="router", active=found.weight.count))
            rows = tuple(trained if row is found else row for row in rows)
        own = [row for row in rows if row.weight.kind != "mtp"]
        if parameters_of(own) == family.parameters:
            weights = (*(row for row in family.weights if row.kind != "mtp"), *further)
            known: dict[str, Any] = {"weights": weights, "row_bytes": None, "missing": {}, "notes": (*family.notes, *notes)}
            return replace(family, basis="headers", stored=rows, stored_bytes=release.bytes, **known)
        notes.append(_differences(own, family))
    elif family is None and refusal:
        notes.append(f"the structure is that of the headers alone: {refusal.partition('; ')[0]}")
    weights = tuple(row.weight for row in rows if row.weight.kind not in UNTRAINED)
    missing: dict[str, str] = {}
    if not stored.unpacked:
        missing = dict.fromkeys(_WEIGHTS, stored.notes[0])
    elif not stored.active:
        why = "the config does not say how many experts a token visits"
        missing = dict.fromkeys(("active_weight_parameters", "multiply_adds_per_token"), why)
    attentions = family.attentions if family else _attentions(config, sizes)
    if not attentions and not family:
        missing |= dict.fromkeys(TOKEN_COLUMNS[1:], "the config does not say how its attention is built")
    table = max((row for row in weights if row.kind == "embedding"), key=lambda row: row.parameters, default=None)
    return Architecture(
        id=name,
        model_type=str(config.get("model_type") or config.get("_class_name") or "not named"),
        weights=weights,
        attentions=attentions,
        layers=sizes.layers,
        **usual_sizes(table, attentions),
        basis="headers",
        stored=tuple(rows),
        stored_bytes=release.bytes,
        missing=missing,
        unverified_keys=family.unverified_keys if family else (),
        notes=tuple(notes),
    )


def _tied(rows: Sequence[StoredRow], sizes: Sizes, family: Architecture | None) -> tuple[tuple[StoredRow, ...], list[str]]:
    """The rows with a tied head counted once: stored or not, it is multiplied once and has no parameters of its own."""
    matrices = [row for row in rows if len(row.weight.shape) > 1]
    tables = {row.weight.shape for row in matrices if row.weight.kind == "embedding"}
    heads = [row for row in matrices if row.weight.kind == "head" and row.weight.shape in tables]
    if heads:
        counted, twice = parameters_of(row for row in rows if row.weight.kind != "mtp"), parameters_of(heads)
        by_family = family is not None and counted - twice == family.parameters
        if not (sizes.tied or (sizes.tied is None and by_family)):
            note = [] if sizes.tied is False or family else ["embedding and head have one shape, and the config does not say "
                    "whether they are one matrix; both are counted"]  # fmt: skip
            return tuple(rows), note
        kept = [row._replace(weight=row.weight._replace(count=0, active=0)) if row in heads else row for row in rows]
        return tuple(kept), [f"the head is tied to the embedding and stored all the same: {twice:,} parameters count once"]
    table = max((row.weight for row in rows if row.weight.kind == "embedding"), key=lambda row: row.parameters, default=None)
    if table and sizes.decodes and sizes.tied is not False and not any(row.weight.kind == "head" for row in rows):
        return (*rows, StoredRow(Weight("head", table.shape, "head", 0, 0, 1), "", 0)), []
    return tuple(rows), []


def _differences(rows: Iterable[StoredRow], family: Architecture) -> str:
    """Which rows differ between the headers and the family, in one line."""
    ours = [row.weight for row in rows if row.weight.kind not in UNTRAINED and row.weight.count]
    theirs = [row for row in family.weights if row.count and row.kind != "mtp"]
    total = sum(row.parameters for row in ours)
    named = [
        f"only in {where}: {listed((f'{row.name} ({row.parameters:,})' for row in rest), MOST_NAMED)}"
        for where, rest in zip(("the headers", "the family"), _unmatched(ours, theirs), strict=True)
        if rest
    ]
    counts = f"the headers hold {total:,} parameters, the family '{family.model_type}' {family.parameters:,}; the headers count"
    return shortened("; ".join([counts, *named]), 280)


def _unmatched(ours: Sequence[Weight], theirs: Sequence[Weight]) -> list[list[Weight]]:
    """The rows of each count without a counterpart: one of equal size, several that are stored as one, or a whole kind."""
    left, right = [*ours], [*theirs]
    for row in ours:
        same = [other for other in right if other.parameters == row.parameters]
        twin = next((other for other in same if other.kind == row.kind), same[0] if same else None)
        if twin is not None:
            left.remove(row)
            right.remove(twin)
    for one, other in ((left, right), (right, left)):
        for row in [*one]:
            pool = [item for item in other if item.parameters < row.parameters][:12]
            parts = next(
                (some for number in range(2, MOST_FUSED + 1) for some in combinations(pool, number)
                 if sum(item.parameters for item in some) == row.parameters),
                None,
            )  # fmt: skip
            if parts:
                one.remove(row)
                for item in parts:
                    other.remove(item)
    kinds = [Counter[str](), Counter[str]()]
    for rest, sums in zip((left, right), kinds, strict=True):
        for row in rest:
            sums[row.kind] += row.parameters
    equal = {kind for kind in kinds[0] if kinds[0][kind] == kinds[1][kind]}
    return [sorted((row for row in rest if row.kind not in equal), key=lambda row: -row.parameters) for rest in (left, right)]


def _attentions(config: Mapping[str, Any], sizes: Sizes) -> tuple[Attention, ...]:
    """The attention of a decoder by the usual keys, the same in each layer; none where the keys do not say.

    A config with several kinds of layers, or with recurrent ones, leaves the number of attention layers open.
    """
    texts = [config.get(key) for key in ("text_config", "llm_config", "language_config")]
    text = next((one for one in texts if isinstance(one, dict)), config)

    def whole(*names: str) -> int:
        found = next((text[name] for name in names if type(text.get(name)) is int), 0)
        return found if 0 < found < 10**6 else 0

    heads, hidden = whole("num_attention_heads", "n_head", "n_heads"), whole("hidden_size", "n_embd", "d_model")
    kinds = text.get("layer_types")
    listed_kinds = [str(kind) for kind in kinds] if isinstance(kinds, list) else ["full_attention"] * sizes.layers
    window, short = whole("sliding_window"), listed_kinds.count("sliding_attention")
    alike = len(listed_kinds) == sizes.layers == short + listed_kinds.count("full_attention") and (window or not short)
    recurrent = any(word in str(key) for key in text for word in ("mamba", "ssm", "linear_", "conv_L", "hybrid", "block_type"))
    if not sizes.layers or not heads or not alike or recurrent or not sizes.decodes:
        return ()
    rank, rope = whole("kv_lora_rank"), whole("qk_rope_head_dim")
    if rank:
        return (Attention("self", heads, whole("qk_nope_head_dim") + rope, whole("v_head_dim"), sizes.layers, rank + rope),)
    width = whole("head_dim") or (hidden // heads if hidden % heads == 0 else 0)
    groups = whole("num_key_value_heads", "num_kv_heads", "multi_query_group_num") or heads
    every = Attention("self", heads, width, width, sizes.layers, 2 * groups * width)
    if not width or not short:
        return (every,) if width else ()
    return every._replace(layers=short, window=window), every._replace(layers=sizes.layers - short)


def _index_notes(release: Release, family: Architecture, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Whether the bytes of an index are those of the family's parameters."""
    width = 0 if stated_quantization(config) else TYPES.get(stated_type(config), 0)
    if release.listing is not None and release.bytes is None:
        return (f"{release.listing.name} states no bytes in total_size; the bytes are those of the family's weights",)
    if release.bytes is None or not width or release.listing is None:
        return ()
    stored, counted = release.bytes / width, family.parameters
    if stored == counted:
        return ()
    heads = [row for row in family.weights if row.kind == "head" and not row.count and len(row.shape) == 2]
    if heads and stored == counted + heads[0].shape[0] * heads[0].shape[1]:
        return (f"{release.listing.name} counts the tied head twice",)
    return (f"{release.listing.name} states {release.bytes:,} bytes, the family's weights take {counted * width:,}",)


def _from_index(name: str, release: Release, sizes: Sizes, config: Mapping[str, Any], refusal: str) -> Architecture:
    """The bytes that an index states, and the parameters that follow where the type of the weights is known."""
    index, total = release.listing, release.bytes
    assert index is not None
    notes = [f"the structure is unknown: {refusal}"] if refusal else []
    width = 0 if sizes.quantization else TYPES.get(stated_type(config), 0)
    if total is None:
        raise IngestError(f"{release.place}/{index.name}: total_size: found nothing or 0, expected bytes; {refusal}"[:300])
    missing = dict.fromkeys((*_WEIGHTS, *TOKEN_COLUMNS[1:]), "an index has no shapes; put the safetensors files next to it")
    estimated = None
    if width:
        words, wide = (config.get(key) for key in ("vocab_size", "hidden_size"))
        twice = sizes.tied and any(name.endswith("lm_head.weight") for name in index.files)
        head = words * wide if twice and type(words) is int and type(wide) is int else 0
        most = total // width
        estimated = (max(most - head, 1), most, most)
    return Architecture(
        id=name,
        model_type=str(config.get("model_type") or "not named"),
        weights=(),
        attentions=(),
        layers=sizes.layers,
        basis="index",
        stored_bytes=total,
        estimated=estimated,
        missing=missing,
        notes=tuple(notes),
    )


def _pipeline(name: str, files: ReleaseFiles) -> Architecture:
    """The parts of a pipeline, such as the transformer, the text encoders and the autoencoder of a diffusion model."""
    table = read_json(files, PIPELINE, "the parts of a pipeline", MOST_CONFIG_BYTES)
    parts = {key: item for key, item in table.items() if isinstance(item, list) and len(item) == 2 and None not in item}
    rows: list[StoredRow] = []
    unpacked, total, absent = True, 0, []
    notes: list[str] = []
    for part in parts:
        release = release_of(files, part)
        if release is None or not release.tensors:
            absent += [part] if f"{part}/{CONFIG}" in files.sizes else []
            continue
        own = f"{part}/{CONFIG}"
        config = read_json(files, own, "a part's config.json", MOST_CONFIG_BYTES) if own in files.sizes else {}
        stored = stored_weights(release.tensors, sizes_of(config))
        tied, more = _tied(stored.rows, sizes_of(config), None)
        rows += [row._replace(weight=row.weight._replace(name=f"{part}.{row.weight.name}")) for row in tied]
        notes += [f"{part}: {line}" for line in (*more, *release.notes, *stored.notes)]
        unpacked, total = unpacked and stored.unpacked, total + (release.bytes or 0)
    if absent:
        notes.append(f"without weights in the folder, and so not counted: {', '.join(absent)}")
    if not rows:
        raise IngestError(f"{files.place}: found no safetensors file in the folders of {PIPELINE}, expected {listed(parts, 3)}")
    weights = tuple(row.weight for row in rows if row.weight.kind not in UNTRAINED)
    why = "the parts of a pipeline see sequences of different lengths"
    missing = dict.fromkeys(("active_weight_parameters", *TOKEN_COLUMNS), why)
    if not unpacked:
        missing["weight_parameters"] = missing["embedding_weight_parameters"] = "the packing of a part is unknown"
    return Architecture(
        id=name,
        model_type=str(table.get("_class_name") or "pipeline"),
        weights=weights,
        attentions=(),
        basis="headers",
        stored=tuple(rows),
        stored_bytes=total,
        missing=missing,
        notes=tuple(notes),
    )
