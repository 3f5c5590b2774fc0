"""Preparation of data sets: passes over the origin, scratch space, writes, and the cores that keep up."""

from ingest.engine.expression import Num, ceil, largest, maximum, total
from ingest.engine.registry import formula, input_quantity

input_quantity("preparation_passes", "1", "Times that the preparation of a data set reads its origin.", whole=True,
    label="passes over the origin")  # fmt: skip
input_quantity("intermediate_share", "1", "Intermediate files, as a share of the origin: written once and read once.",
    above=False, high=100)  # fmt: skip
input_quantity("preparation_documents", "document", "Documents whose signatures a deduplication keeps.", above=False)
input_quantity("prepared_copies", "1", "Copies of the data set that its preparation writes.", whole=True)
input_quantity("preparation_rate", "B/s", "Bytes of the origin that one core goes through in a second.",
    label="preparation rate of one core")  # fmt: skip
input_quantity("document_rate", "document/s", "Documents that one worker goes through in a second.")
input_quantity("preparation_workers", "1", "Processes that prepared or counted at the same time.", whole=True)
input_quantity("prepared_bytes", "B", "Bytes that were prepared or counted in a measurement.")
input_quantity("prepared_seconds", "s", "Duration of a preparation or of a count.")
input_quantity("dataset_scratch_bytes_held_before", "B", "Scratch space of the preparation of a data set in the year before.",
    above=False)  # fmt: skip


@formula(unit="B/s", source="definition", label="rate of one core")
def rate_of_core(prepared_bytes: Num, prepared_seconds: Num, preparation_workers: Num) -> Num:
    """Bytes that one of several processes went through in a second."""
    return prepared_bytes / prepared_seconds / preparation_workers


@formula(unit="s", source="definition")
def document_pass_seconds(preparation_documents: Num, document_rate: Num, preparation_workers: Num) -> Num:
    """Time of one pass over the documents, where a rate is known in documents."""
    return preparation_documents / document_rate / preparation_workers


@formula(unit="B", source="definition", label="signatures of the documents")
def signature_bytes(preparation_documents: Num, dedup_hashes: Num, dedup_hash_bytes: Num) -> Num:
    """Signatures that a deduplication keeps while it runs."""
    return preparation_documents * dedup_hashes * dedup_hash_bytes


@formula(unit="B", source="definition", label="scratch space of a preparation")
def preparation_scratch_bytes(origin_bytes: Num, intermediate_share: Num, signature_bytes: Num) -> Num:
    """Scratch space that a preparation fills: intermediate files, and signatures for deduplication.

    >>> preparation_scratch_bytes(100e12, 1, 44.8e12) / 1e12
    144.8
    """
    return origin_bytes * intermediate_share + signature_bytes


@formula(unit="B/s", source="definition", label="reads of a preparation in several passes")
def dataset_passes_bandwidth(
    origin_bytes: Num,
    preparation_passes: Num,
    preparation_scratch_bytes: Num,
    origin_growth: Num,
    present: Num,
    preparation_seconds: Num,
) -> Num:
    """Read bandwidth of a preparation: each pass over the origin, and the scratch space once.

    >>> dataset_passes_bandwidth(302.4e12, 2, 0, 1, 1, 604_800)
    1000000000.0
    """
    return (origin_bytes * preparation_passes + preparation_scratch_bytes) * origin_growth * present / preparation_seconds


@formula(unit="B/s", source="definition", label="preparation writes of a data set")
def dataset_preparation_write_bandwidth(
    data_bytes: Num,
    prepared_copies: Num,
    capacity_growth: Num,
    preparation_scratch_bytes: Num,
    origin_growth: Num,
    present: Num,
    preparation_seconds: Num,
) -> Num:
    """Write bandwidth of a preparation: all copies of its result, and the scratch space once.

    >>> dataset_preparation_write_bandwidth(30.24e12, 1, 1, 302.4e12, 1, 1, 604_800)
    550000000.0
    """
    return (
        (data_bytes * prepared_copies * capacity_growth + preparation_scratch_bytes * origin_growth)
        * present
        / preparation_seconds
    )


@formula(unit="B", source="definition", label="scratch space held")
def dataset_scratch_bytes_held(preparation_scratch_bytes: Num, origin_growth: Num, present: Num) -> Num:
    """Scratch space of a preparation in a year."""
    return preparation_scratch_bytes * origin_growth * present


