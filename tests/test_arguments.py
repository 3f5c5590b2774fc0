"""Wrong types for every argument of every public function: an answer or one line, and the standard streams stay open."""

import inspect
import json
import os
import pickle
from fractions import Fraction
from pathlib import Path

import numpy
import pytest
from conftest import first, table
from rfp.offers import ONE_JOB, everything_met, filled

import ingest
from ingest.arguments import checked
from ingest.engine.messages import rule_of
from ingest.errors import MOST_LETTERS, IngestError, UsageError
from ingest.reports.workbook.vendor_workbook import vendor_workbook

SHIPPED = Path(__file__).parents[1] / "catalogs"
LOG = Path(__file__).parent / "observation/logs/megatron.log"
WRONG = (
    None, -1.5, {}, [], object(), len, b"x", "x" * 1000, numpy.int64(5), [5], {5: "x"}, True, "a\0b", "a\ud800b",
    Path("a\0b"),
)  # fmt: skip
#: function -> good arguments of a quick call
GOOD = table("cases.yaml")["good_arguments"]
#: what runs programs or reaches for other processes and machines
NEVER = {"command", "pid", "scheduler", "window"}
#: an option of `bw` that `sweep` does not take, and the name of all sets at once
LEFT_OUT = {("sweep", "gpus"), ("validate", "name")}
#: function, and one of its parameters
PLACES = [
    (name, parameter)
    for name in GOOD
    for parameter in inspect.signature(getattr(ingest, name)).parameters
    if parameter not in NEVER and (name, parameter) not in LEFT_OUT
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the good arguments name."""
    made = tmp_path_factory.mktemp("arguments")
    plan = ingest.plan(ONE_JOB, samples=0)
    (made / "site.yaml").write_text(json.dumps(ONE_JOB), encoding="utf-8")
    (made / "plan.json").write_text(json.dumps(plan.to_dict()), encoding="utf-8")
    (made / "a.txt").write_text("a line\n" * 5, encoding="utf-8")
    (made / "observation.json").write_text(json.dumps(ingest.observe(LOG, gpus=16).to_dict()), encoding="utf-8")
    filled(vendor_workbook(plan), everything_met(plan), made / "filled.xlsx")
    return made


def called(name, given):
    """A call, with what belongs to `*paths` as one argument before the others."""
    function = getattr(ingest, name)
    many = [one for one, declared in inspect.signature(function).parameters.items() if declared.kind is declared.VAR_POSITIONAL]
    first = [given.pop(one) for one in ("observation", *many) if one in given]
    return function(*first, **given)


@pytest.mark.parametrize("every", first(1, (3, 1)))
@pytest.mark.parametrize("name", GOOD)
def test_wrong_types_are_refused_in_one_line(name, every, folder, monkeypatch):
    """On a push each value is given to every third parameter, and each parameter is given a third of the values."""
    monkeypatch.chdir(folder)
    breaches, refusals = [], 0
    for start, place in enumerate(place for one, place in PLACES if one == name):
        for wrong in WRONG[start % every :: every]:
            try:
                called(name, {**GOOD[name], place: wrong})
            except IngestError as refusal:
                refusals += 1
                if any(len(line) > MOST_LETTERS or "\n" in line for line in refusal.lines):
                    breaches.append(f"{name}({place}={wrong!r:.60}): {len(str(refusal))} letters")
            except Exception as error:
                breaches.append(f"{name}({place}={wrong!r:.60}): {error!r:.200}")
    assert breaches == []
    assert refusals >= len(WRONG) // 2 // every
    os.fstat(1)


@pytest.mark.parametrize("wrong", ["", "a\0b", "a\ud800b", Path("a\0b")])
@pytest.mark.parametrize("name", ["accept", "measure", "plan"])
def test_a_name_that_no_file_can_have_is_refused(name, wrong):
    place = {"accept": "folder", "measure": "paths", "plan": "site"}[name]
    with pytest.raises(UsageError, match=f"^{place}: found .*, expected a path$"):
        called(name, {**GOOD[name], place: wrong})


@pytest.mark.parametrize("wrong", [{}, object(), "x" * 1000, [object()], b"x", len, [[1, 2], [3]], [], numpy.array([[1]])])
def test_wrong_values_of_an_axis_are_refused(wrong):
    with pytest.raises(UsageError, match="gpus_per_node"):
        ingest.sweep({"nodes": [1, 2], "gpus_per_node": wrong}, "cosmoflow", "h100")


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"nodes": numpy.int64(3)}, {"nodes": 3}),
        ({"nodes": numpy.array([1, 8])}, {"nodes": [1, 8]}),
        ({"sample_bytes": numpy.int64(5000)}, {"sample_bytes": 5000}),
        ({"utilization": numpy.float32(0.5)}, {"utilization": 0.5}),
        ({"set": {"nodes": numpy.uint8(2)}}, {"set": {"nodes": 2}}),
        ({"sample_bytes": Fraction(5000)}, {"sample_bytes": 5000}),
    ],
)
def test_numbers_of_any_library_count(given, plain):
    first, second = (ingest.bw("cosmoflow", "h100", **options).to_dict() for options in (given, plain))
    assert json.dumps(first) == json.dumps(second)


def test_paths_are_taken_where_text_is_declared():
    ids = [ingest.bw(named, "h100").inputs["model"]["value"] for named in (SHIPPED / "models/cosmoflow.yaml", "cosmoflow")]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("name", "given", "refusal"),
    [
        *table("refused.yaml")["a_refusal_names_the_argument"],
        ("report", {"site": "x", "output": {"a"}}, "output: found {'a'}, expected text, a path or a list"),
    ],
)
def test_a_refusal_names_the_argument(name, given, refusal):
    with pytest.raises(UsageError) as error:
        getattr(ingest, name)(**given)
    assert str(error.value) == refusal


def test_a_name_that_is_too_long_for_the_system_is_one_line():
    with pytest.raises(IngestError) as error:
        ingest.model("x" * 1000)
    assert str(error.value) == f"{'x' * 23}…{'x' * 95}: the system refused: File name too long"


@pytest.mark.parametrize(("letters", "cut"), [(MOST_LETTERS, False), (MOST_LETTERS + 1, True)])
def test_a_long_refusal_is_cut(letters, cut):
    def refuse():
        raise UsageError("two\nlines ".ljust(letters, "x"))

    with pytest.raises(UsageError) as error:
        checked("refuse", refuse, {}, {})()
    assert ("…" in str(error.value)) == cut
    assert len(str(error.value)) <= MOST_LETTERS
    assert "two lines" in str(error.value)


def test_public_functions_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(ingest.bw)) is ingest.bw  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: ingest.bw("cosmoflow", "h100", encoding="stored/foo"), "--encoding: found 'stored/foo', .*mean 'stored'"),
        (lambda: ingest.bw("cosmoflow", "h100", encoding="stored/1 kB"), "--encoding: found 'stored/1 kB', .*mean 'stored'"),
        (lambda: ingest.bw("cosmoflow", "h100", encoding="decoded/x"), "--encoding: found 'decoded/x', .*mean 'decoded'"),
        (lambda: ingest.checkpoint("llama3-8b", keep="last=20,every=x"), "--keep: found 'x', expected"),
        (lambda: ingest.checkpoint("llama3-8b", keep="last=-20"), "--keep: found -20, expected"),
    ],
)
def test_a_part_that_is_none_names_its_option(call, refusal):
    with pytest.raises(UsageError, match=rf"\A{refusal}"):
        call()


def test_an_unknown_priority_is_refused_with_and_without_a_plan():
    for plan in (None, "nobody.yaml"):
        with pytest.raises(UsageError, match="--priority: found 'nonsense', expected one of mandatory"):
            ingest.fit(plan, read_bandwidth="5 GB/s", priority="nonsense")


TEXT = {"tokens": "15T", "bytes_per_token": 4}


def test_a_setting_that_nothing_rests_on_is_named():
    for ask in (
        lambda set: ingest.dataset(**TEXT, set=set),
        lambda set: ingest.fit(read_bandwidth="5 GB/s", storage="ddn-ai400x2", set=set),
    ):
        assert [rule_of(line) for line in ask({"client_share": 5}).warnings] == ["W13"]
    assert not ingest.fit(read_bandwidth="5 GB/s", set={"io_bytes": 4096}).warnings


def test_an_overhead_of_another_sign_contradicts_the_rest():
    assert [rule_of(line) for line in ingest.dataset(**TEXT, set={"dataset_overhead_share": -0.98}).warnings] == ["W28"]
