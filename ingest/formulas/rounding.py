"""Numbers that people write: the value of a requirement line, rounded towards the stricter side; a result set by its user."""

from ingest.engine.registry import computed_quantities, input_quantities

input_quantities(__file__)
computed_quantities(__file__)