@formula(unit="B", source="definition")
def dataset_scratch_added_per_day(
    dataset_scratch_bytes_held: Num, dataset_scratch_bytes_held_before: Num, seconds_per_day: Num, seconds_per_year: Num
) -> Num:
    """Scratch space that the first preparation of a data set and that of its growth write, spread evenly over the year.

    >>> dataset_scratch_added_per_day(1_461e9, 0, 86_400, 31_557_600)
    4000000000.0
    """
    return maximum(dataset_scratch_bytes_held - dataset_scratch_bytes_held_before, 0) * seconds_per_day / seconds_per_year


@formula(unit="B", source="definition")
def dataset_scratch_written_per_day(dataset_scratch_bytes_held: Num, seconds_per_day: Num, refresh_seconds: Num) -> Num:
    """Scratch space that the preparation of new versions of a data set writes in a day."""
    return dataset_scratch_bytes_held * seconds_per_day / refresh_seconds


@formula(unit="1", source="definition", label="cores of a preparation", whole=True)
def preparation_cores(origin_bytes: Num, preparation_passes: Num, preparation_rate: Num, preparation_seconds: Num) -> Num:
    """Cores that prepare a data set in the time allowed, at the start of the plan.

    >>> preparation_cores(1.5e12, 1, 1.05e6, 29_940)
    48
    """
    return ceil(origin_bytes * preparation_passes / preparation_rate / preparation_seconds)


@formula(unit="1", source="definition", label="core-hours of a preparation")
def preparation_core_hours(origin_bytes: Num, preparation_passes: Num, preparation_rate: Num, seconds_per_hour: Num) -> Num:
    """Core-hours that the preparation of a data set takes, at the start of the plan."""
    return origin_bytes * preparation_passes / preparation_rate / seconds_per_hour


@formula(unit="B/s", source="definition", label="preparation writes of a year")
def year_preparation_write_bandwidth(dataset_preparation_write_bandwidth_of_datasets: Num) -> Num:
    """Write bandwidth of one year that makes data sets from their origins."""
    return total(dataset_preparation_write_bandwidth_of_datasets)


@formula(unit="B/s", source="definition", label="preparation write bandwidth")
def site_preparation_write_bandwidth(year_preparation_write_bandwidth_of_years: Num, performance_headroom: Num) -> Num:
    """Write bandwidth that makes data sets from their origins in the most demanding year.

    >>> site_preparation_write_bandwidth([0.5e9, 1e9], 0)
    1000000000.0
    """
    return largest(year_preparation_write_bandwidth_of_years) * (1 + performance_headroom)


@formula(unit="B", source="definition", label="data held with scratch space")
def year_bytes_with_scratch(
    dataset_bytes_held_of_datasets: Num, job_checkpoint_bytes_held_of_jobs: Num, dataset_scratch_bytes_held_of_datasets: Num
) -> Num:
    """Data held in one year while data sets are prepared: data sets, retained checkpoints and scratch space.

    >>> year_bytes_with_scratch([1e12, 2e12], [5e12], [1e12])
    9000000000000.0
    """
    return (
        total(dataset_bytes_held_of_datasets)
        + total(job_checkpoint_bytes_held_of_jobs)
        + total(dataset_scratch_bytes_held_of_datasets)
    )


@formula(unit="B", source="definition", label="writes per day with scratch space")
def year_writes_with_scratch(
    job_checkpoint_bytes_per_day_of_jobs: Num,
    dataset_bytes_written_per_day_of_datasets: Num,
    dataset_bytes_added_per_day_of_datasets: Num,
    dataset_scratch_added_per_day_of_datasets: Num,
    dataset_scratch_written_per_day_of_datasets: Num,
) -> Num:
    """Bytes per day that clients write in one year in which data sets are prepared, scratch space included.

    >>> year_writes_with_scratch([500e12], [1e12], [2e12], [4e12], [3e12])
    510000000000000.0
    """
    return (
        total(job_checkpoint_bytes_per_day_of_jobs)
        + total(dataset_bytes_written_per_day_of_datasets)
        + total(dataset_bytes_added_per_day_of_datasets)
        + total(dataset_scratch_added_per_day_of_datasets)
        + total(dataset_scratch_written_per_day_of_datasets)
    )
