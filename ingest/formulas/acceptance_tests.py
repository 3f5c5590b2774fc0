"""Acceptance tests: load, data set, duration and pass limits."""

from ingest.engine.expression import Num, ceil, maximum, minimum
from ingest.engine.registry import formula, input_quantity

# The requirement under test
input_quantity("required_bandwidth", "B/s", "Bandwidth that a requirement line demands of the whole system.")
input_quantity("required_file_rate", "file/s", "File rate that a requirement line demands of the whole system.")
input_quantity("required_write_bandwidth", "B/s", "Write bandwidth of checkpoints that are written at the same time.")
input_quantity("rate_per_client", "1/s/node", "Rate that a requirement line demands of each client.")
input_quantity("clients_under_test", "node", "Nodes that run a test concurrently.", whole=True)
input_quantity("threads_per_client", "1/node", "Processes or threads that issue requests on each client.", whole=True)
input_quantity("requests_in_flight_per_thread", "1", "Queue depth of one thread; a blocking thread has 1.",
    whole=True, default=1, label="queue depth per thread")  # fmt: skip
input_quantity("requested_io_bytes", "B", "I/O size of the requirement line.")
input_quantity("direct_io_alignment", "B", "Alignment that direct I/O requires: one memory page.",
    default=4096, source="fio-docs")  # fmt: skip
input_quantity("acceptance_seconds", "s", "Time over which a rate is measured.")

# Rules of an acceptance test
input_quantity("client_memory_bytes", "B/node", "Main memory of one client, which could cache what it reads.")
input_quantity("dataset_memory_multiple", "1", "Data set over the clients' memory, so that no cache serves a read.",
    default=5, source="mlperf-storage-v2")  # fmt: skip
input_quantity("smallest_fill_request", "B", "Requests in which test files are filled are at least this large.",
    default=1_048_576)  # fmt: skip
input_quantity("acceptance_files_per_client", "file/node", "Files that the threads of one client read.", whole=True)
input_quantity("fewest_metadata_files", "file/node", "Fewest files of a client in a metadata test.", default=1000)
input_quantity("most_metadata_files", "file", "Files that the system must hold.", default=1e12)
input_quantity("metadata_pass_seconds", "s", "Time of one pass over the files at the required rate.", default=60)
input_quantity("acceptance_usable_bytes", "B", "Usable capacity that a requirement line demands.")
input_quantity("fill_under_test", "1", "Share of the capacity that is in use during the tests.", high=1)
input_quantity("dataset_bytes_at_most", "B", "Largest data set of a tool that the user allows.", default=1e30)
input_quantity("dataset_count", "1", "Data sets of one tool, for different numbers of threads.", whole=True)
input_quantity("allowed_deviation", "1", "Share by which the worst repeat may stay below the requirement.",
    above=False, high=0.5)  # fmt: skip

# The benchmarks of DLIO and MLPerf Storage
input_quantity("accepted_utilization", "1", "AU at which DLIO calls a run a success.",
    high=1, default=0.9, source="mlperf-storage-v2")  # fmt: skip
input_quantity("mlperf_batch", "sample/GPU", "Batch of the benchmark's UNet3D.", default=7, source="mlperf-storage-v2")
input_quantity("mlperf_record_bytes", "B/sample", "Mean bytes of one record of the benchmark's data set.",
    default=146_600_628, source="mlperf-storage-v2")  # fmt: skip
input_quantity("mlperf_step_seconds", "s", "Time that an emulated H100 computes on a batch.",
    default=0.323, source="mlperf-storage-v2")  # fmt: skip


@formula(unit="B", source="fio-docs", where="direct: size and position of a request must suit the block size")
def aligned_io_bytes(requested_io_bytes: Num, direct_io_alignment: Num) -> Num:
    """Bytes of one request, rounded up so that direct I/O takes it.

    >>> aligned_io_bytes(100_000, 4096)
    102400
    """
    return ceil(requested_io_bytes / direct_io_alignment) * direct_io_alignment


@formula(unit="B/s/node", source="definition")
def required_bandwidth_per_client(required_bandwidth: Num, clients_under_test: Num) -> Num:
    """One client's share of a required rate: what a test on one machine must reach.

    >>> required_bandwidth_per_client(512e9, 128)
    4000000000.0
    """
    return required_bandwidth / clients_under_test


@formula(unit="file/s/node", source="definition")
def required_file_rate_per_client(required_file_rate: Num, clients_under_test: Num) -> Num:
    """One client's share of a required number of files each second.

    >>> required_file_rate_per_client(200_000, 128)
    1562.5
    """
    return required_file_rate / clients_under_test


@formula(unit="1/s", source="definition")
def required_requests_per_second(required_bandwidth: Num, aligned_io_bytes: Num) -> Num:
    """Requests each second that a rate implies at a request size.

    >>> required_requests_per_second(512e9, 131_072)
    3906250.0
    """
    return required_bandwidth / aligned_io_bytes


