"""An in-order loader of several processes over real files, in the manner of PyTorch's, and runs of it that are recorded.

    python tests/feed/loader.py --seed 1 --count 30 -o runs.csv
    python tests/feed/loader.py --seed 4 --count 10 --throttle -o runs.csv   # as root, on a disk that a cgroup can throttle

One index queue per worker, one result queue, `prefetch` batches outstanding per worker; batch k goes to worker k mod W, and
the main process hands the batches over in order, asking for one more batch whenever it takes one. Each sample is a file that
is opened and read; its latency and its decoding are slept; the bandwidth may be throttled. A row holds the settings, the
utilization, and the seconds that were drawn for each batch: all that is needed to predict the run.
"""

import argparse
import contextlib
import csv
import mmap
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import numpy

COLUMNS = (
    "id", "loader", "latency_by", "seed", "workers", "prefetch", "batch", "steps", "step_seconds", "latency_seconds",
    "latency_cv", "decode_seconds", "sample_bytes", "read_bandwidth", "load", "utilization", "late_seconds", "drawn",
)  # fmt: skip
#: A run lasts about this long, so that many fit into minutes.
LONGEST = 2.5
FILES = 64
#: Bytes per second of a throttled disk, and the group that is throttled.
THROTTLED, GROUP = 20 * 2**20, Path("/sys/fs/cgroup/blkio/loader-runs")


def throttled_settings(seed, count):
    """Settings of runs whose reads take 0.6 to 1.4 times what the disk gives, and whose latencies leave the workers time."""
    chance = numpy.random.default_rng(seed)
    for number in range(count):
        workers, batch = int(chance.integers(2, 9)), int(2 ** chance.integers(0, 4))
        load, busy = chance.uniform(0.6, 1.4), chance.uniform(0.1, 0.7)
        step = round(batch * 262_144 / THROTTLED / load, 4)
        yield {
            "id": f"{seed}-{number}", "seed": seed * 1000 + number, "workers": workers, "prefetch": int(chance.integers(1, 5)),
            "batch": batch, "steps": max(20, int(LONGEST / step / max(1, load))), "step_seconds": step,
            "latency_seconds": round(busy * step * workers / batch, 6), "latency_cv": round(float(chance.uniform(0.1, 1)), 3),
            "decode_seconds": 0.0, "sample_bytes": 262_144, "read_bandwidth": THROTTLED,
        }  # fmt: skip


def settings(seed, count):
    """Settings of runs, drawn by seed: reads and decoding take 0.5 to 1.5 times what keeps the steps fed on average."""
    chance = numpy.random.default_rng(seed)
    for number in range(count):
        workers, prefetch = int(chance.integers(1, 9)), int(chance.integers(1, 9))
        batch = int(2 ** chance.integers(0, 5))
        step = float(chance.choice([0.02, 0.03, 0.05, 0.08]))
        load = chance.uniform(0.5, 1.5)
        seconds = load * step * workers / batch
        decode = min(0.08, seconds * float(chance.choice([0, 0, 0.3, 0.6])))
        yield {
            "id": f"{seed}-{number}", "seed": seed * 1000 + number, "workers": workers, "prefetch": prefetch, "batch": batch,
            "steps": max(20, int(LONGEST / step / max(1, load * 1.2))), "step_seconds": step,
            "latency_seconds": round(seconds - decode, 6),
            "latency_cv": round(float(numpy.exp(chance.uniform(numpy.log(0.1), numpy.log(3)))), 3),
            "decode_seconds": round(decode, 6), "sample_bytes": int(chance.choice([16_384, 65_536, 262_144])),
            "read_bandwidth": 0,
        }  # fmt: skip


def latencies(setting):
    """Seconds of each sample's read, by batch: lognormal, of the given mean and coefficient of variation."""
    variance = numpy.log1p(setting["latency_cv"] ** 2)
    chance = numpy.random.default_rng(setting["seed"])
    size = (setting["steps"], setting["batch"])
    return setting["latency_seconds"] * chance.lognormal(-variance / 2, variance**0.5, size)


class Files:
    """A data set of files, each read whole, with a latency and a decoding time that are slept.

    What a sleep takes beyond its time is taken off the next one, so that the latencies of a worker have the drawn sum: a busy
    machine oversleeps by up to a millisecond, which no storage does.
    """

    def __init__(self, folder, setting):
        self.paths = sorted(Path(folder).iterdir())
        self.latencies = latencies(setting).ravel()
        self.decode_seconds = setting["decode_seconds"]
        self.late = 0.0
        self.throttled = setting["read_bandwidth"] > 0

    def __len__(self):
        return len(self.latencies)

    def __getitem__(self, index):
        start = time.perf_counter()
        size = read(self.paths[index % len(self.paths)], uncached=self.throttled)
        if self.throttled:  # the latency comes on top of what the disk takes
            start = time.perf_counter()
        planned = self.latencies[index] + self.decode_seconds
        time.sleep(max(0.0, planned - self.late - (time.perf_counter() - start)))
        taken = time.perf_counter() - start
        self.late += taken - planned
        return size, taken - planned


