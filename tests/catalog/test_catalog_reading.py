"""Hostile and broken files: one line that names place, expectation and nearest match, and nothing executed."""

import shutil
from pathlib import Path

import pytest
from conftest import table
from hypothesis import given
from hypothesis import strategies as st

from ingest import catalog
from ingest.catalog.records import Gpu, Model, Rate
from ingest.catalog.store import Catalog
from ingest.catalog.yaml_reader import MAX_BYTES, line_of, read_yaml
from ingest.errors import CatalogError, IngestError

BROKEN = Path(__file__).parents[1] / "broken"

#: kind -> file -> its line, if a single line is to blame, and what the message must say
ENTRIES = table("catalog/broken_entries.yaml")
#: readable, but impossible: only `catalog check` refuses them
IMPOSSIBLE_RATES = {
    "above-the-peak": (3, "found 1.5 PFLOP/s", "1,500 samples/s", "expected at most 989.4 TFLOP/s", "bf16 peak of h100-sxm")
}
OVERLAYS = table("catalog/refused.yaml")["overlays"]


def assert_names(message, path, line, words):
    """One line with the place, then what was expected."""
    assert "\n" not in message.strip()
    assert "Traceback" not in message
    assert f"{path}:{line}: " in message if line else f"{path}" in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", ENTRIES["models"])
def test_a_broken_model_is_one_line_on_the_command_line(run, name, tmp_path):
    line, *words = ENTRIES["models"][name]
    path = Path("models", f"{name}.yaml")
    shutil.copytree(BROKEN / "models", tmp_path / "models")
    ran = run("bw", "--model", path, "--gpu", "h100", "--basis", "efficiency", "--flops-per-sample", "1e9")
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert_names(ran.refusal, path, line, words)
    # Whatever a file asks to be run would run here.
    assert list(tmp_path.iterdir()) == [tmp_path / "models"]


@pytest.mark.parametrize(("folder", "name"), [(kind, name) for kind in ("gpus", "rates") for name in ENTRIES[kind]])
def test_a_broken_gpu_and_the_csv_of_broken_rates_are_named_in_one_line(run, folder, name):
    line, *words = ENTRIES[folder][name]
    path = Path(folder, f"{name}.yaml")
    asked = {"gpus": ("resnet50", path), "rates": (path, "h100")}[folder]
    ran = run("bw", "--model", asked[0], "--gpu", asked[1], cwd=BROKEN)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert_names(ran.refusal, path if folder == "gpus" else path.with_suffix(".csv"), line, words)


@pytest.mark.parametrize("name", IMPOSSIBLE_RATES)
def test_check_names_the_line_of_an_impossible_rate(name, tmp_path):
    line, *words = IMPOSSIBLE_RATES[name]
    folder = tmp_path / "models"
    folder.mkdir()
    for suffix in (".yaml", ".csv"):
        (folder / f"{name}{suffix}").write_bytes((BROKEN / "rates" / f"{name}{suffix}").read_bytes())
    (problem,) = catalog.check(tmp_path).problems
    assert_names(problem, folder / f"{name}.csv", line, words)


HEADER = ",".join(Rate._fields[:-1])


@pytest.mark.parametrize(("row", "fits"), table("catalog/cases.yaml")["no_rate_exceeds_the_dense_peak_of_its_precision"])
@pytest.mark.parametrize("described_here", [True, False])
def test_no_rate_exceeds_the_dense_peak_of_its_precision(tmp_path, row, fits, described_here):
    rates, described = tmp_path / "rates", tmp_path / "described"
    for folder in (rates, described):
        (folder / "models").mkdir(parents=True)
    model = (BROKEN / "rates" / "above-the-peak.yaml").read_text(encoding="utf-8")
    ((rates if described_here else described) / "models" / "own.yaml").write_text(model, encoding="utf-8")
    written = f"{HEADER}\n{row},8,1,mlperf-training,,mlperf-storage-v2,log,measured,,\n"
    (rates / "models" / "own.csv").write_text(written, encoding="utf-8")
    problems = catalog.check(rates, catalogs=[described]).problems
    assert len(problems) == (0 if fits else 1)
    assert all("own.csv:2: found" in problem for problem in problems)


def test_a_rate_without_flops_per_sample_is_not_judged(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "own.yaml").write_text("name: Own\nsample: one image\nfamily: vision\n", encoding="utf-8")
    written = f"{HEADER}\nh100-sxm,bf16,1e12,,8,1,mlperf-training,,mlperf-storage-v2,log,measured,,\n"
    (tmp_path / "models" / "own.csv").write_text(written, encoding="utf-8")
    assert catalog.check(tmp_path).problems == ()


@pytest.mark.parametrize("name", OVERLAYS)
def test_check_finds_what_is_wrong_in_a_folder(name):
    inside, line, *words = OVERLAYS[name]
    folder = BROKEN / "overlays" / name
    (problem,) = catalog.check(folder).problems
    assert_names(problem, folder / inside, line, words)


