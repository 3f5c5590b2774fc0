"""The command line as people and scripts meet it: subprocesses, pipes and a terminal."""

import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import click
import pytest
from conftest import COMMAND, clean_environment, finished, table

from ingest.cli import commands
from ingest.cli.group import command, instead_of
from ingest.cli.main import APART, COMMANDS, command_of
from ingest.cli.options import USUAL, elsewhere

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
        "schema", "command", "version", "catalog_hash", "inputs", "results", "basis", "rungs", "assumptions", "sources",
        "warnings", "warning_rules",
    }  # fmt: skip
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


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_standard_output_carries_the_payload_alone(run, form):
    ran = run(*JOB, "--format", form)
    assert ran.code == 0
    assert "warning:" not in ran.out
    assert all(line.startswith("ingest: warning: ") for line in ran.err.splitlines())
    assert ran.err
    assert ran.out.endswith("\n")
    assert not ran.out.endswith("\n\n")


@pytest.mark.parametrize(
    ("suffix", "start"), [("json", "{"), ("csv", "model,gpu"), ("md", "# CosmoFlow"), ("txt", "Needs 218.5 GB/s read")]
)
def test_a_file_has_the_format_of_its_suffix(run, tmp_path, suffix, start):
    ran = run(*JOB, "-o", f"answer.{suffix}")
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / f"answer.{suffix}").read_text(encoding="utf-8").startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"answer.{suffix}"]


def test_every_file_of_an_output_is_written(run, tmp_path):
    assert run(*JOB, "-o", "a.json", "--output", "b.csv", "-o", "c.xlsx").code == 0
    assert {path.name: path.read_bytes()[:2] for path in tmp_path.iterdir()} == {
        "a.json": b"{\n",
        "b.csv": b"mo",
        "c.xlsx": b"PK",
    }


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


#: what is added to the main job, the exit code, and what the line must say
BAD_INPUT = table("cli/bad_input.yaml")


@pytest.mark.parametrize(("words", "code", "said"), BAD_INPUT, ids=[" ".join(words) for words, _, _ in BAD_INPUT])
def test_bad_input_is_one_line_with_expectation_and_nearest_match(run, words, code, said):
    ran = run("bw", *(part for pair in zip(JOB[1::2], JOB[2::2], strict=True) if pair[0] not in words for part in pair), *words)
    assert "Traceback" not in ran.err
    assert ran.code == code
    assert [part for part in said if part not in ran.refusal] == []


@pytest.mark.parametrize(("line", "said"), table("cli/bad_usage.yaml"))
def test_bad_usage_exits_with_2(run, tmp_path, line, said):
    ran = run(*line.split())
    assert (ran.code, ran.out, [*tmp_path.iterdir()]) == (2, "", [])
    assert said in ran.refusal


@pytest.mark.parametrize("words", table("cli/hostile_words.yaml"), ids=" ".join)
def test_no_refusal_sends_a_terminal_what_a_user_or_a_file_wrote(run, words):
    """Escape sequences, marks that turn letters around and line breaks, in every place for a name."""
    hostile = "\x1b[31mred\x07\x9b1m\u202eevil\n2nd\u2028x"
    ran = run(*(word.replace("HOSTILE", hostile) for word in words))
    assert ran.code in (1, 2)
    assert [letter for letter in ran.out + ran.err if not letter.isprintable() and letter != "\n"] == []
    assert [line for line in ran.err.splitlines() if not line.startswith("ingest: ")] == []


def test_a_cyclic_quantity_cannot_be_asked_into_being(run):
    ran = run(*JOB[:-2], "--set", "gpus=80", "--set", "nodes=10", "--format", "json")
    assert ran.code == 0
    assert ran.data["results"]["gpus"]["value"] == 80


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


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "catalog"])
def test_help_lists_fifteen_options_at_most_and_help_all_every_one(run, name):
    """A usual option that was renamed would be missed here: each one that the table names is listed."""
    known = {one.name: one.opts[-1] for one in command_of(name).params if isinstance(one, click.Option)}
    long = "--help-all" if name in USUAL else "--help"
    brief, every = ({*re.findall(r"^  (?:-\w, )?(--[\w-]+)", run(name, asked).out, re.M)} for asked in ("--help", long))
    usual = USUAL.get(name, "").split() or [*known]
    assert brief == {known[one] for one in usual} | {"--help"} | ({"--help-all"} if name in USUAL else set())
    assert len(brief) <= 15
    assert every == {*known.values(), "--help"}


