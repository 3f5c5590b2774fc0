"""Services by tier: the choice equals that of every size on sale tried one by one, with prices and without."""

import itertools
import math

import pytest
from conftest import CATALOG, table
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.catalog.records import Storage
from ingest.errors import IngestError
from ingest.sizing.job import job_of
from ingest.storage import fit
from ingest.storage.fit import Terms, fit_need
from ingest.storage.need import from_numbers, need_of
from ingest.storage.system_quantities import System, changed, in_order, of_tier

TIB = 2**40
FILL = 0.85
#: services whose tiers say all that a choice takes
WHOLE = [
    entry.id
    for entry in CATALOG.all(Storage)
    if entry.tiers
    and all(
        tier.capacity_min and tier.capacity_step and tier.read_bandwidth_per_byte and not tier.bandwidth_step
        for tier in entry.tiers.values()
    )
]


@pytest.fixture
def prices(tmp_path):
    """A list of prices: the higher the tier of Google Managed Lustre, the dearer a TiB."""

    def write(text=None):
        path = tmp_path / "prices.yaml"
        tiers = "\n".join(f"    {name}: {100 + 50 * number}" for number, name in enumerate(ORDER))
        path.write_text(text or f"date: 2026-11-01\ncurrency: USD\nprices:\n  google-managed-lustre:\n{tiers}\n")
        return path

    return write


ORDER = in_order(CATALOG.get(Storage, "google-managed-lustre").tiers)


def sizes_of(tier):
    least, step = tier.capacity_min.value, tier.capacity_step.value
    if tier.capacity_max is None:
        yield from (least + number * step for number in itertools.count())
    most = tier.capacity_max.value
    yield from (least + count * step for count in range(math.floor((most - least) / step + 1e-9) + 1))
    if (most - least) % step:
        yield most


def suffices(tier, size, need):
    """Whether one file system of this size meets the need."""

    def rate(per_byte, most):
        found = size * per_byte.value if per_byte else None
        return most.value if found is None else min(found, most.value) if most else found

    reads = rate(tier.read_bandwidth_per_byte, tier.read_bandwidth_max)
    shared = tier.shared == "yes"
    per_write = tier.write_bandwidth_per_byte or (tier.read_bandwidth_per_byte if shared else None)
    known = per_write or tier.write_bandwidth_max
    writes = rate(per_write, tier.write_bandwidth_max) if known else math.inf
    wanted = need["read"] + need["write"] if shared else need["read"]
    slack = 1 + 1e-12
    return size * FILL * slack >= need["capacity"] and reads * slack >= wanted and writes * slack >= need["write"]


def by_brute_force(entry, need):
    """Tier and size by the rule of the guide, from all sizes on sale."""
    found = {}
    for name in in_order(entry.tiers):
        size = next((size for size in sizes_of(entry.tiers[name]) if suffices(entry.tiers[name], size, need)), None)
        if size is not None:
            found[name] = size
    return next(((name, size) for name, size in found.items() if size <= 1.25 * min(found.values())), None)


def asked_of(name, need, **terms):
    written = {"read_bandwidth": need["read"], "write_bandwidth": need["write"], "capacity": need["capacity"]}
    made = need_of(None, from_numbers(**written), job_of(), CATALOG)
    return fit_need(made, [name], CATALOG, Terms(**terms)).systems[0]


NEEDS = st.fixed_dictionaries(
    {
        "read": st.floats(6, 13).map(lambda x: 10**x),
        "write": st.one_of(st.just(0.0), st.floats(6, 12).map(lambda x: 10**x)),
        "capacity": st.floats(10, 17).map(lambda x: 10**x),
    }
)


@settings(max_examples=25 * settings.default.max_examples, deadline=None)
@given(name=st.sampled_from(WHOLE), need=NEEDS)
def test_the_choice_is_that_of_brute_force(name, need):
    found, best = asked_of(name, need), by_brute_force(CATALOG.get(Storage, name), need)
    if best is None:
        assert found.fits is False
    else:
        assert found.fits is not False
        assert found.label == best[0]
        assert found.results["tier_capacity"].value == pytest.approx(best[1], rel=1e-9)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("beside", [0, 1, *(pytest.param(byte, marks=pytest.mark.slow) for byte in (-2, -1, 2))])
def test_the_choice_is_that_of_brute_force_at_the_sizes_on_sale(name, beside):
    entry = CATALOG.get(Storage, name)
    for tier in entry.tiers.values():
        for size in itertools.islice(sizes_of(tier), 12):
            need = {"read": 1e6, "write": 0.0, "capacity": size * FILL + beside}
            found, best = asked_of(name, need), by_brute_force(entry, need)
            if best is None:
                assert found.fits is False
            else:
                assert (found.label, found.fits is not False) == (best[0], True), (size, need)


