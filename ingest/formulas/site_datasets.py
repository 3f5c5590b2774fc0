"""One data set of a site, year by year."""

from ingest.engine.registry import alternative, computed_quantity, input_quantity
from ingest.formulas.site_totals import columns

# One data set
input_quantity("data_samples", "sample", "Samples of a data set.", label="samples of the data set")
input_quantity("data_tokens", "token", "Tokens of a data set.")
input_quantity("data_bytes_per_token", "B/token", "Stored bytes of one token.")
input_quantity("origin_bytes", "B", "Bytes of the data set that this one is made from.")
input_quantity("kept_share", "1", "Share of the bytes of its origin that a data set keeps; above 1 where the data grow.",
    high=1000)  # fmt: skip
input_quantity("samples_in_file", "sample/file", "Samples in one file of a data set.")
input_quantity("file_bytes", "B/file", "Bytes in one file of a data set.")
computed_quantity("mean_bytes_of_files", "data_bytes / data_files", "B/file", "Mean size of the files of a data set.")
computed_quantity("samples_of_files", "data_samples / data_files", "sample/file", "Mean samples in a file of a data set.")
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
columns("sources", "1", "source_weight")
columns("sources", "B", "source_bytes")
columns("sources", "sample", "source_samples")
columns("sources", "B/sample", "weighted_sample_bytes")
columns("sources", "B/token", "weighted_token_bytes")
columns("sources", "file/sample", "weighted_files")

# Growth by a factor or an amount, and data with a lifetime
computed_quantity("capacity_growth", "capacity_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Bytes now, over those at the start of the plan.", source="zhao2022", where="growth over two years, compounded: g^(N/2)",
    example="capacity_growth(2, 5 * 31_557_600, 2 * 31_557_600) -> 5.6568...")  # fmt: skip
input_quantity("growth_amount", "B", "Bytes that one period adds.", above=False)
input_quantity("growth_base_bytes", "B", "Bytes that grow, at the start of the plan.")
input_quantity("lifetime_seconds", "s", "Time that data are kept after they arrive.", label="lifetime of the data")
input_quantity("arrival_seconds", "s", "Time from the start of the plan until a data set arrives.", above=False, default=0)
input_quantity("created_growth", "1", "Bytes that have arrived until now, over those at the start of the plan.", above=False)
input_quantity("created_growth_before", "1", "Bytes that had arrived a year ago, over those at the start of the plan.",
    above=False, default=0)  # fmt: skip
input_quantity("expired_growth", "1", "Bytes past their lifetime, over those at the start of the plan.", above=False)
columns("growing", "B", "bytes_at_start")
# Data that expire come first: what is deleted counts whatever they grow by.
computed_quantity("growth_less_expired", "created_growth - expired_growth", "1",
    "Bytes now, over those at the start of the plan: what has arrived, less what is past its lifetime.",
    label="growth less what is deleted", of="capacity_growth", when="data_expire")  # fmt: skip
computed_quantity("growth_by_amount",
    "1 + growth_amount * (elapsed_seconds / growth_period_seconds) / growth_base_bytes", "1",
    "Bytes now, over those at the start of the plan, where each period adds as many.", of="capacity_growth",
    when="grows_by_amount", where="the bytes added, over those at the start",
    example="growth_by_amount(300e12, 2 * 31_557_600, 31_557_600, 600e12) -> 2.0")  # fmt: skip
alternative("created_growth", "growth_by_amount", when="grows_by_amount")
computed_quantity("growth_by_factor", "capacity_growth_factor ** (elapsed_seconds / growth_period_seconds)", "1",
    "Bytes that have arrived until now, over those at the start of the plan.", where="the factor, compounded",
    of="created_growth", when="grows_by_factor", example="growth_by_factor(2, 3, 1) -> 8.0")  # fmt: skip
