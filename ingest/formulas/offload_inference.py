"""Inference whose weights or key-value cache lie below GPU memory: bytes by tier, prefill, decode, tokens per second; and the
key-value tier of a serving cluster: capacity, reads of reused context, writes of new context, time budget per block.
"""

from ingest.engine.expression import Num, ceil, minimum, where
from ingest.engine.registry import computed_quantity, formula, input_quantities

input_quantities(__file__)

ZERO_INFERENCE = "deepspeed-examples"

computed_quantity("quantized_bytes_per_parameter",
    "weight_bits / bits_per_byte + group_scale_bytes / parameters_per_group", "B/parameter",
    "Bytes of one stored weight, with its share of scale and zero point.", source=ZERO_INFERENCE,
    where="4 bits in groups of 64, asymmetric: 16-bit scale and zero point",
    example="quantized_bytes_per_parameter(4, 8, 4, 64), quantized_bytes_per_parameter(16, 8, 0, 64)"
        " -> (0.5625, 2.0)")  # fmt: skip
computed_quantity("kv_context_tokens", "prompt_tokens + generated_tokens", "token",
    "Tokens of one sequence at the end of its generation.")  # fmt: skip
computed_quantity("cached_elements_per_sequence", "cached_elements_of_kind * minimum(attention_window, kv_context_tokens)", "1",
    "Numbers that one kind of attention keeps for a sequence: those of the window at most.",
    needs="cached_elements_of_kind kv_context_tokens attention_window",
    example="cached_elements_per_sequence(163_840, 544, 544), cached_elements_per_sequence(163_840, 8192, 4096)"
        " -> (89128960, 671088640)")  # fmt: skip
computed_quantity("compressed_tokens", "tokens_per_entry * floor(kv_context_tokens / tokens_per_entry)", "token",
    "Tokens of a sequence in whole blocks, of which a compressor has made one entry each.",
    example="compressed_tokens(128, 1000) -> 896")  # fmt: skip
computed_quantity("compressor_elements",
    "raw_elements_per_token * (kv_context_tokens - compressed_tokens"
    " + overlap_share * minimum(tokens_per_entry, compressed_tokens))", "1",
    "Numbers that a compressor keeps of tokens in no entry yet, and of the last block where the next one overlaps it.",
    example="compressor_elements(192, 1001, 1000, 0.5, 4) -> 576.0")  # fmt: skip
computed_quantity("recurrent_state_bytes", "total(recurrent_elements) * bytes_per_recurrent_element", "B",
    "State that the linear and recurrent layers keep of one sequence, whatever its length.",
    label="recurrent state of a sequence", example="recurrent_state_bytes([0, 36 * 548_864], 4) -> 79036416")  # fmt: skip
computed_quantity("kv_cache_bytes",
    "(total(cached_elements) * bytes_per_cached_element + recurrent_state_bytes) * inference_sequences", "B",
    "Key-value cache of all sequences at the end of their generation, and the states of recurrent layers.",
    label="key-value cache", example="kv_cache_bytes([163_840 * 544], 2, 0, 96) -> 17112760320")  # fmt: skip
computed_quantity("resident_sequences",
    "floor(maximum(gpu_room_bytes - held_weights_bytes, 0) / (kv_cache_bytes / inference_sequences))", "1",
    "Sequences whose cache fits in GPU memory beside all weights.", whole=True,
    example="resident_sequences(576e9, 141e9, 5.25e12, 500) -> 41")  # fmt: skip
computed_quantity("kv_cache_growth_per_token", "total(growing_elements_per_token) * bytes_per_cached_element", "B/token",
    "Keys and values that the next token of a sequence adds, where no window or chunk is full.",
    label="cache growth per token", example="kv_cache_growth_per_token([24 * 2 * 8 * 128], 2) -> 98304")  # fmt: skip
computed_quantity("kv_cache_bytes_per_sequence", "total(cached_elements) * bytes_per_cached_element + recurrent_state_bytes",
    "B", "Key-value cache of one sequence, within windows and chunks, and the states of its recurrent layers.",
    label="cache of a sequence", example="kv_cache_bytes_per_sequence([163_840 * 544], 2, 0) -> 178257920")  # fmt: skip
