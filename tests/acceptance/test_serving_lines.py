"""The verdict on the lines of a site that serves models: reads and writes of caches, and weights at a start."""

import json

import pytest
from outputs import fio_results

import ingest

SERVING = {
    "clusters": {"main": {"node": "dgx-h100", "count": 8}},
    "serving": {"chat": {"cluster": "main", "nodes": 8, "model": "llama3-70b", "users": 1000, "turns": 8, "prompt": 1000,
                         "generate": 500, "load_time": "30 s"}},
}  # fmt: skip


@pytest.mark.parametrize(("factor", "result"), [(0.9, "fail"), (1.02, "pass")])
def test_lines_of_serving_are_judged(tmp_path, factor, result):
    site = tmp_path / "site.yaml"
    site.write_text(json.dumps(SERVING), encoding="utf-8")
    made = ingest.accept(site, tmp_path / "tests")
    asked = ("R-KV-02", "R-SERVE-01")
    # Where caches alone write, one test judges R-WRITE-01 and R-KV-02: their rates and blocks are the same.
    tested = ("R-WRITE-01", "R-SERVE-01")
    slow = {load.name: factor for test in made.tests if test.requirement in tested for load in test.loads}
    verdict = ingest.verdict(made.folder, fio_results(made.tests, tmp_path / "results", 1.02, parts=slow))
    judged = {line["id"]: line["result"] for line in verdict.to_dict()["requirements"]}
    assert {name: judged[name] for name in ("R-KV-01", *asked)} == {"R-KV-01": "pass", "R-KV-02": result, "R-SERVE-01": result}
