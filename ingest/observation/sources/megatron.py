"""Logs of Megatron-LM, Megatron-DeepSpeed and NeMo: steps with their samples and times, and checkpoints."""

from __future__ import annotations

import re
from statistics import median

from ingest.errors import IngestError
from ingest.observation.training_run import (
    NUMBER,
    TWO_JOBS,
    Checkpoint,
    LogStep,
    TrainingLog,
    clock_of,
    lines_of,
    number_in,
    training_source,
)

_MEGATRON = re.compile(r"\biteration\s+(\d+)\s*/\s*\d+\s*\|")
_ELAPSED = re.compile(r"elapsed time per iteration \((ms|s)\):\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)")
_NEMO = re.compile(r'\btrain_step_timing in s"?[:=]\s*(-?[\d.,eE+-]+|-?nan\b|-?inf\b)')
# The world of one direction of parallelism is a part of the job.
_WORLD = re.compile(r"(?<!parallel[ _-])\bworld size:\s*(\d+)")
_SAVE = re.compile(r"save-checkpoint[ .]*:\s*\(([\d.]+),\s*(\d+(?:\.\d+)?)\)")
_GLOBAL_STEP, _ITERATION = re.compile(r'\bglobal_step"?[:= ]+(\d+)'), re.compile(r"\biteration[:= ]+(\d+)")
_CONSUMED = re.compile(rf'consumed[ _]samples"?[:=]\s*{NUMBER}')
_BATCH = re.compile(rf"global[ _]batch[ _]size:\s*{NUMBER}")
_RATE = re.compile(rf"\bsamples per second:\s*{NUMBER}")
#: The batch that a log prints, the samples that it counts and the rate that it states agree within this share.
BATCH_WITHIN = 0.05


def megatron(text: str, path: str) -> TrainingLog | None:
    """A log of Megatron-LM, Megatron-DeepSpeed or NeMo: time per iteration and consumed samples."""
    if not (_ELAPSED.search(text) or ("train_step_timing" in text and _NEMO.search(text))):
        return None
    steps: list[LogStep] = []
    checkpoints: list[Checkpoint] = []
    gpus = batch = None
    consumed: tuple[int, float] | None = None
    unit = None
    counted: list[float] = []
    stated_rates: list[float] = []
    for place, line in enumerate(lines_of(text), 1):
        # A word that is not there costs far less than a pattern that does not match: a log has a million lines.
        if "world size:" in line and (world := _WORLD.search(line)):
            size = int(number_in(world[1], path, place))
            if gpus not in (None, size):
                raise IngestError(f"{path}:{place}: the world size is {size:,} after {gpus:,}: {TWO_JOBS}")
            gpus = size
        if "save-checkpoint" in line and (saved := _SAVE.search(line)):
            checkpoints[-1:] = [Checkpoint(place, number_in(saved[2], path, place) / 1000)]
        elif "successfully saved checkpoint" in line:
            checkpoints.append(Checkpoint(place, None))
        seconds = None
        if "elapsed time per iteration" in line and (elapsed := _ELAPSED.search(line)):
            seconds = number_in(elapsed[2], path, place) / (1000 if elapsed[1] == "ms" else 1)
            if unit not in (None, elapsed[1]):
                raise IngestError(f"{path}:{place}: found times in {elapsed[1]} after {unit}, expected one unit")
            unit = elapsed[1]
        elif "train_step_timing" in line and (timing := _NEMO.search(line)):
            seconds = number_in(timing[1], path, place)
        if seconds is None:
            continue
        # The iteration of NeMo counts within the epoch, its global step through the run.
        of_run = _GLOBAL_STEP.search(line) if "global_step" in line else None
        number = of_run or _MEGATRON.search(line) or _ITERATION.search(line)
        if number is None:
            continue
        told = _CONSUMED.search(line)
        stated = _BATCH.search(line)
        each, step = (number_in(stated[1], path, place) if stated else None), int(number_in(number[1], path, place))
        batch = each or batch
        if told:
            total = number_in(told[1], path, place)
            if consumed is not None and total > consumed[1] and step > consumed[0]:
                mean = (total - consumed[1]) / (step - consumed[0])
                if each is not None:
                    counted.append(each / mean)
                each = each or mean
            consumed = (step, total)
        if each is None and steps:
            # A progress bar prints a step again.
            each = steps[-1].samples
        steps.append(LogStep(place, step, seconds, each, clock=clock_of(line)))
        if each and seconds > 0 and "samples per second:" in line and (rate := _RATE.search(line)):
            stated_rates.append(number_in(rate[1], path, place) * seconds / each)
    for what, shares in (("global batch size", counted), ("samples per second", stated_rates)):
        if shares and abs(median(shares) - 1) > BATCH_WITHIN:
            raise IngestError(
                f"{path}: its {what} is {median(shares):.3g} times what its samples and times give: expected one count of "
                "samples; give the rate with --real"
            )
    # Where only the total of the samples is printed, the first line leaves those of its step to the next.
    known = next((one.samples for one in steps if one.samples is not None), None)
    steps = [one if one.samples is not None else one._replace(samples=known) for one in steps]
    return TrainingLog(tuple(steps), tuple(checkpoints), gpus, batch, remark="time per iteration, as printed", single=True)


SOURCES = (training_source("Megatron", megatron, ("Megatron", "NeMo"), "Megatron, NeMo", rank=2),)