computed_quantity("expired_by_factor",
    "where(elapsed_seconds > lifetime_seconds + arrival_seconds,"
    " capacity_growth_factor ** (maximum(elapsed_seconds - lifetime_seconds, 0) / growth_period_seconds), 0)", "1",
    "Bytes that are past their lifetime, over those at the start of the plan: all that had arrived a lifetime ago.",
    needs="capacity_growth_factor elapsed_seconds lifetime_seconds arrival_seconds growth_period_seconds",
    of="expired_growth", when="grows_by_factor", example="expired_by_factor(2, 7, 5, 0, 1) -> 4.0")  # fmt: skip
computed_quantity("expired_by_amount",
    "where(elapsed_seconds > lifetime_seconds + arrival_seconds, 1 + growth_amount"
    " * (maximum(elapsed_seconds - lifetime_seconds, 0) / growth_period_seconds) / growth_base_bytes, 0)", "1",
    "Bytes that are past their lifetime, over those at the start of the plan: all that had arrived a lifetime ago.",
    needs="growth_amount elapsed_seconds lifetime_seconds arrival_seconds growth_period_seconds growth_base_bytes",
    of="expired_growth", when="grows_by_amount", example="expired_by_amount(300e12, 7, 5, 0, 1, 600e12) -> 2.0")  # fmt: skip
computed_quantity("arriving_bytes_per_day",
    "data_bytes * data_copies * present * maximum(created_growth - created_growth_before, 0) * seconds_per_day"
    " / seconds_per_year", "B",
    "Bytes per day that arrive, those that replace deleted ones among them, spread evenly over the year.",
    of="dataset_bytes_added_per_day", when="data_expire",
    example="arriving_bytes_per_day(1_461e9, 1, 1, 2, 1, 86_400, 31_557_600) -> 4000000000.0")  # fmt: skip
computed_quantity("bytes_at_start", "data_bytes * data_copies * versions_held", "B",
    "Bytes of a data set held before it grows.", label="data before growth")  # fmt: skip
computed_quantity("bytes_that_grow", "total(bytes_at_start_of_growing)", "B",
    "Bytes of all data sets that share the growth of a site, before they grow.", label="data that grow together")  # fmt: skip

input_quantity("dataset_bytes_held_before", "B", "Bytes of a data set held in the year before.", above=False)
input_quantity("seconds_per_year", "s", "A year of 365.25 days.",
    low=31_557_600, high=31_557_600, above=False, default=31_557_600)  # fmt: skip

computed_quantity("data_bytes_of_samples", "data_samples * data_sample_bytes", "B",
    "Size of a data set, from its samples.", of="data_bytes", when="size_in_samples")  # fmt: skip
computed_quantity("bytes_of_tokens", "data_tokens * data_bytes_per_token", "B",
    "Size of a data set, from its tokens.", of="data_bytes", when="size_in_tokens")  # fmt: skip
computed_quantity("bytes_of_origin", "origin_bytes * kept_share", "B",
    "Size of a data set, from the data set that it is made from.", of="data_bytes", when="made_from_another")  # fmt: skip
computed_quantity("files_of_samples", "ceil(data_samples / samples_in_file)", "file",
    "Files of a data set, by samples; the last one may be shorter.", of="data_files", when="files_by_samples", whole=True,
    example="files_of_samples(1_281_167, 1251) -> 1025")  # fmt: skip
computed_quantity("files_of_bytes", "ceil(data_bytes / file_bytes)", "file",
    "Files of a data set, by bytes; the last one may be shorter.", of="data_files", when="files_by_bytes", whole=True,
    example="files_of_bytes(60e12, 1e9) -> 60000")  # fmt: skip
computed_quantity("versions_kept", "1 + ceil(retention_seconds / refresh_seconds)", "1",
    "Versions on storage: the current one, and those not yet past their retention.", of="versions_held", when="refreshed",
    example="versions_kept(365, 90) -> 6")  # fmt: skip
computed_quantity("dataset_bytes_held", "data_bytes * data_copies * versions_held * present * capacity_growth", "B",
    "Bytes of a data set held: copies, versions, growth.", label="data set bytes held")  # fmt: skip
computed_quantity("dataset_files_held", "data_files * data_copies * versions_held * present * capacity_growth", "file",
    "Files of a data set on storage.", label="data set files held")  # fmt: skip
