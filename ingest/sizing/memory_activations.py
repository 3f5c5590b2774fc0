"""What a training step keeps of each token, from the table of weights of a model.

A matrix keeps its input until its gradient is computed, and matrices that read the same input keep it once. Its output is
kept where a function follows that is not linear: attention after q, k and v, an activation after gate and up. What the
last matrix of a block yields is added to the residual stream and not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import Weight
from ingest.engine.messages import Option, option_error
from ingest.engine.value import Input, derived
from ingest.errors import one_of

RECOMPUTES = ("none", "selective", "full")
#: Parts of a layer that can be computed again alone: outputs of norms, up-projections of latent attention, activated gates
#: before the last matrix, and whole MLPs or experts.
PARTS = ("norm", "latent", "activation", "mlp", "expert")
ATTENTIONS = ("flash", "scores")
#: Kinds of weights that are multiplied in the layers.
IN_LAYERS = ("attention", "mlp", "expert", "router", "ssm", "conv", "recurrent", "other")
#: Last words of the names of matrices that end a block: their output goes to the residual stream.
ENDS = ("o", "down", "out")
#: Last words of the names of matrices that widen what latent attention keeps.
LATENT = ("q_up", "kv_up")
#: Norms within attention.
HEAD_NORMS = ("qk_norm", "q_norm", "k_norm", "kv_norm", "bias")
#: A router works in full precision, twice as wide, and keeps scores and shares.
ROUTER_COPIES = 4
#: Flash attention keeps one number in full precision for each query and head.
FLASH_ELEMENTS = 2

FP8_WHERE = "pytorch/module/linear.py, grouped_linear.py: the quantized input is saved for the gradient of the weights"

#: Inputs that nobody has to give.
DEFAULTS = {
    "framework_bytes_per_gpu": Input(
        2e9, 0.5e9, 5e9, source="ml-engineering", grade="assumed",
        where="training/performance/README.md, preloaded CUDA kernels: 0.5 to 2 GB; buffers of NCCL come in addition",
    ).by_default("2 GB for the driver, its kernels and communication", "set.framework_bytes_per_gpu"),
    "logit_width": Input(
        6, 4, 12, source="megatron-lm", grade="derived",
        where="core/tensor_parallel/cross_entropy.py: 16-bit logits, and their exponentials in full precision, in place",
    ).by_default("16-bit logits and a copy in 32 bits; up to 12 B where a loss is not fused", "set.logit_width"),
    "unfused_share": Input(
        0, 0, 1, source="arithmetic", where="inputs that PyTorch saves of small models", grade="derived",
    ).by_default("fused kernels, which keep no activated gate", Option("set.unfused_share", "1")),
    "gathered_token_copies": Input(
        3, 2, 6, source="torchtitan", grade="derived",
        where="benchmarks/llama3_h100_202412_torchtitan.md: two copies fewer without waiting; up to six by the peak of table 4",
    ).by_default("a gathered input, its gradient and that of an output", "set.gathered_token_copies"),
    "kept_stage_outputs": Input(
        0, 0, 1, source="megatron-lm", grade="derived",
        where="core/pipeline_parallel/schedules.py: deallocate_output_tensor; PyTorch keeps them",
    ).by_default("stages that free what they have sent", Option("set.kept_stage_outputs", "1")),
    "gathered_parts": Input(
        2, source="fsdp2023", where="sec. 3.4", grade="published",
    ).by_default("one layer at work and the next one gathered", "set.gathered_parts"),
}  # fmt: skip


class KeptElements(NamedTuple):
    """Numbers kept per token over all layers.

    Attributes:
        split: within tensor-parallel parts.
        common: outside of them: inputs of norms, and of the first matrices of a block.
        masked: on which dropout acts.
        unfused: kept besides where kernels are not fused: what gates and experts yield.
        recomputed: of parts that are computed again.
        layers: layers that a token passes through.
        inputs: inputs of the layers, of the last norm and of the head.
        scores: heads of all layers.
        narrowed_split, narrowed_common: inputs that matrices alone keep, and narrower in FP8.
    """

    split: float
    common: float
    masked: float
    unfused: float
    recomputed: float
    layers: int
    inputs: float
    scores: float
    narrowed_split: float
    narrowed_common: float

    def quantities(self, where: str) -> dict[str, Input]:
        """The numbers as inputs."""
        named = {
            "split_elements": self.split,
            "common_elements": self.common,
            "masked_elements": self.masked,
            "unfused_elements": self.unfused,
            "recomputed_elements": self.recomputed,
            "layer_input_elements": self.inputs,
            "score_elements": self.scores,
            "transformer_layers": self.layers,
            "narrowed_split_elements": self.narrowed_split,
            "narrowed_common_elements": self.narrowed_common,
        }
        return {name: derived(value, where) for name, value in named.items()}


def kept_elements(model: Architecture, expanded: bool = False, again: Collection[str] = ()) -> KeptElements:
    """Count what a training step keeps of each token.

    Args:
        model: the table of weights.
        expanded: keys and values are copied for each query head, as kernels do that keep the scores.
        again: the parts that are computed again, of `PARTS`.

    >>> from ingest.architecture import describe
    >>> from ingest.catalog.store import Catalog
    >>> kept = kept_elements(describe("gpt3-175b", Catalog()))
    >>> (2 * (kept.split + kept.common) + kept.masked) / (96 * 12_288)  # the 34 of Korthikanti et al., flash attention apart
    34.0...
    """
    hidden = residual_width(model)
    rows = [row for row in model.weights if row.kind in IN_LAYERS and row.passes and len(row.shape) > 1]
    first, ends = [row for row in rows if not _ends(row)], [row for row in rows if _ends(row)]
    split = dict.fromkeys(("", *PARTS), 0.0)
    for row in first:
        if row.kind != "router":
            split[_part(row, "latent" if _last(row) in LATENT else "", again)] += row.shape[0] * row.passes
    common = float(sum(ROUTER_COPIES * row.shape[0] * row.passes for row in first if row.kind == "router"))
    # Attention keeps what its last matrix reads, which in FP8 keeps a copy; a router reads what its norm yields unchanged.
    narrowed = dict.fromkeys(split, 0.0)
    for row in ends:
        part = _part(row, "activation" if _last(row) == "down" else "", again)
        split[part] += row.shape[-1] * row.passes
        narrowed[part] += row.shape[-1] * row.passes * (1 if _last(row) == "down" else -1)
    blocks = narrowed_blocks = 0.0
    for (_, width), members in _by_input(first).items():
        passes = max(row.passes for row in members)
        if width == hidden and members[0].kind != "expert":
            blocks += passes
            narrowed_blocks += 0 if any(row.kind == "router" for row in members) else passes
        else:
            part = _part(members[0], "norm" if members[0].kind == "attention" else "", again)
            split[part] += width * passes
            narrowed[part] += width * passes
    norms = sum(row.count for row in model.weights if row.kind == "norm" and row.shape == (hidden,) and _is_scale(row))
    normed = max(norms, blocks)
    # The head reads what the last norm yields.
    yielded = hidden * (min(blocks, normed) + any(row.kind == "head" and row.passes for row in model.weights))
    common += hidden * normed + (0 if "norm" in again else yielded)
    split["latent" if any(_last(row) in LATENT for row in rows) else ""] += _expanded_keys(model, rows, expanded)
    split[""] += _normed_heads(model, rows) + FLASH_ELEMENTS * sum(row.heads * row.layers for row in model.attentions)
    unfused = [row for row in first if _last(row) == "gate" and row.kind in ("mlp", "expert")]
    unfused += [row for row in ends if row.kind == "expert"]
    return KeptElements(
        sum(count for part, count in split.items() if part not in again),
        common,
        sum(row.shape[0] * row.passes for row in ends if row.kind != "expert"),
        sum(row.shape[0] * row.passes for row in unfused if row.kind not in again),
        sum(count for part, count in split.items() if part in again) + (yielded if "norm" in again else 0),
        model.layers,
        # Besides the layers, the last norm keeps its input, and the head that of its own.
        hidden * (model.layers + 2),
        sum(row.heads * row.layers for row in model.attentions),
        sum(count for part, count in narrowed.items() if part not in again),
        0 if "norm" in again else hidden * min(narrowed_blocks, normed),
    )


def _part(row: Weight, part: str, again: Collection[str]) -> str:
    """The part of a layer whose recomputation drops what a row keeps: its whole block where that is computed again."""
    block = row.kind if row.kind == "expert" else row.name.partition(".")[0]
    return block if block in again and block in PARTS else part


def residual_width(model: Architecture) -> int:
    """The width between the layers, which the embedding may not have: that of most norms."""
    norms = [row for row in model.weights if row.kind == "norm" and len(row.shape) == 1 and _last(row) not in HEAD_NORMS]
    return max(((row.count, row.shape[0]) for row in norms), default=(0, model.hidden))[1]


def _last(row: Weight) -> str:
    return row.name.rpartition(".")[2]


def _ends(row: Weight) -> bool:
    return _last(row) in ENDS


def _is_scale(row: Weight) -> bool:
    return not row.name.endswith(".bias")


def _by_input(rows: Sequence[Weight]) -> dict[tuple[str, int], list[Weight]]:
    """Rows that read the same input: those of one block with the same width; a router reads what shared experts read."""
    found: dict[tuple[str, int], list[Weight]] = {}
    for row in rows:
        block = "shared" if row.name.startswith(("router", "shared_expert")) else row.name.rpartition(".")[0]
        found.setdefault((block, row.shape[-1]), []).append(row)
    return found


def _expanded_keys(model: Architecture, rows: Sequence[Weight], expanded: bool) -> float:
    """Keys and values beyond what their matrices yield: each head of latent attention has the part with positions."""
    latent = [row for row in rows if _last(row) == "kv_up"]
    if not latent and not expanded:
        return 0
    yielded = sum(row.shape[0] * row.passes for row in latent or rows if _last(row) in ("kv_up", "k", "v"))
    wanted = sum(row.heads * (row.key + row.value) * row.layers for row in model.attentions)
    return max(wanted - yielded, 0)


def _normed_heads(model: Architecture, rows: Sequence[Weight]) -> float:
    """Queries and keys before their norms, where heads have norms."""
    if any(_last(row).endswith("_down") for row in rows):
        return 0
    if not any(row.kind == "norm" and _last(row) in ("qk_norm", "q_norm") for row in model.weights):
        return 0
    return sum(row.shape[0] * row.passes for row in rows if _last(row) in ("q", "k"))


def gathered_parameters(model: Architecture, expert_parallel: int) -> float:
    """Parameters of the largest part that ZeRO-3 gathers: a mean layer, or the embedding or head.

    Args:
        model: the table of weights.
        expert_parallel: ranks that share the experts.
    """
    tables = [row.parameters for row in model.weights if row.kind in ("embedding", "head")]
    experts = sum(row.parameters for row in model.weights if row.kind == "expert")
    others = model.parameters - sum(tables) - experts
    layer = (others + experts / expert_parallel) / max(model.layers, 1)
    return max([layer, *tables])


def parts_again(recompute: str) -> tuple[str, ...]:
    """The parts of a layer that are computed again, where they are named.

    >>> parts_again("norm,latent"), parts_again("full")
    (('norm', 'latent'), ())

    Raises:
        UsageError: an unknown part.
    """
    if recompute in RECOMPUTES:
        return ()
    parts = tuple(part.strip() for part in recompute.split(","))
    for part in parts:
        one_of("--recompute", part, (*RECOMPUTES, *PARTS) if len(parts) == 1 else PARTS)
    return parts


def recompute_inputs(recompute: str, attention: str, dropout: bool, fp8_inputs: bool) -> Iterator[tuple[str, Input]]:
    """The inputs that follow from the recomputation, the kernel of attention, dropout and FP8."""
    note = f"attention: {attention}; recompute: {recompute}"
    kept = attention == "scores" and recompute != "selective"
    width = Input((5 if dropout else 2) if kept else 0, note=note)
    why = "flash attention, which keeps no scores"
    yield "kept_score_width", width.by_default(why, Option("attention", "scores")) if attention == "flash" else width
    if fp8_inputs:
        yield "input_narrowing", Input(1, source="transformer-engine", where=FP8_WHERE, grade="derived")
    if dropout:
        yield "mask_width", Input(1, source="korthikanti2022", where="sec. 4.1: a mask of one byte")


def check_known(model: Architecture | None, name: str) -> Architecture:
    """The table of weights, without which activations are not known.

    Raises:
        UsageError: a model of which only the parameters are known.
    """
    if model is None or not model.layers:
        raise option_error("sequence_length", f": the layers of {name} are not known, expected a model with a config.json")
    return model