@formula(unit="1", source="definition", label="queue depth of the test")
def requests_in_flight(clients_under_test: Num, threads_per_client: Num, requests_in_flight_per_thread: Num) -> Num:
    """Queue depth of the whole test: outstanding I/Os of all clients.

    >>> requests_in_flight(128, 8, 1)
    1024
    """
    return clients_under_test * threads_per_client * requests_in_flight_per_thread


@formula(unit="s", source="little1961", where="L = λW")
def mean_latency_allowed(requests_in_flight: Num, required_requests_per_second: Num) -> Num:
    """Mean latency allowed: a longer one makes the rate unreachable at this queue depth.

    >>> round(mean_latency_allowed(1024, 3_906_250) * 1e6)
    262
    """
    return requests_in_flight / required_requests_per_second


@formula(unit="B/node", source="mlperf-storage-v2", where="data set at least five times the clients' memory")
def acceptance_dataset_bytes_per_client(client_memory_bytes: Num, dataset_memory_multiple: Num) -> Num:
    """Data set of one client in a read test: large enough that client memory cannot cache it.

    >>> acceptance_dataset_bytes_per_client(2 * 2**40, 5)
    10995116277760
    """
    return client_memory_bytes * dataset_memory_multiple


@formula(unit="B", source="definition")
def dataset_room(acceptance_usable_bytes: Num, fill_under_test: Num, dataset_bytes_at_most: Num) -> Num:
    """Capacity of the system under test that the data sets of one tool may occupy.

    >>> dataset_room(167e12, 0.8, 1e30), dataset_room(167e12, 0.8, 50e12)
    (133600000000000.0, 50000000000000.0)
    """
    return minimum(acceptance_usable_bytes * fill_under_test, dataset_bytes_at_most)


@formula(unit="B/node", source="definition")
def dataset_room_per_client(dataset_room: Num, dataset_count: Num, clients_under_test: Num) -> Num:
    """One client's share of the capacity that the data sets of one tool may occupy, per data set.

    >>> dataset_room_per_client(133.6e12, 1, 128)
    1043750000000.0
    """
    return dataset_room / dataset_count / clients_under_test


@formula(unit="B/node", source="definition")
def dataset_bytes_that_fit(acceptance_dataset_bytes_per_client: Num, dataset_room_per_client: Num) -> Num:
    """Data set of one client, reduced to the capacity that is available.

    >>> dataset_bytes_that_fit(10 * 2**40, 1e12), dataset_bytes_that_fit(10 * 2**40, 1e14)
    (1000000000000.0, 10995116277760)
    """
    return minimum(acceptance_dataset_bytes_per_client, dataset_room_per_client)


@formula(unit="1", source="definition")
def data_over_memory(dataset_bytes_that_fit: Num, client_memory_bytes: Num) -> Num:
    """Data set of one client over its memory.

    >>> data_over_memory(1e12, 2e12)
    0.5
    """
    return dataset_bytes_that_fit / client_memory_bytes


@formula(unit="B", source="definition")
def all_dataset_bytes(acceptance_dataset_bytes: Num, dataset_count: Num) -> Num:
    """Bytes of all data sets of a tool.

    >>> all_dataset_bytes(133.6e12, 1)
    133600000000000.0
    """
    return acceptance_dataset_bytes * dataset_count


@formula(unit="s", source="definition")
def fill_seconds(all_dataset_bytes: Num, required_write_bandwidth: Num) -> Num:
    """Time to fill the data sets at the required write bandwidth.

    >>> round(fill_seconds(133.6e12, 21e9) / 3600, 2)
    1.77
    """
    return all_dataset_bytes / required_write_bandwidth


@formula(unit="1", source="definition")
def request_growth(aligned_io_bytes: Num, requested_io_bytes: Num) -> Num:
    """I/O size of the test over that of the requirement; the test needs fewer requests by this factor for the same bandwidth.

    >>> round(request_growth(4096, 912), 2)
    4.49
    """
    return aligned_io_bytes / requested_io_bytes


@formula(unit="B", source="definition")
def acceptance_dataset_bytes(acceptance_dataset_bytes_per_client: Num, clients_under_test: Num) -> Num:
    """Bytes of the whole data set of a read test.

    >>> acceptance_dataset_bytes(10 * 2**40, 128) / 1e15
    1.407374883553280
    """
    return acceptance_dataset_bytes_per_client * clients_under_test


@formula(unit="B", source="definition")
def fill_request_bytes(aligned_io_bytes: Num, smallest_fill_request: Num) -> Num:
    """Bytes of one request while files are filled: whole test requests, large enough to be quick.

    >>> fill_request_bytes(131_072, 2**20), fill_request_bytes(16 * 2**20, 2**20)
    (1048576, 16777216)
    """
    return ceil(maximum(smallest_fill_request / aligned_io_bytes, 1)) * aligned_io_bytes


