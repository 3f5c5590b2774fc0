"""The errors of the product over time, before it held the data and after: `catalogs/published/history.csv`, and as Parquet.

`python docs/accuracy_history.py` writes both anew. `kind` states how the figures of a row came about (`KINDS` of the evidence
ladder). All but those `left out` follow from the commits of this repository up to `THROUGH`, which a release moves forward.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv
import pyarrow.parquet
import yaml
from common import CATALOG, ROOT, table

from ingest.catalog.records import Protocol
from ingest.reports.charts.chart import DARK, HEIGHT, LIGHT, SIGNAL, Chart, channel, layer, made, plot
from ingest.sizing.evidence_ladder import ALL, HISTORY, KINDS, PastError, past_errors
from ingest.validation import validate
from ingest.version import __version__

TABLE = ROOT / "catalogs" / "published" / HISTORY
PARQUET = TABLE.with_suffix(".parquet")
#: The commit up to which the history is read.
THROUGH = "0ecc439b"
#: Levels that answer for an unseen rate of a training run.
LEVELS = ("measured", "transferred", "efficiency")
#: Sets that `validate` computes with figures withheld.
LEFT_OUT = ("rounds", "scaling", "transfer", "transfer-pairs")
VERSION = re.compile(r'^__version__ = "(.+)"', re.MULTILINE)
#: What runs inside a product of former days: published cases one by one, and rates of training runs by level.
ASK = """
import json, sys
from pathlib import Path
import ingest, yaml
asked, found = json.load(sys.stdin), []
for name, cases in asked["sets"].items():
    path = Path("catalogs/published", name + ".yaml")
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    for groups in [[one] for one in whole.get("cases", [])] or [None]:
        if groups and str(groups[0]["id"]) not in cases:
            continue
        path.write_text(yaml.safe_dump({**whole, "cases": groups} if groups else whole), encoding="utf-8")
        try:
            details = ingest.validate(name).to_dict()["sets"][0]["details"]
        except Exception:
            continue
        for one in details:
            called = one["within"] and "fits" in (groups or [{}])[0]  # a layout that is called rightly has no error
            if one["id"] in cases:
                found.append([name, 0 if called else abs(one["ours"] / one["expected"] - 1), one["within"], 1])
for cell in asked["cells"]:
    *words, protocol, nodes, each, rate = cell
    for level in asked["levels"]:
        answer = None
        for known in ({"protocol": protocol}, {}):
            try:
                given = dict(zip(("model", "gpu", "precision"), words))
                answer = ingest.bw(**given, nodes=nodes, gpus_per_node=each, basis=level, **known)
                break
            except Exception as error:
                if protocol not in str(error):
                    break
        one = answer and answer.results.get("samples_per_second_per_gpu")
        if one:
            low, high = one.low or one.value, one.high or one.value
            found.append([level, abs(one.value / rate - 1), low <= rate <= high, high / low])
        else:
            found.append([level, None, None, None])
print(json.dumps(found))
"""


def git(*words: str) -> str:
    """What git prints, commits in the eight digits that the tables keep, however many a larger clone would print."""
    return subprocess.run(["git", "-c", "core.abbrev=8", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Group(NamedTuple):
    """Figures that were asked for together."""

    set: str
    round: str
    level: str
    kind: str
    commit: str
    date: str
    version: str
    asked: int
    errors: Sequence[tuple[float, bool, float]]  # of those that were answered: error, whether inside the range, width

    @property
    def row(self) -> dict[str, str]:
        """Its row of the history."""
        *how, asked, answered = self
        sizes = sorted(error for error, _, _ in answered)
        figures = ["", "", "", ""]
        if sizes:
            ends = (statistics.median(sizes), sizes[math.ceil(0.8 * len(sizes)) - 1])
            inside, width = sum(one for _, one, _ in answered), statistics.median(one for *_, one in answered)
            figures = [*(f"{end:.4f}" for end in ends), str(inside), f"{width:.2f}"]
        return dict(zip(PastError._fields, (*how, str(asked), str(len(sizes)), *figures), strict=True))


def pooled(groups: Iterable[Group]) -> Iterator[Group]:
    """Groups of figures, and after them all rates of one level and kind together."""
    levels: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        yield group
        if group.level and group.set in ("rates", "rounds"):
            levels.setdefault((ALL if group.commit else group.set, group.level, group.kind), []).append(group)
    for (name, level, kind), found in sorted(levels.items()):
        errors = [one for group in found for one in group.errors]
        yield Group(
            name, ALL, level, kind, "", "", "" if found[0].commit else __version__, sum(one.asked for one in found), errors
        )


def left_out() -> Iterator[Group]:
    """Today's errors on figures withheld: by round and level, or of the whole set."""
    for one in chain.from_iterable(validate(name, catalogs=CATALOG).sets for name in LEFT_OUT):
        groups: dict[tuple[str, str], list[tuple[float, bool, float]]] = {}
        for case in one.results:
            round_, level = "", "measured" if one.name == "scaling" else "transferred"
            if one.name == "rounds":
                round_, level = case.id.split()[0], case.id.rpartition(": ")[2]
            groups.setdefault((round_, level), []).append((abs(case.ours / case.expected - 1), case.within, case.width))
        for (round_, level), found in sorted(groups.items()):
            yield Group(one.name, round_, level, "left out", "", "", __version__, len(found), found)


