"""What must hold of every system of the catalog: more of it is never worse, less known of it never better."""

import itertools
import math

import pytest
from conftest import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.sizing.job import job_of
from ingest.storage.fit import COMPARED, Terms, _best, _entries, rank
from ingest.storage.fit_result import VERDICTS
from ingest.storage.need import from_numbers, need_of
from ingest.storage.system_quantities import changed

SYSTEMS = {entry.id: entry for entry in _entries(["all"], CATALOG, sites=False, io_bytes=None)}
#: facts of an entry that carry a ceiling
FACTS = (
    "read_bandwidth", "write_bandwidth", "client_read_bandwidth", "client_write_bandwidth", "nic_efficiency", "io_per_second",
    "request_latency", "usable_bytes", "raw_bytes", "usable_fraction", "opens_per_second", "creates_per_second", "files_max",
    "metadata_servers_max", "opens_per_metadata_server", "drives", "units_shown", "failure_domains",
)  # fmt: skip
#: facts of a tier
TIER_FACTS = (
    "capacity_max", "read_bandwidth_per_byte", "write_bandwidth_per_byte", "read_bandwidth_max", "write_bandwidth_max",
    "io_per_second_max", "io_per_second_per_byte", "client_read_bandwidth",
)  # fmt: skip
NEEDS = st.fixed_dictionaries(
    {
        "read_bandwidth": st.floats(8, 13).map(lambda x: 10**x),
        "write_bandwidth": st.one_of(st.just(None), st.floats(8, 12).map(lambda x: 10**x)),
        "capacity": st.one_of(st.just(None), st.floats(12, 17).map(lambda x: 10**x)),
        "opens": st.one_of(st.just(None), st.floats(1, 6).map(lambda x: 10**x)),
        "creates": st.one_of(st.just(None), st.floats(1, 6).map(lambda x: 10**x)),
        "files": st.one_of(st.just(None), st.floats(4, 11).map(lambda x: 10**x)),
        "io_size": st.sampled_from([None, 4096, 131072, 2**20]),
        "nodes": st.sampled_from([None, None, 64]),
    }
)
#: better verdicts come later
ORDER = {False: 0, None: 1, True: 2}


def need_from(written):
    nodes = written.get("nodes")
    machine = {"nodes": nodes, "node": "dgx-h100"} if nodes else {}
    rates = {name: value for name, value in written.items() if name != "nodes"}
    return need_of(None, from_numbers(**rates), job_of(**machine), CATALOG)


def judged(entry, written):
    return _best(entry, need_from(written), Terms(), CATALOG)


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(
    name=st.sampled_from(sorted(SYSTEMS)),
    written=NEEDS,
    more=st.floats(1, 1e3),
    part=st.sampled_from(["read_bandwidth", "capacity"]),
)
def test_units_of_one_size_never_fall_when_the_need_rises(name, written, more, part):
    if SYSTEMS[name].tiers or written[part] is None:
        return
    before, after = (judged(SYSTEMS[name], one) for one in (written, {**written, part: written[part] * more}))
    counts = [one.results.get("units_required") for one in (before, after)]
    if None not in counts:
        assert counts[1].value >= counts[0].value


#: parts of a need that rise together with the read bandwidth, so that further units are bought
PARTS = ("read_bandwidth", "write_bandwidth", "capacity", "opens", "creates", "files")
#: a modest need of every part: whole numbers of it are tried, from far below one unit to far above
MODEST = {"read_bandwidth": 2e9, "write_bandwidth": 1e9, "capacity": 1e13, "opens": 1500, "creates": 700, "files": 1e7}


@pytest.mark.parametrize("needed", [("read_bandwidth", "opens"), ("read_bandwidth", "capacity")], ids="+".join)
def test_more_need_never_improves_a_verdict(needed):
    for name, part in itertools.product(sorted(SYSTEMS), needed):
        written, before = {one: MODEST[one] for one in needed}, None
        for factor in (1, 8, 30, 250, 3000):
            found = judged(SYSTEMS[name], {**written, part: MODEST[part] * factor})
            assert before is None or ORDER[found.fits] <= ORDER[before.fits], (name, part, factor)
            assert before is None or VERDICTS.index(found.verdict) >= VERDICTS.index(before.verdict), (name, part, factor)
            before = found


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(name=st.sampled_from(sorted(SYSTEMS)), written=NEEDS, part=st.sampled_from(PARTS), more=st.floats(1, 1e4))
def test_more_or_further_need_never_improves_a_verdict(name, written, part, more):
    larger = {**written, part: (written[part] or MODEST[part]) * more}
    before, after = judged(SYSTEMS[name], written), judged(SYSTEMS[name], larger)
    assert ORDER[after.fits] <= ORDER[before.fits]


