"""Devices, pipes, numbers and ranges that no command may hang on, grow with, or show a traceback for."""

import contextlib
import json
import os

import pytest
from conftest import table
from rfp.offers import ONE_JOB

import ingest
from ingest.acceptance.tools import ior, mdtest
from ingest.acceptance.tools.job_files import named_test
from ingest.architecture import registry, stored_weights
from ingest.errors import IngestError, UsageError
from ingest.files import open_regular, read_bytes, read_json_object
from ingest.observation.sources.training_logs import torchtitan
from ingest.reports.document.markup import Table
from ingest.reports.document.word import FIELD
from ingest.rfp import workbook_reader
from ingest.site import scenarios
from ingest.site.schema import keeps, limits_of


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    return tmp_path / "pipe.json"


def test_pipes_and_devices_are_no_files(pipe):
    for path in (pipe, "/dev/zero", "/dev/null"):
        with pytest.raises(IngestError, match=r"cannot be read: not a regular file, expected a table$"):
            read_bytes(path, "a table")
    with pytest.raises(IsADirectoryError):
        open_regular(pipe.parent)


def test_no_command_waits_for_a_pipe(pipe):
    book = pipe.with_name("pipe.xlsx")
    os.mkfifo(book)
    os.mkfifo(trace := pipe.with_name("pipe.jsonl"))
    for call in (
        lambda: ingest.dataset(tokens="1T", bytes_per_token=pipe),
        lambda: ingest.model(pipe),
        lambda: ingest.offload("llama3-8b", gpu="h100", inference=True, users=8, hit=str(trace)),
        lambda: ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(pipe)),
        lambda: ingest.measure(pipe.parent, tokenizer=str(pipe)),
        lambda: ingest.response(book),
        lambda: ingest.plan(pipe),
    ):
        with pytest.raises(IngestError, match="not a regular file"):
            call()


def test_a_number_of_more_digits_than_a_float_holds_is_no_json(tmp_path):
    path = tmp_path / "x.json"
    for digits, taken in ((300, True), (301, False), (5000, False)):
        path.write_text('{"x": %s}' % ("9" * digits))
        if taken:
            assert read_json_object(path, "a table")["x"] > 1e299
        else:
            with pytest.raises(IngestError, match=f"a number of {digits:,} digits"):
                read_json_object(path, "a table")


@pytest.mark.parametrize("nodes", ["1..1e300*1.0000001", "1..1e9*1.000000001", "1..1e300+1"])
@pytest.mark.parametrize("axis", ["sample_bytes=1e-300B..1e300B*10", "sample_bytes=1B..1e300B*1.00000001"])
def test_a_range_and_an_axis_have_an_end(nodes, axis):
    for command, asked in ((ingest.bw, {"nodes": nodes}), (ingest.sweep, {"axes": [axis]})):
        with pytest.raises(UsageError, match="fewer than 10,000,000 points"):
            command(model="cosmoflow", gpu="h100", **asked)


def test_a_sweep_takes_whole_numbers_of_any_size():
    axes, options = ["nodes=1..2"], {"model": "cosmoflow", "gpu": "h100", "set": {"dataset_samples": 10**20}}
    swept = ingest.sweep(axes=axes, **options).to_frame()
    alone = ingest.bw(**options, nodes=2).results["ingest_bandwidth_per_job"].value
    assert swept["ingest_bandwidth_per_job"].iloc[1] == pytest.approx(alone)


