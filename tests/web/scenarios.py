"""Questions drawn by seed, as one types them into the page, and what the package answers."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from ingest.catalog.store import Catalog
from ingest.configuration import shipped_folder
from ingest.errors import IngestError
from ingest.reports.labels import plain
from ingest.reports.page import range_text, value_text
from ingest.reports.pages.sizing import answer_page, estimate_page
from ingest.reports.pages.storage import fits_page
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.dataset import dataset
from ingest.sizing.memory import memory
from ingest.sizing.post_training import rl
from ingest.sizing.train import train
from ingest.sizing.vectors import vectors
from ingest.storage.fit import fit

ARCHITECTURES = shipped_folder() / "architectures"
#: Tab -> input -> the chance that it is filled, and what with.
TYPED = yaml.safe_load((Path(__file__).parent / "typed.yaml").read_text(encoding="utf-8"))
#: What people type into a box of numbers by mistake.
SLIPS = ("0", "-1", "1.5", "x", "1e400", "12 apples", "nan", "16 Mb", "3 GB/s", "200%", "١٢")


class Draws:
    """Draws values of the inputs of the page."""

    def __init__(self, catalog: Catalog, seed: int, tabs: Sequence[str]) -> None:
        self.catalog, self.random, self.tabs = catalog, random.Random(seed), tabs

    def one(self, kind: str) -> str:
        """An id of the catalogs, or of a model any name of its structure; rarely a misspelt one."""
        names = self.catalog.ids(kind)
        if kind == "models" and self.random.random() < 0.5:
            names = self.random.choice([*self.catalog.releases.rows.values()]).names
        name = self.random.choice(names)
        return name[:-1] if self.random.random() < 0.02 else name

    def scenarios(self, count: int) -> Iterator[tuple[str, dict[str, str]]]:
        for _ in range(count):
            tab = self.random.choice(self.tabs)
            typed = {**self.typed(tab), **getattr(self, tab, dict)()}
            yield tab, {name: value for name, value in typed.items() if value}

    def some(self, chance: float, *choices: str) -> str:
        """One of these, or rarely a slip, with a chance; else nothing."""
        if self.random.random() > chance:
            return ""
        # A name with a slash may be a file, which the page does not read.
        slips = [one for one in SLIPS if choices[0][0].isdigit() or "/" not in one]
        return self.random.choice(slips) if self.random.random() < 0.03 else self.random.choice(choices)

    def nodes(self) -> str:
        size = round(2 ** self.random.uniform(0, 12))
        return self.some(1, str(size), str(2 ** self.random.randint(0, 12)))

    def typed(self, tab: str) -> dict[str, str]:
        """What is typed into the inputs that depend on no other."""
        found = {}
        for name, (chance, *choices) in TYPED[tab].items():
            if choices[0].startswith("catalog "):
                found[name] = self.one(choices[0].removeprefix("catalog ")) if self.random.random() < chance else ""
            else:
                found[name] = self.some(chance, *choices)
        return found

    def bw(self) -> dict[str, str]:
        machine = {"gpu": self.one("gpus")} if self.random.random() < 0.8 else {"node": self.one("nodes")}
        return {**machine, "nodes": self.nodes()}

    def checkpoint(self) -> dict[str, str]:
        gpus = round(2 ** self.random.uniform(0, 15))
        return {"gpus": self.some(0.95, str(gpus), str(2 ** self.random.randint(3, 14)))}

    def dataset(self) -> dict[str, str]:
        text = {"tokens": self.some(0.7, "15T", "100B", "1.5e12", "300 G"), "bytes_per_token": self.some(0.5, "4", "3.27")}
        samples = {"samples": self.some(0.9, "1281167", "10M"), "sample_bytes": self.some(0.9, "114660", "2.83 MB")}
        kind = self.random.random()
        return text if kind < 0.6 else samples if kind < 0.9 else {**text, **samples}

    def fit(self) -> dict[str, str]:
        job = {"model": self.one("models"), "gpu": self.one("gpus"), "nodes": self.nodes()}
        rates = {"read_bandwidth": self.some(0.9, "500 GB/s", "20GB/s", "3 TB/s", "123.4 GB/s")}
        storage = self.one("storage") if self.random.random() < 0.6 else "all"
        return {**(job if self.random.random() < 0.4 else rates), "storage": storage}

    def vectors(self) -> dict[str, str]:
        text = {"documents": self.some(0.6, "1e9", "23M"), "tokens": self.some(0.6, "15T", "100B", "3e9")}
        held = {"vectors": self.some(1, "100M", "1e9", "12345678", "100")}
        index = self.some(0.95, "flat", "hnsw", "ivf-flat", "ivf-pq", "diskann")
        named = {"index": index, "layout": self.some(0.1, "lance", "faiss")}
        return {
            **(held if self.random.random() < 0.7 else text),
            **({"layout": self.one("layouts")} if self.random.random() < 0.4 else named),
        }

    def plan(self) -> dict[str, str]:
        stored = {"storage": self.one("storage"), "units": self.some(0.3, "1", "12")}
        return {"node": self.one("nodes"), "nodes": self.nodes(), **(stored if self.random.random() < 0.3 else {})}


def cautions(answer):
    """What a reader has to know: a stated requirement that is not met, then the warnings."""
    return [*([f"NOT MET: {answer.unmet}"] if answer.unmet else []), *map(str, answer.warnings)]


def asked(tab: str, options: dict[str, str], catalog: Catalog) -> dict[str, Any]:
    """What the package answers: title, rows and warnings, or the line of its refusal."""
    try:
        return {"ok": True, **TABS[tab](options, catalog)}
    except IngestError as error:
        return {"ok": False, "error": " ".join(str(error).split())}


def _estimated(options: dict[str, str], catalog: Catalog) -> dict[str, Any]:
    answer = bw(**options, catalogs=catalog)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    page = estimate_page(answer)
    levels = [(level.basis, results["ingest_bandwidth_per_gpu"].display) for level, results in answer.levels if results]
    return {**_told(answer, page), "basis": answer.basis, "levels": len(levels)}


def _told(answer: Any, page: Any) -> dict[str, Any]:
    return {"title": answer.title, "rows": [list(row) for row in page.sections[0].rows], "warnings": cautions(answer)}


def _answered(function: Callable[..., Any]) -> Callable[[dict[str, str], Catalog], dict[str, Any]]:
    def ask(options: dict[str, str], catalog: Catalog) -> dict[str, Any]:
        answer = function(**options, **({} if function is dataset else {"catalogs": catalog}))
        rows = [[label, *cells] for label, *cells in answer_page(answer).sections[0].rows]
        return {"title": answer.title, "rows": rows, "warnings": cautions(answer)}

    return ask


FLAGS = ("degraded", "no_spare", "sites")


def _fitting(options: dict[str, str], _: Catalog) -> dict[str, Any]:
    found = fit(**{name: bool(value) if name in FLAGS else value for name, value in options.items()})
    page = fits_page(found)
    sections = [one for one in page.sections[1:] if not one.title.startswith(("Assumptions", "Sources"))]
    filled = [one for one in sections if one.rows or one.lines]
    # Values without a title are the rows of the answer.
    shown = [(one, one.rows if one.title or any(one.columns) else ()) for one in filled]
    tables = [[one.title, [list(map(str, row)) for row in rows], [*map(str, one.lines)]] for one, rows in shown]
    rows = [
        [plain(name), value_text(name, item.value, item.unit), range_text(name, item)] for name, item in found.needed.items()
    ]
    return {"title": page.title, "rows": rows, "warnings": [*map(str, found.warnings)], "tables": tables}


#: What a small site shows of the answer of each command.
PARTS = (
    ("mandatory_read_bandwidth", "ingest_bandwidth_per_job", "ingest_bandwidth_per_node",
     "file_opens_per_second_per_job", "gpus"),
    ("checkpoint_write_bandwidth", "checkpoint_bytes", "checkpoint_interval", "restart_read_bandwidth",
     "checkpoint_retained_bytes"),
    ("usable_bytes", "dataset_bytes", "dataset_files"),
)  # fmt: skip


def parts_of_site(options: dict[str, str], catalog: Catalog) -> list[Any]:
    """What one run reads and saves, and what the data take; None for what a site does not have."""
    if "=" in (copies := options.get("copies", "")):
        raise IngestError(f"--copies: found '{copies}', expected a number: a site has one kind of data here")
    read = bw(**{name: options[name] for name in ("model", "node", "nodes") if name in options}, catalogs=catalog)
    if read.incomplete:
        raise IngestError(read.incomplete)
    policy = {name: options[name] for name in ("mode", "keep") if name in options}
    gpus = f"{read.results['gpus'].value:.0f}"
    saved = None
    if read.model.parameters or read.model.id in {path.stem for path in ARCHITECTURES.glob("*.yaml")}:
        saved = checkpoint(options["model"], gpus=gpus, gpu=read.gpu.id, **policy, catalogs=catalog)
        if saved.unmet:
            raise IngestError(saved.unmet)
    data = {name: options[name] for name in ("tokens", "copies") if name in options}
    is_text = "tokens" in data and read.model.tokens_per_sample is not None
    return [read, saved, dataset(**data, format="megatron") if is_text else None]


def _of_site(options: dict[str, str], catalog: Catalog) -> dict[str, Any]:
    read, saved, held = parts_of_site(options, catalog)
    answers = [(part, names) for part, names in zip((read, saved, held), PARTS, strict=True) if part is not None]
    rows = [
        [plain(name), value_text(name, item.value, item.unit), range_text(name, item)]
        for part, names in answers
        for name in names
        if (item := part.results.get(name)) is not None
    ]
    title = f"{read.title}: one run and its data; the command gives the requirement lines of the site"
    found = {"title": title, "rows": rows, "warnings": [line for part, _ in answers for line in cautions(part)]}
    if storage := options.get("storage"):
        on_system = {"storage": storage, **({"units": options["units"]} if "units" in options else {})}
        found["tables"] = _fitting({**needs_of_site([part for part, _ in answers]), **on_system}, catalog)["tables"]
    return found


def needs_of_site(parts: Sequence[Any]) -> dict[str, float]:
    """What a small site reads, writes and holds, as options of `fit`."""
    results = {name: item.value for part in parts for name, item in part.results.items()}
    held = results.get("usable_bytes", 0) + results.get("checkpoint_retained_bytes", 0)
    found = {
        "read_bandwidth": results.get("mandatory_read_bandwidth"),
        "write_bandwidth": results.get("checkpoint_write_bandwidth"),
        "capacity": held,
    }
    return {name: value for name, value in found.items() if value}


TABS: dict[str, Callable[[dict[str, str], Catalog], dict[str, Any]]] = {
    "bw": _estimated,
    "checkpoint": _answered(checkpoint),
    "dataset": _answered(dataset),
    "fit": _fitting,
    "vectors": _answered(vectors),
    "rl": _answered(rl),
    "train": _answered(train),
    "memory": _answered(memory),
    "plan": _of_site,
}