@pytest.mark.parametrize(("name", "at_most"), [("google-managed-lustre", 20e12), ("azure-managed-lustre", 10e12)])
def test_a_large_smallest_size_is_not_bought_for_little_data(name, at_most):
    """A tier that is sold from 500 TB on is no answer to 1 TB."""
    found = asked_of(name, {"read": 1e9, "write": 0.0, "capacity": 1e12})
    assert found.results["tier_capacity"].value < at_most


def test_a_lower_tier_may_take_a_quarter_more(monkeypatch):
    need = {"read": 1e9, "write": 0.0, "capacity": 1e15}
    rows = {row["tier"]: row["capacity"] for row in asked_of("google-managed-lustre", need).tiers}
    least, lowest = min(rows.values()), next(iter(rows))
    assert rows[lowest] > least
    assert fit.MORE_OF_A_LOWER_TIER == 0.25
    for share, expected in ((rows[lowest] / least - 1 + 1e-9, lowest), (rows[lowest] / least - 1 - 1e-9, None)):
        monkeypatch.setattr(fit, "MORE_OF_A_LOWER_TIER", share)
        assert (asked_of("google-managed-lustre", need).label == expected) == (expected is not None)


def test_with_prices_the_cheapest_tier_is_chosen(prices):
    asked = {"read_bandwidth": "500 GB/s", "capacity": "1 PB", "storage": "google-managed-lustre"}
    found = ingest.fit(**asked, prices=prices()).systems[0]
    costs = {row["tier"]: row["cost"] for row in found.tiers}
    assert found.cost == min(costs.values()) == costs[found.label]
    assert found.cost == pytest.approx(found.results["tier_capacity"].value / TIB * (100 + 50 * ORDER.index(found.label)))
    assert found.to_dict()["monthly_cost"] == found.cost


@pytest.mark.parametrize(("text", "message"), table("storage/refused.yaml")["prices_that_cannot_be_read_are_refused"])
def test_prices_that_cannot_be_read_or_are_of_nothing_sold_are_refused(prices, text, message):
    with pytest.raises(IngestError, match=message):
        ingest.fit(capacity="1 PB", storage="oci-lustre", prices=prices(text))


def test_services_hold_what_is_sold():
    # A service whose largest size is unknown is never said to hold the data.
    found = ingest.fit(read_bandwidth="1 GB/s", capacity="1 EB", storage="fsx-lustre").systems[0]
    assert found.fits is not True
    assert "largest size" in next(one.why for one in found.layers if one.layer.name == "capacity")
    # Throughput sold in steps serves reads and writes.
    asked = {"read_bandwidth": "9 GB/s", "write_bandwidth": "13 GB/s", "capacity": "1 TB", "storage": "fsx-lustre"}
    found = ingest.fit(**asked).systems[0]
    assert found.label == "intelligent-tiering"
    assert found.results["write_bandwidth_available"].value == found.results["read_bandwidth_available"].value == 16e9
    # One volume holds what one volume can have and not what its pool can.
    large = ingest.fit(capacity="150 TB", storage="anf-volume").systems[0]
    assert large.fits is False
    assert large.bottleneck == "capacity"
    assert ingest.fit(capacity="90 TB", storage="anf-volume").systems[0].fits is not False


@pytest.mark.parametrize(("opens", "holds"), [(12_000, True), (12_001, False), (77_300, False)])
def test_the_published_most_of_metadata_operations_is_a_ceiling(opens, holds):
    entry = CATALOG.get(Storage, "fsx-lustre")
    only = {"intelligent-tiering": entry.tiers["intelligent-tiering"]}
    need = need_of(None, from_numbers(read_bandwidth="8 GB/s", capacity="1 TB", opens=opens), job_of(), CATALOG)
    sold = System(changed(entry, tiers=only), chosen=of_tier(only["intelligent-tiering"]), label="intelligent-tiering")
    found = fit._fit(sold, need, fit.ONE_SPARE, CATALOG)
    judged = next(one for one in found.layers if one.layer.name == "metadata, opens")
    assert (judged.ceiling, judged.at_least, judged.holds) == (12_000, False, holds)


def test_another_tier_is_chosen_where_the_opens_exceed_the_most_of_one():
    asked = {"read_bandwidth": "9 GB/s", "write_bandwidth": "13 GB/s", "capacity": "1 TB", "storage": "fsx-lustre"}
    assert ingest.fit(**asked, opens=12_000).systems[0].label == "intelligent-tiering"
    assert ingest.fit(**asked, opens=77_300).systems[0].label != "intelligent-tiering"
