"""Inference whose weights or key-value cache lie below GPU memory: bytes by tier, prefill, decode, tokens per second; and the
key-value tier of a serving cluster: capacity, reads of reused context, writes of new context, time budget per block.
"""

from ingest.engine.expression import Num, ceil, minimum, where
from ingest.engine.registry import computed_quantities, formula, input_quantities

input_quantities(__file__)

ZERO_INFERENCE = "deepspeed-examples"

computed_quantities(__file__)

#: The percentile of turns that coincide, and where it lies in the standard normal distribution.
PERCENTILE, DEVIATIONS, CONTINUITY = 0.99, 2.3263, 0.5


@formula(
    unit="1",
    source="cornish-fisher",
    where="third-order expansion of the 99th percentile of a Poisson number, rounded up to a whole one; one turn where two of "
    "mean number λ read together for at most λ²/2 ≤ 1 % of the time",
    label="turns that read at a time",
)
def kv_peak_turns(kv_mean_turns: Num, serving_users: Num) -> Num:
    """Turns that read their context at the same moment: no more for 99 % of the time, where users ask independently.

    >>> kv_peak_turns(0.1, 1_000), kv_peak_turns(1, 1_000), kv_peak_turns(100, 1_000), kv_peak_turns(100, 110)
    (1, 4, 124, 110)
    """
    return where(
        kv_mean_turns**2 / 2 <= 1 - PERCENTILE,
        1,
        minimum(ceil(kv_mean_turns + DEVIATIONS * kv_mean_turns**0.5 + (DEVIATIONS**2 - 1) / 6 - CONTINUITY), serving_users),
    )


@formula("1", source="cornish-fisher", where="99th percentile of a compound Poisson sum over that of equal turns")
def turn_variation(kv_mean_turns: Num, turn_second_moment: Num, turn_third_moment: Num) -> Num:
    """Reads of the turns that coincide, over those of as many mean turns: later turns reuse more, and coincide as well.

    >>> turn_variation(10, 1, 1), round(turn_variation(10, 1.43, 2.29), 3)
    (1.0, 1.104)
    """
    return (
        kv_mean_turns
        + DEVIATIONS * (kv_mean_turns * turn_second_moment) ** 0.5
        + (DEVIATIONS**2 - 1) / 6 * turn_third_moment / turn_second_moment
    ) / (kv_mean_turns + DEVIATIONS * kv_mean_turns**0.5 + (DEVIATIONS**2 - 1) / 6)
