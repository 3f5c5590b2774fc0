"""The floor of a site: what a reference architecture asks of storage for its GPUs."""

from ingest.engine.expression import Num, largest, minimum, total
from ingest.engine.registry import alternative, formula, input_quantity

input_quantity("guidance_write_bandwidth", "B/s", "Write bandwidth of one scalable unit at a level of the guidance.")
input_quantity("guidance_units", "1", "Scalable units up to which the guidance is published.", default=1, whole=True)
input_quantity("guidance_request_bytes", "B", "Size of one read where the guidance decides.", label="read size of the guidance")
input_quantity("guidance_client_read_bandwidth", "B/s/node", "Read bandwidth of a single node at a level of the guidance.")
input_quantity("guidance_client_write_bandwidth", "B/s/node", "Write bandwidth of a single node at a level of the guidance.")


@formula(unit="B/s/GPU", source="definition", label="write bandwidth per GPU of the guidance")
def guidance_write_bandwidth_per_gpu(guidance_write_bandwidth: Num, guidance_gpus: Num) -> Num:
    """Write bandwidth per GPU that a level asks for."""
    return guidance_write_bandwidth / guidance_gpus


@formula(unit="GPU", source="definition", label="published scale of the guidance", whole=True)
def guidance_scale(guidance_gpus: Num, guidance_units: Num) -> Num:
    """GPUs up to which the guidance is published; beyond them it asks for no more."""
    return guidance_gpus * guidance_units


@formula(unit="GPU", source="definition", label="GPUs of the cluster", whole=True)
def cluster_gpus(cluster_nodes: Num, gpus_per_node: Num) -> Num:
    """GPUs of a cluster."""
    return cluster_nodes * gpus_per_node


@formula(unit="B/s", source="definition", label="reads of the guidance for a cluster")
def cluster_read_floor(cluster_gpus: Num, guidance_scale: Num, guidance_read_bandwidth_per_gpu: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.

    >>> cluster_read_floor(512, 1024, 15e9 / 256), cluster_read_floor(16_384, 1024, 15e9 / 256)
    (30000000000.0, 60000000000.0)
    """
    return minimum(cluster_gpus, guidance_scale) * guidance_read_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="writes of the guidance for a cluster")
def cluster_write_floor(cluster_gpus: Num, guidance_scale: Num, guidance_write_bandwidth_per_gpu: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the GPUs of a cluster, up to its published scale.

    >>> cluster_write_floor(512, 1024, 7e9 / 256)
    14000000000.0
    """
    return minimum(cluster_gpus, guidance_scale) * guidance_write_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="reads of the guidance")
def site_read_floor(cluster_read_floor_of_clusters: Num) -> Num:
    """Read bandwidth that the guidance asks for, for all clusters of the site."""
    return total(cluster_read_floor_of_clusters)


@formula(unit="B/s", source="definition", label="writes of the guidance")
def site_write_floor(cluster_write_floor_of_clusters: Num) -> Num:
    """Write bandwidth that the guidance asks for, for all clusters of the site."""
    return total(cluster_write_floor_of_clusters)


@formula(unit="B/s", source="definition", label="reads of the guidance for a run")
def run_read_floor(gpus: Num, guidance_scale: Num, guidance_read_bandwidth_per_gpu: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the GPUs of one run.

    >>> run_read_floor(128, 1024, 15e9 / 256)
    7500000000.0
    """
    return minimum(gpus, guidance_scale) * guidance_read_bandwidth_per_gpu


@formula(unit="B/s", source="definition", label="writes of the guidance for a run")
def run_guidance_writes(gpus: Num, guidance_scale: Num, guidance_write_bandwidth_per_gpu: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the GPUs of one run.

    >>> run_guidance_writes(128, 1024, 7e9 / 256)
    3500000000.0
    """
    return minimum(gpus, guidance_scale) * guidance_write_bandwidth_per_gpu


input_quantity("run_write_floor", "B/s", "Writes of the guidance for a run that saves checkpoints.",
    above=False, label="writes of the guidance for a run that saves")  # fmt: skip
alternative("run_write_floor", "run_guidance_writes", when="guided_saves")
input_quantity("run_restart_floor", "B/s", "Reads of the guidance for a run that restores checkpoints.",
    above=False, label="reads of the guidance for a run that restores")  # fmt: skip
alternative("run_restart_floor", "run_read_floor", when="guided_saves")


@formula(unit="B/s/node", source="definition", label="reads of the guidance for one node")
def node_read_floor(guidance_client_read_bandwidth: Num, storage_nic_bandwidth_per_node: Num) -> Num:
    """Read bandwidth that the guidance asks for, for a single node; at most what its storage NICs take."""
    return minimum(guidance_client_read_bandwidth, storage_nic_bandwidth_per_node)


@formula(unit="B/s", source="definition", label="reads of the guidance for the largest run")
def largest_read_floor(run_read_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the largest run."""
    return largest(run_read_floor_of_jobs)


@formula(unit="B/s/node", source="definition", label="reads of the guidance for any node")
def largest_node_floor(node_read_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for a node of any cluster."""
    return largest(node_read_floor_of_jobs)


@formula(unit="B/s", source="definition", label="writes of the guidance for the largest run")
def largest_write_floor(run_write_floor_of_jobs: Num) -> Num:
    """Write bandwidth that the guidance asks for, for the largest run that saves checkpoints."""
    return largest(run_write_floor_of_jobs)


@formula(unit="B/s", source="definition", label="reads of the guidance for the largest run that restores")
def largest_restart_floor(run_restart_floor_of_jobs: Num) -> Num:
    """Read bandwidth that the guidance asks for, for the largest run that restores a checkpoint."""
    return largest(run_restart_floor_of_jobs)


input_quantity("practice_least_per_gpu", "B/s/GPU", "Least checkpoint write bandwidth per GPU observed in large runs.")
input_quantity("practice_most_per_gpu", "B/s/GPU", "Most checkpoint write bandwidth per GPU observed in large runs.")


@formula(unit="B/s", source="definition", label="least writes in practice")
def practice_least_writes(cluster_gpus: Num, practice_least_per_gpu: Num) -> Num:
    """Least checkpoint write bandwidth observed in large runs, for so many GPUs."""
    return cluster_gpus * practice_least_per_gpu


@formula(unit="B/s", source="definition", label="most writes in practice")
def practice_most_writes(cluster_gpus: Num, practice_most_per_gpu: Num) -> Num:
    """Most checkpoint write bandwidth observed in large runs, for so many GPUs."""
    return cluster_gpus * practice_most_per_gpu


# The columns of the table that compares guidance, workload and practice
input_quantity("compared_reads", "B/s", "Aggregate reads of a level, of the workload, or of practice.",
    above=False, label="reads")  # fmt: skip
input_quantity("compared_writes", "B/s", "Aggregate writes of a level, of the workload, or of practice.",
    above=False, label="writes")  # fmt: skip
input_quantity("compared_node_reads", "B/s/node", "Reads of one node at a level or of the workload.",
    above=False, label="reads of one node")  # fmt: skip
input_quantity("compared_node_writes", "B/s/node", "Writes of one node at a level.", above=False, label="writes of one node")
