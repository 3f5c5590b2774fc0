"""What buyers say beyond their workload: minimums, quotas, amounts, lifetimes, an archive, a migration, growing models."""

import copy

import pytest
from conftest import refused, table
from hypothesis import example, given
from hypothesis import strategies as st

import ingest
from ingest.errors import Faults

YEAR, TB, PB, GB = 31_557_600, 1e12, 1e15, 1e9
CLUSTER = {"main": {"node": "dgx-h100", "count": 16}}
LLM = {"cluster": "main", "model": "llama3-8b", "nodes": 8, "checkpoint": {"mode": "async", "keep": 3}}


def plan(**site):
    return ingest.plan({"clusters": CLUSTER, "floor": "none", "years": 5, **copy.deepcopy(site)}, samples=0)


def computed(name, **site):
    return plan(**site).computed[name]


def held(data, years=8):
    """The bytes of the data set `x` in each year, and what arrives in it on a day."""
    rows = plan(start=2026, years=years, datasets={"x": data}).tables["holdings"]
    return [row["dataset_bytes_held"] for row in rows], [row["dataset_bytes_added_per_day"] for row in rows]


MINIMUMS = {
    "usable": ("R-CAP-03", "40 PB", "1 GB"),
    "raw": ("R-CAP-02", "60 PB", "1 GB"),
    "read": ("R-READ-03", "900 GB/s", "1 kB/s"),
    "write": ("R-WRITE-01", "700 GB/s", "1 kB/s"),
}


@pytest.mark.parametrize("key", MINIMUMS)
def test_a_line_is_the_larger_of_need_and_minimum(key):
    name, much, little = MINIMUMS[key]
    site = {"jobs": {"a": {**LLM, "data": "x"}}, "datasets": {"x": {"bytes": "2 PB"}}}
    storage = {"protection": {"data": 8, "parity": 2}}
    need = plan(**site, storage=storage).requirement(name)
    more = plan(**site, storage={**storage, "at_least": {key: much, "because": "contract 7"}}).requirement(name)
    less = plan(**site, storage={**storage, "at_least": {key: little}}).requirement(name)
    assert less.computed == need.computed < more.computed
    assert (more.priority, more.rationale) == ("mandatory", "The Buyer states this minimum: contract 7.")
    assert "storage.at_least" in more.remark
    assert need.display in more.remark
    assert (less.priority, less.rationale, less.remark) == ("mandatory", need.rationale, need.remark)


@pytest.mark.parametrize("key", MINIMUMS)
@pytest.mark.parametrize(
    "reads", [{}, {"jobs": {"a": {"cluster": "main", "nodes": 16, "samples_per_second": 1, "sample_bytes": "1 MB"}}}]
)
def test_a_minimum_is_a_line_where_no_job_needs_it(key, reads):
    name, much, _ = MINIMUMS[key]
    line = plan(**reads, datasets={"x": {"bytes": "1 TB"}}, storage={"at_least": {key: much}}).requirement(name)
    assert (line.display.partition(" (")[0], line.priority) == (much, "mandatory")


def test_minimums_hold_in_all_years_and_without_a_known_protection():
    asked = plan(datasets={"x": {"bytes": "1 TB"}}, storage={"at_least": {"usable": "5 PB", "raw": "9 PB"}})
    assert {row["year_capacity_to_buy"] for row in asked.tables["capacity"]} == {5 * PB}
    assert asked.requirement("R-CAP-02").value == 9 * PB
    assert "the plan needs nothing" in asked.requirement("R-CAP-02").remark


USERS, QUOTAS = st.integers(1, 100_000), st.integers(1, 1000)


@given(users=USERS, quota=QUOTAS)
def test_homes_are_users_times_their_quota(users, quota):
    plain = computed("R-CAP-03", datasets={"x": {"bytes": "1 TB"}}, reserve={"homes": users * quota * GB})
    by_quota = computed("R-CAP-03", datasets={"x": {"bytes": "1 TB"}}, reserve={"homes": {"users": users, "quota": quota * GB}})
    assert by_quota == pytest.approx(plain, rel=1e-12)


def test_scratch_space_takes_capacity():
    without, scratch = (
        computed("R-CAP-03", datasets={"x": {"bytes": "1 TB"}}, reserve=reserve, storage={"fill_limit": 0.5})
        for reserve in ({}, {"scratch": "50 TB"})
    )
    assert scratch - without == pytest.approx(100 * TB)


AMOUNTS = st.integers(1, 5000)


@given(start=AMOUNTS, add=AMOUNTS, months=st.integers(1, 48))
def test_an_amount_is_added_in_each_period(start, add, months):
    data = {"bytes": start * TB, "growth": {"add": add * TB, "every": months * YEAR / 12}}
    found, arriving = held(data)
    assert found == [pytest.approx((start + add * year * 12 / months) * TB) for year in range(9)]
    assert arriving[1:] == [pytest.approx(add * TB * 12 / months / 365.25)] * 8


