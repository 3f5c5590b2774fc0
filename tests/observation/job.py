"""A small job that reads its files with known counts: python job.py FOLDER SECONDS [workers]; prints bytes, reads, seconds."""

import json
import mmap
import os
import sys
import time
from multiprocessing import Pool

REQUEST, PERIOD = 262_144, 0.02


def read(arguments):
    """Read one file again and again past the page cache, one request each period: (bytes, reads, seconds)."""
    path, seconds = arguments
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer, began, reads = mmap.mmap(-1, REQUEST), time.monotonic(), 0
    requests = os.fstat(file).st_size // REQUEST
    while time.monotonic() - began < seconds:
        os.preadv(file, [buffer], reads % requests * REQUEST)
        reads += 1
        time.sleep(max(0.0, began + reads * PERIOD - time.monotonic()))
    return reads * REQUEST, reads, time.monotonic() - began


if __name__ == "__main__":
    folder, seconds = sys.argv[1], float(sys.argv[2])
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    time.sleep(0.6)
    with Pool(len(files)) as pool:
        done = pool.map(read, [(path, seconds) for path in files], chunksize=1)
    time.sleep(0.4)
    print(json.dumps([sum(one[at] for one in done) for at in range(3)]))
