"""Inverse questions answer as the forward ones: what they find fits, and the next larger does not."""

import random

import pytest
from conftest import seeds

import ingest
from ingest.errors import UsageError
from ingest.sizing.memory_search import largest
from ingest.sizing.train import SIZE_STEP


def drawn_machine(draw):
    """A question about memory or offload, and the numbers that its model has in common."""
    experts = draw.choice([{}, {}, {"experts": 8}])
    shape = draw.choice([{}, {"hidden_size": 1024 * draw.randint(4, 12)}, {"layers": draw.randint(2, 80)}]) | experts
    if draw.random() < 0.5:
        tensor, gpus = draw.choice([1, 2, 8]), 8 * draw.randint(1, 64)
        asked = {"gpu": draw.choice(["h100", "a100", "b200"]), "gpus": gpus, "tensor_parallel": tensor}
        if draw.random() < 0.5:
            asked |= {"sequence_length": draw.choice([1024, 8192]), "recompute": draw.choice(["none", "full"])}
        asked |= draw.choice([{}, {"offload": "cpu"}, {"offload": "nvme"}])
        return ingest.memory, asked, shape, tensor
    asked = {"node": draw.choice(["dgx-a100", "dgx-h100"]), "nodes": draw.randint(1, 4)}
    return ingest.offload, asked | draw.choice([{}, {"inference": True, "batch": 4}]), shape, 1


@pytest.mark.parametrize("seed", seeds(20, 170))
def test_the_largest_model_fits_and_the_next_does_not(seed):
    question, asked, shape, step = drawn_machine(random.Random(seed))
    try:
        found = question(largest=True, set=shape, **asked)
    except UsageError as error:
        if "no model of this shape fits" not in str(error) and "set a larger hidden_size" not in str(error):
            raise
        return
    fits, next_one = found.tables["largest"]
    assert [fits["fits"], next_one["fits"]] == ["yes", "no"]
    assert {next_one[name] - fits[name] for name in ("layers", "hidden_size") if name not in shape} <= {step, 128 * step}
    for row in (fits, next_one):
        # Forward, the model is that of the row, by its numbers alone.
        one = {name: row[name] for name in ("layers", "hidden_size")} | {k: v for k, v in shape.items() if k == "experts"}
        answer = question(set=one, **asked)
        assert ingest.model(set=one).results["parameters"].value == row["parameters"]
        shared = answer.known.value("storage_tier_bytes") if question is ingest.offload else 0
        beyond = any("of offloaded states, but the" in line for line in answer.warnings)
        assert (not answer.unmet and not shared and not beyond) is (row["fits"] == "yes")


def test_what_the_largest_model_offloads_fits_its_host():
    fits, next_one = ingest.memory(largest=True, gpu="h100", gpus=8, offload="cpu").tables["largest"]
    # 2.048 TB of a DGX H100 hold all but the 2 B of the weights at work.
    assert 16 * fits["parameters"] <= 2.048e12 < 16 * next_one["parameters"]
    with pytest.raises(UsageError, match="host memory of a node is not known"):
        ingest.memory(largest=True, gpu="rtx4090", gpus=8, offload="cpu")


@pytest.mark.parametrize("seed", seeds(4, 30))
def test_the_model_of_a_budget_takes_it_and_the_next_takes_more(seed):
    draw = random.Random(seed)
    budget = round(10 ** draw.uniform(2, 7))
    asked = {"gpu": draw.choice(["h100", "a100", "tpu-v5p"]), "gpus": 8 * draw.randint(1, 256), "set": {"goodput": 0.9}}
    found = ingest.train(optimal=True, budget=budget, **asked)
    assert len(found.tables["laws"]) == 2
    for row, law in zip(found.tables["laws"], (lambda size: 20 * size, by_loss), strict=True):
        assert row["training_tokens"] == pytest.approx(law(row["parameters"]), rel=1e-6)
        for size, fits in ((row["parameters"], True), (row["parameters"] + SIZE_STEP, False)):
            numbers = {"goodput": 0.9, "parameters": size}
            forward = ingest.train(tokens=round(law(size)), **{**asked, "set": numbers})
            assert (forward.results["gpu_hours"].value <= budget) is fits
    assert found.results["gpu_hours"].value == found.tables["laws"][0]["gpu_hours"]


def test_sizes_of_a_budget_are_whole_millions():
    rows = ingest.train(optimal=True, budget=1000, gpu="h100", gpus=8, efficiency=0.4, set={"goodput": 1}).tables["laws"]
    # 6·N·20·N FLOP at 0.4 of 989.4 TFLOP/s for 1,000 hours.
    assert rows[0]["parameters"] == (1000 * 3600 * 0.4 * 989.4e12 / 120) ** 0.5 // 1e6 * 1e6
    assert rows[0]["parameters"] // 1_000_000 % 2 == 1


def by_loss(size):
    """Besiroglu et al. 2024 by hand: αA·N^−α = βB·D^−β."""
    return (0.3658 * 2085.43 / (0.3478 * 482.01) * size**0.3478) ** (1 / 0.3658)


def test_tokens_of_a_model_by_both_laws():
    first, second = ingest.train("llama3-8b", optimal=True, gpu="h100", gpus=64).tables["laws"]
    assert first["training_tokens"] == 20 * 8_030_261_248
    assert second["training_tokens"] == pytest.approx(by_loss(8_030_261_248), rel=1e-9)
    assert first["gpu_hours"] < second["gpu_hours"]


def test_the_largest_size_is_the_last_that_fits():
    assert [largest(lambda size, most=most: size <= most, 8) for most in (7, 8, 15, 16, 1000)] == [0, 8, 8, 16, 1000]


def test_a_dearer_machine_gives_less_for_its_price():
    asked = {"gpu": "a100-40-sxm", "gpus": 1, "inference": True, "batch": 8, "parameters": "cpu"}
    one, double = (ingest.offload("opt-66b", price=price, **asked).results for price in (10_000, 20_000))
    assert one["tokens_per_second_per_price"].value == one["tokens_per_second"].value / 10_000
    assert double["tokens_per_second_per_price"].value == one["tokens_per_second_per_price"].value / 2
    assert "tokens_per_second_per_price" not in ingest.offload("opt-66b", **asked).results


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda: ingest.memory(largest=True, gpu="h100"), "expected --gpus"),
        (lambda: ingest.memory("llama3-8b", largest=True, gpus=8), "neither a model"),
        (lambda: ingest.memory(largest=True, gpus=8, set={"parameters": 1e9}), "its layers or its width alone"),
        (lambda: ingest.offload("llama3-8b", largest=True), "neither a model"),
        (lambda: ingest.train("llama3-8b", optimal=True, budget=1e6, gpu="h100", gpus=8), "either a model or --budget"),
        (lambda: ingest.train(optimal=True, gpu="h100", gpus=8), "either a model or --budget"),
        (lambda: ingest.train("llama3-8b", optimal=True, tokens="1T", gpu="h100", gpus=8), "expected neither"),
        (lambda: ingest.train("mixtral-8x7b", optimal=True, gpu="h100", gpus=64), "dense models"),
        (lambda: ingest.train(budget=1e6, gpu="h100", gpus=8), "without --optimal"),
        (lambda: ingest.train(optimal=True, budget=1e-6, gpu="h100", gpus=8), "less than a model"),
        (lambda: ingest.offload("llama3-8b", price=3), "expected with"),
    ],
)
def test_inverse_questions_that_have_no_answer(question, words):
    with pytest.raises(UsageError, match=words):
        question()
