"""A training run: GPU-hours, duration, energy, carbon, water and cost, and the price of stalls.

Money has the currency of the prices that the user gives; carbon and water follow from the intensities that the user gives.
"""

from ingest.engine.expression import Num
from ingest.engine.registry import alternative, formula, input_quantity

LLAMA = "llama1"

input_quantity("hours_per_year", "1", "Hours of a year of 365 days.", low=8760, high=8760, above=False, default=8760)
input_quantity("power_per_gpu", "W/GPU", "Power of one GPU at full load.", high=20_000, label="power per GPU")
input_quantity("rated_power_per_gpu", "W/GPU", "Power of one GPU at full load without a cap, as its maker states it.",
    high=20_000, label="rated power per GPU")  # fmt: skip
alternative("rated_power_per_gpu", "power_per_gpu", when="power_given")
input_quantity("power_load", "1", "Mean power of the machines over their power at full load.", high=1, default=1)
input_quantity("host_power_per_gpu", "W/GPU", "Power of the host, its NICs and fans, for each GPU.",
    above=False, high=20_000, label="host power per GPU")  # fmt: skip
alternative("host_power_per_gpu", "host_power_of_node", when="power_of_node_known")
input_quantity("node_power", "W/node", "Power of one node at full load.", label="power of a node")
input_quantity("storage_power", "W", "Power of the storage that serves the run.", above=False)
input_quantity("pue", "1", "PUE: energy of the site over the energy of its machines.",
    low=1, above=False, high=5, label="power usage effectiveness")  # fmt: skip
input_quantity("gpu_hour_price", "1/GPU-hour", "Price of one GPU-hour.", above=False)
input_quantity("electricity_price", "1/J", "Price of electricity.", above=False, high=2e-5)
input_quantity("carbon_intensity", "kg/J", "Carbon dioxide equivalent emitted for a unit of electricity.",
    above=False, high=1e-6)  # fmt: skip
input_quantity("water_intensity", "L/J", "WUE: water that the site takes for the energy of its machines.",
    above=False, high=1e-5)  # fmt: skip


@formula(unit="1", source="definition", label="goodput", high=1)
def goodput(total_overhead: Num, stall_fraction: Num) -> Num:
    """Share of the time in which the run makes progress: neither lost to checkpoints and failures nor spent on waiting.

    >>> round(goodput(0.1, 0.05), 3)
    0.855
    """
    return (1 - total_overhead) * (1 - stall_fraction)


@formula(
    unit="1",
    source="definition",
    label="goodput of a run with waits",
    above=False,
    high=1,
    of="goodput",
    when="goodput_in_closed_form",
)
def goodput_with_stalls(goodput_closed_form: Num, stall_fraction: Num) -> Num:
    """Share of the time in which the run makes progress: what interrupts and checkpoints leave, less the waiting for data.

    >>> round(goodput_with_stalls(0.9, 0.05), 3)
    0.855
    """
    return goodput_closed_form * (1 - stall_fraction)


@formula(unit="GPU-hour", source="definition", label="GPU-hours")
def gpu_hours(training_samples: Num, samples_per_second_per_gpu: Num, goodput: Num, seconds_per_hour: Num) -> Num:
    """GPU-hours of a training run: its samples at the steady rate, over the goodput."""
    return training_samples / samples_per_second_per_gpu / goodput / seconds_per_hour


@formula(unit="s", source="definition", label="duration of the training run")
def wall_clock_seconds(gpu_hours: Num, gpus: Num, seconds_per_hour: Num) -> Num:
    """Duration of a training run from its start to its end, with all that it loses."""
    return gpu_hours / gpus * seconds_per_hour


@formula(unit="1", source="definition", label="utilization of the whole run", high=1)
def whole_run_utilization(training_flops: Num, gpu_hours: Num, peak_flops_per_gpu: Num, seconds_per_hour: Num) -> Num:
    """Share of the dense peak that a whole run reached, its losses included."""
    return training_flops / (gpu_hours * seconds_per_hour * peak_flops_per_gpu)


