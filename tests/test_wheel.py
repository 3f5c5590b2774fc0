"""The wheel carries the catalogs: built, installed elsewhere, and asked the main job from another folder."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import clean_environment

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
START = "import sys; from ingest.cli.main import main; main()"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--disable-pip-version-check", "-w", str(folder)]
    subprocess.run([sys.executable, "-m", *words], check=True, timeout=300, capture_output=True)
    (built,) = folder.glob("ingest_sizing-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the installed wheel and nothing else of ours."""
    target = tmp_path_factory.mktemp("installed")
    words = ["pip", "install", "--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([sys.executable, "-m", *words, str(wheel)], check=True, timeout=300, capture_output=True)
    return target


def asked(installed, cwd, code, *words):
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=clean_environment(PYTHONPATH=str(installed)),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_wheel_holds_the_package_the_catalogs_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    kept, data = (next(top for top in tops if top.endswith(ending)) for ending in (".dist-info", ".data"))
    assert tops == {"ingest", kept, data}
    manual = {f"{data}/data/share/man/man1/{path.name}" for path in (ROOT / "docs" / "man").iterdir()}
    assert {name for name in names if name.startswith(data)} == manual
    assert "ingest/cli/completion.json" in names
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / "catalogs").rglob("*") if path.suffix in (".yaml", ".csv")}
    assert {f"ingest/{name}" for name in shipped} <= set(names)
    assert "ingest/py.typed" in names


def test_the_main_job_runs_from_the_wheel(installed, tmp_path):
    words = ["bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128", "--format", "json"]
    answer = json.loads(asked(installed, tmp_path, START, *words))
    assert answer["basis"] == "emulated"
    assert answer["results"]["ingest_bandwidth_per_job"]["value"] == pytest.approx(827.5e9, rel=0.01)


def test_the_catalogs_come_from_inside_the_package(installed, tmp_path):
    (folder,) = asked(installed, tmp_path, START, "catalog", "path").splitlines()
    assert Path(folder).resolve() == (installed / "ingest" / "catalogs").resolve()


def test_the_published_sets_come_along(installed, tmp_path):
    data = json.loads(asked(installed, tmp_path, START, "validate", "kurth", "--format", "json"))
    assert data["sets"][0]["passed"]