@pytest.mark.parametrize("name", ["ddn-ai400x2t", "icfs-as13000", "oceanstor-a800"])
def test_opens_that_one_unit_has_shown_hold_for_no_more_than_that_however_many_units(name):
    shown = SYSTEMS[name].opens_per_second_shown.value
    for reads in (1e9, 1e12, 1e13):
        verdicts = [judged(SYSTEMS[name], {"read_bandwidth": reads, "opens": shown * factor}) for factor in (0.999, 1.001)]
        opened = [next(one for one in found.layers if one.layer.name == "metadata, opens") for found in verdicts]
        assert [one.holds for one in opened] == [True, None]
        assert "has shown" in verdicts[1].question


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(name=st.sampled_from(sorted(SYSTEMS)), written=NEEDS, fact=st.sampled_from(FACTS))
def test_a_fact_removed_never_makes_a_fit(name, written, fact):
    entry = SYSTEMS[name]
    before, after = judged(entry, written), judged(changed(entry, **{fact: None}), written)
    assert before.fits is True or after.fits is not True, fact


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(
    name=st.sampled_from([name for name, one in SYSTEMS.items() if one.tiers]), written=NEEDS, fact=st.sampled_from(TIER_FACTS)
)
def test_a_limit_of_a_tier_removed_never_makes_a_fit(name, written, fact):
    entry = SYSTEMS[name]
    tiers = {
        key: type(tier)(**{name: None if name == fact else getattr(tier, name) for name in tier.shapes})
        for key, tier in entry.tiers.items()
    }
    before, after = judged(entry, written), judged(changed(entry, tiers=tiers), written)
    # Without its largest rate a tier is bound by its capacity alone.
    assert not (before.fits is not True and after.fits is True) or (before.fits is False and fact.endswith("_max")), fact


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(
    name=st.sampled_from(sorted(SYSTEMS)),
    written=NEEDS,
    fact=st.sampled_from(["read_bandwidth", "write_bandwidth", "usable_bytes", "opens_per_second", "client_read_bandwidth"]),
    more=st.floats(1, 100),
)
def test_more_of_a_system_never_makes_a_misfit(name, written, fact, more):
    entry = SYSTEMS[name]
    item = getattr(entry, fact)
    if item is None:
        return
    before, after = judged(entry, written), judged(changed(entry, **{fact: item._replace(value=item.value * more)}), written)
    assert ORDER[after.fits] >= ORDER[before.fits]


@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(name=st.sampled_from(sorted(SYSTEMS)), written=NEEDS)
def test_no_fit_leaves_anything_unknown_and_no_rate_is_that_of_the_clients(name, written):
    found = judged(SYSTEMS[name], written)
    assert found.fits is not True or not found.not_known
    for result, layer in (("read_bandwidth_available", "system reads"), ("write_bandwidth_available", "system writes")):
        known = any(one.layer.name == layer and one.ceiling is not None and not one.at_most for one in found.layers)
        assert known or result not in found.results
    if found.fits and written["capacity"]:
        assert any(one.layer.name == "capacity" and one.holds for one in found.layers)


EXAMPLES = ["hpc-128-nodes", "llm-16384-gpus", "enterprise-64-nodes"]


@pytest.mark.parametrize("site", EXAMPLES)
def test_every_number_of_the_top_five_has_a_source(site):
    found = ingest.fit(f"examples/{site}.yaml")
    for one in found.systems[:5]:
        assert one.entry.family in COMPARED
        assert one.fits is not False
        given = one.answer.given
        for layer in one.layers:
            if layer.ceiling is None:
                continue
            leaves = _leaves(one.answer.derivation(layer.layer.ceiling))
            assert leaves
            # What is not given is a default that its definition declares.
            known = [given[name] for name in leaves if name in given]
            assert all(item.source or item.note or item.origin == "user" for item in known)


def _leaves(step):
    if not step.inputs:
        return {step.name}
    return {name for inner in step.inputs for name in _leaves(inner)}


#: facts that go together -> the fields of an entry
TOGETHER = {
    "capacity": ("usable_bytes", "raw_bytes", "usable_fraction", "drive_bytes", "drive_choices", "usable_by_drive"),
    "capacity and drives": (
        "usable_bytes", "raw_bytes", "usable_fraction", "drive_bytes", "drive_choices", "usable_by_drive", "drives", "drive",
    ),
    "usable share": ("usable_bytes", "usable_fraction", "usable_by_drive"),
    "reads": ("read_bandwidth",),
    "writes": ("write_bandwidth",),
    "failure domains": ("failure_domains",),
}  # fmt: skip


@pytest.mark.parametrize("gone", TOGETHER)
@pytest.mark.parametrize("name", ["ddn-ai400x2", "ibm-ess3500", "hpe-k3000", "wekapod-prime"])
@pytest.mark.parametrize("capacity", [1e15, 37.8e15, 1e17, 1e20])
def test_a_fact_removed_never_improves_the_rank(name, gone, capacity):
    entry = SYSTEMS[name]
    poorer = changed(entry, **{field: entry.shapes[field].default for field in TOGETHER[gone]})
    written = {"read_bandwidth": 1e11, "write_bandwidth": 1e10, "capacity": capacity}
    before, after = judged(entry, written), judged(poorer, written)
    # Headroom aside: without its own share of raw capacity a system has that of its protection.
    assert before.fits is False or rank(before)[:2] <= rank(after)[:2]
    assert gone != "capacity and drives" or (after.verdict, after.question[:15]) == ("not known", "Usable capacity")


def test_drives_of_an_unknown_size_bound_a_unit_by_the_largest_of_the_catalogs():
    name = "ddn-ai400x3"
    found = judged(SYSTEMS[name], {"read_bandwidth": 1e11, "capacity": 37.8e15})
    # 24 drives of 245.76 TB, 15 % free, half an appliance spare
    assert found.results["units_required"].value == math.ceil(37.8e15 / (24 * 245.76e12 * 0.85) + 0.5)
    assert (found.verdict, found.figures["usable"].at_most, found.question[:15]) == ("not known", True, "Usable capacity")
