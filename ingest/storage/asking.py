"""The options of `fit` to one `Need`: a model on its GPUs, a plan, plain numbers, or several of them together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ingest.catalog.records import Node
from ingest.catalog.store import Catalog
from ingest.errors import IngestError, UsageError, brief, nearest
from ingest.estimate import estimate
from ingest.formula import check_value, unit_of
from ingest.known import machine
from ingest.ladder import Given, from_catalog
from ingest.question import Question, question_of, settings_of
from ingest.requirement import PRIORITIES, Conditions, Requirement
from ingest.storage.need import Need, from_estimate, from_numbers, from_requirements
from ingest.units import parse

#: A plan is some hundred lines; what is larger is something else.
MOST_BYTES = 20_000_000
WORDS = ("id", "priority", "statement", "metric", "unit")


def need_of(plan: str | Path | None, options: Mapping[str, Any], question: Mapping[str, Any], catalog: Catalog) -> Need:
    """The need that the options of `fit` stand for.

    Raises:
        UsageError: a value out of range, or two answers to the same question.
        IngestError: a plan that cannot be read, or a missing fact.
    """
    settings = {name: Given(value, origin="user") for name, value in settings_of(question.get("set")).items()}
    for name, item in settings.items():
        check_value(name, item.value, f"--set {name}")
    plain = from_numbers(options)
    if options.get("io_size") is not None:
        size = check_value("io_bytes", parse(options["io_size"], unit_of("io_bytes"), "--io-size"), "--io-size")
        plain["io_bytes"] = Given(size, origin="user")
    if plan is not None and question.get("model") is not None:
        raise UsageError("--model: the plan says what is read already; expected one of the two")
    if plan is not None:
        need = from_requirements(read_plan(Path(plan)), f"plan {plan}")
        need = Need(need.title, {**_machine(question, catalog), **need.given}, need.computed, need.high, notes=need.notes)
    elif _asks_bw(question):
        need = _with_machine(from_estimate(estimate(question_of(question), catalog)), question, catalog)
    else:
        need = Need("plain numbers", _machine(question, catalog))
    return need.merged({**settings, **plain})


def _asks_bw(question: Mapping[str, Any]) -> bool:
    return any(question.get(name) is not None for name in ("model", "samples_per_second", "flops_per_sample", "achieved"))


def _with_machine(need: Need, question: Mapping[str, Any], catalog: Catalog) -> Need:
    given = {**_of_node(question, catalog), **need.given}
    return Need(need.title, given, need.computed, need.high, need.model, need.words, need.notes)


def _machine(question: Mapping[str, Any], catalog: Catalog) -> dict[str, Given]:
    """Nodes, GPUs and links where no model is asked about."""
    given: dict[str, Given] = {}
    for name in ("nodes", "gpus_per_node"):
        if question.get(name) is not None:
            shown = f"--{name.replace('_', '-')}"
            given[name] = Given(check_value(name, parse(question[name], unit_of(name), shown), shown), origin="user")
    asked = Question(gpu=question.get("gpu"), node=question.get("node"))
    node, gpu = machine(asked, catalog)
    if gpu is not None and gpu.host_link_bandwidth is not None:
        given["host_link_bandwidth_per_gpu"] = from_catalog(gpu.host_link_bandwidth)
    if node is not None:
        given.setdefault("gpus_per_node", from_catalog(node.gpus_per_node))
    return {**_of_node(question, catalog), **given}


def _of_node(question: Mapping[str, Any], catalog: Catalog) -> dict[str, Given]:
    """Storage NICs, local drives and host memory of the node."""
    node, _ = machine(Question(gpu=question.get("gpu"), node=question.get("node")), catalog)
    return {} if node is None else of_node(node)


def of_node(node: Node) -> dict[str, Given]:
    """What a node type brings to the way to storage; having none of a thing is left out."""
    named = {
        "storage_nic_bandwidth_per_node": node.storage_nic_bandwidth,
        "nvme_drives_per_node": node.nvme_drives,
        "nvme_bytes_per_node": node.nvme_bytes,
        "nvme_read_bandwidth_per_node": node.nvme_read_bandwidth,
        "host_memory_per_node": node.host_memory_bytes,
    }
    return {name: from_catalog(value) for name, value in named.items() if value is not None and value.value}


def read_plan(path: Path) -> list[Requirement]:
    """The requirement lines of the JSON file that `ingest plan` wrote.

    Raises:
        IngestError: unreadable, too large, no JSON, or no plan; with what was found.
    """
    if path.suffix.lower() in (".yaml", ".yml"):
        raise UsageError(f"'{path}' is a site, expected the JSON of `ingest plan {path} -o plan.json`")
    try:
        data = json.loads(_content(path))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise IngestError(f"{path}:{line}: no whole JSON ({brief(str(error))}), expected what `ingest plan` wrote") from None
    lines = data.get("requirements") if isinstance(data, dict) else None
    if not isinstance(lines, list) or not lines or data.get("schema") != "ingest/1":
        found = ", ".join(list(data)[:4]) if isinstance(data, dict) else type(data).__name__
        raise IngestError(f"{path}: found {brief(found)}, expected schema 'ingest/1' and a list 'requirements'")
    return [_line(path, number, line) for number, line in enumerate(lines, start=1)]


def _content(path: Path) -> bytes:
    """The bytes of a plan; a device or a pipe would never end."""
    if path.exists() and not path.is_file():
        raise IngestError(f"{path}: is no file, expected the JSON of `ingest plan`")
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise IngestError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise IngestError(f"{path}: larger than {MOST_BYTES:,} bytes, expected the JSON of `ingest plan`")
    return raw


def _line(path: Path, number: int, line: Any) -> Requirement:
    place = f"{path}: requirement {number}"
    if not isinstance(line, dict):
        raise IngestError(f"{place}: found {brief(line)}, expected id, metric, value, unit and conditions")
    for name in WORDS:
        if not isinstance(line.get(name), str):
            raise IngestError(f"{place}: {name}: found {brief(line.get(name))}, expected text")
    place = f"{path}: {line['id']}"
    if line["priority"] not in PRIORITIES:
        raise IngestError(f"{place}: priority '{line['priority']}', expected one of {', '.join(PRIORITIES)}")
    numbers = {name: _number(line.get(name), f"{place}: {name}", name == "value") for name in ("value", "low", "high")}
    words = {name: line[name] for name in WORDS}
    return Requirement(**words, conditions=_conditions(line.get("conditions"), place), **numbers)  # type: ignore[arg-type]


def _number(found: Any, place: str, needed: bool) -> float | None:
    if found is None and not needed:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < float("inf"):
        raise IngestError(f"{place}: found {brief(found)}, expected a number from 0 in base units")
    return found


def _conditions(found: Any, place: str) -> Conditions:
    if not isinstance(found, dict) or not isinstance(found.get("operation"), str):
        raise IngestError(f"{place}: conditions: found {brief(found)}, expected an operation, such as read")
    known = Conditions.__dataclass_fields__
    for name, item in found.items():
        if name not in known:
            hint = nearest(name, known)
            raise IngestError(f"{place}: conditions: unknown '{name}', expected one of {', '.join(known)}{hint}")
        if name in ("clients", "threads", "io_size", "duration", "fill"):
            _number(item, f"{place}: conditions: {name}", needed=False)
    return Conditions(**found)
