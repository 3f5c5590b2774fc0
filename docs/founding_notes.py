"""The statements of the notes that this project began with, and the command that answers each: docs/founding-notes.yaml.

A row states one of these:

- `ask`, `result`: a command, and the result that answers: one of its results, or a path in its JSON, where lists go by number
  or id; `unit` where the JSON states none; `over`: a command whose result, or `by`, divides it.
- `case`: SET/CASE, a published figure of `ingest validate`.
- `scope`: the row of docs/published-errors.md that says why nothing answers.

`printed` is the figure of the notes, or its ends, and `within` the largest difference: a share, or `range` for the range of the
answer; a statement without a figure is answered by a value.
`error` names the words of docs/published-errors.md that show why the figure does not follow from its own inputs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from typing import Any, NamedTuple

from common import DOCS, ROOT, table

from ingest.catalog.yaml_reader import read_yaml
from ingest.cli.main import main
from ingest.units import display, parse
from ingest.validation import validate

#: The notes, in their order.
NOTES = ("slides", "flash", "workflows", "poster", "abstracts")
KEYS = {"says", "ask", "result", "unit", "over", "by", "case", "scope", "printed", "within", "error"}


class Answered(NamedTuple):
    """The answer to a statement: its value and range in the unit of the result, and as printed."""

    value: Any
    low: Any
    high: Any
    unit: str

    @property
    def shown(self) -> str:
        """The answer as the page prints it."""
        return self.value if isinstance(self.value, str) else display(self.value, self.unit, binary=False)


def rows() -> list[tuple[str, dict[str, Any]]]:
    """Every statement with the key of its note, in the order of the notes."""
    notes = read_yaml(DOCS / "founding-notes.yaml")
    return [(note, row) for note in NOTES for row in notes[note]]


@cache
def answer(command: str) -> Mapping[str, Any]:
    """The JSON of a command, run in this process from the root of the checkout."""
    import os
    import sys

    printed, caller, folder = StringIO(), sys.argv, os.getcwd()
    sys.argv = ["ingest", *shlex.split(command), "--format", "json"]
    try:
        os.chdir(ROOT)
        with redirect_stdout(printed), redirect_stderr(StringIO()), suppress(SystemExit):
            main()
    finally:
        os.chdir(folder)
        sys.argv = caller
    found: Mapping[str, Any] = json.loads(printed.getvalue())
    return found


def result(command: str, name: str, unit: str = "1") -> Answered:
    """A result of a command, or what is at a path of its JSON."""
    found: Any = answer(command)
    if name in found.get("results", {}):
        found = found["results"][name]
    else:
        for part in name.split("."):
            found = _below(found, part)
    if not isinstance(found, dict):
        return Answered(found, found, found, unit)
    value = found["value"]
    return Answered(value, found.get("low") or value, found.get("high") or value, found["unit"])


def _below(found: Any, part: str) -> Any:
    if isinstance(found, dict):
        return found[part]
    return found[int(part)] if part.isdecimal() else next(one for one in found if one["id"] == part)


@cache
def case(name: str) -> Any:
    """A published case of `ingest validate`, by SET/CASE."""
    of_set, _, one = name.partition("/")
    return next(found for found in validate(of_set).sets[0].results if found.id == one)


def answered(row: Mapping[str, Any]) -> Answered | None:
    """The answer to a statement; None where it is out of scope."""
    if "case" in row:
        found = case(row["case"])
        return Answered(found.ours, found.ours, found.ours, found.unit)
    if "ask" not in row:
        return None
    own = result(row["ask"], row["result"], row.get("unit", "1"))
    if "over" not in row:
        return own
    other = result(row["over"], row.get("by", row["result"]))
    return Answered(own.value / other.value, own.low / other.high, own.high / other.low, "1")


def agrees(row: Mapping[str, Any]) -> bool:
    """Whether the answer is the figure of the notes; with `error` that it is not."""
    found = answered(row)
    assert found is not None
    if "case" in row and not case(row["case"]).within:
        return False
    if "printed" not in row:
        return case(row["case"]).contradicted is ("error" in row) if "case" in row else bool(found.value)
    if isinstance(found.value, str):
        return found.value == row["printed"]
    stated = [parse(part, found.unit, row["says"]) for part in str(row["printed"]).split(" to ")]
    if row.get("within") == "range":
        same = found.low <= stated[-1] and stated[0] <= found.high
    else:
        share = parse(row.get("within", "1%"), "1", row["says"])
        same = stated[0] * (1 - share) <= found.value <= stated[-1] * (1 + share)
    return same is not ("error" in row)


def statements() -> str:
    """The table of every statement."""
    lines = []
    for number, (note, row) in enumerate(rows(), 1):
        found, how, printed = answered(row), "", row.get("printed", "")
        if "ask" in row:
            over = f" over `{row.get('by', row['result'])}` of `ingest {row['over']}`" if "over" in row else ""
            how = f"`ingest {row['ask']}`: `{row['result']}`{over}"
        elif found is not None:
            of_set, _, one = row["case"].partition("/")
            how = f"`ingest validate {of_set}`: {one}"
            printed = printed or display(case(row["case"]).published, found.unit, binary=False)
        verdict = "inside the range" if row.get("within") == "range" else "agrees" if printed != "" else "answered"
        if "scope" in row:
            verdict = f"[out of scope](published-errors.md#what-stays-unanswered-and-why): {row['scope']}"
        elif "error" in row:
            verdict = f"[published error](published-errors.md): {row['error']}"
        lines.append((number, note, row["says"], how, printed, found.shown if found else "", verdict))
    return table(("", "note", "the notes say", "answered by", "printed", "answer", ""), lines)


TABLES = {"founding-notes": statements}
