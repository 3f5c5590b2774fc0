"""Input quantities: given by a catalog or the user, never computed."""

from ingest.engine.registry import input_quantities

input_quantities(__file__)
