"""A job in a file: one entry of `jobs:` of a site file, as the options of a command and back.

An option and a key mean the same where both set one quantity, or bear one name in the part of the entry that the command asks
about. What no key of a site file gives stands below `options`, by its name; a command passes over what it does not ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ingest.catalog.records import Node
from ingest.catalog.store import opened
from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.engine.question import Argument
from ingest.errors import IngestError, UsageError, expected_one_of
from ingest.site.schema import Fault, inlined, problems
from ingest.units import written_in_file

#: command -> the parts of an entry that it asks about, the nearest first
PARTS = {
    "bw": ("",), "explain": ("",), "fit": ("",), "feed": ("loader.", ""), "train": ("", "checkpoint."),
    "offload": ("offload.", ""), "checkpoint": ("checkpoint.", ""), "goodput": ("checkpoint.", ""),
    "memory": ("checkpoint.", ""), "rl": ("rl.", "checkpoint.", ""),
}  # fmt: skip
#: Words that mean another thing in each part, as in a site: precision of the arithmetic, of saved weights, of published ones.
#: An option of that name stands in the nearest part alone, one with the prefix in that of the checkpoints.
OF_A_PART, SAVED = ("precision",), "saved_"
#: Keys that bear the name of an option of another meaning, or say where in a site a job is.
APART = ("cluster", "data", "priority", "options", "set")
KIND = Kind("a job", "--save-job")
OWN = "options"
#: What is given beside the file -> what the file says in other words, which gives way
RIVALS = {"gpus": ("nodes", "gpus_per_node"), "nodes": ("gpus",), "gpu": ("node",), "node": ("gpu",), "samples": ("tokens",),
          "tokens": ("samples",)}  # fmt: skip


def asked_from(source: str | Path, command: str, arguments: Mapping[str, Argument], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file under those given beside it, which override them.

    Raises:
        IngestError, UsageError: as `options_of_job`.
    """
    read = options_of_job(source, command, arguments)
    given = {**read, **typed}
    written = typed.get("set") or ()
    written = [written] if isinstance(written, str) else written
    pairs = [f"{name}={one}" for name, one in written.items()] if isinstance(written, Mapping) else written
    named = {one.partition("=")[0] for one in pairs}
    stated = named.union(*(arguments[name].states for name in typed if name in arguments))
    if read.get("set"):
        given["set"] = (*(one for one in read["set"] if one.partition("=")[0] not in stated), *pairs)
    gone = {other for name in typed for other in RIVALS.get(name, ()) if other not in typed}
    gone |= {name for name in read if name not in typed and arguments[name].states & named}
    return given | dict.fromkeys(gone & read.keys())


