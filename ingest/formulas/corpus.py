"""A corpus of text: its size on storage, as text and as tokens, and estimates from a sample with their intervals."""

from __future__ import annotations

from ingest.engine.expression import Num, maximum, minimum, total
from ingest.engine.registry import alternative, computed_quantity, formula, input_quantity

input_quantity("corpus_bytes", "B", "Text of the corpus, as UTF-8.", above=False, whole=True)
input_quantity("stored_bytes", "B",
    "Bytes on storage of the files that were counted, parts left out included; compressed where the files are.", above=False,
    whole=True)  # fmt: skip
input_quantity("bytes_read", "B", "Bytes moved from storage for the measurement.", above=False, whole=True)
input_quantity("tokens", "token", "Tokens of the text.", above=False)
alternative("tokens", "tokens_of_text", when="bytes_stated")
input_quantity("files", "file", "Files that were counted.", above=False, whole=True)
alternative("files", "sample_files", when="samples_measured")
input_quantity("files_skipped", "file", "Files that were left out, each named with the reason.", above=False, whole=True)
input_quantity("documents_skipped", "document", "Lines, rows, records and members that were left out of files that count.",
    above=False, whole=True)  # fmt: skip
input_quantity("unreadable_bytes", "B", "Stored bytes that hold no readable text, as a sample shows them.", above=False)
input_quantity("documents", "document", "Documents: lines, rows, members or files, by format.", above=False, whole=True)
alternative("documents", "documents_by_length", when="length_of_documents_known")

computed_quantity("bytes_per_token", "corpus_bytes / tokens", "B/token",
    "Text bytes that one token stands for: totals over totals, never a mean of ratios.", low=0.1, high=1e6,
    above=False)  # fmt: skip
computed_quantity("tokenized_bytes", "tokens * token_id_bytes", "B",
    "Bytes of the corpus as token ids in an array, as training reads it.")  # fmt: skip
computed_quantity("stored_share", "stored_bytes / corpus_bytes", "1",
    "Stored bytes for each byte of text: below one where files are compressed.")  # fmt: skip
computed_quantity("tokenized_share", "tokenized_bytes / stored_bytes", "1",
    "Bytes of ids for each stored byte: what the tokenized copy adds.")  # fmt: skip
computed_quantity("tokens_per_document", "tokens / documents", "token/document", "Mean length of a document in tokens.")
computed_quantity("bytes_per_document", "corpus_bytes / documents", "B/document", "Mean length of a document as text.")
computed_quantity("stored_bytes_per_file", "stored_bytes / files", "B/file", "Mean size of a file on storage.")
computed_quantity("text_sample_bytes", "bytes_per_token * tokens_per_sample", "B/sample",
    "Bytes of one training sample where text, not ids, is read.")  # fmt: skip

input_quantity("samples", "sample", "Samples that were counted: images, records, rows, or files.", above=False, whole=True)
input_quantity("sample_files", "file", "Files that hold these samples.", above=False, whole=True)
input_quantity("sample_files_bytes", "B", "Stored bytes of the files of samples, framing included.", above=False, whole=True)

computed_quantity("mean_sample_bytes", "sample_files_bytes / samples", "B/sample",
    "Mean stored bytes of one sample with its share of the framing: bytes that one epoch reads, over the samples.")  # fmt: skip
computed_quantity("mean_samples_per_file", "samples / sample_files", "sample/file", "Mean samples that one file holds.")
computed_quantity("mean_file_bytes", "sample_files_bytes / sample_files", "B/file", "Mean size of a file.")

input_quantity("drawn_densities", "1/B", "Amount per stored byte of each drawn block or shard.", above=False)
input_quantity("pair_differences", "1/B", "Difference of the two draws of each stratum.", low=-float("inf"))
input_quantity("draws", "1", "Blocks or shards drawn; one that is drawn twice counts twice.")
input_quantity("frame_bytes", "B", "Stored bytes that could have been drawn.")
input_quantity("base_densities", "1/B", "Amount per stored byte, for each draw, of the quantity that a ratio divides by.",
    above=False)  # fmt: skip
input_quantity("ratio_guess", "1", "Ratio in the sample.")
input_quantity("ratio_base", "1", "Total of the quantity that a ratio divides by.")
input_quantity("variances_of_pairs", "1", "Contribution of each stratum to the variance of an estimate.", above=False)
input_quantity("sampled_value", "1", "Estimate of the sample.")
input_quantity("risk", "1", "Share of repeated samples whose interval would miss the true value: 1 − confidence.", high=1)
input_quantity("confidence_quantile", "1", "Student's t, two-sided, at the chosen confidence.")
input_quantity("sampling_tolerance", "1", "Target half width of a confidence interval, over the estimate.", high=1)
input_quantity("reading_margin", "1", "Safety factor on the draws that the pilot's variance requires.", low=1, above=False)
input_quantity("rooted_costs_of_groups", "1", "Root of variance times cost, for each group of files.", above=False)
input_quantity("cost_per_draw", "1", "Cost of one draw in relation to draws of other groups: bytes read.")
input_quantity("variance_per_draw", "1", "Variance of an estimate times the draws it rests on.", above=False)


