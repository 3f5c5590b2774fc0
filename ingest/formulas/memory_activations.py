"""Memory of a training step besides the model states: activations, scores, gathered layers, and what the framework takes.

Numbers per token come from the table of weights (`ingest.sizing.memory_inputs`), added up over all layers: what a
matrix reads is kept once, what it yields is kept where a function that is not linear follows.
"""

from ingest.engine.registry import alternative, computed_quantity, input_quantities

input_quantities(__file__)

KORTHIKANTI = "korthikanti2022"

computed_quantity("tokens_in_flight", "sequence_length * micro_batch * sequences_per_example / context_parallel", "token",
    "Tokens of one micro-batch on one context-parallel rank.")  # fmt: skip
computed_quantity("sequence_ranks", "single_gpu + sequence_split * (tensor_parallel - single_gpu)", "GPU",
    "GPUs that share the tokens outside of matrices: all tensor ranks with sequence parallelism, one without.",
    source=KORTHIKANTI, where="sec. 4.2.2", whole=True, needs="sequence_split tensor_parallel single_gpu",
    example="sequence_ranks(1, 8, 1), sequence_ranks(0, 8, 1) -> (8, 1)")  # fmt: skip
# In FP8 a matrix keeps its input in one byte; an input that attention keeps as well is then kept twice.
computed_quantity("layer_activation_bytes",
    "tokens_in_flight * ("
    "(activation_width * common_elements + mask_width * masked_elements - input_narrowing * narrowed_common_elements)"
    " / sequence_ranks"
    " + (activation_width * (split_elements + unfused_share * unfused_elements) - input_narrowing * narrowed_split_elements)"
    " / tensor_parallel)", "B/GPU",
    "Activations of one micro-batch over all layers, without the scores of attention.", source=KORTHIKANTI,
    where="eq. 1, 2 and 4, without the term 5·a·s²·b", above=False,
    needs="tokens_in_flight activation_width common_elements sequence_ranks split_elements unfused_share unfused_elements "
    "tensor_parallel mask_width masked_elements input_narrowing narrowed_common_elements narrowed_split_elements",
    example="[layer_activation_bytes(8, 2, 4, 8, 12, 0, 0, 8, *rest) for rest in ((1, 2, 0, 0, 0), (1, 2, 1, 2, 3))]"
    " -> [34.0, 29.0]")  # fmt: skip
computed_quantity("score_bytes", "tokens_in_flight * sequence_length * score_elements * kept_score_width / tensor_parallel",
    "B/GPU", "Attention scores of one micro-batch over all layers, where they are kept.", source=KORTHIKANTI,
    where="eq. 1: 5·a·s²·b with dropout, 2·a·s²·b without", above=False)  # fmt: skip
computed_quantity("selective_saving", "score_bytes / (score_bytes + layer_activation_bytes)", "1",
    "Share of the activations that is saved by computing the scores of attention again.", source=KORTHIKANTI,
    where="sec. 5: 5·a·s/h of 34 + 5·a·s/h", high=1, example="round(selective_saving(80, 34), 2) -> 0.7")  # fmt: skip
computed_quantity("kept_activation_bytes", "layer_activation_bytes + score_bytes", "B/GPU",
    "Activations of one micro-batch over all layers.", source=KORTHIKANTI, where="sec. 5 and table 2")  # fmt: skip

alternative("kept_activation_bytes", "partly_recomputed_bytes", when="some_layers_recomputed")
alternative("kept_activation_bytes", "layer_input_bytes", when="all_layers_recomputed")

computed_quantity("layer_input_bytes", "tokens_in_flight * activation_width * layer_input_elements / sequence_ranks", "B/GPU",
    "Inputs of all layers of one micro-batch: all that full recomputation keeps.", source=KORTHIKANTI,
    where="table 2: full recomputation keeps 2·s·b·h of each layer")  # fmt: skip
computed_quantity("recomputed_layer_share", "minimum(recompute_layers * pipeline_parallel / transformer_layers, 1)", "1",
    "Share of the layers that are computed again where each pipeline rank computes a number of its layers again.",
    source="megatron-lm", where="--recompute-method block: layers of each rank", above=False, high=1,
    example="recomputed_layer_share(5, 1, 32), recomputed_layer_share(40, 1, 32) -> (0.15625, 1)")  # fmt: skip
