"""The command line as people and scripts meet it: subprocesses, pipes and a terminal."""

import csv
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import click
import pytest
from conftest import COMMAND, clean_environment

import ingest
from ingest.cli import commands
from ingest.cli.group import command
from ingest.cli.main import COMMANDS, TABLED

JOB = ("bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128")
OWN_MODEL = (
    "sources: {lab: {title: Our laboratory}}\nname: Own\nsample: one image\nfamily: vision\n"
    "flops_per_sample: {value: 1, unit: TFLOP/sample, source: lab, grade: measured}\n"
    "encodings:\n  raw:\n    stored: {value: 1, unit: MB/sample, source: lab, grade: measured}\n"
)
OWN_GPU = (
    "name: Own GPU\nvendor: NVIDIA\n"
    "peak_flops:\n  bf16: {value: 100, unit: TFLOP/s, source: torchtitan, grade: published}\n"
    "gpus_per_node: {value: 4, unit: GPU/node, source: torchtitan, grade: published}\n"
)


def results(run, *words):
    ran = run("bw", *words, "--format", "json")
    assert ran.code == 0, ran.err
    return {name: item["value"] for name, item in ran.data["results"].items()}


def terminal(*words, columns=80, **environment):
    """Run `ingest` on a terminal of that width and return what it showed."""
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [COMMAND, *words],
        stdin=child,
        stdout=child,
        stderr=subprocess.DEVNULL,
        env=clean_environment(**{"TERM": "xterm-256color", **environment}),
    )
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            # Linux reports a terminal whose last user is gone as an error.
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_the_main_job_as_json_has_the_shape_of_the_contract(run):
    ran = run(*JOB, "--format", "json")
    data = ran.data
    assert ran.code == 0
    assert set(data) == {
        "schema",
        "command",
        "version",
        "catalog_hash",
        "inputs",
        "results",
        "basis",
        "rungs",
        "assumptions",
        "sources",
        "warnings",
    }
    assert (data["schema"], data["command"], data["basis"]) == ("ingest/1", "bw", "emulated")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", data["version"])
    assert re.fullmatch("sha256:[0-9a-f]{64}", data["catalog_hash"])
    assert data["inputs"]["nodes"] == {"value": 128, "unit": "node", "from": "user"}
    assert [rung["basis"] for rung in data["rungs"]] == ["emulated", "transferred", "efficiency", "peak"]
    for rung in data["rungs"]:
        assert {"basis", "results", "note"} <= set(rung)
    for item in data["assumptions"]:
        assert set(item) == {"name", "value", "unit", "grade", "why"}
        assert item["grade"] == "assumed"
    for item in data["sources"]:
        assert {"id", "title", "where"} <= set(item)
    assert all(isinstance(line, str) for line in data["warnings"])


def test_the_main_job_carries_every_result_of_the_contract(run):
    found = run(*JOB, "--format", "json").data["results"]
    assert {
        "samples_per_second_per_gpu",
        "ingest_bandwidth_per_gpu",
        "ingest_bandwidth_per_node",
        "ingest_bandwidth_per_job",
        "file_opens_per_second_per_job",
        "epoch_seconds",
        "gpus",
    } <= set(found)
    for item in found.values():
        assert set(item) in ({"value", "unit", "display"}, {"value", "low", "high", "unit", "display"})
        assert all(type(item[key]) in (int, float) for key in ("value", "low", "high") if key in item)
    assert found["ingest_bandwidth_per_gpu"]["unit"] == "B/s/GPU"
    assert found["ingest_bandwidth_per_gpu"]["display"] == "808.1 MB/s (770.7 MiB/s)"
    assert "low" not in found["gpus"]


def test_the_main_job_by_protocol_and_by_utilization(run):
    # The main job under mlperf storage.
    found = results(run, *JOB[1:], "--protocol", "mlperf-storage")
    assert found["samples_per_second_per_gpu"] == pytest.approx(285.7, rel=0.01)
    assert found["ingest_bandwidth_per_gpu"] == pytest.approx(808.1e6, rel=0.01)
    assert found["ingest_bandwidth_per_node"] == pytest.approx(6.465e9, rel=0.01)
    assert found["ingest_bandwidth_per_job"] == pytest.approx(827.5e9, rel=0.01)
    # The main job at the accepted utilization.
    found = results(run, *JOB[1:], "--protocol", "mlperf-storage", "--utilization", "0.7")
    assert found["ingest_bandwidth_per_gpu"] == pytest.approx(565.7e6, rel=0.01)
    assert found["unstalled_bandwidth_per_gpu"] == pytest.approx(808.1e6, rel=0.01)


