"""A corpus of text: its size on storage, as text and as tokens, and estimates from a sample with their intervals."""

from ingest.engine.registry import alternative, computed_quantity, input_quantity

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
input_quantity("unreadable_bytes", "B", "Stored bytes of files that are left out: they hold no readable text.", above=False)
input_quantity("documents", "document", "Documents: lines, rows, members or files, by format.", above=False, whole=True)
alternative("documents", "documents_by_length", when="length_of_documents_known")

computed_quantity("bytes_per_token", "corpus_bytes / tokens", "B/token",
    "Text bytes that one token stands for: totals over totals, never a mean of ratios.", low=0.1, high=65_536,
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

# Sizes of samples that differ: classes, in each of which they are spread evenly
input_quantity("class_share", "1", "Share of the samples whose sizes are in one class.", high=1)
input_quantity("class_low_bytes", "B", "Smallest sample of a class of sizes.", above=False,
    label="smallest sample of a class")  # fmt: skip
input_quantity("class_high_bytes", "B", "Largest sample of a class of sizes.", above=False,
    label="largest sample of a class")  # fmt: skip
input_quantity("largest_request_bytes", "B", "Largest read request, into several of which larger samples are split.")
input_quantity("class_bytes_of_sizes", "B", "Column class_bytes of all classes of sizes.", above=False)
input_quantity("class_requests_of_sizes", "1", "Column class_requests of all classes of sizes.", above=False)
input_quantity("class_small_share_of_sizes", "1", "Column class_small_share of all classes of sizes.", above=False,
    high=1)  # fmt: skip
input_quantity("class_padding_of_sizes", "B", "Column class_padding of all classes of sizes.", above=False)
input_quantity("least_width", "B", "Width of a class of equal sizes.", default=1e-9)
computed_quantity("class_bytes", "class_share * (class_low_bytes + class_high_bytes) / 2", "B",
    "Part of a class in the mean size of a sample.", example="class_bytes(0.5, 1e6, 3e6) -> 1000000.0")  # fmt: skip
computed_quantity("class_requests", "class_share * (1 + where(class_high_bytes > class_low_bytes,"
    " (maximum(class_high_bytes - largest_request_bytes, 0) ** 2 - maximum(class_low_bytes - largest_request_bytes, 0) ** 2)"
    " / (2 * largest_request_bytes * maximum(class_high_bytes - class_low_bytes, least_width)),"
    " maximum(class_low_bytes / largest_request_bytes - 1, 0)))", "1",
    "Part of a class in the requests of a sample: one, and what is beyond the largest request in shares of one.",
    needs="class_share class_low_bytes class_high_bytes largest_request_bytes least_width", source="arithmetic",
    where="mean of max(1, size ÷ request) over sizes that are spread evenly",
    example="class_requests(0.5, 3e6, 3e6, 1e6, 1e-9), class_requests(1, 0.5e6, 1.5e6, 1e6, 1e-9) -> (1.5, 1.125)")  # fmt: skip
computed_quantity("class_small_share", "class_share * minimum(maximum(largest_request_bytes - class_low_bytes, 0)"
    " / maximum(class_high_bytes - class_low_bytes, least_width), 1)", "1",
    "Part of a class in the samples that are smaller than the largest request.", high=1,
    needs="class_share class_low_bytes class_high_bytes largest_request_bytes least_width",
    example="class_small_share(0.5, 1e6, 3e6, 2e6, 1e-9), class_small_share(0.5, 1e6, 1e6, 1e6, 1e-9)"
    " -> (0.25, 0.0)")  # fmt: skip
computed_quantity("padded_low_bytes", "ceil(class_low_bytes * member_scale / member_quantum) * member_quantum", "B",
    "Smallest member of a class with its padding.", example="padded_low_bytes(3000, 1, 512) -> 3072")  # fmt: skip
computed_quantity("padded_high_bytes", "ceil(class_high_bytes * member_scale / member_quantum) * member_quantum", "B",
    "Largest member of a class with its padding.", example="padded_high_bytes(3000, 1, 512) -> 3072")  # fmt: skip
computed_quantity("class_padding", "class_share * (where(class_high_bytes > class_low_bytes,"
    " (padded_high_bytes * (class_high_bytes * member_scale - (padded_high_bytes - member_quantum) / 2)"
    " - padded_low_bytes * (class_low_bytes * member_scale - (padded_low_bytes - member_quantum) / 2))"
    " / (maximum(class_high_bytes - class_low_bytes, least_width) * member_scale), padded_low_bytes)"
    " - (class_low_bytes + class_high_bytes) * member_scale / 2)", "B", "Part of a class in the mean padding of a member.",
    source="arithmetic", above=False, where="integral of the padded size over sizes that are spread evenly",
    example="class_padding(1, 3000, 3000, 3072, 1, 512, 3072, 1e-9), class_padding(1, 1024, 512, 1024, 1, 512, 512, 1e-9)"
    " -> (72.0, 256.0)")  # fmt: skip
computed_quantity("requests_per_sample", "total(class_requests_of_sizes)", "1",
    "Read requests of one sample, where each lies in a file of its own.", label="read requests per sample")  # fmt: skip
computed_quantity("small_file_share", "total(class_small_share_of_sizes)", "1",
    "Share of the samples that are smaller than the largest read request.", label="share of small files", high=1,
    above=False)  # fmt: skip
computed_quantity("padding_of_mixed_sizes", "total(class_padding_of_sizes)", "B",
    "Mean padding of members of a known mix of sizes.")  # fmt: skip
computed_quantity("request_of_sizes", "sample_bytes * one_sample / requests_per_sample", "B",
    "Mean read request where each sample lies in a file of its own: bytes over requests.",
    label="mean read request over all sizes", example="request_of_sizes(1.2e6, 1, 1.5) -> 800000.0")  # fmt: skip
computed_quantity("sample_reads_per_second_per_job",
    "samples_per_second_per_job / one_sample * requests_per_sample * (1 - cache_hit_fraction)", "1/s",
    "Read requests of the whole job in a second.", label="read requests per job",
    example="sample_reads_per_second_per_job(100, 1, 1.5, 0.5) -> 75.0")  # fmt: skip

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

sampled_density = computed_quantity("sampled_density", "total(drawn_densities) / draws", "1/B",
    "Mean over draws in which every stored byte is as likely as another; unbiased whatever the sizes of the files.",
    source="hansen1943", where="draws with probability proportional to size, with replacement",
    example="sampled_density([0.25, 0.35], 2) -> 0.3")  # fmt: skip
sampled_total = computed_quantity("sampled_total", "frame_bytes * sampled_density", "1",
    "Total of the whole corpus.", source="hansen1943",
    where="draws with probability proportional to size, with replacement")  # fmt: skip
pair_variances = computed_quantity("pair_variances", "(frame_bytes * pair_differences / draws) ** 2", "1",
    "Contribution of each stratum to the variance of the total; unbiased, because its two draws are independent.",
    source="cochran1977", where="ch. 5, strata of equal weight with two draws: W²·s²/2, where s² = d²/2",
    example="pair_variances(1_000, 0.1, 2) -> 2500.0")  # fmt: skip
sampling_variance = computed_quantity("sampling_variance", "total(variances_of_pairs)", "1",
    "Variance of an estimate.", source="cochran1977",
    where="ch. 5: strata are drawn independently, so that variances add")  # fmt: skip
degrees_of_freedom = computed_quantity("degrees_of_freedom",
    "maximum(3 * total(variances_of_pairs) ** 2 / total(variances_of_pairs * variances_of_pairs) - 2, 1)", "1",
    "Degrees of freedom of a variance summed over pairs: the number of pairs, fewer where some of them dominate.",
    source="satterthwaite1946", where="2·V²/var(V); one degree each, so E(v²) is three times (E v)²",
    example="degrees_of_freedom(3.0) -> 1.0")  # fmt: skip
ratio_residuals = computed_quantity("ratio_residuals", "(drawn_densities - ratio_guess * base_densities) / ratio_base", "1/B",
    "Influence of each draw, per stored byte, on a ratio of two totals.", source="cochran1977",
    where="ch. 6: the ratio estimator, linearized",
    example="ratio_residuals(1.0, 4.0, 0.3, 1_000) * 1_000 -> -0.2")  # fmt: skip
interval_half_width = computed_quantity("interval_half_width", "confidence_quantile * sampling_variance**0.5", "1",
    "Half the width of the interval.", needs="sampling_variance confidence_quantile",
    example="interval_half_width(4, 1.96) -> 3.92")  # fmt: skip
interval_low = computed_quantity("interval_low", "maximum(sampled_value - interval_half_width, 0)", "1",
    "Lower end of the interval; no count is below zero.", example="interval_low(300, 3.92) -> 296.08")  # fmt: skip
interval_high = computed_quantity("interval_high", "sampled_value + interval_half_width", "1", "Upper end of the interval.")
relative_half_width = computed_quantity("relative_half_width", "interval_half_width / sampled_value", "1",
    "Half the width of the interval over the estimate, to compare with the tolerance.")  # fmt: skip
variance_allowed = computed_quantity("variance_allowed", "(sampling_tolerance * sampled_value / confidence_quantile) ** 2", "1",
    "Variance at which the confidence interval reaches the target width.",
    example="variance_allowed(0.005, 400, 2) -> 1.0")  # fmt: skip
rooted_cost = computed_quantity("rooted_cost", "(variance_per_draw * cost_per_draw) ** 0.5", "1",
    "Root of variance times cost of one group.", source="cochran1977", where="ch. 5: the best division of draws among strata",
    example="rooted_cost(900, 4) -> 60.0")  # fmt: skip
draws_planned = computed_quantity("draws_planned",
    "reading_margin * (variance_per_draw / cost_per_draw) ** 0.5 * total(rooted_costs_of_groups) / variance_allowed", "1",
    "Draws of one group of files with which all groups reach the target interval, for the fewest bytes read.",
    source="cochran1977", where="ch. 5: draws in proportion to the root of variance over cost",
    example="draws_planned(1, 900, 4, [60], 1) -> 900.0")  # fmt: skip
unseen_share_high = computed_quantity("unseen_share_high", "1 - minimum(risk, 1) ** (1 / maximum(draws, 1))", "1",
    "Largest share of bytes that could be of a kind that no draw has shown.", source="hanley1983",
    where="the exact form of three over n", high=1, example="round(unseen_share_high(0.05, 1000), 4) -> 0.003")  # fmt: skip