def test_check_reports_every_problem_at_once(run):
    folder = BROKEN / "overlays" / "two-broken-files"
    ran = run("catalog", "check", folder)
    first, other, second = ran.out.splitlines()
    assert_names(first, folder / "models" / "first.yaml", 1, ["'sample' is missing"])
    assert_names(other, folder / "models" / "first.yaml", 1, ["'family' is missing"])
    assert_names(second, folder / "models" / "second.yaml", 4, ["did you mean 'flops_per_sample'?"])
    assert ran.code == 1
    assert "3 problems in 3 files" in ran.refusal


def test_every_broken_file_is_expected():
    def stems(folder, suffix):
        return {path.stem for path in (BROKEN / folder).glob(f"*{suffix}")}

    assert stems("models", ".yaml") == set(ENTRIES["models"])
    assert stems("gpus", ".yaml") == set(ENTRIES["gpus"])
    assert stems("rates", ".csv") == {*ENTRIES["rates"], *IMPOSSIBLE_RATES}
    assert {path.name for path in (BROKEN / "overlays").iterdir()} == {*OVERLAYS, "two-broken-files"}


@pytest.mark.parametrize("folder", sorted({"models", "gpus", "rates"}))
def test_check_survives_every_broken_file(folder, tmp_path):
    kind = "gpus" if folder == "gpus" else "models"
    target = tmp_path / kind
    target.mkdir()
    names = [path for path in (BROKEN / folder).iterdir() if path.suffix in (".yaml", ".csv")]
    for path in names:
        (target / path.name).write_bytes(path.read_bytes())
    report = catalog.check(tmp_path)
    blamed = {path.stem for path in target.iterdir() if any(f"{path.stem}." in problem for problem in report.problems)}
    assert report.files >= len({path.stem for path in names})
    assert blamed == {path.stem for path in names}


def test_a_file_too_large_for_a_catalog_is_not_parsed(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"name: x\nnotes: [" + b"a, " * (MAX_BYTES // 3) + b"b]\n")
    with pytest.raises(CatalogError, match="larger than 2,000,000 bytes, expected a catalog entry"):
        read_yaml(path)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(CatalogError, match="cannot be read"):
        read_yaml(tmp_path)


#: Each of these is something else in YAML 1.1: a truth, a base-60 number, an octal number, a date.
PLAIN = [(word, word) for word in ("yes", "no", "on", "1:30", "012", "0x10", "2024-01-31", "=")]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("989.4e12", 989.4e12), ("1e3", 1000.0), ("1_000", 1000), ("-3", -3), (".5", 0.5), ("true", True), ("null", None),
        ("~", None), *PLAIN, ('"5"', "5"), ("'true'", "true"), ("'~'", "~"),
    ],
)  # fmt: skip
def test_scalars_have_no_surprises(tmp_path, written, expected):
    path = tmp_path / "scalar.yaml"
    path.write_text(f"key: {written}\n", encoding="utf-8")
    found = read_yaml(path)["key"]
    assert (type(found), found) == (type(expected), expected)


plain = st.recursive(
    st.one_of(
        st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text("abz: -#'\"[]{}", max_size=8)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc", min_size=1), plain, min_size=1, max_size=4))
def test_what_json_writes_reads_back(tmp_path_factory, data):
    import json

    path = tmp_path_factory.mktemp("plain") / "data.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert read_yaml(path) == data


@given(st.binary(max_size=200))
def test_no_bytes_give_anything_but_a_refusal_of_one_line(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("noise") / "noise.yaml"
    path.write_bytes(raw)
    with pytest.raises(IngestError, match=r"\A[^\n]*\Z"):
        Catalog().get(Model, str(path))


@pytest.mark.parametrize(
    ("keys", "line"),
    [((), 1), (("peak_flops",), 3), (("peak_flops", "bf16"), 4), (("peak_flops", "fp8"), 3), (("nothing",), 1)],
)
def test_the_line_of_a_key_is_that_of_the_deepest_that_exists(keys, line):
    assert line_of(BROKEN / "gpus" / "bytes-per-second-where-flops-belong.yaml", keys) == line


def test_a_whole_entry_of_ones_own_loads(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        "sources: {lab: {title: Our laboratory}}\nname: Own\nvendor: NVIDIA\n"
        "peak_flops:\n  bf16: {value: 1, low: 0.9, high: 1.1, unit: PFLOP/s, source: lab, where: log 7, grade: measured}\n",
        encoding="utf-8",
    )
    value = Catalog().get(Gpu, str(path)).peak_flops["bf16"]
    assert (value.value, value.low, value.high, value.unit) == (1e15, 0.9e15, 1.1e15, "FLOP/s/GPU")
    assert (value.source, value.where, value.grade) == ("lab", "log 7", "measured")
