"""Logs of training runs and summaries of their profilers, by the program that wrote them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import fmean
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.observation.observation import Figure, Job, LogSource, Reading, is_number
from ingest.observation.training_run import (
    NUMBER,
    Checkpoint,
    LogStep,
    TrainingLog,
    clock_of,
    lines_of,
    number_in,
    positive,
    rate_figures,
    training_source,
)

#: A rate of one GPU is printed with four decimals: a smaller one does not tell how many GPUs there are.
LEAST_PRINTED = 0.05
#: A mean lies between its epochs, up to rounding.
MEAN_WITHIN = 0.001
#: A utilization above is a mistake, not rounding.
MOST_PERCENT = 100.5
PROFILE = "TraceML summary"
#: Profiles name their parts near the start.
PROFILE_HEAD = 2**16
#: A step is the wait for data and the rest; summaries in which they do not add up use the names in another sense.
ADDS_UP_WITHIN = 0.05
#: milliseconds of a summary
MOST_MILLISECONDS = 1e9
MILLISECONDS = 1000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Each is looked for behind the one before it: one pattern with `.*?` takes quadratic time on a long line.
_TITAN = (re.compile(r"\bstep:\s*(\d+)\b"), re.compile(rf"\b(?:tps|wps):\s*({NUMBER}|-\S+|nan|inf)"))
_SAVED = (re.compile(r"[Ff]inished saving the checkpoint"), re.compile(rf"in {NUMBER} seconds"))


def torchtitan(text: str, path: str) -> TrainingLog | None:
    """A log of torchtitan: tokens per second of each GPU, and checkpoints."""
    if "tps:" not in text and "wps:" not in text and "\x1b" not in text:  # a colour may begin within the word
        return None

    def having(first: re.Pattern[str], second: re.Pattern[str]) -> Iterator[tuple[int, str, re.Match[str], re.Match[str]]]:
        for place, line in enumerate(map(partial(_COLOUR.sub, ""), lines_of(text)), 1):
            if (start := first.search(line)) and (end := second.search(line, start.end())):
                yield place, line, start, end

    steps = [
        LogStep(place, int(number_in(step[1], path, place)), per_gpu=number_in(rate[1], path, place), clock=clock_of(line))
        for place, line, step, rate in having(*_TITAN)
    ]
    if not steps:
        return None
    saved = [Checkpoint(place, number_in(seconds[1], path, place)) for place, _, _, seconds in having(*_SAVED)]
    remark = "tokens per second of each GPU, as printed"
    return TrainingLog(tuple(steps), tuple(saved), unit="token", remark=remark)


_BATCH = re.compile(r"^\s*\[(?:epoch=(\d+)\]\[)?batch=(\d+)/(\d+)\]:\s*$")
_THROUGHPUT = re.compile(rf"^\s*Train throughput/(device/)?samples_per_sec: {NUMBER}\s*$")


def composer(text: str, path: str) -> TrainingLog | None:
    """The console of MosaicML's Composer with its SpeedMonitor: samples per second of each GPU, over the last batches."""
    if "Train throughput/device/samples_per_sec:" not in text:
        return None
    steps: list[LogStep] = []
    number, whole, gpus = 0, None, None
    for place, line in enumerate(lines_of(text), 1):
        if head := _BATCH.match(line):
            # Batches count within their epoch.
            epoch, batch, batches = (int(number_in(one or "1", path, place)) for one in head.groups())
            number, whole = (epoch - 1) * batches + batch, None
        elif rate := _THROUGHPUT.match(line):
            if rate[1] is None:
                whole = number_in(rate[2], path, place)
                continue
            each = number_in(rate[2], path, place)
            steps.append(LogStep(place, number, per_gpu=each))
            if whole and each >= LEAST_PRINTED:
                gpus = max(1, round(whole / each))
    return TrainingLog(tuple(steps), gpus=gpus, remark="mean of the last batches, as SpeedMonitor prints it")


