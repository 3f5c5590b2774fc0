"""The key-value tier of a serving cluster: capacity, reads of reused context, writes of new context, time budget per block."""

from ingest.engine.expression import Num, ceil, minimum, where
from ingest.engine.registry import computed_quantity, formula, input_quantity

#: The percentile of turns that coincide, and where it lies in the standard normal distribution.
PERCENTILE, DEVIATIONS, CONTINUITY = 0.99, 2.3263, 0.5

input_quantity("serving_users", "1", "Sessions whose key-value cache the tier holds.", whole=True)
input_quantity("session_turns", "1", "Turns of one session.", whole=True, high=10_000)
input_quantity("turn_seconds", "s", "Time between two turns of one user.")
input_quantity("kv_hit_share", "1", "Share of the context looked for that the tier still holds.",
    above=False, high=1, label="hit share of the key-value tier")  # fmt: skip
input_quantity("kv_prompt_looked_for", "1", "Share of its prompt that a turn looks for in the tier; 1 with a trace.",
    above=False, high=1, default=0)  # fmt: skip
input_quantity("kv_trace_block_tokens", "token", "Tokens of one block of a trace.", whole=True)
input_quantity("session_elements", "1", "Numbers kept of a whole session, per kind of attention.", above=False)
input_quantity("reused_elements", "1", "Numbers of earlier turns that a mean turn reuses, per kind of attention.", above=False)
input_quantity("kv_block_tokens", "token", "Tokens of one block of the cache.",
    whole=True, default=256, source="mlperf-kv-cache")  # fmt: skip
input_quantity("session_retention_seconds", "s", "Time that the tier keeps the cache of a session after its last turn.",
    above=False)  # fmt: skip
input_quantity("turn_second_moment", "1", "Mean square of what a turn reuses, over the square of its mean.", low=1, above=False)
input_quantity("turn_third_moment", "1", "Mean cube of what a turn reuses, over the cube of its mean.", low=1, above=False)
input_quantity("largest_turn", "1", "Reuse of the largest turn, over that of the mean turn.", low=1, above=False)
input_quantity("first_token_seconds", "s", "Time in which a turn reads its reused context.")
input_quantity("kv_tier_capacity", "B", "Capacity of the key-value tier, where it is not that of all sessions.")

computed_quantity("session_tokens", "kv_context_tokens * session_turns", "token", "Tokens of a session at its end.")
computed_quantity("kv_token_bytes", "total(session_elements) * bytes_per_cached_element", "B",
    "Keys and values of the tokens of one session at its end.", label="keys and values of a session",
    example="kv_token_bytes([163_840 * 12_000], 2) -> 3932160000")  # fmt: skip
computed_quantity("kv_session_bytes", "kv_token_bytes + recurrent_state_bytes", "B",
    "Bytes that the tier keeps of one session at its end: keys and values, and one state of the recurrent layers.",
    label="key-value cache of a session")  # fmt: skip
computed_quantity("kv_reused_token_bytes", "total(reused_elements) * bytes_per_cached_element", "B",
    "Keys and values of earlier turns that a turn reuses, in the mean over the turns.",
    example="kv_reused_token_bytes([163_840 * 5_250], 2) -> 1720320000")  # fmt: skip
computed_quantity("kv_reused_bytes", "kv_reused_token_bytes + recurrent_state_bytes * (session_turns - 1) / session_turns", "B",
    "Bytes of earlier turns that a turn reuses, in the mean over the turns; all but the first take up the state.",
    label="reused by a mean turn", example="kv_reused_bytes(1.72e9, 80e6, 8) -> 1790000000.0")  # fmt: skip
computed_quantity("retained_sessions", "serving_users / (session_turns * turn_seconds) * session_retention_seconds", "1",
    "Sessions that have ended and whose cache the tier still keeps: sessions that end in a second times the retention.",
    source="little1961", where="number = arrival rate × time; a session lasts as long as its turns",
    label="ended sessions that are kept")  # fmt: skip
computed_quantity("kv_tier_bytes", "kv_session_bytes * (serving_users + retained_sessions)", "B",
    "Capacity that holds all sessions at their end, and the ended ones that are kept.",
    label="capacity of the key-value tier",
    example="kv_tier_bytes(3.93e9, 1_000, 0), kv_tier_bytes(3.93e9, 1_000, 7_500)"
        " -> (3930000000000.0, 33405000000000.0)")  # fmt: skip
computed_quantity("kv_new_bytes", "kv_token_bytes / session_turns + recurrent_state_bytes", "B",
    "Keys and values that one turn adds, and the state that it replaces.", label="new cache of a turn",
    example="kv_new_bytes(4e9, 8, 80e6) -> 580000000.0")  # fmt: skip
computed_quantity("turn_rate", "serving_users / turn_seconds", "1/s",
    "Turns of all users per second.", label="turns per second")  # fmt: skip
computed_quantity("kv_prompt_looked_for_bytes", "kv_token_bytes * prompt_tokens * kv_prompt_looked_for / session_tokens", "B",
    "Key-value cache of its prompt that a turn looks for in the tier.", label="looked for of a prompt", above=False,
    needs="kv_token_bytes prompt_tokens session_tokens kv_prompt_looked_for")  # fmt: skip
