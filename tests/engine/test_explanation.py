"""A quantity explained: every line can be recomputed from the lines below it."""

import ast
import re

import pytest

import ingest
from ingest.errors import MissingQuantity, UsageError

JOB = {"model": "cosmoflow", "gpu": "h100", "nodes": 128}
SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", ",": ""})


def recomputed(text):
    """The value of a printed sum of numbers."""
    tree = ast.parse(text.translate(SIGNS).replace("^", "**"), mode="eval")
    # Nothing but arithmetic may stand there: no names, no calls.
    assert all(isinstance(node, (ast.Expression, ast.BinOp, ast.Constant, ast.operator)) for node in ast.walk(tree))
    return eval(compile(tree, "derivation", "eval"), {"__builtins__": {}})  # noqa: S307  checked on the line above


def every_node(tree):
    yield tree
    for part in tree.get("inputs", []):
        yield from every_node(part)


def test_one_scenario_is_explained():
    with pytest.raises(UsageError, match=r"^explain: found 4 scenarios, expected one model, GPU and number of nodes"):
        ingest.explain("gpus", "cosmoflow", "h100,a100", nodes="1,64")


@pytest.mark.parametrize("options", [JOB, {**JOB, "utilization": 0.7, "cache_hit": 0.3}, {**JOB, "basis": "peak"}])
@pytest.mark.parametrize("name", ["ingest_bandwidth_per_job", "epoch_seconds", "storage_nic_share"])
def test_every_printed_line_of_numbers_gives_the_printed_result(name, options):
    lines = ingest.explain(name, **options).lines()
    checked = 0
    for place, line in enumerate(lines):
        numbers = line.strip().removeprefix("= ")
        if not line.strip().startswith("= ") or re.search("[a-z]", numbers.replace("e+", "")):
            continue
        head = lines[place - 2]
        exactly = re.search(r"\[([\d.,e+-]+)", head) or re.search(r"= ([\d.,e+-]+)", head)
        assert recomputed(numbers) == pytest.approx(float(exactly[1].replace(",", "")), rel=1e-8), line
        checked += 1
    assert checked >= 2


def test_lines_name_where_values_come_from():
    # The tree goes down to sourced values.
    tree = ingest.explain("ingest_bandwidth_per_job", **JOB).to_dict()["derivation"]
    leaves = {node["name"]: node for node in every_node(tree) if not node.get("inputs")}
    assert leaves["sample_bytes"]["source"] == "mlperf-storage-v2"
    assert leaves["sample_bytes"]["grade"] == "published"
    assert leaves["nodes"]["from"] == "user"
    assert leaves["unstalled_samples_per_second_per_gpu"]["evidence"][0]["value"] == pytest.approx(285.714, rel=1e-5)
    # A value of the user is named as such.
    text = "\n".join(ingest.explain("ingest_bandwidth_per_gpu", **JOB, set={"sample_bytes": 5e6}).lines())
    assert "given by the user" in text
    assert "5,000,000 B/sample" in text
    # A median shows the rates behind it.
    text = "\n".join(ingest.explain("samples_per_second_per_gpu", model="resnet50", gpu="h100").lines())
    assert "mlperf-training" in text
    assert "mlperf-storage" in text
    assert "median of" in text


@pytest.mark.parametrize("name", ["nfs_tcp_client_share", "nfs_nconnect_client_share"])
def test_every_result_can_be_explained(name):
    answer = ingest.bw(**JOB)
    assert ingest.explain(name, **JOB).step.value == answer.results[name].value


@pytest.mark.parametrize("name", sorted(ingest.bw(**JOB).results))
def test_an_explanation_agrees_with_bw(name):
    assert ingest.explain(name, **JOB).step.value == ingest.bw(**JOB).results[name].value


def test_what_cannot_be_explained_says_why():
    # What cannot be computed says what to supply.
    with pytest.raises(MissingQuantity, match="--set active_weight_parameters=VALUE"):
        ingest.explain("training_seconds", **JOB)
    # An unknown quantity names the nearest.
    with pytest.raises(UsageError, match="did you mean 'ingest_bandwidth_per_job'"):
        ingest.explain("ingest_bandwith_per_job", **JOB)
