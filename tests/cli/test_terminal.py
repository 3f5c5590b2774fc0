"""The terminal of 80 × 24: the answer stands where a reader looks, in colour where that is allowed; one grammar."""

import re

import pytest
from conftest import EXAMPLES, table
from test_cli import JOB, terminal

import ingest
from ingest.errors import IngestError

ENTERPRISE = str(EXAMPLES / "enterprise-64-nodes.yaml")
#: command -> the answer
ANSWERS = {
    JOB: "Needs 218.5 GB/s read · 827.5 GB/s emulated, cold caches",
    ("plan", ENTERPRISE, "--samples", "0"): "Needs 101 GB/s read · 14 GB/s write* · 168 TB usable · *guidance",
    ("fit", *JOB[1:]): "≥3 × ddn-ai400x2 first of 58: 19 fit as far as known",
    ("checkpoint", "llama3-405b", "--gpus", "16384"): "Needs 51.03 GB/s write",
    # The last part is left out where the line would be longer than the terminal.
    ("bw", "llama3-70b", "h100", "--nodes", "64"): "Needs 3.143 MB/s read · 49.11 kB/s per node · in fp8 · 3 cautions",
    ("feed", "resnet50", "h100", "--nodes", "4"): "Reaches 27.1 % utilization (workers limit) · 15 per GPU suffice · 3",
}


@pytest.mark.parametrize("words", ANSWERS, ids=lambda words: words[0])
def test_the_answer_stands_in_the_first_lines_and_in_the_last_one(words):
    lines = terminal(*words, NO_COLOR="1").splitlines()
    assert ANSWERS[words] in lines[0]
    assert lines[-1] == lines[0]
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 20 or words not in (JOB, ("checkpoint", "llama3-405b", "--gpus", "16384"))


def test_the_answer_of_fit_counts_what_its_tables_count_and_says_the_order(run):
    out = run("fit", *JOB[1:], "-v").out
    first = out.splitlines()[0]
    headings = dict(re.findall(r"^([A-Z][^(\n]*) \((\d+)\)$", out, re.MULTILINE))
    assert f"first of 58: {headings['Fits as far as known']} fit as far as known" in first
    others = re.search(r"Of the others (.*)", out)[1]
    assert f"{headings['Fits as far as known, number of units open']} fit as far as known, number of units open" in others
    assert int(headings["Fits as far as known"]) + sum(int(one) for one in re.findall(r"\b\d+\b", others)) == 58
    assert "Order: share of the ceilings known, published before recalled, headroom" in run("fit", *JOB[1:]).out


def test_accept_and_sweep_are_as_short_as_the_other_commands(tmp_path):
    swept = terminal("sweep", "nodes=1..1024*2", "sample_bytes=1MB,2.83MB,16MiB", *JOB[1:-2], NO_COLOR="1").splitlines()
    assert swept[0].startswith("33 scenarios: 1.287 GB/s – 2.664 TB/s read to require")
    tests = terminal("accept", ENTERPRISE, "-o", str(tmp_path / "tests"), NO_COLOR="1").splitlines()
    assert tests[0].startswith("Takes ")
    for lines in (swept, tests):
        assert lines[-1] == lines[0]
        assert len(lines) <= 36
        assert max(map(len, lines)) <= 80


def test_the_answer_stands_out_and_alone_where_asked(run):
    # Colour is shown where it is allowed.
    bold = "\x1b[1mNeeds"
    assert terminal(*JOB).startswith(bold)
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in terminal(*JOB, **environment)
    assert "\x1b" not in terminal(*JOB, "--format", "json")
    assert "\x1b" not in run(*JOB).out
    # Quiet prints the answer alone.
    done = run(*JOB, "-q")
    assert done.out == "Needs 218.5 GB/s read · 827.5 GB/s emulated, cold caches · 5 cautions\n"
    assert done.err == ""
    # The last line follows the cautions with the ids of their rules.
    few, every = run(*JOB), run(*JOB, "-v")
    assert few.out.splitlines()[-1] == few.out.splitlines()[0]
    assert len(few.err.splitlines()) == 4
    assert few.err.splitlines()[-1] == "ingest: warning: 2 more: -v"
    assert re.findall(r"warning: (W\d\d) ", every.err) == ["W60", "W67", "W16", "W17", "W08"]
    assert len(every.err.splitlines()) == 5


