"""`make fuzz`: relations that hold between answers, whatever the answers are.

    PYTHONPATH=tests python -m fuzz.relations --seed 7 --count 3000

Order decides nothing, nor do names; a removed job raises no line; everything twice doubles the sums; a default that is stated
changes nothing; a unit has several spellings and is never guessed; every form of an answer holds the same numbers; low, typical
and high come in this order; more GPUs never need less.
"""

import argparse
import copy
import csv
import io
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from conftest import clean_environment, in_process
from openpyxl import load_workbook

import ingest
from ingest.engine.question import Argument, arguments_of
from ingest.engine.registry import unit_of
from ingest.errors import IngestError, UsageError
from ingest.reports.labels import plain
from ingest.site import schema
from ingest.units import needs_unit, parse, physical

Scenario = dict[str, Any]
#: the relation that does not hold, and what was found
Finding = tuple[str, str]
#: Numbers that differ by less differ by the order of their sums alone.
ROUNDED = 1e-9
MODELS = ("resnet50", "unet3d", "cosmoflow", "retinanet", "deepcam", "bert-large", "dlrm-dcnv2", "llama3-8b", "llama3-70b")
LLMS = ("llama3-8b", "llama3-70b", "mixtral-8x7b", "gpt-oss-20b", "deepseek-v3", "gemma3-27b", "nemotron-3-nano")
GPUS = ("h100", "a100-80-sxm", "b200", "v100-sxm2", "mi300x")
NODES = ("dgx-h100", "dgx-a100", "dgx-b200")
#: Lines that are sums over jobs and data sets.
SUMS = ("R-META-03", "R-CAP-01", "R-WRITE-03", "R-END-01")
#: Guidance is a target where the workload needs less than it: with fewer jobs it may apply where it did not.
OF_GUIDANCE = "R-GUIDE"
#: A stated default that help or a schema names: a number, or a number in words.
BY_DEFAULT = re.compile(r"(?:^|[;,:] )((?:[\d.]|half\b|none\b|all of it\b)[^;,:]*?) by default(?=[.;]|$)")
IN_WORDS = {"half": "0.5", "none": "0 s", "all of it": "1"}
GROWING = yaml.safe_load(Path(__file__).with_name("growing.yaml").read_text(encoding="utf-8"))
#: What an answer says of an option that it does not use.
UNUSED = "changes nothing here"


def site(chance: random.Random) -> Scenario:
    """A site of two clusters, a few data sets and jobs that share them."""
    clusters = {name: {"node": chance.choice(NODES), "count": chance.choice((64, 128, 500))} for name in ("c0", "c1")}
    datasets = {f"d{place}": _dataset(chance) for place in range(chance.randint(1, 4))}
    counted = [name for name, one in datasets.items() if {"samples", "model"} & one.keys()]
    jobs = {f"j{place}": _job(chance, list(datasets), counted) for place in range(chance.randint(2, 5))}
    found: Scenario = {"name": "drawn", "years": chance.choice((0, 0, 3)), "clusters": clusters}
    found |= {"datasets": datasets, "jobs": jobs}
    if chance.random() < 0.6:
        found["floor"] = "none"
    if chance.random() < 0.3:
        found["growth"] = {"capacity": 1.5, "bandwidth": chance.choice((1, 2)), "every": "1 year"}
    return found | {"storage": {"protection": {"data": 8, "parity": 2}, "fill_limit": chance.choice(("80%", "0.9"))}}


def _dataset(chance: random.Random) -> Scenario:
    amount, size = chance.randint(1, 999), f"{chance.randint(1, 900)} kB"
    made: Scenario = chance.choice(
        (
            {"bytes": f"{amount} GB"},
            {"bytes": f"{amount} TB", "file_bytes": f"{amount} MB"},
            {"samples": amount * 10**5, "sample_bytes": size},
            {"samples": amount * 10**5, "sample_bytes": size, "samples_per_file": chance.choice((1, 100))},
            {"tokens": f"{amount}B", "bytes_per_token": 4},
            {"model": chance.choice(("resnet50", "unet3d", "cosmoflow"))},
        )
    )
    for key, draw in (
        ("copies", lambda: chance.randint(1, 3)),
        ("growth", lambda: {"capacity": chance.choice((1, 1.4)), "every": "2 years"}),
        ("refresh", lambda: "30 days"),
    ):
        if chance.random() < 0.2:
            made[key] = draw()
    return made


