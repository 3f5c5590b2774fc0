"""Results in a shell and a notebook: short, found by label, copied, compared."""

import copy
import inspect
import pickle

import pytest
from conftest import EXAMPLES, example_plan

import ingest
from ingest.acceptance.observed_job import ObservedJob
from ingest.engine.interactive import InteractiveResult, InteractiveResults, UnknownResult
from ingest.engine.registry import label_of
from ingest.engine.result import Answer
from ingest.reports import pages, session
from ingest.reports.page import as_text

#: Lines and letters that a shell shows of any result.
MOST_LINES, MOST_LETTERS = 12, 1500
BW = {"nodes": 128, "protocol": "mlperf-storage"}


def bandwidth():
    return ingest.bw("cosmoflow", "h100", **BW)


#: Each kind of result, without measuring anything.
MAKERS = {
    "bw": bandwidth,
    "bw of several": lambda: ingest.bw("cosmoflow", "h100", nodes="1,2"),
    "checkpoint": lambda: ingest.checkpoint("llama3-70b", gpus=512),
    "memory": lambda: ingest.memory("llama3-70b", "h100"),
    "offload": lambda: ingest.offload("llama3-70b", "h100", gpus=8),
    "train": lambda: ingest.train("llama3-70b", "h100", gpus=512, tokens="1T"),
    "feed": lambda: ingest.feed("resnet50", "h100", nodes=1, epochs=1),
    "explain": lambda: ingest.explain("gpus", "cosmoflow", "h100"),
    "sweep": lambda: ingest.sweep({"nodes": [1, 2]}, "cosmoflow", "h100"),
    "plan": lambda: example_plan("hpc-128-nodes", None),
    "fit": lambda: ingest.fit(model="cosmoflow", gpu="h100", nodes=8),
    "fit of one": lambda: ingest.fit(model="cosmoflow", gpu="h100", nodes=8, storage="lustre")["lustre"],
    "catalog": lambda: ingest.catalog.list("gpus"),
    "entry": lambda: ingest.catalog.show("h100"),
    "systems": lambda: ingest.catalog.compare(["hdfs", "ceph"]),
}


@pytest.fixture(scope="module")
def results():
    return {name: make() for name, make in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_a_shell_shows_a_few_lines(results, name):
    shown = repr(results[name])
    assert str(results[name]) == shown
    heading = as_text(pages.page_for(results[name])._replace(sections=()))
    assert shown[:100].split("\n")[0] == heading[:100].split("\n")[0]
    assert max(map(len, shown.split("\n"))) <= session.MOST_LETTERS
    assert len(shown) < MOST_LETTERS
    assert len(shown.split("\n")) <= MOST_LINES


@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_says_the_same(results, name):
    copied = pickle.loads(pickle.dumps(results[name]))  # noqa: S301  made here
    assert copied == results[name]
    assert repr(copied) == repr(results[name])
    assert copied.to_frame().equals(results[name].to_frame())
    assert copy.copy(results[name]) == results[name]


def test_every_class_of_results_has_a_page_and_is_compared_by_what_it_says():
    def below(kind):
        yield kind
        for one in kind.__subclasses__():
            yield from below(one)

    for name in ingest.__all__:
        getattr(ingest, name)
    bases = (InteractiveResult, InteractiveResults)
    kinds = {one for one in below(InteractiveResult) if one not in bases and one.__module__.startswith("ingest.")}
    assert len(kinds) >= 20
    assert ObservedJob in kinds  # the command line alone makes it
    for kind in kinds:
        assert kind.__repr__ is InteractiveResult.__repr__, kind
        assert kind.__eq__ is InteractiveResult.__eq__, kind
        assert any(one.__name__ in pages.PAGES for one in kind.__mro__), kind
    assert set(session.CHARTS) <= {kind.__name__ for kind in kinds}
    assert set(pages.PAGES) == {kind.__name__ for kind in kinds if not issubclass(kind, Answer)} | {
        "Answer",
        "Estimate",
        "CorpusMeasurement",
    }


def test_answers_differ_where_one_input_does():
    assert bandwidth() == bandwidth()
    assert bandwidth() != ingest.bw("cosmoflow", "h100", **{**BW, "nodes": 127})
    assert bandwidth() != ingest.bw("cosmoflow", "h100", nodes=128, protocol="mlperf-storage", catalogs=[EXAMPLES])


def test_a_result_is_found_by_name_label_and_attribute():
    answer = bandwidth()
    job = answer.results["ingest_bandwidth_per_job"]
    assert answer["per job"] == answer["Read bandwidth per job"] == answer.ingest_bandwidth_per_job == job
    assert label_of("ingest_bandwidth_per_job") in answer
    assert "ingest_bandwidth_per_job" in dir(answer)
    assert "per job" in answer._ipython_key_completions_()
    assert list(answer) == list(answer.results)


def test_results_of_a_plan_and_of_a_page_are_found(results):
    # Every label of a page finds its result.
    for name in ("bw", "checkpoint", "train", "memory", "offload"):
        answer = results[name]
        rows = pages.page_for(answer).sections[0].rows
        assert all(row[0] in answer for row in rows), name
    # A line of a plan is found by id and quantity.
    plan = results["plan"]
    assert plan["R-READ-02"] == plan[plan.requirement("R-READ-02").metric] == plan.results["R-READ-02"]
    with pytest.raises(UnknownResult, match="did you mean 'R-READ-0"):
        plan["R-READ-0"]


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("per jb", "per job"), ("ingest_bandwidth_per_jb", "ingest_bandwidth_per_job"), ("job", "per job"), ("zebra", "")],
)
def test_an_unknown_result_names_the_nearest(wrong, near):
    answer = bandwidth()
    hint = f"; did you mean '{near}'?" if near else ", expected one of per GPU, per node, per job, "
    with pytest.raises(UnknownResult) as caught:
        answer[wrong]
    assert str(caught.value).startswith(f"no result '{wrong}'{hint}")
    assert len(str(caught.value)) < 300
    assert isinstance(caught.value, KeyError)
    assert wrong not in answer