computed_quantity("kv_looked_for_bytes", "kv_reused_bytes + kv_prompt_looked_for_bytes", "B",
    "Key-value cache that a turn looks for in the tier: of earlier turns, and of its prompt.",
    label="looked for by a mean turn")  # fmt: skip
computed_quantity("kv_hit_bytes", "kv_looked_for_bytes * kv_hit_share", "B",
    "Key-value cache that a turn reads from the tier, in the mean over the turns.", label="read by a mean turn")  # fmt: skip
computed_quantity("kv_read_bandwidth", "turn_rate * kv_hit_bytes", "B/s",
    "Reads of reused context from the tier.", label="reads of the key-value tier")  # fmt: skip
computed_quantity("kv_write_bandwidth", "turn_rate * maximum(kv_new_bytes + kv_reused_bytes - kv_hit_bytes, 0)", "B/s",
    "Writes of context that was not read from the tier: new, or lost and computed again.", label="writes of the key-value tier",
    example="kv_write_bandwidth(20, 0.5e9, 1.5e9, 0.75e9) -> 25000000000.0")  # fmt: skip
computed_quantity("kv_read_bandwidth_per_node", "kv_read_bandwidth / nodes_in_job", "B/s/node",
    "Reads of reused context for each node.", label="reads of the key-value tier per node")  # fmt: skip
computed_quantity("kv_write_bandwidth_per_node", "kv_write_bandwidth / nodes_in_job", "B/s/node",
    "Writes of new context for each node.", label="writes of the key-value tier per node")  # fmt: skip
computed_quantity("kv_block_bytes",
    "where(kv_token_bytes > 0, kv_token_bytes / session_tokens * kv_block_tokens, recurrent_state_bytes)", "B",
    "Bytes of one block of the cache; the state is the block where a model keeps nothing else.",
    label="block of the key-value cache",
    example="kv_block_bytes(3.93216e9, 12_000, 256, 80e6), kv_block_bytes(0, 12_000, 256, 80e6)"
        " -> (83886080.0, 80000000.0)")  # fmt: skip
computed_quantity("kv_trace_block_bytes",
    "where(kv_token_bytes > 0, kv_block_bytes / kv_block_tokens * kv_trace_block_tokens, kv_block_bytes)", "B",
    "Key-value cache of one block of a trace; the state where a model keeps nothing else.", label="block of the trace",
    needs="kv_block_bytes kv_block_tokens kv_trace_block_tokens kv_token_bytes",
    example="kv_trace_block_bytes(83_886_080, 256, 512, 3.9e9), kv_trace_block_bytes(80e6, 256, 512, 0)"
        " -> (167772160.0, 80000000.0)")  # fmt: skip
computed_quantity("kv_blocks_per_turn", "ceil(kv_hit_bytes / kv_block_bytes)", "1",
    "Blocks that a turn reads from the tier.", label="blocks that a mean turn reads",
    example="kv_blocks_per_turn(1.72e9, 83.9e6) -> 21")  # fmt: skip
computed_quantity("kv_block_seconds", "first_token_seconds / maximum(kv_blocks_per_turn, 1)", "s",
    "Time in which one block must arrive if a turn reads its blocks one after the other.", label="time for one block",
    example="kv_block_seconds(0.5, 20) -> 0.025")  # fmt: skip
computed_quantity("kv_recompute_bandwidth",
    "kv_token_bytes / session_tokens * (achieved_flops_per_gpu * gpus) / (forward_flops_per_parameter * parameters_active)",
    "B/s", "Reads below which the GPUs compute the key-value cache of a token again sooner than they read it.",
    source="kaplan2020", where="sec. 2.1: 2·N per token, without attention over the context", above=False,
    label="reads at which recomputing is as fast")  # fmt: skip
computed_quantity("kv_turn_bandwidth", "kv_hit_bytes / first_token_seconds", "B/s",
    "Rate at which one turn reads its reused context.", label="read rate of one turn")  # fmt: skip
computed_quantity("kv_mean_turns", "turn_rate * first_token_seconds", "1",
    "Mean number of turns that read their context at a moment, if each takes the time allowed.",
    label="mean number of turns that read")  # fmt: skip


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


computed_quantity("kv_peak_read_bandwidth",
    "kv_turn_bandwidth * minimum(maximum(kv_peak_turns * turn_variation, largest_turn), serving_users * largest_turn)", "B/s",
    "Rate at which the turns that coincide read their reused context in time, for 99 % of the time; at least one of any size.",
    label="read rate of the turns that coincide",
    example="kv_peak_read_bandwidth(1.25e9, 20, 1, 1, 1_000), kv_peak_read_bandwidth(1.25e9, 1, 1, 2, 1_000)"
        " -> (25000000000.0, 2500000000.0)")  # fmt: skip
computed_quantity("kv_burst_bandwidth", "kv_turn_bandwidth * serving_users", "B/s",
    "Rate at which all users read their reused context at once.", label="read rate if all users ask at once")  # fmt: skip
computed_quantity("kv_bytes_written_per_day", "kv_write_bandwidth * seconds_per_day", "B",
    "Bytes that the tier takes in a day.", label="written to the key-value tier per day")  # fmt: skip
computed_quantity("kv_writes_per_day", "kv_bytes_written_per_day / kv_tier_bytes", "1",
    "Drive writes per day (DWPD) of a tier that holds all sessions.",
    label="drive writes per day of the key-value tier")  # fmt: skip
