"""A training run: GPU-hours, duration, energy, carbon, water and cost, and the price of stalls.

Money has the currency of the prices that the user gives; carbon and water follow from the intensities that the user gives."""

import math

from ingest.engine.expression import Num, minimum, where
from ingest.engine.registry import computed_quantity, formula, input_quantities
from ingest.formulas.checkpoint import MODEL

input_quantities(__file__)

LLAMA = "llama1"


# Tokens for which a training run of given work ends at the least loss
HOFFMANN, BESIROGLU = "hoffmann2022", "besiroglu2024"
computed_quantity("optimal_tokens_by_ratio", "tokens_per_parameter * parameters", "token",
    "Compute-optimal tokens of a model, by the ratio that three approaches agree on.", source=HOFFMANN,
    where="table 3: 20 to 22 tokens per parameter from 400 million to 10 trillion",
    label="compute-optimal tokens by ratio")  # fmt: skip
computed_quantity("optimal_tokens_by_loss",
    "one_token * (loss_data_exponent * loss_of_data / (loss_size_exponent * loss_of_size)"
    " * (parameters / one_parameter) ** loss_size_exponent) ** (1 / loss_data_exponent)", "token",
    "Compute-optimal tokens of a model: where a FLOP more for data and one more for size lower the loss alike.",
    source=BESIROGLU, where="replication of approach 3 of Hoffmann et al.; αA·N^−α = βB·D^−β",
    label="compute-optimal tokens by loss",
    example="round(optimal_tokens_by_loss(1, 0.3658, 2085.43, 0.3478, 482.01, 70e9, 1) / 70e9, 1) -> 18.4")  # fmt: skip

computed_quantity("trained_work_share", "(2 + trainable_parameters / parameters) / 3", "1",
    "FLOPs of a run that trains few parameters over those of one that trains all: frozen weights need no gradients.",
    source="arithmetic", where="2 FLOPs per weight forward, 2 for the gradients of activations, 2 for those of a weight",
    high=1, example="round(trained_work_share(0, 8e9), 3), trained_work_share(8e9, 8e9) -> (0.667, 1.0)")  # fmt: skip
computed_quantity("preference_work_factor", "trained_work_share + frozen_models / 3", "1",
    "FLOPs of a run with models that are only read over those of one that trains one model whole.", source="arithmetic",
    where="a model that is read passes forward alone: 2 of 6 FLOPs per weight",
    label="work over that of training one model whole", example="round(preference_work_factor(1, 1), 3) -> 1.333")  # fmt: skip

# The batch with which a language model is trained
BATCHES = "ingest-batches"
computed_quantity("run_batch_tokens", "batch_of_trillion * (training_tokens / trillion_tokens) ** 0.5", "token",
    "Tokens of one step of a whole pre-training run: practice grows it with the root of the tokens.", source=BATCHES,
    where="catalogs/published/run-batches.yaml", label="global batch of the run",
    example="round(run_batch_tokens(3.4e6, 4e12, 1e12)) -> 6800000")  # fmt: skip
computed_quantity("run_batch_samples", "run_batch_tokens / tokens_per_sample", "sample",
    "Samples of one step of a whole run, which published runs state as their batch.")  # fmt: skip

computed_quantity("goodput", "(1 - total_overhead) * (1 - stall_fraction)", "1",
    "Share of the time in which the run makes progress: neither lost to checkpoints and failures nor spent on waiting.",
    label="goodput", high=1, example="round(goodput(0.1, 0.05), 3) -> 0.855")  # fmt: skip
computed_quantity("goodput_with_stalls", "goodput_closed_form * (1 - stall_fraction)", "1",
    "Share of the time in which the run makes progress: what interrupts and checkpoints leave, less the waiting for data.",
    label="goodput of a run with waits", of="goodput", when="goodput_in_closed_form", above=False, high=1,
    example="round(goodput_with_stalls(0.9, 0.05), 3) -> 0.855")  # fmt: skip
computed_quantity("gpu_hours", "training_samples / samples_per_second_per_gpu / goodput / seconds_per_hour", "GPU-hour",
    "GPU-hours of a training run: its samples at the steady rate, over the goodput.", label="GPU-hours")  # fmt: skip
computed_quantity("wall_clock_seconds", "gpu_hours / gpus * seconds_per_hour", "s",
    "Duration of a training run from its start to its end, with all that it loses.",
    label="duration of the training run")  # fmt: skip
