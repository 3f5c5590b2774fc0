"""SITE.yaml to plain checked data: by the schema, in base units, every refusal with its line; and one to start from."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from ingest.catalog.records import Gpu, Model
from ingest.catalog.store import Catalog, opened
from ingest.catalog.yaml_reader import Kind, line_of, read_yaml
from ingest.engine.messages import in_site_words, message_of
from ingest.engine.value import Input
from ingest.errors import Faults, IngestError, RequirementNotMet, UsageError, brief, expected_one_of, listed
from ingest.files import confined, table_beside
from ingest.site import schema
from ingest.site.schema import NAMED, Fault, number
from ingest.sizing.job import encoding_of, names_of
from ingest.sizing.resolve import model_named
from ingest.text import grouped, visible
from ingest.units import parse_whole, written_in_file
from ingest.version import newer

Keys = tuple[str, ...]
SITE_FILE = Kind("a site file", "ingest plan --new")
#: how a refused value is named before its key is
SELF = "value"
#: what a refusal may be, the narrowest first
KINDS = (RequirementNotMet, UsageError, IngestError)
#: faults of one file that are printed
MOST_FAULTS = 50


@dataclass(frozen=True)
class Site:
    """A site file, checked by the schema."""

    path: Path | None  # the file; None for a site given as data
    data: Mapping[str, Any]  # keys and values; a quantity is an `Input` in base units, a date a `datetime.date`
    written: Mapping[str, Any]  # the same as written, after `--set`
    changed: tuple[Keys, ...] = ()  # paths that `--set` changed

    def place(self, keys: Keys) -> str:
        """The place of a key, for messages: file, line and key; or `--set` where that is to blame."""
        if keys[:1] == ("jobs",) and keys[1:] and "index" in self.section("jobs").get(keys[1], {}):
            keys = ("indexes", *keys[1:])
        dotted = ".".join(keys)
        if keys in self.changed:
            return f"--set {dotted}"
        if self.path is None:
            return dotted or "site"
        return f"{self.path}:{line_of(self.path, keys)}" + (f": {dotted}" if dotted else "")

    def refuse(self, keys: Keys, message: str, *, kind: type[IngestError] = UsageError) -> NoReturn:
        """Refuse the site because of one key.

        Raises IngestError: of that kind; `RequirementNotMet` where the value is fine, but asks for what has no room or is too
            slow, `IngestError` itself where a fact or a file is missing.
        """
        raise self.error(keys, message, kind)

    def error(self, keys: Keys, message: str, kind: type[IngestError] = UsageError) -> IngestError:
        """The refusal of one key: its place, and what is wrong with it."""
        found = kind(" ".join(f"{self.place(keys)}: {message}".split()))
        found.fault = (keys, message)
        return found

    def refuse_all(self, faults: Iterable[Fault]) -> None:
        """Refuse the site because of all its faults, in the order of its keys; nothing where there are none.

        Raises UsageError: one fault, or `Faults`, a line each.
        """
        found = sorted(dict.fromkeys(faults), key=lambda one: _position(self.written, one.keys))
        if len(found) == 1:
            self.refuse(*found[0][:2])
        if found:
            lines = [str(self.error(one.keys, one.message)) for one in found[:MOST_FAULTS]]
            more = len(found) - len(lines)
            raise Faults("\n".join([*lines, *([f"{more:,} more faults"] if more else [])]))

    @contextmanager
    def blaming(self, keys: Keys, renamed: Mapping[str, str] | None = None) -> Iterator[None]:
        """Whatever is refused meanwhile is refused because of one key, in the words of a site file.

        `renamed` holds the keys of `set` that have a key of their own there.
        """
        try:
            yield
        except IngestError as error:
            words = in_site_words(message_of(error)).removeprefix(f"{SELF}: ")
            for theirs, ours in (renamed or {}).items():
                words = words.replace(theirs, ours)
            self.refuse(keys, words, kind=next(one for one in KINDS if isinstance(error, one)))

    def is_set(self, keys: Keys) -> bool:
        """Whether `--set` gave the value of a key, by itself or with all around it."""
        return any(keys[: len(path)] == path for path in self.changed)

    def section(self, name: str) -> Mapping[str, Any]:
        """A table of the file; empty where it is left out."""
        found: Mapping[str, Any] = self.data.get(name) or {}
        return found

    @cached_property
    def readers(self) -> Mapping[str, Mapping[str, Any]]:
        """The jobs that read each data set, by name."""
        jobs = grouped((str(job.get("data")), (name, job)) for name, job in self.section("jobs").items())
        return {data: dict(pairs) for data, pairs in jobs.items()}

    @property
    def name(self) -> str:
        """The name of the site."""
        return visible(str(self.data.get("name") or (self.path.stem if self.path else "site")))

    @property
    def folder(self) -> Path:
        """Where files that the site names are looked up."""
        return self.path.parent if self.path else Path()


def read_site(
    source: str | Path | Mapping[str, Any],
    settings: Mapping[str, str | float] | None = None,
    further: Callable[[Site, Sequence[Fault]], Iterable[Fault]] | None = None,
) -> Site:
    """Read a site.

    Args:
        source: a YAML file, or its content as keys and values.
        settings: values by path, such as `{"clusters.main.count": "256"}`; they replace those of the file.
        further: finds more faults in what of the site is sound so far, knowing those.

    Raises:
        IngestError: an unreadable file.
        UsageError: a path that cannot be set, or all faults of the site, each with its line.
    """
    path = None if isinstance(source, Mapping) else Path(source)
    raw: Any = source if path is None else beside(read_yaml(path, kind=SITE_FILE), path.parent)
    changed = tuple(tuple(name.split(".")) for name in settings or {})
    for keys, value in zip(changed, (settings or {}).values(), strict=True):
        dotted = ".".join(keys)
        table = raw.get(keys[0]) if isinstance(raw, Mapping) and keys[0] in NAMED else None
        if isinstance(table, Mapping) and len(keys) > 2 and keys[1] not in table:
            raise UsageError(f"--set {dotted}: {unknown_name(keys[1], keys[0], table)}")
        # A value from the command line is text: the schema says of which type it is.
        kind = schema.node_at(keys, f"--set {dotted}").get("type")
        typed: object = value
        if isinstance(value, str) and "boolean" in (kind or ()) and value in ("true", "false"):
            typed = value == "true"
        elif isinstance(value, str) and "integer" in (kind if isinstance(kind, list) else [kind]) and value.isdigit():
            typed = int(value)
        raw = _with(raw, keys, typed, dotted)
    site = Site(path, {}, raw, changed)
    if isinstance(raw, Mapping) and (why := newer(raw.get("format"))):
        site.refuse(("format",), why)
    found = schema.problems(raw)
    refused = {one.keys for one in found if not one.lacks}
    sound = _without(raw, refused) if refused else raw
    site = replace(site, data=_in_base_units(site, sound, schema.inlined(), (), found) if isinstance(sound, Mapping) else {})
    site = replace(site, data=_with_indexes(_with_rollouts(site.data, found), found))
    if further is not None and isinstance(sound, Mapping):
        found += further(site, found)
    site.refuse_all(one for one in found if not any(map(one.explained_by, found)))
    return site


#: What the name of the rollouts of a job of reinforcement learning ends with.
ROLLOUTS = "-rollouts"
#: Keys of a job that its rollouts share.
SHARED_BY_ROLLOUTS = ("kind", "model", "rl", "runs", "share")


def _with_rollouts(data: Mapping[str, Any], found: list[Fault]) -> Mapping[str, Any]:
    """The site with a job of its own for the rollouts of each job of reinforcement learning: they run on other nodes."""
    jobs: dict[str, Any] = {}
    for name, job in (data.get("jobs") or {}).items():
        jobs[name] = job
        described, place = job.get("rl") or {}, ("jobs", name)
        if ("rl" in job) is not (job.get("kind") == "rl"):
            found.append(Fault(place, "expected `kind: rl` and `rl`, both or none of them"))
        elif ("rollout_cluster" in described) is not ("rollout_hosts" in described):
            found.append(Fault((*place, "rl"), "expected `rollout_cluster` and `rollout_hosts`, both or none of them"))
        elif "rollout_cluster" in described:
            if described["rollout_cluster"] not in data.get("clusters", {}):
                expected = expected_one_of(described["rollout_cluster"], [*data.get("clusters", {})])
                why = f"found {described['rollout_cluster']}, {expected}"
                found.append(Fault((*place, "rl", "rollout_cluster"), why))
            elif described["rollout_hosts"].value and described.get("algorithm") != "dpo":
                shared = {key: job[key] for key in SHARED_BY_ROLLOUTS if key in job}
                own = {"cluster": described["rollout_cluster"], "nodes": described["rollout_hosts"], "rollouts_of": name}
                jobs[name + ROLLOUTS] = {**shared, **own}
    return {**data, "jobs": jobs} if jobs else data


def _with_indexes(data: Mapping[str, Any], found: list[Fault]) -> Mapping[str, Any]:
    """The site with a job for each vector index: its nodes read, load and rebuild it."""
    jobs = {**(data.get("jobs") or {})}
    for name, described in (data.get("indexes") or {}).items():
        if name in jobs:
            found.append(Fault(("indexes", name), "found a job of that name, expected another name"))
        else:
            jobs[name] = {
                **{key: described[key] for key in ("cluster", "nodes", "growth") if key in described},
                "index": described,
            }
    return {**data, "jobs": jobs} if jobs else data


def own_files(
    source: str | Path | Mapping[str, Any], root: str | Path | None, catalog: Catalog
) -> AbstractContextManager[None]:
    """Confine what a site file names to its own folder, or to a wider one, and to the catalogs; data of the caller are free."""
    if isinstance(source, Mapping) and root is None:
        return nullcontext()
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"--root: found '{root}', expected a folder")
    own = () if isinstance(source, Mapping) else (source,)
    return confined(Path(*own).parent if root is None else root, *own, *catalog.folders)


#: keys whose values may be files: entries, and configs of models
NAMING = frozenset(
    ("node", "model", "gpu", "protocol", "failures", "optimizer", "recipe", "corpus", "format", "pipeline", "system", "client",
     "protection", "scaling")
)  # fmt: skip


def beside(raw: Any, folder: Path, key: str = "") -> Any:
    """Data whose names of files lead to those beside the site file, wherever the command runs."""
    if isinstance(raw, Mapping):
        return {name: beside(value, folder, str(name)) for name, value in raw.items()}
    if isinstance(raw, list):
        return [beside(value, folder, key) for value in raw]
    is_file = key in NAMING and isinstance(raw, str) and ("/" in raw or raw.endswith((".yaml", ".yml", ".json")))
    return str(folder / raw) if is_file and (folder / raw).exists() else raw


def _position(raw: Any, keys: Keys) -> list[int]:
    """Where a key stands among those of a file, level by level."""
    found = []
    for key in keys:
        names = [*map(str, raw)] if isinstance(raw, Mapping) else [*map(str, range(len(raw)))] if isinstance(raw, list) else []
        if key not in names:
            break
        found.append(names.index(key))
        raw = [*raw.values()][found[-1]] if isinstance(raw, Mapping) else raw[found[-1]]
    return found


def _without(raw: Any, refused: set[Keys], keys: Keys = ()) -> Any:
    """Data without the keys that are refused, whole lists among them; None for data that are refused themselves."""
    if keys in refused or (isinstance(raw, list) and any(keys == one[: len(keys)] for one in refused)):
        return None
    if not isinstance(raw, Mapping):
        return raw
    kept = {key: _without(value, refused, (*keys, str(key))) for key, value in raw.items() if (*keys, str(key)) not in refused}
    return {key: value for key, value in kept.items() if value is not None}


def unknown_name(name: str, table: str, known: Iterable[object]) -> str:
    """Say that a table of the file has no such name.

    >>> unknown_name("mian", "clusters", ["main"])
    "unknown name 'mian' under clusters, expected one of main; did you mean 'main'?"
    """
    return f"unknown name '{name}' under {table}, {expected_one_of(name, map(str, known))}"


def _with(raw: Any, keys: Keys, value: object, what: str) -> dict[str, Any]:
    """The data with one value replaced; nothing of the original is changed."""
    if raw is not None and not isinstance(raw, Mapping):
        raise UsageError(f"--set {what}: '{keys[0]}' lies below a plain value, expected keys and values there")
    rest = {**(raw or {})}
    rest[keys[0]] = value if len(keys) == 1 else _with(rest.get(keys[0]), keys[1:], value, what)
    return rest


def _in_base_units(site: Site, raw: Any, node: Mapping[str, Any], keys: Keys, found: list[Fault]) -> Any:
    """Data in base units: the schema's node says what each value is. What cannot be is left out and added to the faults."""
    parts = node.get("x-parts", {})
    # Numbers from Python stay in base units, for whoever computes them; so does what `--set` spreads over scenarios.
    if site.path is not None and not site.is_set(keys) and ("x-quantity" in node or node.get("type") == NUMBER_OF_ANY_KIND):
        raw = written_in_file(raw)
    try:
        if "x-quantity" in node and not (isinstance(raw, Mapping) and raw.keys() & parts):
            # A number in base units, with its range where one is written.
            written = raw if isinstance(raw, Mapping) else {"typical": raw}
            if "typical" not in written:
                raise UsageError("'typical' is missing: a number")
            numbers = {word: number(value, node["x-quantity"], word) for word, value in written.items()}
            typical = numbers["typical"]
            low, high = numbers.get("low", typical), numbers.get("high", typical)
            if not low <= typical <= high:
                raise UsageError(f"found low {low:g}, typical {typical:g}, high {high:g}, expected them in this order")
            plain = len(numbers) == 1
            return Input(typical, None if plain else low, None if plain else high, origin="user", where=".".join(keys))
        if node.get("x-date"):
            # A date from `2027`, `2027-06` or `2027-06-30`.
            try:
                year, *rest = map(int, str(raw).split("-"))
                month, day = rest + [1] * (2 - len(rest))
                return datetime.date(year, month, day)
            except (ValueError, TypeError, OverflowError):
                raise UsageError(f"found {brief(raw)}, expected a year or a date such as 2027-06-30") from None
    except UsageError as error:
        found.append(Fault(keys, str(error).removeprefix(f"{node.get('x-quantity')}: ")))
        return None
    if not isinstance(raw, Mapping):
        return raw
    if raw.keys() & parts and raw.keys() != parts.keys():
        given = listed([f"`{key}`" for key in raw])
        found.append(Fault(keys, f"found {given}, expected {' and '.join(f'`{key}`' for key in parts)}, or one number"))
        return None
    inner = {key: _in_base_units(site, value, schema.below(node, key) or {}, (*keys, key), found) for key, value in raw.items()}
    return {key: value for key, value in inner.items() if value is not None or raw[key] is None}


