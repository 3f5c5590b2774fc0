"""A result that is added to the list of a question appears in every output of its command."""

import io
from importlib import import_module

import openpyxl
import pytest

import ingest
from ingest.engine.question import Shown
from ingest.reports.labels import plain
from ingest.reports.page import as_csv, as_markdown, as_text, shortened
from ingest.reports.pages import page_for
from ingest.reports.session import as_html
from ingest.reports.workbook.small_workbooks import sizing_workbook

RUN = {"model": "llama3-8b", "gpus": 64}
#: command -> a quick call, and a quantity that is known there and no result
ADDED = {
    "checkpoint": (RUN, "drain_window"),
    "dataset": ({"tokens": "1T"}, "payload_bytes"),
    "goodput": ({**RUN, "runs": 2}, "persistent_period_seconds"),
    "memory": ({"model": "llama3-8b", "gpu": "b200", "sequence_length": 2048}, "step_bytes_per_gpu"),
    "model": ({"source": "llama3-8b"}, "forward_matmul_flops_per_token"),
    "offload": (RUN, "host_link_bandwidth_of_job"),
    "train": ({**RUN, "gpu": "h100", "tokens": 1e12}, "machine_energy"),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_result_is_added_in_one_place(name, monkeypatch):
    call, added = ADDED[name]
    module = import_module(ingest._PLACES[name])
    question = module.QUESTION
    assert added not in getattr(ingest, name)(**call).results
    monkeypatch.setattr(module, "QUESTION", question._replace(results=(Shown(added), *question.results)))
    answer = getattr(ingest, name)(**call)
    page = page_for(answer)
    assert added in answer.to_dict()["results"]
    assert added in answer.to_frame().index
    assert added in as_csv(page)
    for text in (as_text(page), as_text(shortened(page)), as_markdown(page), as_html(answer), repr(answer)):
        assert plain(added) in text
    book = openpyxl.load_workbook(io.BytesIO(sizing_workbook(answer, answer.title)))
    assert any(added in map(str, row) for sheet in book for row in sheet.iter_rows(values_only=True))
