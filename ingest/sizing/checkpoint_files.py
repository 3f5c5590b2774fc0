"""The files of a checkpoint: their writers, names and sizes, for each format.

A layout is a function that returns rows; totals over the rows are formulas. Each row cites the source of its rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ingest.architecture.structure import Architecture
from ingest.engine.messages import option_error

#: Megatron's `thread_count`: files are saving ranks × threads, by its documentation.
MEGATRON_THREADS = 2
#: Where DeepSpeed names its files.
_ENGINE = "deepspeed/runtime/engine.py"
#: Indexes are too small to matter.
INDEX_BYTES = 0.0


class RankLayout(NamedTuple):
    """The parallel groups of a job."""

    #: tensor, pipeline, data, expert: sizes of the parallel groups
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    zero_stage: int = 1  # ZeRO partitions 1: optimizer states, 2: and gradients, 3: and weights

    @property
    def shards(self) -> int:
        """Ranks that hold one replica of the model."""
        return self.tensor * self.pipeline

    @property
    def ranks(self) -> int:
        """All ranks."""
        return self.shards * self.data


class CheckpointContent(NamedTuple):
    """Bytes of a checkpoint, by content."""

    weights: float
    optimizer: float
    extra: float


class CheckpointFiles(NamedTuple):
    """Files of one kind."""

    pattern: str  # their names
    #: their number
    count: int  # type: ignore[assignment]  # a tuple's own count() is of no use here
    bytes_each: float  # their mean size
    holds: str  # their contents
    #: source, where: id of the source, and the place in it
    source: str
    where: str
    assumed: str = ""  # an assumption that no source confirms, or empty


class Layout(NamedTuple):
    """A checkpoint format."""

    optimizer: bool  # whether it saves optimizer states
    files: Callable[[RankLayout, CheckpointContent, int, Architecture | None], list[CheckpointFiles]]  # returns its rows
    files_per_rank: int = 0  # files of each rank, if all ranks write equal shares; 0 otherwise


def _safetensors(_: RankLayout, content: CheckpointContent, shards: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "serialization, split_torch_state_dict_into_shards: shards of at most 5 GB, then an index"
    assumed = "a tensor that does not fit opens the next shard, so a real model may have one shard more"
    name = "model-#####-of-#####.safetensors" if shards > 1 else "model.safetensors"
    rows = [CheckpointFiles(name, shards, content.weights / shards, "weights", "huggingface-hub", where, assumed)]
    if shards > 1:
        rows.append(CheckpointFiles("model.safetensors.index.json", 1, INDEX_BYTES, "index", "huggingface-hub", where))
    return [*rows, CheckpointFiles("config.json", 1, INDEX_BYTES, "structure", "huggingface-hub", where)]


def _dcp(ranks: RankLayout, content: CheckpointContent, _: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "torch/distributed/checkpoint/filesystem.py: one file per rank (single_file_per_rank), and .metadata"
    assumed = "tensors that replicas share are spread evenly over the ranks"
    each = sum(content) / ranks.ranks
    return [
        CheckpointFiles("__RANK_0.distcp", ranks.ranks, each, "weights and optimizer states", "pytorch-dcp", where, assumed),
        CheckpointFiles(".metadata", 1, INDEX_BYTES, "index", "pytorch-dcp", where),
    ]


def _megatron(ranks: RankLayout, content: CheckpointContent, _: int, __: Architecture | None) -> list[CheckpointFiles]:
    where = "megatron/core/dist_checkpointing/strategies/torch.py: saving ranks × 2 threads"
    assumed = "every rank saves its share (--ckpt-fully-parallel-save, once an option, now the default; distributed optimizer)"
    count = ranks.ranks * MEGATRON_THREADS
    return [
        CheckpointFiles(
            "__RANK_THREAD.distcp", count, sum(content) / count, "weights and optimizer states", "megatron-lm", where, assumed
        ),
        CheckpointFiles("common.pt", 1, INDEX_BYTES, "arguments, scheduler", "megatron-lm", where),
        CheckpointFiles(".metadata, metadata.json", 2, INDEX_BYTES, "index", "megatron-lm", where),
    ]


def _deepspeed(ranks: RankLayout, content: CheckpointContent, _: int, model: Architecture | None) -> list[CheckpointFiles]:
    def row(name: str, count: int, size: float, holds: str, where: str, assumed: str = "") -> CheckpointFiles:
        return CheckpointFiles(name, count, size / count, holds, "deepspeed", where, assumed)

    rows: list[CheckpointFiles] = []
    where, weights = f"{_ENGINE}, _get_ckpt_name", content.weights + content.extra
    if ranks.zero_stage == 3:
        name, holds = "zero_pp_rank_D_mp_rank_M_model_states.pt", "names and shapes, not the weights"
        rows.append(row(name, ranks.ranks, weights, holds, f"{where}; issue 3820"))
    else:
        whole = weights if ranks.zero_stage else weights + content.optimizer
        holds = "weights" if ranks.zero_stage else "weights and optimizer states"
        if ranks.expert > 1:
            if model is None:
                why = ": experts have files of their own in this layout, expected a config.json to count them"
                raise option_error("expert_parallel", why)
            experts = sum(one.count * one.shape[0] for one in model.weights if one.kind == "router" and len(one.shape) == 2)
            if not experts:
                raise option_error("expert_parallel", f": found {ranks.expert}, expected 1: {model.id} has no experts")
            share = expert_share(model)
            name = "layer_L_expert_E_mp_rank_M_model_states.pt"
            rows.append(row(name, experts * ranks.tensor, share * weights, "weights of experts", where))
            whole -= share * weights
        if ranks.pipeline > 1 and model is not None and model.layers:
            count, name = (model.layers + 2) * ranks.tensor, "layer_L-model_T-model_states.pt"
            place = "deepspeed/runtime/pipe/module.py, ckpt_layer_path: one file per layer that has weights"
            assumed = "the layers are the blocks, the embedding and the last norm"
            rows.append(row(name, count, whole, holds, place, assumed))
            whole, holds = 0.0, "state of the engine"
        rows.insert(0, row("mp_rank_M_model_states.pt", ranks.shards, whole, holds, where))
    where = f"{_ENGINE}, _get_zero_ckpt_name"
    if ranks.zero_stage > 0:
        name = "zero_pp_rank_D_mp_rank_M_optim_states.pt"
        rows.append(row(name, ranks.ranks, content.optimizer, "optimizer states", where))
    if ranks.expert > 1:
        name, place = "expp_rank_E_mp_rank_M_optim_states.pt", f"{_ENGINE}, _get_optimizer_ckpt_name"
        assumed = "expert files hold what is not in the ZeRO partitions"
        rows.append(row(name, ranks.expert * ranks.shards, INDEX_BYTES, "state of experts", place, assumed))
    return [*rows, row("latest, zero_to_fp32.py", 2, INDEX_BYTES, "tag, script", where)]


def check_division(model: Architecture, tensor: int, pipeline: int, expert: int = 1) -> None:
    """Check that the parallel groups divide the model.

    Raises UsageError: more stages than layers, or heads or experts that do not divide.
    """
    if model.heads and model.heads % tensor:
        raise option_error("tensor_parallel", f": found {tensor}, expected a divisor of the {model.heads} heads of {model.id}")
    if model.layers and pipeline > model.layers:
        raise option_error("pipeline_parallel", f": found {pipeline}, expected at most the {model.layers} layers of {model.id}")
    experts = {row.shape[0] for row in model.weights if row.kind == "router" and len(row.shape) == 2}
    if expert > 1 and not experts:
        raise option_error("expert_parallel", f": found {expert}, expected 1: {model.id} has no experts")
    if any(count % expert for count in experts):
        raise option_error(
            "expert_parallel", f": found {expert}, expected a divisor of the {max(experts)} experts of {model.id}"
        )


def expert_share(model: Architecture) -> float:
    """Return the share of the weights that lie in experts."""
    return sum(row.parameters for row in model.weights if row.kind == "expert") / model.parameters_trained


LAYOUTS = {
    "safetensors": Layout(False, _safetensors),
    "dcp": Layout(True, _dcp, 1),
    "megatron": Layout(True, _megatron, MEGATRON_THREADS),
    "deepspeed": Layout(True, _deepspeed),
}


def largest_stage_factor(model: Architecture, stages: int) -> float:
    """Return the size of the largest pipeline stage over the mean stage.

    Stages hold whole blocks; the first also holds the embedding, the last the head.
    """
    parts = {kind: sum(row.parameters for row in model.weights if row.kind == kind) for kind in ("embedding", "head")}
    if stages < 2 or not model.layers:
        return 1.0
    block = (model.parameters_trained - sum(parts.values())) / model.layers
    whole, more = divmod(model.layers, stages)
    inner = (whole + 1) * block if more else whole * block
    # Pipeline schedules assign spare blocks to the first stages, so the last stage has the fewest.
    last = whole * block + parts["head"]
    return max(inner + parts["embedding"], last, inner) / (model.parameters_trained / stages)
