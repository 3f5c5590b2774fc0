"""What starts fast imports little."""

import sys
from functools import cache

import pytest
from conftest import finished

HEAVY = {"pandas", "numpy", "tokenizers", "gigatoken", "datasets", "pint", "pyarrow", "distributed", "fsspec", "requests"}
MAIN_JOB = ("bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128")

PROBE = """
import sys
sys.argv = ["ingest", *{words!r}]
from ingest.cli.main import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(*sorted(sys.modules), file=sys.stderr)
"""


@cache
def imported(*words, probe=PROBE):
    """The modules that a command line leaves behind, and what it prints."""
    done = finished(sys.executable, "-c", probe.format(words=words))
    return {*done.stderr.splitlines()[-1].split()}, done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("bw", "--help"),
        ("measure", "--help"),
        MAIN_JOB,
        (*MAIN_JOB, "--format", "json"),
        (*MAIN_JOB, "--format", "csv"),
        ("bw", "--model", "resnet50", "--gpu", "b200,h100", "--nodes", "1..64*2"),
        ("explain", "ingest_bandwidth_per_job", *MAIN_JOB[1:]),
        ("catalog", "list", "gpus"),
        ("dataset", "--corpus", "fineweb", "--format", "json"),
    ],
)
def test_nothing_heavy_is_imported(words):
    modules, out = imported(*words)
    assert out
    assert "ingest" in modules
    assert modules & HEAVY == set()


def test_each_command_imports_what_it_needs(run):
    # A job of a catalog entry imports neither a model family nor workbooks nor formulas of other fields.
    further = ("ingest.architecture.families", "ingest.reports.workbook", "ingest.formulas.")
    found = {name for name in imported(*MAIN_JOB)[0] if name.startswith(further)}
    assert found == {"ingest.formulas.inputs", "ingest.formulas.bandwidth"}
    # The probe sees what a sweep imports.
    assert imported("sweep", "nodes=1,2", "--model", "cosmoflow", "--gpu", "h100")[0] & HEAVY == {"numpy"}
    # Help reads no catalog.
    assert {"yaml", "click", "inspect"} & imported("--help")[0] == set()
    # The list of commands is the same with the parser of options.
    alone, parsed = run("--help"), run()
    assert (alone.code, parsed.code) == (0, 2)
    assert parsed.err.strip() == alone.out.strip()
    # Importing the package imports its version and what it hands down to.
    probe = "import sys, ingest\nprint(*sys.modules, file=sys.stderr)"
    own = {name for name in imported(probe=probe)[0] if name.partition(".")[0] == "ingest"}
    assert own == {"ingest", "ingest.catalog", "ingest.engine", "ingest.version"}