for quantity, unit, label in (
    ("gpu_hours", "GPU-hour", "GPU-hours in bf16"),
    ("training_seconds", "s", "duration of the training run in bf16"),
):
    computed_quantity(f"{quantity}_in_bf16", f"{quantity} * bf16_time_factor", unit,
        "Need of the run in bf16, where it computes in fewer bits that nobody asked for.", label=label)  # fmt: skip
computed_quantity("whole_run_utilization", "training_flops / (gpu_hours * seconds_per_hour * peak_flops_per_gpu)", "1",
    "Share of the dense peak that a whole run reached, its losses included.", label="utilization of the whole run", high=1,
    needs="training_flops gpu_hours peak_flops_per_gpu seconds_per_hour")  # fmt: skip
computed_quantity("power_drawn_per_gpu", "(power_per_gpu + host_power_per_gpu) * power_load", "W/GPU",
    "Mean power of one GPU with its share of the host.", label="power drawn per GPU",
    needs="power_per_gpu power_load host_power_per_gpu", example="power_drawn_per_gpu(700, 0.8, 575) -> 1020.0")  # fmt: skip
computed_quantity("host_power_of_node", "node_power / gpus_per_node - rated_power_per_gpu", "W/GPU",
    "Power of a node beyond that of its GPUs, for each of them; a cap on the GPUs leaves it as it is.", of="host_power_per_gpu",
    when="power_of_node_known", example="host_power_of_node(10_200, 8, 700) -> 575.0")  # fmt: skip
computed_quantity("storage_energy", "storage_power * wall_clock_seconds", "J",
    "Energy of the storage over the run.", label="energy of the storage")  # fmt: skip
computed_quantity("machine_energy", "gpu_hours * seconds_per_hour * power_drawn_per_gpu + storage_energy", "J",
    "Energy of GPUs, hosts and storage over the run, without that of the building.", label="energy of the machines",
    needs="gpu_hours power_drawn_per_gpu storage_energy seconds_per_hour",
    example="machine_energy(82_432, 400, 0, 3600) / 3.6e9 -> 32.9728")  # fmt: skip
computed_quantity("training_energy", "machine_energy * pue", "J",
    "Energy of the training run as the site takes it from the grid.", source=LLAMA, where="sec. 6: Wh = GPU-h × power × PUE",
    label="energy of the training run")  # fmt: skip
computed_quantity("training_carbon", "training_energy * carbon_intensity", "kg",
    "Carbon dioxide equivalent of the electricity of the training run.", source=LLAMA, where="sec. 6: tCO2eq = MWh × 0.385",
    label="carbon of the training run")  # fmt: skip
computed_quantity("training_water", "machine_energy * water_intensity", "L",
    "Water that the site takes to cool the machines of the training run.", label="water of the training run")  # fmt: skip
computed_quantity("gpu_cost", "gpu_hours * gpu_hour_price", "1",
    "Cost of the GPU-hours, in the currency of their price.", label="cost of the GPU-hours")  # fmt: skip
computed_quantity("electricity_cost", "training_energy * electricity_price", "1",
    "Cost of the electricity, in the currency of its price.", label="cost of the electricity")  # fmt: skip
computed_quantity("training_cost", "gpu_cost + electricity_cost", "1",
    "Cost of the GPU-hours and the electricity of the training run.", label="cost of the training run")  # fmt: skip
computed_quantity("stall_cost_per_year", "gpus * hours_per_year * gpu_hour_price * stall_fraction", "1",
    "Price of the GPU-hours that wait for data in a year: the most that storage without stalls may cost more.",
    label="price of stalls per year")  # fmt: skip
computed_quantity("storage_power_share", "storage_power / (storage_power + gpus * power_drawn_per_gpu)", "1",
    "Share of the power of all machines that the storage draws.", label="share of the storage in the power", high=1,
    example="round(storage_power_share(50_000, 1024, 1275), 3) -> 0.037")  # fmt: skip


computed_quantity("bandwidth_beside_reads", "bought_bandwidth - other_jobs_read_bandwidth", "B/s",
    "Bandwidth that reads of other jobs leave to checkpoints; 0 or below leaves none.",
    label="bandwidth left by reads of other jobs")  # fmt: skip
computed_quantity("restore_seconds", "restart_read_bytes / restore_bandwidth", "s",
    "Time to read a checkpoint at the restore bandwidth; all readers of a restart share it.",
    label="restore time at the restore bandwidth")  # fmt: skip
