"""Each constant that decides about a test or a run: just below it and just above it."""

from dataclasses import replace

import pytest
from plans import line, plan

import ingest
from ingest.acceptance.accept import check_bounds
from ingest.errors import IngestError, UsageError
from ingest.requirement import Conditions, MixPart, Requirement


def notes(folder, **change):
    """What the read test says that it does not show."""

    def changed(found):
        one = line(found, "R-READ-01")
        one["value"] = change.pop("value", one["value"])
        one["conditions"] |= change

    return " ".join(ingest.accept(plan(folder, changed), folder / "tests", tool="fio").results["T-READ-01-fio"].notes)


SMALL, TRIVIAL = "direct I/O takes no requests", "any storage reaches that"


# Requests are rounded up to 20 pages, 81,920 B: 5 % more than 78,019.05 B. Less than 1 MB/s of each client is trivial.
@pytest.mark.parametrize(
    ("change", "note", "named"),
    [
        ({"io_size": 78_020}, SMALL, False),
        ({"io_size": 78_019}, SMALL, True),
        ({"value": 128e6}, TRIVIAL, False),
        ({"value": 127.9e6}, TRIVIAL, True),
    ],
)
def test_requests_that_grow_by_five_percent_and_trivial_rates_are_named(tmp_path, change, note, named):
    assert (note in notes(tmp_path, **change)) == named


ASKED = Requirement("R-READ-01", "mandatory", "", "job_read_bandwidth", 1e9, "B/s", Conditions("read"))
MOST = {"clients": 1_000_000, "threads": 4096, "queue_depth": 1e9, "io_size": 2**30, "duration": 30 * 86_400, "fill": 1}


@pytest.mark.parametrize("name", MOST)
def test_the_most_that_a_condition_may_be(name):
    check_bounds(replace(ASKED, conditions=Conditions("read", **{name: MOST[name]})), "plan.json")
    with pytest.raises(IngestError, match=f"plan.json: R-READ-01: {name}: found"):
        check_bounds(replace(ASKED, conditions=Conditions("read", **{name: MOST[name] * 1.001})), "plan.json")


def mixed(share, io_size=2**20):
    parts = (MixPart(0.5, "read", 2**20, "random"), MixPart(share, "write", io_size, "sequential"))
    return replace(ASKED, conditions=Conditions("read and write", mix=parts))


@pytest.mark.parametrize(("taken", "refused"), [(0.5049, 0.5051), (0.4951, 0.4949)])
def test_the_shares_of_a_mix_are_all_of_the_rate(taken, refused):
    check_bounds(mixed(taken), "plan.json")
    with pytest.raises(IngestError, match=r"mix: found shares of .* in all, expected 1"):
        check_bounds(mixed(refused), "plan.json")


def test_the_requests_of_a_mix_have_the_limit_of_all_requests():
    check_bounds(mixed(0.5, 2**30), "plan.json")
    with pytest.raises(IngestError, match="mix: io_size: found 1073741825"):
        check_bounds(mixed(0.5, 2**30 + 1), "plan.json")


@pytest.mark.parametrize(("unit", "most"), [("B/s", 1e18), ("file/s", 1e18), ("B", 1e30)])
def test_the_most_that_a_requirement_may_ask(unit, most):
    check_bounds(replace(ASKED, unit=unit, value=most), "plan.json")
    with pytest.raises(IngestError, match="R-READ-01: value: found"):
        check_bounds(replace(ASKED, unit=unit, value=most * 1.001), "plan.json")


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("threads", 256, 257),
        ("size", 2**20, 2**20 - 1),
        ("runtime", 1, 0.99),
        ("runtime", 3600, 3601),
        ("io_size", 2**30, 2**30 + 1),
    ],
)
def test_the_ends_of_the_options_of_a_measurement(tmp_path, name, taken, refused):
    options = {"size": 2**20, "threads": 256, "io_size": 2**20, "runtime": 1}
    # 1 MiB is too little for 256 requests of 1 MiB: what is within its ends is refused for that, and nothing runs.
    with pytest.raises(UsageError, match="one request for each thread"):
        ingest.measure_storage(tmp_path, **{**options, name: taken})
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')}: found .*, expected from"):
        ingest.measure_storage(tmp_path, **{**options, name: refused})
