"""What a cluster did: the result of `ingest site`, and its site file, in which a comment says where each number comes from.

What runs were of: the node type of their kind of GPU, and classes by size, by partition, or by the user's own map.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from ingest.accounting.ledger import FIRST_YEAR, PARTS, WORDS, account_of, shown_name
from ingest.accounting.runs import Array, Profile, Runs, profile, week_by_hour, window_of
from ingest.catalog.records import Gpu, Node
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import Kind, read_yaml
from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import DataFrame, envelope, frame_of
from ingest.engine.value import Quantity
from ingest.errors import IngestError, UsageError, brief
from ingest.units import display, parse


class ClassUse(NamedTuple):
    """What the runs of one class did on one cluster."""

    name: str  # of its job in the site file
    cluster: str  # its cluster there
    jobs: int  # allocations
    gpu_hours: float  # of all of them
    share: float  # of the GPU-hours of the history
    nodes: tuple[float, float, float]  # nodes of a run: the mean by GPU-hours, and the span of 90 % of them
    gpus: tuple[float, float, float]  # likewise
    concurrent: Mapping[str, float]  # GPUs in use by share of time, and the most; the mean
    lengths: tuple[float, float]  # hours of a run: median, and the length that 95 % of the runs do not exceed
    ends: Mapping[str, int]  # runs by how they ended
    #: seconds of one run to an interrupt by the system, and to any early end; None for too few
    mtti: tuple[float | None, float | None]
    starts: tuple[float, float]  # per minute, the number that 99 % of the minutes do not exceed, and the most
    #: read, written: bytes/s and GPU of the runs whose bytes are known: the mean, and the span of 90 % of their hours
    read: tuple[float, float, float] | None
    written: tuple[float, float, float] | None
    known_bytes: float  # share of its GPU-hours whose bytes are known
    job: Mapping[str, Any]  # keys of its job from the user's map


class ClusterUse(NamedTuple):
    """What ran on the GPUs of one kind."""

    name: str  # in the site file
    machine: Machine  # its node type and how that is known
    gpus: Profile  # GPUs in use over time, in parts
    nodes: Profile  # allocated nodes over time; those that runs share count for each
    size: int  # nodes that hold the most GPUs in use
    gpu_hours: float  # of all runs


@dataclass(frozen=True, repr=False, eq=False)
class Usage(InteractiveResult):
    """What a cluster did."""

    runs: Runs  # the allocations
    #: clusters, classes: what ran where
    clusters: tuple[ClusterUse, ...]
    classes: tuple[ClassUse, ...]
    results: Mapping[str, Quantity]  # quantities by name
    removed: Mapping[str, int]  # rows left out, by reason
    #: shares of GPU-hours whose kind of GPU, bytes and model are known, and of allocations that are counted
    coverage: Mapping[str, float]
    questions: Mapping[str, str]  # what the history does not tell, by place in the site file
    warnings: tuple[str, ...] = ()  # one line each
    site: str = ""  # the site file

    command = "site"
    title = "What the cluster did"

    @property
    def window(self) -> tuple[int, int]:
        """The first start and the last end."""
        return window_of(self.runs.start, self.runs.end)

    def week(self) -> Array:
        """Mean GPUs in use by day and hour of the week."""
        found: Array = week_by_hour(self.total) / PARTS
        return found

    @property
    def total(self) -> Profile:
        """GPUs in use on all clusters, in parts."""
        return profile(self.runs.start, self.runs.end, self.runs.gpus)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        classes = [
            {**{name: value for name, value in one._asdict().items() if name != "job"}, "ends": dict(one.ends)}
            for one in self.classes
        ]
        clusters = [{"name": one.name, "node": one.machine.node, "known": one.machine.known, "count": one.size,
                     "gpu_hours": one.gpu_hours} for one in self.clusters]  # fmt: skip
        body = {
            "coverage": dict(self.coverage), "removed": dict(self.removed), "read_otherwise": dict(self.runs.notes),
            "files": dict(self.runs.kinds), "clusters": clusters, "classes": classes, "questions": dict(self.questions),
        }  # fmt: skip
        return envelope(self.command, body, results=self.results, warnings=self.warnings)

    def to_frame(self) -> DataFrame:
        """One row per class."""
        return frame_of([one._asdict() for one in self.classes], index="name")


#: Column in which comments begin.
COMMENT = 44
#: How a site file begins, and what it says of the storage.
HEAD, TAIL = WORDS["site_head"], WORDS["site_tail"]
#: Rates below this are no requirement; a number of bytes without a unit is at least a thousand.
LEAST_RATE, LEAST_BYTES = 1e6, 1000


def site_text(answer: Usage) -> str:
    """The site file of a history."""
    lines = [*HEAD.splitlines(), *_coverage(answer), "", "format: 2", "name: Site from an accounting history"]
    finish = answer.window[1]
    if finish >= FIRST_YEAR:
        year = datetime.datetime.fromtimestamp(finish, datetime.UTC).year + 1
        lines += _noted(f"start: {year}", "the year after the history; year 0 of the plan")
    lines += ["years: 5", "", "clusters:"]
    for cluster in answer.clusters:
        lines += _cluster(cluster)
    lines += ["", "jobs:"]
    for one in answer.classes:
        lines += _job(one, next(each for each in answer.clusters if each.name == one.cluster))
    lines += [*TAIL.splitlines(), *_at_least(answer), ""]
    lines += _noted("questions:", "a tender waits until each is answered, and its line deleted")
    lines += [f"  {key}: {json.dumps(text, ensure_ascii=False)}" for key, text in answer.questions.items()]
    return "\n".join(lines) + "\n"


def _noted(line: str, *comments: str) -> Iterator[str]:
    """A line, and comments on it that begin in one column."""
    wrapper = textwrap.TextWrapper(132 - COMMENT, break_long_words=False, break_on_hyphens=False)
    for number, part in enumerate(part for comment in comments for part in wrapper.wrap(comment)):
        yield f"{(line + '  ' if not number else '').ljust(COMMENT)}# {part}"


def _coverage(answer: Usage) -> Iterator[str]:
    """What was counted, and what was left out."""
    begin, finish = answer.window
    results = answer.results
    files = ", ".join(f"{count:,} × {kind}" for kind, count in answer.runs.kinds.items())
    yield "#"
    yield f"# History: {days(begin)} to {days(finish)} ({(finish - begin) / 86_400:,.1f} days); {files}."
    counted = f"{len(answer.runs.key):,} allocations, {results['gpu_hours'].value:,.0f} GPU-hours"
    shares = answer.coverage
    yield f"# Counted: {counted}; {shares['allocations']:.2%} of the allocations that ran."
    known = f"kind of GPU {shares['gpu']:.1%}, bytes {shares['bytes']:.1%}, model {shares['model']:.1%}"
    yield f"# Known of the GPU-hours: {known}."
    for reason, number in answer.removed.items():
        yield f"# Left out: {number:,} × {reason}."
    for note, number in answer.runs.notes.items():
        yield f"# Read otherwise: {number:,} × {note}."
    peak = results["concurrent_gpus_max"].value
    levels = ", ".join(f"{name.upper()} {results[f'concurrent_gpus_{name}'].value:,.6g}" for name in ("p50", "p95", "p99"))
    yield f"# GPUs in use, by share of time: {levels}, at most {peak:,.6g}; mean {results['concurrent_gpus_mean'].value:,.4g}."
    starts = results["starts_per_minute_p99"].value, results["starts_per_minute_max"].value
    yield f"# Starts per minute: P99 {starts[0]:,.0f}, at most {starts[1]:,.0f}."
    if "quarterly_growth" in results:
        yield f"# GPUs in use grow {results['quarterly_growth'].value:+.1%} per quarter, fitted to all whole quarters."


def days(time: int) -> str:
    """A time as a date; of a trace that begins at zero, its day."""
    if time < FIRST_YEAR:
        return f"day {time / 86_400:.1f} of the trace"
    return datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%Y-%m-%d")


def _cluster(cluster: ClusterUse) -> Iterator[str]:
    machine, level, nodes = cluster.machine, cluster.gpus, cluster.nodes
    yield f"  {cluster.name}:"
    seen = f"runs have up to {machine.seen} GPUs on a node" if machine.seen else "nodes of the runs are not recorded"
    how = machine.how if machine.known else f"OPEN: {machine.node} stands in"
    yield from _noted(f"    node: {machine.node}", f"{how}; {seen}")
    most, usual = level.peak / PARTS, level.quantile(0.99) / PARTS
    used = f"{most:,.6g} GPUs in use at most, P99 {usual:,.6g}, in nodes of {machine.gpus_per_node:g}"
    allocated = f"nodes allocated: P99 {nodes.quantile(0.99):,.0f}, at most {nodes.peak:,.0f}; shared ones count for each run"
    yield from _noted(f"    count: {cluster.size}", used, allocated)


def _job(one: ClassUse, cluster: ClusterUse) -> Iterator[str]:
    per_node = cluster.machine.gpus_per_node
    nodes, runs, share = sizes_of(one, cluster)
    ends = ", ".join(f"{count:,} {word}" for word, count in one.ends.items())
    yield f"  {one.name}:"
    hours = f"{one.gpu_hours:,.0f} GPU-hours in {one.jobs:,} runs: {one.share:.1%} of the hours"
    lengths = (
        f"runs last {display(one.lengths[0] * 3600, 's')} (median), {display(one.lengths[1] * 3600, 's')} (P95); ended: {ends}"
    )
    named = json.dumps(one.cluster) if one.cluster.replace("_", "").isdigit() else one.cluster
    yield from _noted(f"    cluster: {named}", hours, lengths)
    size = f"GPUs of a run: {one.gpus[0]:,.4g} on average by GPU-hours, 90 % of them {one.gpus[1]:,.4g} to {one.gpus[2]:,.4g}"
    packed = (f"packed on whole nodes of {per_node:g} GPUs",) if one.gpus[2] < per_node else ()
    yield from _noted(f"    nodes: {nodes}", size, *packed)
    levels = one.concurrent
    used = ", ".join(
        f"{name.upper() if name != 'max' else 'maximum'} {levels[name]:,.6g}" for name in ("p50", "p95", "p99", "max")
    )
    yield from _noted(f"    runs: {_flow(runs)}", f"GPUs of the class in use: {used}")
    yield from _noted(f"    share: {share}", f"{levels['mean']:,.4g} GPUs in use on average, over those of these runs")
    starts = max(1, math.ceil(one.starts[0] * one.gpus[0] / per_node / nodes))
    if starts < runs["typical"]:
        yield from _noted(f"    starts: {starts}", f"starts per minute: P99 {one.starts[0]:,.0f}, at most {one.starts[1]:,.0f}")
    if one.read is not None and not one.job.keys() & {"model", "samples_per_second"}:
        yield from _noted("    samples_per_second: 1", "one sample stands for what a GPU reads in a second")
        mean, low, high = (max(round(value), LEAST_BYTES) for value in one.read)
        covered = f"bytes/s of a GPU over whole runs, mean and 90 % of the GPU-hours; {one.known_bytes:.1%} of them have bytes"
        yield from _noted(f"    sample_bytes: {_flow({'low': low, 'typical': mean, 'high': high})}", covered)
    if one.written is not None and one.written[0] > 0:
        each, total = (display(rate, "B/s", binary=False) for rate in (one.written[0], one.written[0] * levels["p99"]))
        yield from _noted("    # checkpoint:", f"a GPU writes {each} on average, those of the P99 {total}")
    system, early = one.mtti
    if system is not None or early is not None:
        ended = {"an end by the system": system, "any early end, failures included": early}
        words = ", ".join(f"{display(value, 's')} to {what}" for what, value in ended.items() if value)
        yield from _noted(
            f"    # checkpoint: mtti: {math.floor((system or early or 0) / 60)} min", f"mean time of a run: {words}"
        )
    for key, value in one.job.items():
        yield from _noted(f"    {key}: {json.dumps(value, ensure_ascii=False)}", "from --classes")


def sizes_of(one: ClassUse, cluster: ClusterUse) -> tuple[int, Mapping[str, int], str]:
    """Whole nodes of a run, concurrent runs, and the share of the time, whose product is the mean of the GPUs in use."""
    per_node = cluster.machine.gpus_per_node
    nodes = min(max(1, round(one.gpus[0] / per_node)), max(cluster.size, 1))
    each = nodes * per_node
    most = max(cluster.size // nodes, 1)
    low, typical, high = (min(max(1, math.ceil(one.concurrent[name] / each - 1e-9)), most) for name in ("p95", "p99", "max"))
    share = min(one.concurrent["mean"] / (typical * each), 1.0)
    return nodes, {"low": low, "typical": typical, "high": high}, f"{max(math.floor(share * 1e4) / 100, 0.01):g}%"


def _flow(span: Mapping[str, Any]) -> str:
    """A span as YAML; one number where it has no width."""
    if len({*span.values()}) == 1:
        return str(span["typical"])
    return "{" + ", ".join(f"{name}: {value}" for name, value in span.items()) + "}"


def _at_least(answer: Usage) -> Iterator[str]:
    """The aggregate rates that were measured, as the least that is bought."""
    found = {
        key: measured.value
        for key, way in (("read", "read"), ("write", "written"))
        if (measured := answer.results.get(f"concurrent_{way}_bandwidth_p99")) is not None and measured.value >= LEAST_RATE
    }
    if found:
        yield from _noted("  at_least:", "means over whole runs: peaks within a run are higher")
        share = f"P99 over time of all runs together; {answer.coverage['bytes']:.1%} of the GPU-hours have bytes"
        for key, rate in found.items():
            yield from _noted(f"    {key}: {math.ceil(rate / 1e6)} MB/s", share)
        yield "    because: aggregate of the accounting history"


#: Classes by size: the most nodes that a run of each has.
SIZES = {"1-node": 1, "2-4-nodes": 4, "5-16-nodes": 16, "17-64-nodes": 64, "65-256-nodes": 256}
SMALL = ("no-gpu", "part-gpu", "1-gpu", "part-node")
LARGEST = "over-256-nodes"
BY_SIZE, BY_PARTITION = "size", "partition"
#: Keys of a class that choose its runs; all others are keys of a job of the site file.
CHOOSING = ("partition", "account", "gpus", "nodes", "duration")
#: Keys of a job that the history gives.
GIVEN = ("cluster", "runs", "share")
FILE = Kind("a file of classes, by name: partition, account, gpus, nodes or duration, and keys of a job", "plan --new")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_HASH = re.compile(r"[0-9a-f]{12}")
LONGEST_NAME = 63


class Rule(NamedTuple):
    """A class of the user's map."""

    name: str  # of the class
    partition: str  # pattern of the partition; empty for any
    account: str  # hash of the account; empty for any
    spans: Mapping[str, tuple[float, float]]  # lowest and highest value by `gpus`, `nodes`, `duration`
    job: Mapping[str, Any]  # further keys of its job in the site file