computed_quantity("persistent_period_seconds",
    "maximum(persistent_every * (checkpoint_interval + checkpoint_staging_seconds)"
    " + stopped_share * checkpoint_dump_seconds, checkpoint_dump_seconds + checkpoint_staging_seconds)", "s",
    "Time from one persistent checkpoint to the next: work, stalls and slow-down, or the drain that the next one awaits.",
    source=MODEL, where="max(k·(τ + b) + s·δ, δ + b)", label="time from one persistent checkpoint to the next",
    example="persistent_period_seconds(1, 900, 1, 0.5, 90), persistent_period_seconds(1, 60, 1, 0.5, 90)"
        " -> (946.0, 106.0)")  # fmt: skip
computed_quantity("checkpoint_lag_seconds",
    "persistent_every * (checkpoint_interval + checkpoint_staging_seconds)"
    " + checkpoint_dump_seconds - persistent_period_seconds", "s",
    "Time by which a checkpoint is complete later than the period in which its work was done.", source=MODEL,
    where="k·(τ + b) + δ − period; 0 where GPUs wait for the dump", label="lag of a drain", above=False,
    example="checkpoint_lag_seconds(1, 900, 1, 90, 946) -> 45")  # fmt: skip
computed_quantity("interrupts_per_period", "persistent_period_seconds / job_mean_time_to_interrupt", "1",
    "Mean number of interrupts from one persistent checkpoint to the next.")  # fmt: skip


@formula("1", where="1 − e^−x; below 0.1 its Padé approximant [4/4], which is exact in floating point and loses no digits",
    high=1)  # fmt: skip
def interrupted_period_share(interrupts_per_period: Num) -> Num:
    """Share of the periods in which an exponential interrupt strikes.

    >>> round(interrupted_period_share(0.5), 6), interrupted_period_share(1e-12)
    (0.393469, 1e-12)
    """
    return where(
        interrupts_per_period < 0.1,
        minimum(interrupts_per_period, 0.1)
        * (1 + minimum(interrupts_per_period, 0.1) ** 2 / 42)
        / (
            1
            + minimum(interrupts_per_period, 0.1) / 2
            + 3 * minimum(interrupts_per_period, 0.1) ** 2 / 28
            + minimum(interrupts_per_period, 0.1) ** 3 / 84
            + minimum(interrupts_per_period, 0.1) ** 4 / 1680
        ),
        1 - math.e ** (0 - interrupts_per_period),
    )


@formula("1", source="daly2006",
    where="eq. 20, with the lag of a drain: k·τ/M · e^−((R + lag + L)/M) ÷ (1 − e^−(L/M)), L the period",
    label="goodput in closed form", above=False, high=1)  # fmt: skip
def goodput_closed_form(
    persistent_every: Num,
    checkpoint_interval: Num,
    persistent_period_seconds: Num,
    interrupted_period_share: Num,
    checkpoint_lag_seconds: Num,
    restart_seconds: Num,
    reschedule_seconds: Num,
    job_mean_time_to_interrupt: Num,
) -> Num:
    """Expected share of progress with exponential interrupts, in restarts too: Daly's exact model.

    >>> round(goodput_closed_form(1, 495.5, 506.9, 0.044502, 0, 120, 600, 3.093 * 3600), 4)
    0.8956
    """
    return (
        persistent_every
        * checkpoint_interval
        / job_mean_time_to_interrupt
        * math.e
        ** (
            0
            - (restart_seconds + reschedule_seconds + checkpoint_lag_seconds + persistent_period_seconds)
            / job_mean_time_to_interrupt
        )
        / interrupted_period_share
    )


computed_quantity("goodput_gain_share", "(goodput_after - goodput_before) / doubled_bandwidth * bandwidth_step", "1",
    "Marginal gain: share of the time that one more GB/s turns into progress, while the write bandwidth is doubled.",
    label="goodput gained per GB/s", low=-math.inf, needs="goodput_before goodput_after doubled_bandwidth bandwidth_step",
    example="round(goodput_gain_share(0.90, 0.92, 50e9, 1e9), 6) -> 0.0004")  # fmt: skip
computed_quantity("gpus_gained", "goodput_gain_share * gpus", "GPU",
    "GPUs whose work one more GB/s of write bandwidth adds to the job.", label="GPUs gained per GB/s",
    low=-math.inf)  # fmt: skip