@formula(unit="B/file", source="definition")
def acceptance_file_bytes(
    acceptance_dataset_bytes_per_client: Num, acceptance_files_per_client: Num, fill_request_bytes: Num
) -> Num:
    """Bytes of one file of a read test, in whole fill requests.

    >>> acceptance_file_bytes(64 * 2**20, 8, 2**20)
    8388608
    """
    return ceil(acceptance_dataset_bytes_per_client / acceptance_files_per_client / fill_request_bytes) * fill_request_bytes


@formula(unit="B/node", source="definition")
def written_bytes_per_client(required_bandwidth_per_client: Num, acceptance_seconds: Num) -> Num:
    """Bytes that a client writes in a test at the required bandwidth; no file is overwritten before the test ends.

    >>> written_bytes_per_client(2e9, 600)
    1200000000000.0
    """
    return required_bandwidth_per_client * acceptance_seconds


@formula(unit="file/node", source="definition")
def metadata_files(
    required_file_rate_per_client: Num,
    metadata_pass_seconds: Num,
    fewest_metadata_files: Num,
    most_metadata_files_per_client: Num,
) -> Num:
    """Files of a client in one pass of a metadata test at the required rate, at most its share of the files to hold.

    >>> metadata_files(1562.5, 60, 1000, 1e9), metadata_files(0.02, 60, 1000, 1e9), metadata_files(1562.5, 60, 1000, 2e4)
    (93750, 1000, 20000)
    """
    return ceil(
        maximum(
            minimum(required_file_rate_per_client * metadata_pass_seconds, most_metadata_files_per_client),
            fewest_metadata_files,
        )
    )


@formula(unit="file/node", source="definition")
def most_metadata_files_per_client(most_metadata_files: Num, clients_under_test: Num) -> Num:
    """One client's share of the files that the system must hold.

    >>> most_metadata_files_per_client(2_560_000, 128)
    20000.0
    """
    return most_metadata_files / clients_under_test


@formula(unit="1", source="definition")
def metadata_passes(required_file_rate_per_client: Num, acceptance_seconds: Num, metadata_files: Num) -> Num:
    """Passes over the files that last as long as the test, at the required rate.

    >>> metadata_passes(1562.5, 1800, 93_750), metadata_passes(0.02, 1800, 1000)
    (30, 1)
    """
    return ceil(required_file_rate_per_client * acceptance_seconds / metadata_files)


@formula(unit="file", source="definition")
def metadata_files_per_thread(metadata_files: Num, threads_per_client: Num) -> Num:
    """Files of one thread in a metadata test.

    >>> metadata_files_per_thread(93_750, 8)
    11719
    """
    return ceil(metadata_files / threads_per_client)


@formula(unit="1/s", source="definition")
def rate_of_all_clients(rate_per_client: Num, clients_under_test: Num) -> Num:
    """A rate of each client, times the clients.

    >>> rate_of_all_clients(4e9, 128)
    512000000000.0
    """
    return rate_per_client * clients_under_test


@formula(unit="B/s/GPU", source="mlperf-storage-v2", where="configs/dlio/workload/unet3d_h100.yaml")
def emulated_accelerator_bandwidth(mlperf_batch: Num, mlperf_record_bytes: Num, mlperf_step_seconds: Num) -> Num:
    """Read bandwidth of one emulated H100 in the benchmark's UNet3D at full utilization.

    >>> round(emulated_accelerator_bandwidth(7, 146_600_628, 0.323) / 1e6, 1)
    3177.1
    """
    return mlperf_batch * mlperf_record_bytes / mlperf_step_seconds


@formula(unit="GPU", source="definition")
def accelerators_for_bandwidth(required_bandwidth: Num, emulated_accelerator_bandwidth: Num, accepted_utilization: Num) -> Num:
    """Emulated accelerators that together read at a required bandwidth, at the lowest utilization that the benchmark accepts.

    >>> accelerators_for_bandwidth(512e9, 3177.1e6, 0.9)
    180
    """
    return ceil(required_bandwidth / (emulated_accelerator_bandwidth * accepted_utilization))


@formula(unit="s", source="dlio", where="computation_time: an emulated accelerator sleeps for each batch")
def emulated_step_seconds(
    accepted_utilization: Num,
    benchmark_accelerators: Num,
    benchmark_batch: Num,
    benchmark_record_bytes: Num,
    required_bandwidth: Num,
) -> Num:
    """Compute time per batch at which emulated accelerators need a bandwidth, at the lowest utilization that passes.

    >>> emulated_step_seconds(0.9, 128, 8, 2**27, 512e9)
    0.2415919104
    """
    return accepted_utilization * benchmark_accelerators * benchmark_batch * benchmark_record_bytes / required_bandwidth


@formula(unit="1", source="definition")
def epochs_for_duration(acceptance_seconds: Num, required_bandwidth: Num, benchmark_data_bytes: Num) -> Num:
    """Epochs that last as long as the test, at the required bandwidth.

    >>> epochs_for_duration(1800, 512e9, 1.407e15), epochs_for_duration(7200, 512e9, 1.407e15)
    (1, 3)
    """
    return ceil(acceptance_seconds * required_bandwidth / benchmark_data_bytes)
