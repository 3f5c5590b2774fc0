"""Training logs that print beside the time of a step how long the loop waited for its data: they hold the stall itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from ingest.engine.registry import solve
from ingest.errors import IngestError
from ingest.observation.observation import Figure, Job, LogSource, Reading
from ingest.observation.training_run import LEFT_OUT, NUMBER, SOURCE, lines_of, number_in, positive, rate_figures

#: the unit of a printed time, a comma or nothing
_S = r"\s*s?,?"
#: Waits of one line that differ by more than this share of the step from those of another are told.
WAITS_APART = 0.2
NO_BATCH = "the log does not state the batch size; --samples-per-step does"


class Form(NamedTuple):
    """How a program prints its steps: each pattern is looked for behind the head of the line."""

    program: str
    word: str  # stands in each of its lines
    head: re.Pattern[str]  # epoch and step; the epoch is empty where steps count through the run
    time: re.Pattern[str]  # mean seconds of a step
    wait: re.Pattern[str]  # mean seconds of its wait for data
    running: bool = True  # the means are those since the epoch began; otherwise those of the last steps
    rate: re.Pattern[str] | None = None  # samples per second of the whole job, where they are printed
    each: re.Pattern[str] | None = None  # and those of one GPU


def _mean(word: str) -> re.Pattern[str]:
    """A value with the mean of its epoch in brackets behind it."""
    return re.compile(rf"\b{word}:?\s+{NUMBER}{_S}\s*(?:[0-9.,]+/s\s*)?\(\s*{NUMBER}")


def _plain(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s,])(){word}:?\s+{NUMBER}")


FORMS = (
    Form("timm", "Train: ", re.compile(r"\bTrain: (\d+) \[\s*(\d+)/"), _mean("Time"), _mean("Data"),
         rate=re.compile(rf"\(\s*()[0-9.]+s,\s*{NUMBER}/s\)")),
    Form("PyTorch", "Epoch: [", re.compile(r"\bEpoch: \[(\d+)\]\[\s*(\d+)/"), _mean("Time"), _mean("Data"),
         rate=_mean("Speed")),
    Form("OpenCLIP", "Train Epoch: ", re.compile(r"\bTrain Epoch: (\d+) \[\s*(\d+)/"), _plain(r"Batch \(t\)"),
         _plain(r"Data \(t\)"), False, re.compile(rf"()\s{NUMBER}/s,"), re.compile(rf"()\s{NUMBER}/s/gpu")),
    Form("torchvision", "Epoch: [", re.compile(r"\bEpoch: \[(\d+)\]\s+\[\s*(\d+)/"), _plain("time"), _plain("data"), False),
    Form("mmengine", "data_time", re.compile(r"\b(?:Epoch|Iter)(?:\(train\))?\s+\[(?:(\d+)\]\[)?\s*(\d+)/"), _plain("time"),
         _plain("data_time"), False),
    Form("YOLOX", "iter_time", re.compile(r"\bepoch: (\d+)/\d+, iter: (\d+)/"), _plain("iter_time"),
         _plain("data_time"), False),
    Form("Detectron2", "iter: ", re.compile(r"\b()iter: (\d+)\b"), _plain("time"), _plain("data_time"), False),
)  # fmt: skip


class Line(NamedTuple):
    """What one line states: seconds of a step and of its wait, the means and those of the last step."""

    epoch: str
    step: int
    time: float
    wait: float
    share: float  # of the last step that waited
    rate: float | None
    each: float | None


def _lines(form: Form, text: str, path: str) -> list[Line]:
    found: list[Line] = []
    for place, line in enumerate(lines_of(text) if form.word in text else (), 1):
        head = form.head.search(line) if form.word in line else None
        time, wait = (one.search(line, head.end()) if head else None for one in (form.time, form.wait))
        if head is None or time is None or wait is None:
            continue
        means, last = ([number_in(one[group] or one[2], path, place) for one in (time, wait)] for group in (2, 1))
        for whole, part in (means, last):
            if not 0 <= part <= whole or not whole:
                raise IngestError(
                    f"{path}:{place}: found a wait for data of {part:g} s in a step of {whole:g} s, expected a part of the step"
                )
        rates = [one and one.search(line, head.end()) for one in (form.rate, form.each)]
        rate, each = (positive(number_in(one[2], path, place)) if one else None for one in rates)
        found.append(Line(head[1] or "", int(head[2]), means[0], means[1], last[1] / last[0], rate, each))
    return found


def _weighted(form: Form, lines: list[Line]) -> list[tuple[float, Line]]:
    """Lines that cover every step once, each with the number of its steps; those that an excerpt leaves out count for none."""
    epochs = [list(group) for _, group in groupby(lines, lambda one: one.epoch)]
    if form.running:
        return [(last.step + 1.0, last) for *_, last in epochs]
    gaps = [after.step - before.step for group in epochs for before, after in pairwise(group) if after.step > before.step]
    usual = median(gaps) if gaps else 1
    covered: list[tuple[float, Line]] = []
    for group in epochs:
        between = [after.step - before.step for before, after in pairwise(group)]
        covered += [
            (one if 0 < one <= LEFT_OUT * usual else usual, line)
            for one, line in zip([min(usual, group[0].step + 1), *between], group, strict=True)
        ]
    return covered


def _sum(parts: Iterable[tuple[float, float]]) -> float:
    return sum(weight * value for weight, value in parts)


def _rated(given: Mapping[str, float], gpus: int | None, samples: float | None) -> dict[str, Figure]:
    """The rate that the mean step makes of the samples of a step; nothing where these are unknown."""
    if samples is None:
        return {}
    step = {"observed_samples": samples, "window_seconds": given["mean_step_seconds"]}
    return rate_figures(float(solve("observed_samples_per_second", step)), gpus, samples, SOURCE, note="mean step")


def waits(text: str, path: str, job: Job) -> Reading | None:
    """The stall of a job from its printed waits, and its rate where the log or `--samples-per-step` tells the samples.

    Raises IngestError: a line whose wait is longer than its step.
    """
    form, lines = next(((form, lines) for form in FORMS if (lines := _lines(form, text, path))), (None, list[Line]()))
    if form is None:
        return None
    covering = _weighted(form, lines)
    steps = sum(weight for weight, _ in covering)
    given = {
        "mean_step_seconds": _sum((weight, one.time) for weight, one in covering) / steps,
        "input_wait_seconds": _sum((weight, one.wait) for weight, one in covering) / steps,
    }
    shares = sorted(one.share for one in lines)
    stall, note = (
        float(solve("stall_of_wait", given)),
        f"wait for data over time, as {form.program} prints them; a GPU may still compute in it",
    )
    figures = {"stall_fraction": Figure(stall, "1", SOURCE, low=min(shares[0], stall), high=max(shares[-1], stall), note=note)}
    warnings = []
    if shares[-1] - shares[0] > WAITS_APART:
        warnings.append(
            f"{path}: its lines wait for data {shares[0]:.1%} to {shares[-1]:.1%} of their time: a cache may serve a part "
            f"of the run; rate and stall are those of all {steps:,.0f} steps together"
        )
    # A rate of the whole job that is printed tells its samples; that of one GPU tells how many there are.
    count, samples = job.gpus, job.samples_per_step
    if lines[-1].rate is not None and lines[-1].each is not None:
        count = count or max(1, round(lines[-1].rate / lines[-1].each))
    if samples is None and lines[-1].rate is not None:
        samples = median(one.rate * one.time for one in lines if one.rate is not None)
    figures |= _rated(given, count, samples)
    unknown = {} if samples is not None else {"real_samples_per_second": NO_BATCH}
    if samples is not None and count is None:
        unknown = {"samples_per_second_per_gpu": "the log does not state the GPUs of the job; --gpus does"}
    facts = {"program": form.program, "steps": round(steps), **({"gpus": count} if count else {})}
    return Reading(SOURCE, figures, unknown, tuple(warnings), facts=facts)


#: rows of the table that Lightning's SimpleProfiler prints: what fetches a batch, and what trains on it
_FETCHED = re.compile(r"\.train_dataloader_next\b|\bget_train_batch\b|\bfetch_next_train_batch\b")
_TRAINED = re.compile(r"\brun_training_batch\b")
_ROWS = ("train_dataloader_next", "get_train_batch", "fetch_next_train_batch", "run_training_batch")


def lightning_profile(text: str, path: str, job: Job) -> Reading | None:
    """The stall of a job from the table of Lightning's SimpleProfiler: the batches fetched over those and the steps."""
    found: dict[str, tuple[float, float]] = {}
    told = any(word in text for word in _ROWS)
    for place, line in enumerate(lines_of(text) if told else (), 1):
        cells = [cell.strip() for cell in line.split("|")][1:-1]
        which = next((name for name, row in (("wait", _FETCHED), ("step", _TRAINED)) if cells and row.search(cells[0])), "")
        if which and len(cells) >= 4 and re.fullmatch(NUMBER, cells[3]):  # action, mean, calls, total
            found[which] = (number_in(cells[2], path, place), number_in(cells[3], path, place))
    if len(found) < 2 or not found["step"][0] or not found["step"][1]:
        return None
    calls, trained = found["step"]
    given = {"input_wait_seconds": found["wait"][1] / calls, "mean_step_seconds": (found["wait"][1] + trained) / calls}
    note = "batches fetched over batches fetched and trained on; a GPU may still compute in it"
    figures = {"stall_fraction": Figure(float(solve("stall_of_wait", given)), "1", SOURCE, note=note)}
    figures |= _rated(given, job.gpus, job.samples_per_step)
    unknown = {} if job.samples_per_step else {"real_samples_per_second": NO_BATCH}
    return Reading(SOURCE, figures, unknown, facts={"program": "Lightning", "steps": round(calls)})


SOURCES = (
    LogSource("Lightning profile", lightning_profile, ("Lightning's SimpleProfiler",), rank=1),
    LogSource(
        "data waits",
        waits,
        tuple(one.program for one in FORMS),
        "logs that print the wait for data, such as PyTorch's and timm's",
        rank=2,
    ),
)
