"""No mode of a command ignores an option in silence."""

import json

import pytest
from conftest import table

import ingest
from ingest.engine.question import arguments_of
from ingest.errors import IngestError

TABLE = table("sizing/options_that_count.yaml")
#: Options that choose the mode, or say where entries come from.
OF_MODES = {"model", "set", "catalogs", "inference", "search", "largest"}


def told(command, asked):
    """What an answer says, without the echo of what is asked."""
    answer = getattr(ingest, command)(**asked)
    body = answer.to_dict()
    return json.dumps([body.get(part) for part in ("results", "tables", "warnings", "unknown")], default=str) + answer.unmet


MODES = [(command, mode) for command, modes in TABLE["modes"].items() for mode in modes]


@pytest.mark.parametrize(("command", "mode"), MODES)
def test_set_of_what_counts_a_machine_is_its_option(command, mode):
    asked = TABLE["modes"][command][mode]
    for name in {"gpus", "nodes", "tensor_parallel", "pipeline_parallel"} & arguments_of(getattr(ingest, command)).keys():
        others = {other: value for other, value in asked.items() if other != name}
        value = asked.get(name, TABLE["values"][name])
        try:
            alone, told_by_set = (told(command, {**others, **way}) for way in ({name: value}, {"set": {name: value}}))
        except IngestError:
            continue
        assert told_by_set == alone, name


@pytest.mark.parametrize(("command", "mode"), MODES)
def test_an_option_changes_the_answer_or_is_named_or_refused(command, mode):
    asked = TABLE["modes"][command][mode]
    alone, silent = told(command, asked), set()
    for name in arguments_of(getattr(ingest, command)).keys() - OF_MODES - TABLE["same"].get(command, {}).keys():
        try:
            if asked.get(name) != TABLE["values"][name] and told(command, {**asked, name: TABLE["values"][name]}) == alone:
                silent.add(name)
        except IngestError:
            continue
    assert not silent