class Classes(NamedTuple):
    """How runs are parted: by `size`, by `partition`, or by the rules of a map and what these leave by size."""

    by: str = BY_SIZE
    rules: tuple[Rule, ...] = ()

    @property
    def asked(self) -> dict[str, bool]:
        """Whether accounts and partitions tell the class of a run: names that a part holds for no other purpose."""
        partitions = self.by == BY_PARTITION or any(rule.partition for rule in self.rules)
        return {"accounts": any(rule.account for rule in self.rules), "partitions": partitions}


def read_classes(written: str | Path | None) -> Classes:
    """The classes: a word, or the file of a map.

    Raises:
        IngestError: a file that cannot be read.
        UsageError: a class that chooses nothing, or a span that is none.
    """
    if written is None or str(written) in (BY_SIZE, BY_PARTITION):
        return Classes(str(written or BY_SIZE))
    found = read_yaml(Path(written), kind=FILE)
    if not isinstance(found, Mapping) or not found:
        raise UsageError(f"--classes: {written} holds no class, expected {FILE.name}; or {BY_SIZE}, {BY_PARTITION}")
    return Classes("map", tuple(_rule(str(name), keys, str(written)) for name, keys in found.items()))


def _rule(name: str, keys: Any, place: str) -> Rule:
    if not _NAME.fullmatch(name):
        raise UsageError(f"--classes: {place}: class {brief(name)}, expected letters, digits, - and _")
    if not isinstance(keys, Mapping) or not keys.keys() & {*CHOOSING}:
        raise UsageError(f"--classes: {place}: {name} chooses no runs, expected one of {', '.join(CHOOSING)}")
    for key in GIVEN:
        if key in keys:
            raise UsageError(f"--classes: {place}: {name}.{key} follows from the history, expected no such key")
    for key in CHOOSING[:2]:
        if not isinstance(keys.get(key, ""), (str, int)):
            raise UsageError(f"--classes: {place}: {name}.{key}: found {brief(keys[key])}, expected one text")
    spans = {key: _span(keys[key], key, f"--classes: {place}: {name}.{key}") for key in CHOOSING[2:] if key in keys}
    account = str(keys.get("account") or "")
    hashed = account if _HASH.fullmatch(account) or not account else account_of(account)
    job = {key: value for key, value in keys.items() if key not in CHOOSING}
    return Rule(name, str(keys.get("partition") or ""), hashed, spans, job)