@formula("1/B", source="hansen1943", where="draws with probability proportional to size, with replacement")
def sampled_density(drawn_densities: Num, draws: Num) -> Num:
    """Mean over draws in which every stored byte is as likely as another; unbiased whatever the sizes of the files.

    >>> sampled_density([0.25, 0.35], 2)
    0.3
    """
    return total(drawn_densities) / draws


@formula("1", source="hansen1943", where="draws with probability proportional to size, with replacement")
def sampled_total(frame_bytes: Num, sampled_density: Num) -> Num:
    """Total of the whole corpus."""
    return frame_bytes * sampled_density


@formula("1", source="cochran1977", where="ch. 5, strata of equal weight with two draws: W²·s²/2, where s² = d²/2")
def pair_variances(frame_bytes: Num, pair_differences: Num, draws: Num) -> Num:
    """Contribution of each stratum to the variance of the total; unbiased, because its two draws are independent.

    >>> pair_variances(1_000, 0.1, 2)
    2500.0
    """
    return (frame_bytes * pair_differences / draws) ** 2


@formula("1", source="cochran1977", where="ch. 5: strata are drawn independently, so that variances add")
def sampling_variance(variances_of_pairs: Num) -> Num:
    """Variance of an estimate."""
    return total(variances_of_pairs)


@formula("1", source="satterthwaite1946", where="2·V²/var(V); one degree each, so E(v²) is three times (E v)²")
def degrees_of_freedom(variances_of_pairs: Num) -> Num:
    """Degrees of freedom of a variance summed over pairs: the number of pairs, fewer where some of them dominate.

    >>> degrees_of_freedom(3.0)
    1.0
    """
    return maximum(3 * total(variances_of_pairs) ** 2 / total(variances_of_pairs * variances_of_pairs) - 2, 1)


@formula("1/B", source="cochran1977", where="ch. 6: the ratio estimator, linearized")
def ratio_residuals(drawn_densities: Num, ratio_guess: Num, base_densities: Num, ratio_base: Num) -> Num:
    """Influence of each draw, per stored byte, on a ratio of two totals.

    >>> ratio_residuals(1.0, 4.0, 0.3, 1_000) * 1_000
    -0.2
    """
    return (drawn_densities - ratio_guess * base_densities) / ratio_base


@formula("1")
def interval_half_width(sampling_variance: Num, confidence_quantile: Num) -> Num:
    """Half the width of the interval.

    >>> interval_half_width(4, 1.96)
    3.92
    """
    return confidence_quantile * sampling_variance**0.5


@formula("1")
def interval_low(sampled_value: Num, interval_half_width: Num) -> Num:
    """Lower end of the interval; no count is below zero.

    >>> interval_low(300, 3.92)
    296.08
    """
    return maximum(sampled_value - interval_half_width, 0)


@formula("1")
def interval_high(sampled_value: Num, interval_half_width: Num) -> Num:
    """Upper end of the interval."""
    return sampled_value + interval_half_width


@formula("1")
def relative_half_width(interval_half_width: Num, sampled_value: Num) -> Num:
    """Half the width of the interval over the estimate, to compare with the tolerance."""
    return interval_half_width / sampled_value


@formula("1")
def variance_allowed(sampling_tolerance: Num, sampled_value: Num, confidence_quantile: Num) -> Num:
    """Variance at which the confidence interval reaches the target width.

    >>> variance_allowed(0.005, 400, 2)
    1.0
    """
    return (sampling_tolerance * sampled_value / confidence_quantile) ** 2


@formula("1", source="cochran1977", where="ch. 5: the best division of draws among strata")
def rooted_cost(variance_per_draw: Num, cost_per_draw: Num) -> Num:
    """Root of variance times cost of one group.

    >>> rooted_cost(900, 4)
    60.0
    """
    return (variance_per_draw * cost_per_draw) ** 0.5


@formula("1", source="cochran1977", where="ch. 5: draws in proportion to the root of variance over cost")
def draws_planned(
    reading_margin: Num, variance_per_draw: Num, cost_per_draw: Num, rooted_costs_of_groups: Num, variance_allowed: Num
) -> Num:
    """Draws of one group of files with which all groups reach the target interval, for the fewest bytes read.

    >>> draws_planned(1, 900, 4, [60], 1)
    900.0
    """
    return reading_margin * (variance_per_draw / cost_per_draw) ** 0.5 * total(rooted_costs_of_groups) / variance_allowed


@formula("1", source="hanley1983", where="the exact form of three over n", high=1)
def unseen_share_high(risk: Num, draws: Num) -> Num:
    """Largest share of bytes that could be of a kind that no draw has shown.

    >>> round(unseen_share_high(0.05, 1000), 4)
    0.003
    """
    return 1 - minimum(risk, 1) ** (1 / maximum(draws, 1))
