"""Numbers that people write: requirements are rounded up, times have units, files have a format."""

import io
import json
from decimal import ROUND_CEILING, Decimal
from pathlib import Path

import jsonschema
import openpyxl
import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

import ingest
from ingest.engine.registry import solve
from ingest.errors import IngestError, UsageError
from ingest.reports.workbook.model_workbook import model_workbook
from ingest.site.plan_file import lines_of
from ingest.site.schema import schema_text, starter

#: 8 GPUs × 8 nodes × 99.9 samples/s × 1 MB = 6.3936 GB/s.
SITE = {
    "clusters": {"main": {"node": "dgx-h100", "count": 8}},
    "jobs": {"a": {"cluster": "main", "nodes": 8, "samples_per_second": 99.9, "sample_bytes": 1_000_000, "data": "d"}},
    "datasets": {"d": {"files": 1_835_501, "bytes": "2 TB"}},
}


def rounded(value, digits=3):
    return solve("rounded_requirement", {"computed_requirement": value, "significant_digits": digits})


@pytest.mark.parametrize(("value", "digits", "expected"), table("site/cases.yaml")["a_value_is_rounded_up"])
def test_a_value_is_rounded_up(value, digits, expected):
    assert rounded(value, digits) == expected


@pytest.mark.parametrize(("excess", "expected"), [(0.9e-9, 302e9), (1.1e-9, 303e9), (-1.1e-9, 302e9)])
def test_the_noise_of_binary_numbers_is_no_step(excess, expected):
    assert rounded(302e9 * (1 + excess)) == expected


@given(st.floats(1e-6, 1e21), st.sampled_from([2, 3]))
def test_rounding_is_that_of_decimal_numbers(value, digits):
    """Never less than the value, up to the noise; at most one step more; no further digits; already round stays."""
    found = rounded(value, digits)
    least = Decimal(value) * (1 - Decimal("1e-9"))
    step = Decimal(1).scaleb(least.adjusted() - digits + 1)
    expected = (least / step).to_integral_value(ROUND_CEILING) * step
    assert found == pytest.approx(float(expected), rel=1e-15)
    assert least <= Decimal(found) < Decimal(value) + step
    assert rounded(found, digits) == found


def test_statement_value_and_threshold_are_one_number():
    plan = ingest.plan(SITE, samples=0)
    line = plan.requirement("R-READ-03")
    assert (line.computed, line.value) == (pytest.approx(6.3936e9, rel=1e-12), 6_400_000_000)
    assert "at least 6.4 GB/s (5.961 GiB/s) of" in line.statement
    assert (plan.results["R-READ-03"].value, plan.computed["R-READ-03"]) == (line.value, line.computed)
    files = plan.requirement("R-META-03")
    assert (files.computed, files.value) == (1_835_501, 1_840_000)
    assert "at least 1,840,000 files " in files.statement
    data = next(one for one in plan.to_dict()["requirements"] if one["id"] == "R-READ-03")
    assert (data["value"], data["computed"], data["display"]) == (line.value, line.computed, "6.4 GB/s (5.961 GiB/s)")
    assert plan.to_frame().loc["R-META-03", ["value", "computed"]].tolist() == [1_840_000, 1_835_501]


def test_two_digits_on_request():
    for plan in (ingest.plan({**SITE, "round": 2}, samples=0), ingest.plan(SITE, samples=0, set=["round=2"])):
        values = {name: plan.results[name].value for name in ("R-READ-03", "R-META-03")}
        assert values == {"R-READ-03": 6_400_000_000, "R-META-03": 1_900_000}
        assert "at least 6.4 GB/s of" in plan.requirement("R-READ-03").statement
        assert plan.inputs["round"] == {"value": 2, "unit": "1", "from": "user"}
    default = ingest.plan(SITE, samples=0)
    assert default.inputs["significant_digits"] == {"value": 3, "unit": "1", "from": "default", "key": "round"}
    assert any(one["name"] == "significant_digits" and "set round" in one["why"] for one in default.assumptions)


@pytest.mark.parametrize(("digits", "words"), [(1, "a number from 2"), (4, "a number up to 3"), (2.5, "a whole number")])
def test_other_digits_are_refused(digits, words):
    with pytest.raises(IngestError, match=f"round: found {digits}, expected {words}"):
        ingest.plan({**SITE, "round": digits}, samples=0)


