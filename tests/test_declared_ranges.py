"""Values that a user gives against the range that their quantity declares."""

import pytest

import ingest
from ingest.engine.registry import FORMULAS, INPUTS, check_value
from ingest.errors import UsageError

TEXT = {"tokens": "15T", "bytes_per_token": 4}
IMPOSSIBLE = [
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "checkpoint_stall_fraction=5"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "restart_waste=5"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "gpus=0.5"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "gpus=1e-9"),
    (ingest.dataset, {"corpus": "fineweb", "pipeline": "fineweb"}, "pipeline_output_share=5"),
    (ingest.dataset, TEXT, "dataset_bytes=5"),
    (ingest.bw, {"model": "cosmoflow", "gpu": "h100"}, "sample_bytes=0.5"),
]


@pytest.mark.parametrize(("command", "options", "setting"), IMPOSSIBLE)
def test_an_impossible_value_is_refused(command, options, setting):
    with pytest.raises(UsageError, match=rf"{setting.partition('=')[0]}.*: found .*, expected a (whole )?number (above|from)"):
        command(**options, set=[setting])


def test_an_impossible_option_is_refused():
    with pytest.raises(UsageError, match=r"^--bytes-per-token: found 0.0001, expected a number from 0.1"):
        ingest.dataset(tokens="15T", bytes_per_token=0.0001)
    with pytest.raises(UsageError, match=r"^--sample-bytes: found 0.5, expected a number from 1"):
        ingest.bw(model="cosmoflow", gpu="h100", sample_bytes=0.5)


TWICE = [
    (ingest.bw, {"model": "cosmoflow", "gpu": "h100", "set": ["nodes=2", "nodes = 5"]}, "--set: nodes"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64, "keep": "last=3,last=5"}, "--keep: last"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64, "keep": "3,last=5"}, "--keep: last"),
    (ingest.dataset, {**TEXT, "copies": "dataset=3,dataset=1"}, "--copies: dataset"),
]


@pytest.mark.parametrize(("command", "options", "what"), TWICE)
def test_nothing_is_given_twice(command, options, what):
    with pytest.raises(UsageError, match=rf"^{what} is given more than once, expected it once$"):
        command(**options)


def test_storage_takes_no_share_above_one():
    with pytest.raises(UsageError, match="usable_share: found 5, expected a number above 0 up to 1"):
        ingest.fit(storage="all", read_bandwidth="1 TB/s", capacity="1 PB", set=["usable_share=5"])


def test_a_declared_quantity_takes_no_number_outside_its_range():
    bounded = {name: one for table in (FORMULAS, INPUTS) for name, one in table.items() if one.high < float("inf")}
    assert len(bounded) > 80
    for name, one in bounded.items():
        with pytest.raises(UsageError, match="expected"):
            check_value(name, one.high * 1.001 + 0.001)
