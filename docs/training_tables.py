"""The tables on models, checkpoints and memory: formulas with their sources, recipes, layouts, published errors."""

from __future__ import annotations

import json
import statistics
import tempfile
import textwrap
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import yaml
from common import CATALOG, ROOT, UNBROKEN, table
from formula_pages import formula_link

from ingest.architecture import Architecture, describe
from ingest.catalog.records import Failures, Optimizer, Recipe
from ingest.engine.expression import prose
from ingest.engine.registry import FORMULAS
from ingest.sizing.memory_inputs import PLACES
from ingest.units import display
from ingest.validation import Case, validate

GROUPS = {
    "parameters": "parameters parameters_active parameters_embedding weights_bytes",
    "flops": """forward_matmul_flops_per_token visible_tokens visible_attention_flops forward_attention_flops_per_token
        forward_attention_flops_per_token_full forward_flops_per_token forward_flops_per_token_full_attention
        flops_per_token flops_per_token_full_attention flops_per_token_6n training_flops training_seconds""",
    "cache": "kv_cache_bytes_per_token",
    "size": """trainable_parameters saved_parameters optimizer_bytes_per_parameter checkpoint_weights_bytes
        checkpoint_optimizer_bytes checkpoint_extra_bytes checkpoint_bytes""",
    "ranks": "data_parallel checkpoint_files safetensors_shards checkpoint_bytes_per_rank checkpoint_bytes_per_rank_max",
    "failures": """nodes_in_job failures_per_node_second failures_per_gpu_second observed_mean_time_to_interrupt
        job_mean_time_to_interrupt repair_seconds_allowed""",
    "synchronous": """checkpoint_dump_seconds young_interval daly_interval least_waste least_overhead_interval
        waste_left_after_restores interval_for_waste waste_left_for_dumps dump_seconds_for_waste bandwidth_for_dump""",
    "asynchronous": """practised_interval drain_window drain_share_of_interval drain_window_for_waste
        drained_interval checkpoint_staging_seconds seconds_to_copy_memory checkpoint_stall_fraction drain_duty""",
    "overhead": """staging_overhead writing_overhead lost_work_overhead restart_waste checkpoint_overhead restart_overhead
        total_overhead""",
    "restart": "restart_bytes_unique restart_bytes_replicated restart_bytes_all restart_read_bandwidth",
    "retention": """checkpoints_written checkpoints_kept_forever checkpoints_retained checkpoint_retained_bytes
        checkpoint_bytes_written_per_day drive_writes_per_day""",
    "memory": """model_state_bytes_per_parameter model_state_bytes replicated_bytes_per_parameter
        partitioned_bytes_per_parameter parameters_per_gpu resident_parameters_per_gpu model_state_bytes_per_gpu
        memory_left_for_partitions partition_ranks gpus_to_hold nodes_to_hold offloaded_bytes offloaded_bytes_per_node
        total_bytes_per_gpu""",
    "step": """layer_activation_bytes score_bytes kept_activation_bytes layer_input_bytes recomputed_layer_bytes
        first_stage_share last_stage_share last_stage_logit_bytes activation_bytes_per_gpu logit_bytes_per_gpu
        gather_bytes_per_gpu step_bytes_per_gpu""",
    "training": """goodput gpu_hours wall_clock_seconds power_drawn_per_gpu machine_energy training_energy training_carbon
        training_water training_cost stall_cost_per_year""",
    "corpus": "bytes_per_token tokenized_bytes stored_share text_sample_bytes",
    "site-reads": """run_cold_read_bandwidth job_read_bandwidth job_sustained_read_bandwidth cluster_read_bandwidth
        workload_read_bandwidth site_read_bandwidth workload_largest_read_bandwidth site_largest_read_bandwidth
        site_sustained_read_bandwidth""",
    "site-demand": """node_drawable_bandwidth run_needed_read_bandwidth run_drawn_read_bandwidth run_loader_bandwidth
        run_write_bandwidth run_restart_bandwidth drawn_share cluster_drawable_bandwidth""",
    "site-served": """computed_turn_rate served_users missing_serving_gpus serving_replicas served_weights_bytes""",
    "site-caches": """share_in_one_node share_in_all_nodes lru_miss_share warm_up_bytes_of_each warm_up_bytes_shared
        run_cached_read_bandwidth started_read_bandwidth""",
    "site-load": """request_of_file request_of_group request_of_sequence readers_of_part queue_depth implied_latency
        latency_99 request_bytes_of_mix line_seconds""",
    "site-overlap": """write_duty runs_writing overlapping_write_bandwidth simultaneous_write_bandwidth
        alternating_write_bandwidth stopped_read_share site_mixed_bandwidth""",
    "site-floor": """guidance_scale cluster_read_floor run_read_floor node_read_floor site_read_floor signed_read_floor
        asked_read_floor asked_write_floor asked_node_floor""",
    "site-transfers": """dataset_load_bandwidth dataset_refresh_bandwidth dataset_preparation_bandwidth
        job_start_bandwidth job_start_opens job_evaluation_bandwidth job_export_bandwidth site_load_bandwidth
        site_preparation_bandwidth site_start_bandwidth""",
    "site-growth": """capacity_growth bandwidth_growth site_grown_read_bandwidth nodes_for_growth versions_kept
        dataset_bytes_held year_usable_bytes site_usable_bytes""",
    "site-capacity": "year_reserve_bytes year_planned_bytes site_planned_bytes site_capacity_to_buy site_raw_bytes",
    "site-protection": """protection_efficiency surviving_share usable_share write_amplification site_media_bytes_per_day
        site_drive_writes_per_day""",
    "site-rounding": "rounded_requirement limited_requirement",
    "zero-infinity": """zero_infinity_state_bytes activation_checkpoint_bytes model_state_working_memory
        bloom_parameters""",
}


