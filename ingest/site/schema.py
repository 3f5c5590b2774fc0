"""The JSON Schema of a site file: the only list of its keys and of the quantity of each."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ingest.catalog.yaml_reader import Pointed
from ingest.engine.registry import INPUTS, InputQuantity, read_value, unit_of
from ingest.errors import UsageError, brief, expected_one_of, listed, nearest
from ingest.site.service_records import service_schema
from ingest.units import BILLIONS, FULL_NUMBER, PRINTED, needs_unit, parse, physical

WORDS = ("typical", "low", "high")
#: A number in text, without a sign: no quantity of a site is below zero.
_DIGITS = r"^\s*\+?(?=\.?\d)[\d_,]*(\.\d*)?([eE][+-]?\d+)?\s*(?=\S|$)"
_PREFIX = "[kKMGTPEZ]?"
#: A number without a unit; a prefix is none.
BARE = _DIGITS + _PREFIX + r"\s*"
#: A number below a thousand, or one that is not whole, without a unit.
SMALL_BARE = r"^\s*\+?(?!0*\.?0*\s*$)(\d{1,3}|\d*\.\d*)\s*$"
#: What may stand behind the number, by the physical part of the base unit.
_SUFFIXES = {
    "s": rf"({_PREFIX}|[muµn]s|[muµn]sec|s|secs?|m|mins?|h|hours?|d|days?|weeks?|years?)",
    "B": rf"({_PREFIX}|{_PREFIX}i?(B|bit|b/s)[\w/ ]*)",
    "FLOP": rf"({_PREFIX}|{_PREFIX}FLOP[\w/ ]*)",
    "1": rf"(%|{_PREFIX}\s*(1|samples?|tokens?|GPUs?|nodes?|files?|parameters?)?([/ ]\s*\w+)*)",
}


def number(value: object, name: str, word: str = "typical") -> float:
    """A number of a site file in base units; `word` says which number of its range it is.

    Raises UsageError: no number, of another unit, or out of range.
    """
    return float(read_value(name, value, name if word == "typical" else word))


def limits_of(name: str) -> dict[str, Any]:
    """The keywords of JSON Schema for a quantity: each looks at numbers alone, or at text alone.

    >>> limits_of("fill_limit")["exclusiveMinimum"], limits_of("fill_limit")["maximum"]
    (0, 1)
    """
    leaf = INPUTS.get(name, InputQuantity(name, unit_of(name), ""))
    suffix = _SUFFIXES[physical(leaf.unit).split("/")[0]]
    billions = "([Bbmt]|" + suffix[1:] if leaf.unit in BILLIONS else suffix
    found: dict[str, Any] = {"pattern": _DIGITS + billions + r"\s*$"}
    found["exclusiveMinimum" if leaf.above else "minimum"] = leaf.low
    return found if math.isinf(leaf.high) else {**found, "maximum": leaf.high}


#: Keys of a section that a message names; of more it names the first ones.
MOST_KEYS = 40
SCHEMA_FILE = Path(__file__).parent / "schema.json"
#: keywords that limit a quantity
LIMITS = ("pattern", "minimum", "exclusiveMinimum", "maximum")
#: the types of JSON that a value of Python is of, and the keywords that `keeps` judges or that judge nothing
KINDS: Mapping[type, frozenset[str]] = {
    dict: frozenset({"object"}),
    list: frozenset({"array"}),
    str: frozenset({"string"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    bool: frozenset({"boolean"}),
    type(None): frozenset({"null"}),
}
UNDERSTOOD = frozenset(
    {"type", "enum", "const", "maxLength", "pattern", "minimum", "exclusiveMinimum", "maximum", "items", "minItems",
     "minProperties", "required", "properties", "additionalProperties", "propertyNames", "$schema", "$id", "title",
     "description", "x-quantity", "x-word", "x-date", "x-term", "x-load", "x-parts"}
)  # fmt: skip
#: what a person calls the types of JSON
TYPES = {
    "object": "keys and values",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


class Fault(NamedTuple):
    """What is wrong with one key of a site file."""

    keys: tuple[str, ...]  # its path
    message: str  # one line, without its place
    lacks: tuple[str, ...] = ()  # the keys, any of which is missing there; empty for any other fault

    def explained_by(self, other: Fault) -> bool:
        """Whether a key is missing because another fault leaves it out: it is refused, or written under another name."""
        depth = len(self.keys)
        if not self.lacks or other.keys[:depth] != self.keys or len(other.keys) != depth + 1:
            return False
        meant = re.search(r"did you mean '(\w+)", other.message)
        return other.keys[-1] in self.lacks or (meant is not None and meant[1] in self.lacks)


@cache
def schema() -> dict[str, Any]:
    """The schema, as editors use it: the limits of each quantity are those that the formulas know."""
    found: dict[str, Any] = _completed(schema_in(SCHEMA_FILE))
    found["properties"]["service"] = service_schema()
    return found


def _completed(node: Any) -> Any:
    if isinstance(node, list):
        return [_completed(one) for one in node]
    if not isinstance(node, dict):
        return node
    if "x-quantity" not in node:
        return {key: _completed(one) for key, one in node.items()}
    # What the quantity may be and how it may be written, of the number and of each number of its range.
    limits = limits_of(node["x-quantity"])
    words = {word: {"type": ["number", "string"], "x-quantity": node["x-quantity"], "x-word": word, **limits} for word in WORDS}
    return {**node, **limits, "properties": {**words, **_completed(node.get("x-parts", {}))}}


def resolved(node: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """A node of a schema, by default that of site files, with what it refers to."""
    reference = node.get("$ref")
    defined = schema()["$defs"] if definitions is None else definitions
    return {**defined[reference.rpartition("/")[2]], **node} if reference else node


@cache
def inlined(path: Path = SCHEMA_FILE) -> Mapping[str, Any]:
    """A schema with what it refers to in place of each reference: a site of many jobs follows thousands of them."""
    whole = schema() if path == SCHEMA_FILE else schema_in(path)
    found: Mapping[str, Any] = _inlined(whole, whole["$defs"])
    return found


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in node]
    if not isinstance(node, Mapping):
        return node
    whole = resolved(node, definitions)
    return {key: _inlined(one, definitions) for key, one in whole.items() if key not in ("$ref", "$defs")}


@cache
def loads_of_jobs() -> Mapping[str, Mapping[str, str]]:
    """The keys of a job that are loads of their own, each with its keys and the quantity that each is."""
    keys: Mapping[str, Any] = resolved(schema()["$defs"]["job"])["properties"]
    loads = {key: node["properties"] for key, node in keys.items() if node.get("x-load")}
    return {key: {inner: one["x-quantity"] for inner, one in parts.items()} for key, parts in loads.items()}


def below(node: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """The node of a key below an object's node; None where the key is not allowed."""
    inner = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return resolved(inner) if isinstance(inner, Mapping) else None