def _span(written: Any, key: str, place: str) -> tuple[float, float]:
    """The lowest and the highest value of `8`, `8..64`, `64..` or `..64`; a duration with its unit."""
    low, dots, high = str(written).partition("..")
    unit = "s" if key == "duration" else "1"
    ends = [parse(end.strip(), unit, place) if end.strip() else None for end in ((low, high) if dots else (low, low))]
    least, most = (0.0 if ends[0] is None else ends[0]), (float("inf") if ends[1] is None else ends[1])
    if ends == [None, None] or least > most:
        raise UsageError(f"{place}: found {brief(written)}, expected such as 8, 8..64, 64.. or ..64")
    return least, most


def class_of_each(runs: Runs, classes: Classes, per_node: Array) -> tuple[list[str], Array]:
    """The names of the classes, and the place among them of each run; `per_node` are the GPUs of a node of its cluster."""
    sizes, place = by_size(runs.gpus, per_node)
    names = list(sizes)
    if classes.by == BY_PARTITION:
        names, by_group = partitions(runs)
        return names, by_group[runs.group] if len(runs.group) else place
    place = place + len(classes.rules)
    values = {"gpus": runs.gpus / PARTS, "nodes": runs.nodes, "duration": runs.seconds}
    for at, rule in reversed([*enumerate(classes.rules)]):
        named = [not rule.partition or fnmatchcase(group.partition, rule.partition) for group in runs.groups]
        fitting = numpy.array(
            [fits and rule.account in ("", group.account) for fits, group in zip(named, runs.groups, strict=True)] or [False]
        )
        chosen = fitting[runs.group] if len(runs.group) else numpy.zeros(0, bool)
        for key, (least, most) in rule.spans.items():
            chosen &= (values[key] >= least) & (values[key] <= most)
        place = numpy.where(chosen, at, place)
    return [*(rule.name for rule in classes.rules), *names], place


