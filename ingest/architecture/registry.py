"""The registry of model families: which function describes which `model_type`; and the way from the keys of a config.

A config becomes an `Architecture` by the family that `model_type` names, or by rows that a user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.release_width import TYPES, stated_quantization, stored_row_bytes
from ingest.architecture.structure import TOKEN_COLUMNS, Architecture
from ingest.architecture.weight_table import HOW, UNTRAINED, Attention, TableRow, Weight, by_hand, joined
from ingest.engine.registry import load_modules
from ingest.errors import IngestError, brief
from ingest.files import table_beside

Family = Callable[[ModelConfig], Iterable[TableRow]]
AnyFamily = TypeVar("AnyFamily", bound=Family)

_families: dict[str, Family] = {}
#: Families whose rows do not say how many patches or frames of a sample pass them.
without_flops: set[str] = set()


def family(*model_types: str) -> Callable[[AnyFamily], AnyFamily]:
    """Register a function as the description of these model types, and return it unchanged."""

    def register(function: AnyFamily) -> AnyFamily:
        for name in model_types:
            if name in _families:
                raise ValueError(f"two descriptions of the model type '{name}'")
            _families[name] = function
        return function

    return register


def register(module: str, *records: Any) -> None:
    """Register records of a module's families: each has `model_types`, separated by spaces, `doc` and `rows(config)`."""
    for one in records:
        describing: Family = partial(one.rows)
        describing.__doc__, describing.__module__ = one.doc, module
        family(*one.model_types.split())(describing)


def families() -> Mapping[str, Family]:
    """All described model types and the functions that describe them; the first call imports the modules of families."""
    load_modules("ingest.architecture.families")
    return _families


#: Stems of class names other than the model type, and model types that the library has under another type.
_KEYS = table_beside(__file__, "config_keys.yaml")
_OTHER_STEMS: Mapping[str, Sequence[str]] = _KEYS["other_stems"]
_RENAMED: Mapping[tuple[str, str], str] = {
    (old, name): new for name, types in _KEYS["renamed"].items() for old, new in types.items()
}
#: Classes of draft models, and the families that describe them.
_DRAFTS: Mapping[str, str] = _KEYS["drafts"]
#: Text parts of models that see: alone, without a class, the library builds them without a head.
_WITHOUT_HEAD = {"glm4v_text", "glm4v_moe_text", "qwen2_vl_text", "qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text"}

#: Stems that `auto_map` alone may name, from the files of a release.
_REMOTE_STEMS = {"hunyuan_v1_dense": ("hunyuan",), "hunyuan_v1_moe": ("hunyuan",)}

#: Endings of class names after the stem, in `auto_map`.
_ANY_END = re.compile(
    r"(PreTrainedModel|LMHeadModel|WithLMHeadModel|EncoderModel|MTModel|Model|Config|For[A-Z][A-Za-z0-9]{0,80})$"
)


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def stems(model_type: str) -> set[str]:
    """Return the stems that class names of a model type may have, in lower-case letters and digits."""
    return {_bare(model_type), _bare(model_type.removesuffix("_text")), *_OTHER_STEMS.get(model_type, ())}


def draft(config: ModelConfig) -> str:
    """Return the family of the draft model that `architectures` names; empty for any other class.

    >>> draft(ModelConfig({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"]}, "config.json"))
    'eagle3'
    """
    classes, kind = config.data.get("architectures"), config.data.get("model_type")
    single = classes[0] if isinstance(classes, list) and len(classes) == 1 else None
    if kind == "dflash" or not isinstance(single, str) or single not in _DRAFTS:
        return ""
    config.ignore("architectures", "auto_map")
    return _DRAFTS[single]


def resolved(config: ModelConfig) -> str:
    """Return the family of an unknown model type whose classes the file names, in `architectures` and in `auto_map` alike.

    A file without a model type is known by its class alone.
    Vendors rename the type and keep the classes: Kimi K2 is a DeepSeek-V3. Empty where the type is known, or where the two do
    not name the classes of one family.
    """
    named, classes = config.data.get("auto_map"), config.data.get("architectures")
    kind, first = config.data.get("model_type"), classes[0] if isinstance(classes, list) and len(classes) == 1 else None
    if isinstance(kind, str) and isinstance(first, str) and (kind, first) in _RENAMED:
        return _RENAMED[kind, first]
    # Within a file, a part without a type is what its wrapper's class takes it for.
    if isinstance(first, str) and not config.prefix and kind is None and "_class_name" not in config.data and named is None:
        alike = [name for name in families() if _bare(name) == _bare(_ANY_END.sub("", first))]
        return alike[0] if len(alike) == 1 else ""
    if config.data.get("model_type") in tuple(families()) or not isinstance(named, dict) or not isinstance(classes, list):
        return ""
    remote = [item for key, item in named.items() if str(key).startswith(("AutoModel", "AutoConfig"))]
    if not classes or not remote or not all(isinstance(name, str) for name in (*classes, *remote)):
        return ""
    used = {_bare(_ANY_END.sub("", re.split(r"--|\.", name)[-1])) for name in (*classes, *remote)}
    found = [name for name in families() if used == {_bare(name)}]
    return found[0] if len(found) == 1 else ""


