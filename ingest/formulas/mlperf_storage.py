"""How many files a storage benchmark must read: the data-size arithmetic of `mlpstorage training datasize`.

Both rules exist in two forms. Version 2.0 rounds down, so that a data set can be one file short of its own rules; the
later form rounds up. What the benchmark calls GB of memory is GiB.
"""

from ingest.engine.expression import Num, ceil, maximum
from ingest.engine.registry import formula, input_quantity

input_quantity("benchmark_host_memory", "B/node", "Memory of one client; the benchmark's GB are GiB.")
input_quantity("benchmark_hosts", "node", "Clients of the benchmark.", whole=True)
input_quantity("benchmark_accelerators", "GPU", "Emulated accelerators of all clients.", whole=True)
input_quantity("benchmark_batch", "sample/GPU", "Batch size of one emulated accelerator.", whole=True)
input_quantity("benchmark_record_bytes", "B/sample", "Mean bytes of one record.")
input_quantity("benchmark_samples_per_file", "sample/file", "Records in one file.", whole=True)
input_quantity("benchmark_memory_multiple", "1", "Data set over the memory of all clients, at least.",
    default=5, source="mlperf-storage-v2")  # fmt: skip
input_quantity("benchmark_files", "file", "Files of the data set, in one of the two forms.", whole=True)
input_quantity("benchmark_steps", "1", "Steps that an epoch must have.", default=500, source="mlperf-storage-v2")


@formula(unit="B", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size")
def benchmark_memory(benchmark_host_memory: Num, benchmark_hosts: Num) -> Num:
    """Memory of all clients."""
    return benchmark_host_memory * benchmark_hosts


@formula(unit="B/file", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size")
def benchmark_file_bytes(benchmark_samples_per_file: Num, benchmark_record_bytes: Num) -> Num:
    """Bytes of one file."""
    return benchmark_samples_per_file * benchmark_record_bytes


@formula(unit="file", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size", whole=True)
def files_for_memory_down(benchmark_memory_multiple: Num, benchmark_memory: Num, benchmark_file_bytes: Num) -> Num:
    """Files whose bytes are the required multiple of the memory, rounded down as in version 2.0.

    >>> files_for_memory_down(5, 64 * 2**30, 2_828_486)
    121477
    """
    return -ceil(-(benchmark_memory_multiple * benchmark_memory / benchmark_file_bytes))


@formula(unit="file", source="mlperf-storage-v3", where="mlpstorage_py/rules/utils.py", whole=True)
def files_for_memory_up(benchmark_memory_multiple: Num, benchmark_memory: Num, benchmark_file_bytes: Num) -> Num:
    """Files whose bytes are the required multiple of the memory, rounded up as in version 3.

    >>> files_for_memory_up(5, 64 * 2**30, 2_828_486)
    121478
    """
    return ceil(benchmark_memory_multiple * benchmark_memory / benchmark_file_bytes)


@formula(unit="sample", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size")
def benchmark_samples(benchmark_steps: Num, benchmark_accelerators: Num, benchmark_batch: Num) -> Num:
    """Samples of the least number of steps that the benchmark requires."""
    return benchmark_steps * benchmark_accelerators * benchmark_batch


@formula(unit="file", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size", whole=True)
def files_for_steps_down(benchmark_samples: Num, benchmark_samples_per_file: Num) -> Num:
    """Files for the least number of steps, rounded down as in version 2.0: up to one file short.

    >>> files_for_steps_down(3_200_000, 1251)
    2557
    """
    return -ceil(-(benchmark_samples / benchmark_samples_per_file))


@formula(unit="file", source="mlperf-storage-v3", where="mlpstorage_py/rules/utils.py", whole=True)
def files_for_steps_up(benchmark_samples: Num, benchmark_samples_per_file: Num) -> Num:
    """Files for the least number of steps, rounded up as in version 3.

    >>> files_for_steps_up(3_200_000, 1251)
    2558
    """
    return ceil(benchmark_samples / benchmark_samples_per_file)


@formula(unit="file", source="mlperf-storage-v2", where="mlpstorage/rules.py, calculate_training_data_size", whole=True)
def benchmark_files_down(files_for_memory_down: Num, files_for_steps_down: Num) -> Num:
    """Files of the data set as version 2.0 prints them."""
    return maximum(files_for_memory_down, files_for_steps_down)


@formula(unit="file", source="mlperf-storage-v3", where="mlpstorage_py/rules/utils.py", whole=True)
def benchmark_files_up(files_for_memory_up: Num, files_for_steps_up: Num) -> Num:
    """Files of the data set by version 3: never short of its own rules."""
    return maximum(files_for_memory_up, files_for_steps_up)


@formula(unit="B", source="mlperf-storage-v2", where="mlpstorage/benchmarks/dlio.py")
def benchmark_data_bytes(benchmark_files: Num, benchmark_file_bytes: Num) -> Num:
    """Bytes of the data set; the benchmark prints GiB and calls them GB."""
    return benchmark_files * benchmark_file_bytes