def test_assertions_and_ranges_are_of_which_value():
    # Assertions speak of the value that is stated.
    site = {**SITE, "expect": ["read_bandwidth >= 6.4 GB/s", "read_bandwidth <= 6.39 GB/s"]}
    assert ingest.plan(site, samples=0).unmet == "expected read_bandwidth <= 6.39 GB/s, found 6.4 GB/s (5.961 GiB/s)"
    # A range is of what was computed.
    line = ingest.plan({**SITE, "jobs": {"a": {**SITE["jobs"]["a"], "samples_per_second": {
        "low": 99.8, "typical": 99.9, "high": 99.91}}}}).requirement("R-READ-03")  # fmt: skip
    assert line.low < line.computed < line.high < line.value


@pytest.mark.parametrize(("limit", "value"), [(6.3999e9, 6.3999e9), (6.4e9, 6.4e9), (6.4001e9, 6.4e9)])
def test_a_limit_holds_after_rounding(limit, value):
    """6.3936 GB/s are rounded to 6.4 GB/s: just below, at and just above what eight nodes of 80 GB/s draw."""
    plan = ingest.plan({**SITE, "storage": {"nic_share": limit / 640e9}}, samples=0)
    line = plan.requirement("R-READ-03")
    assert line.value == pytest.approx(value, rel=1e-12)
    assert f"{value / 1e9:g} GB/s (5.961 GiB/s)" in line.statement
    assert float(plan.limits["R-READ-03"].value) == pytest.approx(limit)
    book = openpyxl.load_workbook(io.BytesIO(model_workbook(plan)))["Requirements"]
    heads = [cell.value for cell in book[1]]
    formulas = {row[0].value: row[heads.index("Required")].value for row in book.iter_rows(min_row=2)}
    assert formulas["R-READ-03"].startswith("=MIN(ROUNDUP(")
    assert formulas["R-CAP-01"].startswith("=ROUNDUP(D")


