"""Summaries of profilers and the console of Composer: the stall and the rate that they state, or one line why not."""

import json

import pytest
from conftest import table
from frozen.edits import forms

import ingest
from ingest.errors import IngestError
from ingest.observation.sources.training_logs import ADDS_UP_WITHIN, LEAST_PRINTED


def summary(path, wait=80.0, rest=160.0, step=240.0, **metadata):
    average = {"input_wait_ms": wait, "traced_step_time_ms": rest, "step_time_ms": step, "h2d_ms": 0.4}
    section = {"metadata": metadata, "global": {"average": average, "window": {"steps_analyzed": 256}}}
    path.write_text(json.dumps({"schema_version": 1.8, "system": {}, "step_time": section}))
    return path


def test_a_summary_of_traceml_states_the_stall(tmp_path):
    path = summary(tmp_path / "final_summary.json", gpus_observed=8)
    answer = ingest.observe(path, samples_per_step=512)
    found = {name: one.value for name, one in answer.figures.items()}
    assert found["stall_fraction"] == pytest.approx(1 / 3)
    assert found["real_samples_per_second"] == pytest.approx(512 / 0.24)
    assert found["demanded_samples_per_second_per_gpu"] == pytest.approx(512 / 0.16 / 8)
    assert found["samples_per_step"] == 64
    assert "--samples-per-step" in ingest.observe(path).unknown["real_samples_per_second"]


@pytest.mark.parametrize(("share", "fine"), [(ADDS_UP_WITHIN - 0.001, True), (ADDS_UP_WITHIN + 0.001, False)])
def test_parts_that_do_not_add_up_are_named_in_another_sense(share, fine, tmp_path):
    path = summary(tmp_path / "s.json", 80, 240 * (1 - share) - 80)
    if fine:
        assert ingest.observe(path).figures["stall_fraction"].value == pytest.approx(1 / 3)
    else:
        with pytest.raises(IngestError, match=r"add up to .* from schema 1.6 on"):
            ingest.observe(path)


@pytest.mark.parametrize(("content", "expected"), table("observation/refused.yaml")["profiles_that_show_no_stall"])
def test_profiles_that_show_no_stall(content, expected, tmp_path, run):
    (tmp_path / "p.json").write_text(content)
    ran = run("observe", tmp_path / "p.json", "--samples-per-step", 8)
    assert (ran.code, expected in ran.refusal, len(ran.refusal) <= 300) == (1, True, True), ran.err


def console(each, whole):
    line = forms()["composer-batches"]["line"]
    return "".join(line.format(step=number, now=whole, each=each) for number in range(1, 31))


def test_the_console_of_composer(tmp_path):
    (tmp_path / "c.log").write_text(console(3.2, 51.2))
    answer = ingest.observe(tmp_path / "c.log")
    assert answer.facts["gpus"] == 16
    assert answer.figures["samples_per_second_per_gpu"].value == pytest.approx(3.2)
    (tmp_path / "c.log").write_text(console(LEAST_PRINTED, 16 * LEAST_PRINTED))
    assert ingest.observe(tmp_path / "c.log").facts["gpus"] == 16
    (tmp_path / "c.log").write_text(console(LEAST_PRINTED - 0.0001, 16 * (LEAST_PRINTED - 0.0001)))
    with pytest.raises(IngestError, match="--gpus"):
        ingest.observe(tmp_path / "c.log")


def test_a_job_that_only_waits_has_no_demand(tmp_path):
    path = tmp_path / "summary.json"
    assert ingest.observe(summary(path, 99, 1, 100)).results["stall_fraction"].value == pytest.approx(0.99)
    with pytest.raises(IngestError, match=r"TraceML summary: the stall: found 0\.99\d*, expected a number from 0 up to 0\.99"):
        ingest.observe(summary(path, 99.1, 1, 100))
