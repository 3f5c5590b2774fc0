"""MLPerf Storage (`mlpstorage`): its UNet3D on as many emulated H100 as the required rate supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.acceptance.loads import Task
from ingest.acceptance.pack import repeated, script
from ingest.engine.expression import Num
from ingest.engine.registry import solve
from ingest.text import comment

VERSION = "2.0"
#: Of the ids of its tests, and the folder of its scripts.
SUFFIX = "mlperf"
EPOCHS = 5
FOLDER = "mlperf-data"


def job_files(task: Task) -> dict[str, str]:
    """The script of a test, with the arithmetic of `mlpstorage training datasize` above its commands."""
    ident, load, given = task.ident, task.load, _given(task)
    accelerators = int(given["benchmark_accelerators"])
    down, up = (int(solve(name, given)) for name in ("benchmark_files_down", "benchmark_files_up"))
    memory = int(task.setting.client_memory) // 2**30
    hosts = "--hosts $(tr '\\n' ' ' < \"$HOSTS\")"
    common = f"--model unet3d --client-host-memory-in-gb {memory} --num-client-hosts {load.clients} --accelerator-type h100"
    data = f'--data-dir "$TARGET/unet3d" --params dataset.num_files_train={up}'
    run = f"mlpstorage training run {hosts} {common} --num-accelerators {accelerators} {data}"
    about = [
        comment(f"{accelerators} emulated H100 at an AU of {given['accepted_utilization']} read the required rate"),
        comment(f"files: {down} as version 2.0 counts them (rounded down), {up} rounded up, which satisfies every rule"),
        f"mlpstorage training datasize {common} --max-accelerators {accelerators}",
    ]
    making = f"mlpstorage training datagen {hosts} --model unet3d --num-processes {load.clients * load.threads} {data}"
    result = f'{run} --checkpoint-folder "$TARGET/checkpoints" --results-dir "$RESULTS/{ident}.run$run"'
    runs = repeated(task, "", [result], drops=True)
    return {
        f"{SUFFIX}/fill-{ident}.sh": script(FOLDER, load.clients, False, [*about, making], folder=FOLDER),
        f"{SUFFIX}/{ident}.sh": script(ident, load.clients, False, [*about, *runs], folder=FOLDER, drops=True),
    }


def parameters(task: Task) -> dict[str, Any]:
    """Values that a summary must show, and the record length, which it omits."""
    given = _given(task)
    return {
        "num_accelerators": int(given["benchmark_accelerators"]),
        "num_files_train": int(solve("benchmark_files_up", given)),
        "num_samples_per_file": 1,
        "epochs": EPOCHS,
        "record_length_bytes": int(given["mlperf_record_bytes"]),
    }


def _given(task: Task) -> Mapping[str, Num]:
    accelerators = solve("accelerators_for_bandwidth", {**task.given, "required_bandwidth": task.load.threshold})
    return task.benchmark(accelerators, task.given["mlperf_batch"], task.given["mlperf_record_bytes"])
