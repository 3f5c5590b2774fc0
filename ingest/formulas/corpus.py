"""A corpus of text: its size on storage, as text and as tokens, and estimates from a sample with their intervals."""

from ingest.engine.registry import computed_quantities, computed_quantity, input_quantities

input_quantities(__file__)
computed_quantities(__file__)

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
