"""Transfers beside training (loads, preparation, starts of jobs, exports, evaluation), and loads that coincide."""

from ingest.engine.expression import Num, largest, maximum, minimum, total, where
from ingest.engine.registry import alternative, computed_quantities, formula, input_quantities
from ingest.formulas.site_totals import columns, with_headroom

input_quantities(__file__)

alternative("dataset_preparation_bandwidth", "dataset_passes_bandwidth", when="prepared_in_passes")

computed_quantities(__file__)
columns("datasets", "B/s", "dataset_landing_bandwidth dataset_drain_bandwidth dataset_drain_write_bandwidth")
columns("datasets", "B", "dataset_landing_bytes")
columns("years", "B/s", "year_landing_bandwidth year_drain_bandwidth")
columns("years", "B", "year_landing_bytes")
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
