"""Transfers beside training (loads, preparation, starts of jobs, exports, evaluation), and loads that coincide."""

from ingest.engine.expression import Num, largest, maximum, minimum, total, where
from ingest.engine.registry import alternative, computed_quantity, formula, input_quantities
from ingest.formulas.site_totals import MODEL, columns, with_headroom

input_quantities(__file__)


alternative("dataset_preparation_bandwidth", "dataset_passes_bandwidth", when="prepared_in_passes")

computed_quantity("dataset_load_bandwidth", "data_bytes * data_copies * first_load * capacity_growth / load_seconds", "B/s",
    "Write bandwidth that loads all copies of a data set in the time allowed, in the year of its first load.",
    label="load bandwidth of a data set")  # fmt: skip
computed_quantity("dataset_refresh_bandwidth",
    "maximum(data_bytes * data_copies * present * capacity_growth / load_seconds, "
    "data_bytes * data_copies * present * capacity_growth / refresh_seconds)", "B/s",
    "Write bandwidth that loads a new version of a data set in the time allowed, and before the next one is due.",
    label="refresh bandwidth of a data set",
    example="dataset_refresh_bandwidth(302.4e12, 1, 1, 2, 604_800, 2_592_000) -> 1000000000.0")  # fmt: skip
computed_quantity("dataset_preparation_bandwidth", "origin_bytes * origin_growth * present / preparation_seconds", "B/s",
    "Read bandwidth that goes through the origin of a data set in the time allowed.",
    label="preparation reads of a data set")  # fmt: skip
computed_quantity("export_bytes_of_runs", "export_bytes * concurrent_runs", "B",
    "Bytes of the models that all runs of a job export, the newest of each run.", label="exported models of a job")  # fmt: skip
computed_quantity("job_export_bandwidth",
    "minimum(export_bytes / export_seconds * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Write bandwidth that exports the models of all runs of a job.", label="export bandwidth of the job",
    example="job_export_bandwidth(600e9, 600, 2, 72e9), "
        "job_export_bandwidth(600e9, 1, 2, 72e9) -> (2000000000.0, 72000000000.0)")  # fmt: skip
computed_quantity("job_start_bandwidth", "minimum(start_bytes * nodes_at_once / start_seconds, job_drawable_bandwidth)", "B/s",
    "Read bandwidth with which all runs of a job start together.", label="read bandwidth of a job's start",
    example="job_start_bandwidth(6e9, 16, 60, 1152e9), "
        "job_start_bandwidth(6e12, 16, 60, 1152e9) -> (1600000000.0, 1152000000000.0)")  # fmt: skip
computed_quantity("job_start_opens", "start_files * nodes_at_once / start_seconds", "file/s",
    "File opens per second with which all runs of a job start together.", label="file opens of a job's start")  # fmt: skip
computed_quantity("job_evaluation_bandwidth",
    "minimum(evaluation_bytes / evaluation_seconds * concurrent_runs, job_drawable_bandwidth)", "B/s",
    "Read bandwidth of the evaluations of all runs of a job.", label="read bandwidth of evaluations",
    example="job_evaluation_bandwidth(120e9, 30, 2, 72e9), "
        "job_evaluation_bandwidth(120e9, 1, 2, 72e9) -> (8000000000.0, 72000000000.0)")  # fmt: skip
computed_quantity("year_first_load_bandwidth",
    "minimum(total(dataset_load_bandwidth_of_datasets) * (1 + performance_headroom), site_moving_drawable_bandwidth)", "B/s",
    "Write bandwidth of one year that loads data sets for the first time, at most what the nodes draw that load.",
    label="first loads of a year",
    example="year_first_load_bandwidth([0.5e9, 1e9], 0.2, 360e9), year_first_load_bandwidth([833e9], 0, 360e9)"
        " -> (1800000000.0, 360000000000.0)")  # fmt: skip
computed_quantity("year_renewal_bandwidth",
    "minimum(total(dataset_refresh_bandwidth_of_datasets) * (1 + performance_headroom), site_moving_drawable_bandwidth)", "B/s",
    "Write bandwidth of one year that loads new versions of data sets, at most what the nodes draw that load.",
    label="later versions of a year", example="year_renewal_bandwidth([0.5e9, 1e9], 0.2, 360e9) -> 1800000000.0")  # fmt: skip
