"""The key-value tier of a serving cluster: capacity, reads of reused context, writes of new context, time budget per block."""

from ingest.engine.expression import Num, ceil, maximum, minimum, total, where
from ingest.engine.registry import formula, input_quantity

#: The percentile of turns that coincide, and where it lies in the standard normal distribution.
PERCENTILE, DEVIATIONS, CONTINUITY = 0.99, 2.3263, 0.5

input_quantity("serving_users", "1", "Sessions whose key-value cache the tier holds.", whole=True)
input_quantity("session_turns", "1", "Turns of one session.", whole=True, high=10_000)
input_quantity("turn_seconds", "s", "Time between two turns of one user.")
input_quantity("kv_hit_share", "1", "Share of the context looked for that the tier still holds.", above=False, high=1,
    label="hit share of the key-value tier")  # fmt: skip
input_quantity("kv_prompt_looked_for", "1", "Share of its prompt that a turn looks for in the tier; 1 with a trace.",
    above=False, high=1, default=0)  # fmt: skip
input_quantity("kv_trace_block_tokens", "token", "Tokens of one block of a trace.", whole=True)
input_quantity("session_elements", "1", "Numbers kept of a whole session, per kind of attention.", above=False)
input_quantity("reused_elements", "1", "Numbers of earlier turns that a mean turn reuses, per kind of attention.", above=False)
input_quantity("kv_block_tokens", "token", "Tokens of one block of the cache.", whole=True, default=256,
    source="mlperf-kv-cache")  # fmt: skip
input_quantity("session_retention_seconds", "s", "Time that the tier keeps the cache of a session after its last turn.",
    above=False)  # fmt: skip
input_quantity("turn_second_moment", "1", "Mean square of what a turn reuses, over the square of its mean.", low=1, above=False)
input_quantity("turn_third_moment", "1", "Mean cube of what a turn reuses, over the cube of its mean.", low=1, above=False)
input_quantity("largest_turn", "1", "Reuse of the largest turn, over that of the mean turn.", low=1, above=False)
input_quantity("first_token_seconds", "s", "Time in which a turn reads its reused context.")
input_quantity("kv_tier_capacity", "B", "Capacity of the key-value tier, where it is not that of all sessions.")


@formula(unit="token", source="definition")
def session_tokens(kv_context_tokens: Num, session_turns: Num) -> Num:
    """Tokens of a session at its end."""
    return kv_context_tokens * session_turns


@formula(unit="B", source="definition", label="keys and values of a session")
def kv_token_bytes(session_elements: Num, bytes_per_cached_element: Num) -> Num:
    """Keys and values of the tokens of one session at its end.

    >>> kv_token_bytes([163_840 * 12_000], 2)
    3932160000
    """
    return total(session_elements) * bytes_per_cached_element


@formula(unit="B", source="definition", label="key-value cache of a session")
def kv_session_bytes(kv_token_bytes: Num, recurrent_state_bytes: Num) -> Num:
    """Bytes that the tier keeps of one session at its end: keys and values, and one state of the recurrent layers."""
    return kv_token_bytes + recurrent_state_bytes


@formula(unit="B", source="definition")
def kv_reused_token_bytes(reused_elements: Num, bytes_per_cached_element: Num) -> Num:
    """Keys and values of earlier turns that a turn reuses, in the mean over the turns.

    >>> kv_reused_token_bytes([163_840 * 5_250], 2)
    1720320000
    """
    return total(reused_elements) * bytes_per_cached_element


@formula(unit="B", source="definition", label="reused by a mean turn")
def kv_reused_bytes(kv_reused_token_bytes: Num, recurrent_state_bytes: Num, session_turns: Num) -> Num:
    """Bytes of earlier turns that a turn reuses, in the mean over the turns; all but the first take up the state.

    >>> kv_reused_bytes(1.72e9, 80e6, 8)
    1790000000.0
    """
    return kv_reused_token_bytes + recurrent_state_bytes * (session_turns - 1) / session_turns


@formula(unit="1", source="little1961", where="number = arrival rate × time; a session lasts as long as its turns",
    label="ended sessions that are kept")  # fmt: skip