def node_at(keys: Sequence[str], what: str) -> Mapping[str, Any]:
    """The node of a path such as `clusters.main.count`. Raises UsageError: no such key, with the nearest one."""
    node: Mapping[str, Any] = schema()
    for depth, key in enumerate(keys):
        inner = below(node, key)
        if inner is None:
            known = [*node.get("properties", {})]
            place = f" under {'.'.join(keys[:depth])}" if depth else ""
            expected = expected_key(key, known) if known else "expected nothing below it"
            raise UsageError(f"{what}: unknown key '{key}'{place}, {expected}")
        node = inner
    return node


def expected_key(found: str, known: Sequence[str]) -> str:
    """The keys of a section and the nearest of them; of many keys the first ones.

    >>> expected_key("retest", [*(f"key{number}" for number in range(40)), "retests"])
    "expected one of key0, key1, key2, key3, key4 and 36 more; did you mean 'retests'?"
    """
    if len(known) <= MOST_KEYS:
        return expected_one_of(found, known)
    return f"expected one of {listed(known)}{nearest(found, known)}"


#: Sections of a site file whose keys are names of the user's own.
NAMED = ("clusters", "jobs", "serving", "indexes", "datasets")
SYNONYMS_FILE = Path(__file__).parent / "synonyms.yaml"


