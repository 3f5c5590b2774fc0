"""A training run: GPU-hours, duration, energy, carbon, water and cost, and the price of stalls.

Money has the currency of the prices that the user gives; carbon and water follow from the intensities that the user gives."""

import math

from ingest.engine.expression import Num, minimum, where
from ingest.engine.registry import computed_quantities, computed_quantity, formula, input_quantities

input_quantities(__file__)

LLAMA = "llama1"

# Tokens for which a training run of given work ends at the least loss
HOFFMANN, BESIROGLU = "hoffmann2022", "besiroglu2024"
computed_quantities(__file__)

# The batch with which a language model is trained
BATCHES = "ingest-batches"

for quantity, unit, label in (
    ("gpu_hours", "GPU-hour", "GPU-hours in bf16"),
    ("training_seconds", "s", "duration of the training run in bf16"),
):
    computed_quantity(f"{quantity}_in_bf16", f"{quantity} * bf16_time_factor", unit,
        "Need of the run in bf16, where it computes in fewer bits that nobody asked for.", label=label)  # fmt: skip


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
