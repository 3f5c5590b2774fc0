"""DLIO and MLPerf Storage, which runs it: a workload that needs exactly the required rate, and the summary of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ingest.acceptance.test_spec import Load, Observed, Run
from ingest.acceptance.tools.job_files import (
    ROUNDED,
    Task,
    data_scripts,
    launch,
    named_test,
    number,
    own_script,
    parsed,
    repeated,
    script,
    table,
)
from ingest.engine.expression import Num
from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.files import read_text
from ingest.text import comment

#: PyPI's 2.0.0 is older and reads other keys; `tests/acceptance/dlio_keys.yaml` lists those of this commit.
VERSION = "2.0.0+e1919d7"
#: Samples of one step of an emulated accelerator: DLIO asks for a number, and the rate does not depend on it.
BATCH = 8
#: One sample per file, large enough that opens do not limit the rate.
RECORD_BYTES = {"full": 128 * 2**20, "1node": 128 * 2**10}
REHEARSAL_FILES, REHEARSAL_EPOCHS = 256, 2
#: MLPerf Storage: its version, the suffix of the ids of its tests and folder of its scripts, and its epochs.
MLPERF_VERSION, MLPERF, MLPERF_EPOCHS = "3.0", "mlperf", 5
#: Of a summary: the settings that it shows, these and the record length, which it omits, and the rate.
SHOWN = ("num_accelerators", "num_files_train", "num_samples_per_file", "epochs")
EXPECTED = (*SHOWN, "record_length_bytes")
RATE = "train_throughput_mean_samples_per_second"


def direct(task: Task) -> float:
    """Bytes of the data set that DLIO reads with direct I/O; 0 where the system holds one that exceeds the clients' memory."""
    data = task.setting.data
    whole = data and solve("memory_rule_bytes", {**task.given, "clients_under_test": data.clients})
    return data.uncached if data and whole and whole > data.room else 0


def loads(task: Task, *, ruled: bool = False) -> tuple[Load, ...]:
    """The load as DLIO runs it: from data by the rule of MLPerf Storage, or unless `ruled` from fewer with direct I/O."""
    if task.rehearsal and not ruled:
        return task.loads
    whole = (0 if ruled else direct(task)) or float(solve("memory_rule_bytes", task.given))
    return (replace(task.load, dataset_bytes=round(whole)),)


def job_files(task: Task) -> dict[str, str]:
    """The workload file and the scripts of a test."""
    import yaml

    ident, load, clients = task.ident, task.load, task.data_clients
    tested = yaml.safe_dump(_workload(task, load.clients), sort_keys=False)
    making = "++workload.workflow.generate_data=True ++workload.workflow.train=False"
    run = '$LAUNCH dlio_benchmark workload={} {} ++hydra.run.dir="{}" --config-dir="$here"'
    training = run.format(ident, "++workload.workflow.train=True", f"$RESULTS/{ident}.run$run")
    start, runs = launch("dlio_benchmark", load.clients, 1, task.rehearsal), [*repeated(task, "", [training], drops=True)]
    files = {f"dlio/workload/{ident}.yaml": f"{comment(f'{ident}: {task.requirement.statement}')}\n{tested}"}
    if task.rehearsal:
        return files | own_script(task, "dlio", [start, run.format(ident, making, "$TARGET/making"), *runs])
    enter = 'cd "$TARGET"'
    # The files of all tests, of one sample size: each test reads as many as it needs.
    whole = _workload(task, clients)
    data = {name: whole[name] for name in ("model", "framework", "workflow", "dataset")}
    files["dlio/workload/data.yaml"] = yaml.safe_dump(data, sort_keys=False)
    filling = [enter, launch("dlio_benchmark", clients, 1, False), run.format("data", making, "$TARGET/making")]
    return files | data_scripts(task, "dlio", "data", filling, [enter, start, *runs])


def parameters(task: Task) -> dict[str, Any]:
    """Values that a summary must show, and the record length, which DLIO's summary omits."""
    found = _workload(task, task.load.clients)
    files, epochs = found["dataset"]["num_files_train"], found["train"]["epochs"]
    return dict(zip(EXPECTED, (task.load.clients, files, 1, epochs, RECORD_BYTES[task.setting.scale]), strict=True))


