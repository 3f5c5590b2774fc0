"""A job of known reads: python generated_job.py FOLDER KIND MANNER WORKERS; prints bytes, reads and opens as it counted them.

KIND: files, shards, direct, shuffled, partial or mapped. MANNER: fork or spawn. With 0 workers the main process reads.
"""

import json
import mmap
import multiprocessing
import os
import random
import sys
from pathlib import Path

FILES, FILE_BYTES, SHARDS, SHARD_BYTES, REQUEST = 24, 49_152, 4, 1_048_576, 65_536
SHARDED = ("shards", "direct", "shuffled", "mapped")


def make(folder, kind):
    """Write the data of a kind: many small files, or a few shards."""
    count, size = (SHARDS, SHARD_BYTES) if kind in SHARDED else (FILES, FILE_BYTES)
    for number in range(count):
        (folder / f"part-{number:03d}").write_bytes(random.Random(number).randbytes(size))


def calls(kind, path, draw):
    """The read calls on one file: (offset or None, size); the last one of a whole file meets its end."""
    size = os.path.getsize(path)
    if kind == "files":
        return [(None, size), (None, 1)]
    if kind == "partial":
        return [(draw.randrange(size // 2), 4096) for _ in range(3)]
    if kind == "shuffled":
        return [(draw.randrange(0, size // 4096) * 4096, 20_000) for _ in range(12)]
    return [(None, REQUEST)] * (size // REQUEST)


def read(folder, kind, worker, workers, counts):
    """Read every workers-th file and write down what was read."""
    draw, found = random.Random(worker), [0, 0, 0]
    for path in sorted(Path(folder).iterdir())[worker::workers]:
        if kind == "mapped":
            file = os.open(path, os.O_RDONLY)
            pages = mmap.mmap(file, 0, prot=mmap.PROT_READ)
            sum(pages[:: mmap.PAGESIZE])
            os.close(file)
            found = [found[0], found[1], found[2] + 1]
            continue
        planned = calls(kind, path, draw)
        file = os.open(path, os.O_RDONLY | (os.O_DIRECT if kind == "direct" else 0))
        buffer = mmap.mmap(-1, REQUEST)
        for offset, size in planned:
            if kind == "direct":
                moved = os.readv(file, [buffer])
            else:
                moved = len(os.read(file, size) if offset is None else os.pread(file, size, offset))
            found = [found[0] + moved, found[1] + 1, found[2]]
        os.close(file)
        found[2] += 1
    Path(counts, f"{worker}.json").write_text(json.dumps(found))


def main(folder, kind, manner, workers):
    counts = Path(f"{folder}.counts")
    counts.mkdir()
    if workers:
        start = multiprocessing.get_context(manner).Process
        running = [start(target=read, args=(folder, kind, worker, workers, str(counts))) for worker in range(workers)]
        for one in running:
            one.start()
        for one in running:
            one.join()
    else:
        read(folder, kind, 0, 1, counts)
    found = [json.loads(one.read_text()) for one in counts.iterdir()]
    print(json.dumps([sum(one[at] for one in found) for at in range(3)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
