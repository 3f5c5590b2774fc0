"""`accept --from-observation`: fio and DLIO jobs that read as an observed job does, scaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.acceptance.test_spec import within
from ingest.acceptance.tools.dlio import BATCH, workload
from ingest.acceptance.tools.fio import section
from ingest.engine.interactive import InteractiveResult
from ingest.engine.registry import solve
from ingest.engine.result import envelope
from ingest.engine.value import Quantity
from ingest.errors import IngestError
from ingest.files import sha256, write_folder
from ingest.observation.observation import Observation, read_observation
from ingest.text import comment
from ingest.units import display

#: fio takes whole percents of requests; direct I/O takes whole blocks.
BLOCK, PERCENT = 4096, 100
#: Sizes that were listed stand for all reads from this share of them on; the bins of sizes do below it.
LISTED_SHARE = 0.9
SECONDS, RAMP_SECONDS = 60, 5
#: Largest requests in a file where requests of several sizes are mixed: one in so many meets its end.
ROOM = 64
#: Files of a reader at random, all of them open.
OPEN = 16
MOST_TIMES = 1e6


@dataclass(frozen=True, repr=False, eq=False)
class ObservedJob(InteractiveResult):
    """Jobs of a load generator that read as an observed job does."""

    folder: str  # where they were written
    rate: float  # bytes per second that the generators must reach
    readers: int  # threads that read
    sizes: Mapping[int, int]  # share of the requests by size, in percent
    times: float  # how many times the observed job
    files: Mapping[str, str]  # path inside the folder -> content
    warnings: tuple[str, ...]  # one line each

    @property
    def results(self) -> Mapping[str, Quantity]:
        """The rate that must be reached."""
        return {"demanded_read_bandwidth": Quantity(self.rate, "B/s")}

    def to_dict(self) -> dict[str, Any]:
        """The jobs as JSON."""
        body = {"folder": self.folder, "readers": self.readers, "read_sizes": {str(size): share for size, share in
                self.sizes.items()}, "files": [*self.files]}  # fmt: skip
        inputs = {"times": {"value": self.times, "unit": "1", "from": "user"}}
        return envelope("accept", body, inputs=inputs, results=self.results, warnings=self.warnings)


def observed_job(observation: str | Path, folder: str | Path, *, times: float | str = 1, force: bool = False) -> ObservedJob:
    """Write fio and DLIO jobs that read as an observed job does: sizes of requests, pattern, files, readers, rate.

    Args:
        observation: the JSON of `ingest observe`.
        folder: new or empty.
        times: how many times the observed job; whole readers are added.
        force: replace the files that an earlier call wrote into the folder.

    Raises:
        UsageError: an option is out of range, or a folder that is not empty.
        IngestError: the observation has no rate or no sizes of reads.
    """
    factor = within("--times", str(times), "1", 1, MOST_TIMES)
    seen = read_observation(observation)
    rate = seen.figures.get("demanded_read_bandwidth") or seen.figures.get("read_bandwidth")
    if rate is None or rate.value <= 0:
        raise IngestError(
            f"{observation}: no read bandwidth, expected an observation of reads: a Darshan log, a trace or a live job"
        )
    sizes = request_shares(seen)
    if not sizes:
        raise IngestError(f"{observation}: no sizes of reads, expected an observation with read_bytes_mean or read_sizes")
    threads = max(1, int(_number(seen, "readers", 1)))
    readers = threads * int(factor)
    given = {"read_bandwidth": rate.value, "job_copies": factor}
    demanded = float(solve("scaled_read_bandwidth", given))
    per_reader = float(solve("paced_read_bandwidth", {"scaled_read_bandwidth": demanded, "reading_threads": readers}))
    files = {"observed.fio": _fio(seen, sizes, readers, per_reader, threads)}
    dlio = _dlio(seen, threads)
    if dlio is not None:
        files["dlio/workload/observed.yaml"] = dlio
    files["README.md"] = _readme(seen, sizes, readers, demanded, factor, dlio is not None)
    sums = "".join(f"{sha256(content.encode())}  {name}\n" for name, content in sorted(files.items()))
    write_folder(folder, {**files, "SHA256SUMS": sums}, force)
    warnings = ("the stall of the observed job is unknown: the rate is a lower bound",) if rate.lower_bound else ()
    return ObservedJob(str(folder), demanded, readers, sizes, factor, files, warnings)


def _number(seen: Observation, name: str, usual: float) -> float:
    found = seen.facts.get(name)
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) and found > 0 else usual


def request_shares(seen: Observation) -> dict[int, int]:
    """Percent of the requests by size, in whole blocks; one size where only the mean is known."""
    listed = seen.facts.get("common_read_sizes")
    counted = [
        (float(size), count)
        for size, count in (listed.items() if isinstance(listed, Mapping) else ())
        if str(size).isdigit() and isinstance(count, (int, float)) and count > 0
    ]
    reads = seen.figures.get("reads")
    if reads is not None and sum(count for size, count in counted if size > 0) < LISTED_SHARE * reads.value:
        counted = [((one.low * one.below) ** 0.5, one.requests) for one in seen.sizes]
    # Reads at the end of a file move nothing.
    moving = [(size, count) for size, count in counted if size > 0 and count > 0]
    if not moving and "read_bytes_mean" in seen.figures:
        mean = seen.figures["read_bytes_mean"].value
        moving = [(mean, 1)] if mean > 0 else []
    counts: dict[int, float] = {}
    for size, count in moving:
        block = int(solve("aligned_io_bytes", {"requested_io_bytes": size, "direct_io_alignment": BLOCK}))
        counts[block] = counts.get(block, 0) + count
    # Whole percents that sum to a hundred: the largest remainders are rounded up; sizes below half a percent drop out.
    whole = sum(counts.values())
    exact = {size: PERCENT * count / whole for size, count in counts.items()}
    found = {size: int(share) for size, share in exact.items()}
    for size in sorted(exact, key=lambda one: found[one] - exact[one])[: PERCENT - sum(found.values())]:
        found[size] += 1
    return {size: found[size] for size in sorted(found) if found[size]}


def _fio(seen: Observation, sizes: Mapping[int, int], readers: int, rate: float, threads: int) -> str:
    """The job file: each reader reads files of its own, paced at the observed rate."""
    largest = max(sizes)
    per_open = seen.figures.get("read_bytes_per_open")
    size = max(largest, per_open.value if per_open else largest)
    files = max(1, int(_number(seen, "files", threads)) // threads)
    sequential = seen.facts.get("pattern") == "sequential"
    if not sequential and files > OPEN:
        # fio reads at random from the files that it holds open, and from no other.
        files, size = OPEN, size * files / OPEN
    if len(sizes) > 1 and size < ROOM * largest:
        # fio shortens requests at the end of a file: fewer, larger files of as many bytes keep their sizes.
        files, size = max(1, round(files * size / (ROOM * largest))), ROOM * largest
    whole = int(solve("aligned_io_bytes", {"requested_io_bytes": size, "direct_io_alignment": BLOCK}))
    about = (
        "Reads as the observed job does; TARGET is a folder on the storage under test.",
        "The files of all readers must exceed the memory of the client, or the caches of the storage serve them.",
    )
    options = {
        "ioengine": "psync",
        "direct": 1,
        "directory": "${TARGET}",
        "rw": "read" if sequential else "randread",
        "bssplit": ":".join(f"{one}/{share}" for one, share in sizes.items()),
        "norandommap": 1,
        "nrfiles": files,
        "filesize": whole,
        **({"openfiles": 1} if sequential else {}),
        "rate": round(rate),
        "time_based": 1,
        "runtime": SECONDS,
        "ramp_time": RAMP_SECONDS,
        "group_reporting": 1,
    }
    jobs = section("global", options) + section("observed-read", {"numjobs": readers})
    return "".join(f"{comment(line)}\n" for line in about) + jobs.rstrip() + "\n"


def _dlio(seen: Observation, threads: int) -> str | None:
    """The workload of DLIO; None where the observation has no samples."""
    import yaml

    rate = seen.figures.get("demanded_samples_per_second_per_gpu") or seen.figures.get("samples_per_second_per_gpu")
    size = seen.figures.get("bytes_read_per_sample")
    if rate is None or size is None or not rate.value or not size.value:
        return None
    per_open = seen.figures.get("read_bytes_per_open")
    samples = 1.0
    if per_open is not None and per_open.value:
        given = {"read_bytes_per_open": per_open.value, "observed_bytes_per_sample": size.value}
        samples = float(solve("observed_samples_per_file", given))
    step = float(solve("observed_step_seconds", {"samples_per_step": BATCH, "demanded_samples_per_second_per_gpu": rate.value}))
    gpus = int(_number(seen, "gpus", 1))
    dataset = {
        "num_files_train": int(_number(seen, "files", BATCH)),
        "num_samples_per_file": max(1, round(samples)),
        "record_length_bytes": round(size.value),
    }
    found = workload("observed", dataset, max(1, threads // gpus), {"epochs": 1, "computation_time": step})
    return yaml.safe_dump(found, sort_keys=False)


def _readme(seen: Observation, sizes: Mapping[int, int], readers: int, rate: float, times: float, dlio: bool) -> str:
    shown = ", ".join(f"{share} % of {display(size, 'B')}" for size, share in sizes.items())
    making = "dlio_benchmark workload=observed ++workload.workflow.generate_data=True ++workload.workflow.train=False"
    running = f"mpirun -n {int(_number(seen, 'gpus', 1) * times)} dlio_benchmark workload=observed"
    commands = f'{making} \\\n  --config-dir="$PWD/dlio"\n{running} --config-dir="$PWD/dlio"\n' if dlio else ""
    return f"""# The observed job as a test

{readers:,} readers, requests of {shown}, {display(rate, "B/s")} in total, {times:g} times the observed job.

```sh
TARGET=/path/on/the/storage fio observed.fio --output-format=json -o observed.json
{commands}```

fio paces each reader at the observed rate: the storage passes where the total reaches {display(rate, "B/s")}.
"""
