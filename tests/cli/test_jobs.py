"""Job files: what is asked in one command is asked of another without typing it again."""

import itertools
import json
import math
import random
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from conftest import table

import ingest
from ingest import OF_A_JOB
from ingest.engine.question import arguments_of
from ingest.errors import IngestError
from ingest.site.job_file import PARTS, job_of_options, options_of_job

JOB = {"model": "llama3-8b", "gpu": "h100", "nodes": 16, "sequence_length": 8192,
       "checkpoint": {"interval": "15 min", "tensor_parallel": 2}, "loader": {"workers": 6}}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def write(entry):
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(entry, sort_keys=False), encoding="utf-8")
        return str(path)

    return write


def test_each_command_about_a_job_has_a_part_of_the_entry():
    assert set(OF_A_JOB) == set(PARTS)


@pytest.mark.parametrize("command", OF_A_JOB)
def test_what_is_saved_is_read_again(command, file):
    """Drawn options of each command, those of no key of a site file among them."""
    arguments = {name: one for name, one in arguments_of(getattr(ingest, command)).items() if one.declared}
    chance, kept = random.Random(17), 0
    for _ in range(60):
        given = {}
        for name in chance.sample(sorted(arguments), k=6):
            declared = arguments[name].declared
            words = list(declared.choices) or ["cosmoflow", "12", "3.5", "15 min", "a, b", "007", "yes"]
            given[name] = True if declared.default is False else chance.choice(words)
        if "set" in given:
            given["set"] = ("gpus=3", "fill_limit=0.7")
        entry = job_of_options(command, arguments, given)
        read = options_of_job(file(entry), command, arguments)
        assert {name: str(one) for name, one in read.items()} == {name: str(one) for name, one in given.items()}
        kept += len(entry.keys() - {"options"})
    assert kept > 20


@pytest.mark.parametrize(("command", "typed"), table("cli/cases.yaml")["one_file_serves_all_commands_about_a_job"])
def test_one_file_serves_all_commands_about_a_job(command, typed, file, run):
    front = ["--model", "llama3-8b"] if command in ("fit", "feed") else ["llama3-8b"]
    more = ["--tokens", "1T"] if command == "train" else []
    by_file = run(command, "--job", file(JOB), *more, "--format", "json").data
    by_hand = run(command, *front, "--gpu", "h100", "--nodes", "16", *typed.split(), "--format", "json").data
    assert by_file == by_hand
    named = {name.replace("-", "_"): one for name, one in re.findall(r"--([\w-]+) (\S+)", " ".join(more))}
    in_python = getattr(ingest, command)(job=Path(file(JOB)), **named).to_dict()
    assert json.loads(json.dumps(in_python)) == by_hand


#: A name that means another thing in some commands: simulated, not in closed form, over a span of its own; of the arithmetic,
#: not of saved weights; evidence as asked for, not as found; sharding and states of GPUs, not those of a layout of files.
NAMED = {
    "goodput": "goodput", "checkpoint_stall_fraction": "goodput", "training_seconds": "goodput", "precision": "bw train",
    "basis": "bw", "zero_stage": "memory", "weight_bytes_per_parameter": "memory", "master_bytes_per_parameter": "memory",
}  # fmt: skip
#: What a drawn job may say, by its place in the entry.
SAID = [("", "precision", ["bf16", "fp8"]), ("", "sequence_length", [4096, 8192]),
        ("checkpoint", "precision", ["bf16", "fp32"]), ("checkpoint", "tensor_parallel", [2, 4]),
        ("checkpoint", "zero_stage", [1, 3]), ("checkpoint", "interval", ["20 min"]),
        ("checkpoint", "layout", ["megatron", "dcp"])]  # fmt: skip
ASKED = {"bw": {}, "train": {"tokens": 1e12}, "checkpoint": {}, "goodput": {"runs": 1}, "memory": {}}