def test_resnet_on_h100_has_its_range_and_says_why(run):
    ran = run("bw", "--model", "resnet50", "--gpu", "h100", "--format", "json")
    rate = ran.data["results"]["samples_per_second_per_gpu"]
    assert 3500 <= rate["value"] <= 5000
    assert 2500 <= rate["low"] <= 2700
    assert rate["high"] >= 7000
    assert "protocols disagree" in ran.err
    assert any("protocols disagree" in line for line in ran.data["warnings"])


@pytest.mark.parametrize(("words", "expected"), [((), 11.33e9), (("--encoding", "decoded"), 67.2e9)])
def test_the_peak_rung_is_dense(run, words, expected):
    ran = run(*JOB, "--basis", "peak", "--format", "json", *words)
    assert ran.data["inputs"]["peak_flops_per_gpu"]["value"] == 989.4e12
    assert ran.data["results"]["ingest_bandwidth_per_gpu"]["value"] == pytest.approx(expected, rel=1e-3)


def test_the_peak_rung_is_shown_beside_the_measured(run):
    peak = next(rung for rung in run(*JOB, "--format", "json").data["rungs"] if rung["basis"] == "peak")
    assert peak["results"]["ingest_bandwidth_per_gpu"]["value"] == pytest.approx(11.33e9, rel=1e-3)
    assert "upper bound" in peak["note"]


@pytest.mark.parametrize(("achieved", "gpu", "node"), [("35 TFLOP/s", 2.267e9, 18.1e9), ("50 TFLOP/s", 3.239e9, 25.9e9)])
def test_ibrahims_v100_at_what_it_achieved(run, achieved, gpu, node):
    words = ("--model", "cosmoflow", "--gpu", "v100-sxm2", "--achieved", achieved, "--sample-bytes", "16MB")
    found = results(run, *words)
    assert found["ingest_bandwidth_per_gpu"] == pytest.approx(gpu, rel=1e-3)
    assert found["ingest_bandwidth_per_node"] == pytest.approx(node, rel=3e-3)


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_standard_output_carries_the_payload_alone(run, form):
    ran = run(*JOB, "--format", form)
    assert ran.code == 0
    assert "warning:" not in ran.out
    assert all(line.startswith("ingest: warning: ") for line in ran.err.splitlines())
    assert ran.err
    assert ran.out.endswith("\n")
    assert not ran.out.endswith("\n\n")


def test_csv_and_markdown_are_for_programs_and_pages(run):
    # Csv is in base units.
    rows = list(csv.DictReader(io.StringIO(run(*JOB, "--format", "csv").out)))
    job = next(row for row in rows if row["name"] == "ingest_bandwidth_per_job")
    assert (job["model"], job["gpu"], job["nodes"], job["unit"]) == ("cosmoflow", "h100-sxm", "128", "B/s")
    assert float(job["value"]) == pytest.approx(827.5e9, rel=1e-3)
    # Markdown is a table with headings.
    out = run(*JOB, "--format", "markdown").out
    assert out.startswith("# CosmoFlow")
    assert "| --- |" in out
    assert "827.5 GB/s (770.7 GiB/s)" in out


def test_the_table_says_what_a_buyer_needs(run):
    out = run(*JOB, "-v").out
    words = [
        "emulated",
        "808.1 MB/s (770.7 MiB/s)",
        "827.5 GB/s",
        "transferred",
        "peak",
        "upper bound",
        "Assumptions",
        "Sources",
    ]
    assert [word for word in words if word not in out] == []


@pytest.mark.parametrize(
    ("suffix", "start"), [("json", "{"), ("csv", "model,gpu"), ("md", "# CosmoFlow"), ("txt", "Needs 827.5 GB/s read")]
)
def test_a_file_has_the_format_of_its_suffix(run, tmp_path, suffix, start):
    ran = run(*JOB, "-o", f"answer.{suffix}")
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / f"answer.{suffix}").read_text(encoding="utf-8").startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"answer.{suffix}"]


