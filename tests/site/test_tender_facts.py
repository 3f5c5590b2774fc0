"""The cover, the service terms, the rationale and the open questions of a tender."""

import json
import re

import pytest
from conftest import CATALOG, EXAMPLES, example_plan

import ingest
from ingest.errors import IngestError
from ingest.requirement import THEMES
from ingest.site.plan_file import lines_of
from ingest.site.requirement_wording import GUIDED, LINES
from ingest.site.service_records import UNITS, default_records, records
from ingest.sizing.evidence_ladder import BASES

SITE = {
    "clusters": {"main": {"node": "dgx-h100", "count": 4}},
    "jobs": {"train": {"cluster": "main", "model": "llama3-8b", "nodes": 4, "data": "text", "checkpoint": {"keep": 1}}},
    "datasets": {"text": {"tokens": 1e12, "bytes_per_token": 4}},
}
COVER = {"buyer": "B", "reference": "R", "answers_by": "2026-06-30", "contact": "C"}


def planned(**sections):
    return ingest.plan({**SITE, **sections}, samples=0)


def terms(**sections):
    return {one.id: one for one in planned(**sections).service}


def test_each_record_is_complete():
    sources = CATALOG.sources
    for one in records():
        assert one.theme in THEMES, one.id
        assert one.reason, one.id
        assert one.verification, one.id
        assert (one.grade == "published") <= (one.source in sources), one.id
        assert not one.source or one.source in sources, one.id
        assert one.text or one.options, one.id
        assert one.type in ("yes", "choice", "fixed") or "{value}" in one.text, one.id
        assert one.states or one.type == "fixed" or one.of, one.id
        assert bool(one.question) == bool(one.rank), one.id
        assert len({one.type == "fixed", bool(one.key), bool(one.of)}) == 2, one.id
        assert one.suggestion
    assert len({one.id for one in records()}) == len(records())
    themes = [one.theme for one in records()]
    assert sorted(themes[:-1], key=list(THEMES).index) == themes[:-1]
    assert set(THEMES) == {*themes, *(line.theme for line in LINES)}


def test_suggested_terms_yield_to_single_keys():
    # Suggested sets every term and nothing is set without it.
    suggested, bare = terms(service="suggested"), terms()
    assert suggested.keys() == bare.keys()
    assert not [one.id for one in suggested.values() if one.status == "open"]
    # Defaults of the plan that nobody chose bind no vendor; what no key sets is a rule of the document.
    assert {one.id for one in bare.values() if one.value is not None} == {"S-CAP-01", "S-COM-02"}
    assert all(one.text.startswith("The Vendor shall state ") for one in bare.values() if one.value is None)
    assert suggested["S-AVAIL-01"].text.endswith("for at least 99.5 % of every 30 days.")
    assert (suggested["S-AVAIL-04"].quantity, suggested["S-AVAIL-04"].unit) == (0.7, "1")
    # Single keys override the others.
    service = {"others": "suggested", "availability": "99.99 %", "tenants": "open", "csi": False, "s3": True, "nfs": "stated"}
    found = terms(service=service)
    assert found["S-AVAIL-01"].value == "99.99 %"
    assert (found["S-TEN-01"].status, found["S-TEN-01"].value) == ("open", None)
    assert (found["S-IF-03"].status, found["S-IF-03"].value) == ("stated", None)
    assert ("S-IF-07" in found, found["S-IF-05"].value) == (False, "required")
    # Terms of few sites are there only by their own keys, whatever holds for the others.
    few = {one.key: one for one in records() if one.optional}
    assert len(few) == 22 and not {one.id for one in few.values()} & {*suggested, *found}  # noqa: PT018
    # Buyers who encrypt, and who account for changes, are suggested what belongs to it.
    encrypting, accounting = (
        {"S-SEC-07", "S-SEC-08"},
        {f"S-{one}" for one in ("COPY-05", "COPY-06", "SEC-10", "SEC-11", "SEC-12", "SEC-13")},
    )
    for key, value, wanted in (("encryption_at_rest", "fips-140", encrypting), ("audit", True, accounting)):
        for others, given, expected in (("suggested", value, wanted), ("open", value, set()), ("suggested", "none", set())):
            assert {one.id for one in few.values()} & {*terms(service={"others": others, key: given})} == expected
    for words, status in ((lambda one: one.suggested, "set"), (lambda _: "stated", "stated"), (lambda _: "open", "open")):
        asked = terms(service={key: words(one) for key, one in few.items()})
        assert all(asked[one.id].status == ("stated" if words(one) == "stated" else status) for one in few.values())
    # Values that the plan holds elsewhere are no second copy.
    storage = {"warranty": "7 years", "latency": "0.2 ms", "protection": {"data": 8, "parity": 3}}
    found = terms(storage=storage, test={"latency_tail": 3})
    assert found["S-MEDIA-01"].value == "7 years"
    assert found["S-LAT-01"].value == "0.2 ms"
    assert found["S-DUR-02"].value == "3 failures"
    assert found["S-LAT-02"].quantity == 3
    assert [found[name].key for name in ("S-MEDIA-01", "S-LAT-02")] == ["storage.warranty", "test.latency_tail"]
    assert terms(storage={"protection": {"replicas": 2}})["S-DUR-02"].value == "1 failure"