def _date(commit: str) -> str:
    return git("show", "-s", "--format=%cs", commit).strip()


@cache
def _text(commit: str, path: str) -> str:
    """A file at a commit; empty where it had none."""
    try:
        return git("show", f"{commit}:{path}")
    except subprocess.CalledProcessError:
        return ""


def _version(commit: str) -> str:
    found = VERSION.search(_text(commit, "ingest/version.py") or _text(commit, "ingest/__init__.py"))
    return found[1] if found else ""


def recorded() -> Iterator[dict[str, str]]:
    """The sets as the pages printed them, by the commits of the main line that changed one of their figures."""
    last: dict[str, tuple[str, ...]] = {}
    for commit in git(
        "log", "--first-parent", "--reverse", "--format=%h", THROUGH, "--", "docs/accuracy.md", "README.md"
    ).split():
        text = _text(commit, "docs/accuracy.md") + _text(commit, "README.md")
        part = text.partition("<!-- table: validation -->")[2].partition("<!-- end -->")[0]
        for name, cases, within, error in re.findall(
            r"^\| `([\w-]+)` \|.*?\| (\d+) \| (\d+) \| ([\d.]+) % \|", part, re.MULTILINE
        ):
            if last.get(name) != (cases, within, error):
                last[name] = cases, within, error
                figures = (cases, cases, f"{float(error) / 100:.4f}", "", within, "")
                how = (name, "", "", "recorded", commit, _date(commit), _version(commit))
                yield dict(zip(PastError._fields, (*how, *figures), strict=True))


def takings() -> list[str]:
    """The commits that touched published figures, the oldest first; the first of all had no product before it."""
    places = ("catalogs/published", "catalogs/models/*.csv")
    return git("log", "--no-merges", "--reverse", "--min-parents=1", "--format=%h", THROUGH, "--", *places).split()


def _changed(commit: str, *places: str) -> list[str]:
    return git("diff", "--name-only", "--diff-filter=AM", f"{commit}^", commit, "--", *places).split()


def _figures(text: str, suffix: str) -> dict[str, tuple[str, ...]]:
    """The figures of a set by the id of their case: what is published, of which quantity, and where."""
    if suffix == ".csv":
        return {
            one["id"]: (one["published"], "", one["where"]) for one in csv.DictReader(io.StringIO(text)) if one.get("published")
        }
    cases = (yaml.safe_load(text) or {}).get("cases", [])
    return {str(one["id"]): tuple(str(one.get(key, "")) for key in ("published", "quantity", "where")) for one in cases}


def _new_cases(commit: str) -> Iterator[tuple[str, list[str]]]:
    """The cases that a commit brought, by set; a figure that was held under another id is not new."""
    for path in map(Path, _changed(commit, "catalogs/published/*.yaml", "catalogs/published/*.csv")):
        if path.parent == Path("catalogs/published") and path.name != HISTORY:
            now, then = (_figures(_text(at, str(path)), path.suffix) for at in (commit, f"{commit}^"))
            new = [one for one, figure in now.items() if one not in then and figure not in then.values()]
            if new:
                yield path.stem, new


def _rates(commit: str, path: str) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """The rates of training runs of a model, by what tells that one was known."""
    for one in csv.DictReader(io.StringIO(_text(commit, path))):
        if one["grade"] in ("measured", "published") and one["samples_per_second_per_gpu"] and one["gpus"] and one["nodes"]:
            yield tuple(one[key] for key in ("protocol", "round", "gpu", "gpus")), one


