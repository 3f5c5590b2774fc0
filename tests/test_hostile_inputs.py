"""Devices, pipes, numbers and ranges that no command may hang on, grow with, or show a traceback for."""

import json
import os

import pytest

import ingest
from ingest.errors import IngestError, UsageError
from ingest.files import open_regular, read_bytes, read_json_object


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
    for call in (
        lambda: ingest.dataset(tokens="1T", bytes_per_token=pipe),
        lambda: ingest.model(pipe),
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


@pytest.mark.parametrize("written", ["1..1e300*1.0000001", "1..1e9*1.000000001", "1..1e300+1"])
def test_a_range_has_an_end(written):
    with pytest.raises(UsageError, match="fewer than 10,000,000 points"):
        ingest.bw(model="cosmoflow", gpu="h100", nodes=written)


@pytest.mark.parametrize("axis", ["sample_bytes=1e-300..1e300*10", "sample_bytes=1..1e300*1.00000001"])
def test_an_axis_has_an_end(axis):
    with pytest.raises(UsageError, match="fewer than 10,000,000 points"):
        ingest.sweep(model="cosmoflow", gpu="h100", axes=[axis])


def test_a_sweep_takes_whole_numbers_of_any_size():
    axes, options = ["nodes=1..2"], {"model": "cosmoflow", "gpu": "h100", "sample_bytes": 10**20}
    swept = ingest.sweep(axes=axes, **options).to_frame()
    alone = ingest.bw(**options, nodes=2).results["ingest_bandwidth_per_job"].value
    assert swept["ingest_bandwidth_per_job"].iloc[1] == pytest.approx(alone)


def test_a_size_that_is_a_list_is_no_percentile(tmp_path):
    path = tmp_path / "measured.json"
    results = {"sample_bytes": {"value": 100}}
    tables = {"sample_sizes": [{"size": [1], "bytes": 5}, {"size": "p50", "bytes": 90}, 3]}
    path.write_text(json.dumps({"schema": "ingest/1", "command": "measure", "results": results, "tables": tables}))
    assert ingest.bw(model="resnet50", gpu="h100", sample_bytes=str(path)).results


@pytest.mark.parametrize("wrong", [{"catalogs": 5}, {"catalogs": [5]}, {"precision": 5}, {"catalogs": None}])
def test_a_wrong_type_is_a_usage_error(wrong):
    with pytest.raises(UsageError):
        ingest.bw(model="cosmoflow", gpu="h100", **wrong)
