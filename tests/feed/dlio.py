"""Runs of the DLIO benchmark on a throttled disk, as rows of a CSV.

DLIO reads its files with PyTorch's loader and direct I/O, and sleeps for the computation of a step and for the preprocessing of
a sample. A cgroup limits the bandwidth of its reads. A row holds the settings, what single reads and the hand-over of a batch
take without a limit, and the utilization that DLIO reports.

    PYTHONPATH=tests python tests/feed/dlio.py --dlio dlio_benchmark --mpi mpiexec -o runs.csv
"""

import argparse
import csv
import json
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from feed.loader import read, throttle

COLUMNS = (
    "id", "ranks", "workers", "prefetch", "batch", "steps", "step_seconds", "slept", "slept_seconds", "slept_cv",
    "sample_bytes", "read_bandwidth", "read_seconds", "late_seconds", "handover_seconds", "load", "utilization", "waits",
)  # fmt: skip
#: Bytes of a sample, and files of the data set: those of the longest run.
RECORD, FILES = 1_048_576, 720
#: Ranks, workers, batches ahead per worker, batch, steps, computation of a step; distribution, mean, cv of a sample's sleep.
SETTINGS = {
    "disk-limits": (1, 4, 2, 4, 80, 0.12, "fixed", 0.01, 0),
    "disk-near": (1, 4, 2, 4, 80, 0.23, "fixed", 0.01, 0),
    "disk-suffices": (1, 4, 2, 4, 60, 0.35, "fixed", 0.02, 0),
    "workers-limit": (1, 2, 2, 4, 60, 0.25, "fixed", 0.2, 0),
    "latency-varies": (1, 4, 1, 1, 300, 0.1, "gamma", 0.3, 0.5),
    "latency-varies-ahead": (1, 4, 4, 1, 300, 0.1, "gamma", 0.33, 1),
    "tail-in-batches": (1, 6, 2, 8, 80, 0.45, "gamma", 0.3, 1),
    "two-ranks-share-disk": (2, 2, 2, 4, 60, 0.3, "fixed", 0.02, 0),
    "two-ranks-wait": (2, 3, 2, 1, 200, 0.2, "gamma", 0.5, 0.5),
}
#: Steps and their computation where nothing is slow: what remains is the hand-over of a batch.
CALIBRATION = {"steps": 30, "step_seconds": 0.3}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dlio", required=True)
    parser.add_argument("--mpi", default="mpiexec")
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, options.output.open("a", newline="") as output:
        writer = csv.DictWriter(output, COLUMNS, lineterminator="\n")
        if output.tell() == 0:
            writer.writeheader()
        command = shlex.split(options.dlio)
        generated = _of_workload(folder, {"dataset.num_files_train": FILES}, "workflow.generate_data", "generate")
        subprocess.run([*command, *generated], check=True, cwd=folder)
        os.sync()
        for name in options.only:
            writer.writerow(row(name, [options.mpi, "-n", str(SETTINGS[name][0]), *command], folder))
            output.flush()


def row(name, command, folder):
    """The row of a run with the settings of a name."""
    setting = dict(zip(COLUMNS[1:], SETTINGS[name], strict=False))
    paths = sorted(Path(folder, "data", "train").iterdir())
    found = run(f"{name}-calibration", {**setting, **CALIBRATION, "slept_seconds": 0}, command, folder)
    handover = CALIBRATION["step_seconds"] * (1 / found["utilization"] - 1)
    with throttle(folder):
        bandwidth, alone, late = measured(paths)
        load = os.getloadavg()[0]
        found = run(name, setting, command, folder)
    figures = {
        "id": name, "sample_bytes": paths[0].stat().st_size, "read_bandwidth": round(bandwidth),
        "read_seconds": round(alone, 5), "late_seconds": round(late, 5), "handover_seconds": round(handover, 5),
        "load": round(load, 2),
    }  # fmt: skip
    print(name, figures, found["utilization"])
    return {**setting, **figures, **found}


def run(name, setting, command, folder):
    """Run DLIO; returns the utilization that it reports, and the waits of its steps in milliseconds."""
    seconds, variation = setting["slept_seconds"], setting["slept_cv"]
    shape = 1 / variation**2 if variation else 1
    gamma = {"type": "gamma", "shape": shape, "scale": seconds / shape}
    slept = {"mean": seconds} if setting["slept"] == "fixed" or not seconds else gamma
    settings = {
        "dataset.num_files_train": setting["steps"] * setting["batch"] * setting["ranks"],
        "reader.batch_size": setting["batch"],
        "reader.read_threads": setting["workers"],
        "reader.prefetch_size": setting["workers"] * setting["prefetch"],
        "train.computation_time": setting["step_seconds"],
        **{f"reader.preprocess_time.{key}": value for key, value in slept.items()},
    }
    subprocess.run([*command, *_of_workload(folder, settings, "workflow.train", name)], check=True, cwd=folder)
    outputs = [json.loads(path.read_text())["1"] for path in sorted(Path(folder, name).glob("*_output.json"))]
    waits = [round(1e3 * wait) for output in outputs for wait in output["load"]["block1"]]
    utilization = sum(output["au"]["block1"] for output in outputs) / len(outputs) / 100
    return {"utilization": round(utilization, 5), "waits": " ".join(map(str, waits))}


def measured(paths):
    """Without DLIO: bytes per second of reads one after the other, seconds of a read after a pause, how late a pause ends."""
    start = time.perf_counter()
    size = sum(read(path, uncached=True) for path in paths[:120])
    bandwidth = size / (time.perf_counter() - start)
    taken, late, spaced = 0.0, 0.0, paths[120:150]
    for path in spaced:
        start = time.perf_counter()
        time.sleep(0.08)
        woken = time.perf_counter()
        read(path, uncached=True)
        taken += time.perf_counter() - woken
        late += woken - start - 0.08
    return bandwidth, taken / len(spaced), late / len(spaced)


def _of_workload(folder, settings, phase, name):
    """Arguments of DLIO: one phase of a workload of files with one sample each."""
    usual = {
        "workflow.generate_data": False, "workflow.train": False, "workflow.checkpoint": False,
        "dataset.record_length_bytes": RECORD, "dataset.record_length_bytes_stdev": 0,
        "dataset.record_length_bytes_resize": 0, "dataset.data_folder": f"{folder}/data",
        "reader.odirect": True, "train.epochs": 1, phase: True, **settings,
    }  # fmt: skip
    return [
        "workload=unet3d_h100",
        f"hydra.run.dir={folder}/{name}",
        *(f"++workload.{key}={value}" for key, value in usual.items()),
    ]


if __name__ == "__main__":
    main()
