"""Inference whose weights or key-value cache lie below GPU memory: bytes by tier, prefill, decode, tokens per second."""

from ingest.engine.registry import computed_quantity, input_quantity

ZERO_INFERENCE = "deepspeed-examples"

input_quantity("inference_sequences", "1", "Sequences that are generated at once, over all GPUs.", whole=True)
input_quantity("prompt_tokens", "token", "Tokens of one prompt.", whole=True)
input_quantity("generated_tokens", "token", "Tokens that are generated for one sequence.", whole=True)
input_quantity("tokens_per_decode_step", "token", "Tokens that one step generates for each sequence.",
    default=1, low=1, above=False)  # fmt: skip
input_quantity("weight_bits", "1/parameter", "Width of a stored weight in bits.", low=1, above=False, high=32)
input_quantity("group_scale_bytes", "B", "Scale and zero point of one group of quantized weights; 0 of weights as they are.",
    above=False)  # fmt: skip
input_quantity("parameters_per_group", "parameter", "Weights that share a scale and a zero point.",
    whole=True, default=64, source=ZERO_INFERENCE)  # fmt: skip
input_quantity("cached_elements_of_kind", "1/token", "Numbers kept per token by all layers of one kind of attention.",
    above=False)  # fmt: skip
input_quantity("cached_elements", "1", "Numbers kept for one sequence, per kind of attention.", above=False)
input_quantity("growing_elements_per_token", "1/token", "Numbers that the next token adds, per kind of attention.", above=False)
input_quantity("recurrent_elements", "1", "Numbers kept of one sequence whatever its length, per kind of layer.", above=False)
input_quantity("bytes_per_recurrent_element", "B", "Width of one number of a recurrent state.")
input_quantity("routed_weights_share", "1", "Share of the weights that lies in experts that a router chooses from.", high=1)
input_quantity("expert_share_of_token", "1", "Share of the experts that one token visits.", high=1)
input_quantity("single_token", "token", "One token.", low=1, high=1, above=False, default=1)
input_quantity("expert_read_excess", "1", "Share of the experts without tokens that a step reads nonetheless.",
    above=False, high=1)  # fmt: skip
input_quantity("forward_flops_per_parameter", "FLOP/parameter/token", "A multiplication and an addition for each weight.",
    default=2, source="kaplan2020")  # fmt: skip
input_quantity("exchanges_per_layer", "1", "All-reduces of one layer in a tensor-parallel group.",
    whole=True, default=2, source="megatron-lm")  # fmt: skip
input_quantity("streaming_efficiency", "1", "Share of the bandwidth of drives that generation reaches.", high=1.1)
input_quantity("staged_bytes_per_parameter", "B/parameter", "Width of the weights that the host stages before quantizing.",
    above=False, default=2)  # fmt: skip
for _phase in ("prefill", "decode"):
    input_quantity(f"nvme_{_phase}_seconds", "s", f"Transfers of the NVMe in {_phase}.", above=False)
    input_quantity(f"storage_{_phase}_seconds", "s", f"Transfers of shared storage in {_phase}.", above=False)
    input_quantity(f"link_{_phase}_seconds", "s", f"Copies between hosts and GPUs in {_phase}.", above=False)
input_quantity("level_kv_share", "1", "Share of the key-value cache that lies in the tier.", above=False, high=1)
input_quantity("streamed_layers_per_gpu", "1/GPU", "Layers whose weights a GPU holds at a time while they stream.")
input_quantity("kv_on_host_bytes", "B", "Key-value cache in host memory.", above=False)
input_quantity("tokens_per_second_bound", "token/s", "Tokens per second of decoding if links and drives gave their full rate.",
    label="bound of decoding")  # fmt: skip
input_quantity("drive_weights_bytes", "B", "Weights on NVMe and shared storage.", above=False)
input_quantity("drive_kv_bytes", "B", "Key-value cache on NVMe and shared storage.", above=False)

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
computed_quantity("recurrent_state_bytes", "total(recurrent_elements) * bytes_per_recurrent_element", "B",
    "State that the linear and recurrent layers keep of one sequence, whatever its length.",
    label="recurrent state of a sequence", example="recurrent_state_bytes([0, 36 * 548_864], 4) -> 79036416")  # fmt: skip
computed_quantity("kv_cache_bytes",
    "(total(cached_elements) * bytes_per_cached_element + recurrent_state_bytes) * inference_sequences", "B",
    "Key-value cache of all sequences at the end of their generation, and the states of recurrent layers.",
    label="key-value cache", example="kv_cache_bytes([163_840 * 544], 2, 0, 96) -> 17112760320")  # fmt: skip
computed_quantity("kv_cache_growth_per_token", "total(growing_elements_per_token) * bytes_per_cached_element", "B/token",
    "Keys and values that the next token of a sequence adds, where no window or chunk is full.",
    label="cache growth per token", example="kv_cache_growth_per_token([24 * 2 * 8 * 128], 2) -> 98304")  # fmt: skip
computed_quantity("kv_cache_bytes_per_sequence",
    "total(cached_elements) * bytes_per_cached_element + recurrent_state_bytes", "B",
    "Key-value cache of one sequence, within windows and chunks, and the states of its recurrent layers.",
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
computed_quantity("streamed_bytes_per_gpu",
    "held_weights_bytes * streamed_layers_per_gpu / layers + residual_bytes_per_gpu", "B/GPU",
    "Memory of a GPU through which the layers stream.",
    example="streamed_bytes_per_gpu(352e9, 2, 70, 0) / 1e9 -> 10.057142857142857")  # fmt: skip
computed_quantity("decode_weights_share",
    "1 - routed_weights_share * (1 - expert_share_of_token) ** (decode_tokens / single_token) * (1 - expert_read_excess)", "1",
    "Share of the weights that one decode step reads: all but those of experts that none of its tokens visits.",
    source="arithmetic", where="uniform routing to k of E experts: E·(1 − k/E)^tokens are idle",
    label="share of the weights that a decode step reads", high=1,
    example="decode_weights_share(0.75, 8 / 128, 1, 1, 0), decode_weights_share(0.75, 8 / 128, 1, 1, 1)"
        " -> (0.296875, 1.0)")  # fmt: skip
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
    "forward_flops_per_parameter * parameters_active * inference_sequences * prompt_tokens / (achieved_flops_per_gpu * gpus)",
    "s", "Compute of all prompts.", source="kaplan2020", where="sec. 2.1: 2·N per token",
    label="compute of the prompts")  # fmt: skip
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
input_quantity("machine_price", "1", "Price of the machine with the tiers that it uses, in any currency.")
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
