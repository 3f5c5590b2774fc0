"""Results that four tools left on one machine, and edits of them: the results have no word of caution, each edit has one."""

import hashlib
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml
from conftest import finished
from outputs import edited, listed_anew, summed, words_on
from plans import plan, times

import ingest
from ingest.acceptance.tools import runs_in

pytestmark = pytest.mark.usefixtures("short_rehearsal")
BOOTED = 1_767_600_000
RAN = ("T-READ-01-fio", "T-WRITE-01-fio", "T-META-02-fio")
EDITS, RECORDED = (yaml.safe_load(Path(__file__).with_name(name).read_text()) for name in ("edits.yaml", "recorded.yaml"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Two runs of fio on this machine, as their scripts leave them, beside recorded ones of the other tools."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "storage").mkdir()
    tools = ["fio", "ior", "mdtest", "elbencho"]
    made = ingest.accept(plan(folder, times(1e-3)), folder / "tests", scale="1node", repeats=2, tool=tools)
    for test in RAN:
        finished("sh", f"fio/{test}.sh", cwd=folder / "tests", TARGET=str(folder / "storage"))
    asked = Counter()
    for name, run in RECORDED.items():
        path, ident = folder / "tests/results" / name, name.partition(".")[0]
        path.write_text(run["text"])
        path.with_name(f"{ident}.tests.sha256").write_text(f"{made.manifest_hash}  -\n")
        began, ended = run["ran"]
        # Of results that were recorded before scripts metered what they run: all that they moved, one run after the other.
        moved = sum(load.rate * (load.seconds or 0) for one in runs_in(path) for load in one.loads if load.unit == "B/s")
        before, asked[ident] = asked[ident], asked[ident] + round(moved)
        meters = f"before={BOOTED},{began - BOOTED},{before},0,0,0,0 after={BOOTED},{ended - BOOTED},{asked[ident]},0,0,0,0"
        turn, script = name.partition(".run")[2][0], f"{ident.rpartition('-')[2]}/{ident}.sh"
        with path.with_name(f"{ident}.sha256").open("a") as log:
            contents = "65600,65536,1" if moved else ""  # tests of metadata take no sample
            log.write(f"# {began} {ended} node1 nfs {name} turn={turn}/2 script=9 {meters} contents={contents}\n")
            for one, listed in ((folder / "tests" / script, script), (path, name)):
                log.write(f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {listed}\n")
        summed(path.with_name(f"{ident}.sha256"))
    return folder / "tests"


def test_results_as_their_tools_left_them_pass_without_a_word(ran):
    assert ingest.verdict(ran, ran / "results").refused == {}
    for test in {name.partition(".")[0] for name in RECORDED} | {*RAN}:
        assert words_on(ran, test)[:2] == ("pass", [])


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_has_its_word_though_all_hashes_are_made_anew(ran, tmp_path, name):
    folder, change = shutil.copytree(ran, tmp_path / "tests"), EDITS[name]
    first, *others = sorted((folder / "results").glob(f"{change['test']}.run*.*"))
    source = first.read_text()
    for path in others if "copy" in change else (first, *others):
        own = path.read_text()
        text = edited(source if "copy" in change else own, own, change)
        assert text != own
        path.write_text(text)
        listed_anew(path)
    if "copy" in change:  # of a run that may have been faster than the counters of this one
        summed(folder / f"results/{change['test']}.sha256", lambda text: re.sub(r" before=.*", "", text))
    assert change["word"] in str(words_on(folder, change["test"])[1:])
