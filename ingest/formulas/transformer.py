"""Compute of transformer training."""

from ingest.expression import Num
from ingest.formula import formula


@formula(unit="FLOP", source="kaplan2020", where="sec. 2.1, C = 6·N·D")
def training_flops(flops_per_parameter_and_token: Num, parameters_active: Num, training_tokens: Num) -> Num:
    """Compute of a whole training, attention left out.

    >>> f"{training_flops(6, 405e9, 15.6e12):.3g}"
    '3.79e+25'
    """
    return flops_per_parameter_and_token * parameters_active * training_tokens


@formula(unit="s", source="definition")
def training_seconds(training_flops: Num, achieved_flops_per_gpu: Num, gpus: Num) -> Num:
    """Time of a whole training at a steady rate.

    >>> round(training_seconds(4.30e23, 147e12, 1024) / 86400, 2)
    33.06
    """
    return training_flops / achieved_flops_per_gpu / gpus