def written(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "site.yaml"
    path.write_text(json.dumps({**SITE, **changes}), encoding="utf-8")
    return path


@pytest.mark.parametrize("time", [30, 1.5, "30", "1,800", {"low": "20 min", "typical": 1800, "high": "1 h"}])
def test_a_time_without_its_unit_is_refused_in_a_file(tmp_path, time):
    shown = 1800 if isinstance(time, dict) else time
    with pytest.raises(IngestError) as refused:
        ingest.plan(written(tmp_path, test={"duration": time}), samples=0)
    place = f"{tmp_path / 'site.yaml'}:1: test.duration"
    assert str(refused.value) == f"{place}: found '{shown}' without a unit, expected one, such as '{shown} s' or '{shown} h'"


def test_a_time_with_its_unit_zero_and_bare_numbers_of_other_kinds_are_taken(tmp_path):
    data = {"d": {"bytes": 2e12, "file_bytes": 1_000_000, "retention": 0, "refresh": "10 days"}}
    assert ingest.plan(written(tmp_path, test={"duration": "10 min"}, datasets=data), samples=0).results


def test_numbers_from_python_and_the_command_line_are_in_seconds(tmp_path):
    path = written(tmp_path)
    for plan in (
        ingest.plan({**SITE, "test": {"duration": 600}}, samples=0),
        ingest.plan(path, samples=0, set=["test.duration=10 min"]),
        ingest.plan(path, samples=0, set={"test.duration": 600}),
    ):
        assert plan.requirement("R-READ-03").conditions.duration == 600


@pytest.mark.parametrize(("time", "taken"), [(30, False), ("30", False), ("30 min", True)])
def test_editors_mark_a_time_without_its_unit(time, taken):
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    assert validator.is_valid({**SITE, "test": {"duration": time}}) == taken
    assert validator.is_valid({**SITE, "test": {"duration": {"typical": time}}}) == taken
    assert validator.is_valid({**SITE, "datasets": {"d": {"bytes": 1000, "retention": 0}}})


@pytest.mark.parametrize("number", [None, 1, 2, 3])
def test_site_files_of_known_formats_mean_the_same(tmp_path, number):
    changes = {} if number is None else {"format": number}
    assert ingest.plan(written(tmp_path, **changes), samples=0).computed == ingest.plan(SITE, samples=0).computed


def test_a_site_file_of_a_newer_format_is_refused_before_its_keys_are_read(tmp_path):
    with pytest.raises(IngestError) as refused:
        ingest.plan(written(tmp_path, format=4, new_key=1), samples=0)
    words = "found format 4, expected at most 3: a newer version of ingest has written it"
    assert str(refused.value) == f"{tmp_path / 'site.yaml'}:1: format: {words}"
    with pytest.raises(UsageError, match="--set format: found format 4"):
        ingest.plan(SITE, set={"format": 4}, samples=0)


def test_plans_carry_their_format_and_are_read_back():
    # The starter has the format of today.
    assert "\nformat: 2 " in starter()
    # A plan carries its format and a newer one is refused.
    data = ingest.plan(SITE, samples=0).to_dict()
    assert data["format"] == 3
    with pytest.raises(IngestError, match=r"^plan\.json: found format 4, expected at most 3"):
        lines_of("plan.json", {**data, "format": 4})
    with pytest.raises(IngestError, match="AFTER: data: found format 4, expected at most 3"):
        ingest.diff(data, {**data, "format": 4})
    # A plan is read back as it was written.
    plan = ingest.plan(SITE, samples=0)
    read = lines_of("plan.json", json.loads(json.dumps(plan.to_dict())))
    assert [(one.value, one.computed) for one in read] == [(one.value, one.computed) for one in plan.requirements]


def old_plan(**inputs: dict[str, object]) -> dict[str, object]:
    """A plan of format 1: it carries no format, no computed values and no keys."""
    line = {"id": "R-WRITE-01", "priority": "mandatory", "statement": "The system shall …", "metric": "site_write_bandwidth",
            "value": 1_234_567_890.5, "unit": "B/s", "conditions": {"operation": "write"}, "inputs": [*inputs]}  # fmt: skip
    head = {"schema": "ingest/1", "command": "plan", "version": "0.1.0", "catalog_hash": "sha256:1"}
    return {**head, "written": {"name": "x"}, "inputs": inputs, "requirements": [line]}


def test_a_difference_names_the_defaults_that_changed_with_the_format():
    share = {"unit": "1", "from": "default"}
    old = old_plan(
        **{
            "a: drain_fraction": {"value": 0.5, **share},
            "b: drain_fraction": {"value": 0.5, **share},
            "test_seconds": {"value": 1800, "unit": "s", "from": "default"},
            "fill_limit": {"value": 0.85, **share},
            "storage.headroom": {"value": 0.1, "unit": "1", "from": "user"},
            "gone": {"value": 1, **share},
        }
    )
    new = {**old_plan(**{
        "a: drain_fraction": {"value": 0.1, **share, "key": "checkpoint.drain_fraction"},
        "b: drain_fraction": {"value": 0.1, **share, "key": "checkpoint.drain_fraction"},
        "test_seconds": {"value": 600, "unit": "s", "from": "default", "key": "test.duration"},
        "fill_limit": {"value": 0.85, **share, "key": "storage.fill_limit"},
        "storage.headroom": {"value": 0.2, "unit": "1", "from": "user"},
    }), "format": 2}  # fmt: skip
    found = ingest.diff(old, new)
    assert found.notes == (
        "two formats of plans: found 1 and 2",
        "plans of format 1 state values that are not rounded: a small change may be the rounding alone",
        "default changed: drain_fraction 0.5 → 0.1 (checkpoint.drain_fraction)",
        "default changed: test_seconds 30 min → 10 min (test.duration)",
    )
    assert found.to_dict()["warnings"] == list(found.notes)


def test_defaults_stay_within_a_version():
    # Defaults of one version and format do not change.
    one, other = (old_plan(x={"value": value, "unit": "1", "from": "default"}) for value in (1, 2))
    assert ingest.diff(one, other).notes == ()
    assert ingest.diff(one, {**other, "version": "0.2.0"}).notes == (
        "two versions of ingest: found 0.1.0 and 0.2.0",
        "default changed: x 1 → 2",
    )
    # Its value is not rounded; what is compared is what each plan demands.
    new = {**old_plan(), "format": 2}
    new["requirements"] = [{**new["requirements"][0], "value": 1.24e9, "computed": 1_234_567_890.5}]
    (change,) = ingest.diff(old_plan(), new).requirements
    assert (change.before, change.after) == (1_234_567_890.5, 1.24e9)


@pytest.mark.parametrize(("rounded", "demanded"), [(6.46e12, 6.45e12), (6.44e12, 6.44e12)])
def test_a_line_demands_no_more_than_its_limit(rounded, demanded):
    assert solve("limited_requirement", {"rounded_requirement": rounded, "requirement_limit": 6.45e12}) == demanded


@pytest.mark.parametrize(("apart", "differ"), [(1e-13, False), (1e-11, True)])
def test_plans_differ_beyond_the_last_digit_of_a_sum(apart, differ):
    new = old_plan()
    new["requirements"] = [{**new["requirements"][0], "value": 1_234_567_890.5 * (1 + apart)}]
    assert bool(ingest.diff(old_plan(), new).requirements) is differ