computed_quantity("line_efficiency", "(mtu_bytes - packet_header_bytes) / (mtu_bytes + line_frame_bytes)", "1",
    "Share of the line rate that is data where every packet is full.", source="ethernet-8023",
    where="overhead of a frame: 38 B", label="data on a line", high=1,
    example="round(line_efficiency(1500, 52, 38), 4), round(line_efficiency(9000, 52, 38), 4) -> (0.9415, 0.99)")  # fmt: skip
computed_quantity("link_payload_rate", "link_rate * line_efficiency", "B/s", "Data that a link delivers at its line rate.")
computed_quantity("line_rate_needed", "arriving_rate / line_efficiency", "B/s", "Line rate of a link that carries such data.")
computed_quantity("dataset_landing_bandwidth", "arriving_rate * present", "B/s", "Writes of data that arrive.")
computed_quantity("dataset_landing_bytes", "arriving_rate * landing_buffer_seconds * present", "B",
    "Data that have arrived and wait, after a buffer time without a drain.")  # fmt: skip
computed_quantity("dataset_drain_bandwidth",
    "(arriving_rate * arriving_duty + arriving_rate * landing_buffer_seconds / landing_drain_seconds) * present", "B/s",
    "Reads of landed data that keep up with what arrives, and empty a full buffer in the time allowed.",
    example="dataset_drain_bandwidth(10e9, 0.4, 86_400, 86_400, 1) -> 14000000000.0")  # fmt: skip
computed_quantity("landed_bytes_per_day", "arriving_rate * arriving_duty * seconds_per_day * present", "B",
    "Bytes per day that arrive.")  # fmt: skip
computed_quantity("bytes_arriving_per_year", "arriving_rate * arriving_duty * seconds_per_year", "B",
    "Bytes that arrive in a year.")  # fmt: skip
computed_quantity("arrivals_not_kept",
    "maximum(1 - data_bytes * (created_growth - 1) * seconds_per_year / (bytes_arriving_per_year * elapsed_seconds), 0)", "1",
    "Share of what has arrived that the growth of its data set leaves out.", above=False, label="arriving data not kept",
    example="arrivals_not_kept(1e15, 1.2, 31_557_600, 4e14, 31_557_600) -> 0.5")  # fmt: skip
computed_quantity("dataset_drain_write_bandwidth", "dataset_drain_bandwidth * data_copies", "B/s",
    "Writes of landed data into each copy of their data set.")  # fmt: skip
columns("datasets", "B/s", "dataset_landing_bandwidth dataset_drain_bandwidth dataset_drain_write_bandwidth")
columns("datasets", "B", "dataset_landing_bytes")
columns("years", "B/s", "year_landing_bandwidth year_drain_bandwidth")
columns("years", "B", "year_landing_bytes")
computed_quantity("year_landing_bandwidth",
    "minimum((total(dataset_landing_bandwidth_of_datasets) + total(dataset_drain_write_bandwidth_of_datasets))"
    " * (1 + performance_headroom), site_moving_drawable_bandwidth)", "B/s",
    "Writes of one year of data that arrive, and of what drains into their data sets.", label="landing of a year",
    example="year_landing_bandwidth([10e9], [14e9], 0, 360e9) -> 24000000000.0")  # fmt: skip
computed_quantity("year_landing_bytes", "total(dataset_landing_bytes_of_datasets)", "B", "Data that wait in one year.")
computed_quantity("year_drain_bandwidth",
    "minimum(total(dataset_drain_bandwidth_of_datasets) * (1 + performance_headroom), site_moving_drawable_bandwidth)", "B/s",
    "Reads of one year of data that have landed.", label="drain of a year",
    example="year_drain_bandwidth([14e9], 0, 360e9) -> 14000000000.0")  # fmt: skip
computed_quantity("site_landing_bandwidth", "largest(year_landing_bandwidth_of_years)", "B/s",
    "Write bandwidth of data that arrive and drain, in the most demanding year.", label="landing bandwidth")  # fmt: skip
computed_quantity("site_landing_bytes", "largest(year_landing_bytes_of_years)", "B",
    "Data that have arrived and wait, in the most demanding year.", label="landing capacity")  # fmt: skip
computed_quantity("site_drain_bandwidth", "largest(year_drain_bandwidth_of_years)", "B/s",
    "Read bandwidth that drains landed data, in the most demanding year.", label="drain bandwidth")  # fmt: skip
