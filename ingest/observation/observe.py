"""`ingest observe`: what one job does to its storage, from its own run: live, from its logs, from its traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

from ingest.engine.question import filled, option
from ingest.engine.registry import check_value, solve
from ingest.errors import IngestError, UsageError, cannot_be_read
from ingest.files import open_regular, read_bytes, read_text
from ingest.observation.live import observe_job
from ingest.observation.observation import (
    SCHEMA,
    CountSource,
    Figure,
    Job,
    LogSource,
    Observation,
    Reading,
    declared_sources,
    figure_of,
    read_observation,
)
from ingest.observation.training_run import rate_figures
from ingest.units import parse, parse_whole

#: The longest window, and the usual one: a minute shows dozens of batches.
LONGEST_WINDOW = 7 * 86_400
USUAL_WINDOW = "60 s"
#: Real data cannot be faster than synthetic data by more than what two runs differ.
FASTER_BY = 1.05
MOST_BYTES = 2**30


class ObserveOptions(TypedDict, total=False):
    """The options of `observe`."""

    pid: Annotated[int | str | None, option("Process of a running job; its whole tree is watched.")]
    command: Annotated[Sequence[str], option("Program and arguments of a job to start; a window ends it.", default=())]
    window: Annotated[
        str | float | None,
        option("How long to watch; {default}, or to the end of a job that is started.", "TIME", usual=USUAL_WINDOW),
    ]
    path: Annotated[
        str | Path | None, option("Folder or file that counts as data; imports, checkpoints and evaluations lie elsewhere.")
    ]
    gpus: Annotated[int | str | None, option("GPUs of the job, where its log does not state them.")]
    samples_per_step: Annotated[
        float | str | None, option("Samples of one step of the whole job, where its log does not state them.")
    ]
    tokens_per_sample: Annotated[
        float | str | None, option("Tokens of one sample (sequence length), for logs that count tokens.")
    ]
    workers: Annotated[
        int | str | None, option("Worker processes that load for one GPU; `feed --from-observation` predicts with other ones.")
    ]
    prefetch: Annotated[int | str | None, option("Batches requested ahead for each worker.")]
    real: Annotated[
        str | float | None, option("Rate of the whole job on its data, such as `900 sample/s`, where no log has it.")
    ]
    synthetic: Annotated[
        str | float | Path | None, option("Rate of the whole job on synthetic data, or a log of that run; gives the stall.")
    ]


def observe(*sources: str | Path, **options: Unpack[ObserveOptions]) -> Observation:
    """Observe one job: read rate, requests, samples per second and stalls, each with its window and its coverage.

    `sources` are logs and traces of one job.

    Raises UsageError: nothing to observe, or two jobs at a time; IngestError: a source that would mislead, with what to do
    instead.
    """
    asked: dict[str, Any] = {**filled(ObserveOptions, options, "observe")}
    pid, command, window, path, real, synthetic = (
        asked[name] for name in ("pid", "command", "window", "path", "real", "synthetic")
    )
    if pid is not None and command:
        raise UsageError("--pid and --command are two jobs, expected one of them")
    if window is not None and pid is None and not command:
        raise UsageError("--window: there is no running job, expected --pid or --command beside it")
    if not sources and pid is None and not command and real is None:
        raise UsageError("nothing to observe, expected a log, --pid N, --command CMD…, or --real and --synthetic")

    def whole(name: str) -> int | None:
        return None if asked[name] is None else parse_whole(asked[name], f"--{name.replace('_', '-')}", 1)

    gpus, samples_per_step, tokens = whole("gpus"), whole("samples_per_step"), asked["tokens_per_sample"]
    length = None if tokens is None else parse(tokens, "token/sample", "--tokens-per-sample")
    if length is not None and length <= 0:
        raise UsageError(f"--tokens-per-sample: found {tokens}, expected a number above 0")
    job, given = Job(gpus, samples_per_step, length), dict[str, Figure]()
    for name, flag in (("loader_workers", "workers"), ("loader_prefetch", "prefetch")):
        if (count := whole(flag)) is not None:
            job = job._replace(workers=count) if flag == "workers" else job
            given[name] = figure_of(name, {name: check_value(name, count, f"--{flag}")}, "user", basis="given")
    if len(sources) == 1:
        # An observation that was written before.
        only = Path(sources[0])
        if only.suffix == ".json" and only.is_file() and SCHEMA in read_text(only, expected_sources(), most=MOST_BYTES):
            kept = read_observation(only)
            return replace(kept, figures={**kept.figures, **given})
    data, watched = None if path is None else os.path.abspath(path), bool(pid or command)

    def read(places: Sequence[str | Path]) -> list[Reading]:
        counting, logs = _sorted(places, watched)
        found = [_log(one, job) for one in logs]
        rated = [path for path, one in zip(logs, found, strict=True) if "real_samples_per_second" in one.figures]
        if len(rated) > 1:
            raise UsageError(
                f"{rated[0]} and {rated[1]} are two runs, expected one; observe each by itself, join restarts in one file"
            )
        return found + [source.read(files, data) for source, files in counting]

    # A job that is started here may write its log while it runs; every other source is read first, to refuse early.
    readings = [] if command else read(sources)
    if command:
        _sorted([one for one in sources if Path(one).exists()], True)
    live = [_live(pid, command, window, path)] if pid is not None or command else []
    readings = (read(sources) if live else readings) + live
    if real is not None:
        if any("real_samples_per_second" in one.figures for one in readings):
            raise UsageError("--real: a log has the rate of this run, expected only one of them")
        figures = rate_figures(_rate(real, "--real"), job.gpus, job.samples_per_step, "user", basis="given")
        unknown = {"samples_per_second_per_gpu": "the GPUs of the job are not known; --gpus sets them"}
        readings.append(
            Reading("user", figures, unknown) if job.gpus is None else Reading("user", figures, facts={"gpus": job.gpus})
        )
    readings += [Reading("user", given)] if given else []
    stalled = None
    if isinstance(synthetic, (int, float)) or (synthetic is not None and not Path(synthetic).is_file()):
        stalled = Figure(_rate(str(synthetic), "--synthetic"), "sample/s", "user", basis="given")
    elif synthetic is not None:
        stalled = _log(synthetic, job._replace(workers=None)).figures["real_samples_per_second"]
    inputs = {"sources": {"value": [str(one) for one in sources], "from": "user"},
              **({"path": {"value": str(path), "from": "user"}} if path is not None else {})}  # fmt: skip
    return combined(readings, stalled, inputs)


def expected_sources() -> str:
    """The sources that `observe` reads, as refusals list them."""
    counting = ", ".join(f"a {one.kind}" for one in declared_sources(CountSource))
    names = dict.fromkeys(name for one in declared_sources(LogSource) for name in one.names or (one.program,))
    return f"{counting}, or a training log ({', '.join(names)})"


def _sorted(sources: Sequence[str | Path], watched: bool) -> tuple[list[tuple[CountSource, list[Path]]], list[Path]]:
    """The files that count reads, by source, and other files; a folder stands for the files that count reads in it.

    Refused: a source is not there, a folder holds no file that counts reads, or two kinds of sources count them; a job that is
    `watched` is one.
    """
    counting = [(source, list[Path]()) for source in declared_sources(CountSource)]
    logs: list[Path] = []
    for place in map(Path, sources):
        inside = [place]
        if place.is_dir():
            suffixes = tuple(suffix for source, _ in counting for suffix in source.suffixes)
            # Hidden files, such as those that macOS leaves beside each, are of no job.
            inside = [one for one in sorted(place.iterdir()) if one.name.endswith(suffixes) and not one.name.startswith(".")]
            if not inside:
                none = " and ".join(f"no *{source.suffixes[0]}" for source, _ in counting)
                raise IngestError(f"{place}: the folder holds {none}, expected the logs of one job")
        for one in inside:
            kind = next((files for source, files in counting if not source.begins and one.name.endswith(source.suffixes)), None)
            if kind is None:
                try:
                    with open_regular(one) as file:
                        head = file.read(16)
                except OSError as error:
                    raise IngestError(cannot_be_read(one, error.strerror, expected_sources())) from None
                found = (files for source, files in counting
                         if source.begins and (one.name.endswith(source.suffixes) or source.begins(head)))  # fmt: skip
                kind = next(found, logs)
            kind.append(one)
    by_source = [(source, files) for source, files in counting if files]
    if len(by_source) + watched > 1:
        kinds = ", ".join(f"{source.kind}s" for source, _ in counting)
        raise UsageError(f"two kinds of sources count the reads of the job, expected one: {kinds} or a live job")
    return by_source, logs


def _rate(written: str | float, flag: str) -> float:
    found = parse(written, "sample/s", flag)
    check_value("real_samples_per_second", found, flag)
    return found


def _log(path: str | Path, job: Job) -> Reading:
    expected = expected_sources()
    # Progress bars of by_source ranks that write at once break characters: a log is read around them.
    text = read_bytes(path, expected, most=MOST_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for source in sorted(declared_sources(LogSource), key=lambda one: one.rank):
        if (found := source.read(text, str(path), job)) is not None:
            return found
    started = f"to watch a job: --command python {path}; " if str(path).endswith(".py") else ""
    raise IngestError(f"{path}: no source that is known; {started}expected {expected}")


def _live(pid: int | str | None, command: Sequence[str], window: str | float | None, path: str | Path | None) -> Reading:
    # The kernel names open files by absolute paths without links.
    folder = None if path is None else os.path.realpath(path)
    if folder is not None and not os.path.exists(folder):
        raise IngestError(f"--path: there is no '{path}', expected a file or folder of the job's data")
    seconds = None if window is None and command else parse(window if window is not None else USUAL_WINDOW, "s", "--window")
    if seconds is not None and not 1 <= seconds <= LONGEST_WINDOW:
        raise UsageError(f"--window: found {window}, expected 1 s to 7 d")
    return observe_job(None if command else parse_whole(pid, "--pid", 1), command, folder, seconds)


#: demand -> the observed figure, and its name in the formula
DEMANDS = {
    "demanded_samples_per_second_per_gpu": ("samples_per_second_per_gpu", "observed_samples_per_second_per_gpu"),
    "demanded_read_bandwidth": ("read_bandwidth", "read_bandwidth"),
}


def combined(readings: Sequence[Reading], synthetic: Figure | None, inputs: Mapping[str, Any]) -> Observation:
    """One observation of the readings of one job: what each shows, and what follows from them together.

    Refused: the job is faster with its data than without.
    """
    figures = {name: figure for one in reversed(readings) for name, figure in one.figures.items()}
    unknown = {name: why for one in readings for name, why in one.unknown.items()}
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