def class_suffix(config: ModelConfig, *known: str) -> str:
    """Return which of the known classes `architectures` names; the first one where it names none.

    >>> bert = ModelConfig({"model_type": "bert", "architectures": ["BertModel"]}, "config.json")
    >>> class_suffix(bert, "ForMaskedLM", "Model")
    'Model'

    Raises IngestError: a class whose last layers are not described, or a class of another family.
    """
    model_type = str(config.data["model_type"])
    _, named = config.get("auto_map")
    if named is not None and not isinstance(named, dict):
        raise config.refuse("auto_map", named, "a table of class names")
    allowed = stems(model_type) | {*_REMOTE_STEMS.get(model_type, ())}
    for key, remote in (named or {}).items():
        # The files of a release may name classes of another model.
        if not str(key).startswith(("AutoModel", "AutoConfig")) or remote is None:
            continue
        if not isinstance(remote, str):
            raise config.refuse(f"auto_map.{key}", remote, "the name of a class")
        name = re.split(r"--|\.", remote)[-1]
        if _bare(_ANY_END.sub("", name)) not in allowed:
            raise config.refuse(f"auto_map.{key}", name, f"a class of '{model_type}': {HOW}")
    listed = config.texts("architectures")
    if not listed:
        return known[0]
    if len(set(listed)) > 1:
        raise config.refuse("architectures", ", ".join(listed), "one class")
    found, own = listed[0], stems(model_type)
    for suffix, stem in product(sorted(known, key=len, reverse=True), own):
        if found.endswith(suffix) and _bare(found.removesuffix(suffix)) == stem:
            return suffix
    ends = ", ".join(known)
    raise config.refuse("architectures", found, f"the name of '{model_type}' before one of {ends}; for another class {HOW}")