def _job(chance: random.Random, datasets: list[str], counted: list[str]) -> Scenario:
    job: Scenario = {"cluster": chance.choice(("c0", "c1")), "nodes": chance.randint(1, 8), "data": chance.choice(datasets)}
    if chance.random() < 0.6:
        job["model"] = chance.choice(MODELS)
    else:
        job |= {"samples_per_second": chance.choice((0.3, 20, 2000)), "sample_bytes": f"{chance.randint(100, 5000)} kB"}
    placements = ({"mode": "stage", "within": "10 min"}, {"mode": "cache"}, {"mode": "cache", "hit": "50%"})
    saved: Scenario = {"mode": chance.choice(("sync", "async")), "parameters": f"{chance.randint(1, 70)}B", "mtti": "12 h"}
    for key, draw in (
        ("runs", lambda: chance.randint(1, 4)),
        ("share", lambda: chance.choice(("50%", "100%"))),
        ("epochs", lambda: chance.randint(1, 30)),
        ("placement", lambda: chance.choice(placements)),
        ("start", lambda: {"bytes": "7 GB", "files": chance.randint(1, 40_000)}),
        ("evaluation", lambda: {"bytes": "1 TB", "within": "60 s"}),
        ("io_size", lambda: chance.choice(("128 KiB", "1 MiB"))),
        ("pattern", lambda: chance.choice(("random", "sequential"))),
        ("checkpoint", lambda: saved | chance.choice(({}, {"interval": "30 min"}, {"waste": "8%"}))),
    ):
        if chance.random() < 0.25 and (key != "epochs" or job["data"] in counted):
            job[key] = draw()
    return job


def lines(described: Scenario | str | Path, samples: int = 0) -> dict[str, Any]:
    """The lines of a plan: number and load; with the load by its clients alone, because groups have names."""
    plan = ingest.plan(described, samples=samples)
    loads = ("operation", "pattern", "clients", "threads", "io_size", "queue_depth", "duration", "fill")
    return {
        one.id: (plan.computed.get(one.id), tuple(getattr(one.conditions, name) for name in loads)) for one in plan.requirements
    }


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in {**before, **after}:
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        if one is None or other is None or one[1:] != other[1:] or not _close(one[0], other[0]):
            yield f"{name}: {one} and {other}"


def _close(one: Any, other: Any) -> bool:
    return one == other or (None not in (one, other) and math.isclose(one, other, rel_tol=ROUNDED))


def of_site(chance: random.Random) -> Iterator[Finding]:
    """What does not hold of a drawn site."""
    drawn = site(chance)
    try:
        before = lines(drawn)
    except IngestError:
        return
    for what, changed in (
        ("order", _shuffled(chance, drawn)),
        ("names", _renamed(chance, drawn)),
        ("units", _respelled(drawn)),
    ):
        yield from ((what, found) for found in _differences(before, lines(changed)))
    less = copy.deepcopy(drawn)
    gone = chance.choice([*less["jobs"]])
    del less["jobs"][gone]
    for name, (value, *_) in lines(less).items():
        most = before.get(name, (0,))[0] or 0
        if not name.startswith(OF_GUIDANCE) and value is not None and value > most * (1 + ROUNDED):
            yield "removal", f"{name} without {gone}: {most} and {value}"
    twice = lines(_twice(drawn))
    for name in SUMS:
        if name in before and drawn.get("floor") == "none" and not _close(2 * before[name][0], twice[name][0]):
            yield "doubling", f"{name}: {before[name][0]} and {twice[name][0]}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.yaml"
        for keys, value in chance.sample(found := [*_unstated(drawn)], min(4, len(found))):
            path.write_text(yaml.safe_dump(_with(drawn, keys, value), sort_keys=False), encoding="utf-8")
            yield from ((f"explicit {'.'.join(keys)} = {value}", found) for found in _differences(before, lines(path)))


def _shuffled(chance: random.Random, drawn: Scenario) -> Scenario:
    def mixed(table: Mapping[str, Any]) -> dict[str, Any]:
        items = list(table.items())
        chance.shuffle(items)
        return dict(items)

    return {**drawn, **{name: mixed(drawn[name]) for name in ("clusters", "datasets", "jobs")}}