@pytest.mark.parametrize("jobs", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_drawn_jobs_have_one_answer_whichever_command_is_asked(file, jobs):
    """Rates, precision and layout of as many files by five commands: they agree, or the difference is named."""
    chance, compared, batches = random.Random(23), Counter(), 0
    for _ in range(jobs):
        models, gpus = ["llama3-8b", "llama3-70b", "llama2-7b", "mixtral-8x7b", "gpt3-175b"], ["h100", "a100", "b200", "gb200"]
        entry = {
            "model": chance.choice(models),
            "gpu": chance.choice(gpus),
            "nodes": chance.choice([2, 8, 64]),
            "checkpoint": {},
        }
        for part, key, values in SAID:
            if chance.random() < 0.4:
                (entry[part] if part else entry)[key] = chance.choice(values)
        path, found, other = file(entry), {}, False
        for command, more in ASKED.items():
            with suppress(IngestError):
                answer = getattr(ingest, command)(job=path, **more)
                other |= any("`bw` without tokens gives" in line for line in answer.warnings)
                known = {name: item["value"] for name, item in answer.inputs.items()}
                found[command] = known | {name: item.value for name, item in answer.results.items()}
        batches += other
        for one, two in itertools.combinations(found, 2):
            for name in found[one].keys() & found[two].keys():
                apart = NAMED.get(name, "").split()
                by_batch = other and (one, two) == ("bw", "train") and name not in ("gpu", "model", "precision")
                if (one in apart) is (two in apart) and not by_batch:
                    first, second = found[one][name], found[two][name]
                    assert first == second or math.isclose(first, second, rel_tol=1e-9), (entry, one, two, name, first, second)
                    compared[one, two] += 1
    assert min(compared.values()) > jobs / 4, compared
    assert 0 < batches < jobs


def test_in_python_what_is_given_overrides_the_file(file):
    """A word in front, a mapping of `set`, and a number that says in other words what the file says."""
    path = file({**JOB, "options": {"set": {"epochs": 3, "accelerator_utilization": 0.7}}})
    found = ingest.bw("llama3-70b", job=path, gpus=64, set={"epochs": 2})
    assert (found["gpus"].value, found.inputs["model"]["value"]) == (64, "llama3-70b")
    assert found.inputs["accelerator_utilization"]["value"] == 0.7
    for stated, typed in (({"nodes": 8}, {"set": {"nodes": 4}}), ({"options": {"set": {"nodes": 8}}}, {"nodes": 4})):
        assert ingest.bw(job=file({"model": "llama3-8b", "gpu": "h100", **stated}), **typed).inputs["nodes"]["value"] == 4
    with pytest.raises(IngestError, match="expected text"):
        ingest.bw(job=3)
    with pytest.raises(TypeError, match="job"):
        ingest.model("llama3-8b", job=path)


def test_what_is_typed_overrides_the_file_and_is_saved(file, run, tmp_path):
    saved = tmp_path / "saved.yaml"
    typed = ["--gpus", "64", "--protocol", "mlperf-training", "--save-job", str(saved)]
    asked = run("bw", "--job", file(JOB), *typed, "--format", "json")
    again = run("bw", "--job", str(saved), "--format", "json")
    assert asked.data == again.data
    assert asked.data["results"]["gpus"]["value"] == 64
    kept = {"model": "llama3-8b", "gpu": "h100", "sequence_length": 8192, "protocol": "mlperf-training"}
    assert yaml.safe_load(saved.read_text(encoding="utf-8")) == {**kept, "options": {"gpus": 64}}


@pytest.mark.parametrize("command", sorted({*OF_A_JOB} - {"explain", "feed", "fit", "rl"}))
def test_a_saved_job_says_its_model_to_all_commands(command, run, tmp_path):
    saved = tmp_path / "saved.yaml"
    typed = {"train": ["--tokens", "1T"], "offload": ["--batch", "1"]}.get(command, [])
    asked = run(command, "llama3-8b", "--gpu", "h100", "--gpus", "8", *typed, "--save-job", str(saved))
    assert asked.code == 0, asked.err
    again = run("bw", "--job", str(saved), "--format", "json").data
    assert {name: again["inputs"][name]["value"] for name in ("model", "gpu")} == {"model": "llama3-8b", "gpu": "h100-sxm"}


def test_a_job_is_saved_whose_answer_is_no(run, tmp_path):
    saved = tmp_path / "saved.yaml"
    asked = run("memory", "llama3-405b", "--gpu", "h100", "--gpus", "8", "--save-job", str(saved))
    assert (asked.code, yaml.safe_load(saved.read_text(encoding="utf-8"))["model"]) == (3, "llama3-405b")


def test_a_job_of_a_site_file_with_rates_of_its_own_has_no_model(run, tmp_path):
    job = {"cluster": "main", "nodes": 4, "samples_per_second": 1, "sample_bytes": "12.5 MB"}
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump({"clusters": {"main": {"node": "dgx-h100"}}, "jobs": {"4-nodes": job}}), encoding="utf-8")
    found = run("bw", "--job", str(path), "--format", "json").data["results"]
    assert found["ingest_bandwidth_per_job"]["value"] == 4 * 8 * 12.5e6


def test_a_job_of_a_site_file_asks_what_the_plan_asks(run, tmp_path):
    jobs = {"a": {"cluster": "main", "model": "unet3d", "nodes": 16}, "b": {"cluster": "main", "model": "cosmoflow"}}
    site = {"clusters": {"main": {"node": "dgx-h100", "count": 32}}, "jobs": jobs}
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump(site), encoding="utf-8")
    for name, model, nodes in (("a", "unet3d", "16"), ("b", "cosmoflow", "32")):
        by_site = run("bw", "--job", f"{path}#jobs.{name}", "--format", "json").data
        by_hand = run("bw", model, "--node", "dgx-h100", "--nodes", nodes, "--format", "json").data
        assert by_site["results"] == by_hand["results"]
    refused = run("bw", "--job", f"{path}#jobs.c")
    assert (refused.code, "expected one of jobs.a, jobs.b" in refused.err) == (2, True)


@pytest.mark.parametrize(("text", "said"), table("cli/cases.yaml")["a_faulty_job_file_is_refused_in_its_own_words"])
def test_a_faulty_job_file_is_refused_in_its_own_words(text, said, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(IngestError) as refused:
        options_of_job(str(path), "checkpoint", arguments_of(ingest.checkpoint))
    assert said in "\n".join(refused.value.lines)
