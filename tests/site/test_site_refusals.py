"""Broken site files: one line that names file, line, key and expectation."""

import datetime
from pathlib import Path

import jsonschema
import pytest
from conftest import SITES, refused, table

import ingest
from ingest.catalog.yaml_reader import read_yaml
from ingest.errors import IngestError, UsageError
from ingest.site.schema import inlined, keeps
from ingest.site.site_file import SITE_FILE

BROKEN = Path(__file__).parents[1] / "broken" / "site"

#: file -> line, and what the message must say
FILES = table("site/broken_files.yaml")


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_refused_in_one_line(name, monkeypatch):
    monkeypatch.chdir(BROKEN)
    path = f"{name}.yaml"
    line, *words = FILES[name]
    with refused(*words) as found:
        ingest.plan(path, samples=0)
    if line is not None:
        assert str(found.value).startswith(f"{path}:{line}: "), str(found.value)


def test_broken_files_are_all_named():
    # Every broken file is named.
    assert {path.stem for path in BROKEN.glob("*.yaml")} == set(FILES)
    # A file that is not there.
    with pytest.raises(IngestError, match=r"nowhere\.yaml: cannot be read: No such file .*expected a site file"):
        ingest.plan("nowhere.yaml")


JOB = {"cluster": "main", "model": "resnet50", "nodes": 2}
SITE = {"clusters": {"main": {"node": "dgx-h100", "count": 8}}, "jobs": {"a": JOB}}


@pytest.mark.parametrize(("setting", "words"), table("site/refused.yaml")["a_setting_that_cannot_be"])
def test_a_setting_that_cannot_be(setting, words):
    with refused(words):
        ingest.plan(SITE, set=[setting], samples=0)


def test_settings_and_names_that_are_wrong():
    # A range may be set.
    settings = ["jobs.a.share={low: 20%, typical: 50%, high: 70%}", "jobs.a.runs=1"]
    found = ingest.plan(SITE, set=settings, samples=2000).requirement("R-READ-01")
    whole = ingest.plan(SITE, samples=0).computed["R-READ-01"]
    assert found.computed == whole / 2
    assert found.low < whole / 2 < found.high
    # A path twice.
    with pytest.raises(UsageError, match="given more than once"):
        ingest.plan(SITE, set=["jobs.a.nodes=1", "jobs.a.nodes=2"])
    # An unknown requirement names the nearest.
    with pytest.raises(UsageError, match="did you mean 'R-READ-01'"):
        ingest.plan(SITE, samples=0).explain("R-REED-01")


def test_counts_with_a_point_are_named_as_such_and_nothing_else(tmp_path):
    counts = "years: 5.000\njobs: {a: {checkpoint: {keep: 3.000}, cluster: main, model: resnet50, nodes: 2}}\n"
    text = f"{counts}clusters: {{main: {{node: dgx-h100, count: 8}}}}\nstorage: {{protection: {{data: 8.000, parity: 2}}}}\n"
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(IngestError) as found:
        ingest.plan(tmp_path / "site.yaml")
    said = [line.partition(": found ")[2] for line in str(found.value).splitlines()]
    assert said == [f"'{n}.000', expected a count without a point; did you mean '{n}000'?" for n in (5, 3, 8)]


HOSTILE = (None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "0", "-3", "30 s", "30 min", "nfs",
           "\x00", "a" * 3000, [], ["a"], {}, {"typical": 1}, {"low": 2, "typical": 1}, {1: 2}, {"unheard": 1},
           datetime.date(2027, 1, 1))  # fmt: skip


def _places(node, keys=()):
    yield keys
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from _places(inner, (*keys, key))


def _with(node, keys, value):
    return value if not keys else {**node, keys[0]: _with(node[keys[0]], keys[1:], value)}


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_what_the_quick_check_of_a_site_takes_the_schema_takes(path):
    written = read_yaml(path, kind=SITE_FILE)
    judge = jsonschema.Draft202012Validator(inlined())
    assert keeps(written, inlined())
    assert judge.is_valid(written)
    taken = 0
    for number, keys in enumerate(_places(written)):
        for value in (HOSTILE[number % len(HOSTILE)], HOSTILE[(7 * number + 3) % len(HOSTILE)]):
            changed = _with(written, keys, value)
            if keeps(changed, inlined()):
                taken += 1
                assert judge.is_valid(changed), (keys, value)
    assert taken