def options_of_job(source: str | Path, command: str, arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """Return the options that a file gives a command.

    Args:
        source: `FILE`, which holds one entry, or `SITE.yaml#jobs.NAME`.
        command: a command of `PARTS`.
        arguments: the parameters of its function.

    Raises:
        IngestError: a file that cannot be read, or with keys that a job does not have; each in one line.
        UsageError: no job of that name.
    """
    file, _, place = str(source).partition("#")
    data = read_yaml(Path(file), KIND)
    if not isinstance(data, dict):
        raise IngestError(f"{file}: found no keys and values, expected an entry of `jobs:` of a site file")
    given: dict[str, Any] = {}
    if "jobs" in data or place:
        entry, given = _of_site(file, place, data, arguments)
    else:
        entry = data
    own = entry.get(OWN) or {}
    if not isinstance(own, dict):
        raise IngestError(f"{file}: {OWN}: found {own!r}, expected options by name")
    if faults := _faults({key: one for key, one in entry.items() if key != OWN}):
        raise IngestError(*(f"{file}: {'.'.join(fault.keys)}: {fault.message}" for fault in faults))
    given, own, flat = written_in_file(given), written_in_file(own), dict(_flat(written_in_file(entry)))
    settings: dict[str, Any] = {}
    for option, keys in _keys_of(command, arguments).items():
        found = next((flat[key] for key in keys if key in flat), None)
        if found is not None:
            given[option] = found
    for part in PARTS[command]:
        settings = {**_inside(entry, part).get("set", {}), **settings}
    own_settings = own.get("set") or {}
    given |= {name: one for name, one in own.items() if name in arguments and name != "set"}
    if (settings := {**settings, **own_settings}) and "set" in arguments:
        given["set"] = tuple(f"{name}={one}" for name, one in settings.items())
    return given


def job_of_options(command: str, arguments: Mapping[str, Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a job that says what was asked; what no key of a site file says stands below `options`."""
    entry: dict[str, Any] = {}
    own: dict[str, Any] = {}
    keys_of = _keys_of(command, arguments)
    for option, value in given.items():
        plain = list(value) if isinstance(value, (list, tuple)) else value
        if option == "set":
            pairs = (one.split("=", 1) for one in plain)
            _put(entry, f"{PARTS[command][0]}set", {name: _written(one) for name, one in pairs})
            continue
        written = _written(plain)
        # The model is that of the job, whichever command asks: all read it there.
        for key in ("model",) if option == "model" else keys_of.get(option, ()):
            trial: dict[str, Any] = {}
            _put(trial, key, written)
            if not _faults(trial):
                _put(entry, key, written)
                break
        else:
            own[option] = written
    settings = _inside(entry, PARTS[command][0]).get("set")
    if settings and _faults(entry):
        del _inside(entry, PARTS[command][0])["set"]
        own["set"] = settings
    return {key: one for key, one in entry.items() if one != {}} | ({OWN: own} if own else {})


def _of_site(
    file: str, place: str, data: Mapping[str, Any], arguments: Mapping[str, Argument]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A job of a site file, and what its name, its cluster and its data say of it."""
    jobs = data.get("jobs")
    if not isinstance(jobs, dict) or not jobs:
        raise IngestError(f"{file}: found no jobs, expected an entry of `jobs:`")
    name = place.removeprefix("jobs.") if place else next(iter(jobs)) if len(jobs) == 1 else ""
    if name not in jobs:
        raise UsageError(f"--job: found '{place or file}', {expected_one_of(name, [f'jobs.{one}' for one in jobs])}")
    entry = dict(jobs[name] or {}) if isinstance(jobs[name], dict) or jobs[name] is None else {}
    if "samples_per_second" not in entry:
        entry.setdefault("model", name)
    clusters, datasets = data.get("clusters") or {}, data.get("datasets") or {}
    cluster = clusters.get(entry.get("cluster", next(iter(clusters), None))) if isinstance(clusters, dict) else None
    given = _machines(cluster, entry, arguments) if isinstance(cluster, dict) else {}
    stored = datasets.get(entry.get("data")) if isinstance(datasets, dict) else None
    if isinstance(stored, dict) and "sample_bytes" in stored and "sample_bytes" in arguments:
        given["sample_bytes"] = _typical(stored["sample_bytes"])
    return entry, given


def _machines(cluster: Mapping[str, Any], entry: Mapping[str, Any], arguments: Mapping[str, Argument]) -> dict[str, Any]:
    """The nodes of a job by what a command asks: their kind and number, or the GPUs in them."""
    kind, nodes = cluster.get("node"), _typical(entry.get("nodes", cluster.get("count")))
    given = {} if nodes is None else {"nodes": nodes}
    if not isinstance(kind, str):
        return given
    if "node" in arguments:
        return {"node": kind, **given}
    return {**given, "gpu": opened(()).get(Node, kind).gpu}


@cache
def _job_schema() -> Mapping[str, Any]:
    found: Mapping[str, Any] = inlined()["properties"]["jobs"]["additionalProperties"]
    return found


def _faults(entry: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with an entry. What a site needs besides, such as the cluster, a command may not ask."""
    return [fault for fault in problems(entry, _job_schema()) if not fault.lacks]


@cache
def _quantities() -> Mapping[str, str]:
    """The keys of an entry that are no tables, with the quantity that each gives; empty for none."""

    def walk(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
        for key, inner in node.get("properties", {}).items():
            if "x-quantity" in inner or "properties" not in inner:
                yield f"{path}{key}", inner.get("x-quantity", "")
            else:
                yield from walk(inner, f"{path}{key}.")

    return dict(walk(_job_schema(), ""))


def _keys_of(command: str, arguments: Mapping[str, Argument]) -> dict[str, list[str]]:
    """The keys of an entry that each option of a command may stand in, the nearest first."""
    near = [
        (key, quantity)
        for part in PARTS[command]
        for key, quantity in _quantities().items()
        if key.startswith(part) and "." not in key.removeprefix(part) and key.removeprefix(part) not in APART
    ]
    found = {}
    for name, one in arguments.items():
        own = one.declared.quantity if one.declared is not None else ""
        if (word := name.removeprefix(SAVED)) in OF_A_PART:
            found[name] = [f"{'checkpoint.' if word != name else PARTS[command][0]}{word}"]
            continue
        same = [key for key, quantity in near if own and quantity == own]
        alike = [key for key, quantity in near if key.rpartition(".")[2] == name and not (own and quantity)]
        found[name] = [*same, *alike]
    return {name: keys for name, keys in found.items() if keys}


def _flat(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, one in entry.items():
        if isinstance(one, dict) and not one.keys() & {"typical", "low", "high"}:
            yield from ((f"{key}.{inner}", _typical(value)) for inner, value in one.items())
        elif one is not None:
            yield key, _typical(one)


def _written(value: Any) -> Any:
    """A whole number in text as the number: YAML needs no quotes for it."""
    return int(value) if isinstance(value, str) and value.isdecimal() and str(int(value)) == value else value


def _typical(value: Any) -> Any:
    return value.get("typical") if isinstance(value, dict) else value


def _inside(entry: dict[str, Any], part: str) -> dict[str, Any]:
    found = entry.get(part.removesuffix("."), {}) if part else entry
    return found if isinstance(found, dict) else {}


def _put(entry: dict[str, Any], key: str, value: Any) -> None:
    *above, last = key.split(".")
    for one in above:
        entry = entry.setdefault(one, {})
    entry[last] = value
