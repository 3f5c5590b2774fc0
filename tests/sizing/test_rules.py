"""Every rule of the table fires just beyond its limit and not just within it; the limits that decide are shown end to end."""

import re

import pytest

import ingest
from ingest.engine.messages import fact_of, in_site_words, rule_of
from ingest.errors import IngestError
from ingest.sizing.explain import TOLERANCE
from ingest.sizing.rule import Rule
from ingest.sizing.rules import RETIRED, ROWS, RULES, WRITTEN, finding

#: Durations differ by more than a fifth of the longer one; a quantity is near its limit within ten times of it.
SAME_TIME, NEAR = 0.2, 10
#: A limit that is a quantity of its own.
LIMIT = 1000.0
#: Relative distance from a limit, above what two floating-point numbers may differ by.
STEP = 1e-7
COMPARING = [rule for rule in ROWS if rule.sign in ("<", "<=", ">", ">=")]
SLOW = {"samples_per_second": 100, "sample_bytes": 1_000_000, "cluster": "main", "nodes": 10}


def held(rule: Rule, value: float) -> bool:
    words = {name: allowed[0] for name, allowed in rule.words.items()}
    known = {rule.quantity: value, **({rule.limit: LIMIT} if isinstance(rule.limit, str) else {})}
    found = finding(rule.id, known, words)
    assert found is not None
    return found.true


def site(**jobs):
    return {"clusters": {"main": {"node": "dgx-h100", "count": 100}}, "jobs": jobs}


def checked(plan, rule):
    return [one for one in plan.findings if one.rule.id == rule and one.is_checked]


def test_ids_are_unique_and_of_a_kind():
    assert len(RULES) == len(ROWS)
    assert not {rule.id for rule in ROWS} & set(RETIRED)
    assert all(re.fullmatch(r"[WEC]\d{2,3}", rule.id) for rule in ROWS)
    assert all(bool(rule.text) is (rule.kind != "choice") for rule in ROWS)


#: Ranks, and the rules that have them; those of other rules are their numbers.
RANKS = """1 E08 E09, 2 W13,
3 E04, 4 E05, 5 E06, 6 E07 E10 E11 E12 E13, 7 W02 W09 W103 W108 W52 W69 W74 W81 W83 W84 W86, 8 W20 W29 W111 W30 W32
W44 W46 W59 W76 W85 W87 W115, 9 W39 W42 W105 W106 W107 W110 W119 W122 W56 W68 W79 W96 W97 W130,
10 W01 W28 W60 W61 W62 W63 W64 W65 W66 W67,
11 W19, 12 W03 W14, 13 W04 W15 W54 W80, 14 W16, 15 W06 W17, 16 W07, 17 W08, 19 W05, 20 W71, 21 W72 W73 W129, 23 W124,
26 W48 W88 W120, 30 W112, 31 W113 W116, 32 W117, 33 W118 W123, 39 W40 W57, 40 W41, 41 W43, 42 W53 W70, 43 W82, 47 W50,
48 W51, 60 W10 W11 W12, 74 W109, 79 W128, 93 W93 W121,
80 C01 C14 C15 C16, 81 C02, 82 C03 C11 C12 C13, 83 C04 C05 C06 C07, 84 C08, 85 C09,
86 C17, 87 C18, 88 C19 C20"""


def test_the_most_severe_lines_come_first_and_those_on_options_without_effect_before_all():
    ranks = {rule: int(rank) for rank, *rules in map(str.split, RANKS.split(",")) for rule in rules}
    assert [(rule.id, rule.rank) for rule in ROWS] == [(rule.id, ranks.get(rule.id, int(rule.id[1:]))) for rule in ROWS]


@pytest.mark.parametrize("rule", COMPARING, ids=lambda rule: rule.id)
def test_a_rule_turns_at_its_limit(rule):
    limit = (LIMIT if isinstance(rule.limit, str) else rule.limit) * rule.factor
    step = STEP * abs(limit) or STEP
    below, above = held(rule, limit - step), held(rule, limit + step)
    assert (below, above) == ((True, False) if rule.sign in ("<", "<=") else (False, True))
    assert held(rule, limit) is (rule.sign in ("<=", ">="))


