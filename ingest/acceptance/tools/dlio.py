"""DLIO: a workload whose emulated accelerators need exactly the required rate, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ingest.acceptance.loads import Task
from ingest.acceptance.pack import launch, repeated, script
from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.parsing import named_test, number, parsed, table
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.text import comment

#: PyPI's 2.0.0 is older and reads other keys; `tests/acceptance/dlio_keys.yaml` lists those of this commit.
VERSION = "2.0.0+e1919d7"
BATCH = 8
#: One sample per file, large enough that opens do not limit the rate.
RECORD_BYTES = {"full": 128 * 2**20, "1node": 128 * 2**10}
REHEARSAL_FILES, REHEARSAL_EPOCHS = 256, 2
FOLDER = "dlio-data"


def loads(task: Task) -> tuple[Load, ...]:
    """The load as DLIO runs it: through the page cache, from the data set that MLPerf Storage demands."""
    if task.rehearsal:
        return task.loads
    return (replace(task.load, dataset_bytes=round(solve("memory_rule_bytes", task.given))),)


def job_files(task: Task) -> dict[str, str]:
    """The workload file and the scripts of a test."""
    import yaml

    ident, load = task.ident, task.load
    workload = _workload(task, load.clients)
    text = comment(f"{ident}: {task.requirement.statement}") + "\n" + yaml.safe_dump(workload, sort_keys=False)
    run = f'$LAUNCH dlio_benchmark workload={ident} {{}} ++hydra.run.dir="{{}}" --config-dir="$here"'
    making = "++workload.workflow.generate_data=True ++workload.workflow.train=False"
    training = run.format("++workload.workflow.train=True", f"$RESULTS/{ident}.run$run")
    start, make = launch(load.clients, 1, task.rehearsal), run.format(making, "$TARGET/making")
    runs = repeated(task, "", [training], drops=True)
    files = {f"dlio/workload/{ident}.yaml": text}
    if task.rehearsal:
        return files | {f"dlio/{ident}.sh": script(ident, load.clients, True, [start, make, *runs])}
    clients, enter = task.data_clients, 'cd "$TARGET"'
    make = f'$LAUNCH dlio_benchmark workload=data {making} ++hydra.run.dir="$TARGET/making" --config-dir="$here"'
    filling = [enter, launch(clients, 1, False), make]
    # The files of all tests, of one sample size: each test reads as many as it needs.
    whole = _workload(task, clients)
    data = {name: whole[name] for name in ("model", "framework", "workflow", "dataset")}
    return files | {
        "dlio/workload/data.yaml": yaml.safe_dump(data, sort_keys=False),
        "dlio/fill-data.sh": script(FOLDER, clients, False, filling, folder=FOLDER),
        f"dlio/{ident}.sh": script(ident, load.clients, False, [enter, start, *runs], folder=FOLDER, drops=True),
    }


def parameters(task: Task) -> dict[str, Any]:
    """Values that a summary must show, and the record length, which DLIO's summary omits."""
    workload = _workload(task, task.load.clients)
    return {
        "num_accelerators": task.load.clients,
        "num_files_train": workload["dataset"]["num_files_train"],
        "num_samples_per_file": 1,
        "epochs": workload["train"]["epochs"],
        "record_length_bytes": RECORD_BYTES[task.setting.scale],
    }


def _workload(task: Task, clients: int) -> dict[str, Any]:
    """The workload on a number of clients, one emulated accelerator on each."""
    record_bytes = RECORD_BYTES[task.setting.scale]
    given = {**task.benchmark(clients, BATCH, record_bytes), "benchmark_hosts": clients}
    count = REHEARSAL_FILES if task.rehearsal else int(solve("benchmark_files_up", given))
    epochs = REHEARSAL_EPOCHS if task.rehearsal else int(solve("epochs_for_duration", {**given, "benchmark_files": count}))
    return {
        "model": {"name": "acceptance", "type": "cnn"},
        "framework": "pytorch",
        "workflow": {"generate_data": False, "train": True, "checkpoint": False},
        "dataset": {
            "data_folder": "data",
            "format": "npz",
            "num_files_train": count,
            "num_samples_per_file": 1,
            "record_length_bytes": record_bytes,
        },
        "reader": {
            "data_loader": "pytorch",
            "batch_size": BATCH,
            "read_threads": task.load.threads,
            "file_shuffle": "seed",
            "sample_shuffle": "seed",
        },
        "train": {"epochs": epochs, "computation_time": float(solve("emulated_step_seconds", given))},
        "metric": {"au": given["accepted_utilization"]},
    }


SHOWN = ("num_accelerators", "num_files_train", "num_samples_per_file", "epochs")
RATE = "train_throughput_mean_samples_per_second"


def read(text: str, path: str) -> list[Run] | None:
    """The run in a summary of DLIO, which MLPerf Storage writes too; None for other files.

    Raises:
        IngestError: the file is cut off, or without a training run.
    """
    if '"train_au_percentage"' not in text and '"num_accelerators"' not in text:
        return None
    found = table(parsed(text.lstrip(), 0, path, "DLIO's summary")[0], path)
    metric = table(found.get("metric", {}), f"{path}: metric")
    if RATE not in metric:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected '{RATE}'")
    test = named_test(path, "dlio|mlperf")
    memory = found.get("host_memory_GB")
    load = Observed(
        name=test,
        operation="read",
        rate=number(metric[RATE], f"{path}: {RATE}"),
        unit="sample/s",
        clients=int(number(found.get("num_hosts", 1), f"{path}: num_hosts")),
        memory_bytes=_memory(memory, path) if isinstance(memory, list) else None,
    )
    shown = {name: int(number(found[name], f"{path}: {name}")) for name in SHOWN if name in found}
    shown |= _record(metric, path)
    judged = str(metric.get("train_au_meet_expectation", ""))
    return [Run("dlio", path, test, (load,), shown=shown, judged=judged, began=str(found.get("start", "")))]


def _record(metric: Mapping[str, Any], path: str) -> dict[str, int]:
    """The record length implied by the printed rate; empty for versions that set it to 1."""
    printed = number(metric.get("train_io_mean_MB_per_second", 0), f"{path}: train_io_mean_MB_per_second")
    samples = number(metric[RATE], f"{path}: {RATE}")
    if not printed or not samples:
        return {}
    found = solve("record_bytes_reported", {"reported_mebibytes_per_second": printed, "measured_samples_per_second": samples})
    return {"record_length_bytes": round(found)} if found > 2 else {}


def _memory(listed: list[Any], path: str) -> float:
    """Memory of all hosts; DLIO writes GiB as GB."""
    gibibytes = sum(number(part, f"{path}: host_memory_GB") for part in listed)
    return float(solve("bytes_from_gibibytes", {"reported_gibibytes": gibibytes}))
