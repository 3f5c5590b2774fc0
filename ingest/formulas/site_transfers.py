"""Transfers beside training: loads and preparation of data sets, starts of jobs, exports, evaluation."""

from ingest.engine.expression import Num, largest, maximum, total
from ingest.engine.registry import alternative, formula, input_quantity

input_quantity("first_load", "1", "Whether a data set is loaded for the first time in a year.", above=False, high=1, default=0)
input_quantity("origin_growth", "1", "Bytes of the origin of a data set now, over those at the start of the plan.", low=1,
    above=False, default=1)  # fmt: skip
input_quantity("load_seconds", "s", "Time within which a data set is loaded.", label="time to load a data set")
input_quantity("preparation_seconds", "s", "Time within which a data set is made from its origin.",
    label="time to prepare a data set")  # fmt: skip
input_quantity("start_bytes", "B/node", "Bytes that each node reads as a job starts: environment, container, weights.",
    above=False, default=0)  # fmt: skip
input_quantity("start_files", "file/node", "Files that each node opens as a job starts.", above=False, default=0)
input_quantity("start_seconds", "s", "Time within which a job starts.", label="time to start a job")
input_quantity("export_bytes", "B", "Bytes that a run exports: weights for evaluation or inference.")
input_quantity("export_seconds", "s", "Time within which a run exports its model.", label="time to export a model")
input_quantity("evaluation_bytes", "B", "Bytes that a run reads for one evaluation.")
input_quantity(
    "evaluation_seconds", "s", "Time within which an evaluation reads its data.", label="time to read for an evaluation"
)

alternative("dataset_preparation_bandwidth", "dataset_passes_bandwidth", when="prepared_in_passes")


@formula(unit="B/s", source="definition", label="load bandwidth of a data set")
def dataset_load_bandwidth(data_bytes: Num, data_copies: Num, first_load: Num, capacity_growth: Num, load_seconds: Num) -> Num:
    """Write bandwidth that loads all copies of a data set in the time allowed, in the year of its first load."""
    return data_bytes * data_copies * first_load * capacity_growth / load_seconds


@formula(unit="B/s", source="definition", label="refresh bandwidth of a data set")
def dataset_refresh_bandwidth(
    data_bytes: Num, data_copies: Num, present: Num, capacity_growth: Num, load_seconds: Num, refresh_seconds: Num
) -> Num:
    """Write bandwidth that loads a new version of a data set in the time allowed, and before the next one is due.

    >>> dataset_refresh_bandwidth(302.4e12, 1, 1, 2, 604_800, 2_592_000)
    1000000000.0
    """
    return maximum(
        data_bytes * data_copies * present * capacity_growth / load_seconds,
        data_bytes * data_copies * present * capacity_growth / refresh_seconds,
    )


@formula(unit="B/s", source="definition", label="preparation reads of a data set")
def dataset_preparation_bandwidth(origin_bytes: Num, origin_growth: Num, present: Num, preparation_seconds: Num) -> Num:
    """Read bandwidth that goes through the origin of a data set in the time allowed."""
    return origin_bytes * origin_growth * present / preparation_seconds


@formula(unit="B/s", source="definition", label="export bandwidth of the job")
def job_export_bandwidth(export_bytes: Num, export_seconds: Num, concurrent_runs: Num) -> Num:
    """Write bandwidth that exports the models of all runs of a job."""
    return export_bytes / export_seconds * concurrent_runs


@formula(unit="B/s", source="definition", label="read bandwidth of a job's start")
def job_start_bandwidth(start_bytes: Num, nodes_at_once: Num, start_seconds: Num) -> Num:
    """Read bandwidth with which all runs of a job start together."""
    return start_bytes * nodes_at_once / start_seconds


@formula(unit="file/s", source="definition", label="file opens of a job's start")
def job_start_opens(start_files: Num, nodes_at_once: Num, start_seconds: Num) -> Num:
    """File opens per second with which all runs of a job start together."""
    return start_files * nodes_at_once / start_seconds


@formula(unit="B/s", source="definition", label="read bandwidth of evaluations")
def job_evaluation_bandwidth(evaluation_bytes: Num, evaluation_seconds: Num, concurrent_runs: Num) -> Num:
    """Read bandwidth of the evaluations of all runs of a job."""
    return evaluation_bytes / evaluation_seconds * concurrent_runs


@formula(unit="B/s", source="definition", label="load bandwidth of a year")
def year_load_bandwidth(
    dataset_load_bandwidth_of_datasets: Num,
    dataset_refresh_bandwidth_of_datasets: Num,
    job_export_bandwidth_of_jobs: Num,
) -> Num:
    """Write bandwidth of one year: first loads of data sets, or later versions of them while models are exported.

    >>> year_load_bandwidth([0.5e9, 1e9], [1e9], [2e9])
    3000000000.0
    """
    return maximum(
        total(dataset_load_bandwidth_of_datasets),
        total(dataset_refresh_bandwidth_of_datasets) + total(job_export_bandwidth_of_jobs),
    )


@formula(unit="B/s", source="definition", label="load bandwidth")
def site_load_bandwidth(year_load_bandwidth_of_years: Num, performance_headroom: Num) -> Num:
    """Write bandwidth that loads data sets in the most demanding year.

    >>> site_load_bandwidth([1.5e9, 3e9], 0)
    3000000000.0
    """
    return largest(year_load_bandwidth_of_years) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="preparation reads of a year")
def year_preparation_bandwidth(dataset_preparation_bandwidth_of_datasets: Num) -> Num:
    """Read bandwidth of one year that makes data sets from their origins."""
    return total(dataset_preparation_bandwidth_of_datasets)


@formula(unit="B/s", source="definition", label="preparation bandwidth")
def site_preparation_bandwidth(year_preparation_bandwidth_of_years: Num, performance_headroom: Num) -> Num:
    """Read bandwidth that makes data sets from their origins in the most demanding year.

    >>> site_preparation_bandwidth([0.5e9, 1e9], 0)
    1000000000.0
    """
    return largest(year_preparation_bandwidth_of_years) * (1 + performance_headroom)


@formula(unit="B/s", source="definition", label="start bandwidth")
def site_start_bandwidth(
    job_start_bandwidth_of_jobs: Num, job_evaluation_bandwidth_of_jobs: Num, performance_headroom: Num
) -> Num:
    """Read bandwidth of the job whose start or evaluation reads the most.

    >>> site_start_bandwidth([6.4e9], [4e9], 0)
    6400000000.0
    """
    return maximum(largest(job_start_bandwidth_of_jobs), largest(job_evaluation_bandwidth_of_jobs)) * (1 + performance_headroom)


@formula(unit="file/s", source="definition", label="file opens as a job starts")
def site_start_opens(job_start_opens_of_jobs: Num, performance_headroom: Num) -> Num:
    """File opens per second as the job starts that opens the most files.

    >>> site_start_opens([32_000], 0)
    32000
    """
    return largest(job_start_opens_of_jobs) * (1 + performance_headroom)