def _workload(task: Task, clients: int) -> dict[str, Any]:
    """The workload on a number of clients, one emulated accelerator on each."""
    record_bytes = RECORD_BYTES[task.setting.scale]
    given = {**task.benchmark(clients, BATCH, record_bytes), "benchmark_hosts": clients}
    if unbuffered := direct(task):
        given |= {"benchmark_memory_multiple": 1, "benchmark_memory": unbuffered, "benchmark_steps": 1}
    count = REHEARSAL_FILES if task.rehearsal else int(solve("benchmark_files_up", given))
    epochs = REHEARSAL_EPOCHS if task.rehearsal else int(solve("epochs_for_duration", {**given, "benchmark_files": count}))
    train = {"epochs": epochs, "computation_time": float(solve("emulated_step_seconds", given))}
    found = workload("acceptance", {"num_files_train": count, "record_length_bytes": record_bytes}, task.load.threads, train)
    found["reader"] |= {"odirect": True} if unbuffered else {}
    return {**found, "metric": {"au": given["accepted_utilization"]}}


def workload(name: str, dataset: Mapping[str, int], read_threads: int, train: Mapping[str, float]) -> dict[str, Any]:
    """A workload of DLIO that trains on files which were made before."""
    shuffles = dict.fromkeys(("file_shuffle", "sample_shuffle"), "seed")
    return {
        "model": {"name": name, "type": "cnn"},
        "framework": "pytorch",
        "workflow": {"generate_data": False, "train": True, "checkpoint": False},
        "dataset": {"data_folder": "data", "format": "npz", "num_samples_per_file": 1, **dataset},
        "reader": {"data_loader": "pytorch", "batch_size": BATCH, "read_threads": read_threads, **shuffles},
        "train": dict(train),
    }


def mlperf_files(task: Task) -> dict[str, str]:
    """The scripts of a test, with the arithmetic of `mlpstorage … datasize` above its commands."""
    ident, load, given = task.ident, task.load, _mlperf_given(task)
    accelerators = int(given["benchmark_accelerators"])
    down, up = (int(solve(name, given)) for name in ("benchmark_files_down", "benchmark_files_up"))
    memory = int(task.setting.client_memory) // 2**30
    hosts = "--hosts $(tr '\\n' ' ' < \"$HOSTS\")"
    # CLOSED and OPEN of release 3.0 emulate a B200 or an MI355; the emulated H100, and a number of files, take `whatif`.
    # Every command of it wants the name of the system, the one that sizes the data set too.
    model, system = "mlpstorage whatif training unet3d", '--systemname "${SYSTEM:-acceptance}"'
    kept = f'--results-dir "$KEPT" {system}'
    common = f"--client-host-memory-in-gb {memory} --num-client-hosts {load.clients} --accelerator-type h100"
    data = f'--data-dir "$TARGET/unet3d" --params dataset.num_files_train={up}'
    init = 'mkdir -p "$KEPT" && mlpstorage init "${ORGANISATION:-acceptance}" "$KEPT"'
    about = [
        comment(f"{accelerators} emulated H100 at an AU of {given['accepted_utilization']} read the required rate"),
        comment(f"files: {down} as version 2.0 counts them (rounded down), {up} rounded up, which satisfies every rule"),
        f"{model} datasize --max-accelerators {accelerators} {common} {system}",
    ]
    made = f'KEPT="$RESULTS/{ident}.datagen"'
    making = f"{model} datagen file {hosts} --num-processes {load.clients * load.threads} {data} {kept}"
    place = f'KEPT="$RESULTS/{ident}.run$run"'
    run = f"{model} run file {hosts} --num-accelerators {accelerators} {common} {data}"
    result = f'{run} --checkpoint-folder "$TARGET/checkpoints" {kept}'
    runs, folder = repeated(task, "", [place, init, result], drops=True), f"{MLPERF}-data"
    return {
        f"{MLPERF}/fill-{ident}.sh": script(folder, load.clients, False, [*about, made, init, making], folder=folder),
        f"{MLPERF}/{ident}.sh": script(ident, load.clients, False, [*about, *runs], folder=folder, drops=True),
    }


def mlperf_parameters(task: Task) -> dict[str, Any]:
    """Values that a summary must show, and the record length, which it omits."""
    given = _mlperf_given(task)
    accelerators, record_bytes = int(given["benchmark_accelerators"]), int(given["mlperf_record_bytes"])
    files = int(solve("benchmark_files_up", given))
    return dict(zip(EXPECTED, (accelerators, files, 1, MLPERF_EPOCHS, record_bytes), strict=True))


