"""One data set of a site, year by year."""

from ingest.engine.expression import Num, ceil, maximum, total
from ingest.engine.registry import alternative, formula, input_quantity
from ingest.formulas.site_totals import columns

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
alternative("data_files", "dataset_files", when="files_of_format")
input_quantity("data_copies", "1", "Copies of a data set on this storage.", whole=True, default=1, label="data set copies")
input_quantity("retention_seconds", "s", "Retention time of a superseded version.", above=False, default=0)
input_quantity("refresh_seconds", "s", "Time after which a new version supersedes the old one.")
input_quantity("versions_held", "1", "Versions of a data set on storage.", default=1, label="versions kept")
input_quantity("present", "1", "1 in the years in which a data set is on storage, else 0.",
     above=False, whole=True, high=1, default=1)  # fmt: skip

# Samples of several parts, and mixtures
input_quantity("text_tokens_per_sample", "token/sample", "Tokens of text in one sample.", above=False, default=0)
input_quantity("text_bytes_per_token", "B/token", "Stored bytes of one token of text.", default=4)
input_quantity("source_weight", "1", "Weight of a data set in a mixture; only ratios count.", label="weight in the mixture")
input_quantity("source_bytes", "B", "Bytes of a data set of a mixture.")
input_quantity("source_samples", "sample", "Samples of a data set of a mixture.")
input_quantity("source_sample_bytes", "B/sample", "Stored bytes of one sample of a data set of a mixture.",
    label="stored bytes of a sample")  # fmt: skip
input_quantity("source_token_bytes", "B/token", "Stored bytes of one token of a data set of a mixture.",
    label="stored bytes of a token")  # fmt: skip
input_quantity("source_samples_in_file", "sample/file", "Samples in one file of a data set of a mixture.")
columns("sources", source_weight="1", source_bytes="B", source_samples="sample", weighted_sample_bytes="B/sample",
    weighted_token_bytes="B/token", weighted_files="file/sample")  # fmt: skip

input_quantity("dataset_bytes_held_before", "B", "Bytes of a data set held in the year before.", above=False)
input_quantity("seconds_per_year", "s", "A year of 365.25 days.",
    low=31_557_600, high=31_557_600, above=False, default=31_557_600)  # fmt: skip


@formula(unit="B", source="definition", of="data_bytes", when="size_in_samples")
def data_bytes_of_samples(data_samples: Num, data_sample_bytes: Num) -> Num:
    """Size of a data set, from its samples."""
    return data_samples * data_sample_bytes


@formula(unit="B", source="definition", of="data_bytes", when="size_in_tokens")
def bytes_of_tokens(data_tokens: Num, data_bytes_per_token: Num) -> Num:
    """Size of a data set, from its tokens."""
    return data_tokens * data_bytes_per_token


@formula(unit="B", source="definition", of="data_bytes", when="made_from_another")
def bytes_of_origin(origin_bytes: Num, kept_share: Num) -> Num:
    """Size of a data set, from the data set that it is made from."""
    return origin_bytes * kept_share


@formula(unit="file", source="definition", whole=True, of="data_files", when="files_by_samples")
def files_of_samples(data_samples: Num, samples_in_file: Num) -> Num:
    """Files of a data set, by samples; the last one may be shorter.

    >>> files_of_samples(1_281_167, 1251)
    1025
    """
    return ceil(data_samples / samples_in_file)


@formula(unit="file", source="definition", whole=True, of="data_files", when="files_by_bytes")
def files_of_bytes(data_bytes: Num, file_bytes: Num) -> Num:
    """Files of a data set, by bytes; the last one may be shorter.

    >>> files_of_bytes(60e12, 1e9)
    60000
    """
    return ceil(data_bytes / file_bytes)


@formula(unit="1", source="definition", of="versions_held", when="refreshed")
def versions_kept(retention_seconds: Num, refresh_seconds: Num) -> Num:
    """Versions on storage: the current one, and those not yet past their retention.

    >>> versions_kept(365, 90)
    6
    """
    return 1 + ceil(retention_seconds / refresh_seconds)


@formula(unit="B", source="definition", label="data set bytes held")
def dataset_bytes_held(data_bytes: Num, data_copies: Num, versions_held: Num, present: Num, capacity_growth: Num) -> Num:
    """Bytes of a data set held: copies, versions, growth."""
    return data_bytes * data_copies * versions_held * present * capacity_growth


@formula(unit="file", source="definition", label="data set files held")
def dataset_files_held(data_files: Num, data_copies: Num, versions_held: Num, present: Num, capacity_growth: Num) -> Num:
    """Files of a data set on storage."""
    return data_files * data_copies * versions_held * present * capacity_growth


