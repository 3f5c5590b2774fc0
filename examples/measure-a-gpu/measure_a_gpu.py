"""Measure what a GPU consumes: real loaders and models on generated data, written as observations for `ingest calibrate`.

Needs Python 3.11, PyTorch, NumPy and Pillow, no network and no `ingest`. Each job trains twice (forward, backward, optimizer),
on batches of its loader and on one batch that stays on the device: the difference is the stall, the faster rate the demand.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

SCHEMA = "ingest/observation/1"
#: Mean sizes of the data sets that the catalogs hold: ImageNet pictures of about 500 × 375, KiTS19 volumes of 146.6 MB.
PICTURE, GRAIN, VOLUME = (375, 500), 24.0, 308
TOKENS, VOCABULARY = 2048, 50368
LANGUAGE = ("mpt-125m", "mpt-350m", "mpt-760m", "mpt-1b")
#: Halves of a run whose rates differ by more are not steady.
STEADY_WITHIN = 0.1
PREFETCH = 2
Rates = Sequence[float]  # samples per second of each block


class Samples(Protocol):
    """What a loader draws from: arrays and labels by index; `read` is the bytes that one item reads, `each` its samples."""

    read: float
    each: int

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> tuple[NDArray[Any], Any]: ...


def make_pictures(folder: Path, samples: int, per_shard: int = 256) -> None:
    """Write tar shards of JPEG pictures: smooth shapes and grain, as large as photographs."""
    from PIL import Image

    draw = np.random.default_rng(1)
    for shard in range(-(-samples // per_shard)):
        with tarfile.open(folder / f"{shard:05}.tar", "w") as tar:
            for number in range(shard * per_shard, min(samples, (shard + 1) * per_shard)):
                shapes = Image.fromarray(draw.integers(0, 256, (8, 10, 3), dtype=np.uint8)).resize(PICTURE[::-1])
                grain = draw.normal(0, GRAIN, (*PICTURE, 3))
                picture, target = Image.fromarray((np.asarray(shapes) + grain).clip(0, 255).astype(np.uint8)), io.BytesIO()
                picture.save(target, "JPEG", quality=90)
                member = tarfile.TarInfo(f"{number:08}.jpg")
                member.size = target.tell()
                tar.addfile(member, io.BytesIO(target.getvalue()))


def make_tokens(folder: Path, samples: int, per_file: int = 4096) -> None:
    """Write files of token ids of two bytes, `samples` sequences in all."""
    draw = np.random.default_rng(2)
    for first in range(0, samples, per_file):
        count = min(per_file, samples - first) * TOKENS
        draw.integers(0, VOCABULARY, count, dtype=np.uint16).tofile(folder / f"{first:08}.bin")


def make_volumes(folder: Path, samples: int, edge: int = VOLUME) -> None:
    """Write volumes with a mask, one in a file."""
    draw = np.random.default_rng(3)
    for number in range(samples):
        volume = draw.standard_normal((1, edge, edge, edge), dtype=np.float32)
        np.savez(folder / f"{number:05}.npz", image=volume, mask=(volume[0] > 1).astype(np.uint8))


class Pictures:
    """Pictures of tar shards, decoded, cropped at random and mirrored."""

    each = 1

    def __init__(self, folder: Path, side: int) -> None:
        self.side, self.places = side, list[tuple[Path, int, int]]()
        for path in sorted(folder.glob("*.tar")):
            with tarfile.open(path) as tar:
                self.places += [(path, one.offset_data, one.size) for one in tar]
        self.read = sum(size for *_, size in self.places) / len(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint8], int]:
        from PIL import Image

        path, offset, size = self.places[index]
        with path.open("rb") as file:
            picture = Image.open(io.BytesIO(os.pread(file.fileno(), size, offset))).convert("RGB")
        draw = np.random.default_rng()
        width, height = (max(self.side, round(whole * draw.uniform(0.5, 1))) for whole in picture.size)
        left, top = (int(draw.integers(0, room + 1)) for room in (picture.width - width, picture.height - height))
        crop = np.asarray(picture.resize((self.side, self.side), box=(left, top, left + width, top + height)))
        return np.ascontiguousarray(crop[:, :: draw.choice((-1, 1))].transpose(2, 0, 1)), index % 1000


class Tokens:
    """Sequences of token files; a sample is a token, as in the catalog."""

    def __init__(self, folder: Path, length: int) -> None:
        self.each, self.read = length, 2.0 * length
        files = [(path, path.stat().st_size) for path in sorted(folder.glob("*.bin"))]
        self.places = [(path, at) for path, size in files for at in range(0, size - 2 * length + 1, 2 * length)]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> tuple[NDArray[np.int64], int]:
        path, offset = self.places[index]
        return np.fromfile(path, np.uint16, self.each, offset=offset).astype(np.int64), 0


class Volumes:
    """Crops of volumes, each read as a whole."""

    each = 1

    def __init__(self, folder: Path, edge: int) -> None:
        self.places, self.edge = sorted(folder.glob("*.npz")), edge
        self.read = sum(path.stat().st_size for path in self.places) / len(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        with np.load(self.places[index]) as found:
            image, mask = found["image"], found["mask"]
        corner = np.random.default_rng().integers(0, np.array(mask.shape) - self.edge + 1)
        crop = tuple(slice(at, at + self.edge) for at in corner)
        return np.ascontiguousarray(image[:, *crop]), mask[crop].astype(np.int64)


class Job(NamedTuple):
    """The data of a model; the side, length or edge of an item and the items of a step, on a GPU and on a CPU."""

    make: Callable[[Path, int], None]
    samples: Callable[[Path, int], Samples]
    items: int  # generated by default
    sizes: tuple[int, int]
    batches: tuple[int, int]


JOBS = {
    "resnet50": Job(make_pictures, Pictures, 8192, (224, 224), (256, 4)),
    "unet3d": Job(make_volumes, Volumes, 32, (128, 64), (2, 1)),
    **dict.fromkeys(LANGUAGE, Job(make_tokens, Tokens, 65536, (TOKENS, 256), (8, 1))),
}


def block_rates(
    step: Callable[[], int], wait: Callable[[], None], warm: int, blocks: int, steps: int, clock: Callable[[], float]
) -> list[float]:
    """Samples per second of each block of steps, after `warm` steps that do not count; `wait` ends when the device is idle."""
    for _ in range(warm):
        step()
    rates = []
    for _ in range(blocks):
        wait()
        begun = clock()
        samples = sum(step() for _ in range(steps))
        wait()
        rates.append(samples / (clock() - begun))
    return rates


def figure(value: float, unit: str, seconds: float, rates: Rates = ()) -> dict[str, Any]:
    """One result; of rates the tenth and the ninetieth percentile beside it."""
    tenths = quantiles(rates, n=10, method="inclusive") if rates else ()
    spread = {"low": min(tenths[0], value), "high": max(tenths[-1], value)} if tenths else {}
    shared = {"basis": "measured", "source": "training log", "coverage": None, "lower_bound": False, "note": ""}
    return {"value": value, "unit": unit, **spread, "window": {"seconds": seconds}, **shared}


def observation(real: Rates, still: Rates, read: float, batch: int, facts: dict[str, Any]) -> dict[str, Any]:
    """The JSON of `ingest observe`: rates on batches of the loader and on one batch that stays, bytes read per sample."""
    pace, most = median(real), max(median(real), median(still))
    halves = [median(part) for rates in (real, still) for part in (rates[: len(rates) // 2], rates[len(rates) // 2 :])]
    apart = max(abs(first / second - 1) for first, second in (halves[:2], halves[2:]))
    seconds = facts["steps"] * batch / pace
    results = {
        "real_samples_per_second": figure(pace, "sample/s", seconds, real),
        "samples_per_second_per_gpu": figure(pace, "sample/s/GPU", seconds, real),
        "stall_fraction": figure(1 - pace / most, "1", seconds),
        "demanded_samples_per_second_per_gpu": figure(most, "sample/s/GPU", seconds, still if most > pace else real),
        "bytes_read_per_sample": figure(read, "B/sample", seconds),
        "samples_per_step": figure(batch, "sample/GPU", seconds),
        "window_seconds": figure(seconds, "s", seconds),
    }
    warnings = [f"not steady: its halves are {apart:.0%} apart"] if apart > STEADY_WITHIN else []
    return {"schema": SCHEMA, "command": "observe", "results": results, "facts": facts, "read_sizes": [], "warnings": warnings}


def measured(name: str, data: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Train a model on its loader and on one batch that stays, and return the observation."""
    import torch
    from models import built, loss_of
    from torch.utils.data import DataLoader, RandomSampler

    job, small = JOBS[name], asked.device == "cpu"
    batch, device = asked.batch or job.batches[small], torch.device(asked.device)
    samples = job.samples(data, job.sizes[small])
    warm = max(asked.warm, PREFETCH * asked.workers)  # batches that wait ready hide a slow loader
    steps = asked.blocks * asked.steps
    sampler = RandomSampler(samples, replacement=True, num_samples=batch * (warm + steps + 1))
    loader = DataLoader[Any](cast(Any, samples), batch, sampler=sampler, num_workers=asked.workers, pin_memory=not small,
                        prefetch_factor=PREFETCH if asked.workers else None)  # fmt: skip
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = asked.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    model = built(name).to(device)
    if name == "resnet50":
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(model.parameters()) if name in LANGUAGE else torch.optim.SGD(model.parameters(), 0.01, 0.9)

    def moved(found: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        items, labels = (one.to(device, non_blocking=True) for one in found)
        if items.dtype == torch.uint8:
            items = (items.float() / 255).contiguous(memory_format=torch.channels_last)
        return items, labels

    def step(items: Tensor, labels: Tensor) -> int:
        with torch.autocast(device.type, torch.bfloat16, enabled=asked.precision == "bf16"):
            loss = loss_of(model, items, labels)
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        return batch * samples.each

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    batches: Iterator[Sequence[Tensor]] = iter(loader)
    kept = moved(next(batches))
    shape = (warm, asked.blocks, asked.steps, time.perf_counter)
    real = block_rates(lambda: step(*moved(next(batches))), wait, *shape)
    still = block_rates(lambda: step(*kept), wait, *shape)
    parameters = sum(one.numel() for one in model.parameters())
    facts = dict(gpus=1, steps=steps, readers=max(1, asked.workers), device=device.type, data="generated", model=name,
                 precision=asked.precision, item_size=job.sizes[small], parameters=parameters, **machine(device))  # fmt: skip
    return observation(real, still, samples.read / samples.each, batch * samples.each, facts)


def machine(device: Any) -> dict[str, Any]:
    """What host and device are, without their names in a network."""
    import torch

    found: dict[str, Any] = {"host_cores": os.cpu_count(), "software": f"PyTorch {torch.__version__}"}
    found["host_memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if device.type == "cuda":
        seen = torch.cuda.get_device_properties(device)
        found |= {"accelerator": seen.name, "accelerator_memory_bytes": seen.total_memory}
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Make the data where they are missing, run each job, and write one file for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=["resnet50", "mpt-760m", "unet3d"], help=", ".join(JOBS))
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu tries the script without a GPU")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the generated data, on the storage to read")
    parser.add_argument("-o", "--output", type=Path, default=Path("observations"), help="folder of the observations")
    parser.add_argument("--precision", default="bf16", choices=("bf16", "tf32", "fp32"))
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 1), help="processes of the loader")
    parser.add_argument("--batch", type=int, help="pictures, volumes or sequences of a step, by default as the job declares")
    parser.add_argument("--items", type=int, help="pictures, volumes or sequences to generate, by default as the job declares")
    parser.add_argument("--warm", type=int, default=20, help="steps that do not count")
    parser.add_argument("--blocks", type=int, default=20, help="blocks of steps, each a rate")
    parser.add_argument("--steps", type=int, default=10, help="steps of a block")
    asked = parser.parse_args(words)
    asked.output.mkdir(parents=True, exist_ok=True)
    for name in asked.jobs:
        if name not in JOBS:
            parser.error(f"found {name}, expected one of {', '.join(JOBS)}")
        # Language models read the same files.
        data = asked.data / JOBS[name].make.__name__.removeprefix("make_")
        if not data.is_dir():
            data.mkdir(parents=True)
            JOBS[name].make(data, asked.items or JOBS[name].items)
        found, target = measured(name, data, asked), asked.output / f"{name}.json"
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        rate, stall = (found["results"][one]["value"] for one in ("demanded_samples_per_second_per_gpu", "stall_fraction"))
        print(f"{name}: {rate:.4g} samples/s demanded, {stall:.1%} stalled, in {target}", *found["warnings"], sep="\n  ")


if __name__ == "__main__":
    main()