def test_a_file_holds_what_standard_output_would(run, tmp_path):
    run(*JOB, "-o", "answer.json")
    assert json.loads((tmp_path / "answer.json").read_text(encoding="utf-8")) == run(*JOB, "--format", "json").data


@pytest.mark.parametrize("words", [("--model", "cosmflow"), ("--nodes", "1.5"), ("--encoding", "touched")])
def test_a_failed_command_leaves_an_existing_file_untouched(run, tmp_path, words):
    (tmp_path / "answer.json").write_text("before", encoding="utf-8")
    assert run(*JOB, *words, "-o", "answer.json").code in (1, 2)
    assert (tmp_path / "answer.json").read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]


def test_a_file_that_cannot_be_written_is_one_line(run, tmp_path):
    ran = run(*JOB, "-o", "nowhere/answer.json")
    assert ran.code == 1
    assert "nowhere/answer.json' cannot be written: No such file or directory" in ran.refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "nodes"),
    [(("--nodes", "1,8,128"), [1, 8, 128]), (("--nodes", "1..8*2"), [1, 2, 4, 8]), (("--nodes", "2..3"), [2, 3])],
)
def test_lists_and_ranges_of_nodes_are_scenarios(run, words, nodes):
    data = run("bw", "--model", "cosmoflow", "--gpu", "h100", *words, "--format", "json").data
    assert set(data) == {"schema", "scenarios"}
    assert [one["inputs"]["nodes"]["value"] for one in data["scenarios"]] == nodes
    job = [one["results"]["ingest_bandwidth_per_job"]["value"] for one in data["scenarios"]]
    assert job == pytest.approx([job[0] * size / nodes[0] for size in nodes])


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_scenarios_have_every_format(run, form):
    ran = run("bw", "--model", "cosmoflow,unet3d", "--gpu", "h100,a100", "--nodes", "1,8", "--format", form)
    assert ran.code == 0
    assert all(word in ran.out for word in ("cosmoflow", "unet3d", "h100-sxm", "a100-80-sxm"))


def test_set_gives_any_quantity_a_value(run):
    found = results(run, *JOB[1:], "--set", "samples_per_second_per_gpu=310", "--set", "sample_bytes=1 MB")
    assert found["ingest_bandwidth_per_gpu"] == 310e6


def test_entries_of_ones_own_overlay_the_shipped(run, write_entry):
    write_entry("models", "own", OWN_MODEL)
    folder = write_entry("gpus", "own-gpu", OWN_GPU)
    found = results(run, "--model", "own", "--gpu", "own-gpu", "--basis", "peak", "--catalogs", folder, "--nodes", "2")
    assert found["ingest_bandwidth_per_job"] == 100 * 1e6 * 8


def test_model_and_gpu_may_be_yaml_files(run, tmp_path):
    (tmp_path / "own.yaml").write_text(OWN_MODEL, encoding="utf-8")
    (tmp_path / "gpu.yaml").write_text(OWN_GPU, encoding="utf-8")
    data = run("bw", "--model", "own.yaml", "--gpu", "./gpu.yaml", "--basis", "peak", "--format", "json").data
    assert data["results"]["ingest_bandwidth_per_gpu"]["value"] == 100e6
    assert {"id": "lab", "title": "Our laboratory"}.items() <= next(s for s in data["sources"] if s["id"] == "lab").items()


def test_rates_beside_ones_own_model_are_measured_if_the_gpu_can_reach_them(run, tmp_path):
    head = "gpu,precision,samples_per_second_per_gpu,achieved_flops_per_gpu,gpus,nodes,protocol,round,source,where,grade,note\n"
    (tmp_path / "own.yaml").write_text(OWN_MODEL, encoding="utf-8")
    for rate in ("234.5", "9e6"):
        (tmp_path / "own.csv").write_text(f"{head}h100-sxm,bf16,{rate},,8,1,paper,,lab,log,measured,\n", encoding="utf-8")
        ran = run("bw", "--model", "own.yaml", "--gpu", "h100", "--format", "json")
        if rate == "234.5":
            assert (ran.data["basis"], ran.data["results"]["samples_per_second_per_gpu"]["value"]) == ("measured", 234.5)
    assert ran.code == 1
    assert "own.csv:2: found 9 EFLOP/s" in ran.err


