"""The commands that ask a function and print its answer: a table. What no table can say has a module of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import click

import ingest
from ingest.cli.main import later, loaded, tell
from ingest.cli.options import (
    BriefCommand,
    detail_options,
    explain_option,
    format_option,
    job_file,
    model_alone,
    model_argument,
    one_output,
    options_of,
    output_option,
    output_options,
    word_argument,
)
from ingest.cli.output import QUIET, chosen_option, hand_over, tell_written, warn
from ingest.errors import IngestError, RequirementNotMet, UsageError, in_one_line
from ingest.reports.page import FORMATS
from ingest.sizing.dataset import USUAL_FORMATS
from ingest.sizing.explain import Explanation

Function = Callable[..., Any]

progress_on = later("ingest.corpus.types", "Progress")
show_bandwidth = later("ingest.cli.plain", "show_bandwidth")
observed_job = later("ingest.acceptance.observed_job", "observed_job")
as_docx = later("ingest.reports.document.word", "as_docx")
verdict_document = later("ingest.reports.document.page_document", "verdict_document")
sizing_workbook = later("ingest.reports.workbook.small_workbooks", "sizing_workbook")
sweep_page = later("ingest.reports.pages.sizing", "sweep_page")
sweep_workbook = later("ingest.reports.workbook.small_workbooks", "sweep_workbook")
verdict_workbook = later("ingest.reports.workbook.judged_workbooks", "verdict_workbook")


class Asked(NamedTuple):
    """A command, and the function of the same name that it asks."""

    text: str  # its help
    #: its words and options in the order of its help; `options_of` stands for those that the function declares
    parts: tuple[Callable[..., Any], ...] = (model_argument, options_of, explain_option, output_options)
    without: tuple[str, ...] = ("model",)  # those of them that another part declares
    book: Callable[..., bytes] | None = sizing_workbook  # makes the workbook, if it has one
    #: the warnings of its answer, where they are no attribute of that name
    cautions: Callable[[Any], Sequence[str]] | None = None
    needs: tuple[str, str] = ("", "")  # a result without which there is no answer, and the one whose absence says why
    #: asks the function and prints the answer, for a command that does it in a way of its own
    run: Callable[..., None] | None = None


def _word(name: str, called: str | None = None, required: bool = True) -> Callable[[Any], Any]:
    """A word in front of the options; several where the name by which help calls it ends in `…`."""
    return click.argument(name, metavar=called, required=required, nargs=-1 if (called or "").endswith("…") else 1)


def _told(asked: Asked, answer: Any, form: str | None, output: Sequence[str] = (), explain: str | None = None) -> None:
    """Print an answer, or the derivation of its quantity `explain`.

    Raises:
        IngestError: the result is unknown that the command is asked for.
        RequirementNotMet: a requirement is not met.
    """
    unmet, (needed, why) = getattr(answer, "unmet", ""), asked.needs
    if needed and needed in answer.unknown and not unmet:
        raise IngestError(answer.unknown[why])
    if explain is not None:
        hand_over(Explanation.of(answer, explain), form, output, warnings=answer.warnings)
    else:
        hand_over(answer, form, output, asked.book, warnings=asked.cautions and asked.cautions(answer))
    if unmet:
        raise RequirementNotMet(unmet)


def _sweep(function: Function, form: str | None, output: Sequence[str], **options: Any) -> None:
    answer = function(**options)
    if answer.incomplete:
        raise IngestError(answer.incomplete)
    if not output and form == "csv":
        click.echo(answer.to_csv(), nl=False)
        warn(answer.warnings)
        return
    page = partial(sweep_page, answer, most=10**9) if output else None
    files = {".csv": answer.to_csv, ".parquet": answer.to_parquet}
    hand_over(answer, form, output, sweep_workbook, page=page, documents=files)


def _measure(function: Function, paths: tuple[str, ...], form: str | None, output: Sequence[str], **options: Any) -> None:
    part = options["part"]
    if part is not None and (len(output) != 1 or form is not None):
        raise UsageError("--part: " + ("found --format, expected none" if form else "expected the file of the part, -o FILE"))
    try:
        answer = function(*paths, **options, progress=None if chosen_option(QUIET) else progress_on(sys.stderr))
    except KeyboardInterrupt as interrupted:
        if known := getattr(interrupted, "known", None):
            hand_over(known, form, output, warnings=())
        raise
    if part is not None:
        answer.write(output[0])
        if not chosen_option(QUIET):
            tell(in_one_line(answer.title))
        tell_written(*output)
        return
    hand_over(answer, form, output)
    if answer.unmet:
        raise IngestError(answer.unmet)


def _dataset(function: Function, words: tuple[str, ...], **options: Any) -> None:
    """Part the format of the data set from that of the output: both options are `--format`."""
    kinds = {"data set": [one for one in words if one not in FORMATS], "output": [one for one in words if one in FORMATS]}
    for kind, found in kinds.items():
        if len(found) > 1:
            raise UsageError(f"--format: found {' and '.join(found)}, expected one format of the {kind}")
    container, form = (next(iter(found), None) for found in kinds.values())
    output, explain = options.pop("output"), options.pop("explain")
    _told(COMMANDS["dataset"], function(format=container, **options), form, output, explain)


def _report(function: Function, **options: Any) -> None:
    answer = function(**options)
    warn(answer.warnings)
    tell_written(*answer.files)


def _accept(function: Function, form: str | None, **options: Any) -> None:
    plan, observed, times = (options.pop(name) for name in ("plan", "from_observation", "times"))
    if (plan is None) is (observed is None):
        raise click.UsageError("expected SITE.yaml, plan.json or --from-observation FILE, one of them")
    own = {one: options[one] for one in ("folder", "force")}
    hand_over(function(plan, **options) if observed is None else observed_job(observed, times=times, **own), form, ())


def _verdict(function: Function, form: str | None, output: Sequence[str], partial: bool, **options: Any) -> None:
    answer = function(**options)
    hand_over(answer, form, output, verdict_workbook, documents={".docx": lambda: as_docx(verdict_document(answer))})
    if answer.unmet or (answer.incomplete and not partial):
        raise RequirementNotMet(answer.unmet or answer.incomplete)


def _calibrate(function: Function, observations: tuple[str, ...], form: str | None, **options: Any) -> None:
    _told(COMMANDS["calibrate"], function(*observations, **options), form)
    if options["bundle"] is not None:
        tell_written(options["bundle"])


#: command -> what it asks
COMMANDS: dict[str, Asked] = {
    "bw": Asked(
        """Read bandwidth that storage must deliver so that GPUs never wait.

        Sizes and rates take units: 16MiB, '2.83 MB', '35 TFLOP/s'. A time or rate without one is refused.

        \b
        ingest bw cosmoflow h100 --nodes 128
        ingest bw --model resnet50 --gpu b200,h100 --nodes 1..1024*4 --format csv
        ingest bw --model cosmoflow --gpu h100 --nodes 128 -o bw.xlsx
        """,
        parts=(model_argument, options_of, output_options),
        run=lambda _, **options: show_bandwidth(**options),
    ),
    "model": Asked(
        """Parameters, weight bytes, FLOPs per token and key-value cache, from a model's own files.

        Of a folder with safetensors files it reads the headers, never the weights. FLOPs are those of
        forward and backward pass, per token. A config of an unknown family without weights is refused;
        list its weights as rows of a YAML file instead.

        \b
        ingest model llama3-405b --sequence-length 8192
        ingest model --set layers=118 --set hidden_size=18432 --set parameters=540e9
        ingest model config.json --precision fp8 --format json
        ingest model path/of/a/release
        """,
        parts=(_word("source", "ID|config.json|FOLDER", required=False), options_of, output_options),
        without=("source",),
    ),
    "memory": Asked(
        """Model states and activations in GPU memory, and the GPUs and nodes that hold them.

        Exits with 3 if the GPUs given do not hold the model.

        \b
        ingest memory llama3-405b --gpu h100
        ingest memory llama3-70b --gpu h100 --sequence-length 8192 --recompute full
        ingest memory --set parameters=7.5e9 --gpus 64 --zero-stage 2
        """,
        needs=("model_state_bytes_per_gpu", "gpus_to_hold"),
    ),
    "checkpoint": Asked(
        """Size, files, write bandwidth and interval of checkpoints, and the read bandwidth of a restore.

        Exits with 3 if a given --waste or --write-bandwidth is not met, or if the job would make no progress.

        \b
        ingest checkpoint llama3-405b --gpus 16384 --mode sync --waste 5%
        ingest checkpoint llama3-405b --gpus 16384 --interval 15min
        ingest checkpoint config.json --gpus 64 --tensor-parallel 8 --layout deepspeed --zero-stage 1
        """,
    ),
    "goodput": Asked(
        """Share of a training run that is progress: simulated interrupts, the closed form, and the gain per GB/s.

        Exits with 3 if a given --waste or --write-bandwidth is not met.

        \b
        ingest goodput llama3-405b --gpus 16384 --mode sync --write-bandwidth 500GB/s
        ingest goodput llama3-405b --gpus 16384 --interval 15min --spares 16 --repair-time 2d
        ingest goodput llama3-405b --gpus 16384 --near-recovery 0.7 --persistent-every 10 --interval 2min
        """,
    ),
    "rl": Asked(
        """Weights that a trainer publishes and rollout hosts pull, traces, sandboxes and checkpoints of reinforcement learning.

        \b
        ingest rl qwen3-8b --rollout-hosts 48 --step-time 60s --publish full --pull-within 10s
        ingest rl qwen3-8b --rollout-hosts 48 --step-time 60s --publish delta --changed-share 1%..3% --anchor-every 25
        ingest rl qwen3-30b-a3b --rollout-hosts 16 --rollouts 1024 --tokens 8000 --tokens-per-second 8000 --trace ids,routing
        """,
        parts=(model_alone, options_of, explain_option, output_options),
    ),
    "train": Asked(
        """GPU-hours, duration, energy, carbon and cost of a training run, with the time that it loses.

        Exits with 3 if the job would make no progress.

        \b
        ingest train llama3-405b --tokens 15.6T --gpu h100 --gpus 16384
        ingest train resnet50 --set parameters=25.6M --samples 115M --gpu a100 --gpus 64 --stall 5% --price-gpu-hour 2
        ingest train --set gpu_hours=1720320 --power 400 --carbon 385g/kWh
        """,
    ),
    "feed": Asked(
        """Whether GPUs wait for their loaders: utilization, readers, decoding, caches.

        Exits with 3 if a given --utilization is not reached.

        \b
        ingest feed --model resnet50 --gpu h100 --nodes 4 --workers 16 --latency 4ms --latency-cv 2
        ingest feed --model llama3-405b --gpu h100 --nodes 2048 --loader megatron --tensor-parallel 8 --pipeline-parallel 16
        ingest feed --samples-per-second 200 --sample-bytes 100kB --gpus-per-node 8 --batch 32 --latency 20ms
        """,
    ),
    "offload": Asked(
        """Training and inference beyond GPU memory: what lies where, what moves, step time and bandwidth.

        Exits with 3 if a tier has no room for what is placed in it.

        \b
        ingest offload llama3-70b --gpu h100 --gpus 8
        ingest offload --set layers=128 --set hidden_size=25600 --set attention_heads=256 --node dgx-2
        ingest offload llama3-70b --inference --gpu h200 --gpus 1 --batch 96 --parameters nvme
        ingest offload llama3-70b --inference --users 1000 --turns 8 --prompt 1000 --generate 500
        """,
    ),
    "sweep": Asked(
        """Many scenarios in one call: every combination of the ranges, of any quantity.

        A range is from..to*k, from..to+k or from..to; a list has commas. `--nodes` may be a range too.
        A file may end in .csv, .json, .md, .parquet or .xlsx.

        \b
        ingest sweep nodes=1..1024*2 sample_bytes=1MB,2.83MB,16MiB --model cosmoflow --gpu h100
        """,
        parts=(_word("axes", "NAME=RANGE…", required=False), options_of, output_options),
        without=(),
        run=_sweep,
    ),
    "explain": Asked(
        """Derivation of one quantity of `bw`: the formula in names and in numbers, down to the catalog values and sources.

        \b
        ingest explain ingest_bandwidth_per_job --model cosmoflow --gpu h100 --nodes 128
        ingest explain W61
        """,
        parts=(_word("name"), model_argument, options_of, output_options),
        book=None,
    ),
    "measure": Asked(
        """Bytes per token, tokens and sizes of your own text, exactly or with a confidence interval.

        PATH is a folder, file, glob, URL (s3://…), datasets://FOLDER, @list.txt, or - for standard input; plain text, JSONL,
        CSV, Parquet, Arrow, tar, WARC, also compressed. Unreadable files are listed in files_skipped. Ctrl-C prints the
        result so far.

        \b
        ingest measure books/
        ingest measure books/ --tokenizer tokenizer.json -o corpus.json
        ingest measure 's3://bucket/c4/*.json.gz' --text-field text --tolerance 1%
        ingest measure books/ --exact --resume books.ledger
        ingest bw --model config.json --gpu h100 --bytes-per-token corpus.json
        ingest measure images/ --samples -o samples.json
        ingest measure books/ --part 3/8 -o part3.json
        ingest measure --merge part*.json -o corpus.json
        """,
        parts=(
            _word("paths", "PATH…"),
            click.option(
                "--exact/--sample", default=None, help="Count everything, or a sample. [default: everything up to 30 s]"
            ),
            options_of,
            output_options,
        ),
        without=("exact", "progress"),
        run=_measure,
    ),
    "dataset": Asked(
        """Storage footprint of a data set, from raw input to the copies for training, with files and inodes.

        \b
        ingest dataset --tokens 15T --bytes-per-token 4 --copies 2
        ingest dataset fineweb --pipeline fineweb --format parquet-zstd
        ingest dataset --samples 1281167 --sample-bytes 114660 --format webdataset --format json
        """,
        parts=(
            word_argument("corpus"),
            options_of,
            click.option(
                "--format",
                "words",
                multiple=True,
                metavar="ID",
                help="Format of the data set: megatron, mds, parquet, … "
                f"[default: {USUAL_FORMATS['tokens']}, {USUAL_FORMATS['samples']}]; "
                f"or of the output: {', '.join(FORMATS)}. Repeatable.",
            ),
            explain_option,
            output_option,
            detail_options,
        ),
        without=("format",),
        run=_dataset,
    ),
    "vectors": Asked(
        """Vector index: bytes on disk and in memory, scratch of a build, reads of queries, load and rebuild.

        Files are those that a library writes, in the version that its layout names; a layout that was not held against files
        is refused. Recall depends on the data and is never derived.

        \b
        ingest vectors --vectors 100M --dimensions 768 --index hnsw
        ingest vectors --vectors 10M --dimensions 1536 --index diskann --degree 64 --qps 500 --search-list 200
        ingest vectors --documents corpus.json --chunk 512 --overlap 64 --dimensions 1024 --index ivf-pq --layout lance
        """,
        parts=(options_of, explain_option, output_options),
        without=(),
    ),
    "diff": Asked(
        """Differences between two plans, with the changed inputs behind each of them.

        \b
        ingest plan site.yaml -o before.json
        ingest plan site.yaml --set clusters.main.count=256 -o after.json
        ingest diff before.json after.json
        """,
        parts=(_word("before", "BEFORE.json"), _word("after", "AFTER.json"), output_options),
        book=None,
        cautions=attrgetter("notes"),
    ),
    "report": Asked(
        """Write the buyer's own report of a site, or with --for-vendor the files of an RFP.

        The suffix of each file selects its format: .xlsx is the workbook, .docx, .md, .html and .pdf are the document,
        .csv and .json the requirement lines. A .pdf needs LibreOffice.

        \b
        ingest report site.yaml -o report.docx -o model.xlsx
        ingest report site.yaml --for-vendor -o rfp.docx -o rfp.xlsx
        ingest report site.yaml --for-vendor -o rfp.docx --template house-style.docx
        """,
        parts=(_word("site", "SITE.yaml"), options_of, detail_options),
        run=_report,
    ),
    "accept": Asked(
        """Write runnable acceptance tests, each tied to a requirement line and its pass threshold.

        \b
        ingest accept site.yaml -o tests
        ingest accept plan.json -o rehearsal --scale 1node --tool fio
        ingest accept --from-observation job.json --times 8 -o observed
        """,
        parts=(
            _word("plan", "SITE.yaml|plan.json", required=False),
            click.option(
                "--from-observation",
                metavar="FILE",
                help="Write the jobs of an observed job instead: the JSON of `ingest observe`.",
            ),
            click.option("--times", default="1", show_default=True, metavar="N", help="Copies of the observed job."),
            click.option(
                "-o",
                "--output",
                "folder",
                required=True,
                metavar="DIR",
                multiple=True,
                callback=one_output,
                help="New or empty folder for the tests.",
            ),
            options_of,
            format_option,
            detail_options,
        ),
        run=_accept,
    ),
    "verdict": Asked(
        """Judge results of acceptance tests: ACCEPTED, NOT ACCEPTED or INCOMPLETE, then line by line with margins.

        Reads the results of fio, IOR, mdtest, elbencho, DLIO and MLPerf Storage. A requirement passes where the one-sided 95 %
        lower bound of the median of its runs reaches 97 % of it. It is undecided, with the number of runs to add, where their
        spread is too wide; ten runs decide. Requirements and terms that no test shows are listed for inspection. A run whose
        settings differ from the test (block size, duration, errors, caches, threads) does not count and is listed. A file may
        end in .docx, .xlsx, .md, .csv, .json or .txt.

        Exits with 3 if a mandatory requirement failed, or has a test and no result; with --partial only if one failed.

        \b
        ingest verdict tests results/
        ingest verdict tests results/ -o verdict.docx
        ingest verdict tests results/ --degraded results-degraded/ --rebuild results-rebuild/
        """,
        parts=(
            _word("folder", "DIR"),
            _word("results", "RESULTS…"),
            click.option("--partial", is_flag=True, help="Exit with 0 although mandatory requirements have no result yet."),
            options_of,
            output_options,
        ),
        run=_verdict,
    ),
    "validate": Asked(
        """Reproduce published results: the published value, the computed value and the error. Exits with 3 if a set misses its
        bar.

        \b
        ingest validate
        ingest validate mlperf-storage
        ingest validate --history
        """,
        parts=(_word("name", "[SET]", required=False), options_of, output_options),
        book=None,
    ),
    "measure-storage": Asked(
        """Measure writes and reads below a folder with fio, and list the models that it can feed.

        The test files are in a new folder, which is removed at the end, even after Ctrl-C.

        \b
        ingest measure-storage /mnt/data
        ingest measure-storage . --size 4GiB --runtime 30s --threads 16 --gpu h100,a100
        """,
        parts=(_word("path", "PATH"), options_of, output_options),
        book=None,
    ),
    "calibrate": Asked(
        """Estimate beside observation, why they differ, and entries of your own that carry the observation on.

        OBSERVATION is the JSON of `ingest observe`; several, of one job at other sizes or batches, give the scaling exponent
        and the time in which a batch is handed over, with 95 % intervals, or a refusal where they do not determine them. The
        entries have the grade `measured` and the protocol `own`; a folder that holds those of other observations keeps them.
        With --tolerance, exits with 3 if the rates differ by more.

        \b
        ingest calibrate job.json --model unet3d --gpu h100 -o own
        ingest calibrate job.json --model unet3d --gpu h100 --bundle b.json \\
          --licence CC0-1.0 --source 'lab cluster, 2026'
        ingest calibrate 8.json 32.json 128.json --model unet3d --gpu h100 -o own
        ingest plan site.yaml --catalogs own --set jobs.train.protocol=own
        """,
        parts=(_word("observations", "OBSERVATION…"), options_of, format_option, detail_options),
        without=(),
        run=_calibrate,
    ),
    "page": Asked(
        """Write one page that computes in a browser, without a network: bandwidth, checkpoints, data sets, systems.

        It holds the catalogs and the formulas, with your own entries if --catalogs names them.

        \b
        ingest page -o calc.html
        ingest page --catalogs own -o calc.html
        """,
        parts=(options_of, detail_options),
        run=lambda function, **options: tell_written(function(**options).path),
    ),
}


@cache
def command(name: str) -> click.Command:
    """A command of the table; the module of its function is imported now."""
    asked, called = COMMANDS[name], name.replace("-", "_")
    module = loaded(ingest._PLACES[called])

    def run(**options: Any) -> None:
        function = getattr(module, called)
        if asked.run is not None:
            asked.run(function, **options)
        else:
            shown = {one: options.pop(one) for one in ("form", "output", "explain") if one in options}
            _told(asked, function(**options), **shown)

    if name in ingest.OF_A_JOB:
        run = job_file(name, getattr(module, called))(run)
    for part in reversed(asked.parts):
        run = (options_of(getattr(module, called), *asked.without) if part is options_of else part)(run)
    return click.command(name, cls=BriefCommand, help=asked.text)(run)