def formulas(group: str) -> str:
    """The formulas of a group, each with its source and place."""
    lines, rows = [], []
    for name in GROUPS[group].split():
        made = FORMULAS[name]
        wrapped = textwrap.fill(f"= {prose(made.tree())}", 108, initial_indent="  ", subsequent_indent="    ", **UNBROKEN)
        lines.append(f"{name}\n{wrapped}")
        if made.source != "definition":
            rows.append(
                (
                    f"[`{name}`]({formula_link(name)})",
                    f"[{made.source}](reference/sources.md#{made.source})",
                    made.where,
                )
            )
    code = "```text\n" + "\n".join(lines) + "\n```"
    sources = table(("formula", "source", "place"), rows)
    return f"{code}\n\n{sources}\n\nThe others are definitions." if rows else f"{code}\n\nThese are definitions."


def recipes() -> str:
    """Bytes per parameter by recipe."""
    rows = []
    for one in CATALOG.all(Recipe):
        kept = CATALOG.get(Optimizer, one.optimizer)
        states = [part.value for part in (one.weights, one.gradients, kept.master, kept.momentum, kept.variance)]
        source = f"[{one.weights.source}](reference/sources.md#{one.weights.source}), {one.weights.where}"
        rows.append((f"`{one.id}`", *(f"{value:g}" for value in (*states, sum(states))), source))
    rows.sort(key=lambda row: float(row[6]))
    return table(("recipe", "weights", "gradients", "master", "momentum", "variance", "B per parameter", "source"), rows)


def optimizers() -> str:
    """Bytes of state per parameter by optimizer."""
    rows = []
    for one in CATALOG.all(Optimizer):
        note = {"matrices": "rows and columns of each matrix", "rest": "of all but hidden matrices"}.get(one.factored, "")
        source = f"[{one.momentum.source}](reference/sources.md#{one.momentum.source}), {one.momentum.where}".removesuffix(", ")
        cells = (f"{part.value:g}" for part in (one.master, one.momentum, one.variance))
        rows.append((f"`{one.id}`", one.name, *cells, note, source))
    return table(("id", "optimizer", "master", "momentum", "variance", "second moment only", "source"), rows)


