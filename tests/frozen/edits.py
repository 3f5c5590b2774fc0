"""Files of questions that are drawn by seed: `NAME~7.EXT` is `NAME.EXT` after a few changes, or a log in the form NAME."""

import gzip
import io
import json
import random
import re
import shutil
import zipfile
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fuzz.archives import zipped
from fuzz.mutations import places_of

#: a name of a file or a folder that is drawn
DRAWN = re.compile(r"(.+)([~+])(\d+)((?:\.\w+)*)")
FACTORS = (0.0, 0.5, 0.8, 0.99, 0.999, 1.001, 1.02, 1.3, 2.0, 8.0, 1000.0)
NUMBER = re.compile(r"(?<![\w.,:-])\d+(?:\.\d+)?(?![\w.,:]*\d)")
#: a cell of a sheet: what stands before its value, its type, its value
CELL = re.compile(r'(<c r="([A-Z]+)\d+"[^>]*?(?: t="(\w+)")?[^>]*?>)(?:<f>[^<]*</f>)?<v>([^<]*)</v>')


@cache
def written(name: str) -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def forms() -> dict[str, dict[str, str]]:
    """Forms of logs by name."""
    return written("logs.yaml")


def _with_parts(chance: random.Random, site: dict[str, Any]) -> str:
    """A site file with a few parts more, each a value that its place may have."""
    parts = written("parts.yaml")
    for name in chance.sample(sorted(parts), chance.choice([1, 2, 2, 4])):
        held, keys = site, name.split(".")
        for at, key in enumerate(keys[:-1]):
            held = held.setdefault(chance.choice(sorted(site[keys[0]])) if key == "*" and at else key, {})
        text = json.dumps(chance.choice(parts[name]))
        for word, kind in (("CLUSTER", "clusters"), ("DATA", "datasets")):
            text = text.replace(word, chance.choice(sorted(site[kind])))
        held[keys[-1]] = json.loads(text)
    return yaml.safe_dump(site, sort_keys=False)


def make(word: str, folder: Path) -> Path | None:
    """Make the drawn file or folder that a word of a question names; None for another word."""
    named = DRAWN.fullmatch(word)
    if named is None or named[2] + named[4] == "+":  # 1e+9 is a number
        return None
    chance, path = random.Random(int(named[3])), folder / word
    source = folder / (named[1] + named[4])
    if named[2] == "+":
        path.write_text(_with_parts(chance, yaml.safe_load(source.read_text(encoding="utf-8"))), encoding="utf-8")
    elif source.is_dir():
        shutil.copytree(source, path)
        for file in chance.sample(sorted(one for one in path.rglob("*") if one.is_file()), chance.choice([1, 1, 2])):
            file.write_bytes(changed(chance, file))
    elif named[1] in forms():
        text = job_log(chance, forms()[named[1]])
        path.write_text(_lines_changed(chance, text) if chance.random() < 0.3 else text, encoding="utf-8")
    else:
        path.write_bytes(changed(chance, source))
    return path


def changed(chance: random.Random, path: Path) -> bytes:
    """A file after one change or a few: a tree of JSON or YAML, the cells of a workbook, the lines of a text."""
    content = path.read_bytes()
    if path.suffix == ".xlsx":
        return _workbook_changed(chance, content)
    if path.suffix == ".gz":
        return gzip.compress(_lines_changed(chance, gzip.decompress(content).decode()).encode(), 1, mtime=0)
    text = content.decode()
    if path.suffix in (".json", ".yaml"):
        tree = yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)
        for _ in range(chance.choice([1, 1, 2, 4])):
            _change_tree(chance, tree)
        return (yaml.safe_dump(tree, sort_keys=False) if path.suffix == ".yaml" else json.dumps(tree, indent=0)).encode()
    return _lines_changed(chance, text).encode()


def _scaled(chance: random.Random, text: str) -> str:
    """A number as it is written, times a factor, or one more or less."""
    value = float(text) * chance.choice(FACTORS) if chance.random() < 0.8 else float(text) + chance.choice([-1, 1])
    return f"{value:.{len(text.partition('.')[2])}f}" if "." in text else str(max(0, round(value)))


def _lines_changed(chance: random.Random, text: str) -> str:
    """A text with another number in some lines, or some lines more, less or moved."""
    lines = text.splitlines(keepends=True)
    first = chance.randrange(len(lines))
    some = slice(first, first + chance.choice([1, 1, 2, 10]))
    sort = chance.random()
    if sort < 0.6:
        which, factor = chance.randrange(12), chance.random()
        for at in range(len(lines))[some]:
            found = [*NUMBER.finditer(lines[at])]
            if found:
                one = found[which % len(found)]
                lines[at] = lines[at][: one.start()] + _scaled(random.Random(factor), one[0]) + lines[at][one.end() :]
    elif sort < 0.75:
        del lines[some]
    elif sort < 0.9:
        lines[first:first] = lines[some]
    else:
        lines += lines[some]
    return "".join(lines)


def _change_tree(chance: random.Random, tree: Any) -> None:
    """Change one value of a tree: a number, a truth, a text, or a key less."""
    places = [*places_of(tree)]
    if not places:
        return
    # What stands seldom is as likely as what stands in each of many rows.
    key = chance.choice(sorted({str(key) for _, key in places}))
    held, key = chance.choice([place for place in places if str(place[1]) == key])
    value = held[key]
    if chance.random() < 0.15 or value is None:
        del held[key]
    elif isinstance(value, bool):
        held[key] = not value
    elif isinstance(value, int):
        held[key] = int(_scaled(chance, str(abs(value))))
    elif isinstance(value, float):
        held[key] = value * chance.choice(FACTORS)
    elif isinstance(value, str) and (found := re.search(r"\d+(\.\d+)?", value)) and chance.random() < 0.8:
        held[key] = value[: found.start()] + _scaled(chance, found[0]) + value[found.end() :]
    elif isinstance(value, str):
        held[key] = chance.choice([one[name] for one, name in places if isinstance(one[name], str)])
    elif value:
        _change_tree(chance, value)