@pytest.mark.parametrize("one", [one for one in records() if one.type in UNITS and one.key], ids=lambda one: one.key)
def test_a_term_takes_its_limits_and_nothing_beyond(one):
    unit = {"time": " s", "rate": " B/s", "power": " W"}.get(one.type, "")
    above = one.type in ("time", "rate", "power")
    if one.high < float("inf"):
        assert one.number(f"{one.high}{unit}") == one.high
        with pytest.raises(IngestError, match="expected"):
            one.number(f"{one.high * 1.0001}{unit}")
    if above:
        assert one.number(f"0.001{unit}") == 0.001
        with pytest.raises(IngestError, match="expected"):
            one.number(f"0{unit}")
    else:
        assert one.number(one.low) == one.low
        with pytest.raises(IngestError, match="expected"):
            one.number(one.low - 0.0001)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("service", "availability", "99.9", "found '99.9', expected a value from 50 % to 100 %"),
        ("service", "rebuild_time", 30, "found '30' without a unit, expected one, such as '30 s' or '30 h'"),
        ("service", "rebuild_time", "30 GB", "'30 GB' is in B, expected s"),
        ("service", "posix", "ful", "did you mean 'full'?"),
        ("service", "tenants", "maybe", "expected one of true, false, stated, open, none"),
        ("service", "avialability", "99 %", "did you mean 'availability'?"),
        ("service", "network", "x" * 301, "expected at most 300 characters"),
        ("document", "issued", "soon", "expected a day such as 2026-06-30"),
        ("document", "issued", "2026-02-30", "expected a day such as 2026-06-30"),
        ("document", "answers_by", "2026-05-03", "expected a day from 2026-05-04 on"),
        ("document", "byer", "B", "did you mean 'buyer'?"),
    ],
)
def test_bad_values_are_refused_in_one_line(section, key, value, message):
    base = {"issued": "2026-05-04"} if section == "document" else {}
    with pytest.raises(IngestError) as refused:
        planned(**{section: {**base, key: value}})
    line = str(refused.value)
    assert f"{section}.{key}" in line or f"'{key}'" in line
    assert message in line
    assert "\n" not in line
    assert len(line) <= 300


def test_themes_reasons_and_answers_of_lines():
    # Answers may be due on the day of issue.
    facts = planned(document={"issued": "2026-05-04", "answers_by": "2026-05-04 12:00"}).document
    assert (facts.issued, facts.answers_by) == ("2026-05-04", "2026-05-04 12:00")
    # Each line has a theme and one sentence without figures.
    for line in LINES:
        assert line.theme in THEMES
        assert line.why.endswith(".")
        assert line.why.count(". ") == 0
        assert not re.search(r"\d", line.why)
    # The rationale says where the guidance decides and survives json.
    plan = planned(floor={"level": "good", "because": "the buyer asks for it"})
    guided = [one for one in plan.requirements if "By guidance" in one.remark]
    assert guided
    assert {one.rationale for one in guided} == {GUIDED}
    assert GUIDED not in {one.rationale for one in planned(floor="none").requirements}
    again = lines_of("plan.json", json.loads(json.dumps(plan.to_dict())))
    assert [(one.rationale, one.theme) for one in again] == [(one.rationale, one.theme) for one in plan.requirements]