@pytest.mark.parametrize(("words", "said"), table("cli/cases.yaml")["the_answer_states_the_precision_that_decides_its_rate"])
def test_the_answer_states_the_precision_that_decides_its_rate(run, words, said):
    answer = run(*words.split(), "-q").out
    assert re.findall(r" · in \w+ ·", answer) == ([said] if said else [])


@pytest.mark.parametrize(
    "forms", table("cli/cases.yaml")["model_and_gpus_are_given_alike_in_every_command"], ids=lambda forms: forms[0][0]
)
def test_model_and_gpus_are_given_alike_in_every_command(run, forms):
    first, *others = [run(*words, "--format", "csv") for words in forms]
    assert first.code == 0
    for other in others:
        assert other.out == first.out


@pytest.mark.parametrize(
    "words", [JOB, ("checkpoint", "llama3-8b"), ("catalog", "new", "gpu", "mine")], ids=lambda words: words[0]
)
def test_a_written_file_is_named_with_its_size(run, words):
    done = run(*words, "-o", "made.yaml" if words[0] == "catalog" else "made.xlsx")
    assert done.code == 0
    assert done.out == ""
    assert re.fullmatch(r"wrote \S*made\.\w+ \((\d+ sheets, )?[\d.]+ k?B\)", done.err.splitlines()[-1])


def test_results_are_replaced_in_words_and_files_to_edit_are_not(run):
    first, second, quiet = (run(*JOB, "-o", "a.json", *more) for more in ((), (), ("-q",)))
    assert [one.err.splitlines()[-1].split()[0] for one in (first, second)] == ["wrote", "replaced"]
    assert quiet.err == ""
    assert run(*NEW, "llama3-70b", "-o", "site.yaml").code == 0
    refused = run(*NEW, "llama3-70b", "-o", "site.yaml")
    assert (refused.code, refused.err) == (2, "ingest: --output: 'site.yaml' exists already, expected a new file\n")


def test_groups_of_the_help_name_every_command_once(run):
    out = run("--help").out
    places = [out.index(f"\n{group}:\n") for group in ("One job", "Data", "Site", "Procurement", "Evidence")]
    assert places == sorted(places)


NEW = ("plan", "--new", "--nodes", "64", "--gpu", "h100", "--models")
#: What the catalogs say of these models on these GPUs: protocols disagree, the slower one ran on few, the precision decides.
#: And of their published data sets: one fits the caches and is read fast, of the other no number of files is known.
OF_EVIDENCE = {"W05", "W63", "W85", "W16", "W36", "W37", "W41"}


def test_a_starter_of_given_models_plans_with_cautions_of_the_evidence_alone(run):
    assert run(*NEW, "llama3-70b,resnet50", "-o", "site.yaml").code == 0
    planned = run("plan", "site.yaml", "--samples", "0", "-v")
    assert planned.code == 0
    assert {re.match(r"ingest: warning: (\S+)", line)[1] for line in planned.err.splitlines()} == OF_EVIDENCE


@pytest.mark.parametrize(("words", "base", "written"), table("cli/cases.yaml")["counts_are_written_as_people_write_them"])
def test_counts_are_written_as_people_write_them(run, words, base, written):
    counted = run(*words.split(), base, "--format", "csv").out
    assert counted
    assert [run(*words.split(), one, "--format", "csv").out == counted for one in written] == [True] * len(written)


@pytest.mark.parametrize(
    ("written", "tokens"), [("100B", 1e11), ("0.5B", 5e8), ("100 G tokens", 1e11), ("100GB", None), ("9b", 9e9), ("9bb", None)]
)
def test_site_files_read_counts_as_options_do(written, tokens):
    job = {"model": "llama3-70b", "cluster": "main", "nodes": 8, "tokens": written}
    site = {"clusters": {"main": {"node": "dgx-h100", "count": 8}}, "jobs": {"a": job}}
    if tokens is None:
        with pytest.raises(IngestError, match=r"jobs\.a\.tokens"):
            ingest.plan(site, samples=0)
    else:
        assert ingest.plan(site, samples=0).site.data["jobs"]["a"]["tokens"].value == tokens
