"""Summaries of profilers: the wait for data that TraceML counts; profiles that show no stall are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ingest.engine.registry import solve
from ingest.errors import IngestError, brief
from ingest.observation.observation import Figure, Reading

SOURCE = "TraceML summary"
#: Profiles name their parts near the start.
HEAD = 2**16
#: A step is the wait for data and the rest; summaries in which they do not add up use the names in another sense.
ADDS_UP_WITHIN = 0.05
#: milliseconds of a summary
MOST_MILLISECONDS = 1e9
MILLISECONDS = 1000


def profile_reading(text: str, path: str, gpus: int | None, samples_per_step: float | None) -> Reading | None:
    """The stall of a job from the summary of TraceML; None for a file that is no profile.

    Args:
        text: the content of the file.
        path: its name, for messages.
        gpus: GPUs of the job; None takes those that the summary states.
        samples_per_step: samples of one step of the whole job, which no summary states.

    Raises:
        IngestError: a profile that shows no stall, with what does.
    """
    head = text[:HEAD]
    if '"traceEvents"' in head:
        raise IngestError(
            f"{path}: a Kineto trace has no reads, and its DataLoader spans are 0 ms where workers load: it shows no stall. "
            "Give rates on real and on synthetic data (--synthetic), or a Darshan log"
        )
    if '"schema"' in head and "chakra" in head.lower():
        raise IngestError(
            f"{path}: a Chakra execution trace has operators and no times of reads: it shows no stall. "
            "Give rates on real and on synthetic data (--synthetic), or a Darshan log"
        )
    if '"step_time"' not in text or not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    average = _table(_table(_table(data.get("step_time")).get("global")).get("average"))
    if "step_time_ms" not in average:
        return None
    return _reading(data, average, path, gpus, samples_per_step)


def _table(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _reading(
    data: Mapping[str, Any], average: Mapping[str, Any], path: str, gpus: int | None, samples_per_step: float | None
) -> Reading:
    wait, rest, step = (_seconds(average, name, path) for name in ("input_wait_ms", "traced_step_time_ms", "step_time_ms"))
    if step <= 0 or not math.isclose(wait + rest, step, rel_tol=ADDS_UP_WITHIN):
        raise IngestError(
            f"{path}: step_time_ms is {MILLISECONDS * step:g}, input_wait_ms and traced_step_time_ms add up to "
            f"{MILLISECONDS * (wait + rest):g}: expected the summary of one run, of TraceML from schema 1.6 on"
        )
    metadata = _table(_table(data["step_time"]).get("metadata"))
    stated = metadata.get("gpus_observed", metadata.get("global_ranks_used"))
    count = gpus or (stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None)
    shares = {"input_wait_seconds": wait, "mean_step_seconds": step}
    note = "wait of the training loop for data; a GPU may still compute in it"
    figures = {"stall_fraction": Figure(float(solve("stall_of_wait", shares)), "1", SOURCE, note=note)}
    unknown = {}
    if samples_per_step is None:
        unknown["real_samples_per_second"] = "the summary does not state the batch size; --samples-per-step does"
    else:
        given = {"observed_samples": samples_per_step, "window_seconds": step}
        rate = float(solve("observed_samples_per_second", given))
        figures["real_samples_per_second"] = Figure(rate, "sample/s", SOURCE, note="mean step")
        if count:
            each = solve("observed_samples_per_second_per_gpu", {"real_samples_per_second": rate, "observed_gpus": count})
            batch = solve("observed_batch", {"job_samples_per_step": samples_per_step, "observed_gpus": count})
            figures["samples_per_second_per_gpu"] = Figure(float(each), "sample/s/GPU", SOURCE, note="mean step")
            figures["samples_per_step"] = Figure(float(batch), "sample/GPU", SOURCE)
    facts = {"program": "TraceML", **({"gpus": count} if count else {})}
    return Reading(SOURCE, figures, unknown, facts=facts)


def _seconds(average: Mapping[str, Any], name: str, path: str) -> float:
    found = average.get(name)
    if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found < MOST_MILLISECONDS:
        return found / MILLISECONDS
    raise IngestError(
        f"{path}: found {name} {brief(found)}, expected milliseconds: the summary of a run whose data loader TraceML patched"
    )
