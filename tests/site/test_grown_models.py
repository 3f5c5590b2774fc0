"""Growth of the parameters of a model: what grows with it, and the year from which its run no longer fits its nodes."""

import random

import pytest

from ingest import memory, plan


def planned(nodes, growth, years, **checkpoint):
    job = {
        "cluster": "main",
        "nodes": nodes,
        "growth": growth,
        "checkpoint": {"mode": "async", "keep": 2, "interval": "30 min", **checkpoint},
    }
    site = {
        "start": 2026,
        "years": years,
        "clusters": {"main": {"node": "dgx-h100", "count": 2000}},
        "jobs": {"text": job},
        "datasets": {"ids": {"bytes": "1 TB"}},
        "storage": {"protection": {"data": 8, "parity": 2}},
    }
    return plan(site, samples=0)


def named(made):
    return [line for line in made.warnings if line.startswith("W102") or "of states no longer fit" in line]


def test_drawn_growth_names_the_year_in_which_memory_needs_more_nodes():
    draw = random.Random(7)
    for _ in range(6):
        start, factor = draw.randint(10**9, 60 * 10**9), draw.uniform(1.5, 6)
        nodes, months = draw.randint(4, 60), draw.choice((6, 12, 24))
        made = planned(nodes, {"parameters": factor, "every": f"{months / 12} years"}, 4, parameters=start)
        rows = made.tables["models"]
        late = None
        for year, row in enumerate(rows):
            parameters = start * factor ** (year * 12 / months)
            held = memory(set={"parameters": parameters}, gpu="h100").results
            assert row["grown_parameters"] == pytest.approx(parameters, rel=1e-9)
            assert row["grown_weights_bytes"] == pytest.approx(2 * parameters, rel=1e-9)
            assert row["grown_checkpoint_bytes"] == pytest.approx(
                rows[0]["grown_checkpoint_bytes"] * parameters / start, rel=1e-9
            )
            assert row["grown_restart_bytes"] == pytest.approx(rows[0]["grown_restart_bytes"] * parameters / start, rel=1e-9)
            assert row["model_state_bytes"] == pytest.approx(16 * parameters, rel=1e-9)
            assert row["nodes_to_hold"] == held["nodes_to_hold"].value
            late = late or (f"in {2026 + year} " if row["nodes_to_hold"] > nodes else None)
        told = named(made)
        assert bool(told) == bool(late)
        assert not late or late in told[0]


def test_both_forms_of_the_growth_are_one():
    short = planned(16, {"parameters": 10, "every": "1 year"}, 3, parameters=8e9)
    long = planned(16, {"parameters": {"factor": 10, "every": "1 year"}}, 3, parameters=8e9)
    assert short.tables["models"] == long.tables["models"]
    assert [line.value for line in short.requirements] == [line.value for line in long.requirements]


def test_a_model_that_fits_in_all_years_names_none():
    grown = planned(1, {"parameters": 1.01, "every": "1 year"}, 2, parameters=1e9)
    assert not named(grown)
    assert all("nodes_to_hold" in row for row in grown.tables["models"])