computed_quantity("held_kv_bytes", "kv_cache_bytes", "B", "Key-value cache that is placed.")
computed_quantity("levels_used",
    "where(storage_tier_bytes > 0, 4, where(nvme_tier_bytes > 0, 3, where(cpu_tier_bytes > 0, 2, 1)))", "1",
    "Levels down to the last one in use: 1 GPU memory, 2 host memory, 3 NVMe, 4 shared storage.", source="ddn-offload",
    where="slides, table: memory hierarchy levels to host the model", label="levels to the last in use",
    needs="cpu_tier_bytes nvme_tier_bytes storage_tier_bytes",
    example="levels_used(0, 0, 0), levels_used(1e12, 0, 0), levels_used(0, 1e12, 0), levels_used(1e12, 1e12, 1e12)"
        " -> (1, 2, 3, 4)")  # fmt: skip
computed_quantity("level_weights_bytes", "held_weights_bytes * level_weights_share", "B", "Weights that lie in a tier.")
computed_quantity("level_kv_bytes", "held_kv_bytes * level_kv_share", "B", "Key-value cache that lies in a tier.")
computed_quantity("level_stream_bytes", "level_weights_bytes + level_kv_bytes", "B",
    "Weights and key-value cache that lie in a tier.")  # fmt: skip
computed_quantity("level_stream_bytes_per_node", "level_stream_bytes / nodes_in_job", "B/node",
    "Weights and key-value cache of a tier for each node.")  # fmt: skip
computed_quantity("streamed_bytes_per_gpu", "held_weights_bytes * streamed_layers_per_gpu / layers + residual_bytes_per_gpu",
    "B/GPU", "Memory of a GPU through which the layers stream.",
    example="streamed_bytes_per_gpu(352e9, 2, 70, 0) / 1e9 -> 10.057142857142857")  # fmt: skip
computed_quantity("decode_weights_share",
    "1 - encoder_weights_share"
    " - routed_weights_share * (1 - expert_share_of_token) ** (decode_tokens / single_token) * (1 - expert_read_excess)", "1",
    "Share of the weights that one decode step reads: all but encoders, and experts that none of its tokens visits.",
    source="arithmetic", where="uniform routing to k of E experts: E·(1 − k/E)^tokens are idle",
    label="share of the weights that a decode step reads", high=1,
    example="decode_weights_share(0, 0.75, 8 / 128, 1, 1, 0), decode_weights_share(0.4, 0.2, 8 / 128, 1, 1, 1)"
        " -> (0.296875, 0.6)")  # fmt: skip
computed_quantity("level_decode_weights_bytes", "level_weights_bytes * decode_weights_share", "B",
    "Weights that one decode step reads from a tier.")  # fmt: skip
computed_quantity("level_decode_seconds",
    "(level_decode_weights_bytes + level_kv_bytes) / (level_read_bandwidth * streaming_efficiency)", "s",
    "Reads of a tier for one decode step: its weights, and its key-value cache.", source=ZERO_INFERENCE,
    where="weights stream once for each step", example="level_decode_seconds(141e9, 0, 48e9, 1) -> 2.9375")  # fmt: skip
computed_quantity("level_prefill_seconds",
    "(level_weights_bytes / level_read_bandwidth + level_kv_bytes / level_write_bandwidth) / streaming_efficiency", "s",
    "Transfers of a tier for the prompt: its weights are read, its key-value cache is written.", source=ZERO_INFERENCE,
    where="weights stream once for the prompt",
    example="level_prefill_seconds(141e9, 48e9, 26e9, 26e9, 1) -> 3.9375")  # fmt: skip
computed_quantity("link_stream_seconds", "(level_weights_bytes + level_kv_bytes) / host_link_bandwidth_of_job", "s",
    "Copies of all weights and cache off the GPU to the GPUs, once.",
    example="link_stream_seconds(16.9e9, 0, 16.9e9) -> 1.0")  # fmt: skip
computed_quantity("link_step_seconds", "(level_decode_weights_bytes + level_kv_bytes) / host_link_bandwidth_of_job", "s",
    "Copies of the weights and the cache that one decode step reads off the GPU.",
    example="link_step_seconds(16.9e9, 0, 16.9e9) -> 1.0")  # fmt: skip
computed_quantity("decode_tokens", "inference_sequences * tokens_per_decode_step", "token",
    "Tokens that one step generates over all sequences.")  # fmt: skip
computed_quantity("decode_compute_seconds",
    "forward_flops_per_parameter * parameters_active * decode_tokens / (achieved_flops_per_gpu * gpus)", "s",
    "Compute of one decode step.", source="kaplan2020", where="sec. 2.1: 2·N per token",
    label="compute of a decode step")  # fmt: skip