computed_quantity("partly_recomputed_bytes",
    "layer_input_bytes * recomputed_layer_share + (layer_activation_bytes + score_bytes) * (1 - recomputed_layer_share)",
    "B/GPU", "Activations of one micro-batch over all layers, of which some keep their input alone.", source="megatron-lm",
    where="--recompute-method block: layers of each rank",
    needs="layer_input_bytes layer_activation_bytes score_bytes recomputed_layer_share",
    example="partly_recomputed_bytes(64, 3200, 0, 0.25) -> 2416.0")  # fmt: skip
computed_quantity("recomputed_layer_bytes", "(layer_activation_bytes + score_bytes) / transformer_layers", "B/GPU",
    "Activations of the one layer that is computed again at a time.", above=False,
    example="recomputed_layer_bytes(3200, 0, 32) -> 100.0")  # fmt: skip

alternative("recomputed_layer_bytes", "recomputed_part_bytes", when="parts_recomputed")

computed_quantity("recomputed_part_bytes",
    "tokens_in_flight * activation_width * recomputed_elements / tensor_parallel / transformer_layers", "B/GPU",
    "Activations of the parts of the one layer that are computed again at a time.", above=False)  # fmt: skip
computed_quantity("first_stage_share",
    "minimum(where(virtual_stages > 1,"
    " ceil(transformer_layers / pipeline_parallel) * (pipeline_parallel + (pipeline_parallel - 1) / virtual_stages),"
    " maximum(pipeline_parallel * (ceil((transformer_layers + 1) / pipeline_parallel) - 1),"
    " (pipeline_parallel - 1) * ceil(transformer_layers / pipeline_parallel))),"
    " micro_batches * ceil(transformer_layers / pipeline_parallel)) / transformer_layers", "1",
    "Layers in flight on the fullest of the first stages, over all layers; spare layers go to the stages behind the first.",
    source=KORTHIKANTI, where="sec. 4.2.3: L·(1 + (p − 1)/(p·m)) layers where interleaved, L where not",
    needs="transformer_layers pipeline_parallel virtual_stages micro_batches",
    example="[round(first_stage_share(*one) * one[0]) for one in ((96, 8, 1, 1000), (96, 8, 2, 1000), (96, 8, 1, 4), "
    "(126, 16, 1, 1000))] -> [96, 138, 48, 120]")  # fmt: skip
computed_quantity("last_stage_share",
    "minimum((pipeline_parallel * (virtual_stages - 1) + 1) / virtual_stages, micro_batches)"
    " * ceil(transformer_layers / pipeline_parallel) / transformer_layers", "1",
    "Micro-batches in flight on the last stage, times its share of the layers.", source="megatron-lm",
    where="schedules.py: (v − 1)·p chunks warm up the last rank",
    needs="transformer_layers pipeline_parallel virtual_stages micro_batches",
    example="last_stage_share(96, 8, 1, 1000), last_stage_share(96, 8, 2, 1000) -> (0.125, 0.5625)")  # fmt: skip
computed_quantity("last_stage_logit_bytes", "tokens_in_flight * scored_words * logit_width / tensor_parallel", "B/GPU",
    "Scores of the vocabulary that the last stage keeps for one micro-batch until the loss is known.", source=KORTHIKANTI,
    where="sec. 4.3: 4·s·b·v of logits in full precision", above=False)  # fmt: skip
computed_quantity("kept_output_bytes",
    "kept_stage_outputs * tokens_in_flight * residual_elements * activation_width / sequence_ranks"
    " * minimum(where(virtual_stages > 1, pipeline_parallel * (virtual_stages + 1) - 1, pipeline_parallel), "
    "micro_batches * virtual_stages) * where(pipeline_parallel > 1, 1, 0)", "B/GPU",
    "Outputs that the fullest pipeline stage keeps of the micro-batches in flight; Megatron frees them once they are sent.",
    needs="kept_stage_outputs tokens_in_flight residual_elements activation_width sequence_ranks pipeline_parallel "
    "virtual_stages micro_batches", source="pytorch", where="distributed/pipelining/stage.py: fwd_cache", above=False,
    example="kept_output_bytes(1, 32_768, 16_384, 2, 8, 8, 1, 8) / 2**20, kept_output_bytes(1, 32_768, 16_384, 2, 8, 1, 1, 8) "
    "-> (1024.0, 0.0)")  # fmt: skip
