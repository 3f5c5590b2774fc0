"""Timings as ratios, both sides measured in one run; `--write` puts the table into docs/performance.md.

Run by `make bench`. Nothing here is asserted: machines differ, ratios hardly do.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bench_release
import numpy
from bench_corpus import CORPUS, corpus_rows
from web.browser import CHROMIUM, page_rows

from ingest.engine.registry import solve
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.reports.workbook.small_workbooks import sweep_workbook
from ingest.site.planner import plan
from ingest.sizing.goodput import Interrupts, Restart, Schedule, simulated
from ingest.sizing.sweep import sweep

RUNS = 21
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
START, END = "<!-- bench -->", "<!-- end -->"
COMMAND = str(Path(sys.executable).parent / "ingest")
#: Llama 2 70B, as its config.json has it.
CONFIG = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
}
EXAMPLE = Path(__file__).parents[1] / "examples" / "llm-16384-gpus.yaml"
JOB = ["--model", "cosmoflow", "--gpu", "h100", "--nodes", "128"]


def median_seconds(call: Callable[[], object], runs: int = RUNS, clock: Callable[[], float] = time.perf_counter) -> float:
    times = []
    for _ in range(runs):
        start = clock()
        call()
        times.append(clock() - start)
    return sorted(times)[runs // 2]


def peak_of(*arguments: str) -> int:
    """The most memory that a process held, in B."""
    code = "import os, sys; print(os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)[2].ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) * 1024


def process(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def by_hand() -> list[numpy.ndarray]:
    """The arithmetic of a million scenarios, written out: every result of `bw` as a full column."""
    nodes, size = (axis.ravel() for axis in numpy.meshgrid(numpy.arange(1.0, 1001.0), numpy.arange(1000.0) * 1e3 + 1e6))
    rate = 285.71428571428571 * 1.0 * 1.0
    per_gpu = rate * (size * (1 - 0.0))
    per_node = per_gpu * 8
    gpus = nodes * 8
    per_job = per_gpu * gpus
    samples = rate * gpus
    opens = samples / 1 * (1 - 0.0)
    nic = per_node / 80e9
    epoch = 524288 / samples
    return [nodes, size, per_gpu, per_node, gpus, per_job, samples, opens, nic, epoch]


def swept() -> object:
    """The same through `sweep`, from the catalogs to full columns."""
    axes = {"nodes": numpy.arange(1.0, 1001.0), "sample_bytes": numpy.arange(1000.0) * 1e3 + 1e6}
    answer = sweep(model="cosmoflow", gpu="h100", axes=axes)
    return [grid.columns() for grid in answer.grids]


def checkpoints() -> object:
    """100,000 combinations of model, interval and bandwidth: dump time, overhead, and the interval by Daly."""
    models = numpy.array([112.4e9, 988e9, 2.467e12, 5.682e12, 16.56e12])[:, None, None]
    known = {
        "checkpoint_bytes": models,
        "checkpoint_interval": numpy.linspace(60, 7200, 200)[None, :, None],
        "checkpoint_write_bandwidth": numpy.geomspace(1e9, 1e13, 100)[None, None, :],
        "job_mean_time_to_interrupt": 11_135.0,
        "restart_seconds": 600.0,
        "persistent_every": 1,
        "stopped_share": 1.0,
        "staging_overhead": 0.0,
    }
    return [solve(name, known) for name in ("checkpoint_overhead", "daly_interval")]


def large_site(jobs: int = 1000) -> dict[str, object]:
    """A site of many jobs, each with a checkpoint, no two alike."""
    return {
        "name": "Many jobs",
        "clusters": {"main": {"node": "dgx-a100", "count": 5000}},
        "jobs": {f"job-{number}": job(number) for number in range(jobs)},
        "datasets": {"universe": {"model": "cosmoflow"}},
        "storage": {"protection": {"data": 8, "parity": 2}},
    }


def job(number: int) -> dict[str, object]:
    """One of many jobs: model, size, share and checkpoints by its number."""
    checkpoint = {
        "parameters": 10**9 + number,
        "precision": "fp32",
        "interval": f"{1800 + number} s",
        "waste": "5%",
        "failures": "rsc-1",
    }
    model = ("cosmoflow", "deepcam", "resnet50", "unet3d")[number % 4]
    shape = {"cluster": "main", "model": model, "nodes": 1 + number % 8, "share": 0.05, "epochs": 5 + number}
    return {**shape, "checkpoint": checkpoint} | ({"data": "universe"} if model == "cosmoflow" else {})


def many_jobs() -> object:
    """A site of 1,000 jobs, from its description to its requirement lines."""
    return plan(large_site())


def draws() -> object:
    return plan(EXAMPLE, samples=10_000)


def large_file(folder: str) -> Path:
    path = Path(folder) / "site.yaml"
    path.write_text(json.dumps(large_site(), indent=1), encoding="utf-8")
    return path


def large_workbook() -> object:
    """A site of 1,000 jobs, from its file to the bytes of its workbook."""
    with tempfile.TemporaryDirectory() as folder:
        return model_workbook(plan(large_file(folder)))


def large_report_peak() -> int:
    """The most memory of `ingest report` for that site."""
    with tempfile.TemporaryDirectory() as folder:
        return peak_of(COMMAND, "report", str(large_file(folder)), "-o", f"{folder}/site.xlsx")


def headers_of_a_release() -> float:
    """Processor time of reading the headers of a release of 410 GB."""
    with tempfile.TemporaryDirectory() as folder:
        bench_release.release(Path(folder))
        return median_seconds(lambda: bench_release.described(Path(folder)), 3, time.process_time)


def runs_of_goodput() -> object:
    """200 runs of 54 days with the checkpoints and interrupts of Llama 3 405B."""
    schedule, interrupts = Schedule(1113.5, 0.72, 111, 0.5), Interrupts((1.0,), (11_135.0,))
    return simulated(schedule, interrupts, Restart(600, 120), duration=54 * 86_400, runs=200, seed=0)


def long_sweep() -> object:
    return sweep_workbook(sweep(model="cosmoflow", gpu="h100", axes={"nodes": "1..100", "sample_bytes": "1MB..1000MB+1MB"}))


def table() -> str:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(CONFIG), encoding="utf-8")
        return _table(str(config))


def _table(config: str) -> str:
    bare = median_seconds(process(sys.executable, "-c", "pass"))
    starts = {
        "ingest --help": (process(COMMAND, "--help"), 3.5),
        "ingest bw": (process(COMMAND, "bw", *JOB), 6),
        "ingest bw --format json": (process(COMMAND, "bw", *JOB, "--format", "json"), 6),
        "ingest model config.json": (process(COMMAND, "model", config), 10),
        "ingest checkpoint": (process(COMMAND, "checkpoint", "llama3-405b", "--gpus", "16384"), 10),
        "ingest explain": (process(COMMAND, "explain", "ingest_bandwidth_per_job", *JOB), 10),
    }
    rows = [("what", "against", "ratio", "bar")]
    for name, (call, bar) in starts.items():
        rows.append((f"`{name}`", "`python -c pass`", f"{median_seconds(call) / bare:.1f}", f"≤ {bar}"))
    swept(), by_hand()
    ratio = median_seconds(swept, 7) / median_seconds(by_hand, 7)
    rows.append(("1,000,000 scenarios through `sweep`", "the same arithmetic in NumPy by hand", f"{ratio:.2f}", "≤ 1.5"))
    rows.append(("100,000 checkpoint scenarios in one call", "one second", f"{median_seconds(checkpoints, 7):.4f}", "≤ 1"))
    example = process(COMMAND, "plan", str(EXAMPLE))
    rows.append(("`ingest plan` of the largest example", "half a second", f"{median_seconds(example, 7) / 0.5:.2f}", "≤ 1"))
    rows.append(("`ingest validate`", "three seconds", f"{median_seconds(process(COMMAND, 'validate'), 3) / 3:.2f}", "≤ 1"))
    used = median_seconds(many_jobs, 3, time.process_time)
    rows.append(("a site of 1,000 jobs, planned", "one second of a processor", f"{used:.2f}", "≤ 1"))
    rows.append(("10,000 draws over the largest example site", "two seconds", f"{median_seconds(draws, 3):.2f}", "≤ 2"))
    rows.append(("a site of 1,000 jobs to its workbook", "one second", f"{median_seconds(large_workbook, 1):.1f}", "≤ 6"))
    rows.append(("peak memory of that as a process", "300 MB", f"{large_report_peak() / 300e6:.2f}", "≤ 1"))
    rows.append(("100,000 scenarios to a workbook", "one second", f"{median_seconds(long_sweep, 1):.1f}", "≤ 10"))
    read = headers_of_a_release()
    rows.append(("29,710 headers in 191 files of a release of 410 GB", "one second of a processor", f"{read:.2f}", "≤ 1"))
    rows.append(("200 simulated runs of 54 days", "two seconds", f"{median_seconds(runs_of_goodput, 7) / 2:.3f}", "≤ 1"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows.append(("peak memory of this process", "1 GiB", f"{peak / 2**30:.2f}", "≤ 1"))
    if CHROMIUM:
        rows += page_rows()
    if CORPUS.is_dir():
        rows += corpus_rows()
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---|---|---|", *lines[1:]])


def machine() -> str:
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    models = {line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")}
    name = " / ".join(sorted(models)) or platform.processor() or platform.machine()
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Measured on {os.cpu_count()} cores of {name}, {platform.system()}, Python {platform.python_version()}{load}."


def main() -> None:
    before_all = machine()
    measured = f"{before_all}\n\n{table()}"
    print(measured)
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n{measured}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
