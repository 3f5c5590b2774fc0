"""The files of a checkpoint: which ranks write what, under which names, for each format.

A layout is ordinary code that lays out rows; totals over the rows are formulas. Each row says where its rule comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ingest.engine.messages import Message, Option
from ingest.errors import UsageError

if TYPE_CHECKING:
    from ingest.architecture import Architecture

#: Megatron's `thread_count`: its documentation says that files are saving ranks × threads.
MEGATRON_THREADS = 2
#: Small enough not to matter, and never zero.
INDEX_BYTES = 0.0


class RankLayout(NamedTuple):
    """How many ranks share what.

    Attributes:
        tensor, pipeline, data, expert: sizes of the parallel groups.
        zero_stage: what ZeRO spreads over the replicas: 1 optimizer, 2 gradients too, 3 weights too.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    zero_stage: int = 1

    @property
    def shards(self) -> int:
        """Ranks that hold one replica of the model."""
        return self.tensor * self.pipeline

    @property
    def ranks(self) -> int:
        """All ranks."""
        return self.shards * self.data


class CheckpointContent(NamedTuple):
    """Bytes to lay out."""

    weights: float
    optimizer: float
    extra: float


class CheckpointFiles(NamedTuple):
    """Files of one kind.

    Attributes:
        pattern: how they are called.
        count: how many.
        bytes_each: mean size.
        holds: what is in them.
        source, where: who says so.
        assumed: what of it nobody has read, or empty.
    """

    pattern: str
    count: int  # type: ignore[assignment]  # a tuple's own count() is of no use here
    bytes_each: float
    holds: str
    source: str
    where: str
    assumed: str = ""


class Layout(NamedTuple):
    """A checkpoint format.

    Attributes:
        optimizer: whether it holds optimizer states.
        writers: ranks that share the weights, and ranks that share the optimizer states.
        files: its rows.
        files_per_rank: files that each rank writes, where all ranks write alike and share everything; 0 for other rules.
    """

    optimizer: bool
    writers: Callable[[RankLayout], tuple[int, int]]
    files: Callable[[RankLayout, CheckpointContent, int, Architecture | None], list[CheckpointFiles]]
    files_per_rank: int = 0