def _renamed(chance: random.Random, drawn: Scenario) -> Scenario:
    names = {name: f"{chance.choice('zyxwv')}{place}" for place, name in enumerate((*drawn["clusters"], *drawn["datasets"]))}
    found = {**drawn, "jobs": {}}
    for table in ("clusters", "datasets"):
        found[table] = {names[name]: one for name, one in drawn[table].items()}
    for place, one in enumerate(drawn["jobs"].values()):
        found["jobs"][f"{chance.choice('zyx')}{place}"] = {**one, "cluster": names[one["cluster"]], "data": names[one["data"]]}
    return found


def _twice(drawn: Scenario) -> Scenario:
    found = copy.deepcopy(drawn)
    for table in ("clusters", "datasets", "jobs"):
        found[table] |= {f"{name}x": copy.deepcopy(one) for name, one in drawn[table].items()}
    for name, one in drawn["jobs"].items():
        found["jobs"][f"{name}x"] |= {"cluster": f"{one['cluster']}x", "data": f"{one['data']}x"}
    return found


def _respelled(node: Any, place: Mapping[str, Any] | None = None) -> Any:
    """A site whose quantities with a unit are written in base units."""
    place = schema.schema() if place is None else place
    if isinstance(node, dict):
        return {key: _respelled(one, schema.below(place, key) or {}) for key, one in node.items()}
    if isinstance(node, str) and "x-quantity" in place and re.search("[A-Za-z]", node):
        unit = unit_of(place["x-quantity"])
        return f"{parse(node, unit, '')!r} {physical(unit)}".removesuffix(" 1")
    return node


