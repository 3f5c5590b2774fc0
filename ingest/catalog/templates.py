"""Commented templates for entries of your own."""

from __future__ import annotations

from pathlib import Path

from ingest.catalog.records import Entry
from ingest.errors import UsageError, expected_one_of

_HEAD = """\
# {name}: a {thing} of your own. The file's stem is its id.
#   use it     ingest {command} --{option} {name}.yaml …
#   or put it  into DIR/{kind}/{name}.yaml and set --catalogs DIR
#   check it   ingest catalog check DIR
# Each value needs unit, source and grade: measured, published, vendor, derived or assumed. No source, no load.
# `low` and `high` are optional and feed the ranges. Delete what you do not know: the tool guesses nothing.
sources:
  my-source: {{title: "Where the numbers come from", url: "", version: ""}}

name: {name}
"""

#: one file per kind: its fields with examples and comments
_BODIES = Path(__file__).parent / "starters"
#: kind -> the command and the option that take an entry of it
_OPTIONS = {
    "models": ("bw", "model"),
    "gpus": ("bw", "gpu"),
    "nodes": ("bw", "node"),
    "corpora": ("dataset", "corpus"),
    "pipelines": ("dataset", "pipeline"),
    "formats": ("dataset", "format"),
}


def template(record: type[Entry], name: str) -> str:
    """Return a commented template that loads without changes.

    Raises:
        UsageError: a kind without a template.
    """
    kind = record.kind
    if kind not in _OPTIONS:
        raise UsageError(f"there is no template for {kind}, {expected_one_of(kind, _OPTIONS)}")
    command, option = _OPTIONS[kind]
    head = _HEAD.format(name=name, thing=option, command=command, option=option, kind=kind)
    return head + (_BODIES / f"{kind}.yaml").read_text(encoding="utf-8")
