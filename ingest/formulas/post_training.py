"""Reinforcement learning as a load of storage: versions of weights that a trainer publishes and rollout hosts pull, the
chain that a host reads when it joins, rollout traces, sandboxes."""

from ingest.engine.registry import alternative, computed_quantities, input_quantities
from ingest.formulas.site_totals import totals

input_quantities(__file__)

#: Own measurement of the encodings; `tests/sizing/weight_versions.py` repeats it.
MEASURED = "ingest-weight-versions"

computed_quantities(__file__)

alternative("published_parameters", "trainable_parameters", when="adapters_published")
alternative("pull_seconds", "pause_seconds", when="pulled_in_pause")


totals(
    publish="Writes of versions",
    pull="Reads of versions by all rollout hosts",
    join="Reads where all rollout hosts join at once",
    trace="Writes of rollout traces",
)
