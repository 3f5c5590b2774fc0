"""One job and one cluster of a site. Data sets are in `site_datasets`, totals in `site_totals`."""

from ingest.engine.expression import Num, maximum, minimum
from ingest.engine.registry import formula, input_quantity

#: No growth on record lasted longer; beyond it a factor outgrows every number.
MOST_PERIODS = 25

# One job
input_quantity("concurrent_runs", "1", "Runs of the job at the same time.", whole=True, default=1, label="concurrent runs")
input_quantity("share_of_time", "1", "Share of the time in which the job runs.", high=1, default=1, label="share of time")
input_quantity("cold_share", "1", "Share of the first epoch (cold cache) that storage serves: 0 where data are staged.",
    above=False, high=1, default=1)  # fmt: skip
input_quantity("warm_share", "1", "Share of later epochs that storage serves: less where nodes cache.",
    above=False, high=1, default=1)  # fmt: skip
input_quantity("training_epochs", "1", "Epochs of a training run.")
input_quantity("training_samples", "sample", "Samples of the whole training run.", label="samples of a training run")
input_quantity("request_bytes", "B", "Largest read request of a reader.", label="read request size")
input_quantity("packed_read_bytes", "B", "Read-ahead: smallest read from a file of many samples.",
    default=131_072, label="read-ahead size")  # fmt: skip
input_quantity("staging_nodes", "node", "Nodes of all concurrent runs of a job that stages its data.", above=False)
input_quantity("writing_nodes", "node", "Nodes of all concurrent runs of a job that writes checkpoints.", above=False)
input_quantity("one_sample", "sample", "A single sample.", low=1, high=1, above=False, default=1)
input_quantity("node_nvme_bytes", "B/node", "NVMe of one node.", above=False, label="NVMe per node")
input_quantity("staging_seconds_allowed", "s", "Time within which a data set must be staged on the nodes.")
input_quantity("node_local_bytes", "B/node", "Bytes that a job keeps on the NVMe of a node.", above=False)
input_quantity("node_cache_hit", "1", "Share of later reads that the nodes' NVMe serves.", above=False, high=1)
input_quantity("job_dataset_bytes", "B", "Bytes of the data set that the job reads.", label="data set read by the job")

# Growth
input_quantity("elapsed_seconds", "s", "Time since the start of the plan.", above=False, default=0)
input_quantity("capacity_growth_factor", "1", "Bytes after one period, over those before.",
    low=1, above=False, high=1000, default=1)  # fmt: skip
input_quantity("bandwidth_growth_factor", "1", "Bandwidth after one period, over that before.",
    low=1, above=False, high=1000, default=1)  # fmt: skip
input_quantity("growth_period_seconds", "s", "The period of growth.", default=63_115_200, label="growth period")

# One cluster
input_quantity("cluster_nodes", "node", "Nodes of a cluster.", whole=True, label="nodes of the cluster")


@formula(unit="1", source="zhao2022", where="growth over two years, compounded: g^(N/2)")
def bandwidth_growth(bandwidth_growth_factor: Num, elapsed_seconds: Num, growth_period_seconds: Num) -> Num:
    """Bandwidth now, over that at the start of the plan.

    >>> bandwidth_growth(4, 3 * 31_557_600, 2 * 31_557_600)
    8.0
    """
    return bandwidth_growth_factor ** minimum(elapsed_seconds / growth_period_seconds, MOST_PERIODS)


@formula(unit="1", source="zhao2022", where="growth over two years, compounded: g^(N/2)")
def capacity_growth(capacity_growth_factor: Num, elapsed_seconds: Num, growth_period_seconds: Num) -> Num:
    """Bytes now, over those at the start of the plan.

    >>> capacity_growth(2, 5 * 31_557_600, 2 * 31_557_600)
    5.6568...
    """
    return capacity_growth_factor ** minimum(elapsed_seconds / growth_period_seconds, MOST_PERIODS)


