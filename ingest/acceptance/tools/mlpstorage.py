"""MLPerf Storage (`mlpstorage`): its UNet3D on as many emulated H100 as the required rate supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.acceptance.loads import Setting, given_for
from ingest.acceptance.pack import repeated, script
from ingest.acceptance.test_spec import Load
from ingest.engine.expression import Num
from ingest.engine.registry import solve
from ingest.requirement import Requirement
from ingest.text import comment

VERSION = "2.0"
#: Of the ids of its tests, and the folder of its scripts.
SUFFIX = "mlperf"
EPOCHS = 5
FOLDER = "mlperf-data"


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The script of a test, with the arithmetic of `mlpstorage training datasize` above its commands."""
    load = loads[0]
    given = _given(requirement, load, setting)
    accelerators = int(given["benchmark_accelerators"])
    down, up = (int(solve(name, given)) for name in ("benchmark_files_down", "benchmark_files_up"))
    memory = int(setting.client_memory) // 2**30
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
    runs = repeated(setting.repeats, "", [result], drops=True)
    return {
        f"{SUFFIX}/fill-{ident}.sh": script(FOLDER, load.clients, False, [*about, making], folder=FOLDER),
        f"{SUFFIX}/{ident}.sh": script(ident, load.clients, False, [*about, *runs], folder=FOLDER, drops=True),
    }


def parameters(requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, Any]:
    """Values that a summary must show, and the record length, which it omits."""
    given = _given(requirement, loads[0], setting)
    return {
        "num_accelerators": int(given["benchmark_accelerators"]),
        "num_files_train": int(solve("benchmark_files_up", given)),
        "num_samples_per_file": 1,
        "epochs": EPOCHS,
        "record_length_bytes": int(given["mlperf_record_bytes"]),
    }


def _given(requirement: Requirement, load: Load, setting: Setting) -> Mapping[str, Num]:
    given = given_for(requirement, setting) | {"required_bandwidth": load.threshold}
    return given | {
        "benchmark_host_memory": setting.client_memory,
        "benchmark_hosts": load.clients,
        "benchmark_accelerators": solve("accelerators_for_bandwidth", given),
        "benchmark_batch": given["mlperf_batch"],
        "benchmark_record_bytes": given["mlperf_record_bytes"],
        "benchmark_samples_per_file": 1,
    }
