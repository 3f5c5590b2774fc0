"""What watching a job costs it: python tests/observation/overhead.py [pairs] [seconds]; ten pairs take under four minutes.

A job of fixed work (reads past the page cache, and hashes, in as many workers as there are cores) runs with and without
observation, in the order A B B A. Printed are the observer's own CPU time over the job's wall time, which a loaded machine
hardly changes, and the job's wall and CPU time with observation over that without: least over least, median of the pairs, and
the interval from the second smallest to the second largest pair, which holds the median in 97.9 % of ten.
"""

import contextlib
import hashlib
import json
import mmap
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

REQUEST, BUFFER = 262_144, 2**20
#: Rounds of a worker in a second, about: a hash of a megabyte takes a thousandth.
ROUNDS = 250


def work(path: str, rounds: int) -> None:
    """Read past the page cache and hash, so many times."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer, block = mmap.mmap(-1, REQUEST), bytes(2 * BUFFER)
    for number in range(rounds):
        os.preadv(file, [buffer], number % 32 * REQUEST)
        hashlib.sha256(block).digest()
    os.close(file)


def job(folder: str, seconds: float) -> None:
    """The job: prints its wall and CPU seconds."""
    began = time.perf_counter()
    files = sorted(str(one) for one in Path(folder).iterdir())
    workers = [multiprocessing.Process(target=work, args=(file, int(seconds * ROUNDS))) for file in files]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    spent = os.times()
    used = spent.user + spent.system + spent.children_user + spent.children_system
    print(json.dumps([time.perf_counter() - began, used]), flush=True)


def run(folder: str, seconds: float, watched: bool) -> tuple[float, float, float]:
    """Wall and CPU seconds of one run of the job, and CPU seconds of its observer."""
    from ingest.observation.live import PROC, _started, _watched, mount_of, mounts
    from ingest.observation.processes import ProcessTree

    words = [sys.executable, __file__, "job", folder, str(seconds)]
    if not watched:
        done = subprocess.run(words, capture_output=True, check=True, text=True)
        return (*json.loads(done.stdout), 0.0)
    with tempfile.TemporaryFile() as kept, _standard_error(kept):
        mount = mount_of(folder, mounts(PROC))
        before = time.process_time()
        with _started(words) as job:
            _watched(ProcessTree(job.pid, folder), mount, None, lambda: job.poll() is not None)
            spent = time.process_time() - before
        kept.seek(0)
        wall, used = json.loads(kept.read().splitlines()[-1])
    return wall, used, spent


@contextlib.contextmanager
def _standard_error(file):
    """A job under observation prints to standard error: into a file here."""
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def main(pairs: int = 10, seconds: float = 4.0) -> None:
    cores = os.cpu_count() or 1
    alone: list[tuple[float, float, float]] = []
    watched: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for number in range(cores):
            Path(folder, str(number)).write_bytes(os.urandom(32 * REQUEST))
        os.sync()
        run(folder, 0.2, True)
        for number in range(pairs):
            for place in (False, True) if number % 2 == 0 else (True, False):
                (watched if place else alone).append(run(folder, seconds, place))
    share = [spent / wall for wall, _, spent in watched]
    print(f"{pairs} pairs of {median(one[0] for one in alone):.1f} s on {cores} cores, load {os.getloadavg()[0]:.1f}")
    print(f"observer: {median(share):.3%} of one core, {median(share) / cores:.3%} of the machine, while the job runs")
    for name, place in (("wall", 0), ("CPU", 1)):
        ratios = sorted(with_[place] / without[place] - 1 for with_, without in zip(watched, alone, strict=True))
        least = min(one[place] for one in watched) / min(one[place] for one in alone) - 1
        ends = (ratios[1], ratios[-2]) if pairs >= 4 else (ratios[0], ratios[-1])
        print(f"job's {name} time: least {least:+.2%}, median {median(ratios):+.2%}, interval {ends[0]:+.2%} to {ends[1]:+.2%}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(sys.argv[2], float(sys.argv[3]))
    else:
        main(*[kind(word) for kind, word in zip((int, float), sys.argv[1:], strict=False)])