computed_quantity("year_load_bandwidth",
    "maximum(year_first_load_bandwidth, year_renewal_bandwidth"
    " + total(job_export_bandwidth_of_jobs) * (1 + performance_headroom))", "B/s",
    "Write bandwidth of one year: first loads of data sets, or later versions of them while models are exported.",
    label="load bandwidth of a year", example="year_load_bandwidth(1.5e9, 1e9, [2e9], 0) -> 3000000000.0")  # fmt: skip
computed_quantity("site_load_bandwidth", "largest(year_load_bandwidth_of_years)", "B/s",
    "Write bandwidth that loads data sets in the most demanding year.", label="load bandwidth")  # fmt: skip
computed_quantity("year_preparation_bandwidth",
    "minimum(total(dataset_preparation_bandwidth_of_datasets) * (1 + performance_headroom), site_moving_drawable_bandwidth)",
    "B/s", "Read bandwidth of one year that makes data sets from their origins, at most what the nodes draw that prepare.",
    label="preparation reads of a year",
    example="year_preparation_bandwidth([0.5e9, 1e9], 0.2, 360e9), year_preparation_bandwidth([833e9], 0, 360e9)"
        " -> (1800000000.0, 360000000000.0)")  # fmt: skip
computed_quantity("site_preparation_bandwidth", "largest(year_preparation_bandwidth_of_years)", "B/s",
    "Read bandwidth that makes data sets from their origins in the most demanding year.",
    label="preparation bandwidth")  # fmt: skip
computed_quantity("site_start_bandwidth",
    "maximum(largest(job_start_bandwidth_of_jobs), largest(job_evaluation_bandwidth_of_jobs)) * (1 + performance_headroom)",
    "B/s", "Read bandwidth of the job whose start or evaluation reads the most.", label="start bandwidth",
    example="site_start_bandwidth([6.4e9], [4e9], 0) -> 6400000000.0")  # fmt: skip
with_headroom("site_start_opens", "largest(job_start_opens_of_jobs)", "file/s",
    "File opens per second as the job starts that opens the most files.", label="file opens as a job starts")  # fmt: skip

#: The percentile of simultaneous writes, and where it lies in the standard normal distribution.
PERCENTILE, DEVIATIONS = 0.99, 2.3263
#: Share of the largest single write rate that corrects for a sum of steps being read off a smooth curve.
CONTINUITY = 0.5
#: weight of the skewness in the expansion
SKEWNESS = (DEVIATIONS**2 - 1) / 6

alternative("stopped_read_share", "stopped_share_with_tiers", when="tiers_shared")
alternative("site_mixed_bandwidth", "site_alternating_with_tiers", when="reads_alternate_with_saves")
alternative("site_mixed_bandwidth", "site_mixed_with_tiers", when="tiers_shared")
alternative("mixed_write_share", "write_share_with_tiers", when="tiers_shared")

computed_quantity("write_duty", "minimum(job_sustained_write_bandwidth / job_write_bandwidth, 1)", "1",
    "Share of time in which a run writes a checkpoint: its average rate, over its rate while it writes.",
    label="share of time in which a run writes", high=1, example="write_duty(2e9, 20e9) -> 0.1")  # fmt: skip
computed_quantity("runs_writing", "concurrent_runs * write_duty", "1",
    "Mean number of runs of a job that write a checkpoint at a moment.", label="mean number of runs that write")  # fmt: skip
computed_quantity("write_variance", "concurrent_runs * write_duty * (1 - write_duty) * run_write_bandwidth**2", "B^2/s^2",
    "Variance of the write rate of a job whose runs write independently.", label="variance of concurrent checkpoint writes",
    example="write_variance(4, 0.5, 10.0) -> 100.0")  # fmt: skip
computed_quantity("write_third_moment", "write_variance * (1 - 2 * write_duty) * run_write_bandwidth", "B^3/s^3",
    "Third central moment of the write rate of a job: positive where its runs write less than half of the time.",
    label="third central moment of concurrent checkpoint writes",
    example="write_third_moment(100.0, 0.1, 10.0) -> 800.0")  # fmt: skip


@formula("B^2/s^2", label="variance of all checkpoint writes")
def write_spread(write_variance_of_jobs: Num, write_third_moment_of_jobs: Num) -> Num:
    """Variance of all checkpoint writes; at least that below which the expansion would fall where a job joins.

    >>> write_spread([18e18], [0.0])
    1.8e+19
    """
    least = 2 * SKEWNESS / DEVIATIONS * maximum(total(write_third_moment_of_jobs), 0)
    return maximum(total(write_variance_of_jobs), least ** (2 / 3))