def _new_cells(commit: str) -> dict[tuple[Any, ...], list[float]]:
    """The rates that a commit brought: those at a size, on a GPU, in a round of a protocol that its model had none of."""
    cells: dict[tuple[Any, ...], list[float]] = {}
    for path in _changed(commit, "catalogs/models/*.csv"):
        known = {key for key, _ in _rates(f"{commit}^", path)}
        for key, one in _rates(commit, path):
            nodes, gpus = int(one["nodes"]), int(one["gpus"])
            if (
                key not in known
                and gpus % nodes == 0
                and "form: emulation" not in _text(commit, f"catalogs/protocols/{key[0]}.yaml")
            ):
                words = (one["round"], Path(path).stem, one["gpu"], one["precision"], one["protocol"], nodes, gpus // nodes)
                cells.setdefault(words, []).append(float(one["samples_per_second_per_gpu"]))
    return cells


def _asked(at: str, commit: str, sets: Mapping[str, Any], cells: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """What the product of one commit answers about the figures that another brought, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for what, at_ in ((("ingest", "catalogs"), at), (("catalogs/published", "catalogs/sources.yaml"), commit)):
            tree = subprocess.run(["git", "archive", at_, *what], cwd=ROOT, capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=tree, check=True)
        words = {"sets": sets, "cells": list(cells), "levels": LEVELS}
        ran = subprocess.run(
            [sys.executable, "-c", ASK], cwd=folder, env={**os.environ, "PYTHONPATH": folder}, input=json.dumps(words),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    found: list[list[Any]] = json.loads(ran.stdout.splitlines()[-1])
    return found


def of_commit(commit: str) -> Iterator[Group]:
    """What the products before and after a commit make of the figures that it brought."""
    sets, cells = dict(_new_cases(commit)), _new_cells(commit)
    if not sets and not cells:
        return
    asked = [(*words[1:], statistics.median(rates)) for words, rates in cells.items()]
    for kind, at in (("before", f"{commit}^"), ("after", commit)):
        how = (kind, commit, _date(commit), _version(at))
        found = _asked(at, commit, sets, asked)
        answers = [one for one in found if one[0] in sets]
        for name, cases in sets.items():
            found_of = [(error, inside, width) for one, error, inside, width in answers if one == name]
            yield Group(name, "", "", *how, len(cases), found_of)
        rates = found[len(answers) :]
        groups: dict[tuple[str, str, str], list[list[Any]]] = {}
        for index, one in enumerate(rates):
            round_, protocol = [*cells][index // len(LEVELS)][0], [*cells][index // len(LEVELS)][4]
            place = ("rounds", round_) if protocol == "mlperf-training" else ("rates", protocol)
            groups.setdefault((*place, one[0]), []).append(one)
        for (name, round_, level), ones in sorted(groups.items()):
            known = [(error, inside, width) for _, error, inside, width in ones if error is not None]
            yield Group(name, round_, level, *how, len(ones), known)


def kept() -> list[dict[str, str]]:
    """The rows that follow from commits, as they are recorded."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return [one for one in csv.DictReader(lines) if one["kind"] != "left out"]


def from_commits() -> Iterator[dict[str, str]]:
    """The rows that follow from commits, run again: minutes."""
    yield from (one.row for one in pooled(chain.from_iterable(map(of_commit, takings()))))
    yield from recorded()


def stale(write_anew: bool) -> list[Path]:
    """The copy in Parquet, where it does not hold the table; versions of the writer differ in bytes."""
    wanted = parquet(TABLE.read_text(encoding="utf-8"))
    same = PARQUET.exists() and pyarrow.parquet.read_table(PARQUET).equals(pyarrow.parquet.read_table(io.BytesIO(wanted)))
    if not same and write_anew:
        PARQUET.write_bytes(wanted)
    return [] if same else [PARQUET]


def content(rows: Iterable[Mapping[str, str]]) -> str:
    """The history as CSV, with today's errors on figures left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, PastError._fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows([*rows, *(one.row for one in pooled(left_out()))])
    return text.getvalue()


def parquet(text: str) -> bytes:
    """The history as Parquet: words as text, counts and errors as numbers."""
    options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(PastError._fields[:7], pyarrow.string()))
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(text.encode()), convert_options=options), buffer)
    return buffer.getvalue()


def write(text: str) -> None:
    """Write both files."""
    TABLE.write_text(text, encoding="utf-8")
    PARQUET.write_bytes(parquet(text))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f} %"


def _figures_of(one: PastError) -> tuple[str, ...]:
    inside = None if one.inside is None or not one.answered else one.inside / one.answered
    return (f"{one.cases:,}", f"{one.answered:,}", _percent(one.median_error), _percent(one.p80_error), _percent(inside))


FIGURES = ("asked", "answered", "median error", "P80", "inside")


def by_level() -> str:
    """All rates of training runs together, by evidence level and by how the figures came about."""
    rows = [(one.level, one.kind, *_figures_of(one)) for one in past_errors() if one.is_pooled]
    return table(("level", "figures", *FIGURES), sorted(rows, key=lambda row: (LEVELS.index(row[0]), [*KINDS].index(row[1]))))


def by_round() -> str:
    """Rounds of MLPerf Training by evidence level: figures before the product held them, and left out of that of today."""
    found = [one for one in past_errors() if one.set == "rounds" and not one.is_pooled and one.kind in ("before", "left out")]
    rows = [(one.round, one.level, one.kind, f"`{one.commit}`" * bool(one.commit), *_figures_of(one)) for one in found]
    return table(("round", "level", "figures", "commit", *FIGURES), sorted(rows))


def by_set() -> str:
    """The cases that a commit brought to a set, before and after, and what the page recorded of the set since."""
    rows = []
    for name in sorted({one.set for one in past_errors() if not one.level}):
        own = [one for one in past_errors() if one.set == name and not one.level]
        since = [one for one in own if one.kind == "recorded"]
        ends = [f"{_percent(one.median_error)} of {one.cases:,} ({one.date})" for one in (since[:1] + since[1:][-1:])]
        pairs = [
            (one, next(two for two in own if (two.kind, two.commit) == ("after", one.commit)))
            for one in own
            if one.kind == "before"
        ]
        for number, (before, after) in enumerate(pairs or [(None, None)]):
            shown = [""] * 7
            if before is not None and after is not None:
                shown = [
                    f"`{before.commit}`",
                    before.date,
                    *_figures_of(before)[:3],
                    f"{after.answered:,}",
                    _percent(after.median_error),
                ]
            rows.append((f"`{name}`" if number == 0 else "", *shown, " → ".join(ends) if number == 0 else ""))
    heads = ("set", "commit", "date", "cases", "answered before", "median error before", "answered after", "median error after")
    return table((*heads, "recorded: whole set, first → last"), rows)


#: Fewer answers than these say little of a round.
LEAST = 5
NAMES = {"measured": "measured", "transferred": "transferred", "efficiency": "estimated"}


def chart() -> Chart:
    """The error of each evidence level on the rates of each round that the product had not seen."""
    rounds = CATALOG.get(Protocol, "mlperf-training").rounds
    found = [one for one in past_errors() if one.set == "rounds" and one.answered >= LEAST and one.round in rounds]
    rows = [
        {"round": one.round, "level": NAMES[one.level], "error": round((one.median_error or 0) * 100, 1), "kind": one.kind}
        for one in found
    ]
    x = channel("round", "ordinal", title="round of MLPerf Training", sort=list(rounds), axis={"labelAngle": 0})
    y = channel("error", title="median error in percent", scale={"zero": True})
    colour = channel("level", "nominal", title=None, sort=[*NAMES.values()], scale={"range": [DARK, SIGNAL, LIGHT]})
    lines, points = ([row for row in rows if row["kind"] == kind] for kind in ("left out", "before"))
    layers = [
        layer("line", lines, {"strokeWidth": 2, "point": {"size": 40}}, x=x, y=y, color=colour),
        layer("point", points, {"shape": "diamond", "size": 90, "strokeWidth": 2}, x=x, y=y, color=colour),
    ]
    pools = {one.level: one.median_error for one in past_errors() if one.is_pooled and one.kind == "before"}
    medians = ", ".join(f"{shown} {(pools[level] or 0) * 100:.0f} %" for level, shown in NAMES.items())
    title = f"Blind error: {medians}"
    note = "Diamonds: the product before it held these rates, run again. Lines: today's, this round and later ones left out"
    alt = f"Median error by round of MLPerf Training and evidence level. {title}."
    return made("errors-over-time", title, note, alt, plot([], HEIGHT, layer=layers))


TABLES = {"history-levels": by_level, "history-rounds": by_round, "history-sets": by_set}


def main() -> None:
    """Write the history anew."""
    write(content(from_commits()))


if __name__ == "__main__":
    main()
