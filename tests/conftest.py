"""Fixtures of all tests: the command in this process or in one of its own, the catalogs as shipped, the HPC example."""

import contextlib
import functools
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, is_hypothesis_test, settings

import ingest
from ingest.catalog.store import Catalog
from ingest.cli.main import main
from ingest.configuration import VARIABLES, forget_configuration
from ingest.errors import IngestError
from ingest.files import table_beside

#: Run by hand, with packages that no test has.
collect_ignore = ["measure_activations.py"]
ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SITES = sorted(EXAMPLES.glob("*.yaml"))
#: The catalogs as shipped.
CATALOG = Catalog()
#: The `config.json` of Llama 3 8B: 8,030,261,248 parameters.
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
#: The console script of the environment that runs the tests.
COMMAND = str(Path(sys.executable).parent / "ingest")


# `make test` takes a few examples of each property; `make test-slow` runs all properties again with many.
# A push is judged on the same examples each time; the slow set looks for new ones.
settings.register_profile("few", max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("many", settings.get_profile("few"), max_examples=100, derandomize=False)
settings.load_profile("few")


@dataclass(frozen=True)
class Ran:
    """Exit code, standard output and standard error of a command."""

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
    dropped = {*VARIABLES.values(), "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONPATH", "PYTHONUNBUFFERED"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONIOENCODING": "utf-8", **extra}


def finished(*words, cwd=None, check=True, **environment):
    """A process, run to its end in a clean environment."""
    streams = {"capture_output": True, "encoding": "utf-8", "timeout": 60}
    return subprocess.run([*map(str, words)], cwd=cwd, env=clean_environment(**environment), check=check, **streams)


def in_place(folder, **commands):
    """The PATH with a folder in front, which holds shell scripts in place of commands."""
    for name, text in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


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
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    forget_configuration()
    yield
    forget_configuration()  # the doctests of the package, which no fixture prepares, may be next


@pytest.fixture
def run(tmp_path):
    """Run `ingest` in an empty folder, within this process: its `main`, with arguments, environment and streams of its own."""

    def call(*words, cwd=None, **environment):
        return in_process([*map(str, words)], cwd or tmp_path, clean_environment(**environment))

    return call


@pytest.fixture
def run_process(tmp_path):
    """Run the installed command in an empty folder, as a process: for what depends on how it starts, prints or ends."""

    def call(*words, cwd=None, **environment):
        done = finished(COMMAND, *words, cwd=cwd or tmp_path, check=False, **environment)
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


def in_process(words, cwd, environment):
    """Call `main` as the console script does; working directory, environment, arguments and streams are restored."""
    with contextlib.ExitStack() as restored:
        restored.enter_context(contextlib.chdir(cwd))
        restored.callback(_replace_environment, dict(os.environ))
        _replace_environment(environment)
        restored.callback(setattr, sys, "argv", sys.argv)
        sys.argv = [COMMAND, *words]
        # click takes the program's name from the module that runs: a plain one has the name in sys.argv.
        restored.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        sys.modules["__main__"] = ModuleType("__main__")
        out, err = (restored.enter_context(_captured(name)) for name in ("stdout", "stderr"))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return Ran(code, out(), err())


def _replace_environment(environment):
    os.environ.clear()
    os.environ.update(environment)


@contextlib.contextmanager
def _captured(name):
    """A standard stream whose descriptor is a file: what libraries and child processes write is captured too."""
    before = getattr(sys, name)
    number = {"stdout": 1, "stderr": 2}[name]
    before.flush()
    saved = os.dup(number)
    errors = {"stdout": "strict", "stderr": "backslashreplace"}[name]
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            with open(number, "w", encoding="utf-8", errors=errors, closefd=False) as stream:
                setattr(sys, name, stream)

                def text():
                    stream.flush()
                    file.seek(0)
                    return file.read().decode("utf-8")

                yield text
        finally:
            setattr(sys, name, before)
            os.dup2(saved, number)
            os.close(saved)


@pytest.fixture(scope="session")
def shipped():
    """The catalogs as shipped, without overlays; one for all tests, since entries never change once read."""
    catalog = Catalog()
    catalog.folders = catalog.folders[-1:]
    return catalog


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The file of a vocabulary that loads in milliseconds, for tests in which it does not matter which one counts."""
    from corpus.made import small_vocabulary

    return small_vocabulary(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of the page."""
    from browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """The page, written once."""
    from ingest.reports.web.page import page

    return page(output=tmp_path_factory.mktemp("page") / "calc.html").path.as_uri()


@pytest.fixture
def config_file(tmp_path):
    """Write a configuration, with other keys too, into a `config.json` and return its path."""

    def write(config, **keys):
        (tmp_path / "config.json").write_text(json.dumps(config | keys), encoding="utf-8")
        return str(tmp_path / "config.json")

    return write


@pytest.fixture
def write_entry(tmp_path):
    """Write an entry of the user's own into an overlay folder and return that folder."""

    def write(kind, name, text, folder="mine"):
        path = tmp_path / folder / kind / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return tmp_path / folder

    return write


def pytest_configure(config) -> None:
    """Where nothing may be skipped for a missing part, every part must be there.

    Each worker begins with other folders, and finds compiled what another has; names decide the order of tests.
    """
    here, number = Path(__file__).parent, int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    if number and config.pluginmanager.hasplugin("randomly") and here in map(Path.absolute, map(Path, config.args)):
        parts = sorted(str(path) for path in here.glob("[!_]*") if path.is_dir() or path.match("test_*.py"))
        at = len(parts) * number // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        config.args = [*(arg for arg in config.args if Path(arg).absolute() != here), *parts[at:], *parts[:at]]
    gc.disable()  # what is collected stays
    missing = [part for part in ("fio", "soffice") if shutil.which(part) is None]
    if os.environ.get("INGEST_TEST_ALL") and missing:
        raise pytest.UsageError(f"INGEST_TEST_ALL allows no skip for a missing part, and {', '.join(missing)} is missing")


#: Folders and modules whose tests take long: they run first, so that no worker waits at the end for another one's last module.
LONG = ("tests/fuzz", "tests/workbook", "tests/rfp", "tests/web", "tests/acceptance", "tests/corpus", "tests/feed",
        "tests/site/test_flips", "tests/test_doors")  # fmt: skip


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """The examples are those of the package: tests have none, and to look for them takes as long as to collect the tests."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    """What was collected stays: garbage is not looked for among it, and a fork does not copy it."""
    gc.freeze()
    gc.get_freeze_count = lambda: 1  # to count them all anew takes a quarter of the time of each plan
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items) -> None:
    """Long modules first, after the order was drawn."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_itemcollected(item) -> None:
    """With many examples (`make test-slow`), each property is a slow test, before `-m slow` chooses."""
    if settings.get_current_profile_name() == "many" and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("slow")


def pytest_terminal_summary(terminalreporter, config) -> None:
    """The seed of the order: with it, the same order comes again."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"random order; the same again with --randomly-seed={seed}")


@functools.cache
def example_plan(name, samples=0):
    """The plan of an example site, made once for all tests of a process; nothing changes a plan. `None`: the usual draws."""
    return ingest.plan(EXAMPLES / f"{name}.yaml", **({} if samples is None else {"samples": samples}))


def first(few, cases):
    """Cases of a test, of which a few stand for the others on each push; all of them run with the slow tests."""
    cases = [*cases]
    rest = (case if isinstance(case, tuple) else (case,) for case in cases[few:])
    return [*cases[:few], *(pytest.param(*case, marks=pytest.mark.slow) for case in rest)]


def planned(data):
    return ingest.plan(data, samples=0)


def exact(plan, name):
    return float(plan.steps[name].value)


def offloaded(**options):
    return {name: item.value for name, item in ingest.offload(**options).results.items()}


@contextlib.contextmanager
def refused(*words, error=IngestError, match=None):
    """What is done within is refused in one line, which has all the words and fits the pattern."""
    with pytest.raises(error, match=match) as caught:
        yield caught
    assert "\n" not in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def table(name):
    """A table of cases that is kept as YAML beside its tests."""
    return table_beside(__file__, name)


def seeds(few, many):
    """Seeds of a test of drawn inputs."""
    return first(few, range(many))


@pytest.fixture(scope="module")
def short_rehearsal():
    """A rehearsal of a second on little data, by few threads: what fio prints is the same."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"SECONDS": 1, "THREADS": 2, "BYTES": 8 * 2**20, "FILES": 200}.items():
            patched.setattr(f"ingest.acceptance.loads.REHEARSAL_{name}", value)
        yield


@pytest.fixture(scope="session")
def hpc_plan():
    return example_plan("hpc-128-nodes")