#: The limits as numbers, times their tolerance, where they are not 1: a limit that is changed unawares fails here.
LIMITS = {
    "W108": 1.000001, "W111": 1.000001, "W119": 50e9, "W122": 1.000001,
    "E01": 0, "E02": 1.005, "E04": 1.000001, "E05": 1 + 1e-9, "E09": 0.9, "E11": 1.000001, "E12": 30 * 86_400, "W06": 1.1,
    "W07": 0.01, "W16": 60, "W20": 0.5, "W24": 1.005, "W25": 0.1, "W28": 10, "W29": 1.000001, "W32": 1e6, "W33": 0.6,
    "W42": 1e6, "W44": 0.5, "W46": 1.000001, "W50": 7 * 86_400 * 1.01, "W52": 1.000001, "W53": 0.1, "W55": 1.000001,
    "W56": 1.05, "W59": 1.125e9, "W74": 1.000001, "W77": 0.99, "W79": 0.002, "W80": 20, "W86": 1.000001, "W88": 1.000001,
    "W89": 0, "W94": 1 + 1e-9, "W96": 3, "W104": 0.01, "C16": 2**20, "C19": 0.99, "C20": 0.01,
}  # fmt: skip


def test_limits_are_those_of_the_handbook():
    found = {rule.id: rule.factor * (1 if isinstance(rule.limit, str) else rule.limit) for rule in ROWS if rule.quantity}
    assert found == {**dict.fromkeys(found, 1), **LIMITS}


#: What no hardware does, and what leaves a line open: these come before every other caution.
IMPOSSIBLE = {"W02", "W09", "W103", "W20", "W29", "W30", "W32", "W46", "W52", "W81"}
OPEN = {"W115", "W59", "W69", "W74", "W76", "W83", "W84", "W85", "W86", "W87"}


def test_what_cannot_be_comes_first_beside_a_job_that_hardly_progresses_and_lines_that_are_open():
    first = {rule.id for rule in ROWS if rule.rank <= 8 and rule.kind == "warning"}
    assert first == IMPOSSIBLE | OPEN | {"W44", "W108", "W111"} | {"W13"}, "W13: what the user stated is ignored"


@pytest.mark.parametrize(("restart", "fired"), [("9 min", True), ("1 min", False)])
def test_a_job_that_loses_most_of_its_time_says_so_first(restart, fired):
    found = ingest.checkpoint("llama3-8b", gpus=64, mtti="20 min", restart_time=restart, reschedule_time="1 min")
    assert (rule_of(found.warnings[0]) == "W44") is fired, found.warnings


@pytest.mark.parametrize(("share", "fired"), [(0.999, False), (1, True)])
def test_a_cache_that_serves_all_reads_leaves_the_first_epoch(share, fired):
    answer = ingest.bw(model="cosmoflow", gpu="h100", cache_hit=share)
    assert any(rule_of(line) == "W19" and "first epoch (cold cache)" in line for line in answer.warnings) is fired


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_job_that_sets_the_conditions_is_checked_where_there_are_several(jobs):
    plan = ingest.plan(site(**{f"job{number}": SLOW for number in range(jobs)}), samples=0)
    assert any(one.rule.id == "C09" for one in plan.findings) is (jobs > 1)


def test_no_share_is_written_in_powers_of_ten():
    assert "6,860 % of the time" in finding("W24", {"checkpoint_overhead": 68.6, "waste_allowed": 0.05},
                                            {"sized": "as practised"}).message(cure="")  # fmt: skip


def needing(share):
    """A job on 100 nodes that reads this share of what the guidance asks for 800 GPUs, 46.9 GB/s."""
    return {"samples_per_second": GUIDED * share / 8e8, "sample_bytes": 1e6, "cluster": "main", "nodes": 100}


GUIDED = 30e9 * 800 / 512


@pytest.mark.parametrize(("share", "signed"), [(0.5, False), (0.5, True), (0.999, False), (1.001, False), (1.1, True)])
def test_guidance_above_the_workload_is_a_target_unless_it_is_signed(share, signed):
    floor = {"floor": {"level": "good", "because": "the buyer asks for it"}} if signed else {}
    plan = ingest.plan(site(a=needing(share)) | floor, samples=0)
    asked = GUIDED * max(share, 1) if signed else GUIDED * share
    assert plan.requirement("R-READ-03").value == pytest.approx(asked, rel=0.01)
    assert ("R-GUIDE-01" in plan.results) is (share < 1 and not signed)
    assert ("R-READ-03" in plan.guided) is (share < 1 and signed)