def ended(config: ModelConfig, rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """The rows of a decoder with the end that `architectures` names: a head over the words, none, or a classifier.

    Raises IngestError: a class whose last layers are not described.
    """
    ends = ("ForCausalLM", "LMHeadModel", "Model", "ForSequenceClassification")
    # A release of the text part alone may keep the name of the class that also reads images.
    whole = ("ForConditionalGeneration",) if str(config.data["model_type"]).endswith("_text") else ()
    rewards = {"ForRewardModel": 1, "ForProcessRewardModel": 2} if config.data["model_type"] == "qwen2" else {}
    end = class_suffix(config, *ends, *whole, *rewards)
    if config.data["model_type"] in _WITHOUT_HEAD and not config.texts("architectures"):
        end = "Model"
    width = 0
    for row in rows:
        if isinstance(row, Weight) and row.kind == "embedding":
            width = row.shape[-1]
        if end in ("ForCausalLM", "LMHeadModel", *whole) or not (isinstance(row, Weight) and row.kind == "head"):
            yield row
    if end == "ForSequenceClassification":
        yield Weight("classifier", (labels(config), width), "head")
    elif end in rewards:
        # Two products with their biases give the score of a text, or those of each step: so many.
        scores = config.integer("num_labels", rewards[end], high=rewards[end])
        for name, shape in (("1", (width, width)), ("1.bias", (width,)), ("2", (scores, width)), ("2.bias", (scores,))):
            yield Weight(f"reward.{name}", shape, "head")


def labels(config: ModelConfig) -> int:
    """Return the number of classes of a classifier."""
    _, named = config.get("id2label")
    if named is not None and not isinstance(named, dict):
        raise config.refuse("id2label", named, "a table of labels")
    config.ignore("label2id")
    return len(named) if named else config.integer("num_labels|_num_labels", 2)


#: Keys that name no structure or repeat one, and what flags say.
NEVER, _SIZING = frozenset(_KEYS["never"].split()), frozenset(_KEYS["sizing"])
_NEVER_ENDS, _NEVER_STARTS = tuple(_KEYS["never_ends"]), tuple(_KEYS["never_starts"])
_FLAGS: Mapping[str, Sequence[str] | str | bool | None] = _KEYS["flags"]
_REPEATED = {key: rows for rows, keys in _KEYS["repeated"].items() for key in keys}
_TYPES = re.compile(r"^(torch\.)?(auto|bfloat16|float(8\w*|16|32|64)|half|fp(8|16|32)|bf16|int8)$")
#: The id of a word, such as `im_start_id`; the number of a layer or of an expert may name a structure.
_WORD_ID = re.compile(r"^(?!.*(layer|block|expert|head)).*(^|_)id$")
#: Where the keys of a model's text part lie: beside those of its encoders, or in a table of their own.
_TEXTS = ("", "text_config.", "llm_config.")


def unverified(config: ModelConfig, rows: Iterable[TableRow]) -> list[tuple[ModelConfig, str]]:
    """Return the keys that the family has not looked at and that may change a weight, once it has made these rows."""
    table = list(rows)
    unread = []
    for owner, key in config.unread():
        # An encoder has no words to tie; a wrapper may repeat what its text part says and its family has read.
        wordless = key == "tie_word_embeddings" and owner.prefix.endswith(("vision_config.", "audio_config."))
        value, texts = owner.data[key], [part for part in owner.parts if part.prefix in _TEXTS and key in part.read_keys]
        repeated = any(type(part.data.get(key)) is type(value) and part.data[key] == value for part in texts)
        unread += [] if wordless or repeated else [(owner, key)]
    # A key of the text is not answered by the rows of an encoder, unless the model is one.
    text = [row for row in table if not row.name.startswith(("vision.", "audio."))] or table
    return [
        (owner, key)
        for owner, key in unread
        if not _certain(key, owner.data[key], text if owner.prefix in _TEXTS else table, table)
    ]


def _says(key: str, rows: Sequence[Weight]) -> bool | None:
    """Whether the rows have what a flag switches on; None where no head writes words, so that there is nothing to tie."""
    says = next((says for pattern, says in _FLAGS.items() if re.search(pattern, key)), False)
    if isinstance(says, bool):
        return says
    if isinstance(says, str):
        return any(row.kind == says for row in rows)
    if says is not None:
        return any(row.name.endswith(tuple(says)) for row in rows if row.count)
    words = {row.shape[0] for row in rows if row.kind == "embedding"}
    heads = [row for row in rows if row.kind == "head" and row.shape[0] in words]
    return any(not row.count for row in heads) if heads else None


def _certain(key: str, value: Any, own: Sequence[TableRow], rows: Sequence[TableRow]) -> bool:
    """Whether a key with this value leaves the rows as they are; `own` are those of the part that has the key."""
    name = key.lower()
    if key in NEVER or name.endswith(_NEVER_ENDS) or name.startswith(_NEVER_STARTS):
        return not isinstance(value, dict) or not name.endswith("_config") or key in NEVER
    if isinstance(value, str):
        return not value or value in ("none", "None") or bool(_TYPES.match(value))
    if value in ([], {}) or value is None or (type(value) is int and _WORD_ID.match(name)):
        return True
    words = set(re.split(r"[_\W\d]+", name))
    if isinstance(value, float) and not value.is_integer():
        return abs(value) < 1 and words.isdisjoint(_SIZING)
    weights = [row for row in own if isinstance(row, Weight)]
    if isinstance(value, bool) or value == 0:
        said = _says(name, weights)
        return said is None or said is bool(value)
    if key not in _REPEATED or type(value) is not int:
        return False
    size = _REPEATED[key]
    if size in ("key", "heads"):
        return any(getattr(row, size) == value for row in rows if isinstance(row, Attention))
    found = [row for row in rows if isinstance(row, Weight) and row.shape[0] == value]
    return any(row.kind == size if size == "embedding" else row.name.endswith(size) for row in found)


def is_part(key: str, value: object) -> bool:
    """Whether a key holds a part of the model that no family has read, such as `vision_config`."""
    return key.endswith("_config") and isinstance(value, (dict, list)) and bool(value) and key not in NEVER


MAX_PARAMETERS = 10**17  # Beyond this a number in the config is wrong
#: Keys of the tokens that positions reach.
_LONGEST = ("max_target_positions", "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length")
#: Keys of how many modules predict further tokens.
_PREDICTION = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers")


def from_config(name: str, path: str | Path, data: Mapping[str, Any], *, strict: bool = False) -> Architecture:
    """Return the structure that the keys of a config describe, which stands in the file of this path.

    `strict` refuses a key that the family has not looked at and that may change a weight.

    Raises IngestError: a family that is not described, or a key that may change the structure.
    """
    config = ModelConfig({key: item for key, item in data.items() if key not in ("source", "where", "name", "note")}, str(path))
    own = "weights" in data
    rows = [*joined(by_hand(config) if own else _family(config))]
    # Keys that are each a number of their kind may divide to nothing, or end below it.
    for row in rows:
        widths = row.shape if isinstance(row, Weight) else (row.key + row.value,) if row.cached else ()
        if min(widths, default=1) <= 0 or any(item < 0 for item in row[2:] if isinstance(item, int)):
            what = " × ".join(map(str, row.shape)) if isinstance(row, Weight) else f"of {row.layers} layers"
            raise IngestError(f"{path}: the sizes give '{row.name}' as {what}: expected sizes that can be built")
    open_keys = [] if own else [*unverified(config, rows), *((config, key) for key in sorted(config.doubtful))]
    for owner, key in open_keys:
        # A whole part of the model that the family does not have is refused.
        if strict or is_part(key, owner.data[key]):
            kind = config.data.get("model_type")
            raise owner.refuse(key, owner.data[key], f"a key of the family '{kind}': this key may change the structure; {HOW}")
    weights = tuple(row for row in rows if isinstance(row, Weight))
    attentions = tuple(row for row in rows if isinstance(row, Attention))
    if sum(row.parameters for row in weights) > MAX_PARAMETERS:
        raise IngestError(f"{path}: more than {MAX_PARAMETERS:,} parameters, expected sizes that can be built")
    layers = _layers(config)
    row_bytes = None if own else stored_row_bytes(weights, data, layers)
    table = next((row for row in weights if row.kind == "embedding"), None)
    return Architecture(
        id=name,
        model_type=str(config.data.get("model_type", "by hand")),
        weights=weights,
        attentions=attentions,
        layers=layers,
        **usual_sizes(table, attentions),
        defaults=config.all_defaults(),
        basis="by-hand" if own else "family",
        row_bytes=None if row_bytes is None else tuple(row_bytes),
        state_bytes=_state_bytes(config),
        estimated=_readings(config, weights),
        longest=_longest(config) or next((row.shape[0] for row in weights if row.name == "places"), 0),
        unverified_keys=tuple(f"{owner.prefix}{key}" for owner, key in open_keys),
        # Rows by shapes alone have no FLOPs either.
        missing={} if own and "_class_name" not in data else _missing(config, data, row_bytes is not None),
        notes=(*_name_notes(data, config), *_count_notes(config, weights)),
    )


def usual_sizes(table: Weight | None, attentions: Sequence[Attention]) -> dict[str, Any]:
    """Return the usual sizes of a model from its table of words and its attention; 0 where it has none."""
    first = max(attentions, key=lambda row: row.cached, default=None)
    return {
        "hidden": table.shape[-1] if table else 0,
        "heads": first.heads if first else 0,
        "kv_heads": int(max(first.cached // (first.key + first.value), 1)) if first and first.cached else 0,
        "head_dim": first.key if first else 0,
        "vocabulary": table.shape[0] if table else 0,
    }


def _family(config: ModelConfig) -> Iterable[TableRow]:
    """The rows of the family that `model_type` names, with the end that `architectures` names."""
    config.ignore("model_type", "_class_name")
    found = draft(config) or resolved(config) or config.data.get("model_type") or config.data.get("_class_name")
    if not isinstance(found, str):
        raise IngestError(f"{config.path}: model_type: found {found!r}, expected the name of a family, such as llama")
    describing = families().get(found)
    if describing is None:
        from difflib import get_close_matches

        near = get_close_matches(found, families(), n=3, cutoff=0.5)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise IngestError(f"{config.path}: model_type: the family {brief(found)} is not described{hint}; {HOW}")
    config.data = {**config.data, "model_type": found}
    rows = [*describing(config)]
    if "architectures" not in config.read_keys:
        rows = [*ended(config, rows)]
    return rows


def _name_notes(data: Mapping[str, Any], config: ModelConfig) -> tuple[str, ...]:
    """The note of a catalog entry, and one where the classes that the file names decided, not its model type."""
    own = [str(data["note"])] if "source" in data and "note" in data else []
    stated, used = data.get("model_type") or data.get("_class_name"), config.data.get("model_type")
    if draft(config):
        why = "releases leave out the embedding, which is that of the target"
        return (*own, f"a draft model: its class decides, not the model type '{stated}'; {why}")
    classes = config.texts("architectures")
    if str(used).endswith("_text") and classes and classes[0].endswith("ForConditionalGeneration"):
        return (*own, f"the file describes the text part of {classes[0]} alone, and so do the counts")
    if stated is None and used is not None:
        return (*own, f"the file states no model type; its class is that of '{used}'")
    renamed = [f"no family '{stated}' is described; the file names the classes of '{used}'"]
    return (*own, *(renamed if used not in (stated, None) else ()))


def _count_notes(config: ModelConfig, weights: tuple[Weight, ...]) -> tuple[str, ...]:
    """Notes on modules that the family does not count, and on keys that versions of the class understand differently."""
    found = (part.data.get(key) for part in (config, *config.parts) for key in _PREDICTION)
    stated = next((number for number in found if type(number) is int and number > 0), 0)
    why = "releases store the head apart, as the file says; transformers 5 ties it all the same: see the range"
    notes = [f"unverified: versions of the class disagree on {key}: {why}" for key in sorted(config.doubtful)]
    if stated and not any(row.kind == "mtp" for row in weights):
        kind = config.data.get("model_type")
        none = f"the family '{kind}' describes none" if kind else "the rows have none"
        notes.insert(0, f"the modules that predict further tokens ({stated}) are not counted: {none}")
    return tuple(notes)


def _readings(config: ModelConfig, weights: tuple[Weight, ...]) -> tuple[int, int, int] | None:
    """Parameters as (low, typical, high) where two readings are public.

    Versions of a class disagree whether a stored head is tied; releases of a draft model leave out the embedding of its target.
    """
    doubtful = "head" if "tie_word_embeddings" in config.doubtful else "token_embedding" if draft(config) else None
    apart = sum(row.parameters for row in weights if row.name == doubtful)
    if not apart:
        return None
    built = sum(row.parameters for row in weights if row.kind not in UNTRAINED)
    return built - apart, built, built


def _missing(config: ModelConfig, data: Mapping[str, Any], packed: bool) -> dict[str, str]:
    """What cannot be known and why: bytes by an unknown quantization, FLOPs of diffusion and of drafts that propose blocks."""
    missing = {}
    quantization = stated_quantization(data)
    if quantization and not packed:
        method = quantization.get("quant_algo") or quantization.get("quant_method") or "by a method without a name"
        how = "in a way that is not described, or with exceptions that cannot be read"
        missing["weights_bytes"] = f"the release is quantized ({str(method)[:40]}) {how}; use --precision"
    if "model_type" not in data:
        why = "those of a model known by its shapes follow from the size of its images, its text or sound, and its steps"
        missing |= dict.fromkeys((*TOKEN_COLUMNS, "active_weight_parameters"), why)
    if str(config.data.get("model_type", "")).startswith(("dflash", "dflare", "dspark", "domino")):
        why = "those of a draft model that proposes blocks follow from the tokens of a block and the states that it reads"
        missing |= dict.fromkeys(TOKEN_COLUMNS[:2], why)
    if config.data.get("model_type") in without_flops:
        missing |= dict.fromkeys(TOKEN_COLUMNS, "the config does not say how many patches or frames a sample has")
    return missing


def _layers(config: ModelConfig) -> int:
    for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"):
        found = config.data.get(key)
        if type(found) is int and found > 0:
            return found
    kinds = (config.data.get(key) for key in ("layers_block_type", "layer_types"))
    listed = next((found for found in kinds if found and isinstance(found, list)), ())
    return next((found for part in config.parts if (found := _layers(part))), len(listed))


def _state_bytes(config: ModelConfig) -> int | None:
    """Bytes of a number of the recurrent state, where a config states them."""
    stated = config.data.get("mamba_ssm_cache_dtype") or config.data.get("mamba_ssm_dtype")
    if not stated:
        return next((found for part in config.parts if (found := _state_bytes(part)) is not None), None)
    return TYPES.get(str(stated).removeprefix("torch."))


def _longest(config: ModelConfig) -> int:
    """The tokens that the positions of a model reach, by its file or by the default of its class; 0 where no key says."""
    for key in _LONGEST:
        found = config.data.get(key) or config.defaults.get(config.prefix + key)
        if type(found) is int and found > 0:
            return found
    return next((found for part in config.parts if "vision" not in part.prefix and (found := _longest(part))), 0)