def _workbook_changed(chance: random.Random, content: bytes) -> bytes:
    """A workbook with other values in a few cells of one sheet: a number scaled, a text of the same column, or nothing."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheets = {name: len(CELL.findall(parts[name].decode())) for name in sorted(parts) if "worksheets/sheet" in name}
    name = chance.choices([*sheets], [*sheets.values()])[0]
    for _ in range(chance.choice([1, 2, 4])):
        text = parts[name].decode()
        cells = [*CELL.finditer(text)]
        column = chance.choice(sorted({one[2] for one in cells}))
        of_column = [one for one in cells if one[2] == column]
        one = chance.choice(of_column)
        new = ""
        if chance.random() < 0.9:
            beside = chance.choice(of_column)
            numeric = one[3] is None and NUMBER.fullmatch(one[4])
            new = _scaled(chance, one[4]) if numeric else beside[4] if beside[3] == one[3] else one[4]
        parts[name] = (text[: one.start(4)] + new + text[one.end(4) :]).encode()
    return zipped(parts)


def job_log(chance: random.Random, form: dict[str, str]) -> str:
    """A log of a job in a form; its speed, jitter, slow lines, pauses, restarts, waits for data and lost lines are drawn."""
    many = chance.choice([1, 4, 12, 25, 40, 60])
    usual, jitter = 10 ** chance.uniform(-0.5, 1.3), chance.choice([0, 0.01, 0.1])
    printed, epoch_steps, saves = chance.choice([1, 1, 1, 10]), chance.choice([5, 20, 1000]), chance.choice([0, 5, 13])
    slow, times = chance.choice([0, 0, 0.05, 0.09, 0.2]), chance.choice([1.4, 2, 5])
    half, pace, first_times = chance.randrange(1, many + 1), chance.choice([1, 1, 1.2, 1.5, 3]), chance.choice([1, 8])
    back = chance.choice([0, 0, 0, 1, many // 3])
    gone = range(half, half + chance.choice([0, 0, 0, 1, 4]))
    ranks, gap, waits = chance.choice([1, 1, 1, 2]), chance.choice([0, 0, 0.5, 3]), chance.choice([0, 0.1, 0.5, 0.9])
    numbers: dict[str, Any] = {"gpus": chance.choice([8, 8, 8, 1, 64]), "batch": chance.choice([256, 256, 256, 64, 1000])}
    step, clock, consumed, pieces = 0, 0.0, 0, []
    took = waited = 0.0
    for place in range(many):
        if place == half:
            step = max(0, step - back * printed)
        step += printed
        one = usual * chance.gauss(1, jitter) * (pace if place >= half else 1) * (first_times if place == 0 else 1)
        one = max(one * (times if chance.random() < slow else 1), 0.01)
        share = min(waits * chance.uniform(0.8, 1.1), 1)
        inner = (step - 1) % epoch_steps
        took, waited = (0.0, 0.0) if inner < printed else (took, waited)
        took, waited = took + one, waited + share * one
        counted = 1 + len(pieces) % max(1, epoch_steps // printed)
        began, clock, consumed = clock, clock + one * printed, step * numbers["batch"]
        pause = chance.uniform(0.5, 20) * usual
        numbers |= {
            "step": step, "one": one, "ms": 1000 * one, "pause": pause, "pause_ms": 1000 * pause, "consumed": consumed,
            "epoch": (step - 1) // epoch_steps, "epoch1": 1 + (step - 1) // epoch_steps, "inner": inner, "clock": clock,
            "epoch_steps": epoch_steps, "epoch_samples": 100 * numbers["batch"], "time": took / counted,
            "wait": waited / counted, "wait_one": share * one, "now": numbers["batch"] / one,
            "rate": numbers["batch"] * counted / took, "each": numbers["batch"] / one / numbers["gpus"],
            "tokens": 4096 * numbers["batch"] / one / numbers["gpus"], "began": 1000 * began, "ended": 1000 * clock,
            "resumed": 1000 * (clock + pause), "before_samples": consumed - printed * numbers["batch"],
            "thousands": 20_000 * step, "before_tokens": 2048 * (consumed - printed * numbers["batch"]),
            "after_tokens": 2048 * consumed, "epoch_rate": 200 * numbers["batch"] / one / printed, "used": 100 * (1 - share),
            "wait_ms": 1000 * share * one, "rest_ms": 1000 * (1 - share) * one,
            "busy": 1000 * one, "waited": 1000 * share * one,
            "stamp": f"{datetime(2026, 3, 5, 12) + timedelta(seconds=round(clock)):%Y-%m-%d %H:%M:%S}",
        }  # fmt: skip
        if place not in gone:
            pieces.append(form.get("line", "").format(**numbers) * ranks)
        if saves and place % saves == saves - 1:
            pieces.append((form.get("saved", "") + form.get("tested", "")).format(**numbers))
            clock += pause if form.get("tested") else gap * usual
    return form.get("head", "").format(**numbers) + "".join(pieces) + form.get("tail", "").format(**numbers)
