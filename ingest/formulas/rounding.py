"""Numbers that people write: the value of a requirement line, rounded towards the stricter side; a result set by its user."""

from ingest.engine.registry import computed_quantity, input_quantities

input_quantities(__file__)

computed_quantity("rounded_requirement",
    "round_up(computed_requirement * (1 - 1e-9), minimum(significant_digits, 15)"
    " - 1 - floor(log10(maximum(computed_requirement * (1 - 1e-9), 1e-9))))", "1",
    "Value of a requirement line, rounded up to significant digits; an excess of 1e-9, the noise of binary numbers, is none.",
    label="rounded value of a requirement",
    example="rounded_requirement(301.2e9, 3), rounded_requirement(302_000_000_000.0001, 3), rounded_requirement(1_835_501, 2)"
        " -> (302000000000.0, 302000000000.0, 1900000.0)")  # fmt: skip
computed_quantity("limited_requirement", "minimum(rounded_requirement, requirement_limit)", "1",
    "Value of a requirement line, rounded up and then held to the most that the line may demand.",
    label="limited value of a requirement")  # fmt: skip
computed_quantity("departure", "maximum(stated_result / computed_result, computed_result / stated_result)", "1",
    "How many times a result that a user sets lies above or below the one that the other inputs give.",
    label="departure of a result that is set", example="departure(5, 60), departure(60, 5) -> (12.0, 12.0)")  # fmt: skip