def trainer_state(text: str, path: str) -> TrainingLog | None:
    """The `trainer_state.json` of Hugging Face: the rate of the whole run, evaluations and checkpoints included."""
    if '"log_history"' not in text:
        return None
    try:
        state = json.loads(text)
        history = [one for one in state["log_history"] if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise IngestError(f"{path}: found no whole trainer_state.json, expected an object with a list log_history") from None
    rates = [rate for one in history if (rate := positive(one.get("train_samples_per_second"))) is not None]
    if not rates:
        raise IngestError(f"{path}: log_history has no train_samples_per_second, expected the file of a finished run")
    if len(rates) > 1:
        raise IngestError(
            f"{path}: log_history has {len(rates)} summaries of runs, expected one: a resumed run divides all its samples by "
            "the time since; give the rate with --real"
        )
    done, planned = positive(state.get("global_step")), positive(state.get("max_steps"))
    if done is not None and planned is not None and done < planned:
        raise IngestError(
            f"{path}: the run stopped at step {done:,.0f} of {planned:,.0f}, and its rate counts the samples of all of them: "
            "give the rate with --real"
        )
    caution = (
        "the rate is the mean of the whole run: evaluations and checkpoints lower it; of a resumed run it is too high, for its "
        "time counts from there"
    )
    remark = "mean of the whole run, evaluations and checkpoints included"
    return TrainingLog((), rate=rates[-1], remark=remark, caution=caution)


#: Letters of a field of a table of metrics at most.
LONGEST_FIELD = 131_072


def lightning(text: str, path: str) -> TrainingLog | None:
    """The `metrics.csv` of Lightning with the columns of its ThroughputMonitor."""
    head = text.partition("\n")[0]
    if "," not in head or "step" not in head.split(","):
        return None
    # One limit for the whole process: readers of corpora raise it.
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as error:
        raise IngestError(f"{path}: found no table of comma-separated values, expected metrics.csv: {error}") from None
    finally:
        csv.field_size_limit(before)
    names = rows[0].keys() if rows else []
    device, whole = (
        next((name for name in names if re.fullmatch(rf"(?:train[|/])?{kind}samples_per_sec", name or "")), None)
        for kind in (r"device[|/]", "")
    )
    clock = next((name for name in names if re.fullmatch(r"(?:train[|/])?time", name or "")), None)
    if device is None and whole is None:
        raise IngestError(f"{path}: no column samples_per_sec, expected the metrics of Lightning's ThroughputMonitor")
    steps = []
    for place, row in enumerate(rows, 2):
        rate = row[device or whole or ""]
        if rate in ("", "nan", None):  # the metrics of an evaluation
            continue
        each, number = number_in(rate, path, place), int(number_in(row["step"] or "0", path, place))
        when = number_in(row[clock], path, place) if clock and row[clock] else None
        steps.append(LogStep(place, number, per_gpu=each if device else None, rate=None if device else each, clock=when))
    return TrainingLog(tuple(steps), remark="samples per second, as ThroughputMonitor prints them")


def dlio(text: str, path: str) -> TrainingLog | None:
    """The summary of DLIO, which MLPerf Storage writes too: rate and utilization of its emulated accelerators."""
    if '"num_accelerators"' not in text:
        return None
    try:
        found = json.loads(text)
        metric = found["metric"]
        rate, waited = positive(metric.get("train_throughput_mean_samples_per_second")), metric.get("train_au_mean_percentage")
        gpus = positive(found["num_accelerators"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise IngestError(f"{path}: found no whole summary of DLIO, expected the summary.json of a run that ended") from None
    if metric.get("train_throughput_mean_samples_per_second") == 0:
        raise IngestError(
            f"{path}: DLIO's summary has a rate of 0 samples/s: the run took no sample before it ended, or its storage gave "
            "none; expected a run with a rate"
        )
    if rate is None or gpus is None or gpus % 1:
        raise IngestError(f"{path}: found no training in DLIO's summary, expected 'train_throughput_mean_samples_per_second'")
    used, epochs = positive(waited), {}
    for name, mean in (("train_throughput_samples_per_second", rate), ("train_au_percentage", used)):
        listed = metric.get(name)
        values = [value for one in listed if (value := positive(one)) is not None] if isinstance(listed, list) else []
        if values and mean is not None and not min(values) * (1 - MEAN_WITHIN) <= mean <= max(values) * (1 + MEAN_WITHIN):
            raise IngestError(
                f"{path}: the mean of {name} is {mean:.4g}, its epochs have {min(values):.4g} to {max(values):.4g}: expected "
                "the summary of one run"
            )
        epochs[name] = tuple(values)
    if waited is not None and (used is None or used > MOST_PERCENT):
        raise IngestError(f"{path}: found an accelerator utilization of {brief(waited)} %, expected above 0 up to 100 %")
    given = {"accelerator_utilization": min(used or 0, 100) / 100}
    stall = None if used is None else float(solve("stall_of_utilization", given))
    remark, rates = "emulated accelerators; mean of the epochs", epochs["train_throughput_samples_per_second"]
    return TrainingLog((), gpus=int(gpus), rate=rate, rates=rates, remark=remark, stall=stall)


#: What DLIO's own log prints at the end of a run, and at the end of each block of an epoch.
_DLIO_GPUS = re.compile(r"Number of Simulated Accelerators: (\d+)")
_DLIO_ENDS = (re.compile(rf"Training Accelerator Utilization \[AU\] \(%\): {NUMBER}"),
              re.compile(rf"Training Throughput \(samples/second\): {NUMBER}"))  # fmt: skip
_DLIO_BLOCKS = (re.compile(rf"\[Training\] Accelerator Utilization \[AU\] \(%\): {NUMBER}"),
                re.compile(rf"\[Training\] Throughput \(samples/second\): {NUMBER}"))  # fmt: skip


def dlio_log(text: str, path: str) -> TrainingLog | None:
    """The log that DLIO prints: rate and utilization at its end, or the means of the blocks of a run that was cut off."""
    found = [[positive(float(one[1])) for one in each.finditer(text)] for pair in (_DLIO_ENDS, _DLIO_BLOCKS) for each in pair]
    used, rates = next((pair for pair in (found[:2], found[2:]) if all(pair)), ([], []))
    if not used:
        return None
    if None in rates or None in used or max(one or 0 for one in used) > MOST_PERCENT:
        raise IngestError(
            f"{path}: DLIO's log has a rate or a utilization that is 0 or above 100 %: expected a run that took samples"
        )
    known, counted = [one for one in rates if one], _DLIO_GPUS.search(text)
    given = {"accelerator_utilization": min(fmean([one for one in used if one]), 100) / 100}
    remark = "emulated accelerators; " + ("mean of the blocks of the run" if not found[0] else "as printed at its end")
    rated = tuple(known) if len(known) > 1 else ()
    stall = float(solve("stall_of_utilization", given))
    return TrainingLog(
        (), gpus=int(counted[1]) if counted else None, rate=fmean(known), rates=rated, remark=remark, stall=stall
    )


def traceml(text: str, path: str, job: Job) -> Reading | None:
    """The stall of a job from the summary of TraceML, which states no samples of a step; None for a text that is no profile.

    Raises IngestError: a profile that shows no stall, with what does.
    """
    head = text[:PROFILE_HEAD]
    better = "it shows no stall. Give rates on real and on synthetic data (--synthetic), or a Darshan log"
    if '"traceEvents"' in head:
        raise IngestError(
            f"{path}: a Kineto trace has no reads, and its DataLoader spans are 0 ms where workers load: {better}"
        )
    if '"schema"' in head and "chakra" in head.lower():
        raise IngestError(f"{path}: a Chakra execution trace has operators and no times of reads: {better}")
    if '"step_time"' not in text or not text.lstrip().startswith("{"):
        return None

    def table(found: Any) -> Mapping[str, Any]:
        return found if isinstance(found, dict) else {}

    try:
        times = table(json.loads(text).get("step_time"))
    except (ValueError, RecursionError):
        return None
    average = table(table(times.get("global")).get("average"))
    if "step_time_ms" not in average:
        return None
    shares = {}
    names = {"input_wait_ms": "input_wait_seconds", "traced_step_time_ms": "rest", "step_time_ms": "mean_step_seconds"}
    for name, known in names.items():
        found = average.get(name)
        if not is_number(found) or not 0 <= found < MOST_MILLISECONDS:
            raise IngestError(
                f"{path}: found {name} {brief(found)}, expected milliseconds: the summary of a run whose data loader TraceML "
                "patched"
            )
        shares[known] = found / MILLISECONDS
    wait, rest, step = shares.values()
    if step <= 0 or not math.isclose(wait + rest, step, rel_tol=ADDS_UP_WITHIN):
        raise IngestError(
            f"{path}: step_time_ms is {MILLISECONDS * step:g}, input_wait_ms and traced_step_time_ms add up to "
            f"{MILLISECONDS * (wait + rest):g}: expected the summary of one run, of TraceML from schema 1.6 on"
        )
    metadata = table(times.get("metadata"))
    stated = metadata.get("gpus_observed", metadata.get("global_ranks_used"))
    count = job.gpus or (stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None)
    note = "wait of the training loop for data; a GPU may still compute in it"
    figures = {"stall_fraction": Figure(float(solve("stall_of_wait", shares)), "1", PROFILE, note=note)}
    unknown = {}
    if job.samples_per_step is None:
        unknown["real_samples_per_second"] = "the summary does not state the batch size; --samples-per-step does"
    else:
        given = {"observed_samples": job.samples_per_step, "window_seconds": step}
        rate = float(solve("observed_samples_per_second", given))
        figures |= rate_figures(rate, count, job.samples_per_step, PROFILE, note="mean step")
    facts = {"program": "TraceML", **({"gpus": count} if count else {})}
    return Reading(PROFILE, figures, unknown, facts=facts)


SOURCES = (
    training_source("torchtitan", torchtitan, help="torchtitan", rank=2),
    training_source("Hugging Face Trainer", trainer_state, ("Hugging Face",), "trainer_state.json"),
    training_source("Lightning", lightning, help="Lightning's metrics.csv", rank=4),
    training_source("Composer", composer, rank=2),
    training_source("DLIO", dlio),
    training_source("DLIO", dlio_log, rank=2),
    LogSource("TraceML", traceml, rank=0, kind=PROFILE),
)
