"""Charts are rendered by the real converter; hostile labels stay text; every title is a finding with a unit."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import EXAMPLES, example_plan, table

import ingest
from ingest.errors import IngestError
from ingest.reports.charts.chart import Bar, Chart, Point, demand, ladder, scaling
from ingest.reports.charts.planning import (
    DayLoad,
    Swing,
    YearBytes,
    bandwidth_by_year,
    capacity,
    charts_of,
    goodput,
    intervals,
    request_sizes,
    tornado,
    training_day,
    utilization,
    vendor_charts,
)
from ingest.reports.labels import texts
from ingest.requirement import MixPart
from ingest.site.datasets import LatencyPoint
from ingest.site.training_day import RequestShare, YearBandwidth
from ingest.storage.fit import ReadCeiling
from ingest.units import display

HOSTILE = '=cmd|"/C calc"!A0 <script>alert(1)</script> & مرحبا 🚀'
CHARTS = {
    "demand": demand([Bar(HOSTILE, 6e11), Bar("deepcam", 2e11)], Bar("all jobs", 8e11)),
    "scaling": scaling(
        [Point(HOSTILE, 2**k, 2**k * 6e9) for k in range(8)],
        [ReadCeiling("NFS/TCP", "3 GB/s for each node", tuple((2**k, 2**k * 3e9) for k in range(8)), "")],
    ),
    "ladder": ladder([Bar("measured", 8e8, 3e8, 8e8), Bar("peak", 1.1e10)], "B/s/GPU", "read bandwidth per GPU"),
    "capacity": capacity(
        [YearBytes(str(year), stage, 1e15) for year in (2026, 2027) for stage in (HOSTILE, "clean")],
        [YearBytes(HOSTILE, HOSTILE, 3e15)],
    ),
    "intervals": intervals([(60 * m, 1 / m, 6e9 / m) for m in (1, 5, 30)], (300, 0.2, 1.2e9), HOSTILE),
    "goodput": goodput(
        [{"write_bandwidth": 6e9 * k, "goodput": 1 - 0.2 / k, "gpus_gained": 30.0 / k} for k in (1, 2, 4)], 12e9, HOSTILE
    ),
    "utilization": utilization(
        [LatencyPoint(0.01 * k, 1 / k, 0.9 / k, 1 / k) for k in (1, 2, 4)], LatencyPoint(0.02, 0.5, 0.45, 0.5), HOSTILE
    ),
    "training_day": training_day(
        DayLoad("training reads", [4e11] * 1440),
        DayLoad("restores", [0.0] * 1430 + [9e10] * 10),
        DayLoad("writes", [5e10] * 1440),
        HOSTILE,
    ),
    "request_sizes": request_sizes(
        [
            RequestShare(HOSTILE, MixPart(0.75, "read", 2**20, "sequential")),
            RequestShare(HOSTILE, MixPart(0.25, "write", 4096, "random")),
        ]
    ),
    "bandwidth_by_year": bandwidth_by_year([YearBandwidth("2026", 1e11, 1e10), YearBandwidth(HOSTILE, 2e11, 1e10)]),
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
    assert any(unit in text for unit in ("GB/s", "TB/s", "PB", "MB/s", "KiB", "ms"))
    assert chart.alt
    assert chart.spec["description"] == chart.alt


def test_a_hostile_label_stays_text(chart):
    svg = chart.svg()
    assert "<script" not in svg
    if HOSTILE in json.dumps(chart.spec, ensure_ascii=False):
        assert "alert(1)" in drawn(chart)


def test_is_rendered_whole(chart):
    assert chart.png().startswith(b"\x89PNG")
    assert chart.svg().startswith("<svg")


def test_bars_are_sums_or_what_was_given():
    # Many jobs are summed in one bar.
    chart = demand([Bar(f"job {n}", 1e9) for n in range(1000)], Bar("all", 1e12))
    rows = chart.spec["data"]["values"]
    assert len(rows) == 17
    assert "985 smaller jobs" in rows[15]["job"]
    assert rows[15]["value"] == pytest.approx(0.985)
    # Bars are what was given.
    rows = CHARTS["demand"].spec["data"]["values"]
    assert [row["value"] for row in rows] == [600, 200, 800]


def test_the_chosen_interval_is_marked_on_both_lines_with_its_values():
    panels = CHARTS["intervals"].spec["vconcat"]
    for panel, text in zip(panels, ("5 min: 20 %", "5 min: 1.2 GB/s"), strict=True):
        marks = [layer["data"]["values"][0] for layer in panel["layer"] if "data" in layer]
        assert [(mark["minutes"], mark["waste"], mark["bandwidth"], mark["text"]) for mark in marks] == [
            (5, 0.2, 1.2, text)
        ] * 3
    assert "every 5 min costs 20 % of the time and needs 1.2 GB/s" in CHARTS["intervals"].title


@pytest.mark.parametrize("site", ["hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes"])
def test_the_chosen_interval_of_a_site_is_that_of_its_requirement_and_lies_on_the_line(site):
    plan = example_plan(site, None)
    chart = next(chart for chart in charts_of(plan) if chart.name == "intervals")
    mark = chart.spec["vconcat"][0]["layer"][1]["data"]["values"][0]
    largest = max(plan.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    assert chart.title.startswith(f"{largest['name']}: ")
    assert mark["minutes"] * 60 == pytest.approx(largest["checkpoint_interval"])
    assert display(largest["checkpoint_write_bandwidth"], "B/s", binary=False) in chart.title
    on_line = min(chart.spec["data"]["values"], key=lambda row: abs(row["minutes"] - mark["minutes"]))
    assert on_line == pytest.approx({key: mark[key] for key in on_line})


def test_goodput_is_drawn_at_the_bandwidth_of_the_plan_and_beside_it():
    plan = example_plan("llm-16384-gpus")
    chart = next(chart for chart in charts_of(plan) if chart.name == "goodput")
    largest = max(plan.tables["checkpoints"], key=lambda row: row["checkpoint_bytes"])
    rows, (mark,) = chart.spec["data"]["values"], chart.spec["layer"][2]["data"]["values"]
    assert mark == rows[3]
    assert mark["bandwidth"] == pytest.approx(largest["checkpoint_write_bandwidth"] / 1e9)
    assert [row["goodput"] for row in rows] == sorted(row["goodput"] for row in rows)
    # The closed form loses less than the sum of the single overheads, which it approximates.
    assert 0 < mark["goodput"] - (1 - largest["total_overhead"]) < 0.02


def test_every_chart_of_a_buyer_has_a_place_and_a_caption_in_the_report():
    look = texts("document")
    placed = [name for section in look["buyer"]["sections"].values() for name in section.get("charts", ())]
    assert sorted(placed) == sorted(look["charts"]) == sorted(CHARTS)


SITE = EXAMPLES / "hpc-128-nodes.yaml"


def test_ceilings_are_those_that_fit_gives_and_the_caption_says_from_where():
    plan = example_plan("hpc-128-nodes", None)
    chart = next(one for one in charts_of(plan, ["nfs-tcp,ddn-ai400x2"]) if one.name == "scaling")
    drawn_at = {
        (line["label"].partition(":")[0], line["nodes"]): line["value"] for line in chart.spec["layer"][2]["data"]["values"]
    }
    fits = {one.entry.id: one for one in ingest.fit(SITE, storage="nfs-tcp,ddn-ai400x2").systems}
    appliances = fits["ddn-ai400x2"].answer.known
    whole = appliances.value("units_read_ceiling")
    each = fits["nfs-tcp"].answer.known.value("client_read_ceiling")
    name = f"DDN AI400X2, {appliances.value('units'):.0f} × appliance"
    assert {nodes: value for (label, nodes), value in drawn_at.items() if label == name} == dict.fromkeys(
        (1, 2, 4, 8, 16, 32, 64), pytest.approx(whole)
    )
    of_clients = {nodes: value for (label, nodes), value in drawn_at.items() if label.startswith("NFS")}
    assert of_clients == {nodes: pytest.approx(nodes * each) for nodes in (1, 2, 4, 8, 16, 32, 64)}
    assert chart.title == f"{name} ({display(whole, 'B/s', binary=False)}) supports climate up to 16 nodes"
    assert "NFS over TCP, one mount/one client (published: " in chart.note
    assert "as many units as the mandatory requirements take" in chart.note


@pytest.mark.parametrize(("storage", "message"), table("workbook/refused.yaml")["a_ceiling_that_cannot_be_drawn_is_refused"])
def test_a_ceiling_that_cannot_be_drawn_is_refused(storage, message):
    with pytest.raises(IngestError, match=message):
        charts_of(example_plan("hpc-128-nodes"), [storage])


#: Tokens of a language model: its reads are small, and guidance decides them where it is signed.
LANGUAGE = table("workbook/cases.yaml")["language"]


SIGNED = {"level": "good", "because": "the buyer asks for it"}


@pytest.mark.parametrize(
    ("floor", "label"),
    [(SIGNED, "R-READ-03, by guidance"), ("good", "R-READ-03, headroom included"), ("none", "R-READ-03, headroom included")],
)
def test_the_aggregate_says_what_decides_it(floor, label):
    shown = {one.name: one for one in charts_of(ingest.plan({**LANGUAGE, "floor": floor}, samples=0))}["demand"]
    assert label in shown.title


def test_sensitivity_is_shown_of_a_requirement_that_binds_where_there_is_one():
    plan = ingest.plan(LANGUAGE, samples=200)
    assert plan.requirement("R-READ-01").priority == "information"
    assert plan.sensitivity("R-READ-01")
    shown = {one.name: one for one in charts_of(plan)}["tornado"]
    assert "R-READ-03" in shown.title


def test_the_charts_of_a_tender_hold_the_values_of_the_requirements():
    plan = example_plan("enterprise-64-nodes")
    charts = {one.name: one for one in vendor_charts(plan)}
    assert list(charts) == ["training_day", "request_sizes", "capacity", "bandwidth_by_year"]
    reads, grown = (display(plan.results[name].value, "B/s", binary=False) for name in ("R-READ-03", "R-GROW-01"))
    assert f"training reads up to {reads}" in charts["training_day"].title
    assert f"from {reads} in 2026 to {grown} in 2030" in charts["bandwidth_by_year"].title
    assert display(plan.results["R-CAP-03"].value, "B", binary=False) in charts["capacity"].title
    assert "97.8 % sequential 500 KiB reads" in charts["request_sizes"].alt