@formula(unit="B", source="definition", label="data set writes per day")
def dataset_bytes_written_per_day(
    data_bytes: Num, data_copies: Num, present: Num, capacity_growth: Num, seconds_per_day: Num, refresh_seconds: Num
) -> Num:
    """Bytes per day that new versions of a data set write."""
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


@formula(unit="B/sample", source="definition", of="data_sample_bytes", when="samples_of_parts")
def stored_bytes_of_parts(
    text_tokens_per_sample: Num,
    text_bytes_per_token: Num,
    images_per_sample: Num,
    image_bytes: Num,
    audio_seconds_per_sample: Num,
    audio_bytes_per_second: Num,
) -> Num:
    """Stored bytes of a sample of text, images and audio, each counted by itself.

    >>> stored_bytes_of_parts(815, 4, 2.5, 60_000, 0, 0)
    153260.0
    """
    return (
        text_tokens_per_sample * text_bytes_per_token
        + images_per_sample * image_bytes
        + audio_seconds_per_sample * audio_bytes_per_second
    )


@formula(unit="B/sample", source="definition")
def bytes_of_one_sample(data_bytes: Num, data_samples: Num) -> Num:
    """Stored bytes of one sample, from those of all."""
    return data_bytes / data_samples


@formula(unit="B/token", source="definition")
def bytes_of_one_token(data_bytes: Num, data_tokens: Num) -> Num:
    """Stored bytes of one token, from those of all."""
    return data_bytes / data_tokens


@formula(unit="B/sample", source="definition")
def weighted_sample_bytes(source_weight: Num, source_sample_bytes: Num) -> Num:
    """Part of one data set in the bytes of a mixture that is weighted by samples."""
    return source_weight * source_sample_bytes


@formula(unit="B/token", source="definition")
def weighted_token_bytes(source_weight: Num, source_token_bytes: Num) -> Num:
    """Part of one data set in the bytes of a mixture that is weighted by tokens."""
    return source_weight * source_token_bytes


@formula(unit="file/sample", source="definition")
def weighted_files(source_weight: Num, source_samples_in_file: Num) -> Num:
    """Part of one data set in the files that a mixture opens for a sample."""
    return source_weight / source_samples_in_file


@formula(
    unit="B/sample",
    source="definition",
    label="bytes of a sample of the mixture",
    of="data_sample_bytes",
    when="mixture_by_samples",
)
def mixed_sample_bytes(weighted_sample_bytes_of_sources: Num, source_weight_of_sources: Num) -> Num:
    """Mean bytes of the samples of a mixture, by the weight of each data set.

    >>> mixed_sample_bytes([720_000, 45_000, 1638.4], [0.45, 0.45, 0.1])
    766638.4
    """
    return total(weighted_sample_bytes_of_sources) / total(source_weight_of_sources)


@formula(unit="B/token", source="definition", label="bytes of a token of the mixture")
def mixed_token_bytes(weighted_token_bytes_of_sources: Num, source_weight_of_sources: Num) -> Num:
    """Mean bytes of the tokens of a mixture, by the weight of each data set.

    >>> mixed_token_bytes([3.0, 50.0], [0.75, 0.25])
    53.0
    """
    return total(weighted_token_bytes_of_sources) / total(source_weight_of_sources)


@formula(unit="B/sample", source="definition")
def mixed_bytes_of_tokens(mixed_token_bytes: Num, tokens_per_sample: Num) -> Num:
    """Mean bytes of the samples of a mixture that is weighted by tokens."""
    return mixed_token_bytes * tokens_per_sample


@formula(
    unit="sample/file",
    source="definition",
    label="samples in a file of the mixture",
    of="samples_in_file",
    when="mixture_of_known_files",
)
def mixed_samples_in_file(source_weight_of_sources: Num, weighted_files_of_sources: Num) -> Num:
    """Samples that a mixture reads for each file that it opens.

    >>> mixed_samples_in_file([0.5, 0.5], [0.005, 0.045])
    20.0
    """
    return total(source_weight_of_sources) / total(weighted_files_of_sources)


@formula(unit="B", source="definition", label="bytes of the mixture", of="data_bytes", when="mixture_of_sets")
def mixed_bytes(source_bytes_of_sources: Num) -> Num:
    """Bytes of all data sets of a mixture, each once."""
    return total(source_bytes_of_sources)


@formula(unit="sample", source="definition", label="samples of the mixture", of="data_samples", when="mixture_of_known_samples")
def mixed_samples(source_samples_of_sources: Num) -> Num:
    """Samples of all data sets of a mixture."""
    return total(source_samples_of_sources)
