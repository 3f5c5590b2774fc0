"""What starts fast imports little."""

import sys

import pytest
from conftest import finished

HEAVY = {"pandas", "numpy", "tokenizers", "gigatoken", "datasets", "pint", "pyarrow", "distributed", "fsspec", "requests"}
MAIN_JOB = ["bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128"]

PROBE = """
import sys
sys.argv = ["ingest", *{words!r}]
from ingest.cli.main import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(*sorted(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


def imported(words, probe=PROBE):
    done = finished(sys.executable, "-c", probe.format(words=words))
    return set(done.stderr.splitlines()[-1].split()), done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["bw", "--help"],
        ["measure", "--help"],
        MAIN_JOB,
        [*MAIN_JOB, "--format", "json"],
        [*MAIN_JOB, "--format", "csv"],
        ["bw", "--model", "resnet50", "--gpu", "b200,h100", "--nodes", "1..64*2"],
        ["explain", "ingest_bandwidth_per_job", *MAIN_JOB[1:]],
        ["catalog", "list", "gpus"],
        ["dataset", "--corpus", "fineweb", "--format", "json"],
    ],
)
def test_nothing_heavy_is_imported(words):
    modules, out = imported(words)
    assert out
    assert "ingest" in modules
    assert modules & HEAVY == set()


def test_each_command_imports_what_it_needs(run):
    # A job of a catalog entry imports no model family.
    probe = PROBE.replace('if "." not in name', 'if name.startswith("ingest.architecture.families")')
    assert imported(MAIN_JOB, probe + "print(file=sys.stderr)")[0] == set()
    # The probe sees what a sweep imports.
    modules, _ = imported(["sweep", "nodes=1,2", "--model", "cosmoflow", "--gpu", "h100"])
    assert modules & HEAVY == {"numpy"}
    # Help reads no catalog.
    modules, _ = imported(["--help"])
    assert {"yaml", "click", "inspect"} & modules == set()
    # The list of commands is the same with the parser of options.
    alone, parsed = run("--help"), run()
    assert (alone.code, parsed.code) == (0, 2)
    assert parsed.err.strip() == alone.out.strip()
    # A job imports neither workbooks nor formulas of other fields.
    probe = PROBE.replace('if "." not in name', 'if name.startswith(("ingest.reports.workbook", "ingest.formulas."))')
    assert imported(MAIN_JOB, probe)[0] == {"ingest.formulas.inputs", "ingest.formulas.bandwidth"}
    # Importing the package imports its version and what it hands down to.
    probe = "import sys, ingest\nprint(*sorted(name for name in sys.modules if name.startswith('ingest')), file=sys.stderr)"
    assert imported([], probe)[0] == {"ingest", "ingest.catalog", "ingest.engine", "ingest.version"}