def _unstated(drawn: Scenario) -> Iterator[tuple[tuple[str, ...], str]]:
    """The keys that a site leaves out whose defaults the schema states, with them."""

    def below(place: Mapping[str, Any], node: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        for key, written in place.get("properties", {}).items():
            inner = schema.resolved(written)
            stated = BY_DEFAULT.search(inner.get("description", ""))
            if stated and isinstance(node, dict) and key not in node and "x-quantity" in inner:
                yield (*keys, key), IN_WORDS.get(stated[1], stated[1])
            if isinstance(node, dict) and isinstance(node.get(key), dict):
                yield from below(inner, node[key], (*keys, key))
        if isinstance(place.get("additionalProperties"), dict):
            for key, one in node.items() if isinstance(node, dict) else ():
                yield from below(schema.resolved(place["additionalProperties"]), one, (*keys, key))

    for keys, value in below(schema.schema(), drawn, ()):
        if keys[-1] not in ("prepare_within", "starts", "passes", "by"):
            yield keys, value


def _with(drawn: Scenario, keys: tuple[str, ...], value: str) -> Scenario:
    found = copy.deepcopy(drawn)
    node = found
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    return found


def question(chance: random.Random) -> tuple[str, Scenario]:
    """A command with options, as Python takes them."""

    def some(**options: Any) -> Scenario:
        return {name: value for name, value in options.items() if chance.random() < 0.35}

    gpus, llm = chance.choice((8, 64, 512, 1024)), chance.choice(LLMS)
    saving = some(
        mtti=f"{chance.randint(2, 90)} h", interval=f"{chance.randint(5, 60)} min", mode="sync", waste="6%", keep=2,
        write_bandwidth="50 GB/s", restart_time="5 min", drain_time="90 s", drain_fraction=0.2, zero_stage=1,
    )  # fmt: skip
    if {"waste", "write_bandwidth"} <= saving.keys():
        del saving["waste"]
    asked: dict[str, Scenario] = {
        "bw": {"model": chance.choice(MODELS), "gpu": chance.choice(GPUS)}
        | some(nodes=chance.randint(1, 64), utilization=0.9, sample_bytes="300 kB", cache_hit=0.3, scaling="linear"),
        "checkpoint": {"model": llm, "gpus": gpus, **saving},
        "dataset": chance.choice(({"tokens": "3T"}, {"samples": 1_280_000, "sample_bytes": "114 kB"}))
        | some(copies=2, epochs=3, copy_bandwidth="5 GB/s", copy_files=1000, shard_size="256 MB"),
        "feed": {"model": chance.choice(MODELS[:3]), "gpu": "h100", "steps": 20}
        | some(workers=8, latency="8 ms", latency_cv=0.5, read_bandwidth="20 GB/s", decode_time="2 ms", epochs=2),
        "fit": {"read_bandwidth": f"{chance.randint(1, 900)} GB/s"}
        | some(write_bandwidth="20 GB/s", capacity="2 PB", io_size="128 KiB", degraded=True),
        "goodput": {"model": llm, "gpus": gpus, "runs": 3, **saving} | some(duration="20 days", spares=2, near_recovery=0.5),
        "memory": {"model": llm} | some(gpus=gpus, sequence_length=8192, micro_batch=2, zero_stage=2, recompute="full"),
        "model": {"source": llm} | some(sequence_length=16384, precision="fp8"),
        "offload": {"model": llm, "gpus": 8}
        | chance.choice(({}, {"inference": True}, {"inference": True, "users": 50, "turns": 3, "turn_time": "30 s"})),
        "train": {"model": llm, "gpu": "h100", "gpus": gpus, "tokens": "1T", **{**saving, "keep": None}} | some(stall=0.1),
    }
    name = chance.choice([*asked])
    return name, {option: value for option, value in asked[name].items() if value is not None}


def _options(name: str) -> dict[str, Argument]:
    return arguments_of(getattr(import_module(ingest._PLACES[name]), name))


def _answered(name: str, options: Scenario) -> Any:
    return getattr(ingest, name)(**options)


def _quantities(answer: Any) -> dict[str, Any]:
    return {key: one for key, one in answer.results.items() if hasattr(one, "value")}


def numbers_of(answer: Any) -> dict[str, tuple[float, ...]]:
    """The results with their ranges, what is not met, and the cautions but for those on options that nothing depends on."""
    found = {key: (one.value, one.low, one.high) for key, one in _quantities(answer).items()}
    if not found:  # systems that fit, each with its own results
        found = {key: (json.dumps(one, sort_keys=True),) for key, one in answer.to_dict()["results"].items()}
    cautions = sorted(str(line) for line in answer.warnings if UNUSED not in line)
    return {**found, "unmet": getattr(answer, "unmet", ""), "cautions": (tuple(cautions),)}  # type: ignore[dict-item]


def stated_defaults(name: str) -> Iterator[tuple[str, Any]]:
    """The options of a command whose help states what holds without them, and that."""
    for option, one in _options(name).items():
        if one.declared is None:
            continue
        if one.default not in (None, (), False):
            yield option, one.default
        elif re.search(r"\{default\} by default(?=[.;])", one.declared.help):
            yield option, one.declared.default_text


def of_command(chance: random.Random) -> Iterator[Finding]:
    """What does not hold of a drawn question."""
    name, options = question(chance)
    asked = f"{name} {options}"
    try:
        answer = _answered(name, options)
    except IngestError:
        return
    before = numbers_of(answer)
    for option, value in stated_defaults(name):
        if option in options or chance.random() < 0.5:
            continue
        try:
            after = numbers_of(_answered(name, {**options, option: value}))
        except UsageError as error:
            if "found with" not in str(error) and "expected one of them" not in str(error):
                yield "explicit", f"{asked}: {option}={value}: {error}"
            continue
        if after != before:
            yield "explicit", f"{asked}: {option}={value}: {_first(before, after)}"
    declared = {option: one.declared for option, one in _options(name).items() if one.declared and one.declared.quantity}
    written = {option: value for option, value in options.items() if option in declared and isinstance(value, str)}
    for option, value in written.items():
        unit = unit_of(declared[option].quantity)
        spelled = f"{parse(value, unit, '')!r} {physical(unit)}".removesuffix(" 1")
        if (after := numbers_of(_answered(name, {**options, option: spelled}))) != before:
            yield "units", f"{asked}: {option}={spelled}: {_first(before, after)}"
        bare = re.match(r"[\d.]+", value)
        if bare and needs_unit(float(bare[0]), unit):
            try:
                _answered(name, {**options, option: bare[0]})
                yield "units", f"{asked}: {option}={bare[0]} is taken without a unit"
            except UsageError:
                pass
    for key, one in _quantities(answer).items():
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        if not low * (1 - ROUNDED) <= one.value <= high * (1 + ROUNDED):
            yield "range", f"{asked}: {key}: {low}, {one.value}, {high}"
    for option, given, keys in GROWING.get(name, ()):
        try:
            less, more = (numbers_of(_answered(name, {**given, **options, option: times * given[option]})) for times in (1, 2))
        except IngestError:
            continue
        for key in {*keys} & less.keys() & more.keys():
            # More tokens may be trained in larger steps, whose rate is higher.
            rates = [found["samples_per_second_per_gpu"][0] if key == "gpu_hours" else 1 for found in (less, more)]
            one, two = less[key][0] * rates[0], more[key][0] * rates[1]
            if two < one * (1 - ROUNDED) or (key == "gpu_hours" and not _close(two, 2 * one)):
                yield "monotone", f"{asked}: {key} of twice {option} = {given[option]}: {one} and {two}"
    if chance.random() < 0.1 and name != "fit":
        yield from ((found[0], f"{asked}: {found[1]}") for found in _forms(name, options, answer))


def _first(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return next(
        f"{key}: {before.get(key)} and {after.get(key)}" for key in {**before, **after} if before.get(key) != after.get(key)
    )


def _forms(name: str, options: Scenario, answer: Any) -> Iterator[Finding]:
    """Where the forms in which the command prints an answer differ from what Python has."""
    words = [name]
    for option, value in options.items():
        shown = f"--{option.replace('_', '-')}"
        words += [str(value)] if option == "source" else [shown] if value is True else [shown, str(value)]
    with tempfile.TemporaryDirectory() as folder:
        for form, (read, within) in FORMS.items():
            path = Path(folder) / f"out.{form}"
            written = in_process([*words, "-v", *([] if form == "txt" else ["-o", str(path)])], folder, clean_environment())
            if written.code not in (0, 3):
                return  # a result that the command needs is missing
            found = read(written.out if form == "txt" else path)
            for key, one in answer.results.items():
                cells = found.get(key, found.get(plain(key), () if form in OF_SOME else (math.nan,)))
                if cells and not any(_same(cell, one, within) for cell in cells):
                    yield "forms", f"{form}: {key}: {cells} and {one.value}"


def _same(cell: Any, one: Any, within: float) -> bool:
    """Whether a number or a text with its unit is the value of a result."""
    if isinstance(cell, str):
        number = re.sub(r"^below |,| (times|per node)$", "", cell)
        try:
            cell = min(one.value, parse(number, one.unit, "")) if cell.startswith("below") else parse(number, one.unit, "")
        except IngestError:
            return False
    return cell is not None and math.isclose(cell, one.value, rel_tol=within, abs_tol=ROUNDED)


def _json(path: Path) -> dict[str, Sequence[Any]]:
    return {key: (one["value"],) for key, one in json.loads(path.read_text(encoding="utf-8"))["results"].items()}


def _csv(path: Path) -> dict[str, Sequence[Any]]:
    rows = [row for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))) if row]
    return {row[0]: [float(cell) for cell in row if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", cell)] for row in rows}


def _xlsx(path: Path) -> dict[str, Sequence[Any]]:
    """Base values by label, as the writer left them beside their formulas."""
    return {row[0]: (row[7],) for row in load_workbook(path, data_only=True)["Results"].iter_rows(min_row=2, values_only=True)}


def _text(page: str) -> dict[str, Sequence[Any]]:
    """The cells that follow a label in the table for people, without the binary reading in brackets."""
    cut = (re.split(r" {2,}", re.sub(r" \([^)]*\)", "", line.strip())) for line in page.splitlines())
    return {row[0]: row[1:2] for row in reversed([*cut]) if len(row) > 1}


#: Each form: how it is read, and by which share a number may differ: people read four digits, and shares in three.
FORMS = {"json": (_json, ROUNDED), "csv": (_csv, 1e-6), "xlsx": (_xlsx, ROUNDED), "txt": (_text, 6e-3)}
#: Forms that may leave a result out.
OF_SOME = ("csv", "txt")


def run(seed: int, count: int, seconds: float) -> tuple[Counter[str], dict[str, str]]:
    """Hold the relations against drawn scenarios; returns how often each was broken, and the first case of each."""
    times: Counter[str] = Counter()
    first: dict[str, str] = {}
    until = time.monotonic() + seconds
    for index in range(count):
        if time.monotonic() > until:
            break
        chance = random.Random(f"relations/{seed}/{index}")
        of = of_site if chance.random() < 0.4 else of_command
        times["scenarios"] += 1
        for what, found in of(chance):
            times[what] += 1
            first.setdefault(what, f"index {index}: {found}")
    return times, first


def main() -> int:
    """Run what the options ask for; the exit code is 1 if a relation does not hold."""
    parser = argparse.ArgumentParser(prog="fuzz.relations", description="Relations that hold between answers.")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    chosen = parser.parse_args()
    times, first = run(chosen.seed, chosen.count, chosen.seconds)
    print(f"seed {chosen.seed}: {times.pop('scenarios', 0):,} scenarios, {sum(times.values())} findings")
    for what, found in first.items():
        print(f"  {times[what]:5} {what}: {found[:600]}")
    return 1 if first else 0


if __name__ == "__main__":
    sys.exit(main())
