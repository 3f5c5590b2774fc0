"""Each formula moves with each of its parameters in the direction that `directions.txt` declares."""

import directions
import pytest

from ingest.engine.registry import FORMULAS, Formula

DECLARED = directions.declared()
AGAIN = "; see tests/directions.py: run `PYTHONPATH=tests python -m directions` and read the difference"


def contradictions(formula, declared, points, seed=0):
    """Parameters that the formula moves with in another direction than the declared one."""
    found = directions.sampled(formula, points, seed)
    return {need: seen for need, seen in found.items() if declared[need] != "~" and seen not in ("=", declared[need])}


def test_each_formula_moves_as_declared():
    # Each formula declares the direction of each parameter.
    declared = {name: list(needs) for name, needs in DECLARED.items()}
    assert declared == {name: list(one.needs) for name, one in FORMULAS.items()}, AGAIN
    assert {sign for needs in DECLARED.values() for sign in needs.values()} == set("+-=~")
    # Each formula moves as declared.
    found = {name: wrong for name, one in FORMULAS.items() if (wrong := contradictions(one, DECLARED[name], 25))}
    assert found == {}, AGAIN


@pytest.mark.slow
def test_each_formula_moves_as_declared_at_other_points():
    found = {name: wrong for name, one in FORMULAS.items() if (wrong := contradictions(one, DECLARED[name], 400, seed=1))}
    assert found == {}, AGAIN


def test_a_direction_that_depends_has_a_reason_and_is_rare():
    depends = {name for name, needs in DECLARED.items() if "~" in needs.values()}
    assert depends == directions.reasons().keys()
    assert len(depends) < len(DECLARED) / 15
    assert all(len(why) > 15 and why != "REASON" for why in directions.reasons().values())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ingest_bandwidth_per_gpu, gpus: ingest_bandwidth_per_gpu / gpus,
        lambda ingest_bandwidth_per_gpu, gpus: gpus - ingest_bandwidth_per_gpu,
        lambda ingest_bandwidth_per_gpu, gpus: ingest_bandwidth_per_gpu * max(gpus, 100 - gpus),
    ],
)
def test_a_formula_that_answers_the_other_way_round_is_found(wrong):
    name = "ingest_bandwidth_per_job"
    made = Formula(name, wrong, FORMULAS[name].needs, "B/s", "definition", "")
    assert contradictions(made, DECLARED[name], 25)
