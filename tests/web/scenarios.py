"""Questions drawn by seed, as one types them into the page, and what the package answers."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
from ingest.sizing.post_training import rl
from ingest.sizing.vectors import vectors
from ingest.storage.fit import fit

ARCHITECTURES = shipped_folder() / "architectures"
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
            yield tab, {name: value for name, value in getattr(self, tab)().items() if value}

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

    def bw(self) -> dict[str, str]:
        machine = {"gpu": self.one("gpus")} if self.random.random() < 0.8 else {"node": self.one("nodes")}
        return {
            "model": self.one("models") if self.random.random() < 0.97 else "",
            **machine,
            "nodes": self.nodes(),
            "basis": self.some(0.3, "measured", "emulated", "transferred", "efficiency", "peak"),
            "precision": self.some(0.2, "bf16", "fp16", "tf32", "fp32", "fp8", "fp4"),
            "scaling": self.some(0.2, "linear", "weak", "strong"),
            "gpus_per_node": self.some(0.1, "1", "4", "8", "16"),
            "utilization": self.some(0.1, "0.9", "70%", "0.33"),
            "cache_hit": self.some(0.1, "0.5", "1", "99 %"),
            "encoding": self.some(0.1, "stored", "decoded", "touched", "jpeg"),
            "sample_bytes": self.some(0.1, "16 MiB", "2.83 MB", "1234567", "0.1 kB"),
            "samples_per_second": self.some(0.08, "100", "2.5", "12345.678"),
            "achieved": self.some(0.05, "35 TFLOP/s", "400 TFLOP/s"),
            "efficiency": self.some(0.05, "0.4", "35%"),
            "flops_per_sample": self.some(0.08, "247 GFLOP", "1e15"),
        }

    def checkpoint(self) -> dict[str, str]:
        gpus = round(2 ** self.random.uniform(0, 15))
        return {
            "model": self.one("models"),
            "gpus": self.some(0.95, str(gpus), str(2 ** self.random.randint(3, 14))),
            "gpu": self.one("gpus") if self.random.random() < 0.3 else "",
            "mode": self.some(0.5, "sync", "async"),
            "waste": self.some(0.3, "5%", "0.1", "20 %", "1%"),
            "interval": self.some(0.2, "15 min", "1h", "600", "30s"),
            "mtti": self.some(0.2, "3 h", "1 day", "20 min", "1 week"),
            "write_bandwidth": self.some(0.15, "300 GB/s", "20GB/s", "1 TB/s"),
            "optimizer": self.one("optimizers") if self.random.random() < 0.2 else "",
            "precision": self.some(0.15, "bf16", "fp16", "fp32", "fp8", "fp4"),
            "layout": self.some(0.2, "megatron", "deepspeed", "dcp", "safetensors"),
            "zero_stage": self.some(0.2, "0", "1", "2", "3"),
            "tensor_parallel": self.some(0.15, "1", "2", "8"),
            "pipeline_parallel": self.some(0.15, "1", "4", "16"),
            "expert_parallel": self.some(0.1, "1", "8"),
            "failures": self.one("failures") if self.random.random() < 0.1 else "",
            "drain_fraction": self.some(0.1, "0.1", "0.5", "1"),
            "drain_time": self.some(0.1, "1 min", "300"),
            "slow_down": self.some(0.05, "0.2", "1"),
            "persistent_every": self.some(0.1, "1", "4"),
            "restart_time": self.some(0.1, "1 min", "10 min"),
            "reschedule_time": self.some(0.1, "0", "5 min", "1 h"),
            "readers": self.some(0.2, "replicated", "all"),
            "keep": self.some(0.2, "5", "last=3,every=10", "last=2,final=1"),
            "duration": self.some(0.2, "60 days", "90d"),
            "tier_capacity": self.some(0.1, "2 PB", "500 TB"),
        }

    def dataset(self) -> dict[str, str]:
        text = {"tokens": self.some(0.7, "15T", "100B", "1.5e12", "300 G"), "bytes_per_token": self.some(0.5, "4", "3.27")}
        samples = {"samples": self.some(0.9, "1281167", "10M"), "sample_bytes": self.some(0.9, "114660", "2.83 MB")}
        kind = self.random.random()
        return {
            **(text if kind < 0.6 else samples if kind < 0.9 else {**text, **samples}),
            "corpus": self.one("corpora") if self.random.random() < 0.3 else "",
            "pipeline": self.one("pipelines") if self.random.random() < 0.3 else "",
            "format": self.one("formats") if self.random.random() < 0.5 else "",
            "copies": self.some(0.3, "2", "raw=1,clean=1,dataset=3", "raw=2"),
            "raw_bytes": self.some(0.1, "100 TB", "1 PB"),
            "documents": self.some(0.1, "1e9", "23M"),
            "holds": self.some(0.1, "tokens", "text", "samples"),
            "sizes": self.some(0.2, "equal"),
            "vocabulary": self.some(0.1, "50257", "128256"),
            "sequence_length": self.some(0.1, "4096", "8192"),
            "shard_size": self.some(0.1, "64 MiB", "1 GB"),
            "epochs": self.some(0.1, "2", "4.5"),
        }

    def fit(self) -> dict[str, str]:
        job = {"model": self.one("models"), "gpu": self.one("gpus"), "nodes": self.nodes()}
        rates = {"read_bandwidth": self.some(0.9, "500 GB/s", "20GB/s", "3 TB/s", "123.4 GB/s")}
        return {
            **(job if self.random.random() < 0.4 else rates),
            "write_bandwidth": self.some(0.6, "300 GB/s", "5 GB/s", "1.5 TB/s"),
            "capacity": self.some(0.6, "1 PB", "200 TB", "37 PiB"),
            "storage": self.one("storage") if self.random.random() < 0.6 else "all",
            "client": self.some(0.1, "nfs-tcp", "nfs-nconnect"),
            "protection": self.some(0.1, "prot-rep3", "prot-ec-8-3"),
            "units": self.some(0.1, "4", "12"),
            "opens": self.some(0.1, "10000", "1e6"),
            "creates": self.some(0.1, "5000"),
            "files": self.some(0.1, "1e9", "20M"),
            "io_size": self.some(0.1, "128 KiB", "1 MiB", "4096"),
            "degraded": self.some(0.1, "yes"),
            "no_spare": self.some(0.1, "yes"),
            "sites": self.some(0.1, "yes"),
        }

    def vectors(self) -> dict[str, str]:
        text = {"documents": self.some(0.6, "1e9", "23M"), "tokens": self.some(0.6, "15T", "100B", "3e9")}
        held = {"vectors": self.some(1, "100M", "1e9", "12345678", "100")}
        return {
            **(held if self.random.random() < 0.7 else text),
            "dimensions": self.some(0.95, "768", "128", "1536", "960"),
            "index": self.some(0.95, "flat", "hnsw", "ivf-flat", "ivf-pq", "diskann"),
            "layout": self.one("layouts") if self.random.random() < 0.2 else self.some(0.1, "lance", "faiss", "usearch"),
            "dtype": self.some(0.3, "float32", "float16", "int8"),
            "qps": self.some(0.7, "1000", "12.5", "250000"),
            "search_list": self.some(0.6, "10", "100", "512"),
            "latency": self.some(0.3, "10 ms", "0.5 s"),
            "chunk": self.some(0.2, "256", "8192"),
            "overlap": self.some(0.2, "50", "512"),
            "metadata_bytes": self.some(0.2, "1 kB", "17"),
            "degree": self.some(0.3, "16", "32", "64"),
            "lists": self.some(0.2, "4096", "1000000"),
            "code_bytes": self.some(0.5, "16", "32", "96"),
            "replicas": self.some(0.2, "2", "3"),
            "shards": self.some(0.2, "4", "1000"),
            "beam": self.some(0.2, "4", "16"),
            "cached_share": self.some(0.2, "0.3", "99 %"),
            "cached_nodes": self.some(0.2, "100000", "1e6"),
            "probes": self.some(0.4, "16", "128"),
            "top_k": self.some(0.3, "10", "100"),
            "load_time": self.some(0.2, "10 min", "1 h"),
            "load_bandwidth": self.some(0.1, "10 GB/s"),
            "rebuilds_per_day": self.some(0.2, "1", "0", "24"),
        }

    def rl(self) -> dict[str, str]:
        return {
            "model": self.one("models"),
            "rollout_hosts": self.some(0.8, "1", "48", "0", "1000"),
            "step_time": self.some(0.7, "60 s", "2 min", "1 h"),
            "publish": self.some(0.6, "full", "delta"),
            "changed_share": self.some(0.3, "2%", "1%..3%", "0.25", "3%..1%"),
            "pull_within": self.some(0.2, "10 s", "1 min"),
            "rollouts": self.some(0.5, "512", "4096"),
            "tokens": self.some(0.5, "4000", "32k", "1e5"),
            "algorithm": self.some(0.5, "grpo", "ppo", "dpo"),
            "every": self.some(0.3, "1", "4", "0"),
            "encoding": self.some(0.4, "xor-zstd", "index-value", "gap-value", "gap-zstd", "sparse-zstd", "bitmask"),
            "precision": self.some(0.3, "bf16", "fp8", "fp32"),
            "anchor_every": self.some(0.3, "25", "1", "100"),
            "keep": self.some(0.3, "2", "10"),
            "rollout_replicas": self.some(0.1, "64"),
            "tokens_per_second": self.some(0.3, "5000", "20k"),
            "publish_within": self.some(0.2, "30 s"),
            "pause": self.some(0.2, "5 s", "0.5 s"),
            "anchor_within": self.some(0.1, "5 min"),
            "join_within": self.some(0.2, "10 min", "1 min"),
            "write_bandwidth": self.some(0.2, "10 GB/s"),
            "read_bandwidth": self.some(0.2, "100 GB/s"),
            "network_bandwidth": self.some(0.1, "5 GB/s", "50 GB/s"),
            "trace": self.some(0.3, "ids", "ids,logprobs,text", "none", "ids,routing", "ids,top=20"),
            "trace_format": self.some(0.2, "json", "binary"),
            "trace_retention": self.some(0.2, "30 days", "1 week"),
            "sandbox_image": self.some(0.2, "2 GB", "0"),
            "sandbox_hosts": self.some(0.1, "16"),
            "sandbox_images": self.some(0.1, "1", "300"),
            "sandbox_within": self.some(0.1, "60 s", "5 s"),
            "trainer_gpus": self.some(0.4, "8", "512"),
            "optimizer": self.one("optimizers") if self.random.random() < 0.2 else "",
            "interval": self.some(0.2, "15 min", "1 h"),
        }

    def plan(self) -> dict[str, str]:
        return {
            "model": self.one("models"),
            "node": self.one("nodes"),
            "nodes": self.nodes(),
            "mode": self.some(0.5, "sync", "async"),
            "keep": self.some(0.5, "3", "last=2,final=1"),
            "tokens": self.some(0.5, "1T", "300G"),
            "copies": self.some(0.3, "2", "raw=1"),
            **({"storage": self.one("storage"), "units": self.some(0.3, "1", "12")} if self.random.random() < 0.3 else {}),
        }


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
    "plan": _of_site,
}
