"""Darshan logs as plain numbers, read in a process of its own: the C library ends its process on some damaged logs.

`python -m ingest.observation.darshan_records PREFIX LOG…` prints one JSON object per line and log.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

#: The largest address space of the reading process, in bytes: a log that unpacks to more is no log.
MOST_MEMORY = 4 * 2**30
#: the modules whose reads are calls of the program, and those of their counters that are no opens
LAYERS = {"POSIX": ("POSIX_DUPS", "POSIX_FILENOS"), "STDIO": ("STDIO_FDOPENS",)}
#: the ten bins of sizes in Darshan's counters
BINS = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS")


def main(prefix: str, paths: list[str]) -> None:
    """Print what each log holds of the files below a folder; with an empty prefix, of all files that were read."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, most))
    for path in paths:
        # One line per log at once: a log that ends this process is the first without a line.
        print(json.dumps(_log(path, prefix)), flush=True)


def _log(path: str, prefix: str) -> dict[str, Any]:
    from darshan import DarshanReport
    from darshan.backend import cffi_backend

    report = DarshanReport(path, read_all=False)
    job, modules = report.metadata["job"], report.modules
    if not job["nprocs"]:
        raise RuntimeError("a job without processes")
    began = job["start_time_sec"] + job["start_time_nsec"] / 1e9
    found: dict[str, Any] = {
        "path": path,
        "uid": job["uid"],
        "jobid": job["jobid"],
        "nprocs": job["nprocs"],
        "exe": report.metadata["exe"],
        "began": began,
        "seconds": job["run_time"],
        "ended": job["end_time_sec"] + job["end_time_nsec"] / 1e9,
        "modules": sorted(modules),
        "partial": sorted(name for name, one in modules.items() if one["partial_flag"] and name in LAYERS),
        "all_bytes": 0, "bytes": 0, "reads": 0, "opens": 0, "files": [], "unread": 0, "negative": "",
        "read_seconds": 0.0, "sequential": 0, "first": None, "last": None,
    }  # fmt: skip
    sizes, common = [0] * len(BINS), Counter[int]()
    names = cffi_backend.log_get_name_records(report.log)
    for layer in LAYERS:
        if layer in modules:
            for record in _records(report, layer):
                _add(found, record, layer, names.get(record["id"], ""), prefix, sizes, common)
    heat, others = {}, [name for name in modules if name not in LAYERS and not name.startswith("DXT") and name != "HEATMAP"]
    if "HEATMAP" in modules:
        # Bytes read by time, summed over ranks: the width of a bin in seconds and the bins that hold something.
        width, bins = 0.0, Counter[int]()
        for record in _records(report, "HEATMAP"):
            if "MPIIO" in names.get(record["id"], "").upper():
                # The calls of MPI-IO end in those of POSIX, which are counted.
                continue
            width = float(record["bin_width_seconds"])
            for place in record["read_bins"].nonzero()[0]:
                bins[int(place)] += int(record["read_bins"][place])
        heat = {"width": width, "bins": sorted(bins.items())}
    for name in others:
        # A log that is cut off ends in a later module: the library reports that as it reads on.
        if name in ("MPI-IO", "H5F", "H5D", "LUSTRE"):
            for _ in _records(report, name):
                pass
    return {**found, "sizes": sizes, "common": common.most_common(16), "heat": heat}


def _records(report: Any, module: str) -> Iterator[dict[str, Any]]:
    from darshan.backend import cffi_backend

    while (record := cffi_backend.log_get_record(report.log, module, dtype="dict")) is not None:
        yield record


def _add(
    found: dict[str, Any], record: dict[str, Any], layer: str, name: str, prefix: str, sizes: list[int], common: Counter[int]
) -> None:
    """Add one file of one layer to the totals of a log."""
    counters = {key: int(value) for key, value in record["counters"].items()}
    times = {key: float(value) for key, value in record["fcounters"].items()}
    moved, reads, opens = (counters[f"{layer}_{what}"] for what in ("BYTES_READ", "READS", "OPENS"))
    if min(moved, reads, opens) < 0:
        found["negative"] = f"{layer}: {name or record['id']}"
    found["all_bytes"] += moved
    if prefix and name != prefix and not name.startswith(prefix.rstrip("/") + "/"):
        return
    opens -= sum(max(0, counters.get(other, 0)) for other in LAYERS[layer])
    if not reads:
        # Opened to be read, and never read: the file was mapped, or only looked at.
        found["unread"] += bool(prefix and opens > 0 and counters[f"{layer}_WRITES"] == 0)
        return
    found["bytes"] += moved
    found["reads"] += reads
    found["opens"] += opens
    found["files"].append(record["id"])
    found["read_seconds"] += times[f"{layer}_F_READ_TIME"]
    first, last = times[f"{layer}_F_READ_START_TIMESTAMP"], times[f"{layer}_F_READ_END_TIMESTAMP"]
    found["first"] = first if found["first"] is None else min(found["first"], first)
    found["last"] = last if found["last"] is None else max(found["last"], last)
    if layer != "POSIX":
        return
    found["sequential"] += max(0, counters["POSIX_SEQ_READS"])
    for place, bin_name in enumerate(BINS):
        sizes[place] += counters[f"POSIX_SIZE_READ_{bin_name}"]
    if counters["POSIX_WRITES"] > 0:
        # Darshan counts the common sizes of reads and writes of a file together.
        return
    for place in range(1, 5):
        common[counters[f"POSIX_ACCESS{place}_ACCESS"]] += max(0, counters[f"POSIX_ACCESS{place}_COUNT"])


if __name__ == "__main__":
    sys.stderr.flush()
    try:
        main(sys.argv[1], sys.argv[2:])
    except ModuleNotFoundError as error:
        print(json.dumps({"missing": error.name}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
    sys.stdout.flush()
    # The library asserts on handles of damaged logs as it closes them.
    os._exit(0)
