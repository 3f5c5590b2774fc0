"""Sizing of one job: a module for each question, beside the values that hold until the user sets them."""

from ingest.engine.value import defaults_of
from ingest.files import table_beside

_PARTS = table_beside(__file__, "defaults.csv")
#: question, or part of one -> quantity -> its value until the user sets it
USUAL = {part: defaults_of(rows) for part, rows in _PARTS.items()}