computed_quantity("prefill_compute_seconds",
    "forward_flops_per_parameter * (parameters_active * prompt_tokens + encoder_parameter_passes) * inference_sequences"
    " / (achieved_flops_per_gpu * gpus)", "s", "Compute of all prompts, and of what an encoder reads beside them.",
    source="kaplan2020", where="sec. 2.1: 2·N per token",
    label="compute of the prompts", example="prefill_compute_seconds(2, 1e9, 100, 2e11, 8, 4.8e14, 1) -> 0.01")  # fmt: skip
computed_quantity("gpu_memory_seconds",
    "(held_weights_bytes * decode_weights_share + kv_cache_bytes) / (memory_bandwidth_per_gpu * gpus)", "s",
    "Reads of GPU memory for one decode step: the weights that it needs and the key-value cache pass through it once.",
    example="gpu_memory_seconds(141e9, 1, 17e9, 4.8e12, 1) -> 0.03291666666666667")  # fmt: skip
computed_quantity("decode_seconds_without_drives",
    "maximum(maximum(link_decode_seconds, decode_compute_seconds), gpu_memory_seconds)", "s",
    "Time of one decode step if drives gave their bytes at once: host link, compute or GPU memory, the slowest.",
    example="decode_seconds_without_drives(2.2, 0.03, 0.03) -> 2.2")  # fmt: skip
computed_quantity("decode_step_seconds",
    "maximum(decode_seconds_without_drives, maximum(nvme_decode_seconds, storage_decode_seconds))", "s",
    "Time of one decode step: the slowest of links, drives, compute and GPU memory.", source=ZERO_INFERENCE,
    where="fetching a layer overlaps computing the one before", label="decode step",
    example="decode_step_seconds(2.2, 2.9, 0) -> 2.9")  # fmt: skip
computed_quantity("prefill_seconds",
    "maximum(maximum(prefill_compute_seconds, link_prefill_seconds), maximum(nvme_prefill_seconds, storage_prefill_seconds))",
    "s", "Time until the first token of all sequences: compute of the prompts, or one pass of the weights.",
    source=ZERO_INFERENCE, where="fetching a layer overlaps computing the one before", label="prefill",
    example="prefill_seconds(17, 2.2, 2.9, 0) -> 17")  # fmt: skip
computed_quantity("generation_seconds",
    "prefill_seconds + maximum(generated_tokens / tokens_per_decode_step - 1, 0) * decode_step_seconds", "s",
    "Time of one generation: the prefill gives the first token, each decode step the next.", label="generation",
    example="generation_seconds(17, 32, 1, 3) -> 110.0")  # fmt: skip
computed_quantity("tokens_per_second", "inference_sequences * generated_tokens / generation_seconds", "token/s",
    "Tokens generated per second over all sequences, prefill included.", label="tokens per second")  # fmt: skip
computed_quantity(
    "tokens_per_second_per_price",
    "tokens_per_second / machine_price",
    "token/s",
    "Tokens per second for one unit of the price that is given: it compares tiers.",
    label="tokens per second per price",
)
computed_quantity("decode_tokens_per_second", "decode_tokens / decode_step_seconds", "token/s",
    "Tokens per second over all sequences once the prompts are read.", label="tokens per second of decoding")  # fmt: skip
computed_quantity("drive_read_bandwidth_to_match",
    "(drive_weights_bytes * decode_weights_share + drive_kv_bytes) / decode_seconds_without_drives / nodes_in_job", "B/s/node",
    "Read bandwidth of the drives beyond which links, compute or GPU memory set the pace.",
    example="drive_read_bandwidth_to_match(141e9, 1, 0, 2.2, 1) / 1e9 -> 64.0909090909091")  # fmt: skip
computed_quantity("decode_exchanges", "exchanges_per_layer * layers", "1",
    "Exchanges between the GPUs of a tensor-parallel group in one decode step.", source="arithmetic",
    where="an all-reduce after attention and one after the network of each layer")  # fmt: skip
computed_quantity("drive_write_bandwidth_to_match",
    "drive_kv_bytes / maximum(prefill_compute_seconds, link_prefill_seconds) / nodes_in_job", "B/s/node",
    "Write bandwidth of the drives that takes the key-value cache of the prompts while they compute.",
    example="drive_write_bandwidth_to_match(17e9, 17, 2.2, 1) / 1e9 -> 1.0")  # fmt: skip
computed_quantity("staged_host_bytes", "(parameters * staged_bytes_per_parameter + kv_on_host_bytes) / nodes_in_job", "B/node",
    "Host memory of a node as a model starts: 16-bit weights, however they are quantized later, and the cache on the host.",
    source=ZERO_INFERENCE, where="quantization at initialization starts from 16-bit weights on the host",
    label="staged in host memory", example="staged_host_bytes(30e9, 2, 105e9, 1) -> 165000000000.0")  # fmt: skip

