"""Read bandwidth that storage must deliver so that no GPU waits for data."""

from ingest.engine.registry import alternative, computed_quantities, computed_quantity, input_quantities

input_quantities(__file__)

MODEL = "ingest-site-model"

computed_quantities(__file__)
ingest_bandwidth_per_gpu = computed_quantity("ingest_bandwidth_per_gpu",
    "samples_per_second_per_gpu * bytes_read_per_sample", "B/s/GPU",
    "Bytes that storage must deliver each second to keep one GPU busy.", source="ibrahim2021", where="sec. III",
    label="read bandwidth per GPU")  # fmt: skip

alternative("gpus", "gpus_to_hold", when="fewest_gpus")
alternative("gpus", "gpus_of_one_node", when="one_node")

transferred_samples_per_second_per_gpu = computed_quantity("transferred_samples_per_second_per_gpu",
    "source_samples_per_second_per_gpu * transfer_ratio", "sample/s/GPU",
    "Training rate measured on another GPU, scaled to this one.", source="ingest-transfer-study",
    where="a measured rate times a ratio")  # fmt: skip
samples_per_second_per_gpu_in_steps = computed_quantity("samples_per_second_per_gpu_in_steps",
    "published_samples_per_second_per_gpu * (step_samples / (step_samples + half_speed_samples))"
    " / (published_step_samples / (published_step_samples + half_speed_samples)) / (gpus / published_gpus) ** size_loss",
    "sample/s/GPU",
    "Rate per GPU of a larger job: the time of a step is a fixed part and one that grows with the samples of a GPU.",
    source="ingest-rates", where="pairs of runs of one model on one GPU at two sizes: docs/accuracy.md",
    example="round(samples_per_second_per_gpu_in_steps(1.0, 0.125, 0.04, 1.0, 512, 8, 0.02), 3) -> 0.725")  # fmt: skip

for _name, _rows in {"zipf_sum_of_hot": "embedding_hot_rows", "zipf_sum_of_all": "embedding_rows"}.items():
    computed_quantity(_name,
        f"where((1 - zipf_exponent) ** 2 < 1e-12, log(maximum({_rows}, 1)), (maximum({_rows}, 1) ** (1 - zipf_exponent) - 1)"
        " / (1 - zipf_exponent + where((1 - zipf_exponent) ** 2 < 1e-12, 1, 0)))"
        f" + (1 + maximum({_rows}, 1) ** (0 - zipf_exponent)) / 2"
        f" + zipf_exponent / 12 * (1 - maximum({_rows}, 1) ** (0 - zipf_exponent - 1))", "1",
        "Reads of so many embedding rows, in those of the first: the sum of rank^−s.", source="arithmetic",
        where="Euler-Maclaurin, to the second term", needs=f"zipf_exponent {_rows}",
        example=f"round({_name}(1.0, 1000), 2), round({_name}(0.5, 1000), 1) -> (7.49, 61.8)")  # fmt: skip