@pytest.mark.parametrize("words", table("cli/cases.yaml")["advice_names_options_of_the_command_alone"])
def test_advice_names_options_of_the_command_alone(run, words):
    ran = run(*words.split(), *([] if words.startswith("catalog") else ["-v"]))
    said = "\n".join(line for line in (ran.out + ran.err).splitlines() if "ingest " not in line)
    called = command.get_command(None, words.split()[0])
    known = {name for one in (called, *getattr(called, "commands", {}).values()) for each in one.params for name in each.opts}
    assert {*re.findall(r"; (?:set|use) (--[\w-]+)| or (--[\w-]+)", said)} <= {
        pair for name in known for pair in ((name, ""), ("", name))
    }


def test_version_is_that_of_the_package(run):
    import ingest

    assert run("--version").out == f"ingest, version {ingest.__version__}\n"


def test_the_package_runs_as_a_module(run):
    done = finished(sys.executable, "-m", "ingest", *JOB, "--format", "json")
    assert json.loads(done.stdout) == json.loads(run(*JOB, "--format", "json").out)
    assert finished(sys.executable, "-m", "ingest", "bw", "--model", "none", check=False).returncode == 2


def test_nothing_is_cut_or_coloured_in_a_pipe(run, run_process):
    wide = run_process(*JOB, COLUMNS="40")
    assert wide.out == run(*JOB).out
    assert wide.err == run(*JOB).err
    assert max(map(len, wide.out.splitlines())) > 80
    assert "\x1b" not in wide.out + wide.err


@pytest.mark.parametrize(
    "words",
    [
        *table("cli/cases.yaml")["a_terminal_of_80_columns_gets_no_longer_line"],
        pytest.param("validate", marks=pytest.mark.slow),
    ],
)
def test_a_terminal_of_80_columns_gets_no_longer_line(words):
    shown = terminal(*words.split())
    assert len(shown.splitlines()) > 5
    assert [line for line in shown.splitlines() if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > 80] == []


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


def test_a_checkout_runs_without_being_installed(tmp_path):
    from pathlib import Path

    script = Path(__file__).parents[2] / "cli.py"
    done = finished(sys.executable, script, *JOB, "--format", "json", cwd=tmp_path)
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
    ("words", "place"), table("cli/cases.yaml")["an_empty_word_is_refused_and_is_not_the_working_directory"]
)
def test_an_empty_word_is_refused_and_is_not_the_working_directory(run, tmp_path, monkeypatch, words, place):
    monkeypatch.chdir(tmp_path)
    ran = run(*words)
    assert (ran.code, ran.refusal) == (2, f"{place}: found '', expected a value")
    assert list(tmp_path.iterdir()) == []


def test_the_words_of_an_observed_command_may_be_empty(run):
    assert "the job read" in run("observe", "--command", sys.executable, "-c", "", "").refusal


def test_the_table_of_commands_has_all_but_those_apart():
    assert {name for name in COMMANDS if name not in APART} == {*commands.COMMANDS}


def test_options_of_other_tools_lead_to_ours():
    """Each name of another tool, on each command that has the option, is answered by that option."""
    tried, every = 0, set()
    for name in COMMANDS:
        known = {word: () for one in command_of(name).params for word in one.opts if word.startswith("--")}
        every |= {*known}
        words = {word for ours, theirs in elsewhere()["options"].items() if f"--{ours}" in known for word in theirs.split()}
        for word in words - {one.removeprefix("--") for one in known}:
            assert "; did you mean '--" in instead_of(f"--{word}", known), (name, word)
            tried += 1
    assert tried > 300
    assert {f"--{ours}" for ours in elsewhere()["options"]} <= every


@pytest.mark.parametrize(("line", "code", "said"), table("cli/guesses.yaml"))
def test_guesses_get_an_answer_or_the_line_that_leads_there(run, line, code, said):
    found = run(*line.split())
    assert found.code == code
    assert said in (found.refusal if code else found.out)
    for lead in re.findall("mean '((?:ingest|--).*?)'(?: or|[?])", found.refusal if code else ""):
        # What is suggested is taken: the next refusal is about a value that the user wrote, or about what is missing still.
        command, *given = shlex.split(lead)
        if command != "ingest":
            theirs = found.refusal.split("'")[1]
            words = line.replace(f"{theirs}=", f"{theirs} ").split()
            at = words.index(theirs) if theirs.startswith("-") and theirs in words else len(words)
            given = [*words[:at], command, *given, *words[at + 1 + len(given) :]]
        asked = run(*given)
        wrong = re.search("no such (?:option|command) '(.+?)'|requires an argument", asked.refusal if asked.code else "")
        assert not wrong or (command != "ingest" and wrong[1] in words), (lead, asked.refusal)
