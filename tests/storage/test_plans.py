"""A plan as the need of `fit`: its lines become one need, and a file that is no plan is refused in one line."""

import json
from pathlib import Path

import pytest
from conftest import EXAMPLES, refused, table

import ingest
from ingest.errors import IngestError, UsageError
from ingest.requirement import Conditions, MixPart, Requirement
from ingest.site.plan_file import lines_of, plan_data
from ingest.storage.need import from_requirements

PLANS = Path(__file__).parent / "plans"
REFUSED = table("storage/refused.yaml")["what_is_no_plan"]


def line(ident, value, unit, operation, **conditions):
    return Requirement(ident, "mandatory", "The system shall.", "m", value, unit, Conditions(operation, **conditions))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_no_plan_is_refused_in_one_line(name):
    with refused(f"{name}.json", match=REFUSED[name]) as found:
        ingest.fit(PLANS / f"{name}.json", storage="lustre")
    assert found.value.exit_code == 1


def test_every_plan_file_is_expected():
    others = {"whole", "nothing-to-hold", "half-a-client"}
    assert {path.stem for path in PLANS.iterdir()} == {*REFUSED, *others}


def test_plans_that_cannot_be_asked_are_refused():
    # A plan that asks nothing of storage says what would.
    with pytest.raises(UsageError, match="expected at least one of read in B/s"):
        ingest.fit(PLANS / "nothing-to-hold.json", storage="lustre")
    # Half a client is refused.
    with pytest.raises(IngestError, match=r"R-READ-01: conditions: clients: found 1\.5, expected a whole number"):
        ingest.fit(PLANS / "half-a-client.json", storage="lustre")
    # A missing plan is refused.
    with pytest.raises(IngestError, match="cannot be read"):
        ingest.fit(PLANS / "absent.json", storage="lustre")
    with pytest.raises(IngestError, match=r"absent.yaml: cannot be read: No such file"):
        ingest.fit(PLANS / "absent.yaml", storage="lustre")
    # A plan beside a model is refused.
    with pytest.raises(UsageError, match="--model: the plan sets the reads already"):
        ingest.fit(PLANS / "whole.json", model="cosmoflow", gpu="h100", storage="lustre")


def test_what_never_ends_or_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ingest.site.plan_file.MOST_BYTES", 1000)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * 1001)
    with pytest.raises(IngestError, match=r"larger than 1,000 bytes"):
        ingest.fit(large, storage="lustre")
    for found, message in (("/dev/zero", "not a regular file"), (tmp_path, "cannot be read: Is a directory")):
        with pytest.raises(IngestError, match=message):
            ingest.fit(found, storage="lustre")


def test_lines_become_one_need_and_the_largest_counts():
    need = from_requirements(lines_of(PLANS / "whole.json", plan_data(PLANS / "whole.json")))
    found = {name: item.value for name, item in need.given.items()}
    assert found == {
        "read_bandwidth_needed": 500e9,
        "write_bandwidth_needed": 300e9,
        "required_usable_bytes": 1e15,
        "nodes": 128,
        "io_bytes": 131072,
        "requests_in_flight_per_node": 8,
    }
    assert need.high == {"read_bandwidth_needed": 6e11}
    assert "R-LAT-01" in need.notes[0]


def test_the_units_of_the_plan_are_those_of_the_same_plain_numbers():
    planned = ingest.fit(PLANS / "whole.json", storage="ddn-ai400x2", no_spare=True).results["ddn-ai400x2"]
    plain = ingest.fit(
        read_bandwidth="500GB/s", write_bandwidth="300GB/s", capacity="1PB", storage="ddn-ai400x2", no_spare=True
    )
    assert planned.results["units_required"].value == plain.results["ddn-ai400x2"].results["units_required"].value == 6
    assert planned.results["io_per_second_needed"].value == pytest.approx(3.81e6, rel=0.01)
    assert planned.results["request_seconds_allowed"].value == pytest.approx(8 * 128 / (500e9 / 131072))


def test_every_kind_of_line_has_its_place():
    lines = [
        line("A", 5, "file/s", "open"),
        line("B", 6, "file/s", "create"),
        line("C", 7, "file", "hold"),
        line("D", 8, "B/s", "read"),
    ]
    given = from_requirements(lines).given
    asked = ("opens_per_second_needed", "creates_per_second_needed", "files_needed", "read_bandwidth_needed")
    assert [given[name].value for name in asked] == [5, 6, 7, 8]
    assert given["read_bandwidth_needed"].note.startswith("D: ")


def test_a_site_asks_for_its_usable_bytes_and_not_for_its_raw_bytes():
    site = EXAMPLES / "hpc-128-nodes.yaml"
    lines = {found.id: found for found in lines_of(site, plan_data(site))}
    # 8 + 2 strips, 97 % for data, 80 % full, one of 20 units down: 59 % of the raw capacity
    assert lines["R-CAP-02"].value > 1.5 * lines["R-CAP-01"].value
    need = from_requirements(lines.values())
    # Capacity to buy includes the fill limit already: `fit` keeps nothing else free.
    assert need.given["required_usable_bytes"].value == lines["R-CAP-03"].value
    assert need.given["fill_limit"].value == 1


@pytest.mark.parametrize("writing", [128, 512])
def test_a_plan_on_a_node_judges_the_node_too(writing, tmp_path):
    data = plan_data(PLANS / "whole.json")
    next(one for one in data["requirements"] if one["conditions"]["operation"] == "write")["conditions"]["clients"] = writing
    (tmp_path / "plan.json").write_text(json.dumps(data), encoding="utf-8")
    found = ingest.fit(tmp_path / "plan.json", node="dgx-h100", storage="weka-1c").results["weka-1c"]
    named = {one.layer.name: one for one in found.layers}
    assert named["storage NIC"].ceiling == 128 * 80e9
    assert named["protocol client"].ceiling < 128 * 36.25e9
    assert named["storage NIC, writes"].ceiling == writing * 80e9


def test_the_capacity_to_buy_sets_the_need_without_a_further_fill_limit():
    held = Requirement("R-CAP-01", "mandatory", "s", "site_usable_bytes", 10e15, "B", Conditions("hold"))
    bought = Requirement("R-CAP-03", "mandatory", "s", "site_capacity_to_buy", 13e15, "B", Conditions("hold"))
    for lines in ([held, bought], [bought, held]):
        given = from_requirements(lines).given
        assert (given["required_usable_bytes"].value, given["fill_limit"].value) == (13e15, 1)
    alone = from_requirements([held]).given
    assert alone["required_usable_bytes"].value == 10e15
    assert "fill_limit" not in alone


def test_a_mix_and_a_pattern_of_reads():
    # A mix of reads counts by its requests.
    parts = (MixPart(0.5, "read", 4096, "random"), MixPart(0.5, "read", 1_048_576, "sequential"))
    mixed = Conditions("read", clients=8, queue_depth=100, mix=parts)
    need = from_requirements([Requirement("A", "mandatory", "s", "m", 8e9, "B/s", mixed)])
    requests = 4e9 / 4096 + 4e9 / 1_048_576
    assert 8e9 / need.given["io_bytes"].value == pytest.approx(requests)
    assert need.given["requests_in_flight_per_node"].value == 13
    assert need.pattern == "random"
    # One pattern is that of the line.
    lines = [line("A", 8e9, "B/s", "read", clients=8, threads=4, io_size=65536, pattern="sequential")]
    need = from_requirements(lines)
    assert (need.pattern, need.given["io_bytes"].value, need.given["requests_in_flight_per_node"].value) == (
        "sequential", 65536, 4,
    )  # fmt: skip