def rates() -> str:
    """Failure rates."""
    rows = []
    for one in CATALOG.all(Failures):
        if one.rate is not None:
            value, unit_rate = one.rate, one.rate.value
        else:
            assert one.interrupts is not None
            assert one.period is not None
            assert one.nodes is not None
            value, unit_rate = one.interrupts, one.interrupts.value / one.period.value / one.nodes.value
        per_day = f"{unit_rate * 86_400 * 1000:.2f}"
        source = f"[{value.source}](reference/sources.md#{value.source}), {value.where}"
        rows.append((f"`{one.id}`", one.name, per_day, f"{one.gpus_per_node.value:g}", source))
    columns = ("id", "cluster", "failures per 1,000 node-days", "GPUs per counted node", "source")
    return table(columns, rows)


def zero_places() -> str:
    """Where each part of the states lies, by stage and offload."""
    words = ("on every GPU of its shard", "partitioned over the replicas", "off the GPU")
    rows = []
    for (stage, offload), parts in PLACES.items():
        rows.append((stage, offload, *(words[part.index(1)] for part in parts)))
    return table(("ZeRO stage", "offload", "weights", "gradients", "optimizer states"), rows)


@cache
def _cases() -> dict[tuple[str, str], Case]:
    return {(one.name, case.id): case for one in validate(catalogs=CATALOG).sets for case in one.results}


