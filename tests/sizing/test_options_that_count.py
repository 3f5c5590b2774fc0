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


@pytest.mark.parametrize(("command", "mode"), [(command, mode) for command, modes in TABLE["modes"].items() for mode in modes])
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