def by_size(gpus: Array, per_node: Array) -> tuple[Sequence[str], Array]:
    """The names of the classes by size, and the place among them of each run."""
    nodes = gpus / PARTS / per_node
    names = (*SMALL, *SIZES, LARGEST)
    steps = numpy.searchsorted([*SIZES.values()], nodes - 1e-9, "left") + len(SMALL)
    place = numpy.where(nodes < 1 - 1e-9, 3, steps)
    place = numpy.where(gpus == PARTS, numpy.where(per_node > 1, 2, place), place)
    place = numpy.where(gpus < PARTS, 1, place)
    return names, numpy.where(gpus == 0, 0, place)


def partitions(runs: Runs) -> tuple[list[str], Array]:
    """A class for each partition, and the class of each group; a name that may be anything is numbered instead."""
    every = {name: place for place, name in enumerate(sorted({group.partition for group in runs.groups}))}
    plain, hidden = (re.sub(r"[^A-Za-z0-9_-]", "-", shown_name(name)) for name in every), count(1)
    names = distinct(shown or f"partition-{next(hidden)}" for shown in plain)
    return names, numpy.array([every[group.partition] for group in runs.groups] or [0])


def distinct(names: Iterable[str]) -> list[str]:
    """Names that a site file may have, each once: of those that are alike the later ones have a number."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name[: LONGEST_NAME - 5]}-{number}" for number in count(2))
        found.append(next(one for one in chain([name[:LONGEST_NAME]], numbered) if one not in found))
    return found


#: The node type that stands for one whose kind of GPU is not known.
STAND_IN = "dgx-h100"
#: What vendors write before the name of a GPU.
_VENDOR = re.compile(r"^(nvidia|tesla|amd|instinct|geforce)[-_ ]+", re.IGNORECASE)


class Machine(NamedTuple):
    """A node type."""

    gpu: str  # the kind of GPU as it may be shown; empty where none is known
    node: str  # id of the node type
    gpus_per_node: float  # of that node type
    known: bool  # whether the history, or the user, tells it
    seen: int  # the most GPUs that runs have on one node
    how: str  # where it comes from, in words


def machine_of(runs: Runs, kind: tuple[str, str], catalog: Catalog, node: str | None = None) -> Machine:
    """The node type of the runs of one kind, a cluster and a GPU as the scheduler calls them; the user may name the `node`."""
    # The most GPUs that a run has on each of its nodes.
    told = runs.nodes > 0
    seen = int(numpy.ceil(runs.gpus[told] / PARTS / runs.nodes[told]).max(initial=0))
    if node is not None:
        found = catalog.get(Node, node)
        return Machine(shown_name(kind[1]), found.id, found.gpus_per_node.value, True, seen, "--node")
    card = next(_cards(kind[1], catalog), None)
    if card is not None:
        nodes = [catalog.get(Node, one) for one in catalog.ids(Node.kind)]
        fitting = [one for one in nodes if one.gpu == card.id and one.gpus_per_node.value == seen]
        usual = catalog.get(Node, card.usual_node) if card.usual_node else None
        chosen: Node | None = None
        if usual is not None and (usual.gpus_per_node.value >= seen or not fitting):
            # Whether most runs on several nodes have that many GPUs on each.
            several = runs.nodes > 1
            each, counts = numpy.unique(runs.gpus[several] // PARTS // runs.nodes[several], return_counts=True)
            regular = seen > 1 and bool(len(each)) and int(each[counts.argmax()]) == seen
            wide = [one for one in fitting if regular and usual.gpus_per_node.value != seen]
            chosen = wide[0] if wide else usual
        elif fitting:
            chosen = fitting[0]
        if chosen is not None:
            how = f"usual node of {card.id}" if chosen is usual else f"node of {card.id} with {seen} GPUs"
            return Machine(card.id, chosen.id, chosen.gpus_per_node.value, True, seen, how)
    name = shown_name(kind[1]) if card is None else card.id
    return Machine(name, STAND_IN, catalog.get(Node, STAND_IN).gpus_per_node.value, False, seen, "stands in")


def _cards(name: str, catalog: Catalog) -> Iterator[Gpu]:
    """The GPUs of the catalog that a name may mean, the longest part of it first: `nvidia_h100_80gb_hbm3` is an H100."""
    words = [word for word in re.split(r"[-_ ]+", _VENDOR.sub("", name.strip().lower())) if word]
    for length in range(len(words), 0, -1):
        for mark in ("-", "_", ""):
            try:
                yield catalog.get(Gpu, mark.join(words[:length]))
            except IngestError:
                continue