@formula(unit="sample/file", source="definition")
def samples_of_file_bytes(file_bytes: Num, sample_bytes: Num) -> Num:
    """Samples in a file, by its size.

    >>> samples_of_file_bytes(1e9, 32_768)
    30517.578125
    """
    return file_bytes / sample_bytes


@formula(unit="B/s", source="definition", label="read bandwidth of one run")
def run_read_bandwidth(ingest_bandwidth_per_job: Num, cold_share: Num, bandwidth_growth: Num) -> Num:
    """Read bandwidth of one run in its first epoch (cold cache).

    >>> run_read_bandwidth(827e9, 1, 1)
    827000000000.0
    """
    return ingest_bandwidth_per_job * cold_share * bandwidth_growth


@formula(unit="B/s", source="definition", label="read bandwidth of concurrent runs")
def job_read_bandwidth(run_read_bandwidth: Num, concurrent_runs: Num) -> Num:
    """Read bandwidth of all concurrent runs of a job.

    >>> job_read_bandwidth(827e9, 2)
    1654000000000.0
    """
    return run_read_bandwidth * concurrent_runs


@formula(unit="B/s/node", source="definition", label="read bandwidth of one node of the job")
def node_read_bandwidth(run_read_bandwidth: Num, nodes: Num) -> Num:
    """Read bandwidth of one node of a job.

    >>> node_read_bandwidth(827e9, 128)
    6460937500.0
    """
    return run_read_bandwidth / nodes


@formula(unit="B/s", source="definition", label="sustained read bandwidth of the job")
def job_sustained_read_bandwidth(
    ingest_bandwidth_per_job: Num, warm_share: Num, concurrent_runs: Num, share_of_time: Num, bandwidth_growth: Num
) -> Num:
    """Sustained read bandwidth of a job: later epochs, averaged over the share of time in which it runs.

    >>> job_sustained_read_bandwidth(800e9, 1, 1, 0.5, 1)
    400000000000.0
    """
    return ingest_bandwidth_per_job * warm_share * concurrent_runs * share_of_time * bandwidth_growth


@formula(unit="node", source="definition", label="nodes of concurrent runs")
def nodes_at_once(nodes: Num, concurrent_runs: Num) -> Num:
    """Nodes of all concurrent runs of a job.

    >>> nodes_at_once(16, 4)
    64
    """
    return nodes * concurrent_runs


@formula(unit="node", source="definition")
def nodes_on_average(nodes_at_once: Num, share_of_time: Num) -> Num:
    """Mean number of nodes that a job occupies.

    >>> nodes_on_average(64, 0.25)
    16.0
    """
    return nodes_at_once * share_of_time


input_quantity("read_request_bytes", "B", "Size of one read.")


@formula(unit="B", source="definition")
def request_of_sample(request_bytes: Num, sample_bytes: Num, one_sample: Num) -> Num:
    """I/O size where each sample is a file: the smaller of the sample and the largest read request.

    >>> request_of_sample(131_072, 2_828_486, 1)
    131072
    """
    return minimum(request_bytes, sample_bytes * one_sample)


@formula(unit="B", source="definition")
def request_of_packed_samples(request_bytes: Num, packed_read_bytes: Num, sample_bytes: Num, one_sample: Num) -> Num:
    """I/O size where a file holds many samples: at least the read-ahead, at most the largest read request.

    >>> request_of_packed_samples(131_072, 131_072, 912, 1)
    131072
    """
    return minimum(request_bytes, maximum(packed_read_bytes, sample_bytes * one_sample))


@formula(unit="1/s/node", source="definition")
def node_reads_per_second(node_read_bandwidth: Num, read_request_bytes: Num) -> Num:
    """Read IOPS of one node of a job.

    >>> node_reads_per_second(16e9, 131_072)
    122070.3125
    """
    return node_read_bandwidth / read_request_bytes