#: group -> (printed figure, reading, set, case)
ERRORS = {
    "parameters": (
        ("a preset of a public sizing tool: 55.3 billion", "the real structure", "llm-parameters", "llama2-70b parameters"),
        ("GPT-3, table 2.1: 175.0 billion", "its compute table: 174,600 million", "llm-parameters", "gpt3-175b parameters"),
        ("DeepSeek-V3: 37 billion active", "without embedding or head", "llm-parameters", "deepseek-v3 parameters_active"),
        ("BLOOM, 12·nl·hd² + V·hd + 13·nl·hd: 176 billion", "two norms left out", "bloom-offload", "176B parameters"),
        ("BLOOM, counted on its class", "exact", "llm-parameters", "bloom-176b parameters"),
    ),
    "units": (
        ("MLPerf Storage rules, 8B: 105 GB", "GiB", "mlperf-checkpoints", "8B, rules"),
        ("MLPerf Storage rules, 405B: 5.29 TB", "thousands of GiB", "mlperf-checkpoints", "405B, rules"),
        ("BLOOM model card: 329 GB of weights", "GiB", "llm-checkpoints", "14-weights"),
        ("BLOOM model card: 2.3 TB with optimizer states", "thousands of GiB", "llm-checkpoints", "14-total"),
        ("DeepSpeed issue 6598, folder listing: 90 GB", "GiB", "llm-checkpoints", "llama3-8b-deepspeed-optimizer"),
        ("a note: 1T parameters take 16 TiB", "TB", "zero", "1T-printed"),
        ("BLOOM-like 24T: 44 TB of weights, read as TB", "9 % low", "bloom-offload", "24T offload, reading 1"),
        ("BLOOM-like 24T: 44 TB of weights, read as TiB", "fits", "bloom-offload", "24T offload, reading 2"),
        ("BLOOM-like 1.2T: 2.3 TB of weights, read as TB", "5 % low", "bloom-offload", "1.2T offload, reading 1"),
        ("BLOOM-like 1.2T: 2.3 TB of weights, read as TiB", "4 % high", "bloom-offload", "1.2T offload, reading 2"),
        ("3 PB of memory, dumped to 80 %: 5.56 TB/s", "as printed", "llm-checkpoints", "9"),
        ("3 PB read as 3 PiB", "12 % more", "llm-checkpoints", "9-binary"),
    ),
    "mlperf": (
        ("rules: 18 TB for the 1T model", "weights counted twice", "mlperf-checkpoints", "1T, rules"),
        ("hard-coded: 2571 GiB of weights, 18 TB", "1.38 trillion parameters", "mlperf-checkpoints", "1T, hard-coded model"),
        ("published run of the same model", "the true total", "mlperf-checkpoints", "1T total"),
        ("2571 GiB of weights", "parameters that follow", "llm-checkpoints", "13-weights"),
        ("18 TB with these parameters", "14 B per parameter", "llm-checkpoints", "13-total"),
        ("published run of 70B", "128 heads instead of 64", "mlperf-checkpoints", "70B total"),
        ("rules, 70B per rank: 14.23, once 11.23 GB", "GiB, one cell misprinted", "mlperf-checkpoints", "70B per rank"),
        ("405B per rank: 11.8 GB", "mean of the first replica", "mlperf-checkpoints", "405B per rank"),
    ),
    "vectors": (
        ("MLPerf Storage 3.0, 10M × 1,536 in 10 shards: 798.72 GB", "its helper", "vector-indexes", "size helper"),
        ("the same index as DiskANN writes it", "shards divide the data", "vector-indexes", "size of the index"),
    ),
    "failures": (
        ("Llama 3, table 5: 148 of 419 are 30.1 %", "the counts", "failures", "3-printed"),
        ("Llama 3, table 5: interrupts for 30.1 %", "492 interrupts", "failures", "3-other-reading"),
        ("Llama 3, 54 days, 419 interrupts", "notes say 2.5 h", "failures", "1-unexpected"),
        ("RSC-1, 1,024 GPUs: 7.9 h measured", "hardware alone", "failures", "5-hardware"),
        ("RSC-1, 1,024 GPUs by the rate of 8", "nodes in series", "failures", "5-series"),
        ("RSC-1, 131,072 GPUs: 0.23 h", "rounded", "failures", "4-131072"),
    ),
    "memory": (
        ("ZeRO-Infinity, figure 2a: working memory 1.95 GiB", "4·hd·4hd", "zero", "working memory 80x10240"),
        ("ZeRO-Infinity, figure 2a, next row: 6.25 GiB", "agrees", "zero", "working memory 100x20480"),
        ("800 V100 of 32 GB hold 1T", "GiB, rounded", "zero", "V100s for 1T"),
        ("\"#DGX needed (fp16)\", 176B, as model states", "20 B", "bloom-offload", "176B DGX for model states"),
        ("\"#DGX needed (fp16)\", 176B, as weights", "2 B", "bloom-offload", "176B DGX for weights"),
        ("\"#DGX needed (fp16)\", 24T, as model states", "20 B", "bloom-offload", "24T DGX for model states"),
        ("\"#DGX needed (fp16)\", 24T, as weights", "2 B", "bloom-offload", "24T DGX for weights"),
        ("Megatron-LM, 1T: 13.8 TB", "14 B × 1.008e12", "llm-checkpoints", "megatron-1t"),
    ),
    "offload": (
        ("slides: 2.3 TeraBytes offloaded of 1.213T", "2 B each", "offload-inference", "BLOOM 1.2T weights"),
        ("slides: 44 TeraBytes offloaded of 24.17T", "TiB", "offload-inference", "BLOOM 24T weights"),
        ("ZeRO-Infinity: 70 GB/s for more than 50 %", "a bound", "offload", "weights at 70 GB/s"),
        ("ZeRO-Infinity: 1.5 TB/s for 90 %", "rounded", "offload", "optimizer at 1.5 TB/s"),
        ("ZeRO-Infinity: 32T on 32 DGX-2", "not the fewest", "offload", "32T on 32 DGX-2"),
        ("ZeRO-Infinity: 44 TFLOP/s of 1T on 64 V100", "the default share of the peak", "offload", "1T on four DGX-2"),
        ("ZeRO-Infinity: 44 TFLOP/s of 1T on 64 V100", "its 70 TFLOP/s", "offload", "1T on four DGX-2 at 70 TFLOP/s"),
        ("ZeRO-Offload: an iteration of 10B in 25.7 s", "a first CPU Adam", "offload", "10B on one V100, iteration"),
        ("ZeRO-Inference: 23.44 tokens/s of Llama-2-70B", "prompts included", "offload-inference",
         "Llama-2-70B, 4 bits on the host"),
        ("MLPerf key-value benchmark: 91.9 GB read", "GiB", "kv-tier", "NVMe only, reads"),
        ("MLPerf key-value benchmark: 7.4 GB written", "GiB", "kv-tier", "NVMe only, writes"),
    ),
}  # fmt: skip