#: what is added to the main job, the exit code, and what the line must say
BAD_INPUT = [
    (("--model", "cosmflow"), 2, ["'cosmflow'", "expected an id", "did you mean 'cosmoflow'?"]),
    (("--gpu", "h10O"), 2, ["'h10O'", "expected an id", "did you mean 'h100'?"]),
    (("--node", "dgx-h10"), 2, ["'dgx-h10'", "did you mean 'dgx-h100'?"]),
    (("--protocol", "mlperf-storag"), 2, ["'mlperf-storag'", "did you mean 'mlperf-storage'?"]),
    (("--basis", "measurd"), 2, ["--basis", "'measurd'", "expected one of auto, measured", "did you mean 'measured'?"]),
    (("--scaling", "strng"), 2, ["--scaling", "'strng'", "did you mean 'strong'?"]),
    (("--encoding", "decodd"), 2, ["--encoding", "'decodd'", "did you mean 'decoded'?"]),
    (("--precision", "bf61"), 2, ["--precision", "'bf61'", "expected one of bf16", "did you mean 'bf16'?"]),
    (("--format", "jsn"), 2, ["--format", "'jsn'", "table", "json"]),
    (("--nodez", "1"), 2, ["--nodez", "--nodes"]),
    (("--nodes", "1.5"), 2, ["--nodes", "1.5", "expected a whole number above 0"]),
    (("--nodes", "0"), 2, ["--nodes", "found 0", "expected a whole number above 0"]),
    (("--nodes", "-1"), 2, ["--nodes", "found -1", "expected a whole number above 0"]),
    (("--nodes", "nan"), 2, ["--nodes", "'nan'", "expected"]),
    (("--nodes", "inf"), 2, ["--nodes", "'inf'", "expected"]),
    (("--nodes", "1e999"), 2, ["--nodes", "1e999", "expected a finite number"]),
    (("--nodes", "many"), 2, ["--nodes", "'many'", "expected"]),
    (("--nodes", "8..1"), 2, ["--nodes", "to ≥ from"]),
    (("--nodes", "1..100000000"), 2, ["--nodes", "fewer than"]),
    (("--nodes", ""), 2, ["--nodes", "expected"]),
    (("--achieved", "16MB"), 2, ["--achieved", "'16MB' is in B", "expected FLOP/s/GPU"]),
    (("--flops-per-sample", "16 MiB"), 2, ["--flops-per-sample", "is in B", "expected FLOP/sample"]),
    (("--sample-bytes", "16 GFLOP"), 2, ["--sample-bytes", "is in FLOP", "expected B/sample"]),
    (("--sample-bytes", "0"), 2, ["--sample-bytes", "found 0", "expected a number from 1"]),
    (("--sample-bytes", "-5 MB"), 2, ["--sample-bytes", "found", "expected a number from 1"]),
    (("--sample-bytes", "1e308"), 2, ["--sample-bytes", "1e308", "expected a finite number"]),
    (("--utilization", "1.5"), 2, ["--utilization", "found 1.5", "above 0 up to 1"]),
    (("--utilization", "0"), 2, ["--utilization", "found 0", "above 0 up to 1"]),
    (("--efficiency", "40"), 2, ["--efficiency", "found 40", "above 0 up to 1"]),
    (("--cache-hit", "1.2"), 2, ["--cache-hit", "found 1.2", "from 0 up to 1"]),
    (("--samples-per-second", "-1"), 2, ["--samples-per-second", "found -1", "expected a number above 0"]),
    (("--gpus-per-node", "7.5"), 2, ["--gpus-per-node", "found 7.5", "whole number"]),
    (("--set", "sample_byte=1"), 2, ["'sample_byte'", "did you mean 'sample_bytes'?"]),
    (("--set", "sample_bytes"), 2, ["--set", "'sample_bytes'", "expected NAME=VALUE"]),
    (("--set", "sample_bytes=1 TFLOP"), 2, ["--set sample_bytes", "expected B/sample"]),
    (("--set", "nodes=1.5"), 2, ["--set nodes", "found 1.5", "whole number"]),
    (("--set", "ingest_bandwidth_per_gpu=-5"), 2, ["--set ingest_bandwidth_per_gpu", "found -5", "above 0"]),
    (("--catalogs", "nowhere"), 2, ["--catalogs", "'nowhere' is not a folder", "expected"]),
    (("--model", "nowhere.yaml"), 2, ["no such file: 'nowhere.yaml'", "expected an id or a YAML file"]),
    (("--node", "dgx-a100"), 2, ["dgx-a100 has a100-80-sxm, not h100-sxm", "expected"]),
    (("--achieved", "1 TFLOP/s", "--efficiency", "0.5"), 2, ["--achieved", "--efficiency", "expected no other rate"]),
    (("-o", "answer.docz"), 2, ["'answer.docz'", "expected .json, .csv, .md, .txt"]),
    (("--protocol", "paper"), 1, ["no rate of cosmoflow on h100-sxm under 'paper'", "mlperf-storage"]),
    (("--gpu", "b200", "--basis", "measured"), 1, ["no measured estimate", "set --basis or --samples-per-second"]),
    (("--model", "rgat-igbh"), 1, ["bytes", "--sample-bytes"]),
    (("--model", "openfold", "--basis", "peak"), 1, ["FLOPs per sample of openfold", "--flops-per-sample"]),
    (("--encoding", "touched"), 1, ["no touched bytes", "--sample-bytes"]),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD_INPUT, ids=[" ".join(words) for words, _, _ in BAD_INPUT])