@formula(unit="sample", source="definition")
def samples_of_epochs(training_epochs: Num, dataset_samples: Num) -> Num:
    """Samples of a training run of so many epochs.

    >>> samples_of_epochs(50, 524_288)
    26214400
    """
    return training_epochs * dataset_samples


@formula(unit="sample", source="definition")
def samples_of_data_tokens(data_tokens: Num, tokens_per_sample: Num) -> Num:
    """Samples of one epoch of a data set of tokens.

    >>> samples_of_data_tokens(8_192_000, 8192)
    1000.0
    """
    return data_tokens / tokens_per_sample


@formula(unit="sample", source="definition")
def samples_of_tokens(training_tokens: Num, tokens_per_sample: Num) -> Num:
    """Samples of a training run on so many tokens.

    >>> samples_of_tokens(15.6e12, 8192)
    1904296875.0
    """
    return training_tokens / tokens_per_sample


@formula(unit="s", source="definition", label="duration of a run")
def run_seconds(training_samples: Num, samples_per_second_per_job: Num) -> Num:
    """Duration of one run that never waits for storage.

    >>> round(run_seconds(26_214_400, 292_556.8), 1)
    89.6
    """
    return training_samples / samples_per_second_per_job


@formula(unit="B/s", source="definition", label="checkpoint write bandwidth of concurrent runs")
def job_write_bandwidth(checkpoint_write_bandwidth: Num, concurrent_runs: Num) -> Num:
    """Checkpoint write bandwidth of all concurrent runs of a job.

    >>> job_write_bandwidth(400e9, 2)
    800000000000.0
    """
    return checkpoint_write_bandwidth * concurrent_runs


@formula(unit="B", source="definition")
def job_checkpoint_bytes_per_day(checkpoint_bytes_written_per_day: Num, concurrent_runs: Num, share_of_time: Num) -> Num:
    """Bytes per day that a job's checkpoints write.

    >>> job_checkpoint_bytes_per_day(500e12, 1, 0.5)
    250000000000000.0
    """
    return checkpoint_bytes_written_per_day * concurrent_runs * share_of_time


@formula(unit="B/s", source="definition", label="sustained checkpoint write bandwidth of the job")
def job_sustained_write_bandwidth(job_checkpoint_bytes_per_day: Num, seconds_per_day: Num) -> Num:
    """Sustained checkpoint write bandwidth of a job, averaged over time.

    >>> job_sustained_write_bandwidth(86_400e9, 86_400)
    1000000000.0
    """
    return job_checkpoint_bytes_per_day / seconds_per_day


@formula(unit="B/s", source="definition", label="restore bandwidth of concurrent runs")
def job_restart_bandwidth(restart_read_bandwidth: Num, concurrent_runs: Num) -> Num:
    """Restore bandwidth of all concurrent runs of a job, as after an outage of the whole site.

    >>> job_restart_bandwidth(9.47e9, 2)
    18940000000.0
    """
    return restart_read_bandwidth * concurrent_runs


@formula(unit="file/s", source="definition", label="file opens of concurrent runs")
def job_file_opens(file_opens_per_second_per_job: Num, cold_share: Num, concurrent_runs: Num, bandwidth_growth: Num) -> Num:
    """File opens per second of all concurrent runs of a job.

    >>> job_file_opens(292_556.8, 1, 1, 1)
    292556.8
    """
    return file_opens_per_second_per_job * cold_share * concurrent_runs * bandwidth_growth


@formula(unit="file/s", source="definition", label="file creates during a checkpoint")
def job_file_creates(checkpoint_files: Num, checkpoint_dump_seconds: Num, concurrent_runs: Num) -> Num:
    """Files that a job creates each second while it writes a checkpoint.

    >>> job_file_creates(16_384, 32.768, 1)
    500.0
    """
    return checkpoint_files / checkpoint_dump_seconds * concurrent_runs