def test_a_misspelt_attribute_names_the_nearest():
    with pytest.raises(AttributeError, match="Estimate has no attribute 'warnins'; did you mean 'warnings'"):
        bandwidth().warnins  # noqa: B018  reading it is the test


def test_a_property_that_fails_gives_its_own_error():
    class Broken(InteractiveResult):
        results = ()

        @property
        def broken(self):
            return None.absent

    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'absent'"):
        Broken().broken  # noqa: B018  reading it is the test


def test_several_results_are_read_by_place_and_by_name():
    several = ingest.bw("cosmoflow", "h100", nodes="1,2")
    assert len(several) == 2
    assert several[1]["per job"] == several["per job"][1] == several.ingest_bandwidth_per_job[1]
    assert several[1]["per job"].value == 2 * several[0]["per job"].value
    assert "per job" in several
    assert [one.nodes for one in several] == [1, 2]


def test_html_is_escaped_and_has_all_tables(tmp_path):
    site = (EXAMPLES / "hpc-128-nodes.yaml").read_text(encoding="utf-8")
    path = tmp_path / "site.yaml"
    path.write_text(site.replace("name: HPC site", "name: <script>alert(1)</script>", 1), encoding="utf-8")
    shown = ingest.plan(path)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "<svg" in shown
    assert shown.count("<table>") >= 5
    assert len(shown) < 100_000
    assert "<svg" in ingest.bw("resnet50", "h100")._repr_html_()


def test_names_and_signatures_of_the_functions_are_visible():
    assert list(inspect.signature(ingest.bw).parameters)[:3] == ["model", "gpu", "nodes"]
    for name in {*ingest.__all__} - {"__version__", "catalog", "IngestError"}:
        function = getattr(ingest, name)
        assert inspect.getdoc(function), name
        assert inspect.signature(function, eval_str=True), name
    with pytest.raises(AttributeError, match="did you mean 'checkpoint'"):
        ingest.chekpoint  # noqa: B018  reading it is the test


@pytest.mark.parametrize("name", ["bw", "feed", "memory", "offload", "train"])
def test_model_and_gpu_may_come_first(name):
    first = list(inspect.signature(getattr(ingest, name)).parameters.values())[:2]
    assert [one.name for one in first] == ["model", "gpu"]
    assert {one.kind for one in first} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
