"""Closed, full and crowded streams: exit codes and lines stay what they are."""

import shlex
import subprocess
import sys
from contextlib import suppress

import pytest
from conftest import EXAMPLES

import ingest
from ingest.catalog.store import Catalog
from ingest.errors import MOST_LETTERS, IngestError, shortened

INGEST = f"{sys.executable} -m ingest"
JOB = "bw --model cosmoflow --gpu h100"


def shell(line):
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (f"{JOB} >&-", 1),
        (f"{JOB} >&- 2>&-", 1),
        (f"{JOB} <&- >&-", 1),
        (f"{JOB} -o /dev/null >&-", 2),
        (f"{JOB} --format json -o /dev/null >&-", 0),
        (f"{JOB} 2>&-", 0),
        (f"{JOB} 2>/dev/full", 0),
        ("bw --nope 2>/dev/full", 2),
        ("bw --nope 2>&-", 2),
        (f"{JOB} >/dev/full", 1),
        (f"{JOB} >/dev/full 2>/dev/full", 1),
    ],
)
def test_a_closed_or_full_stream_shows_in_the_exit_code(words, code):
    done = shell(f"{INGEST} {words}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if ">&-" in words and code == 1 and "2>&-" not in words:
        assert "ingest: the result cannot be written: Bad file descriptor" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        f"bw --gpu h100 --model {'x' * 5000}",
        f"bw {'w ' * 1000}",
        f"{JOB} --sample-bytes '5 {'x' * 5000}'",
        "''",
        f"{JOB} --encoding {'x ' * 2500}",
        f"{JOB} --set {'x' * 5000}=1",
        f"checkpoint llama3-8b --gpus 64 --mode {'x' * 5000}",
        f"memory llama3-8b --offload {'x' * 5000}",
        f"measure . --seed {'x' * 5000}",
        f"response {'x' * 5000}",
        f"{'x' * 2500} {'w ' * 1000}",
        f"bw --{'x' * 5000}",
        f"plan {'x' * 5000}.yaml",
    ],
)
def test_a_refusal_is_one_line_of_at_most_300_letters(run, words):
    done = run(*shlex.split(words))
    assert done.code in (1, 2)
    assert len(f"ingest: {done.refusal}") <= 300


def test_what_is_expected_stays_in_a_shortened_line():
    line = f"ingest: --x: found '{'x' * 5000}', expected a finite number, for example 16 MiB"
    assert shortened(line, 300).endswith("', expected a finite number, for example 16 MiB")
    assert len(shortened("word " * 100, 300)) == 300
    assert shortened("short", 300) == "short"


@pytest.mark.parametrize(("letters", "whole"), [(120, True), (121, False)])
def test_the_place_stays_whole_in_a_shortened_line(letters, whole):
    place = "/" + "a" * (letters - 13) + "/site.yaml:9"
    assert len(place) == letters
    line = shortened(place + " unknown key, expected one of " + "word, " * 80, 300)
    assert line.startswith(place) == whole
    assert "site.yaml:9 unknown key" in line


@pytest.mark.parametrize("words", ["bw --samples-per-second 300 --gpus-per-node 4", "memory llama3-8b --zero-stage 0"])
def test_a_missing_result_leaves_standard_output_empty(words):
    done = shell(f"{INGEST} {words}")
    assert done.returncode == 1
    assert done.stdout == ""


def test_what_the_system_refuses_names_the_file():
    code = (
        "from ingest.cli import group, main\ndef refused(**_): raise PermissionError(13, 'Permission denied', 'a/b')\n"
        "group.command.main = refused\nmain.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "ingest: a/b: the system refused: Permission denied\n")


@pytest.mark.slow
def test_no_warning_about_a_shipped_model_must_be_cut():
    """A warning that exceeds the limit would lose its middle; notes of the catalogs belong to `explain`."""
    catalog, long = Catalog(), []
    for model in catalog.ids("models"):
        for gpu in ("a100", "h100", "b200"):
            with suppress(IngestError):
                long += [line for line in ingest.bw(model=model, gpu=gpu, nodes=1).warnings if len(line) > MOST_LETTERS - 17]
    assert long == []


def test_the_advice_of_protocols_that_disagree_is_in_the_derivation():
    job = "--model resnet50 --gpu h100"
    assert "until you name the protocol that your code runs; set --protocol\n" in shell(f"{INGEST} bw {job}").stderr
    assert "  advice: Tuned by the submitter" in shell(f"{INGEST} explain samples_per_second_per_gpu {job}").stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits addresses")
def test_memory_that_runs_out_is_one_line():
    site = EXAMPLES / "hpc-128-nodes.yaml"
    done = shell(f"ulimit -v 300000; OPENBLAS_NUM_THREADS=1 {INGEST} plan {site} --samples 1000000")
    assert (done.returncode, done.stderr) == (
        1,
        "ingest: not enough memory or threads, expected a larger machine or higher limits (`ulimit -v`, `ulimit -u`)\n",
    )


@pytest.mark.parametrize("words", [["bw", "--help"], ["plan", "--help"], ["bw", "cosmoflow", "h100"]])
def test_an_interrupt_while_a_command_is_imported_is_quiet(words):
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests with it ignored
sys.addaudithook(lambda event, words: event == "import" and words[0] == "ingest.units" and os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["ingest", *{words!r}]
from ingest.cli.main import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr in ("", "ingest: interrupted\n", "\ningest: interrupted\n")


def test_a_working_directory_that_is_gone_is_named(tmp_path):
    (tmp_path / "gone").mkdir()
    done = shell(f"cd {tmp_path}/gone && rmdir ../gone && {INGEST} {JOB} -o answer.json")
    assert done.returncode == 1
    assert done.stderr == "ingest: the working directory: the system refused: No such file or directory\n"
