"""Pairs of real training runs with a loader whose reads are slow: one is observed, the other is to be predicted from it.

    python tests/observation/record_loop.py --seed 1 --count 12

Both runs of a pair use the loader of `tests/feed/loader.py`: several processes, in-order batches, files that are read, and
latencies that are drawn and slept. The second run has other workers, another batch, and storage that is slower or faster by a
known factor. `loop.zip` keeps the settings, the logs of the observed run and of one without reads, and the rate of the second.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "feed"))
from loader import FILES, Files, batches  # noqa: E402

#: Seconds of both runs; steps before the loader has settled do not count: so many times the batches that it prefetches.
SECONDS, SETTLED = (30.0, 20.0), 1
FACTORS, RATIOS = (0.5, 0.7, 1.5, 2.0), (0.25, 0.5, 2, 4)


def pairs(seed, count):
    """Settings of pairs: the observed run waits for its loader, the other one may."""
    chance = numpy.random.default_rng(seed)
    for number in range(count):
        workers, batch = int(chance.integers(1, 7)), int(2 ** chance.integers(1, 5))
        step = float(chance.choice([0.02, 0.03, 0.04]))
        seconds = float(chance.uniform(1.15, 2)) * step * workers / batch
        decode = round(seconds * float(chance.choice([0, 0, 0.3])), 6)
        observed = {
            "workers": workers, "prefetch": int(chance.integers(1, 5)), "batch": batch, "step_seconds": step,
            "latency_seconds": round(seconds - decode, 6),
            "latency_cv": round(float(numpy.exp(chance.uniform(numpy.log(0.1), numpy.log(2)))), 3),
            "decode_seconds": decode, "sample_bytes": 65_536, "read_bandwidth": 0,
        }  # fmt: skip
        factor = float(chance.choice(FACTORS))
        blind = {
            **observed,
            "workers": int(chance.choice([one for one in range(1, 9) if one != workers])),
            "batch": max(1, int(batch * chance.choice(RATIOS))),
            "latency_seconds": round((seconds - decode) * factor, 6),
        }
        # A GPU takes as long for each sample of another batch.
        blind["step_seconds"] = step * blind["batch"] / batch
        for place, one in enumerate((observed, blind)):
            each = one["batch"] * (one["latency_seconds"] + one["decode_seconds"]) / one["workers"]
            one["steps"] = int(SECONDS[place] / max(one["step_seconds"], each)) + SETTLED * one["workers"] * one["prefetch"]
            one["seed"] = 1000 * seed + 2 * number + place
        yield {"factor": factor, "observed": observed, "blind": blind}


def train(steps, batch, seconds):
    """Take batches, or so many steps without, and sleep for each; returns the lines of a log, and the end of each step."""
    lines, ends, before = ["world size: 1"], [], time.perf_counter()
    for number, _ in enumerate(range(steps) if isinstance(steps, int) else steps, 1):
        time.sleep(seconds)
        end = time.perf_counter()
        lines.append(
            f" iteration {number}/ {10**6} | consumed samples: {number * batch} | elapsed time per iteration (ms): "
            f"{1000 * (end - before):.3f} | global batch size: {batch} |"
        )
        before = end
        ends.append(end)
    return "\n".join(lines) + "\n", ends


def run(pair, folder):
    """Run a pair: the logs of the observed run and of one without reads, and the samples per second of the other."""
    observed, blind = pair["observed"], pair["blind"]
    log, _ = train(batches(Files(folder, observed), observed), observed["batch"], observed["step_seconds"])
    synthetic, _ = train(round(2 / observed["step_seconds"]), observed["batch"], observed["step_seconds"])
    _, ends = train(batches(Files(folder, blind), blind), blind["batch"], blind["step_seconds"])
    settled = SETTLED * blind["workers"] * blind["prefetch"]
    rate = (len(ends) - 1 - settled) * blind["batch"] / (ends[-1] - ends[settled])
    return {"train.log": log, "synthetic.log": synthetic}, round(rate, 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "loop.zip")
    options = parser.parse_args()
    kept = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(options.output, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(FILES):
            Path(folder, f"{number}").write_bytes(os.urandom(65_536))
        for number, pair in enumerate(pairs(options.seed, options.count)):
            logs, rate = run(pair, folder)
            for name, text in logs.items():
                archive.writestr(f"{number}/{name}", text)
            kept.append({**pair, "samples_per_second": rate, "load": round(os.getloadavg()[0], 2)})
            print(number, rate, file=sys.stderr, flush=True)
        archive.writestr("pairs.json", json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