def test_bad_input_is_one_line_with_expectation_and_nearest_match(run, words, code, said):
    ran = run(*JOB, *words)
    assert "Traceback" not in ran.err
    assert ran.code == code
    assert [part for part in said if part not in ran.refusal] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bww",), "did you mean 'bw'?"),
        (("expalin", "x"), "did you mean 'explain'?"),
        (("bw",), "--model is missing"),
        (("bw", "--model", "cosmoflow"), "--gpu is missing"),
        (("bw", "surplus"), "surplus"),
        (("explain",), "NAME"),
        (("explain", "ingest_bandwith_per_job", *JOB[1:]), "did you mean 'ingest_bandwidth_per_job'?"),
        (("sweep", "nods=1..3", "--model", "cosmoflow", "--gpu", "h100"), "did you mean 'nodes'?"),
        (("validate", "ibrhim"), "did you mean 'ibrahim'?"),
        (("catalog", "list", "gpuz"), "did you mean 'gpus'?"),
        (("catalog", "shw", "h100"), "shw"),
        (("catalog", "check", "nowhere"), "nowhere"),
    ],
)
def test_bad_usage_exits_with_2(run, words, said):
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.refusal


def test_an_incomplete_answer_is_no_output_and_what_is_known_is_in_python(run):
    ran = run("bw", "--model", "rgat-igbh", "--gpu", "h100", "--format", "json")
    assert (ran.code, ran.out) == (1, "")
    known = ingest.bw(model="rgat-igbh", gpu="h100").results
    assert "samples_per_second_per_gpu" in known
    assert "ingest_bandwidth_per_job" not in known


def test_a_cyclic_quantity_cannot_be_asked_into_being(run):
    ran = run(*JOB, "--set", "gpus=100", "--set", "nodes=10", "--format", "json")
    assert ran.code == 0
    assert ran.data["results"]["gpus"]["value"] == 100


@pytest.mark.parametrize(
    "words", [(), ("--help",), ("bw", "--help"), ("catalog", "--help"), ("sweep", "-h"), ("validate", "-h")]
)
def test_help_is_help(run, words):
    ran = run(*words)
    assert "Usage: ingest" in ran.out + ran.err
    assert ran.code == (0 if words else 2)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name):
    found = command.get_command(click.Context(command), name)
    options = [option for option in found.params if isinstance(option, click.Option)]
    assert options or name in ("catalog", "completion")
    assert [option.name for option in options if not option.help] == []


def test_version_is_that_of_the_package(run):
    import ingest

    assert run("--version").out == f"ingest, version {ingest.__version__}\n"