def retained_sessions(serving_users: Num, session_turns: Num, turn_seconds: Num, session_retention_seconds: Num) -> Num:
    """Sessions that have ended and whose cache the tier still keeps: sessions that end in a second times the retention."""
    return serving_users / (session_turns * turn_seconds) * session_retention_seconds


@formula(unit="B", source="definition", label="capacity of the key-value tier")
def kv_tier_bytes(kv_session_bytes: Num, serving_users: Num, retained_sessions: Num) -> Num:
    """Capacity that holds all sessions at their end, and the ended ones that are kept.

    >>> kv_tier_bytes(3.93e9, 1_000, 0), kv_tier_bytes(3.93e9, 1_000, 7_500)
    (3930000000000.0, 33405000000000.0)
    """
    return kv_session_bytes * (serving_users + retained_sessions)


@formula(unit="B", source="definition", label="new cache of a turn")
def kv_new_bytes(kv_token_bytes: Num, session_turns: Num, recurrent_state_bytes: Num) -> Num:
    """Keys and values that one turn adds, and the state that it replaces.

    >>> kv_new_bytes(4e9, 8, 80e6)
    580000000.0
    """
    return kv_token_bytes / session_turns + recurrent_state_bytes


@formula(unit="1/s", source="definition", label="turns per second")
def turn_rate(serving_users: Num, turn_seconds: Num) -> Num:
    """Turns of all users per second."""
    return serving_users / turn_seconds


@formula(unit="B", source="definition", label="looked for of a prompt", above=False)
def kv_prompt_looked_for_bytes(kv_token_bytes: Num, prompt_tokens: Num, session_tokens: Num, kv_prompt_looked_for: Num) -> Num:
    """Key-value cache of its prompt that a turn looks for in the tier."""
    return kv_token_bytes * prompt_tokens * kv_prompt_looked_for / session_tokens


@formula(unit="B", source="definition", label="looked for by a mean turn")
def kv_looked_for_bytes(kv_reused_bytes: Num, kv_prompt_looked_for_bytes: Num) -> Num:
    """Key-value cache that a turn looks for in the tier: of earlier turns, and of its prompt."""
    return kv_reused_bytes + kv_prompt_looked_for_bytes


@formula(unit="B", source="definition", label="read by a mean turn")
def kv_hit_bytes(kv_looked_for_bytes: Num, kv_hit_share: Num) -> Num:
    """Key-value cache that a turn reads from the tier, in the mean over the turns."""
    return kv_looked_for_bytes * kv_hit_share


@formula(unit="B/s", source="definition", label="reads of the key-value tier")
def kv_read_bandwidth(turn_rate: Num, kv_hit_bytes: Num) -> Num:
    """Reads of reused context from the tier."""
    return turn_rate * kv_hit_bytes


@formula(unit="B/s", source="definition", label="writes of the key-value tier")
def kv_write_bandwidth(turn_rate: Num, kv_new_bytes: Num, kv_reused_bytes: Num, kv_hit_bytes: Num) -> Num:
    """Writes of context that was not read from the tier: new, or lost and computed again.

    >>> kv_write_bandwidth(20, 0.5e9, 1.5e9, 0.75e9)
    25000000000.0
    """
    return turn_rate * maximum(kv_new_bytes + kv_reused_bytes - kv_hit_bytes, 0)


@formula(unit="B/s/node", source="definition", label="reads of the key-value tier per node")
def kv_read_bandwidth_per_node(kv_read_bandwidth: Num, nodes_in_job: Num) -> Num:
    """Reads of reused context for each node."""
    return kv_read_bandwidth / nodes_in_job


@formula(unit="B/s/node", source="definition", label="writes of the key-value tier per node")
def kv_write_bandwidth_per_node(kv_write_bandwidth: Num, nodes_in_job: Num) -> Num:
    """Writes of new context for each node."""
    return kv_write_bandwidth / nodes_in_job


@formula(unit="B", source="definition", label="block of the key-value cache")
def kv_block_bytes(kv_token_bytes: Num, session_tokens: Num, kv_block_tokens: Num, recurrent_state_bytes: Num) -> Num:
    """Bytes of one block of the cache; the state is the block where a model keeps nothing else.

    >>> kv_block_bytes(3.93216e9, 12_000, 256, 80e6), kv_block_bytes(0, 12_000, 256, 80e6)
    (83886080.0, 80000000.0)
    """
    return where(kv_token_bytes > 0, kv_token_bytes / session_tokens * kv_block_tokens, recurrent_state_bytes)