def errors(group: str) -> str:
    """Published figures next to ours, in decimal and binary units, so that a confusion of the two is visible."""
    rows = []
    for printed, reading, name, case_id in ERRORS[group]:
        case = _cases()[name, case_id]
        ours = display(case.ours, case.unit, binary=True)
        off = f"{case.error * 100:+.1f} %".replace("-0.0 %", "0.0 %").replace("+0.0 %", "0.0 %")
        rows.append((printed, ours, off, reading, f"`{name}`: {case_id}"))
    return table(("printed", "computed", "difference", "reading", "case of `ingest validate`"), rows)


def counted() -> str:
    """Parameters and FLOPs of configs, compared with the real class."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    rows, seen, unseen = [], set(), set()
    for name, title in (("published", "published models"), ("counted", "small configurations of the tests")):
        text = (ROOT / "tests" / "architecture" / f"{name}.yaml").read_text(encoding="utf-8")
        cases = yaml.load(text, Loader=loader)["models"]  # noqa: S506  it is a safe one
        exact, errors = 0, []
        for case in cases:
            made = _described(case["config"])
            exact += made.parameters == case["parameters"]
            if case["flops"] is None:
                continue
            found = case["flops"] if isinstance(case["flops"], dict) else {case.get("tokens", 16): case["flops"]}
            if case.get("flops_layers", made.layers) < made.layers:
                made = _described(_shortened(case["config"], case["flops_layers"]))
            errors.append(
                max(
                    abs(float(made.forward_flops_per_token(int(tokens), causal=False)) * int(tokens) / flops - 1)
                    for tokens, flops in found.items()
                )
            )
        types = len({case["config"].get("model_type") or case["config"]["_class_name"] for case in cases})
        unseen |= {case["config"].get("model_type") or case["config"]["_class_name"] for case in cases}
        seen |= {case["config"]["model_type"] for case in cases if case["flops"] is not None}
        numbers = (f"{statistics.median(errors) * 100:.3f} %", f"{max(errors) * 100:.3f} %")
        rows.append((title, len(cases), types, exact, len(errors), *numbers))
    heads = ("configs", "values of `model_type`", "parameters exact", "FLOPs compared", "median error", "largest error")
    listed = ", ".join(f"`{name}`" for name in sorted(unseen - seen))
    missing = textwrap.fill(f"The FLOPs of these types were not compared: {listed}.", 118, **UNBROKEN)
    return table(("what", *heads), rows) + f"\n\n{missing}"


def _shortened(config: dict[str, object], layers: int) -> dict[str, object]:
    """The configuration with fewer layers, as the class was counted."""
    depth = "n_layers" if "n_layers" in config else "num_hidden_layers"
    cut = {key: value[:layers] if key == "layer_types" and isinstance(value, list) else value for key, value in config.items()}
    return {**cut, depth: layers}


def _described(config: dict[str, object]) -> Architecture:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return describe(path)


TABLES: dict[str, Callable[[], str]] = {
    **{f"formulas-{name}": partial(formulas, name) for name in GROUPS},
    **{f"errors-{name}": partial(errors, name) for name in ERRORS},
    "counted-models": counted,
    "recipes": recipes,
    "optimizers": optimizers,
    "failure-rates": rates,
    "zero-places": zero_places,
}