def _mlperf_given(task: Task) -> Mapping[str, Num]:
    accelerators = solve("accelerators_for_bandwidth", {**task.given, "required_bandwidth": task.load.threshold})
    return task.benchmark(accelerators, task.given["mlperf_batch"], task.given["mlperf_record_bytes"])


def read(text: str, path: str) -> list[Run] | None:
    """The run in a summary of DLIO, which MLPerf Storage writes too; None for other files.

    Raises IngestError: the file is cut off, or without a training run.
    """
    if '"train_au_percentage"' not in text and '"num_accelerators"' not in text:
        return None
    found = table(parsed(text.lstrip(), 0, path, "DLIO's summary")[0], path)
    metric = table(found.get("metric", {}), f"{path}: metric")
    if RATE not in metric:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected '{RATE}'")
    test = named_test(path, "dlio|mlperf")
    rate = number(metric[RATE], f"{path}: {RATE}")
    clients, memory = int(number(found.get("num_hosts", 1), f"{path}: num_hosts")), None
    if isinstance(listed := found.get("host_memory_GB"), list):
        # DLIO writes GiB as GB.
        gibibytes = sum(number(part, f"{path}: host_memory_GB") for part in listed)
        memory = float(solve("bytes_from_gibibytes", {"reported_gibibytes": gibibytes}))
    recorded = _recorded(Path(path).parent / ".hydra/config.yaml")
    unbuffered = recorded.get("reader.odirect") == "True"
    load = Observed(test, "read", rate, "sample/s", clients=clients, memory_bytes=None if unbuffered else memory)
    listed = metric.get(RATE.replace("_mean", ""))
    each = tuple(number(one, f"{path}: {RATE}") for one in listed) if isinstance(listed, list) else ()
    told = tuple(_contradictions(found, each, rate))
    load = replace(load, recorded=(recorded,) if recorded else (), figures=each, contradictions=told)
    shown = {name: int(number(found[name], f"{path}: {name}")) for name in SHOWN if name in found}
    printed = number(metric.get("train_io_mean_MB_per_second", 0), f"{path}: train_io_mean_MB_per_second")
    if printed and rate:
        # The record length that the printed rate implies; some versions set it to 1.
        given = {"reported_mebibytes_per_second": printed, "measured_samples_per_second": rate}
        length = solve("record_bytes_reported", given)
        shown |= {"record_length_bytes": round(length)} if length > 2 else {}
    judged = str(metric.get("train_au_meet_expectation", ""))
    hosts = (str(found["hostname"]),) if "hostname" in found else ()
    return [Run("dlio", path, test, (load,), shown=shown, judged=judged, began=str(found.get("start", "")), hosts=hosts)]


def flat(found: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """The values of nested settings by their dotted names."""
    parts = [(f"{above}{name}", value) for name, value in found.items()]
    nested = [flat(value, f"{name}.") if isinstance(value, dict) else {name: str(value)} for name, value in parts]
    return {name: value for part in nested for name, value in part.items()}


def _recorded(path: Path) -> dict[str, str]:
    """The workload that DLIO wrote next to a summary; empty without it."""
    import yaml

    if not path.is_file():
        return {}
    try:
        found = yaml.safe_load(read_text(path, "the settings of DLIO"))
    except yaml.YAMLError:
        raise IngestError(f"{path}: found no whole YAML, expected the settings that DLIO writes") from None
    whole = found.get("workload") if isinstance(found, dict) else None
    return flat(whole) if isinstance(whole, dict) else {}


def _contradictions(found: Mapping[str, Any], each: Sequence[float], rate: float) -> Iterator[str]:
    """Where the rate does not agree with that of the epochs, or with the time between start and end."""
    if each and rate and abs(sum(each) / len(each) - rate) > ROUNDED * rate:
        yield f"rate: found {rate:,.4g} samples/s, expected {sum(each) / len(each):,.4g}, the mean of its epochs"
    with suppress(KeyError, ValueError, TypeError):
        span = (datetime.fromisoformat(found["end"]) - datetime.fromisoformat(found["start"])).total_seconds()
        samples = found["num_files_train"] * found["num_samples_per_file"] * found["epochs"]
        if rate and samples / rate > span * (1 + ROUNDED) + 1:
            yield f"time: found {span:,.0f} s between start and end, expected {samples / rate:,.0f} s of its samples and rate"
