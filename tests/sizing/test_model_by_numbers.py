"""A model by its numbers: any command answers as for a name, and the numbers add up."""

import pytest
from conftest import table
from hypothesis import given, settings
from hypothesis import strategies as st

import ingest
from ingest.architecture import describe
from ingest.errors import UsageError

PALM = {"parameters": "540e9", "layers": 118, "hidden_size": 18432}


def test_every_command_takes_a_structure_by_numbers():
    name = "layers=118 hidden_size=18432 parameters=540000000000"
    for command, more in (
        (ingest.bw, {"gpu": "h100", "nodes": 4}),
        (ingest.train, {"gpu": "h100", "gpus": 64, "tokens": "1T"}),
        (ingest.feed, {"gpu": "h100", "nodes": 2}),
        (ingest.checkpoint, {"gpus": 1024}),
        (ingest.memory, {"gpu": "h100", "sequence_length": 2048, "tensor_parallel": 8}),
        (ingest.offload, {"node": "dgx-h100"}),
        (ingest.offload, {"node": "dgx-h100", "inference": True}),
        (ingest.model, {}),
    ):
        by_set = command(set=PALM, **more)
        named = command(name, **more)
        assert by_set.results == named.results, command
        assert not [line for line in by_set.warnings if "changes nothing" in line]
        assert sum("attention_heads = 144" in line for line in by_set.warnings) == 1, command
    assert ingest.fit(set=PALM, gpu="h100", nodes=4, storage="ddn-ai400x2").results


def test_a_site_takes_a_structure_by_numbers():
    job = {"cluster": "main", "nodes": 16, "tokens": "1T", "checkpoint": {"mode": "async", "interval": "15 min", "keep": 3}}
    site = {"clusters": {"main": {"node": "dgx-h100", "count": 16}}, "storage": {"protection": {"replicas": 2}}}
    name = "layers=118 hidden_size=18432 parameters=540000000000"
    one, other = (ingest.plan({**site, "jobs": {"own": job | how}}, samples=0) for how in ({"set": PALM}, {"model": name}))
    lines = [{line.id: line.computed for line in plan.requirements} for plan in (one, other)]
    assert lines[0] == lines[1]
    assert lines[0]["R-RESTART-01"] == pytest.approx(14 * 540e9 / 120)


def test_a_sweep_over_the_size_of_a_model_names_the_models():
    with pytest.raises(UsageError, match="expected the models instead"):
        ingest.sweep(["layers=16,32"], gpu="h100", set={"hidden_size": 4096})
    by_name = ingest.sweep(["nodes=1,2"], model="layers=16 hidden_size=4096,layers=32 hidden_size=4096", gpu="h100").to_frame()
    rates = [*by_name["samples_per_second_per_gpu"]]
    assert rates[0] == rates[1] > 1.5 * rates[2] == 1.5 * rates[3]


def test_parameters_alone_train_and_say_what_is_not_counted():
    found = ingest.train(set={"parameters": "540e9", "goodput": 1}, gpu="h100", gpus=512, tokens="1e12", efficiency=0.4)
    assert found.results["gpu_hours"].value == pytest.approx(6 * 540e9 * 1e12 / (0.4 * 989.4e12) / 3600, rel=1e-3)
    assert any("attention is not counted" in line for line in found.warnings)
    # With a rate of the user's own, parameters stay what they were: a number on which no read depends.
    assert "model" not in ingest.bw(samples_per_second=1, sample_bytes=1e6, set={"parameters": 1e9}).to_dict()["inputs"]


@settings(max_examples=60, deadline=None)
@given(
    layers=st.integers(2, 200),
    width=st.integers(8, 160).map(lambda heads: heads * 128),
    wide=st.floats(1.05, 7.95),
    experts=st.sampled_from([0, 0, 4, 64]),
)
def test_drawn_numbers_add_up(layers, width, wide, experts):
    stated = round(layers * width**2 * (4 + 3 * wide * max(experts, 1)) + 128_256 * width)
    more = f" experts={experts}" if experts else ""
    made = describe(f"layers={layers} hidden_size={width} parameters={stated}{more}")
    assert made.parameters == stated
    assert (made.layers, made.hidden, made.heads) == (layers, width, width // 128)
    if experts:
        active = layers * width**2 * (4 + 3 * wide * 2) + 128_256 * width
        assert made.parameters_active == pytest.approx(active, rel=0.02)
    else:
        # Causal attention adds 6 · layers · width · length to the 6 FLOPs of each parameter: 12 for both products, halved.
        assert made.flops_per_token(4096) == pytest.approx(6 * stated + 6 * layers * width * 4096, rel=1e-3)


def test_what_numbers_leave_open_is_named():
    notes = describe("layers=32 hidden_size=4096 experts=8").notes
    assert notes == (
        "not given, so usual: attention_heads = 32, key_value_heads = 32, vocabulary = 128,256, experts_per_token = 2",
    )
    assert describe("layers=4 hidden_size=512 attention_heads=4 key_value_heads=2 vocabulary=1000").notes == ()


def test_a_decoder_without_parameters_has_twelve_squares_of_its_width():
    made = describe("layers=96 hidden_size=12288 vocabulary=50257")
    assert made.parameters == pytest.approx(12 * 96 * 12288**2 + 50257 * 12288, rel=1e-4)


@pytest.mark.parametrize(("numbers", "words"), table("sizing/refused.yaml")["numbers_that_no_decoder_has_are_refused"])
def test_numbers_that_no_decoder_has_are_refused(numbers, words):
    with pytest.raises(UsageError, match=words):
        describe(numbers)


@pytest.mark.parametrize(("width", "fits"), [(0.99, False), (1.01, True), (7.99, True), (8.01, False)])
def test_feed_forward_blocks_are_as_wide_as_published_ones(width, fits):
    # Without a vocabulary to speak of: 4 squares of attention, 3 of each width.
    numbers = f"layers=10 hidden_size=12800 vocabulary=1 parameters={round(10 * 12800**2 * (4 + 3 * width))}"
    if fits:
        assert describe(numbers).hidden == 12800
    else:
        with pytest.raises(UsageError, match="parameters"):
            describe(numbers)