@cache
def synonyms() -> Mapping[str, Mapping[str, str]]:
    """Section -> key that people write there -> the key that they mean; it is suggested, never taken."""
    import yaml

    # YAML reads the words on, off, yes and no as truth: all words are kept as text.
    written = yaml.load(SYNONYMS_FILE.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
    return {
        "" if section == "site" else section: {word: key for key, words in keys.items() for word in words}
        for section, keys in written.items()
    }


def section_of(keys: Sequence[str]) -> str:
    """The section that a path lies in, whatever its rows are called.

    >>> section_of(("jobs", "vision", "checkpoint")), section_of(("datasets", "a", "growth")), section_of(())
    ('jobs.*.checkpoint', 'growth', '')
    """
    named = ["*" if number == 1 and keys[0] in NAMED else key for number, key in enumerate(keys)]
    return "growth" if named[-1:] == ["growth"] else ".".join(named)


def _meant(found: str, keys: Sequence[str], known: Sequence[str]) -> str:
    """What is expected in place of an unknown key: what people mean by it, the nearest key, or that of another section."""
    section, word = section_of(keys), found.lower().replace("-", "_")
    meant = synonyms().get(section, {}).get(word, "")
    if not meant and not nearest(found, known):
        # The one key of that name below the section, else beside it, as seen from there.
        named = [path for path in _paths() if path.endswith(f".{word}")]
        inside = [path for path in named if path.startswith(f"{section}." if section else "")]
        near = inside or [path for path in named if path.split(".")[0] == section.split(".")[0]]
        meant = near[0].removeprefix(f"{section}.") if len(near) == 1 else ""
    if meant in ("", found):
        return f", {expected_key(found, known)}"
    key, _, note = meant.partition(": ") if "{" not in meant else (meant, "", "")
    return f"; did you mean '{key}'{f' ({note})' if note else ''}?"


@cache
def _paths() -> Mapping[str, str]:
    """The keys of a site file, those of rows below `*`, and the quantity that each gives; empty for none."""

    def walk(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
        if "x-quantity" not in node:
            further = node.get("additionalProperties")
            named = {"*": further} if isinstance(further, Mapping) else {}
            for key, inner in {**node.get("properties", {}), **named}.items():
                yield f"{path}{key}", inner.get("x-quantity", "")
                yield from walk(inner, f"{path}{key}.")

    return dict(walk(inlined(), ""))


def supplying(quantity: str) -> tuple[str, ...]:
    """The keys of a site file that give a quantity.

    >>> supplying("node_nvme_bytes"), supplying("data_bytes"), supplying("site_clients")
    (('clusters.*.nvme',), ('datasets.*.bytes',), ())
    """
    return tuple(path for path, given in _paths().items() if given == quantity)


@cache
def quantities_at(path: str, keys: str = "") -> Mapping[str, str]:
    """The keys below a path of a site file that are quantities, all or these, and the quantity that each gives.

    >>> quantities_at("outage"), quantities_at("storage", "headroom")
    ({'restart_time': 'outage_restart_seconds'}, {'headroom': 'performance_headroom'})
    """
    found = {key.rpartition(".")[2]: given for key, given in _paths().items() if given and key.rpartition(".")[0] == path}
    return {key: found[key] for key in keys.split() or found}


@cache
def schema_in(path: Path) -> dict[str, Any]:
    """The schema in a file, as it is written."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def problems(data: object, against: Mapping[str, Any] | None = None) -> list[Fault]:
    """All violations of a schema, by default that of a site file."""
    wanted = inlined() if against is None else against
    if keeps(data, wanted):
        return []
    found = (one for error in _validator()(wanted).iter_errors(data) for one in _problems(error, against is None))
    return [*dict.fromkeys(found)]


@cache
def _validator() -> Any:
    """The validator of jsonschema to which a number with a point is no whole one."""
    from jsonschema import Draft202012Validator as Usual
    from jsonschema.validators import extend

    kinds = Usual.TYPE_CHECKER
    checked = kinds.redefine("integer", lambda _, one: kinds.is_type(one, "integer") and not isinstance(one, Pointed))
    return extend(Usual, type_checker=checked)


def keeps(data: object, node: Mapping[str, Any]) -> bool:
    """Whether data surely keep to a schema: what does not, or cannot be told here, is for jsonschema to judge and to word."""
    kinds, wanted = KINDS.get(type(data)), node.get("type")
    if kinds is None or not node.keys() <= UNDERSTOOD:
        return False
    if wanted is not None and kinds.isdisjoint((wanted,) if isinstance(wanted, str) else wanted):
        return False
    allowed = node.get("enum", [node["const"]] if "const" in node else [data])
    if data not in [one for one in allowed if type(one) is type(data)]:
        return False
    if isinstance(data, str):
        pattern, longest = node.get("pattern", ""), node.get("maxLength", len(data))
        return len(data) <= longest and re.search(pattern, data) is not None
    if isinstance(data, (int, float)):
        least, above, most = node.get("minimum", data), node.get("exclusiveMinimum"), node.get("maximum", data)
        return least <= data <= most and (above is None or data > above)
    if isinstance(data, list):
        return len(data) >= node.get("minItems", 0) and all(keeps(one, node.get("items", {})) for one in data)
    if data is None:
        return True
    assert isinstance(data, dict)
    if len(data) < node.get("minProperties", 0) or not set(node.get("required", ())) <= data.keys():
        return False
    inner, further, names = node.get("properties", {}), node.get("additionalProperties", {}), node.get("propertyNames")
    for key, one in data.items():
        own = inner.get(key, further)
        if not (isinstance(key, str) and isinstance(own, Mapping) and (names is None or keeps(key, names)) and keeps(one, own)):
            return False
    return True


def _problems(error: Any, of_site: bool) -> Iterator[Fault]:
    """The violations behind one error of the validator: each unknown and each missing key is one."""
    keys = tuple(str(key) for key in error.absolute_path)
    rule, wanted, instance = error.validator, error.validator_value, error.instance
    if rule == "additionalProperties":
        known = list(error.schema["properties"])
        for extra in (key for key in instance if key not in known):
            expected = _meant(str(extra), keys, known) if of_site else f", {expected_key(str(extra), known)}"
            yield Fault((*keys, str(extra)), f"unknown key '{extra}'{expected}")
    elif rule == "required":
        for missing in (key for key in wanted if key not in instance):
            meaning = error.schema.get("properties", {}).get(missing, {}).get("description", "a value")
            yield Fault(keys, f"'{missing}' is missing: {meaning}", (missing,) if "x-quantity" not in error.schema else ())
    else:
        yield Fault(*_problem(error))


def _problem(error: Any) -> tuple[tuple[str, ...], str]:
    keys = tuple(str(key) for key in error.absolute_path)
    rule, wanted, instance = error.validator, error.validator_value, error.instance
    if rule in LIMITS and "x-quantity" in error.schema:
        # What the reader says of a number that the schema does not take; a number of a range is blamed on its key.
        name, word = error.schema["x-quantity"], error.schema.get("x-word", "typical")
        named = keys[:-1] if "x-word" in error.schema else keys
        try:
            number(instance, name, word)
        except UsageError as refused:
            said = str(refused).removeprefix(f"{name}: ") + _as_keys(named[-1:], instance)
            beside = _beside(named, instance) if " is in B, expected 1" in said else ""
            return named, f"{said}; did you mean '{beside}: {instance}'?" if beside else said
        return named, f"found {brief(instance)}, expected a number and its unit ({unit_of(name)})"
    if "propertyNames" in error.absolute_schema_path:
        keys = (*keys, str(instance))
    if rule == "enum":
        words = [str(one).lower() if isinstance(one, bool) else one for one in wanted]
        return keys, f"found {brief(instance)}, {expected_one_of(instance, words)}"
    if rule == "type" and "integer" in wanted and isinstance(instance, Pointed):
        try:
            parse(repr(instance), "1", "", whole=True)
        except UsageError as refused:
            return keys, str(refused).removeprefix(": ")
    return keys, f"found {brief(instance)}, expected {_expected(rule, wanted)}{_as_keys(keys[-1:], instance)}"


def _beside(keys: Sequence[str], found: str) -> str:
    """The one key beside another that takes a value in its unit; empty where none does, or several."""
    above, taking = section_of((*keys[:-1], "")), []
    for path, quantity in _paths().items():
        key = path.removeprefix(above)
        if quantity and path == f"{above}{key}" and "." not in key:
            with suppress(UsageError):
                read_value(quantity, found)
                taking.append(key)
    return taking[0] if len(taking) == 1 else ""


#: key -> a text that people write there, and the keys and values that they mean
AS_KEYS = {
    "homes": (r"(?P<users>[\d,]+)(?: users?)?(?: of | [x×*@] |[x×*@])(?P<quota>\d.*)", "users: {users}, quota: {quota}"),
    "growth": (
        r"\+?(?P<add>\d[\d.,]* ?[kMGTPE]i?B)(?:/| per | a | each | every )(?P<every>\w+)",
        "add: {add}, every: 1 {every}",
    ),
}


def _as_keys(keys: Sequence[str], found: object) -> str:
    """Advice where a text says several values: the keys that take them."""
    for key in keys:
        pattern, meant = AS_KEYS.get(key, ("", ""))
        said = re.fullmatch(pattern, found.strip()) if pattern and isinstance(found, str) else None
        if said:
            return f"; did you mean '{{{meant.format(**said.groupdict())}}}'?"
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%(?:/| per | a )?(\w*)", found.strip()) if isinstance(found, str) else None
        if key == "growth" and share:
            return f"; did you mean '{{capacity: {1 + float(share[1]) / 100:g}, every: 1 {share[2] or 'year'}}}'?"
    return ""


def _expected(rule: str, wanted: Any) -> str:
    if rule == "type":
        named = [wanted] if isinstance(wanted, str) else wanted
        return " or ".join(TYPES[kind] for kind in named if kind in TYPES)
    if rule == "pattern" and wanted == "^published$":
        return "'published', or keys and values: capacity, add, bandwidth, parameters, every"
    if rule == "pattern" and wanted == "^suggested$":
        return "'suggested', or keys and values"
    if rule == "pattern" and wanted.startswith("^[^"):
        return "text without control characters"
    if rule == "pattern":
        return "a name of at most 63 ASCII letters (a to z, A to Z), digits, - and _, with a letter or digit first"
    limits = {
        "minProperties": "at least {} entry",
        "minItems": "at least {} entry",
        "minimum": "a number from {}",
        "exclusiveMinimum": "a number above {}",
        "maximum": "a number up to {}",
        "maxLength": "at most {} characters",
        "const": "{!r}",
    }
    return limits.get(rule, "a value of the schema: {}").format(wanted)


STARTER_FILE = Path(__file__).parent / "starter.yaml"


def starter() -> str:
    """A commented site file that can be planned as it is.

    >>> starter().splitlines()[0]
    '# A site for `ingest plan`: clusters, training jobs, data sets and storage.'
    """
    return STARTER_FILE.read_text(encoding="utf-8")


def schema_text() -> str:
    """The JSON Schema of a site file, for editors: it marks a number without its unit too, which Python may give."""
    return json.dumps(_without_bare(schema()), indent=2) + "\n"


def _without_bare(node: Any) -> Any:
    """The schema of a file: where the unit is never guessed, a quantity is text with a unit, or 0."""
    if isinstance(node, list):
        return [_without_bare(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _without_bare(one) for key, one in node.items()}
    if "x-quantity" in node and (meant := needs_unit(1, unit_of(node["x-quantity"]))):
        small = meant == PRINTED["B"]
        most = {"exclusiveMaximum": FULL_NUMBER} if small else {}
        bare = [
            {"type": "number", "exclusiveMinimum": 0, **most},
            {"type": "string", "pattern": SMALL_BARE if small else BARE + "$"},
        ]
        found["not"] = {"anyOf": bare}
    return found