def read(path, uncached):
    """Read a file whole; returns its bytes."""
    file = os.open(path, os.O_RDONLY | (os.O_DIRECT if uncached else 0))
    try:
        with mmap.mmap(-1, -(-path.stat().st_size // 4096) * 4096) as room:  # aligned, as direct reads must be
            return os.readv(file, [room])
    finally:
        os.close(file)


@contextlib.contextmanager
def throttle(folder):
    """This process and its children in a group that reads at `THROTTLED` bytes per second."""
    device = os.stat(folder).st_dev
    GROUP.mkdir()
    try:
        rule = f"{os.major(device)}:{os.minor(device)} {THROTTLED}"
        Path(GROUP, "blkio.throttle.read_bps_device").write_text(rule)
        Path(GROUP, "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        Path(GROUP.parent, "cgroup.procs").write_text(str(os.getpid()))
        GROUP.rmdir()


def collated(samples):
    """A batch: its bytes, and the seconds by which its reads were late."""
    return sum(size for size, _ in samples), sum(late for _, late in samples)


def _work(files, batch, indexes, results):
    results.put(None)
    while (number := indexes.get()) is not None:
        samples = [files[index] for index in range(number * batch, (number + 1) * batch)]
        results.put((number, *collated(samples)))


def batches(files, setting):
    """The batches in order."""
    workers, steps = setting["workers"], setting["steps"]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    queues = [context.Queue() for _ in range(workers)]
    processes = [context.Process(target=_work, args=(files, setting["batch"], queue, results), daemon=True) for queue in queues]
    for process in processes:
        process.start()
    asked, waiting = 0, {}

    def ask():
        nonlocal asked
        if asked < steps:
            queues[asked % workers].put(asked)
            asked += 1

    try:
        for _ in processes:  # a worker that is slow to start lets the others load ahead
            results.get()
        for _ in range(workers * setting["prefetch"]):
            ask()
        for number in range(steps):
            while number not in waiting:
                found, *batch = results.get()
                waiting[found] = batch
            ask()
            yield waiting.pop(number)
    finally:
        for queue in queues:
            queue.put(None)
        for process in processes:
            process.join()


def torch_batches(files, setting):
    """The batches of PyTorch's own DataLoader."""
    import torch.utils.data

    loader = torch.utils.data.DataLoader(
        files, setting["batch"], num_workers=setting["workers"], prefetch_factor=setting["prefetch"],
        collate_fn=collated,
    )  # fmt: skip
    yield from loader


LOADERS = {"own": batches, "torch": torch_batches}


def run(setting, folder, loader="own"):
    """Train on a loader for the given steps; returns the row of the run."""
    files = Files(folder, setting)
    busy, late, first = 0.0, 0.0, None
    for _, behind in LOADERS[loader](files, setting):
        start = time.perf_counter()
        first = start if first is None else first
        time.sleep(setting["step_seconds"])
        end = time.perf_counter()
        busy += end - start
        late += behind
    drawn = latencies(setting).sum(axis=1) + setting["batch"] * setting["decode_seconds"]
    return {
        **setting,
        "loader": loader,
        "latency_by": "throttle" if setting["read_bandwidth"] else "sleep",
        "load": round(os.getloadavg()[0], 2),
        "utilization": round(busy / (end - first), 5),
        "late_seconds": round(late / len(files), 6),
        "drawn": in_text(drawn),
    }


def in_text(seconds):
    """Seconds as counts of ten microseconds, parted by spaces."""
    return " ".join(str(round(one * 1e5)) for one in seconds)


def of_text(written):
    """Seconds of a column of a row."""
    return numpy.array(written.split(), float) / 1e5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--loader", choices=LOADERS, default="own")
    parser.add_argument("--throttle", action="store_true")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    drawn = (throttled_settings if options.throttle else settings)(options.seed, options.count)
    with tempfile.TemporaryDirectory() as folder, options.output.open("a", newline="") as output:
        writer = csv.DictWriter(output, COLUMNS, lineterminator="\n")
        if output.tell() == 0:
            writer.writeheader()
        for setting in drawn:
            for number in range(FILES):
                Path(folder, f"{number}").write_bytes(os.urandom(setting["sample_bytes"]))
            os.sync()
            with throttle(folder) if options.throttle else contextlib.nullcontext():
                row = run(setting, folder, options.loader)
            writer.writerow(row)
            output.flush()
            print(*(row[name] for name in ("id", "workers", "prefetch", "batch", "latency_cv", "utilization")))


if __name__ == "__main__":
    main()
