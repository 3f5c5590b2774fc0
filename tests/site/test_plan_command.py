"""`ingest plan` and `ingest diff` as commands: forms, exit codes, starter, schema."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import EXAMPLES, SITES, example_plan

import ingest
from ingest.engine.registry import INPUTS, unit_of
from ingest.requirement import PRIORITIES
from ingest.site import requirement_wording
from ingest.site.requirement_wording import LINES
from ingest.site.schema import node_at, schema, schema_text, starter

HPC = str(EXAMPLES / "hpc-128-nodes.yaml")


def test_the_schema_is_a_schema_and_every_quantity_in_it_exists():
    jsonschema.Draft202012Validator.check_schema(schema())

    def quantities(node):
        if isinstance(node, dict):
            if "x-quantity" in node:
                yield node["x-quantity"]
            for inner in node.values():
                yield from quantities(inner)

    found = set(quantities(schema()))
    assert len(found) > 50
    assert all(unit_of(name) for name in found)


def test_every_key_of_the_schema_says_what_it_is():
    def undescribed(node, path=""):
        for key, inner in node.get("properties", {}).items():
            if not inner.get("description") and "$ref" not in inner and key not in ("typical", "low", "high"):
                yield f"{path}.{key}"
            yield from undescribed(inner, f"{path}.{key}")
        for name, inner in node.get("$defs", {}).items():
            yield from undescribed(inner, name)

    assert list(undescribed(schema())) == []


@pytest.mark.parametrize("text", [starter(), *(path.read_text(encoding="utf-8") for path in SITES)])
def test_examples_and_starter_keep_to_the_schema_in_any_validator(text):
    jsonschema.validate(yaml.safe_load(text), schema())


def test_the_schema_refuses_and_is_found_by_path():
    # The schema refuses what it should.
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"clusters": {}, "jobs": {}}, schema())
    # A node of the schema by path.
    assert node_at(["clusters", "main", "count"], "x")["x-quantity"] == "cluster_nodes"


def test_requirement_wording_have_stable_ids_known_quantities_and_columns_of_the_tables():
    assert len({line.id for line in LINES}) == len({line.metric for line in LINES}) == len(LINES)
    text = Path(requirement_wording.__file__).with_name("requirement_lines.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^  (R-\S+):$", text, re.MULTILINE) == [line.id for line in LINES]
    for line in LINES:
        named = (line.metric, line.within, line.phase, *(line.floor or ()), *(line.beside or ()))
        assert all(map(unit_of, filter(None, named)))
        assert line.priority in PRIORITIES
        assert not line.column or line.column in INPUTS


def test_the_starter_plans_without_error_and_meets_what_it_expects(tmp_path, run):
    path = tmp_path / "site.yaml"
    assert run("plan", "--new", "-o", str(path)).code == 0
    assert path.read_text(encoding="utf-8") == starter()
    done = run("plan", str(path), "--check", "--format", "json")
    assert done.code == 0
    assert done.data["requirements"]
    again = run("plan", "--new", "-o", str(path))
    assert (again.code, "exists already" in again.refusal) == (2, True)


def test_the_starter_and_the_schema_on_standard_output(run):
    assert run("plan", "--new").out == starter()
    assert run("plan", "--schema").out == schema_text()


def test_statements_read_like_a_tender():
    plan = example_plan("hpc-128-nodes")
    for one in plan.requirements:
        verb = {"mandatory": "The system shall ", "target": "The system should ", "information": "For information: "}
        assert one.statement.startswith(verb[one.priority])
        assert one.statement.endswith(".")
        assert not any(mark in one.statement for mark in "{}_")
    line = plan.requirement("R-READ-03")
    for words in (line.display, "% sequential 1 MiB", "96 clients", "outstanding reads in all", "30 min", "80 % fill"):
        assert words in line.statement


def test_check_exits_with_three_where_an_assertion_fails(tmp_path, run):
    path = tmp_path / "site.yaml"
    text = Path(HPC).read_text(encoding="utf-8").replace("read_bandwidth <= 1 TB/s", "read_bandwidth <= 400 GB/s")
    path.write_text(text, encoding="utf-8")
    done = run("plan", str(path), "--check")
    assert done.code == 3
    shown = example_plan("hpc-128-nodes").requirement("R-READ-03").display
    assert done.refusal == f"expected read_bandwidth <= 400 GB/s, found {shown}"
    assert "NOT MET" in done.out
    assert run("plan", str(path)).code == 0


def test_options_of_the_plan_do_what_they_say(run):
    # Explain goes down to the catalog.
    out = run("plan", HPC, "--explain", "R-READ-01").out
    for words in ("sum of(job_sustained_read_bandwidth_of_jobs)", "of cosmology:", "of climate:", "sample_bytes = 2.828 MB"):
        assert words in out
    assert run("plan", HPC, "--explain", "R-READ-99").code == 2
    # Settings replace values and lists ask for scenarios.
    settings = ("--set", "jobs.simulation.nodes=1", "--set", "jobs.cosmology.nodes=32", "--set", "storage.headroom=0%")
    done = run("plan", HPC, "--set", "jobs.climate.runs=1,2,4", *settings, "--format", "json")
    scenarios = done.data["scenarios"]
    fixed = {"jobs.simulation.nodes": "1", "jobs.cosmology.nodes": "32", "storage.headroom": "0%"}
    assert [one["set"] for one in scenarios] == [{"jobs.climate.runs": n, **fixed} for n in (1, 2, 4)]
    reads = [next(line["computed"] for line in one["requirements"] if line["id"] == "R-READ-01") for one in scenarios]
    assert reads[2] - reads[1] == pytest.approx(2 * (reads[1] - reads[0]))
    # Years are those asked for.
    rows = run("plan", HPC, "--years", "2", "--format", "json").data["tables"]["capacity"]
    assert [row["name"] for row in rows] == ["2026", "2027", "2028"]
    # No file is bad usage.
    done = run("plan")
    assert (done.code, done.refusal[:12]) == (2, "SITE.yaml is")


def test_a_difference_names_what_changed_and_why(tmp_path, run):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    run("plan", HPC, "--format", "json", "-o", str(before))
    run("plan", HPC, "--set", "jobs.climate.runs=1", "--format", "json", "-o", str(after))
    data = run("diff", str(before), str(after), "--format", "json").data
    assert [one["name"] for one in data["written"]] == ["jobs.climate.runs"]
    read = next(one for one in data["requirements"] if one["name"] == "R-READ-01")
    assert read["why"] == ["jobs.climate.runs"]
    assert read["ratio"] == pytest.approx(read["after"] / read["before"])
    assert "R-READ-04" not in [one["name"] for one in data["requirements"]]
    assert "jobs.climate.runs" in run("diff", str(before), str(after)).out
    assert run("diff", str(before), str(before)).out.splitlines()[-2].strip() == "Nothing changed."


def _broken_plan(unit='"B"', id='"R-1"', inputs="[]", more="", given="{}"):
    words = '"priority": "target", "statement": "", "metric": "", "conditions": {"operation": "read"}'
    one = f'{{"id": {id}, "value": 1, "unit": {unit}, "inputs": {inputs}, {words}}}'
    lines = f"[{one}{more.replace('{ONE}', one)}]"
    head = '"schema": "ingest/1", "command": "plan", "version": "1", "catalog_hash": "1", "written": {}'
    return f'{{{head}, "requirements": {lines}, "inputs": {given}}}'


def test_differences_are_of_values_and_not_of_inputs():
    # A changed unit is a change.
    before, after = (json.loads(_broken_plan(unit=unit)) for unit in ('"B"', '"GB"'))
    found = ingest.diff(before, after)
    assert [(one.name, one.before, one.after, one.ratio) for one in found.requirements] == [("R-1", "1 B", "1 GB", None)]
    before["inputs"], after["inputs"] = {"a": {"value": 2, "unit": "s"}}, {"a": {"value": 2, "unit": "B"}}
    assert [(one.before, one.after) for one in ingest.diff(before, after).inputs] == [("2 s", "2 B")]
    # Another job that decides is no changed input.
    job = {"cluster": "a", "samples_per_second": 100, "sample_bytes": 1e6, "nodes": 2}
    site = {"clusters": {"a": {"node": "dgx-h100", "count": 9}}, "jobs": {"x": {**job, "nodes": 1}, "y": job}}
    before, after = (ingest.plan(site, samples=0, set={"jobs.x.nodes": nodes}).to_dict() for nodes in (1, 3))
    assert [one.name for one in ingest.diff(before, after).inputs] == ["jobs.x.nodes"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"command": "bw"}', "is not a plan"),
        (_broken_plan(unit="3"), "R-1: unit: found 3, expected text"),
        (_broken_plan(id="[1]"), "requirement 1: id: found [1], expected text"),
        (_broken_plan(more=", {ONE}"), "found the id 'R-1' twice"),
        (_broken_plan(inputs="1"), "R-1: inputs: found 1, expected a list"),
        (_broken_plan(given='{"a": 3}'), "inputs: a: found 3"),
        (_broken_plan(given='{"a": {"value": [], "unit": "B"}}'), "inputs: a: value: found [], expected a number"),
    ],
)
def test_a_difference_refuses_what_is_no_plan(content, words, tmp_path, run):
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    done = run("diff", str(path), str(path))
    assert done.code == 1
    assert words in done.refusal


def test_a_removed_job_is_shown_as_gone():
    site = {"floor": "none", "clusters": {"a": {"node": "dgx-h100", "count": 4}}, "jobs": {
        "x": {"cluster": "a", "model": "resnet50", "nodes": 1, "checkpoint": {"parameters": 1e8, "waste": 0.05}},
        "y": {"cluster": "a", "model": "resnet50", "nodes": 1}}}  # fmt: skip
    less = {**site, "jobs": {"y": site["jobs"]["y"]}}
    found = ingest.diff(ingest.plan(site, samples=0).to_dict(), ingest.plan(less, samples=0).to_dict())
    assert found.results["R-WRITE-01"].after is None
    assert ("jobs.x.model", "resnet50", None) in [one[:3] for one in found.written]


def test_a_sum_says_what_it_leaves_out():
    site = {
        "clusters": {"a": {"node": "dgx-h100", "count": 4}},
        "jobs": {"x": {"cluster": "a", "model": "llama3-8b", "nodes": 1, "data": "t"}},
        "datasets": {"t": {"bytes": "1 TB"}},
    }
    lines = ingest.plan(site, samples=0).warnings
    assert any(line.startswith("R-META-01 leaves out x") for line in lines)
    assert any(line.startswith("R-META-03 leaves out t") for line in lines)
    site["datasets"]["t"]["file_bytes"] = "1 GB"
    assert not any("leaves out" in line for line in ingest.plan(site, samples=0).warnings)


def test_jobs_that_share_nodes_in_turn_cannot_all_read_at_once():
    site = {"clusters": {"a": {"node": "dgx-h100", "count": 10}}, "jobs": {
        name: {"cluster": "a", "nodes": 10, "share": 0.5, "samples_per_second": rate, "sample_bytes": 1e6}
        for name, rate in (("x", 100), ("y", 300))}}  # fmt: skip
    found = ingest.plan(site, samples=0).results
    assert found["R-READ-03"].value == 300 * 1e6 * 80
    assert found["R-READ-01"].value == (100 + 300) / 2 * 1e6 * 80


def test_staging_and_caching_take_reads_off_storage():
    site = {"floor": "none", "clusters": {"a": {"node": "dgx-h100", "count": 10}},
        "datasets": {"d": {"bytes": "6 TB"}}, "jobs": {
        "x": {"cluster": "a", "nodes": 10, "samples_per_second": 100, "sample_bytes": 1e6, "data": "d"}}}  # fmt: skip
    streamed = 100 * 1e6 * 80
    site["jobs"]["x"]["placement"] = {"mode": "stage", "within": "10 min"}
    staged = ingest.plan(site, samples=0)
    assert staged.results["R-STAGE-01"].value == 6e12 / 600
    assert staged.results["R-STAGE-02"].value == 6e12 / 10
    assert "R-READ-03" not in staged.results or staged.results["R-READ-03"].value == 0
    site["jobs"]["x"]["placement"] = {"mode": "stage", "within": "10 min", "each": True}
    assert ingest.plan(site, samples=0).results["R-STAGE-01"].value == 10 * 6e12 / 600
    site["jobs"]["x"]["placement"] = {"mode": "cache", "hit": "75%"}
    cached = ingest.plan(site, samples=0).results
    assert cached["R-READ-01"].value == pytest.approx(streamed / 4)
    # the caches of 10 nodes, each with 75 % of 6 TB, would take 75 GB/s to fill within 10 min
    assert (cached["R-READ-03"].value, cached["R-READ-05"].value) == (streamed, streamed)
    assert cached["R-STAGE-02"].value == pytest.approx(6e12 * 0.75)
    site["jobs"]["x"]["placement"]["partitioned"] = True
    shared = ingest.plan(site, samples=0).results
    assert shared["R-READ-03"].value == pytest.approx(6e12 * 0.75 / 600)
    assert shared["R-STAGE-02"].value == pytest.approx(6e12 / 10 * 0.75)


def test_a_corpus_in_a_format_is_what_dataset_says():
    stages = {"raw": 0, "clean": 1, "dataset": 3}
    site = {
        "clusters": {"a": {"node": "dgx-h100", "count": 2}},
        "jobs": {"x": {"cluster": "a", "model": "llama3-8b", "nodes": 1}},
        "datasets": {
            "one": {"tokens": "15T", "format": "megatron"},
            "all": {"tokens": "15T", "format": "megatron", "stages": stages},
        },
    }
    rows = {row["name"]: row for row in ingest.plan(site, samples=0).tables["datasets"]}
    alone = ingest.dataset(tokens="15T", format="megatron").results
    assert rows["one"]["data_bytes"] == alone["dataset_bytes"].value
    assert rows["one"]["data_files"] == alone["dataset_files"].value
    kept = ingest.dataset(tokens="15T", format="megatron", copies="raw=0,clean=1,dataset=3").results
    assert rows["all"]["data_bytes"] == kept["usable_bytes"].value


def test_a_measured_corpus_and_its_range(tmp_path):
    (tmp_path / "m.json").write_text(
        '{"schema": "ingest/1", "command": "measure", "results": {"corpus_bytes": {"value": 2e12, "low": 1e12, "high": 3e12}}}'
    )
    path = tmp_path / "site.yaml"
    path.write_text("clusters: {a: {node: dgx-h100, count: 2}}\njobs: {x: {cluster: a, model: resnet50, nodes: 1}}\n"
                    "datasets: {d: {measured: m.json, copies: 2}}\n")  # fmt: skip
    found = ingest.plan(path).results["R-CAP-01"]
    assert (found.value, round(found.low / 1e12, 1), round(found.high / 1e12, 1)) == (4e12, 2.0, 6.0)


def measured_site(folder, results, job, data="measured: m.json"):
    """The plan of a job that passes three times over a measured data set."""
    values = {name: {"value": value} for name, value in results.items()}
    (folder / "m.json").write_text(json.dumps({"schema": "ingest/1", "command": "measure", "results": values}))
    (folder / "site.yaml").write_text(
        f"clusters: {{a: {{node: dgx-h100, count: 2}}}}\njobs: {{x: {{cluster: a, data: d, nodes: 1, epochs: 3, {job}}}}}\n"
        f"datasets: {{d: {{{data}}}}}\n"
    )
    return ingest.plan(folder / "site.yaml", samples=0)


def test_measured_files_are_the_files_of_the_data_set(tmp_path):
    samples = {"stored_bytes": 2e12, "files": 70, "samples": 5000}
    plan = measured_site(tmp_path, samples, "model: resnet50")
    assert plan.tables["datasets"][0]["data_files"] == 70
    assert plan.results["R-META-03"].value == 70
    repacked = measured_site(tmp_path, samples, "model: resnet50", "measured: m.json, file_bytes: 1 GB")
    assert repacked.tables["datasets"][0]["data_files"] == 2000


def test_epochs_pass_over_the_measured_data_set(tmp_path):
    plan = measured_site(tmp_path, {"stored_bytes": 2e12, "samples": 5000}, "model: resnet50")
    assert plan.tables["jobs"][0]["training_samples"] == 3 * 5000
    text = {"stored_bytes": 4e9, "tokens": 8192e6}
    plan = measured_site(tmp_path, text, "model: llama3-8b, tokens_per_sample: 8192")
    assert plan.tables["jobs"][0]["training_samples"] == 3 * 1e6
    # Bytes alone are counted in samples of the job: 4 B for each of the 8,192 tokens of a sequence.
    plan = measured_site(tmp_path, {"stored_bytes": 32_768e6}, "model: llama3-8b")
    assert plan.tables["jobs"][0]["training_samples"] == 3 * 1e6


def test_the_plan_is_a_frame():
    frame = example_plan("hpc-128-nodes").to_frame()
    assert frame.loc["R-READ-01", "unit"] == "B/s"
    assert list(ingest.plan(HPC, set={"jobs.climate.runs": [1, 2]}, samples=0).to_frame()["jobs.climate.runs"]) == [1, 2]


def test_a_workbook_is_the_one_of_report(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    paths = [tmp_path / f"{name}.xlsx" for name in ("plan", "report")]
    for path in paths:
        run(path.stem, HPC, "-o", path)
    first, second = (openpyxl.load_workbook(path) for path in paths)
    assert first.sheetnames == second.sheetnames
    assert [*first["Requirements"].values] == [*second["Requirements"].values]


@pytest.mark.parametrize(
    "setting",
    ["storage.latency=0.5", "datasets.cam5.growth.every=1", "storage.latency=0.1,0.5", "storage.latency=1..4*2",
     "storage.latency={low: 1 ms, typical: 2}", "datasets.cam5.growth={capacity: 2, every: 1}"],
)  # fmt: skip
def test_a_time_on_the_command_line_has_its_unit(setting, run):
    done = run("plan", HPC, "--set", setting)
    assert done.code == 2
    assert "without a unit, expected one, such as '" in done.err
    assert setting.partition("=")[0] in done.err


def test_a_line_that_is_none_is_not_taken_for_one_of_another_kind(run):
    assert "did you mean" not in run("plan", HPC, "--explain", "R-NOPE-01").err
    for slip, meant in (("R-RAED-01", "R-READ-01"), ("R-READ-031", "R-READ-03")):
        assert f"did you mean '{meant}'?" in run("plan", HPC, "--explain", slip).err