def test_a_size_that_is_a_list_is_no_percentile(tmp_path):
    path = tmp_path / "measured.json"
    results = {"sample_bytes": {"value": 100}}
    tables = {"sample_sizes": [{"size": [1], "bytes": 5}, {"size": "p50", "bytes": 90}, 3]}
    path.write_text(json.dumps({"schema": "ingest/1", "command": "measure", "results": results, "tables": tables}))
    assert ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(path)).results


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A plan, an offer, the tests and the corpus of a small site."""
    folder = tmp_path_factory.mktemp("shelf")
    settled = {"decisions": {"W79": {"accept": "the data set of a test is small"}}}
    (folder / "site.yaml").write_text(json.dumps(ONE_JOB | settled))
    (folder / "plan.json").write_text(json.dumps(ingest.plan(folder / "site.yaml").to_dict()))
    ingest.report(folder / "site.yaml", output=[folder / "offer.xlsx", folder / "template.docx"], for_vendor=True)
    ingest.accept(folder / "plan.json", folder / "tests")
    (folder / "results").mkdir()
    (folder / "results" / "T-READ-02-ior.run1.txt").write_text("no result")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt").write_text("a text")
    (folder / "measured.json").write_text(json.dumps(ingest.measure(folder / "corpus").to_dict()))
    return folder


READ_AND_WRITTEN = table("cases.yaml")["read_and_written"]


@pytest.mark.parametrize("command", READ_AND_WRITTEN)
def test_a_file_that_is_read_is_not_replaced(command, shelf, run):
    name, words = READ_AND_WRITTEN[command]
    before = (shelf / name).read_bytes()
    done = run(*words, *([] if words[-1] == "--derivations" else ["-o"]), name, cwd=shelf)
    assert (done.code, done.refusal) == (2, f"-o: '{name}' is also read; expected another file")
    assert (shelf / name).read_bytes() == before
    assert not (shelf / "new.docx").exists()


def test_another_name_of_a_file_is_that_file(shelf, run):
    names = ("symbolic.json", "hard.json", "./tests/../measured.json")
    (shelf / names[0]).symlink_to("measured.json")
    (shelf / names[1]).hardlink_to(shelf / "measured.json")
    for name in names:
        done = run("dataset", "--tokens", "1T", "--bytes-per-token", "measured.json", "-o", name, cwd=shelf)
        assert (done.code, done.refusal) == (2, f"-o: '{name}' is also read; expected another file")


def test_no_command_waits_for_a_reader_of_its_file(pipe, run):
    done = run("bw", "cosmoflow", "h100", "--quiet", "-o", pipe)
    assert (done.code, done.refusal) == (1, f"--output: '{pipe}' cannot be written: no program reads this pipe")


LAUNCHED = "mdtest-4.0.0 was launched with 8 total task(s) on 1 node(s)\n"
TITAN = "step: 1 loss: 1 tps: 5\n"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda text: ior.read(text, "x"), "IOR-4.0.0: MPI Coordinated Test of I/O\n" + "  \n" * 200_000),
        (lambda text: mdtest.read(text, "x"), LAUNCHED + "\n" * 200_000),
        (lambda text: mdtest.read(text, "x"), LAUNCHED + "File creation" + " " * 100_000 + "x"),
        (lambda text: mdtest.read(text, "x"), LAUNCHED + "File creation " + "1" * 100_000),
        (lambda text: mdtest.read(text, "x"), "mdtest-" * 100_000),
        (lambda text: named_test(text, "ior"), "T-" * 100_000),
        (lambda text: torchtitan(text, "x"), "step: 1 " * 100_000),
        (lambda text: torchtitan(text, "x"), TITAN + "Finished saving the checkpoint " * 100_000),
        (lambda text: torchtitan(text, "x"), TITAN + "Finished saving the checkpoint in " + "1" * 100_000),
        (lambda text: keeps(text, limits_of("checkpoint_interval")), "5" + " " * 100_000 + "x"),
        (scenarios._FORM.fullmatch, "a >= 5 x" + " " * 100_000 + "y\n"),
        (lambda text: Table("", ("A",), ((text,),)).numeric, "1" * 100_000 + "." + "!"),
        (FIELD.search, "{{" * 200_000),
        (workbook_reader._MERGED.findall, b"<mergeCell " * 50_000),
        (lambda text: registry._ANY_END.sub("", text), "ForA" * 50_000 + "."),
        (stored_weights._HEAD.search, "lm_head." * 50_000),
    ],
)
def test_a_long_run_is_read_in_linear_time(read, text):
    # Where a pattern takes quadratic time, this takes minutes.
    with contextlib.suppress(IngestError):
        read(text)
