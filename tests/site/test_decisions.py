"""Decisions of the buyer: whom they are about, what settles them, and what settles nothing."""

import random
import re

import pytest
import yaml
from conftest import refused, table

import ingest
from ingest.errors import IngestError
from ingest.site.plan import Plan
from ingest.site.planner import with_decisions
from ingest.site.site_file import new_site

SITE = {
    "clusters": {"a": {"node": "dgx-h100", "count": 8}},
    "jobs": {
        "one": {"cluster": "a", "model": "resnet50", "nodes": 2, "data": "d"},
        "two": {"cluster": "a", "model": "cosmoflow", "nodes": 2, "data": "d"},
    },
    "datasets": {"d": {"bytes": "900 TB"}},
}


def planned(decisions: object, site: dict = SITE) -> Plan:
    return ingest.plan({**site, "decisions": decisions}, samples=0)


def reasons(plan: Plan) -> dict[tuple[str, str], str]:
    return {(one.id, one.of): one.reason for one in plan.decided}


def test_a_reason_that_is_given_for_one_job_settles_no_other():
    for accepted in ({"accept": "measured"}, {"one": {"accept": "measured"}}):
        found = reasons(planned({"W85": accepted}))
        assert found["W85", "two"] == ""
        assert found["W85", "one"] == ("measured" if "one" in accepted else "")
    both = planned({"W85": {"one": {"accept": "measured"}, "two": {"accept": "bought for the lower"}}})
    assert not both.decisions
    assert reasons(both) == {("W85", "one"): "measured", ("W85", "two"): "bought for the lower"}


def test_one_owner_is_settled_in_the_plain_form_and_by_name():
    site = {**SITE, "jobs": {"one": SITE["jobs"]["one"]}}
    for accepted in ({"accept": "measured"}, {"one": {"accept": "measured"}}):
        plan = planned({"W85": accepted}, site)
        assert (reasons(plan), [one for one in plan.warnings if "settles nothing" in one]) == ({("W85", "one"): "measured"}, [])


@pytest.mark.parametrize(("decisions", "words"), table("site/refused.yaml")["an_acceptance_that_settles_nothing_is_named"])
def test_an_acceptance_that_settles_nothing_is_named(decisions, words):
    assert words in planned(decisions).warnings


@pytest.mark.parametrize(("decisions", "words"), table("site/refused.yaml")["what_cannot_be_a_decision_is_refused"])
def test_what_cannot_be_a_decision_is_refused(decisions, words):
    with pytest.raises(IngestError, match=words.replace("{", r"\{")):
        planned(decisions)


def test_each_way_that_a_plan_names_settles_its_decision():
    plan = planned({})
    assert [one.settle.rpartition(" or ")[2] for one in plan.decisions] == [
        "decisions: {W85: {one: {accept: reason}}}",
        "decisions: {W85: {two: {accept: reason}}}",
    ]


@pytest.mark.parametrize(("models", "asked"), [
    ("resnet50,cosmoflow", ""), ("flux-1,llama3-70b", "flux-1-data.files llama3-70b-data.files"),
    ("openfold,unet3d", "openfold-data.files"), ("esm2-650m,qwen3-8b", "esm2-650m-data qwen3-8b-data"),
])  # fmt: skip
def test_a_site_written_for_models_asks_for_each_size_that_is_not_published(models, asked):
    text = with_decisions(new_site(nodes=8, gpu="h100", models=models))
    assert not re.search(r"^[^#\n]*: [\d.]+ ?[kMGTP]", text, re.MULTILINE), "a placeholder decides a line"
    # Each other decision is accepted by name; what the file asks holds the tender up.
    plan = ingest.plan(yaml.safe_load(text), samples=0)
    assert {one.of for one in plan.decisions} == {"reserve", *(f"datasets.{one}" for one in asked.split())}
    assert not [one for one in plan.warnings if "settles nothing" in one]
    # With a value in each gap, the file plans all data sets.
    text = re.sub(r"# (datasets:|data:|tokens:|\S+-data: {)", r"\1", text)
    for gap, value in (("bytes: ", "1 TB"), ("tokens: ", "1T")):
        text = re.sub(f"{gap}(?=[, }}])", gap + value, text)
    assert len(ingest.plan({**yaml.safe_load(text), "questions": {}}, samples=0).rows["datasets"]) == len(models.split(","))


def test_findings_are_about_keys_of_the_site_file():
    """Drawn sites: the owner of what is told or decided is a row of the file or a line, never an internal name."""
    for seed in range(12):
        one = random.Random(seed)
        serving = {
            "cluster": "a", "nodes": one.randint(1, 4), "model": one.choice(("llama3-70b", "llama3-405b")), "users": 20_000,
            "turns": one.randint(1, 4), "load_time": "1 s", "tier": one.choice(("nodes", "storage")),
        }  # fmt: skip
        site = {**SITE, "serving": {"chat": serving}, "clusters": {"a": {"node": "dgx-h100", "count": 16}}}
        plan = ingest.plan(site, samples=0)
        rows = {"", "chat", *SITE["jobs"], *SITE["datasets"], "a"}
        lines = {line.id for line in plan.requirements}
        assert {found.owner for found in plan.findings if found.true} <= rows | lines
        assert {found.of for found in plan.decided} <= rows | lines
        assert [row.name for row in plan.rows["serving"]] == ["chat"]


@pytest.mark.parametrize(("node", "nodes", "told"), [("dgx-h100", 4, "W86"), ("oci-a100-v2-8", 1, "W74")])
def test_replicas_that_hold_no_model_are_named_instead_of_a_number_of_gpus(node, nodes, told):
    chat = {"cluster": "a", "nodes": nodes, "model": "llama3-405b", "users": 100_000, "turns": 4}
    plan = ingest.plan({"clusters": {"a": {"node": node, "count": nodes}}, "serving": {"chat": chat}}, samples=0)
    assert [one.id for one in plan.decisions if one.id in ("W74", "W86")] == [told]
    (why,) = (one.why for one in plan.decisions if one.id == told)
    assert ("more of them are needed" in why) is (told == "W86")


@pytest.mark.parametrize(("changes", "words"), [
    ({"datasets": {"d": {"bytes": "1e30 TB"}}}, "datasets.d.bytes: found 1e30 TB, expected a number above 0 up to 1e+24 (B)"),
    ({"clusters": {"a": {"node": "gcp-v7x-4", "count": 8}}, "jobs": {"one": {**SITE["jobs"]["one"],
      "samples_per_second": 10, "placement": {"mode": "cache"}}}}, "expected `nvme`: one caches there"),
])  # fmt: skip
def test_what_no_storage_holds_and_what_is_missing_are_refused_with_a_key_of_the_file(changes, words):
    with refused(words) as found:
        ingest.plan({**SITE, **changes}, samples=0)
    assert "--set" not in str(found.value)
