"""The distributions: their content, the main job from the installed wheel, an offline installation, the image."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment, finished

START = "import sys; from ingest.cli.main import main; main()"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True, timeout=300, capture_output=True
    )
    (source,), (wheel,) = folder.glob("ingest_sizing-*.tar.gz"), folder.glob("ingest_sizing-*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def wheel(distributions):
    return distributions[1]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the installed wheel and nothing else of ours."""
    target = tmp_path_factory.mktemp("installed")
    words = ["pip", "install", "--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check", "--target"]
    subprocess.run([sys.executable, "-m", *words, str(target), str(wheel)], check=True, timeout=300, capture_output=True)
    return target


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The folder of `make wheelhouse`."""
    folder = tmp_path_factory.mktemp("wheelhouse") / "wheels"
    words = ["make", "-s", "-o", ".venv/.core", "wheelhouse", f"BIN={Path(sys.executable).parent}", f"WHEELHOUSE={folder}"]
    subprocess.run(words, cwd=ROOT, check=True, timeout=600, capture_output=True)
    return folder


def environment(folder):
    """A new environment, and pip as it works on it: the pip of the tests, since one of its own takes seconds to unpack."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    return f"{sys.executable} -m pip --python {folder}/bin/python"


def asked(installed, cwd, code, *words):
    return finished(sys.executable, "-c", code, *words, cwd=cwd, PYTHONPATH=str(installed)).stdout


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


def test_twine_accepts_both_distributions(distributions):
    words = [sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions)]
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


@pytest.mark.slow  # builds all distributions again
def test_the_sdist_builds_the_wheel_of_the_checkout(wheel, wheels):
    (direct,) = wheels.glob("ingest_sizing-*.whl")
    contents = [{name: book.read(name) for name in book.namelist()} for book in map(zipfile.ZipFile, (wheel, direct))]
    assert contents[0] == contents[1]


def test_the_wheel_names_its_licence_and_needs_little(wheel):
    book = zipfile.ZipFile(wheel)
    (name,) = (name for name in book.namelist() if name.endswith(".dist-info/METADATA"))
    lines = book.read(name).decode().splitlines()
    assert "License-Expression: Apache-2.0" in lines
    assert name.replace("METADATA", "licenses/LICENSE") in book.namelist()
    core = (line.split()[1] for line in lines if line.startswith("Requires-Dist: ") and "extra" not in line)
    needed = {re.split(r"[^\w-]", name)[0] for name in core}
    assert "numpy" in needed
    assert needed & {"pandas", "pyarrow", "datasets", "tokenizers"} == set()


@pytest.mark.slow
def test_a_folder_of_wheels_installs_without_a_network(wheels, tmp_path):
    """`make wheelhouse`, then a new environment in which pip asks no index and reads no settings."""
    bare = clean_environment(PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="", PYTHONPATH="")
    words = ["install", "-q", "--no-index", "--no-compile", "--find-links", str(wheels), "ingest-sizing"]
    subprocess.run([*environment(tmp_path / "new").split(), *words], env=bare, check=True, timeout=300, capture_output=True)
    words = ["bw", "--model", "cosmoflow", "--gpu", "h100", "--nodes", "128", "--format", "json"]
    done = subprocess.run([tmp_path / "new/bin/ingest", *words], env=bare, cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout)["results"]["ingest_bandwidth_per_job"]["value"] == pytest.approx(827.5e9, rel=0.01)
    present = {path.name.partition("-")[0].lower() for path in wheels.glob("*.whl")}
    assert present & {"pandas", "pyarrow", "datasets"} == set()


@pytest.mark.slow  # two environments with all that the package needs
def test_the_steps_of_the_image_run(tmp_path):
    """The RUN lines of the Containerfile in two environments, since an image builder is not part of the suite."""
    lines = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.partition(" ")[::2] for line in lines if line and not line.startswith("#")]
    copied = [words.split()[:-1] for step, words in steps if step == "COPY"]
    (tmp_path / "source").mkdir()
    for path in (path for paths in copied for path in paths):
        subprocess.run(["cp", "-r", str(ROOT / path), str(tmp_path / "source")], check=True)
    runs = [words.partition("python ")[2] for step, words in steps if step == "RUN"]
    for place, run in enumerate(runs):
        assert run.startswith("-m pip ")
        command = run.replace("-m pip", environment(tmp_path / f"env{place}"), 1).replace(" /wheels", f" {tmp_path}/wheels")
        how = {"cwd": tmp_path / "source", "env": {**os.environ, "PIP_NO_COMPILE": "1"}, "timeout": 300}
        subprocess.run(["bash", "-euc", command], check=True, capture_output=True, **how)
    done = subprocess.run([tmp_path / "env1/bin/ingest", "--version"], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.startswith("ingest, version ")
    last = {step: words for step, words in steps if step in ("USER", "ENTRYPOINT")}
    assert last == {"USER": "65532:65532", "ENTRYPOINT": '["ingest"]'}
