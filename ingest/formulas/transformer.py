"""Size and compute of a transformer: totals over the columns of its weights and attention, and the training run."""

from ingest.engine.registry import alternative, computed_quantity

computed_quantity("parameters", "total(weight_parameters)", "parameter",
    "All parameters of a model; a tied matrix counts once.", of="parameters_active", when="all_parameters_active")  # fmt: skip

alternative("parameters", "block_parameters", when="equal_blocks")

computed_quantity("parameters_mtp", "total(mtp_weight_parameters)", "parameter",
    "Parameters of modules that predict tokens further on, stored next to the model (multi-token prediction).",
    label="parameters of prediction modules")  # fmt: skip
computed_quantity("parameters_trained", "parameters + parameters_mtp", "parameter",
    "Parameters that training holds and a checkpoint saves: those of the model and of its prediction modules.",
    label="parameters with prediction modules")  # fmt: skip
computed_quantity("parameters_active", "total(active_weight_parameters)", "parameter",
    "Parameters without the routed experts that a token does not visit; embedding and head in full.")  # fmt: skip

computed_quantity("parameters_embedding", "total(embedding_weight_parameters)", "parameter",
    "Parameters of the token embedding table.")  # fmt: skip
computed_quantity("weights_bytes", "parameters * bytes_per_parameter", "B", "Bytes of the weights at one precision.")

alternative("weights_bytes", "released_weights_bytes", when="as_released")

computed_quantity("released_weights_bytes", "total(released_row_bytes)", "B",
    "Bytes of the weights of a release as they are stored, scales of quantized weights included.")  # fmt: skip
computed_quantity("kv_cache_bytes_per_token", "total(cached_elements_per_token) * bytes_per_cached_element", "B/token",
    "Keys and values that generating keeps per token, before a sliding window cuts them.",
    example="kv_cache_bytes_per_token([80 * 2 * 8 * 128], 2) -> 327680")  # fmt: skip
computed_quantity("forward_matmul_flops_per_token", "flops_per_multiply_add * total(multiply_adds_per_token)", "FLOP/token",
    "FLOPs of the products of one token with the weights.", source="kaplan2020", where="sec. 2.1, table 1",
    example="forward_matmul_flops_per_token(2, [6_607_077_376]) -> 13214154752")  # fmt: skip
computed_quantity("forward_attention_flops_per_token_full",
    "flops_per_multiply_add * total(multiply_adds_per_token_pair) * sequence_length", "FLOP/token",
    "Attention FLOPs where every token attends to every token.", source="kaplan2020", where="sec. 2.1, table 1",
    example="forward_attention_flops_per_token_full(2, [32 * 32 * (128 + 128)], 4096) -> 2147483648")  # fmt: skip
computed_quantity("visible_tokens",
    "minimum(attention_window, sequence_length) * (1 - minimum(attention_window, sequence_length) / sequence_length / 2)",
    "token", "Mean number of tokens that a query attends to: half the sequence, or less within a window.",
    mean=True, needs="sequence_length attention_window",
    example="visible_tokens(4096, 4096), visible_tokens(4096, 1024) -> (2048.0, 896.0)")  # fmt: skip
computed_quantity("visible_attention_flops", "flops_per_multiply_add * pair_multiply_adds * visible_tokens", "FLOP/token",
    "Attention FLOPs of one kind of layer, over the tokens that a query attends to.")  # fmt: skip
computed_quantity("forward_attention_flops_per_token", "total(causal_attention_flops)", "FLOP/token",
    "Attention FLOPs where a token attends to earlier tokens, within its window.")  # fmt: skip
computed_quantity("forward_flops_per_token_full_attention",
    "forward_matmul_flops_per_token + forward_attention_flops_per_token_full", "FLOP/token",
    "FLOPs of the forward pass per token, full attention.")  # fmt: skip
computed_quantity("forward_flops_per_token", "forward_matmul_flops_per_token + forward_attention_flops_per_token", "FLOP/token",
    "FLOPs of the forward pass per token, causal attention.")  # fmt: skip
computed_quantity("flops_per_token", "forward_flops_per_token * training_passes", "FLOP/token",
    "FLOPs of the forward and backward pass per token, causal attention.", source="kaplan2020",
    where="sec. 2.1: the backward pass costs twice the forward pass")  # fmt: skip
computed_quantity("flops_per_token_full_attention", "forward_flops_per_token_full_attention * training_passes", "FLOP/token",
    "FLOPs of the forward and backward pass per token, full attention.", source="kaplan2020",
    where="sec. 2.1: the backward pass costs twice the forward pass")  # fmt: skip
computed_quantity("flops_per_token_6n", "flops_per_parameter_and_token * parameters_active", "FLOP/token",
    "FLOPs per token by the rule of thumb 6 N: attention left out, the embedding table counted as if it were multiplied.",
    source="kaplan2020", where="sec. 2.1, C = 6·N·D")  # fmt: skip
computed_quantity("training_flops", "flops_per_parameter_and_token * parameters_active * training_tokens", "FLOP",
    "Compute of a whole training run, without attention.", source="kaplan2020", where="sec. 2.1, C = 6·N·D")  # fmt: skip
computed_quantity("training_seconds", "training_flops / achieved_flops_per_gpu / gpus", "s",
    "Duration of a whole training run at a steady rate.")  # fmt: skip

alternative("training_seconds", "wall_clock_seconds", when="duration_of_gpu_hours")

computed_quantity("token_id_bytes", "where(vocabulary > narrow_vocabulary, wide_id_bytes, narrow_id_bytes)", "B/token",
    "Bytes of one stored token: two while every id fits into them, else four.", source="megatron-lm",
    where="megatron/core/datasets/indexed_dataset.py, width of a token id",
    needs="vocabulary narrow_vocabulary narrow_id_bytes wide_id_bytes",
    example="token_id_bytes(32_000, 65_536, 2, 4), token_id_bytes(128_256, 65_536, 2, 4) -> (2, 4)")  # fmt: skip