@pytest.mark.parametrize(("ratio", "differs"), [(1 - SAME_TIME + STEP, False), (1 - SAME_TIME - STEP, True)])
def test_durations_differ_by_a_fifth_of_the_longer_one(ratio, differs):
    for one, other in ((1000 * ratio, 1000), (1000, 1000 * ratio)):
        found = finding("W34", {"run_seconds": one, "training_seconds": other})
        assert found is not None
        assert found.true is differs


@pytest.mark.parametrize(("factor", "unmet"), [(1.0049, False), (1.0051, True)])
def test_a_stated_waste_may_be_exceeded_by_half_a_percent_of_it(factor, unmet):
    options = {"gpus": 1024, "mode": "async", "interval": "10 min", "write_bandwidth": "100 GB/s"}
    lost = ingest.checkpoint("llama3-70b", **options).results["checkpoint_overhead"].value
    answer = ingest.checkpoint("llama3-70b", **options, waste=lost / factor)
    assert bool(answer.unmet) is unmet


def test_what_a_workbook_checks_of_nics_and_of_a_stated_waste():
    saves = {"parameters": 1e9, "waste": "5%", "mtti": "1 day"}
    plan = ingest.plan(site(a={**SLOW, "samples_per_second": 9_000, "model": "resnet50", "checkpoint": saves}), samples=0)
    (link,), (waste,) = checked(plan, "W09"), checked(plan, "E02")
    place = {id(link.value): "A1", id(waste.value): "B1", id(waste.limit): "B2"}
    assert link.condition(lambda step: place[id(step)]) == ("A1 > 1.0" if link.value.value > 1 else "A1 <= 1.0")
    assert waste.condition(lambda step: place[id(step)]) == "B1 <= B2 * 1.005"


@pytest.mark.parametrize(("value", "is_near"), [(1 / NEAR, True), (0.99 / NEAR, False), (NEAR, True), (1.01 * NEAR, False)])
def test_a_warning_is_checked_near_its_limit_alone(value, is_near):
    plan = ingest.plan(site(a=SLOW), samples=0)
    step = plan.rows["jobs"][0].step("storage_nic_share")._replace(value=value)
    found = finding("W09", {"storage_nic_share": step})
    assert found is not None
    assert found.is_checked is is_near


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("mandatory", "target", "mandatory"), ("target", "target", "target"), ("information", "target", "target")],
)
def test_a_line_is_as_urgent_as_the_most_urgent_job_behind_it(first, second, expected):
    plan = ingest.plan(site(a={**SLOW, "priority": first}, b={**SLOW, "priority": second}), samples=0)
    assert plan.requirement("R-READ-03").priority == expected


def test_readers_sites_and_ids_of_messages():
    found = finding("W25", {"restart_overhead": 0.2})
    assert found is not None
    line = found.message()
    assert line.endswith("; set --restart-time or --reschedule-time")
    assert in_site_words(line).endswith("; set checkpoint.restart_time or checkpoint.reschedule_time")
    assert fact_of(line).endswith("20 % of the mean time to interrupt")
    with pytest.raises(IngestError, match=r"jobs\.a\.checkpoint: gpus: found 80, expected a multiple"):
        ingest.plan(site(a={**SLOW, "checkpoint": {"parameters": 1e9, "tensor_parallel": 7}}), samples=0)


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.id)
def test_every_rule_explains_itself(rule):
    found = ingest.explain(rule.id.lower()).results
    assert found["line"]
    assert found["fires_when"]
    if rule.kind == "warning":
        chosen = not isinstance(rule.limit, str) and rule.limit not in (0, 1)
        assert found["why"]
        assert "threshold" in found or not (chosen or rule.sign == "differs" or abs(rule.factor - 1) > TOLERANCE)


def test_a_rule_is_explained_by_its_command(run):
    assert "fires when: epoch_seconds < 60 s" in run("explain", "W16").out
    assert "retired" in run("explain", "W21").err
    assert {name for name, row in WRITTEN.items() if "why" in row} == {one.id for one in ROWS if one.kind == "warning"}
    said = ingest.bw("resnet50", "h100").to_dict()
    assert "W61" in said["warning_rules"]
    assert len(said["warning_rules"]) == len(said["warnings"])