def test_the_purchase_states_the_mandatory_lines_alone():
    plan = example_plan("enterprise-64-nodes")
    assert plan.document.purchase == (
        "The Buyer purchases a storage system for 64 nodes that provides at least 168 TB of usable capacity, 101 GB/s of "
        "training reads, 14 GB/s of checkpoint writes and 30 GB/s of restores."
    )
    assert plan.document.reference == "EI-2026-017"
    targets = {name: {**job, "priority": "target"} for name, job in SITE["jobs"].items()}
    assert "reads" not in planned(jobs=targets, floor="none").document.purchase


def test_open_questions_end_where_the_site_file_answers_them():
    asked = [one.key for one in planned().open_questions]
    assert {"award", "service.availability", "storage.fill_limit", "outage.restart_time"} <= set(asked)
    answered = planned(
        document=COVER,
        award={"price": 100},
        service="suggested",
        outage={"restart_time": 600},
        storage={"fill_limit": 0.85, "protection": {"replicas": 2}},
    )
    left = {one.key for one in answered.open_questions}
    assert left < set(asked)
    assert not left & {"document", "award", "service.availability", "storage.fill_limit", "outage.restart_time"}
    assert planned().to_dict()["open_questions"][0]["key"] == "document"


def test_a_question_names_the_default_that_the_plan_uses():
    plan = planned()
    by_key = {one.key: one for one in plan.open_questions}
    assert by_key["outage.restart_time"].suggested == "10 min"
    assert by_key["storage.fill_limit"].suggested == "85 %"
    assert {one.quantity for one in default_records()} >= {"outage_restart_seconds", "fill_limit"}


@pytest.mark.parametrize("key", ["jobs.*.checkpoint.drain_time", "jobs.*.checkpoint.restart_time"])
def test_a_suggestion_that_the_buyer_states_for_every_job_is_no_open_question(key):
    """The plan has the value of the suggestion either way; what the file says decides."""
    asked = {one.key: one.suggested for one in planned().open_questions}
    job, name = SITE["jobs"]["train"] | {"nodes": 2}, key.rpartition(".")[2]
    stated = job | {"checkpoint": {"keep": 1, name: asked[key]}}
    for jobs, left in (({"a": stated}, False), ({"a": stated, "b": stated}, False), ({"a": stated, "b": job}, True)):
        assert (key in {one.key for one in planned(jobs=jobs).open_questions}) == left, jobs


def test_an_emulated_accelerator_is_named_emulated_everywhere(run):
    site = EXAMPLES / "enterprise-64-nodes.yaml"
    page = run("plan", site, "--set", "jobs.scans.basis=emulated", "--samples", 0, "-v").out
    row = next(line for line in page.splitlines() if line.strip().startswith("scans") and "unet3d" in line)
    assert "emulated" in row
    assert "measured" not in row
    plan = ingest.plan(site, samples=0, set={"jobs.scans.basis": "emulated"})
    found = plan.to_dict()
    for table in ("jobs", "placement", "checkpoints", "metadata"):
        assert [one["basis"] for one in found["tables"][table] if one["name"] == "scans"] == ["emulated"], table
    assert "jobs.scans.samples_per_second" in {one["key"] for one in found["open_questions"]}
    assert "emulated" in BASES
    derivation = "\n".join(plan.explain("R-STAGE-02") + plan.explain("R-READ-03"))
    assert "measured" not in "".join(line for line in derivation.splitlines() if "unet3d" in line)


def test_the_page_counts_open_questions_and_lists_them_on_request(run):
    site = EXAMPLES / "hpc-128-nodes.yaml"
    short, long = (run("plan", site, "--samples", 0, *words).out for words in ((), ("-v",)))
    count = len(ingest.plan(site, samples=0).open_questions)
    assert f"{count} values that this site file leaves open" in short
    assert "jobs.*.warm_up" not in short.partition("Open questions")[2].partition("Assumptions")[0]
    assert "jobs.*.warm_up: 10 min" in long
    assert f"a draft: {count} questions to the buyer are open" in run("report", site, "--for-vendor", "-o", "rfp.json").err