computed_quantity("dataset_bytes_written_per_day",
    "data_bytes * data_copies * present * capacity_growth * seconds_per_day / refresh_seconds", "B",
    "Bytes per day that new versions of a data set write.", label="data set writes per day")  # fmt: skip
computed_quantity("dataset_bytes_added_per_day",
    "maximum(dataset_bytes_held - dataset_bytes_held_before, 0) * seconds_per_day / seconds_per_year", "B",
    "Bytes per day of the first load of a data set and of its growth, spread evenly over the year.",
    example="dataset_bytes_added_per_day(1_461e9, 0, 86_400, 31_557_600) -> 4000000000.0")  # fmt: skip
computed_quantity("stored_bytes_of_parts",
    "text_tokens_per_sample * text_bytes_per_token + images_per_sample * image_bytes"
    " + audio_seconds_per_sample * audio_bytes_per_second", "B/sample",
    "Stored bytes of a sample of text, images and audio, each counted by itself.", of="data_sample_bytes",
    when="samples_of_parts", example="stored_bytes_of_parts(815, 4, 2.5, 60_000, 0, 0) -> 153260.0")  # fmt: skip
computed_quantity("bytes_of_one_sample", "data_bytes / data_samples", "B/sample",
    "Stored bytes of one sample, from those of all.")  # fmt: skip
computed_quantity("bytes_of_one_token", "data_bytes / data_tokens", "B/token", "Stored bytes of one token, from those of all.")
computed_quantity("weighted_sample_bytes", "source_weight * source_sample_bytes", "B/sample",
    "Part of one data set in the bytes of a mixture that is weighted by samples.")  # fmt: skip
computed_quantity("weighted_token_bytes", "source_weight * source_token_bytes", "B/token",
    "Part of one data set in the bytes of a mixture that is weighted by tokens.")  # fmt: skip
computed_quantity("weighted_files", "source_weight / source_samples_in_file", "file/sample",
    "Part of one data set in the files that a mixture opens for a sample.")  # fmt: skip
computed_quantity("mixed_sample_bytes", "total(weighted_sample_bytes_of_sources) / total(source_weight_of_sources)", "B/sample",
    "Mean bytes of the samples of a mixture, by the weight of each data set.", label="bytes of a sample of the mixture",
    of="data_sample_bytes", when="mixture_by_samples",
    example="mixed_sample_bytes([720_000, 45_000, 1638.4], [0.45, 0.45, 0.1]) -> 766638.4")  # fmt: skip
computed_quantity("mixed_token_bytes", "total(weighted_token_bytes_of_sources) / total(source_weight_of_sources)", "B/token",
    "Mean bytes of the tokens of a mixture, by the weight of each data set.", label="bytes of a token of the mixture",
    example="mixed_token_bytes([3.0, 50.0], [0.75, 0.25]) -> 53.0")  # fmt: skip
computed_quantity("mixed_bytes_of_tokens", "mixed_token_bytes * tokens_per_sample", "B/sample",
    "Mean bytes of the samples of a mixture that is weighted by tokens.")  # fmt: skip
computed_quantity("mixed_samples_in_file", "total(source_weight_of_sources) / total(weighted_files_of_sources)", "sample/file",
    "Samples that a mixture reads for each file that it opens.", label="samples in a file of the mixture", of="samples_in_file",
    when="mixture_of_known_files", example="mixed_samples_in_file([0.5, 0.5], [0.005, 0.045]) -> 20.0")  # fmt: skip
computed_quantity("mixed_bytes", "total(source_bytes_of_sources)", "B",
    "Bytes of all data sets of a mixture, each once.", label="bytes of the mixture", of="data_bytes",
    when="mixture_of_sets")  # fmt: skip
computed_quantity("mixed_samples", "total(source_samples_of_sources)", "sample",
    "Samples of all data sets of a mixture.", label="samples of the mixture", of="data_samples",
    when="mixture_of_known_samples")  # fmt: skip