@given(start=AMOUNTS, add=AMOUNTS, life=st.integers(1, 7))
def test_data_with_a_lifetime_reach_a_steady_state(start, add, life):
    data = {"bytes": start * TB, "growth": {"add": add * TB, "every": YEAR}, "lifetime": life * YEAR}
    found, arriving = held(data)
    expected = [(start + add * year) * TB if year <= life else add * life * TB for year in range(9)]
    assert found == [pytest.approx(one) for one in expected]
    # What replaces deleted data is written all the same.
    assert arriving[1:] == [pytest.approx(add * TB / 365.25)] * 8


@given(factor=st.sampled_from([1, 1.25, 2]), life=st.integers(1, 7))
def test_data_that_grow_by_a_factor_expire_too(factor, life):
    found, _ = held({"bytes": 10 * TB, "growth": {"capacity": factor, "every": YEAR}, "lifetime": life * YEAR})
    created = [10 * TB * factor**year for year in range(9)]
    assert found == [pytest.approx(one - (created[year - life] if year > life else 0)) for year, one in enumerate(created)]


def test_an_amount_of_the_site_is_shared_by_its_data_sets():
    sets = {"x": {"bytes": "1 PB", "copies": 2}, "y": {"bytes": "3 PB"}, "still": {"bytes": "5 PB", "growth": {"capacity": 1}}}
    found = plan(datasets=sets, growth={"add": "300 TB", "every": "1 year"}, years=4)
    years = [row["year_usable_bytes"] for row in found.tables["capacity"]]
    assert years == [pytest.approx(10 * PB + 300 * TB * year) for year in range(5)]


def test_what_any_line_reads_lies_in_the_capacity():
    job = {**LLM, "start": {"bytes": "8 GB"}, "evaluation": {"bytes": "90 GB"}, "export": {"bytes": "16 GB"}, "runs": 2}
    serving = {"chat": {"cluster": "main", "nodes": 2, "model": "llama3-70b", "users": 10, "load_time": "60 s"}}
    found = plan(jobs={"a": {**job, "nodes": 4, "data": "x"}}, serving=serving, datasets={"x": {"bytes": "1 TB"}})
    tables = found.tables
    read = 1 * TB + (8 + 90 + 2 * 16) * GB + tables["checkpoints"][0]["job_checkpoint_bytes_held"]
    weights = found.rows["serving"][0].known.value("served_weights_bytes")
    assert weights >= tables["serving"][0]["replica_weights_bytes"]
    read += weights + tables["serving"][0]["kv_held_bytes"]
    assert found.computed["R-CAP-01"] == pytest.approx(read)


def test_an_archive_has_lines_of_its_own():
    sets = {"raw": {"bytes": "4 PB", "tier": "archive"}, "x": {"made_from": "raw", "ratio": 0.1, "prepare_within": "10 days"}}
    found = plan(datasets=sets, reserve={"archive": "1 PB"}).computed
    assert found["R-ARC-01"] == pytest.approx(5 * PB)
    assert found["R-ARC-02"] == pytest.approx(4 * PB / (7 * 86_400))
    assert found["R-ARC-03"] == pytest.approx(4 * PB / (10 * 86_400))
    assert found["R-CAP-01"] == pytest.approx(0.4 * PB)
    assert "R-PREP-01" not in found
    there = plan(datasets={**sets, "raw": {"bytes": "4 PB"}})
    assert there.computed["R-CAP-01"] == pytest.approx(4.4 * PB)
    assert not any(name.startswith("R-ARC") for name in there.computed)


def test_existing_data_are_moved_in_time_and_have_room():
    site = {"datasets": {"x": {"bytes": "1 TB"}}, "migrate": {"bytes": "3 PB", "within": "30 days", "from": "old Lustre"}}
    found = plan(**site)
    line = found.requirement("R-LOAD-02")
    assert line.computed == pytest.approx(3 * PB / (30 * 86_400))
    assert "3 PB of existing data on old Lustre are moved within 30 days" in line.statement
    assert max(row["year_planned_bytes"] for row in found.tables["capacity"]) == 3 * PB


CPUS = {"cpu": {"node": "cpu", "count": 40, "nic": "25 GB/s"}}


def test_a_site_may_prepare_data_and_nothing_else():
    sets = {"crawl": {"bytes": "3 PB"}, "x": {"made_from": "crawl", "ratio": 0.3, "preparation": {"passes": 2}}}
    found = ingest.plan({"clusters": CPUS, "datasets": sets}, samples=0)
    assert found.computed["R-PREP-01"] == pytest.approx(6 * PB / (7 * 86_400))
    assert found.requirement("R-PREP-01").conditions.clients == 40
    assert {one.id for one in found.requirements} == {"R-LOAD-01", "R-PREP-01", "R-PREP-02", "R-CAP-01", "R-CAP-03"}