def _safetensors(_: RankLayout, content: CheckpointContent, shards: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "serialization, split_torch_state_dict_into_shards: shards of at most 5 GB, then an index"
    assumed = "a tensor that does not fit opens the next shard, so a real model may have one shard more"
    name = "model-#####-of-#####.safetensors" if shards > 1 else "model.safetensors"
    rows = [CheckpointFiles(name, shards, content.weights / shards, "weights", "huggingface-hub", where, assumed)]
    if shards > 1:
        rows.append(CheckpointFiles("model.safetensors.index.json", 1, INDEX_BYTES, "index", "huggingface-hub", where))
    return [*rows, CheckpointFiles("config.json", 1, INDEX_BYTES, "structure", "huggingface-hub", where)]


def _dcp(job: RankLayout, content: CheckpointContent, _: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "torch/distributed/checkpoint/filesystem.py: one file per rank (single_file_per_rank), and .metadata"
    assumed = "tensors that replicas share are spread evenly over the ranks"
    each = sum(content) / job.ranks
    return [
        CheckpointFiles("__RANK_0.distcp", job.ranks, each, "weights and optimizer states", "pytorch-dcp", where, assumed),
        CheckpointFiles(".metadata", 1, INDEX_BYTES, "index", "pytorch-dcp", where),
    ]


def _megatron(job: RankLayout, content: CheckpointContent, _: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "megatron/core/dist_checkpointing/strategies/torch.py: saving ranks × 2 threads"
    assumed = "every rank saves its share (--ckpt-fully-parallel-save, once an option, now the default; distributed optimizer)"
    count = job.ranks * MEGATRON_THREADS
    return [
        CheckpointFiles(
            "__RANK_THREAD.distcp", count, sum(content) / count, "weights and optimizer states", "megatron-lm", where, assumed
        ),
        CheckpointFiles("common.pt", 1, INDEX_BYTES, "arguments, scheduler", "megatron-lm", where),
        CheckpointFiles(".metadata, metadata.json", 2, INDEX_BYTES, "index", "megatron-lm", where),
    ]


def _deepspeed(job: RankLayout, content: CheckpointContent, _: int, model: Architecture | None) -> list[CheckpointFiles]:
    rows = [*_deepspeed_weights(job, content, model)]
    where = "deepspeed/runtime/engine.py, _get_zero_ckpt_name"
    if job.zero_stage > 0:
        name = "zero_pp_rank_D_mp_rank_M_optim_states.pt"
        rows.append(CheckpointFiles(name, job.ranks, content.optimizer / job.ranks, "optimizer states", "deepspeed", where))
    if job.expert > 1:
        rows.append(_expert_states(job))
    return [*rows, CheckpointFiles("latest, zero_to_fp32.py", 2, INDEX_BYTES, "tag, script", "deepspeed", where)]


def _deepspeed_weights(job: RankLayout, content: CheckpointContent, model: Architecture | None) -> list[CheckpointFiles]:
    where = "deepspeed/runtime/engine.py, _get_ckpt_name"
    weights = content.weights + content.extra
    if job.zero_stage == 3:
        name, holds = "zero_pp_rank_D_mp_rank_M_model_states.pt", "names and shapes, not the weights"
        return [CheckpointFiles(name, job.ranks, weights / job.ranks, holds, "deepspeed", f"{where}; issue 3820")]
    whole = weights if job.zero_stage else weights + content.optimizer
    holds = "weights" if job.zero_stage else "weights and optimizer states"
    rows: list[CheckpointFiles] = []
    experts = _experts(job, model)
    if experts and model is not None:
        of_experts = sum(row.parameters for row in model.weights if row.kind == "expert") / model.parameters * weights
        count, name = experts * job.tensor, "layer_L_expert_E_mp_rank_M_model_states.pt"
        rows.append(CheckpointFiles(name, count, of_experts / count, "weights of experts", "deepspeed", where))
        whole -= of_experts
    if job.pipeline > 1 and model is not None and model.layers:
        count, name = (model.layers + 2) * job.tensor, "layer_L-model_T-model_states.pt"
        place = "deepspeed/runtime/pipe/module.py, ckpt_layer_path: one file per layer that has weights"
        assumed = "the layers are the blocks, the embedding and the last norm"
        rows.append(CheckpointFiles(name, count, whole / count, holds, "deepspeed", place, assumed))
        whole, holds = 0.0, "state of the engine"
    return [CheckpointFiles("mp_rank_M_model_states.pt", job.shards, whole / job.shards, holds, "deepspeed", where), *rows]


def _experts(job: RankLayout, model: Architecture | None) -> int:
    """Experts over all layers, where their files stand apart."""
    if job.expert == 1:
        return 0
    if model is None:
        raise UsageError(
            Message(
                Option("expert_parallel"),
                ": experts have files of their own in this layout, expected a config.json to count them",
            )
        )
    found = sum(row.count * row.shape[0] for row in model.weights if row.kind == "router" and len(row.shape) == 2)
    if not found:
        raise UsageError(Message(Option("expert_parallel"), f": found {job.expert}, expected 1: {model.id} has no experts"))
    return found


def _expert_states(job: RankLayout) -> CheckpointFiles:
    where = "deepspeed/runtime/engine.py, _get_optimizer_ckpt_name"
    assumed = "expert files hold what is not in the ZeRO partitions"
    count = job.expert * job.shards
    return CheckpointFiles(
        "expp_rank_E_mp_rank_M_optim_states.pt", count, INDEX_BYTES, "state of experts", "deepspeed", where, assumed
    )


def _deepspeed_writers(job: RankLayout) -> tuple[int, int]:
    """The first replica writes what ZeRO has not spread; every rank writes its own partition."""
    return (job.ranks if job.zero_stage == 3 else job.shards, job.ranks if job.zero_stage else job.shards)


def check_division(model: Architecture, tensor: int, pipeline: int, expert: int = 1) -> None:
    """Check that the model can be cut that way.

    Raises:
        UsageError: more stages than layers, heads or experts that do not divide.
    """
    if model.heads and model.heads % tensor:
        raise UsageError(
            Message(Option("tensor_parallel"), f": found {tensor}, expected a divisor of the {model.heads} heads of {model.id}")
        )
    if model.layers and pipeline > model.layers:
        raise UsageError(
            Message(
                Option("pipeline_parallel"), f": found {pipeline}, expected at most the {model.layers} layers of {model.id}"
            )
        )
    experts = {row.shape[0] for row in model.weights if row.kind == "router" and len(row.shape) == 2}
    if expert > 1 and not experts:
        raise UsageError(Message(Option("expert_parallel"), f": found {expert}, expected 1: {model.id} has no experts"))
    if any(count % expert for count in experts):
        raise UsageError(
            Message(
                Option("expert_parallel"), f": found {expert}, expected a divisor of the {max(experts)} experts of {model.id}"
            )
        )


def expert_spread(model: Architecture, experts_shared_by: int) -> float:
    """What the busiest rank writes of the weights, over all of them, where the experts are spread over ranks.

    The first replica holds everything but the experts, and its own share of these.
    """
    share = sum(row.parameters for row in model.weights if row.kind == "expert") / model.parameters
    return 1 - share + share / experts_shared_by


LAYOUTS = {
    "safetensors": Layout(False, lambda _: (1, 1), _safetensors),
    "dcp": Layout(True, lambda job: (job.ranks, job.ranks), _dcp, 1),
    "megatron": Layout(True, lambda job: (job.ranks, job.ranks), _megatron, MEGATRON_THREADS),
    "deepspeed": Layout(True, _deepspeed_writers, _deepspeed),
}


def largest_stage_factor(model: Architecture, stages: int) -> float:
    """How much larger the largest pipeline stage is than the mean one.

    Blocks come in whole numbers, the first stage holds the embedding too, and the last one the head.
    """
    parts = {kind: sum(row.parameters for row in model.weights if row.kind == kind) for kind in ("embedding", "head")}
    if stages < 2 or not model.layers:
        return 1.0
    block = (model.parameters - sum(parts.values())) / model.layers
    whole, more = divmod(model.layers, stages)
    inner = (whole + 1) * block if more else whole * block
    # Spare blocks go to the first stages, as pipeline schedules deal them out, so the last one has the fewest.
    last = whole * block + parts["head"]
    largest = max(inner + parts["embedding"], last, inner)
    return largest / (model.parameters / stages)
