"""`ingest observe`: what one job does to its storage, from its own run: live, from its logs, from its traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ingest.engine.registry import check_value, solve, unit_of
from ingest.errors import IngestError, UsageError, cannot_be_read
from ingest.files import open_regular, read_bytes, read_text
from ingest.observation.darshan_logs import darshan_reading, is_darshan_log
from ingest.observation.dftracer_traces import is_trace, trace_reading
from ingest.observation.live import data_path, observe_command, observe_process
from ingest.observation.observation import SCHEMA, Figure, Observation, Reading
from ingest.observation.observation_file import read_observation
from ingest.observation.profiles import profile_reading
from ingest.observation.training_logs import read_training_log
from ingest.observation.training_rate import training_reading
from ingest.units import parse, parse_whole

#: The longest window, and the usual one: a minute shows dozens of batches.
LONGEST_WINDOW = 7 * 86_400
USUAL_WINDOW = "60 s"
#: Real data cannot be faster than synthetic data by more than what two runs differ.
FASTER_BY = 1.05
EXPECTED = (
    "a Darshan log, a DFTracer trace, or a training log (Megatron, NeMo, MLPerf, torchtitan, Hugging Face, Lightning, "
    "Composer, DLIO, TraceML)"
)
MOST_BYTES = 2**30


def observe(
    *sources: str | Path,
    pid: int | str | None = None,
    command: Sequence[str] = (),
    window: str | float | None = None,
    path: str | Path | None = None,
    gpus: int | str | None = None,
    samples_per_step: float | str | None = None,
    tokens_per_sample: float | str | None = None,
    workers: int | str | None = None,
    prefetch: int | str | None = None,
    real: str | float | None = None,
    synthetic: str | float | Path | None = None,
) -> Observation:
    """Observe one job: read rate, requests, samples per second and stalls, each with its window and its coverage.

    Args:
        sources: logs and traces of one job.
        pid: process of a running job; its whole tree is watched.
        command: program and arguments of a job to start; a window ends it.
        window: how long to watch; 60 s, or to the end of a job that is started.
        path: folder or file that counts as data; imports, checkpoints and evaluations lie elsewhere.
        gpus: GPUs of the job, where its log does not state them.
        samples_per_step: samples of one step of the whole job, where its log does not state them.
        tokens_per_sample: tokens of one sample (sequence length), for logs that count tokens.
        workers: worker processes that load for one GPU; `feed --from-observation` predicts with other ones.
        prefetch: batches requested ahead for each worker.
        real: rate of the whole job on its data, such as `900 sample/s`, where no log has it.
        synthetic: rate of the whole job on synthetic data, or a log of that run; gives the stall.

    Raises:
        UsageError: nothing to observe, or two jobs at a time.
        IngestError: a source that would mislead, with what to do instead.
    """
    if pid is not None and command:
        raise UsageError("--pid and --command are two jobs, expected one of them")
    if window is not None and pid is None and not command:
        raise UsageError("--window: there is no running job, expected --pid or --command beside it")
    if not sources and pid is None and not command and real is None:
        raise UsageError("nothing to observe, expected a log, --pid N, --command CMD…, or --real and --synthetic")
    count = None if gpus is None else parse_whole(gpus, "--gpus", 1)
    step = None if samples_per_step is None else parse_whole(samples_per_step, "--samples-per-step", 1)
    tokens = _number(tokens_per_sample, "token/sample", "--tokens-per-sample")
    loader = {"loader_workers": (workers, "--workers"), "loader_prefetch": (prefetch, "--prefetch")}
    given = {
        name: Figure(check_value(name, parse_whole(found, option, 1), option), unit_of(name), "user", basis="given")
        for name, (found, option) in loader.items()
        if found is not None
    }
    if len(sources) == 1 and (kept := _kept(Path(sources[0]))) is not None:
        return replace(kept, figures={**kept.figures, **given})
    # A job that is started here may write its log while it runs; every other source is read first, to refuse early.
    known = [one for one in sources if not command or Path(one).exists()]
    data = None if path is None else os.path.abspath(path)
    per_gpu = None if workers is None else round(given["loader_workers"].value)

    def kinds(places: Sequence[str | Path]) -> tuple[list[Path], list[Path], list[Path]]:
        darshan, traces, logs = _sorted(places)
        if len([True for one in (darshan, traces, pid or command) if one]) > 1:
            raise UsageError(
                "two kinds of sources count the reads of the job, expected one: Darshan logs, DFTracer traces or a live job"
            )
        return darshan, traces, logs

    def read(places: Sequence[str | Path]) -> list[Reading]:
        darshan, traces, logs = kinds(places)
        found = [_log(one, count, step, tokens, per_gpu) for one in logs]
        _refuse_two_jobs(logs, found)
        found += [darshan_reading(darshan, data)] if darshan else []
        return found + ([trace_reading(traces, data)] if traces else [])

    readings = read(known) if not command else []
    if command:
        kinds(known)
    live = _live(pid, command, window, path)
    readings = (read(sources) if live else readings) + live
    if real is not None:
        if any("real_samples_per_second" in one.figures for one in readings):
            raise UsageError("--real: a log has the rate of this run, expected only one of them")
        readings.append(_given(_rate(real, "--real"), count, step))
    readings += [Reading("user", given)] if given else []
    stalled = None if synthetic is None else _synthetic(synthetic, count, step, tokens)
    inputs = {"sources": {"value": [str(one) for one in sources], "from": "user"},
              **({"path": {"value": str(path), "from": "user"}} if path is not None else {})}  # fmt: skip
    return combined(readings, stalled, inputs)


def _kept(path: Path) -> Observation | None:
    """An observation that was written before; None for any other file."""
    if path.suffix != ".json" or not path.is_file() or SCHEMA not in read_text(path, EXPECTED, most=MOST_BYTES):
        return None
    return read_observation(path)


def _sorted(sources: Sequence[str | Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """Darshan logs, DFTracer traces and other files among the sources; a folder stands for the logs and traces in it.

    Raises:
        IngestError: a source is not there, or a folder holds no log and no trace.
    """
    darshan: list[Path] = []
    traces: list[Path] = []
    logs: list[Path] = []
    for source in map(Path, sources):
        if source.is_dir():
            inside = [one for one in sorted(source.iterdir()) if one.suffix == ".darshan" or is_trace(one)]
            if not inside:
                raise IngestError(f"{source}: the folder holds no *.darshan and no *.pfw, expected the logs of one job")
        else:
            inside = [source]
        for one in inside:
            kind = traces if is_trace(one) else darshan if is_darshan_log(one, _head(one)) else logs
            kind.append(one)
    return darshan, traces, logs


def _head(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(16)
    except OSError as error:
        raise IngestError(cannot_be_read(path, error.strerror, EXPECTED)) from None


def _number(written: float | str | None, unit: str, option: str) -> float | None:
    if written is None:
        return None
    found = parse(written, unit, option)
    if found <= 0:
        raise UsageError(f"{option}: found {written}, expected a number above 0")
    return found


def _rate(written: str | float, option: str) -> float:
    found = parse(written, "sample/s", option)
    check_value("real_samples_per_second", found, option)
    return found


def _given(rate: float, gpus: int | None, step: float | None) -> Reading:
    """The rate that a user typed, and the batch of one GPU."""
    figures = {"real_samples_per_second": Figure(rate, "sample/s", "user", basis="given")}
    if gpus is None:
        return Reading("user", figures, {"samples_per_second_per_gpu": "the GPUs of the job are not known; --gpus sets them"})
    each = solve("observed_samples_per_second_per_gpu", {"real_samples_per_second": rate, "observed_gpus": gpus})
    figures["samples_per_second_per_gpu"] = Figure(float(each), "sample/s/GPU", "user", basis="given")
    if step is not None:
        batch = solve("observed_batch", {"job_samples_per_step": step, "observed_gpus": gpus})
        figures["samples_per_step"] = Figure(float(batch), "sample/GPU", "user", basis="given")
    return Reading("user", figures, facts={"gpus": gpus})


def _log(path: str | Path, gpus: int | None, step: float | None, tokens: float | None, workers: int | None = None) -> Reading:
    # Progress bars of several ranks that write at once break characters: a log is read around them.
    text = read_bytes(path, EXPECTED, most=MOST_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    profile = profile_reading(text, str(path), gpus, step)
    if profile is not None:
        return profile
    log = read_training_log(text, str(path))
    if log is None:
        raise IngestError(f"{path}: no source that is known, expected {EXPECTED}")
    return training_reading(log, str(path), gpus, step, tokens, workers)


def _refuse_two_jobs(sources: Sequence[str | Path], readings: Sequence[Reading]) -> None:
    rated = [str(path) for path, one in zip(sources, readings, strict=True) if "real_samples_per_second" in one.figures]
    if len(rated) > 1:
        raise UsageError(
            f"{rated[0]} and {rated[1]} are two runs, expected one; observe each by itself, join restarts in one file"
        )


def _live(pid: int | str | None, command: Sequence[str], window: str | float | None, path: str | Path | None) -> list[Reading]:
    if pid is None and not command:
        return []
    folder = None if path is None else data_path(str(path))
    seconds = None if window is None and command else parse(window if window is not None else USUAL_WINDOW, "s", "--window")
    if seconds is not None and not 1 <= seconds <= LONGEST_WINDOW:
        raise UsageError(f"--window: found {window}, expected 1 s to 7 d")
    if command:
        return [observe_command(command, folder, seconds)]
    assert seconds is not None
    return [observe_process(parse_whole(pid, "--pid", 1), folder, seconds)]


def _synthetic(found: str | float | Path, gpus: int | None, step: float | None, tokens: float | None) -> Figure:
    """The rate on synthetic data: typed, or of a log."""
    if isinstance(found, (int, float)) or not Path(found).is_file():
        return Figure(_rate(str(found), "--synthetic"), "sample/s", "user", basis="given")
    return _log(found, gpus, step, tokens).figures["real_samples_per_second"]


#: demand -> the observed figure, and its name in the formula
DEMANDS = {
    "demanded_samples_per_second_per_gpu": ("samples_per_second_per_gpu", "observed_samples_per_second_per_gpu"),
    "demanded_read_bandwidth": ("read_bandwidth", "read_bandwidth"),
}


def combined(readings: Sequence[Reading], synthetic: Figure | None, inputs: Mapping[str, Any]) -> Observation:
    """One observation of the readings of one job: what each shows, and what follows from them together.

    Raises:
        IngestError: two sources show one quantity, or the job is faster with its data than without.
    """
    figures: dict[str, Figure] = {}
    unknown: dict[str, str] = {}
    for one in readings:
        figures = {**one.figures, **figures}
        unknown |= one.unknown
    warnings = [line for one in readings for line in one.warnings]
    rate, bandwidth = figures.get("real_samples_per_second"), figures.get("read_bandwidth")
    if bandwidth is not None and rate is not None:
        given = {"read_bandwidth": bandwidth.value, "real_samples_per_second": rate.value}
        note = f"read bandwidth of the {bandwidth.source} over the rate of the {rate.source}"
        each = float(solve("observed_bytes_per_sample", given))
        figures["bytes_read_per_sample"] = bandwidth._replace(value=each, unit="B/sample", note=note)
    else:
        missing = (
            "bytes read: a Darshan log, a trace, --pid or --command"
            if bandwidth is None
            else "samples: a training log or --real"
        )
        unknown["bytes_read_per_sample"] = f"no source has {missing}"
    figures |= _stall(figures, synthetic, unknown, warnings)
    facts = {name: value for one in readings for name, value in one.facts.items()}
    unknown = {name: why for name, why in unknown.items() if name not in figures}
    sizes = next((one.sizes for one in readings if one.sizes), ())
    kinds = ", ".join(dict.fromkeys(one.source for one in readings))
    return Observation(f"Observed job: {kinds}", inputs, figures, unknown, tuple(warnings), sizes, facts)


def _stall(
    figures: dict[str, Figure], synthetic: Figure | None, unknown: dict[str, str], warnings: list[str]
) -> dict[str, Figure]:
    """The stall from two rates, and the demand that follows; without a second rate the observed figures bound it from below."""
    rate, stated = figures.get("real_samples_per_second"), figures.get("stall_fraction")
    known = {demand: figures[seen] for demand, (seen, _) in DEMANDS.items() if seen in figures}
    if rate is not None and synthetic is not None:
        if rate.value > FASTER_BY * synthetic.value:
            raise IngestError(
                f"--synthetic: found {synthetic.value:g} sample/s, expected at least the {rate.value:g} sample/s on real data"
            )
        given = {"real_samples_per_second": rate.value, "synthetic_samples_per_second": synthetic.value}
        share = check_value("stall_fraction", float(solve("stall_fraction", given)), "--synthetic: the stall that it gives")
        stated = Figure(share, "1", rate.source, rate.window, basis=synthetic.basis, note="from two rates")
    if stated is None:
        unknown["stall_fraction"] = "no rate on synthetic data tells it; --synthetic does"
        warnings.append("without a rate on synthetic data every rate is a lower bound: the job may have waited for data")
        return {demand: one._replace(lower_bound=True, note="the stall is unknown") for demand, one in known.items()}
    check_value("stall_fraction", stated.value, f"{stated.source}: the stall")
    found = {"stall_fraction": stated}
    for demand, one in known.items():
        value = float(solve(demand, {DEMANDS[demand][1]: one.value, "stall_fraction": stated.value}))
        found[demand] = one._replace(value=value, low=None, high=None, note="observed rate ÷ (1 − stall)")
    return found