#: The percentile of turns that coincide, and where it lies in the standard normal distribution.
PERCENTILE, DEVIATIONS, CONTINUITY = 0.99, 2.3263, 0.5

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
    "Reads of reused context from the tier, in the mean over time.", label="mean reads of the key-value tier")  # fmt: skip
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
computed_quantity("kv_blocks_per_turn", "ceil(kv_hit_bytes / kv_block_bytes)", "1", "Blocks that a turn reads from the tier.",
    label="blocks that a mean turn reads", example="kv_blocks_per_turn(1.72e9, 83.9e6) -> 21")  # fmt: skip
computed_quantity("kv_block_seconds", "first_token_seconds / maximum(kv_blocks_per_turn, 1)", "s",
    "Time in which one block must arrive if a turn reads its blocks one after the other.", label="time for one block",
    example="kv_block_seconds(0.5, 20) -> 0.025")  # fmt: skip
computed_quantity("kv_recompute_bandwidth",
    "kv_token_bytes / session_tokens * (achieved_flops_per_gpu * gpus) / (forward_flops_per_parameter * parameters_active)",
    "B/s", "Reads below which the GPUs compute the key-value cache of a token again sooner than they read it.",
    source="kaplan2020", where="sec. 2.1: 2·N per token, without attention over the context", above=False,
    label="reads at which recomputing is as fast")  # fmt: skip
computed_quantity("kv_hit_tokens",
    "(kv_context_tokens * (session_turns - 1) / 2 + prompt_tokens * kv_prompt_looked_for) * kv_hit_share", "token",
    "Tokens whose cache a mean turn reads instead of computing it.", above=False,
    example="kv_hit_tokens(4000, 8, 3500, 1, 0.5) -> 8750.0")  # fmt: skip
computed_quantity("computed_tokens_per_second",
    "turn_rate * (prompt_tokens + kv_context_tokens * (session_turns - 1) / 2 - kv_hit_tokens)", "token/s",
    "Tokens whose cache the turns compute: of their prompts, and of context that the tier does not hold.", above=False,
    label="tokens that the turns bring to compute",
    example="computed_tokens_per_second(2, 3500, 4000, 8, 14000) -> 7000.0")  # fmt: skip
computed_quantity("prefill_tokens_per_second",
    "achieved_flops_per_gpu * gpus / (forward_flops_per_parameter * parameters_active)", "token/s",
    "Tokens of prompts that the GPUs compute, if they do nothing else.", source="kaplan2020",
    where="sec. 2.1: 2·N per token, without attention over the context", label="tokens that the GPUs compute")  # fmt: skip
computed_quantity("kv_recompute_seconds", "kv_hit_tokens / prefill_tokens_per_second", "s",
    "Time in which all GPUs compute again what a mean turn reads.", label="computing again what a turn reads")  # fmt: skip
computed_quantity("kv_gpus_spared", "turn_rate * kv_recompute_seconds * gpus", "GPU",
    "GPUs that would compute all day what the turns read from the tier.", label="GPUs that reading spares")  # fmt: skip
computed_quantity("prefill_gpus", "ceil(gpus * computed_tokens_per_second / prefill_tokens_per_second)", "GPU",
    "GPUs that compute what the turns bring.", whole=True, example="prefill_gpus(8, 29_000, 20_000) -> 12")  # fmt: skip
computed_quantity("kv_reading_seconds", "kv_hit_bytes / kv_offered_bandwidth", "s",
    "Time in which a mean turn reads from the tier, alone.", label="reading of a turn")  # fmt: skip
computed_quantity("kv_turn_bandwidth", "kv_hit_bytes / first_token_seconds", "B/s",
    "Rate at which a mean turn reads its reused context; the first reuses nothing.", label="read rate of a mean turn")  # fmt: skip
computed_quantity("kv_last_turn_bandwidth", "kv_turn_bandwidth * largest_turn", "B/s",
    "Rate at which the turn that reuses most reads its context.", label="read rate of the last turn")  # fmt: skip
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
computed_quantity("kv_endurance_bytes", "kv_bytes_written_per_day / rated_writes_per_day", "B",
    "Drives that take the writes of the tier as often as they are rated for.",
    label="drives that outlast these writes")  # fmt: skip
computed_quantity("kv_storage_writes_per_day", "kv_bytes_written_per_day / maximum(kv_offered_bytes, kv_tier_bytes)", "1",
    "Drive writes per day (DWPD) of the storage of the tier.",
    example="kv_storage_writes_per_day(9e12, 1e12, 3e12) -> 3.0")  # fmt: skip