@formula(unit="W/GPU", source="definition", label="power drawn per GPU")
def power_drawn_per_gpu(power_per_gpu: Num, power_load: Num, host_power_per_gpu: Num) -> Num:
    """Mean power of one GPU with its share of the host.

    >>> power_drawn_per_gpu(700, 0.8, 575)
    1020.0
    """
    return (power_per_gpu + host_power_per_gpu) * power_load


@formula(unit="W/GPU", source="definition")
def host_power_of_node(node_power: Num, gpus_per_node: Num, rated_power_per_gpu: Num) -> Num:
    """Power of a node beyond that of its GPUs, for each of them; a cap on the GPUs leaves it as it is.

    >>> host_power_of_node(10_200, 8, 700)
    575.0
    """
    return node_power / gpus_per_node - rated_power_per_gpu


@formula(unit="J", source="definition", label="energy of the storage")
def storage_energy(storage_power: Num, wall_clock_seconds: Num) -> Num:
    """Energy of the storage over the run."""
    return storage_power * wall_clock_seconds


@formula(unit="J", source="definition", label="energy of the machines")
def machine_energy(gpu_hours: Num, power_drawn_per_gpu: Num, storage_energy: Num, seconds_per_hour: Num) -> Num:
    """Energy of GPUs, hosts and storage over the run, without that of the building.

    >>> machine_energy(82_432, 400, 0, 3600) / 3.6e9
    32.9728
    """
    return gpu_hours * seconds_per_hour * power_drawn_per_gpu + storage_energy


@formula(unit="J", source=LLAMA, where="sec. 6: Wh = GPU-h × power × PUE", label="energy of the training run")
def training_energy(machine_energy: Num, pue: Num) -> Num:
    """Energy of the training run as the site takes it from the grid."""
    return machine_energy * pue


@formula(unit="kg", source=LLAMA, where="sec. 6: tCO2eq = MWh × 0.385", label="carbon of the training run")
def training_carbon(training_energy: Num, carbon_intensity: Num) -> Num:
    """Carbon dioxide equivalent of the electricity of the training run."""
    return training_energy * carbon_intensity


@formula(unit="L", source="definition", label="water of the training run")
def training_water(machine_energy: Num, water_intensity: Num) -> Num:
    """Water that the site takes to cool the machines of the training run."""
    return machine_energy * water_intensity


@formula(unit="1", source="definition", label="cost of the GPU-hours")
def gpu_cost(gpu_hours: Num, gpu_hour_price: Num) -> Num:
    """Cost of the GPU-hours, in the currency of their price."""
    return gpu_hours * gpu_hour_price


@formula(unit="1", source="definition", label="cost of the electricity")
def electricity_cost(training_energy: Num, electricity_price: Num) -> Num:
    """Cost of the electricity, in the currency of its price."""
    return training_energy * electricity_price


@formula(unit="1", source="definition", label="cost of the training run")
def training_cost(gpu_cost: Num, electricity_cost: Num) -> Num:
    """Cost of the GPU-hours and the electricity of the training run."""
    return gpu_cost + electricity_cost


@formula(unit="1", source="definition", label="price of stalls per year")
def stall_cost_per_year(gpus: Num, hours_per_year: Num, gpu_hour_price: Num, stall_fraction: Num) -> Num:
    """Price of the GPU-hours that wait for data in a year: the most that storage without stalls may cost more."""
    return gpus * hours_per_year * gpu_hour_price * stall_fraction


@formula(unit="1", source="definition", high=1, label="share of the storage in the power")
def storage_power_share(storage_power: Num, gpus: Num, power_drawn_per_gpu: Num) -> Num:
    """Share of the power of all machines that the storage draws.

    >>> round(storage_power_share(50_000, 1024, 1275), 3)
    0.037
    """
    return storage_power / (storage_power + gpus * power_drawn_per_gpu)