def test_the_package_runs_as_a_module(run):
    done = subprocess.run(
        [sys.executable, "-m", "ingest", *JOB, "--format", "json"], env=clean_environment(), capture_output=True,
        encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(run(*JOB, "--format", "json").out)
    refused = [sys.executable, "-m", "ingest", "bw", "--model", "none"]
    assert subprocess.run(refused, env=clean_environment(), capture_output=True, timeout=60, check=False).returncode == 2


def test_nothing_is_cut_or_coloured_in_a_pipe(run, run_process):
    wide = run_process(*JOB, COLUMNS="40")
    assert wide.out == run(*JOB).out
    assert wide.err == run(*JOB).err
    assert max(map(len, wide.out.splitlines())) > 80
    assert "\x1b" not in wide.out + wide.err


@pytest.mark.parametrize(
    "words",
    [
        JOB,
        ("bw", "--model", "resnet50", "--gpu", "h100"),
        ("explain", "ingest_bandwidth_per_job", *JOB[1:]),
        ("bw", "--model", "cosmoflow,unet3d", "--gpu", "h100,mi300x", "--nodes", "1,128"),
        ("sweep", "nodes=1..64*2", "--model", "cosmoflow", "--gpu", "h100"),
        ("catalog", "list", "gpus"),
        ("catalog", "show", "resnet50"),
        ("validate",),
        ("validate", "ibrahim"),
        ("--help",),
        ("bw", "--help"),
    ],
    ids=" ".join,
)
def test_a_terminal_of_80_columns_gets_no_longer_line(words):
    shown = terminal(*words)
    assert len(shown.splitlines()) > 5
    assert [line for line in shown.splitlines() if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > 80] == []


def test_no_color_is_respected_on_a_terminal():
    assert "\x1b" not in terminal(*JOB, NO_COLOR="1")


def test_a_terminal_shows_the_same_words_as_a_pipe(run):
    def squeezed(text):
        return " ".join(text.split())

    assert sorted(squeezed(terminal(*JOB, columns=400, NO_COLOR="1")).split()) == sorted(squeezed(run(*JOB).out).split())


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_broken_pipe_is_quiet(form):
    # Far more than a pipe holds, so that the command is still writing when its reader leaves.
    words = ["sweep", "nodes=1..50000", *JOB[1:5], "--format", form]
    with subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(), encoding="utf-8"
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert [line for line in process.stderr if not line.startswith("ingest: warning: ")] == []
        assert process.wait(timeout=60) == 0


def test_a_full_disk_is_one_line():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [COMMAND, "catalog", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=clean_environment(),
            encoding="utf-8",
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "No space left" in done.stderr


def test_a_locale_without_umlauts_still_prints(run_process):
    ran = run_process(*JOB, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert "Traceback" not in ran.err
    assert ran.code == 0


def test_a_checkout_runs_without_being_installed(tmp_path):
    from pathlib import Path

    script = Path(__file__).parents[2] / "cli.py"
    done = subprocess.run(
        [sys.executable, str(script), *JOB, "--format", "json"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["basis"] == "emulated"


def test_several_scenarios_are_no_workbook_and_sweep_is_named_where_it_writes_them(run, tmp_path):
    path = str(tmp_path / "many.xlsx")
    asked = ("--model", "cosmoflow", "--gpu", "h100", "--nodes", "1,8", "-o", path)
    refused = run("bw", *asked)
    assert refused.code == 2
    assert "has no workbook" in refused.err
    assert "ingest sweep" in refused.err
    assert run("sweep", *asked).code == 0
    several = ("--model", "cosmoflow", "--gpu", "h100,a100", "-o", path)
    assert "ingest sweep" not in run("bw", *several).err
    assert run("sweep", *several).code == 2


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["plan", ""], "plan"),
        (["response", ""], "response"),
        (["catalog", "new", "gpus", "abc", "-o", ""], "-o"),
        (["bw", "cosmoflow", "h100", "--catalogs", ""], "--catalogs"),
        (["measure", "a.txt", "--resume="], "--resume"),
    ],
)
def test_an_empty_word_is_refused_and_is_not_the_working_directory(run, tmp_path, monkeypatch, words, place):
    monkeypatch.chdir(tmp_path)
    ran = run(*words)
    assert (ran.code, ran.refusal) == (2, f"{place}: found '', expected a value")
    assert list(tmp_path.iterdir()) == []


def test_the_words_of_an_observed_command_may_be_empty(run):
    assert "the job read" in run("observe", "--command", sys.executable, "-c", "", "").refusal


def test_the_table_of_commands_has_those_that_ask_one_function():
    assert (*commands.COMMANDS,) == TABLED