computed_quantity("activation_bytes_per_gpu",
    "where(kept_activation_bytes * first_stage_share > kept_activation_bytes * last_stage_share + last_stage_logit_bytes, "
    "kept_activation_bytes * first_stage_share, kept_activation_bytes * last_stage_share) + recomputed_layer_bytes"
    " + kept_output_bytes", "B/GPU",
    "Activations on a GPU of the fuller of the first and the last pipeline stage, without logits.", source=KORTHIKANTI,
    where="sec. 4.2.3", label="activations per GPU", above=False,
    example="activation_bytes_per_gpu(100, 1, 0.25, 30, 5, 0), activation_bytes_per_gpu(100, 1, 1, 30, 5, 2) -> "
    "(105, 107)")  # fmt: skip
computed_quantity("logit_bytes_per_gpu",
    "where(kept_activation_bytes * first_stage_share > kept_activation_bytes * last_stage_share"
    " + last_stage_logit_bytes, 0 * last_stage_logit_bytes, last_stage_logit_bytes)", "B/GPU",
    "Logits on a GPU of the fuller of the first and the last pipeline stage: none on the first of several.", source=KORTHIKANTI,
    where="sec. 4.3", label="logits per GPU", above=False,
    example="logit_bytes_per_gpu(100, 1, 0.25, 30), logit_bytes_per_gpu(100, 1, 1, 30) -> (0, 30)")  # fmt: skip
computed_quantity("gather_bytes_per_gpu",
    "gathered_parameters * (gathered_parts * weight_bytes_per_parameter + gradient_bytes_per_parameter) / tensor_parallel",
    "B/GPU", "Weights that are gathered from their partitions while they are used, and the gradients of one such part.",
    source="fsdp2023", where="sec. 3.4: two all-gathers in flight", label="gather buffers per GPU", above=False,
    example="gather_bytes_per_gpu(855_654_400, 2, 2, 2, 1) / 1e9 -> 5.1339264")  # fmt: skip
computed_quantity("gathered_token_bytes_per_gpu",
    "tokens_in_flight * residual_elements * activation_width * where(sequence_ranks > single_gpu, gathered_token_copies, 0)"
    " / single_gpu", "B/GPU",
    "Activations that sequence parallelism gathers from the tensor ranks around a matrix; none without it.",
    needs="tokens_in_flight residual_elements activation_width gathered_token_copies sequence_ranks single_gpu",
    source=KORTHIKANTI, where="sec. 4.2.2: all-gather and reduce-scatter around the matrices", label="gathered tokens per GPU",
    above=False,
    example="gathered_token_bytes_per_gpu(131_072, 8192, 2, 3, 8, 1) / 2**30, gathered_token_bytes_per_gpu(131_072, 8192, 2, "
    "3, 1, 1) -> (6.0, 0.0)")  # fmt: skip
computed_quantity("reserve_bytes_per_gpu",
    "fragment_share * (activation_bytes_per_gpu + logit_bytes_per_gpu + gather_bytes_per_gpu"
    " + gathered_token_bytes_per_gpu + bucket_bytes_per_gpu)", "B/GPU",
    "Fragments that the allocator holds back of what a step takes and frees.", label="allocator reserve per GPU", above=False,
    example="reserve_bytes_per_gpu(0.2, 5e9, 3e9, 1e9, 0, 1e9) / 1e9 -> 2.0")  # fmt: skip
computed_quantity("step_bytes_per_gpu",
    "activation_bytes_per_gpu + logit_bytes_per_gpu + gather_bytes_per_gpu"
    " + gathered_token_bytes_per_gpu + bucket_bytes_per_gpu + reserve_bytes_per_gpu + framework_bytes_per_gpu", "B/GPU",
    "Bytes that a training step takes on one GPU besides the model states.", label="bytes besides the model states per GPU",
    example="step_bytes_per_gpu(10.7e9, 4.2e9, 4.1e9, 1e9, 1e9, 1e9, 2e9) / 1e9 -> 24.0")  # fmt: skip
computed_quantity("total_bytes_per_gpu", "model_state_bytes_per_gpu + residual_bytes_per_gpu", "B/GPU",
    "Bytes on one GPU: its model states, and all that a step takes besides.", label="total bytes per GPU")  # fmt: skip
computed_quantity("memory_filled_share", "total_bytes_per_gpu / memory_bytes_per_gpu", "1",
    "Share of the memory of a GPU that a training step fills; above 1 it does not fit.",
    label="filled share of the memory")  # fmt: skip
