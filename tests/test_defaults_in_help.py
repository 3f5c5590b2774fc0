"""Defaults in help: each is read from the table that the command takes it from, and none is typed a second time."""

import re
from collections.abc import Mapping
from importlib import import_module

import pytest
from fuzz.relations import numbers_of, stated_defaults

import ingest
from ingest.engine import registry
from ingest.engine.question import arguments_of, default_text
from ingest.engine.registry import default_of, unit_of
from ingest.errors import UsageError

#: command -> a quick call, in which defaults hold
CALLS = {
    "bw": ({"model": "cosmoflow", "gpu": "h100"},),
    "checkpoint": ({"model": "llama3-8b", "gpus": 64}, {"model": "llama3-8b", "gpus": 64, "mode": "sync"}),
    "dataset": ({"samples": 1000, "sample_bytes": 5000}, {"tokens": 1e12}),
    "feed": ({"model": "cosmoflow", "gpu": "h100", "steps": 20},),
    "goodput": ({"model": "llama3-8b", "gpus": 64, "runs": 2}, {"model": "llama3-8b", "gpus": 64, "runs": 2, "spares": 1}),
    "memory": ({"model": "llama3-8b", "gpu": "h100"},),
    "model": ({"source": "llama3-8b"},),
    "offload": ({"model": "llama3-8b", "gpus": 8}, {"model": "llama3-8b", "inference": True, "gpus": 8}),
    "rl": ({"model": "llama3-8b", "step_time": "2 min"}, {"model": "llama3-8b", "step_time": "2 min", "publish": "delta"}),
    "train": ({"model": "llama3-8b", "gpu": "h100", "gpus": 64, "tokens": 1e12},),
    "vectors": (
        {"vectors": 1e6, "dimensions": 768, "index": "diskann"},
        {"documents": 1e6, "tokens": 1e9, "dimensions": 96, "index": "hnsw"},
    ),
}


def function(name):
    return getattr(import_module(ingest._PLACES[name]), name)


def stated(name):
    """Option, the quantity whose default its help states, and the table of that default; None for its own declaration."""
    for option, one in arguments_of(function(name)).items():
        declared = one.declared
        for place in re.findall(r"(?<!\{)\{(?!choices\})(\w+)\}", declared.help if declared else ""):
            quantity = declared.quantity if place == "default" else place
            in_table = isinstance(declared.usual, Mapping) and quantity in declared.usual
            if in_table or (quantity and not (isinstance(declared.usual, str) and declared.usual)):
                yield option, quantity, declared.usual if in_table else None


STATED = [(name, *one) for name in ingest._PLACES for one in stated(name)]


def typical(quantity, table):
    """The default as its table, or its declaration, has it."""
    return default_of(quantity) if table is None else getattr(table[quantity], "value", table[quantity])


@pytest.mark.parametrize(("name", "option", "quantity", "table"), STATED, ids=[f"{one[0]}-{one[1]}-{one[2]}" for one in STATED])
def test_help_follows_the_table(name, option, quantity, table, monkeypatch):
    before = arguments_of(function(name))[option].declared.text
    assert default_text(typical(quantity, table), unit_of(quantity)) in before
    changed = typical(quantity, table) * 2 + 7
    if table is not None:
        item = table[quantity]
        monkeypatch.setitem(table, quantity, item._replace(value=changed) if hasattr(item, "_replace") else changed)
    else:
        declared = registry._declared[quantity]
        monkeypatch.setitem(registry._declared, quantity, declared._replace(default=changed))
    after = arguments_of(function(name))[option].declared.text
    assert after != before
    assert default_text(changed, unit_of(quantity)) in after


@pytest.mark.parametrize("name", CALLS)
def test_what_help_states_is_what_the_command_takes(name):
    compared = 0
    for call in CALLS[name]:
        known = getattr(ingest, name)(**call).known
        for _, quantity, table in stated(name):
            item = known.given.get(quantity)
            if item is not None and item.origin == "default":
                compared += 1
                assert item.value == typical(quantity, table), quantity
    assert compared or not any(table for _, _, table in stated(name))


@pytest.mark.parametrize("name", CALLS)
def test_a_default_that_is_stated_changes_nothing(name):
    """Of every option whose help names what holds without it; what decides more where it is given says so instead."""
    compared = 0
    for call in CALLS[name]:
        before = numbers_of(getattr(ingest, name)(**call))
        for option, value in stated_defaults(name):
            if option in call:
                continue
            try:
                after = numbers_of(getattr(ingest, name)(**call, **{option: value}))
            except UsageError as refused:
                if re.search(r"found (with|without|a data set of text)", str(refused)):
                    continue  # it belongs to another question, such as that of inference
                raise
            compared += 1
            assert after == before, (call, option, value)
    assert compared


def test_what_acts_only_where_it_is_given_states_no_default():
    told = {name: one.declared.text for name, one in arguments_of(function("checkpoint")).items() if one.declared}
    assert "by default" not in told["waste"] + told["drain_fraction"] + told["drain_time"] + told["precision"]
    told = {name: one.declared.text for name, one in arguments_of(function("memory")).items() if one.declared}
    assert "by default" not in told["residual"] + told["utilization"]


def test_no_default_is_typed():
    found = [
        f"{name} --{option}: {one.declared.help}"
        for name in ingest._PLACES
        for option, one in arguments_of(function(name)).items()
        if one.declared is not None and re.search(r"\d[^\s;]* (\w+ )?by default", one.declared.help)
    ]
    assert found == []