#: The type of a value whose quantity its key names, as below `set`.
NUMBER_OF_ANY_KIND = ["number", "string"]


#: Nodes of a cluster at most.
MOST_NODES = 1_000_000


def new_site(
    *, nodes: int | str, gpu: str, models: str | Sequence[str], catalogs: Catalog | str | Path | Sequence[str | Path] = ()
) -> str:
    """A site file of one cluster with one job for each model.

    Args:
        nodes: nodes of the cluster.
        gpu: id or alias of the GPU; its usual node is the node type.
        models: ids or aliases, a list or text with commas.
        catalogs: folders with entries of your own.

    Raises UsageError: an unknown id, with the nearest one; fewer nodes than models; a GPU without a usual node.
    """
    catalog = opened(catalogs)
    card, count = catalog.get(Gpu, gpu), parse_whole(nodes, "--nodes", 1, MOST_NODES)
    entries = [model_named(str(name).strip(), None, catalog) for name in names_of(models)]
    if len({one.id for one in entries}) < len(entries):
        raise UsageError("--models: found a model twice, expected each once")
    if not card.usual_node:
        raise UsageError(f"--gpu: no node type of {card.id} is known, expected another GPU")
    if count < len(entries):
        raise UsageError(f"--nodes: found {count}, expected at least one for each of {len(entries)} models")
    each = count // len(entries)
    parts = table_beside(__file__, "new_site.yaml")
    text = str(parts["head"]).format(models=", ".join(one.id for one in entries), nodes=count, node=card.usual_node)
    sets, questions = "", ""
    for one in entries:
        reads, data = "once" if one.family == "llm" else "often", parts[_published(one)]
        text += parts[reads].format(name=one.id, nodes=each, mark=data["mark"], length=data["length"])
        sets += data[reads].format(name=one.id)
        questions += "  " * bool(data["question"]) + data["question"].format(name=one.id)
    commented = all(line.lstrip().startswith("#") for line in sets.splitlines())
    about = parts["datasets"].format(mark="# " * commented) + sets + parts["questions"] + questions
    return text + str(about) + str(parts["tail"])


def _published(model: Model) -> str:
    """What is published of the data set of a model, as a key of `new_site.yaml`."""
    encoding = encoding_of(model, None)
    counted = model.dataset_samples is not None and encoding.get("sample_bytes") is not None
    if counted and encoding["samples_per_file"] is not None:
        return "counted"
    return "sized" if counted or model.dataset_bytes is not None else "unknown"
