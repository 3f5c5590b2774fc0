"""The table of options: defaults that help reads from it, none typed twice, and numbers whose unit or point is not guessed."""

import re
from collections.abc import Mapping
from importlib import import_module

import pytest
from conftest import table
from fuzz.relations import numbers_of, stated_defaults

import ingest
from ingest.engine import registry
from ingest.engine.question import arguments_of, default_text
from ingest.engine.registry import comes_whole, default_of, unit_of
from ingest.errors import IngestError, UsageError
from ingest.units import needs_unit

#: command -> quick calls, in which defaults hold; and those for the options that these do not take
CALLS, FURTHER = table("calls.yaml").values()
BARE = r"found '[\d.]+' without a unit, expected one, such as '[\d.]+ ?(?P<one>\S+)' or '[\d.]+ ?(?P<other>\S+)'"


def said_of(name, option, written):
    """What a command says of a value, in the first of its calls that takes the option."""
    said = ""
    for call in [*CALLS.get(name, ()), *FURTHER.get(name, ())]:
        try:
            getattr(ingest, name)(**{**call, option: written})
            return ""
        except IngestError as refused:
            said = str(refused)
            if not re.search(r"(found|expected) (with|without)(?! a (unit|point))|which trains", said):
                return said
    return said


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
        for _, quantity, usual in stated(name):
            item = known.given.get(quantity)
            if item is not None and item.origin == "default":
                compared += 1
                assert item.value == typical(quantity, usual), quantity
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


@pytest.mark.parametrize("name", CALLS | FURTHER)
def test_no_unit_and_no_point_is_guessed(name):
    """A bare time, rate or size is refused with two units; whoever refuses 1.5 of a thing refuses 1.000 of it."""
    for option, one in arguments_of(getattr(ingest, name)).items():
        metavar, quantity = (one.declared.metavar, one.declared.quantity) if one.declared is not None else ("", "")
        said = said_of(name, option, "1.5") if metavar in ("N", "K", "TIME", "RATE", "SIZE") or quantity else ""
        if metavar in ("TIME", "RATE", "SIZE") or (quantity and needs_unit(1.5, unit_of(quantity))):
            found = re.search(BARE, said)
            assert len({*found.groups()} if found else ()) == 2, (option, said)
        elif metavar in ("N", "K"):
            whole, pointed = "a whole number" in said or (quantity and comes_whole(quantity)), said_of(name, option, "1.000")
            assert ("expected a count without a point; did you mean '1000'?" in pointed) == bool(whole), (option, pointed)
            assert "expected 1 or 1000" not in pointed or "in two ways" not in said_of(name, option, "1.125"), option


SET_TWICE = [
    (name, option, quantity)
    for name in ingest._PLACES
    if "quantity" not in (taken := arguments_of(function(name))) and "set" in taken
    for option, one in taken.items()
    if one.declared is not None
    for quantity in (one.declared.quantity, *one.declared.sets.split())
    if quantity
]


@pytest.mark.parametrize(("name", "option", "quantity"), SET_TWICE)
def test_an_option_and_set_never_state_one_quantity(name, option, quantity):
    words = rf"--{option.replace('_', '-')}: found with --set {quantity}, expected one of them"
    needed = [one for one in arguments_of(function(name)).values() if one.required]
    places = ["ingest_bandwidth_per_job" if name == "explain" else {"epochs": [1, 2]} for one in needed if one.place]
    for given in ({quantity: 3}, [f"{quantity}=3"], f" {quantity} =3"):
        with pytest.raises(UsageError, match=words):
            function(name)(*places, **{option: 3, "set": given})


@pytest.mark.parametrize("name", CALLS | FURTHER)
def test_no_quantity_is_stated_twice(name):
    """`--set` beside an option is refused for each quantity that the option states, and for one of its own name."""
    options, (call, *_) = arguments_of(function(name)), {**FURTHER, **CALLS}[name]
    for option, one in options.items() if "set" in options else ():
        for quantity in one.states:
            with pytest.raises(UsageError, match=f": found with --set {quantity}, expected one"):
                getattr(ingest, name)(**{**call, option: "7", "set": {quantity: 1}})
