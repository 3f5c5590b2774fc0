"""The registry of model families: which function describes which `model_type`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeVar

from ingest.architecture.hf_config import ModelConfig
from ingest.architecture.weight_table import HOW, TableRow, Weight
from ingest.engine.registry import load_modules
from ingest.files import table_beside

Family = Callable[[ModelConfig], Iterable[TableRow]]
AnyFamily = TypeVar("AnyFamily", bound=Family)

_families: dict[str, Family] = {}


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
_CLASSES = table_beside(__file__, "config_keys.yaml")
_OTHER_STEMS: Mapping[str, Sequence[str]] = _CLASSES["other_stems"]
_RENAMED: Mapping[tuple[str, str], str] = {
    (old, name): new for name, types in _CLASSES["renamed"].items() for old, new in types.items()
}
#: Classes of draft models, and the families that describe them.
_DRAFTS: Mapping[str, str] = _CLASSES["drafts"]
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
