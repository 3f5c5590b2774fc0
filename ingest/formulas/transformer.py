"""Size and compute of a transformer: totals over the columns of its weights and attention, and the training run."""

from ingest.engine.expression import Num, minimum, total, where
from ingest.engine.registry import alternative, formula


@formula(unit="parameter", source="definition")
def parameters(weight_parameters: Num) -> Num:
    """All parameters of a model; a tied matrix counts once."""
    return total(weight_parameters)


alternative("parameters", "block_parameters", when="equal_blocks")


@formula(unit="parameter", source="definition", label="parameters of prediction modules")
def parameters_mtp(mtp_weight_parameters: Num) -> Num:
    """Parameters of modules that predict tokens further on, stored next to the model (multi-token prediction)."""
    return total(mtp_weight_parameters)


@formula(unit="parameter", source="definition", label="parameters with prediction modules")
def parameters_trained(parameters: Num, parameters_mtp: Num) -> Num:
    """Parameters that training holds and a checkpoint saves: those of the model and of its prediction modules."""
    return parameters + parameters_mtp


@formula(unit="parameter", source="definition")
def parameters_active(active_weight_parameters: Num) -> Num:
    """Parameters without the routed experts that a token does not visit; embedding and head in full."""
    return total(active_weight_parameters)


alternative("parameters_active", "parameters", when="all_parameters_active")


@formula(unit="parameter", source="definition")
def parameters_embedding(embedding_weight_parameters: Num) -> Num:
    """Parameters of the token embedding table."""
    return total(embedding_weight_parameters)


@formula(unit="B", source="definition")
def weights_bytes(parameters: Num, bytes_per_parameter: Num) -> Num:
    """Bytes of the weights at one precision."""
    return parameters * bytes_per_parameter


alternative("weights_bytes", "released_weights_bytes", when="as_released")


@formula(unit="B", source="definition")
def released_weights_bytes(released_row_bytes: Num) -> Num:
    """Bytes of the weights of a release as they are stored, scales of quantized weights included."""
    return total(released_row_bytes)


@formula(unit="B/token", source="definition")
def kv_cache_bytes_per_token(cached_elements_per_token: Num, bytes_per_cached_element: Num) -> Num:
    """Keys and values that generating keeps per token, before a sliding window cuts them.

    >>> kv_cache_bytes_per_token([80 * 2 * 8 * 128], 2)
    327680
    """
    return total(cached_elements_per_token) * bytes_per_cached_element


@formula(unit="FLOP/token", source="kaplan2020", where="sec. 2.1, table 1")
def forward_matmul_flops_per_token(flops_per_multiply_add: Num, multiply_adds_per_token: Num) -> Num:
    """FLOPs of the products of one token with the weights.

    >>> forward_matmul_flops_per_token(2, [6_607_077_376])
    13214154752
    """
    return flops_per_multiply_add * total(multiply_adds_per_token)


@formula(unit="FLOP/token", source="kaplan2020", where="sec. 2.1, table 1")
def forward_attention_flops_per_token_full(
    flops_per_multiply_add: Num, multiply_adds_per_token_pair: Num, sequence_length: Num
) -> Num:
    """Attention FLOPs where every token attends to every token.

    >>> forward_attention_flops_per_token_full(2, [32 * 32 * (128 + 128)], 4096)
    2147483648
    """
    return flops_per_multiply_add * total(multiply_adds_per_token_pair) * sequence_length


@formula(unit="token", source="definition")
def visible_tokens(sequence_length: Num, attention_window: Num) -> Num:
    """Mean number of tokens that a query attends to: half the sequence, or less within a window.

    >>> visible_tokens(4096, 4096), visible_tokens(4096, 1024)
    (2048.0, 896.0)
    """
    return minimum(attention_window, sequence_length) * (1 - minimum(attention_window, sequence_length) / sequence_length / 2)


@formula(unit="FLOP/token", source="definition")
def visible_attention_flops(flops_per_multiply_add: Num, pair_multiply_adds: Num, visible_tokens: Num) -> Num:
    """Attention FLOPs of one kind of layer, over the tokens that a query attends to."""
    return flops_per_multiply_add * pair_multiply_adds * visible_tokens


@formula(unit="FLOP/token", source="definition")
def forward_attention_flops_per_token(causal_attention_flops: Num) -> Num:
    """Attention FLOPs where a token attends to earlier tokens, within its window."""
    return total(causal_attention_flops)


@formula(unit="FLOP/token", source="definition")
def forward_flops_per_token_full_attention(
    forward_matmul_flops_per_token: Num, forward_attention_flops_per_token_full: Num
) -> Num:
    """FLOPs of the forward pass per token, full attention."""
    return forward_matmul_flops_per_token + forward_attention_flops_per_token_full


@formula(unit="FLOP/token", source="definition")
def forward_flops_per_token(forward_matmul_flops_per_token: Num, forward_attention_flops_per_token: Num) -> Num:
    """FLOPs of the forward pass per token, causal attention."""
    return forward_matmul_flops_per_token + forward_attention_flops_per_token


@formula(unit="FLOP/token", source="kaplan2020", where="sec. 2.1: the backward pass costs twice the forward pass")
def flops_per_token(forward_flops_per_token: Num, training_passes: Num) -> Num:
    """FLOPs of the forward and backward pass per token, causal attention."""
    return forward_flops_per_token * training_passes


@formula(unit="FLOP/token", source="kaplan2020", where="sec. 2.1: the backward pass costs twice the forward pass")
def flops_per_token_full_attention(forward_flops_per_token_full_attention: Num, training_passes: Num) -> Num:
    """FLOPs of the forward and backward pass per token, full attention."""
    return forward_flops_per_token_full_attention * training_passes


@formula(unit="FLOP/token", source="kaplan2020", where="sec. 2.1, C = 6·N·D")
def flops_per_token_6n(flops_per_parameter_and_token: Num, parameters_active: Num) -> Num:
    """FLOPs per token by the rule of thumb 6 N: attention left out, the embedding table counted as if it were multiplied."""
    return flops_per_parameter_and_token * parameters_active


@formula(unit="FLOP", source="kaplan2020", where="sec. 2.1, C = 6·N·D")
def training_flops(flops_per_parameter_and_token: Num, parameters_active: Num, training_tokens: Num) -> Num:
    """Compute of a whole training run, without attention."""
    return flops_per_parameter_and_token * parameters_active * training_tokens


@formula(unit="s", source="definition")
def training_seconds(training_flops: Num, achieved_flops_per_gpu: Num, gpus: Num) -> Num:
    """Duration of a whole training run at a steady rate."""
    return training_flops / achieved_flops_per_gpu / gpus


alternative("training_seconds", "wall_clock_seconds", when="duration_of_gpu_hours")


@formula(unit="B/token", source="megatron-lm", where="megatron/core/datasets/indexed_dataset.py, width of a token id")
def token_id_bytes(vocabulary: Num, narrow_vocabulary: Num, narrow_id_bytes: Num, wide_id_bytes: Num) -> Num:
    """Bytes of one stored token: two while every id fits into them, else four.

    >>> token_id_bytes(32_000, 65_536, 2, 4), token_id_bytes(128_256, 65_536, 2, 4)
    (2, 4)
    """
    return where(vocabulary > narrow_vocabulary, wide_id_bytes, narrow_id_bytes)