with_headroom("simultaneous_write_bandwidth", "total(job_write_bandwidth_of_jobs)", "B/s",
    "Checkpoint write bandwidth if all runs write at the same time.",
    label="write bandwidth of all checkpoints together")  # fmt: skip


@formula(
    unit="B/s",
    source="cornish-fisher",
    where="third-order expansion of the 99th percentile, plus half of the largest rate; at least the largest, at most the sum; "
    "the largest alone where two runs of mean number λ write together for at most λ²/2 ≤ 1 % of the time",
    label="99th percentile of simultaneous checkpoint writes",
)
def overlapping_write_bandwidth(
    run_write_bandwidth_of_jobs: Num,
    job_write_bandwidth_of_jobs: Num,
    job_sustained_write_bandwidth_of_jobs: Num,
    runs_writing_of_jobs: Num,
    write_spread: Num,
    write_third_moment_of_jobs: Num,
    least_bandwidth: Num,
    performance_headroom: Num,
) -> Num:
    """Checkpoint write bandwidth that the runs of a site stay below for 99 % of the time, writing independently.

    Against the exact distribution of 6,500 random sites it was never too low, and half of the results at most 6 % high.

    >>> overlapping_write_bandwidth([10e9], [20e9], [2e9], [0.1], 18e18, [144e27], 1, 0)
    10000000000.0
    >>> round(overlapping_write_bandwidth([10e9], [400e9], [40e9], [4], 360e18, [2880e27], 1, 0) / 1e9, 1)
    95.0
    """
    return where(
        total(runs_writing_of_jobs) ** 2 / 2 <= 1 - PERCENTILE,
        largest(run_write_bandwidth_of_jobs),
        minimum(
            total(job_write_bandwidth_of_jobs),
            maximum(
                largest(run_write_bandwidth_of_jobs),
                total(job_sustained_write_bandwidth_of_jobs)
                + DEVIATIONS * write_spread**0.5
                + SKEWNESS * maximum(total(write_third_moment_of_jobs), 0) / maximum(write_spread, least_bandwidth**2)
                + CONTINUITY * largest(run_write_bandwidth_of_jobs),
            ),
        ),
    ) * (1 + performance_headroom)


computed_quantity("alternating_write_bandwidth", "maximum(workload_largest_write_bandwidth, site_sustained_write_bandwidth)",
    "B/s", "Checkpoint write bandwidth where runs alternate: asynchronous checkpoints may drain without a pause.", source=MODEL,
    where="a single run, but never less than what all of them write on average",
    label="write bandwidth of alternating checkpoints", of="workload_write_bandwidth",
    when="checkpoints_alternate")  # fmt: skip
computed_quantity("stopped_read_share",
    "total(job_stopped_read_bandwidth_of_jobs) / maximum(total(job_read_bandwidth_of_jobs), least_bandwidth)", "1",
    "Share of the reads whose runs wait while they save synchronously.", label="share of reads that saves stop", high=1,
    example="stopped_read_share([10e9], [10e9, 30e9], 1) -> 0.25")  # fmt: skip
computed_quantity("site_mixed_bandwidth",
    "maximum(workload_read_bandwidth, workload_write_bandwidth + workload_read_bandwidth"
    " * (1 - stopped_read_share * workload_write_bandwidth / maximum(simultaneous_write_bandwidth, least_bandwidth)))", "B/s",
    "Aggregate bandwidth of checkpoint writes and of the reads that go on meanwhile.",
    needs="workload_read_bandwidth stopped_read_share workload_write_bandwidth simultaneous_write_bandwidth least_bandwidth",
    source=MODEL, where="synchronous saves stop the reads of their own runs; at least the reads or the writes alone",
    label="aggregate bandwidth of concurrent reads and writes",
    example="site_mixed_bandwidth(30e9, 0, 10e9, 40e9, 1), site_mixed_bandwidth(30e9, 1, 40e9, 40e9, 1) -> (40000000000.0, "
    "40000000000.0)")  # fmt: skip
computed_quantity("mixed_write_share", "minimum(workload_write_bandwidth / site_mixed_bandwidth, 1)", "1",
    "Share of the bytes of concurrent reads and checkpoint writes that are writes.",
    label="share of writes in concurrent reads and writes", high=1,
    example="mixed_write_share(10e9, 40e9) -> 0.25")  # fmt: skip