@pytest.mark.parametrize("factor", [1, 2, 3.5])
def test_checkpoints_grow_with_the_parameters(factor):
    jobs = {"a": {**LLM, "growth": {"parameters": {"factor": factor, "every": "1 year"}}}}
    now, then = plan(jobs={"a": LLM}), plan(jobs=jobs, years=3)
    assert then.computed["R-WRITE-01"] == now.computed["R-WRITE-01"]
    assert then.computed["R-GROW-02"] == pytest.approx(now.computed["R-WRITE-01"] * factor**3)
    assert then.computed["R-GROW-03"] == pytest.approx(now.computed["R-RESTART-02"] * factor**3)
    assert then.computed["R-CAP-01"] == pytest.approx(now.computed["R-CAP-01"] * factor**3)
    assert then.requirement("R-GROW-02").priority == "target"
    kept = {"start": {"bytes": "1 PB"}, "evaluation": {"bytes": "1 PB"}, "export": {"bytes": "1 PB"}}
    more = plan(jobs={"a": {**jobs["a"], **kept}}, years=3).computed["R-CAP-01"] - then.computed["R-CAP-01"]
    assert more == pytest.approx((2 + factor**3) * PB), "exported models grow too, and nothing else that is kept"


@pytest.mark.parametrize(("site", "words"), table("site/refused.yaml")["one_fault_is_one_line_with_the_key_that_is_meant"])
def test_one_fault_is_one_line_with_the_key_that_is_meant(site, words):
    with refused(match=words) as found:
        plan(**{"datasets": {"ok": {"bytes": 1e12}}, **site})
    assert "set.parameters" not in str(found.value)


NINE = """\
format: 2
clusters:
  main: {node: dgx-h1000, count: 8}
  aux: {node: dgx-h100, nodes: 4}
jobs:
  vision: {cluster: mian, model: resnet5, nodes: 2, epoch: 3}
  other: {cluster: main, model: resnet50, nodes: 64, checkpoint: {waste: 200%}}
datasets:
  images: {size: 10 TB, retention: 5 years}
"""


def test_nine_faults_are_nine_lines_of_one_run(tmp_path, run):
    path = tmp_path / "site.yaml"
    path.write_text(NINE, encoding="utf-8")
    done = run("plan", path)
    lines = done.err.strip().splitlines()
    assert (done.code, len(lines), done.out) == (2, 9, "")
    for line in lines:
        assert line.startswith(f"ingest: {path}:")
        assert len(line) <= 300
    numbers = [int(line.split(":")[2]) for line in lines]
    assert numbers == sorted(numbers)
    for number, words in table("site/cases.yaml")["nine_faults_are_nine_lines_of_one_run"]:
        assert any(words in line for at, line in zip(numbers, lines, strict=True) if at == number), words
    with pytest.raises(Faults) as found:
        ingest.plan(path)
    assert len(found.value.lines) == 9


SITE = table("site/cases.yaml")["the_order_of_entries_changes_nothing"]


def shuffled(node, order):
    if not isinstance(node, dict):
        return node
    return {key: shuffled(node[key], order) for key in order.sample([*node], len(node))}


@given(order=st.randoms(use_true_random=False))
def test_the_order_of_entries_changes_nothing(order):
    lines = {one.id: (one.value, one.statement, one.priority) for one in plan(**SITE).requirements}
    assert {one.id: (one.value, one.statement, one.priority) for one in plan(**shuffled(SITE, order)).requirements} == lines


#: What planning refuses, as the keys of its line -> table, row and the other keys of the row.
HURT = {
    "datasets.raw": ("datasets", "raw", {"corpus": "youtube-8m-videos"}),
    "jobs.big.nodes": ("jobs", "big", {"nodes": 64}),
    "jobs.saves.checkpoint.waste": ("jobs", "saves", {"checkpoint": {"waste": "200%"}}),
    "jobs.beside": ("serving", "chat", {"nodes": 64}),
}


@given(drawn=st.sets(st.sampled_from(sorted(HURT)), min_size=2))
@example(drawn={*HURT})
@example(drawn={"jobs.big.nodes", "jobs.saves.checkpoint.waste"})
def test_drawn_faults_of_rows_are_all_named_and_none_of_the_rows_that_rest_on_them(drawn):
    job = {"cluster": "main", "model": "resnet50", "nodes": 5}
    site = {
        "clusters": {**CLUSTER, "web": {"node": "dgx-h200", "count": 4}},
        "jobs": {
            "fine": {**job, "data": "made"},
            "big": job,
            "saves": {**job, "checkpoint": {"waste": "5%"}},
            "beside": {**job, "cluster": "web", "nodes": 1},
        },
        "serving": {"chat": {"cluster": "web", "nodes": 1, "users": 10, "model": "llama3-70b"}},
        "datasets": {"made": {"made_from": "raw", "ratio": 0.2}, "raw": {"bytes": "1 TB"}},
    }
    for part, row, keys in (HURT[one] for one in drawn):
        site[part] = {**site[part], row: keys if part == "datasets" else {**site[part][row], **keys}}
    with pytest.raises(Faults) as found:
        plan(**site)
    assert sorted(line.partition(":")[0] for line in found.value.lines) == sorted(drawn)
