"""Published results, reproduced; and a set that is tampered with fails."""

import shutil
from dataclasses import replace

import pytest
from conftest import table

import ingest
from ingest import validation
from ingest.catalog.records import Protocol
from ingest.catalog.store import shipped_folder
from ingest.errors import CatalogError, UsageError
from ingest.sizing.published_rates import before_round

SETS = ("ibrahim", "kurth", "lockwood-calculator", "mlperf-storage", "superpod", "llm-compute", "transfer", "service-limits")
SHIPPED = sorted(path.stem for path in (shipped_folder() / "published").glob("*.yaml"))


@pytest.fixture(scope="module")
def shipped_sets():
    return {one.name: one for one in ingest.validate().sets}


@pytest.fixture
def tampered(tmp_path, monkeypatch):
    folder = tmp_path / "catalogs"
    shutil.copytree(shipped_folder() / "published", folder / "published")
    monkeypatch.setattr(validation, "shipped_folder", lambda: folder)

    def change(name, old, new):
        path = folder / "published" / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


@pytest.mark.parametrize("name", sorted({*SETS, *SHIPPED}))
def test_a_shipped_set_meets_its_bar(name, shipped_sets):
    found = shipped_sets[name]
    assert found.passed
    assert found.cases > 0


def test_shipped_sets_are_as_near_as_promised(shipped_sets):
    models = ("cosmoflow", "deepcam", "resnet50")
    gpus = ("v100", "a100", "h100", "8x-v100", "8x-a100", "8x-h100", "v100-cosmoflow-lo", "v100-cosmoflow-hi")
    found = [case.id for case in shipped_sets["lockwood-calculator"].results]
    assert sorted(found) == sorted(f"{model} x {gpu}" for model in models for gpu in gpus)
    found = shipped_sets["mlperf-storage"]
    assert found.median_absolute_error <= 0.01
    assert found.percentiles["p95"] <= 0.08
    assert found.cases >= 250
    found = shipped_sets["transfer"]
    assert found.median_absolute_error <= 0.14
    assert 0.75 <= found.within_tolerance / found.cases <= 0.90
    assert found.cases >= 200
    found = shipped_sets["mlperf-utilization"]
    assert [case.id for case in found.results if not case.within] == ["unet3d-zero-copy-4-cores"]
    assert sum("Fails" in case.remark for case in found.results) >= 10
    assert replace(found, bar={"sides": 27 / 28}).passed
    assert not replace(found, bar={"sides": 27.1 / 28}).passed
    assert found.bar_text == "at least 95 % on the published side of the threshold"


@pytest.mark.parametrize("name", ["ibrahim", "kurth", "superpod"])
def test_a_source_that_contradicts_itself_is_said_to(name, shipped_sets):
    cases = shipped_sets[name].results
    apart = [case for case in cases if abs(case.published / case.expected - 1) > 0.005]
    assert all(case.remark for case in apart)


def test_every_case_is_cited(shipped, shipped_sets):
    for one in shipped_sets.values():
        assert all(case.source in shipped.sources for case in one.results)
        assert all(case.where for case in one.results) or one.name == "ibrahim"


def test_a_published_figure_that_does_not_follow_exits_with_3(tampered, run):
    tampered("kurth.yaml", "published: 20.93 TFLOP/s", "published: 23.00 TFLOP/s")
    ran = run("validate", "kurth")
    assert (ran.code, ran.err) == (3, "ingest: validate: missed the bar: kurth\n")
    assert "MISS" in ran.out
    assert run("validate", "superpod").code == 0


def case_of(published, ours, **more):
    return validation.Case("a", "1", published, ours, published, 0.0, "dlio", "", **more)


@pytest.mark.parametrize(("ours", "judged"), [(99, True), (100, False), (400, False)])
def test_a_lower_bound_is_wrong_only_where_the_prediction_lies_below_it(ours, judged):
    bound, rate = case_of(100, ours, bound=True).ranged((ours / 2, ours / 2)), case_of(100, 110).ranged((90, 120))
    found = validation.ValidatedSet("s", "", (bound, rate), {"coverage_low": 1.0, "width": 2})
    assert (bound in found.judged, "MISS" in bound.texts[4], not found.passed, bound.texts[1]) == (*[judged] * 3, "≥ 100")
    assert found.median_absolute_error == pytest.approx((0.1 + 0.01) / 2 if judged else 0.1)
    assert f"{1 - judged} of them not contradicted" in found.prediction_text
    assert found.bounds_as_rates.covered == (1 if ours == 100 else 0.5)


@pytest.mark.parametrize(("published", "ours", "within"), [
    (0.9, 0.9, True), (0.9, 0.899, False), (0.899, 0.899, True), (0.899, 0.9, False), (0.2, 0.899, True), (1, 0.9, True),
])  # fmt: skip
def test_a_case_counts_where_it_lies_on_the_published_side_of_its_threshold(published, ours, within):
    found = case_of(published, ours).sided(0.9)
    assert found.within == within
    assert found.remark == ("Passes 0.9." if published >= 0.9 else "Fails 0.9.")


