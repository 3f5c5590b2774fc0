"""Logs of training runs, by the program that wrote them: steps with their samples and times, checkpoints; and profilers."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.observation.mlperf_logs import mllog
from ingest.observation.observation import Figure, Reading, is_number
from ingest.observation.training_run import (
    TWO_JOBS,
    Checkpoint,
    LogStep,
    TrainingLog,
    one_line_per_step,
    positive,
    rate_figures,
    refuse_interleaved,
)

#: A rate of one GPU is printed with four decimals: a smaller one does not tell how many GPUs there are.
LEAST_PRINTED = 0.05
#: No step is shorter or longer, and none has fewer or more samples: microseconds to years.
LEAST_NUMBER, MOST_NUMBER = 1e-6, 1e12
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
_NUMBER = r"([0-9][0-9,]*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)"


def read_training_log(text: str, path: str) -> TrainingLog | None:
    """The training run in the text of a log; None where no known program wrote it.

    Raises:
        IngestError: a known form without usable steps, with a clock that runs backwards, negative numbers or two runs.
    """
    log = next((found for form in FORMS if (found := form(text, path)) is not None), None)
    if log is None:
        return None
    if not log.steps and log.rate is None:
        raise IngestError(f"{path}: the {log.program} log has no step with a time, expected at least two")
    for one in log.steps:
        for what, value in (("seconds", one.seconds), ("samples", one.samples), ("rate", one.per_gpu), ("rate", one.rate)):
            if value is not None and not LEAST_NUMBER <= value <= MOST_NUMBER:
                expected = "a number above 0" if value <= 0 else f"{LEAST_NUMBER:g} to {MOST_NUMBER:g}"
                raise IngestError(f"{path}:{one.line}: found {what} {value:g} in a step, expected {expected}")
    for before, after in pairwise(log.steps):
        if after.number < before.number and None not in (before.samples, after.samples) and after.samples != before.samples:
            raise IngestError(
                f"{path}:{after.line}: step {after.number:,} follows step {before.number:,} with another batch: {TWO_JOBS}"
            )
    for before, after in pairwise([one for one in log.steps if one.clock is not None]):
        if (back := (before.clock or 0) - (after.clock or 0)) > 0:
            raise IngestError(
                f"{path}:{after.line}: the clock runs backwards by {back:g} s, expected one run in the order of its lines; "
                "sort joined logs by time"
            )
    steps = one_line_per_step(log.steps, path)
    refuse_interleaved(steps, path)
    return log._replace(steps=steps)


def _figure(found: str | None, path: str, line: int) -> float:
    try:
        figure = float((found or "").replace(",", ""))
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise IngestError(f"{path}:{line}: found {brief(found)}, expected a number; the line is damaged")
    return figure


def _clock(line: str) -> float | None:
    """Seconds of the first time stamp of a line.

    >>> _clock(" [2024-03-05 12:13:15] iteration 1") - _clock("2024-03-05 12:13:14,500 - root")
    0.5
    """
    found = re.search(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?", line)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
    except ValueError:
        return None
    return moment.timestamp() + float(f"0.{found[3] or 0}")


_MEGATRON = re.compile(r"\biteration\s+(\d+)\s*/\s*\d+\s*\|(.*)")
_ELAPSED = re.compile(r"elapsed time per iteration \((ms|s)\):\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)")
_NEMO = re.compile(r'\btrain_step_timing in s"?[:=]\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)')
#: The batch that a log prints, the samples that it counts and the rate that it states agree within this share.
BATCH_WITHIN = 0.05


def megatron(text: str, path: str) -> TrainingLog | None:
    """A log of Megatron-LM, Megatron-DeepSpeed or NeMo: time per iteration and consumed samples."""
    if not (_ELAPSED.search(text) or _NEMO.search(text)):
        return None
    steps: list[LogStep] = []
    checkpoints: list[Checkpoint] = []
    gpus = batch = None
    consumed: tuple[int, float] | None = None
    unit = None
    counted: list[float] = []
    stated_rates: list[float] = []
    for place, line in enumerate(text.splitlines(), 1):
        # The world of one direction of parallelism is a part of the job.
        if world := re.search(r"(?<!parallel[ _-])\bworld size:\s*(\d+)", line):
            size = int(_figure(world[1], path, place))
            if gpus not in (None, size):
                raise IngestError(f"{path}:{place}: the world size is {size:,} after {gpus:,}: {TWO_JOBS}")
            gpus = size
        if saved := re.search(r"save-checkpoint[ .]*:\s*\(([\d.]+),\s*(\d+(?:\.\d+)?)\)", line):
            checkpoints[-1:] = [Checkpoint(place, _figure(saved[2], path, place) / 1000)]
        elif re.search(r"successfully saved checkpoint", line):
            checkpoints.append(Checkpoint(place, None))
        seconds = None
        if elapsed := _ELAPSED.search(line):
            seconds = _figure(elapsed[2], path, place) / (1000 if elapsed[1] == "ms" else 1)
            if unit not in (None, elapsed[1]):
                raise IngestError(f"{path}:{place}: found times in {elapsed[1]} after {unit}, expected one unit")
            unit = elapsed[1]
        elif timing := _NEMO.search(line):
            seconds = _figure(timing[1], path, place)
        # The iteration of NeMo counts within the epoch, its global step through the run.
        number = (re.search(r'\bglobal_step"?[:= ]+(\d+)', line) or _MEGATRON.search(line)
                  or re.search(r"\biteration[:= ]+(\d+)", line))  # fmt: skip
        if seconds is None or number is None:
            continue
        told = re.search(rf'consumed[ _]samples"?[:=]\s*{_NUMBER}', line)
        stated = re.search(rf"global[ _]batch[ _]size:\s*{_NUMBER}", line)
        each, step = (_figure(stated[1], path, place) if stated else None), int(_figure(number[1], path, place))
        batch = each or batch
        if told:
            total = _figure(told[1], path, place)
            if consumed is not None and total > consumed[1] and step > consumed[0]:
                mean = (total - consumed[1]) / (step - consumed[0])
                if each is not None:
                    counted.append(each / mean)
                each = each or mean
            consumed = (step, total)
        if each is None and steps:
            # A progress bar prints a step again.
            each = steps[-1].samples
        steps.append(LogStep(place, step, seconds, each, clock=_clock(line)))
        if each and seconds > 0 and (rate := re.search(rf"\bsamples per second:\s*{_NUMBER}", line)):
            stated_rates.append(_figure(rate[1], path, place) * seconds / each)
    for what, shares in (("global batch size", counted), ("samples per second", stated_rates)):
        if shares and abs(median(shares) - 1) > BATCH_WITHIN:
            raise IngestError(
                f"{path}: its {what} is {median(shares):.3g} times what its samples and times give: expected one count of "
                "samples; give the rate with --real"
            )
    # Where only the total of the samples is printed, the first line leaves those of its step to the next.
    known = next((one.samples for one in steps if one.samples is not None), None)
    steps = [one if one.samples is not None else one._replace(samples=known) for one in steps]
    return TrainingLog("Megatron", tuple(steps), tuple(checkpoints), gpus, batch, remark="time per iteration, as printed")


#: Each is looked for behind the one before it: one pattern with `.*?` takes quadratic time on a long line.
_TITAN = (re.compile(r"\bstep:\s*(\d+)\b"), re.compile(rf"\b(?:tps|wps):\s*({_NUMBER}|-\S+|nan|inf)"))
_SAVED = (re.compile(r"[Ff]inished saving the checkpoint"), re.compile(rf"in {_NUMBER} seconds"))


def torchtitan(text: str, path: str) -> TrainingLog | None:
    """A log of torchtitan: tokens per second of each GPU, and checkpoints."""
    lines = [_COLOUR.sub("", line) for line in text.splitlines()]

    def having(first: re.Pattern[str], second: re.Pattern[str]) -> Iterator[tuple[int, str, re.Match[str], re.Match[str]]]:
        for place, line in enumerate(lines, 1):
            if (start := first.search(line)) and (end := second.search(line, start.end())):
                yield place, line, start, end

    steps = [
        LogStep(place, int(_figure(step[1], path, place)), per_gpu=_figure(rate[1], path, place), clock=_clock(line))
        for place, line, step, rate in having(*_TITAN)
    ]
    if not steps:
        return None
    saved = [Checkpoint(place, _figure(seconds[1], path, place)) for place, _, _, seconds in having(*_SAVED)]
    remark = "tokens per second of each GPU, as printed"
    return TrainingLog("torchtitan", tuple(steps), tuple(saved), unit="token", remark=remark)


_BATCH = re.compile(r"^\s*\[(?:epoch=(\d+)\]\[)?batch=(\d+)/(\d+)\]:\s*$")
_THROUGHPUT = re.compile(rf"^\s*Train throughput/(device/)?samples_per_sec: {_NUMBER}\s*$")


def composer(text: str, path: str) -> TrainingLog | None:
    """The console of MosaicML's Composer with its SpeedMonitor: samples per second of each GPU, over the last batches."""
    if "Train throughput/device/samples_per_sec:" not in text:
        return None
    steps: list[LogStep] = []
    number, whole, gpus = 0, None, None
    for place, line in enumerate(text.splitlines(), 1):
        if head := _BATCH.match(line):
            # Batches count within their epoch.
            epoch, batch, batches = (int(_figure(one or "1", path, place)) for one in head.groups())
            number, whole = (epoch - 1) * batches + batch, None
        elif rate := _THROUGHPUT.match(line):
            if rate[1] is None:
                whole = _figure(rate[2], path, place)
                continue
            each = _figure(rate[2], path, place)
            steps.append(LogStep(place, number, per_gpu=each))
            if whole and each >= LEAST_PRINTED:
                gpus = max(1, round(whole / each))
    return TrainingLog("Composer", tuple(steps), gpus=gpus, remark="mean of the last batches, as SpeedMonitor prints it")


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
    return TrainingLog(
        "Hugging Face Trainer", (), rate=rates[-1], remark="mean of the whole run, evaluations and checkpoints included"
    )


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
        each, number = _figure(rate, path, place), int(_figure(row["step"] or "0", path, place))
        when = _figure(row[clock], path, place) if clock and row[clock] else None
        steps.append(LogStep(place, number, per_gpu=each if device else None, rate=None if device else each, clock=when))
    return TrainingLog("Lightning", tuple(steps), remark="samples per second, as ThroughputMonitor prints them")


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
    return TrainingLog("DLIO", (), gpus=int(gpus), rate=rate, rates=rates, remark=remark, stall=stall)


#: the readers, the most particular first
FORMS: tuple[Callable[[str, str], TrainingLog | None], ...] = (
    mllog, megatron, torchtitan, composer, trainer_state, dlio, lightning,
)  # fmt: skip


def profile_reading(text: str, path: str, gpus: int | None, samples_per_step: float | None) -> Reading | None:
    """The stall of a job from the summary of TraceML, which states no samples of a step; None for a text that is no profile.

    Raises:
        IngestError: a profile that shows no stall, with what does.
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
    count = gpus or (stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None)
    note = "wait of the training loop for data; a GPU may still compute in it"
    figures = {"stall_fraction": Figure(float(solve("stall_of_wait", shares)), "1", PROFILE, note=note)}
    unknown = {}
    if samples_per_step is None:
        unknown["real_samples_per_second"] = "the summary does not state the batch size; --samples-per-step does"
    else:
        given = {"observed_samples": samples_per_step, "window_seconds": step}
        rate = float(solve("observed_samples_per_second", given))
        figures |= rate_figures(rate, count, samples_per_step, PROFILE, note="mean step")
    facts = {"program": "TraceML", **({"gpus": count} if count else {})}
    return Reading(PROFILE, figures, unknown, facts=facts)
