"""One data set of a site, year by year."""

from ingest.engine.expression import Num, ceil, maximum
from ingest.engine.registry import formula, input_quantity

# One data set
input_quantity("data_samples", "sample", "Samples of a data set.", label="samples of the data set")
input_quantity("data_sample_bytes", "B/sample", "Stored bytes of one sample.", label="stored sample size")
input_quantity("data_tokens", "token", "Tokens of a data set.")
input_quantity("data_bytes_per_token", "B/token", "Stored bytes of one token.")
input_quantity("origin_bytes", "B", "Bytes of the data set that this one is made from.")
input_quantity("kept_share", "1", "Share of the bytes of its origin that a data set keeps; above 1 where the data grow.",
    high=1000)  # fmt: skip
input_quantity("samples_in_file", "sample/file", "Samples in one file of a data set.")
input_quantity("file_bytes", "B/file", "Bytes in one file of a data set.")
input_quantity("data_bytes", "B", "Bytes of one copy of one version of a data set at the start of the plan.",
    label="data set size")  # fmt: skip
input_quantity("data_files", "file", "Files of one copy of one version of a data set at the start of the plan.",
    above=False, label="data set files")  # fmt: skip
input_quantity("data_copies", "1", "Copies of a data set on this storage.", whole=True, default=1, label="data set copies")
input_quantity("retention_seconds", "s", "Retention time of a superseded version.", above=False, default=0)
input_quantity("refresh_seconds", "s", "Time after which a new version supersedes the old one.")
input_quantity("versions_held", "1", "Versions of a data set on storage.", default=1, label="versions kept")
input_quantity("present", "1", "1 in the years in which a data set is on storage, else 0.",
     above=False, whole=True, high=1, default=1)  # fmt: skip

input_quantity("dataset_bytes_held_before", "B", "Bytes of a data set held in the year before.", above=False)
input_quantity("seconds_per_year", "s", "A year of 365.25 days.",
    low=31_557_600, high=31_557_600, above=False, default=31_557_600)  # fmt: skip


@formula(unit="B", source="definition")
def data_bytes_of_samples(data_samples: Num, data_sample_bytes: Num) -> Num:
    """Size of a data set, from its samples.

    >>> data_bytes_of_samples(524_288, 2_828_486)
    1482941267968
    """
    return data_samples * data_sample_bytes


@formula(unit="B", source="definition")
def bytes_of_tokens(data_tokens: Num, data_bytes_per_token: Num) -> Num:
    """Size of a data set, from its tokens.

    >>> bytes_of_tokens(15e12, 4)
    60000000000000.0
    """
    return data_tokens * data_bytes_per_token


@formula(unit="B", source="definition")
def bytes_of_origin(origin_bytes: Num, kept_share: Num) -> Num:
    """Size of a data set, from the data set that it is made from.

    >>> bytes_of_origin(200e12, 0.055)
    11000000000000.0
    """
    return origin_bytes * kept_share


@formula(unit="file", source="definition")
def files_of_samples(data_samples: Num, samples_in_file: Num) -> Num:
    """Files of a data set, by samples; the last one may be shorter.

    >>> files_of_samples(1_281_167, 1251)
    1025
    """
    return ceil(data_samples / samples_in_file)


@formula(unit="file", source="definition")
def files_of_bytes(data_bytes: Num, file_bytes: Num) -> Num:
    """Files of a data set, by bytes; the last one may be shorter.

    >>> files_of_bytes(60e12, 1e9)
    60000
    """
    return ceil(data_bytes / file_bytes)


@formula(unit="1", source="definition")
def versions_kept(retention_seconds: Num, refresh_seconds: Num) -> Num:
    """Versions on storage: the current one, and those not yet past their retention.

    >>> versions_kept(365, 90)
    6
    """
    return 1 + ceil(retention_seconds / refresh_seconds)


@formula(unit="B", source="definition", label="data set bytes held")
def dataset_bytes_held(data_bytes: Num, data_copies: Num, versions_held: Num, present: Num, capacity_growth: Num) -> Num:
    """Bytes of a data set held: copies, versions, growth.

    >>> dataset_bytes_held(1e12, 2, 3, 1, 1.5)
    9000000000000.0
    """
    return data_bytes * data_copies * versions_held * present * capacity_growth


@formula(unit="file", source="definition", label="data set files held")
def dataset_files_held(data_files: Num, data_copies: Num, versions_held: Num, present: Num, capacity_growth: Num) -> Num:
    """Files of a data set on storage.

    >>> dataset_files_held(1000, 2, 3, 1, 1.5)
    9000.0
    """
    return data_files * data_copies * versions_held * present * capacity_growth


@formula(unit="B", source="definition", label="data set writes per day")
def dataset_bytes_written_per_day(
    data_bytes: Num, data_copies: Num, present: Num, capacity_growth: Num, seconds_per_day: Num, refresh_seconds: Num
) -> Num:
    """Bytes per day that new versions of a data set write.

    >>> dataset_bytes_written_per_day(9e12, 1, 1, 1, 86_400, 90 * 86_400)
    100000000000.0
    """
    return data_bytes * data_copies * present * capacity_growth * seconds_per_day / refresh_seconds


@formula(unit="B", source="definition")
def dataset_bytes_added_per_day(
    dataset_bytes_held: Num, dataset_bytes_held_before: Num, seconds_per_day: Num, seconds_per_year: Num
) -> Num:
    """Bytes per day of the first load of a data set and of its growth, spread evenly over the year.

    >>> dataset_bytes_added_per_day(1_461e9, 0, 86_400, 31_557_600)
    4000000000.0
    """
    return maximum(dataset_bytes_held - dataset_bytes_held_before, 0) * seconds_per_day / seconds_per_year