@pytest.mark.parametrize("found", [True, False])
def test_a_layout_counts_where_it_is_called_as_it_was_found(found):
    assert [case_of(80e9, 70e9).fitting(called, found).within for called in (found, not found)] == [True, False]


def test_layouts_that_ran_fit_and_those_out_of_memory_do_not(shipped_sets, tampered):
    found = shipped_sets["training-layouts"]
    assert found.cases >= 90
    assert found.median_absolute_error == 0  # layouts that are called rightly have no error, however full the GPU is
    assert sum("Out of memory; called too large" in case.remark for case in found.results) >= 5
    tampered("training-layouts.yaml", "fits: true", "fits: false")
    assert not ingest.validate("training-layouts").sets[0].passed


@pytest.mark.parametrize(("published", "within"), [(86_000, False), (87_000, True), (179_000, True), (181_000, False)])
def test_a_run_counts_where_it_lies_in_the_range_of_the_answer(tampered, published, within):
    tampered("pretraining-runs.yaml", "published: 129024", f"published: {published}")
    (run,) = (case for case in ingest.validate("pretraining-runs").sets[0].results if case.id == "falcon-7b")
    assert (run.within, "OUTSIDE" not in run.remark) == (within, within)
    hours = ingest.train("falcon-7b", "a100-40-sxm", gpus=384, tokens="1.5T", sequence_length=2048).results["gpu_hours"]
    assert (hours.low <= published <= hours.high) is within
    assert run.width == pytest.approx(hours.high / hours.low)


def test_a_wrong_catalog_value_is_found_out(write_entry, run):
    text = (shipped_folder() / "models" / "cosmoflow.yaml").read_text(encoding="utf-8")
    assert "value: 2828486" in text
    folder = write_entry("models", "cosmoflow", text.replace("value: 2828486", "value: 2900000"))
    shutil.copy(shipped_folder() / "models" / "cosmoflow.csv", folder / "models")
    ran = run("validate", "mlperf-storage-rates", "--catalogs", folder)
    assert (ran.code, "missed the bar: mlperf-storage-rates" in ran.err) == (3, True)


def test_runs_that_are_far_off_miss_the_bar(tampered):
    path = validation.shipped_folder() / "published" / "mlperf-storage.csv"
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    place = header.split(",").index("accelerators")
    spoiled = [row.split(",") for row in rows]
    assert all(len(row) >= len(header.split(",")) for row in spoiled)
    for row in spoiled[: len(spoiled) // 2 + 1]:
        row[place] = str(2 * int(row[place]))
    path.write_text("\n".join([header, *map(",".join, spoiled)]), encoding="utf-8")
    assert not ingest.validate("mlperf-storage").sets[0].passed
    assert tampered is not None


@pytest.mark.parametrize(("old", "new", "message"), table("catalog/refused.yaml")["a_broken_set_is_refused"])
def test_a_broken_set_is_refused(tampered, old, new, message):
    tampered("kurth.yaml", old, new)
    with pytest.raises((CatalogError, UsageError), match=message):
        ingest.validate("kurth")


def test_an_unknown_set_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'ibrahim'"):
        ingest.validate("ibrhim")


def test_forms_of_the_command_hold_every_case(run, shipped_sets):
    ran = run("validate", "ibrahim")
    assert ran.code == 0
    assert all(word in ran.out for word in ("published", "ours", "error", "T1", "64.78 GB/s", "65 GB/s"))
    data = run("validate", "superpod", "--format", "json").data
    assert [one["set"] for one in data["sets"]] == ["superpod"]
    assert all({"cases", "within_tolerance", "median_absolute_error"} <= set(one) for one in data["sets"])
    ran = run("validate", "superpod", "--format", "csv")
    header, *rows = ran.out.splitlines()
    assert header.startswith("set,case,published,ours,unit,error,tolerance,within,source")
    assert len(rows) == shipped_sets["superpod"].cases


def test_the_page_names_the_figure_expected_of_a_source_that_contradicts_itself(run):
    ran = run("validate", "kurth")
    assert ran.code == 0
    assert "1.16 TB/s      5.171 TB/s  5.171 TB/s     +345.78 %" in ran.out
    assert "where they contradict the published figure" in ran.out


def test_no_round_knows_of_itself_or_of_later_ones(shipped):
    rounds = shipped.get(Protocol, "mlperf-training").rounds
    for name in ("v2.1", "v6.0"):
        known = list(before_round(shipped, name))
        own = [row for rates in known for row in rates.rows if row.protocol == "mlperf-training"]
        assert {row.round for row in own} <= set(rounds[: rounds.index(name)])
        assert max(row.round for row in own) == rounds[rounds.index(name) - 1]
        seen = {(model, gpu) for (_, gpu), cells in known[0].seen.items() for model, _ in cells}
        assert seen == {(rates.model.id, row.gpu) for rates in known for row in rates.rows}
