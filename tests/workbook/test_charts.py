"""Charts are rendered by the real converter; hostile labels stay text; every title is a finding with a unit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ingest.errors import IngestError
from ingest.reports.charts.chart import Chart
from ingest.reports.charts.demand import Bar, Point, demand, ladder, scaling
from ingest.reports.charts.planning import Held, Interval, Swing, capacity, intervals, tornado

HOSTILE = '=cmd|"/C calc"!A0 <script>alert(1)</script> & مرحبا 🚀'
CHARTS = {
    "demand": demand([Bar(HOSTILE, 6e11), Bar("deepcam", 2e11)], Bar("all jobs at once", 8e11)),
    "scaling": scaling([Point(HOSTILE, 2**k, 2**k * 6e9) for k in range(8)], [Bar("NFS/TCP", 3e9), Bar("appliance", 9e10)]),
    "ladder": ladder([Bar("measured", 8e8, 3e8, 8e8), Bar("peak", 1.1e10)], "B/s/GPU", "read bandwidth per GPU"),
    "capacity": capacity([Held(str(year), stage, 1e15) for year in (2026, 2027) for stage in (HOSTILE, "clean")]),
    "intervals": intervals([Interval(60 * m, 1 / m, 6e9 / m) for m in (1, 5, 30)]),
    "tornado": tornado([Swing(HOSTILE, 5e11, 1e12), Swing("sample_bytes", 7e11, 9e11)], 8e11, "B/s", "R-READ-01"),
}


@pytest.fixture(params=CHARTS)
def chart(request: pytest.FixtureRequest) -> Chart:
    return CHARTS[request.param]


def drawn(chart: Chart) -> str:
    return "".join(ElementTree.fromstring(chart.svg()).itertext())


def test_is_drawn_with_title_and_unit(chart):
    text = drawn(chart)
    assert chart.title.split()[0] in text
    assert any(unit in text for unit in ("GB/s", "TB/s", "PB", "MB/s"))
    assert chart.alt
    assert chart.spec["description"] == chart.alt


def test_a_hostile_label_stays_text(chart):
    svg = chart.svg()
    assert "<script" not in svg
    if HOSTILE in json.dumps(chart.spec, ensure_ascii=False):
        assert "alert(1)" in drawn(chart)


def test_is_written_whole_in_every_form(chart, tmp_path: Path):
    for suffix, begins in (("png", b"\x89PNG"), ("svg", b"<svg"), ("json", b"{")):
        path = tmp_path / f"chart.{suffix}"
        chart.write(str(path))
        assert path.read_bytes().startswith(begins)
    with pytest.raises(IngestError, match=r"ends in '\.gif', expected"):
        chart.write(str(tmp_path / "chart.gif"))


def test_many_jobs_are_summed_in_one_bar():
    chart = demand([Bar(f"job {n}", 1e9) for n in range(1000)], Bar("all", 1e12))
    rows = chart.spec["data"]["values"]
    assert len(rows) == 17
    assert "985 smaller jobs" in rows[15]["job"]
    assert rows[15]["value"] == pytest.approx(0.985)


def test_bars_are_what_was_given():
    rows = CHARTS["demand"].spec["data"]["values"]
    assert [row["value"] for row in rows] == [600, 200, 800]