@formula(unit="B", source="definition", label="block of the trace")
def kv_trace_block_bytes(kv_block_bytes: Num, kv_block_tokens: Num, kv_trace_block_tokens: Num, kv_token_bytes: Num) -> Num:
    """Key-value cache of one block of a trace; the state where a model keeps nothing else.

    >>> kv_trace_block_bytes(83_886_080, 256, 512, 3.9e9), kv_trace_block_bytes(80e6, 256, 512, 0)
    (167772160.0, 80000000.0)
    """
    return where(kv_token_bytes > 0, kv_block_bytes / kv_block_tokens * kv_trace_block_tokens, kv_block_bytes)


@formula(unit="1", source="definition", label="blocks that a mean turn reads")
def kv_blocks_per_turn(kv_hit_bytes: Num, kv_block_bytes: Num) -> Num:
    """Blocks that a turn reads from the tier.

    >>> kv_blocks_per_turn(1.72e9, 83.9e6)
    21
    """
    return ceil(kv_hit_bytes / kv_block_bytes)


@formula(unit="s", source="definition", label="time for one block")
def kv_block_seconds(first_token_seconds: Num, kv_blocks_per_turn: Num) -> Num:
    """Time in which one block must arrive if a turn reads its blocks one after the other.

    >>> kv_block_seconds(0.5, 20)
    0.025
    """
    return first_token_seconds / maximum(kv_blocks_per_turn, 1)


@formula(unit="B/s", source="definition", label="read rate of one turn")
def kv_turn_bandwidth(kv_hit_bytes: Num, first_token_seconds: Num) -> Num:
    """Rate at which one turn reads its reused context."""
    return kv_hit_bytes / first_token_seconds


@formula(unit="1", source="definition", label="mean number of turns that read")
def kv_mean_turns(turn_rate: Num, first_token_seconds: Num) -> Num:
    """Mean number of turns that read their context at a moment, if each takes the time allowed."""
    return turn_rate * first_token_seconds


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
        minimum(
            ceil(kv_mean_turns + DEVIATIONS * kv_mean_turns**0.5 + (DEVIATIONS**2 - 1) / 6 - CONTINUITY),
            serving_users,
        ),
    )


@formula(unit="1", source="cornish-fisher", where="99th percentile of a compound Poisson sum over that of equal turns")
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


@formula(unit="B/s", source="definition", label="read rate of the turns that coincide")
def kv_peak_read_bandwidth(
    kv_turn_bandwidth: Num, kv_peak_turns: Num, turn_variation: Num, largest_turn: Num, serving_users: Num
) -> Num:
    """Rate at which the turns that coincide read their reused context in time, for 99 % of the time; at least one of any size.

    >>> kv_peak_read_bandwidth(1.25e9, 20, 1, 1, 1_000), kv_peak_read_bandwidth(1.25e9, 1, 1, 2, 1_000)
    (25000000000.0, 2500000000.0)
    """
    return kv_turn_bandwidth * minimum(maximum(kv_peak_turns * turn_variation, largest_turn), serving_users * largest_turn)


@formula(unit="B/s", source="definition", label="read rate if all users ask at once")
def kv_burst_bandwidth(kv_turn_bandwidth: Num, serving_users: Num) -> Num:
    """Rate at which all users read their reused context at once."""
    return kv_turn_bandwidth * serving_users


@formula(unit="B", source="definition", label="written to the key-value tier per day")
def kv_bytes_written_per_day(kv_write_bandwidth: Num, seconds_per_day: Num) -> Num:
    """Bytes that the tier takes in a day."""
    return kv_write_bandwidth * seconds_per_day


@formula(unit="1", source="definition", label="drive writes per day of the key-value tier")
def kv_writes_per_day(kv_bytes_written_per_day: Num, kv_tier_bytes: Num) -> Num:
    """Drive writes per day (DWPD) of a tier that holds all sessions."""
    return kv_bytes_written_per_day / kv_tier_bytes
