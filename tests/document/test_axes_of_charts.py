"""Labels on logarithmic axes and names beside lines: round, complete, and apart from each other."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest.reports.charts import chart
from ingest.storage.fit import ReadCeiling

rates = st.floats(1e-3, 1e15)


@given(ends=st.tuples(rates, rates), pixels=st.integers(120, 600))
def test_labels_of_an_axis_are_round_inside_it_and_have_room(ends, pixels):
    axis = chart.upwards(ends, pixels)
    low, high = axis["scale"]["domain"]
    labels = axis["axis"]["values"]
    assert low <= min(ends) * (1 + 1e-9)
    assert max(ends) <= high
    assert labels
    assert all(low <= label <= high and f"{label:e}"[0] in "125" for label in labels)
    assert len(labels) <= max(1, pixels // chart.HIGH)


@given(low=st.floats(1, 1e6), spread=st.floats(1, 1e6))
def test_every_power_of_ten_is_labelled_where_it_has_room(low, spread):
    axis = chart.upwards([low, low * spread], 260)
    bottom, top = axis["scale"]["domain"]
    powers = {10.0**power for power in range(-2, 16) if bottom <= 10.0**power <= top}
    assert powers <= set(axis["axis"]["values"])


@given(nodes=st.integers(1, 200_000), pixels=st.integers(200, 600))
def test_numbers_of_nodes_keep_apart(nodes, pixels):
    axis = chart.doublings([1, nodes], pixels)
    labels = axis["axis"]["values"]
    assert labels[0] == 1
    assert max(labels) <= nodes
    steps = [math.log2(after / before) / math.log2(nodes) * pixels for before, after in pairwise(labels)]
    assert all(step > chart.WIDE * 0.8 for step in steps)


def test_an_exact_axis_ends_where_its_values_do():
    assert chart.sideways([0.8, 47], 560, exact=True)["scale"]["domain"] == [0.8, 47]


def test_values_that_no_logarithm_has_leave_the_axis_to_the_renderer():
    assert chart.upwards([0.0], 260) == {"scale": {"type": "log"}}


names = st.lists(st.builds(chart.Bar, st.text("ab ,", max_size=120), st.floats(1, 1e6)), min_size=1, max_size=6)


@given(names=names)
def test_names_beside_a_plot_overlap_neither_each_other_nor_its_edges(names):
    height = chart.height_for(names, 260)
    found = chart.placed_labels(names, (1, 1e6), height)
    spans = [
        (one.middle - len(one.lines) * chart.LEADING / 2, one.middle + len(one.lines) * chart.LEADING / 2) for one in found
    ]
    assert len(found) == len(names)
    assert spans[0][0] >= 0
    assert spans[-1][1] <= height + 1e-6
    assert all(above[1] < below[0] for above, below in pairwise(spans))
    assert [one.value for one in found] == sorted((one.value for one in names), reverse=True)


def test_no_name_of_a_ceiling_stands_inside_the_plot():
    asked = [chart.Point("a", nodes, nodes * 1e9) for nodes in (1, 2, 4)]
    close = [ReadCeiling(name, "3 GB/s", ((1, rate), (2, rate), (4, rate)), "") for name, rate in (("x", 3e9), ("y", 3.1e9))]
    drawn = chart.scaling(asked, close)
    texts = [layer for layer in drawn.spec["layer"] if layer["mark"]["type"] == "text"]
    assert texts
    assert all(layer["encoding"]["x"]["value"] == drawn.spec["width"] for layer in texts)
    assert "x: 3 GB/s" in drawn.svg()
    assert len({row["at"] for layer in texts for row in layer["data"]["values"]}) == 2