@formula(unit="B", source="definition", label="bytes of checkpoints kept")
def job_checkpoint_bytes_held(checkpoint_retained_bytes: Num, concurrent_runs: Num) -> Num:
    """Checkpoints of a job on storage, each run keeping its own.

    >>> job_checkpoint_bytes_held(17e12, 2)
    34000000000000.0
    """
    return checkpoint_retained_bytes * concurrent_runs


@formula(unit="file", source="definition", label="files of checkpoints kept")
def job_checkpoint_files_held(checkpoint_files: Num, checkpoints_retained: Num, concurrent_runs: Num) -> Num:
    """Files of the retained checkpoints of a job.

    >>> job_checkpoint_files_held(16_384, 3, 1)
    49152
    """
    return checkpoint_files * checkpoints_retained * concurrent_runs


@formula(unit="B", source="definition")
def staged_bytes_each(node_bytes_whole: Num, nodes: Num) -> Num:
    """Bytes read from storage to stage a data set of which every node keeps the whole.

    >>> staged_bytes_each(1.5e12, 8)
    12000000000000.0
    """
    return node_bytes_whole * nodes


input_quantity("staged_bytes", "B", "Bytes read from storage to stage the data set of one run.", label="bytes staged per run")
input_quantity("single_node", "node", "One node.", low=1, high=1, above=False, default=1)


@formula(unit="B/node", source="definition", label="NVMe per node for the whole data set")
def node_bytes_whole(job_dataset_bytes: Num, single_node: Num) -> Num:
    """NVMe of a node that holds the whole data set.

    >>> node_bytes_whole(1.5e12, 1)
    1500000000000.0
    """
    return job_dataset_bytes / single_node


@formula(unit="B/node", source="definition", label="NVMe per node for a share of the data set")
def node_bytes_shared(job_dataset_bytes: Num, nodes: Num) -> Num:
    """NVMe of a node that holds its share of the data set.

    >>> node_bytes_shared(1.6e12, 8)
    200000000000.0
    """
    return job_dataset_bytes / nodes


@formula(unit="B/s", source="definition")
def job_staging_bandwidth(staged_bytes: Num, staging_seconds_allowed: Num, concurrent_runs: Num) -> Num:
    """Read bandwidth that stages the data set of all concurrent runs within the time allowed.

    >>> job_staging_bandwidth(1.8e12, 1800, 1)
    1000000000.0
    """
    return staged_bytes / staging_seconds_allowed * concurrent_runs


@formula(unit="s", source="definition", label="staging time")
def staging_seconds(staged_bytes: Num, ingest_bandwidth_per_job: Num) -> Num:
    """Time to stage a data set at the rate at which the run would stream it.

    >>> staging_seconds(1.5e12, 500e9)
    3.0
    """
    return staged_bytes / ingest_bandwidth_per_job


@formula(unit="1", source="definition", label="cache hit share that NVMe allows")
def cache_hit_possible(node_nvme_bytes: Num, nodes: Num, job_dataset_bytes: Num) -> Num:
    """Share of later reads that the NVMe of a run's nodes can serve, each node holding its share.

    >>> cache_hit_possible(15e12, 128, 60e12), cache_hit_possible(1e12, 8, 16e12)
    (1, 0.5)
    """
    return minimum(1, node_nvme_bytes * nodes / job_dataset_bytes)


@formula(unit="1", source="definition")
def share_not_cached(node_cache_hit: Num) -> Num:
    """Share of later reads that storage serves because the caches of the nodes miss.

    >>> share_not_cached(0.75)
    0.25
    """
    return 1 - node_cache_hit


@formula(unit="B/node", source="definition")
def node_cache_bytes(node_bytes_shared: Num, node_cache_hit: Num) -> Num:
    """NVMe capacity of a node that its read cache fills.

    >>> node_cache_bytes(200e9, 0.5)
    100000000000.0
    """
    return node_bytes_shared * node_cache_hit
