"""What every test may use: the installed command as a subprocess, and the catalogs as shipped."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import ingest
import ingest.formulas.everything
from ingest.catalog.store import Catalog
from ingest.reports.books import site_book

EXAMPLES = Path(__file__).parents[1] / "examples"
#: The console script of the environment that runs the tests.
COMMAND = str(Path(sys.executable).parent / "ingest")


@dataclass(frozen=True)
class Ran:
    """What a subprocess left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        """Standard output as JSON; numbers that are no JSON are refused."""

        def refuse(word):
            raise AssertionError(f"{word} is no JSON number")

        return json.loads(self.out, parse_constant=refuse)

    @property
    def refusal(self):
        """The last line on standard error, which must be the only one that is no warning."""
        lines = [line for line in self.err.splitlines() if not line.startswith("ingest: warning: ")]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("ingest: "), self.err
        return lines[0].removeprefix("ingest: ")


def clean_environment(**extra):
    """The environment without what would change the catalogs or the look of the output."""
    dropped = {"INGEST_CATALOGS", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONPATH", "PYTHONUNBUFFERED"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONIOENCODING": "utf-8", **extra}


def default_signals():
    """In a child process, before it runs: the default actions, where a shell has started the tests with signals ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_catalogs_of_the_user(monkeypatch, tmp_path_factory):
    """The person who runs the tests may have catalogs of their own; the tests mean the shipped ones."""
    empty = tmp_path_factory.getbasetemp() / "no-configuration"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.delenv("INGEST_CATALOGS", raising=False)


@pytest.fixture
def run(tmp_path):
    """Run `ingest` in an empty folder."""

    def call(*words, cwd=None, **environment):
        done = subprocess.run(
            [COMMAND, *map(str, words)],
            cwd=cwd or tmp_path,
            env=clean_environment(**environment),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def shipped():
    """The catalogs as shipped, without overlays; one for all tests, since entries never change once read."""
    catalog = Catalog()
    return Catalog() if len(catalog.folders) == 1 else _only_shipped(catalog)


def _only_shipped(catalog):
    catalog.folders = catalog.folders[-1:]
    return catalog


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The file of a vocabulary that loads in milliseconds, for tests in which it does not matter which one counts."""
    from corpus.made import small_vocabulary

    return small_vocabulary(tmp_path_factory.mktemp("small"))


@pytest.fixture
def write_entry(tmp_path):
    """Write an entry of the user's own into an overlay folder and return that folder."""

    def write(kind, name, text, folder="mine"):
        path = tmp_path / folder / kind / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return tmp_path / folder

    return write


def pytest_configure() -> None:
    """Where nothing may be skipped for a missing part, every part must be there."""
    missing = [part for part in ("fio", "soffice") if shutil.which(part) is None]
    if os.environ.get("INGEST_TEST_ALL") and missing:
        raise pytest.UsageError(f"INGEST_TEST_ALL allows no skip for a missing part, and {', '.join(missing)} is missing")


@pytest.fixture(scope="session")
def hpc_plan():
    """The plan of the HPC example, without draws."""
    return ingest.plan(EXAMPLES / "hpc-128-nodes.yaml", samples=0)


@pytest.fixture(scope="session")
def hpc_book(hpc_plan):
    """Its workbook, as bytes."""
    return site_book(hpc_plan)


@pytest.fixture(scope="session")
def hpc_sent(hpc_book, tmp_path_factory):
    """Its workbook, as the buyer sent it out."""
    path = tmp_path_factory.mktemp("sent") / "sent.xlsx"
    path.write_bytes(hpc_book)
    return path
