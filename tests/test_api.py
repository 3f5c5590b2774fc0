"""Each command as a Python function: the same names, the same answers."""

import pytest

import ingest
from ingest.errors import IngestError, UsageError


def test_commands_are_functions(run):
    # Every command is a function of the same name.
    assert {"bw", "explain", "sweep", "validate"} <= set(ingest.__all__)
    assert all(callable(getattr(ingest, name)) for name in ("bw", "explain", "sweep", "validate"))
    # An unknown name is an attribute error.
    with pytest.raises(AttributeError, match="bandwidth"):
        ingest.bandwidth  # noqa: B018  reading it is the test
    # Function and command give the same object.
    options = {"model": "cosmoflow", "gpu": "h100", "nodes": 128, "protocol": "mlperf-storage", "utilization": "70%"}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    assert run("bw", *words, "--format", "json").data == ingest.bw(**options).to_dict()


@pytest.mark.parametrize(
    ("option", "written", "base"),
    [
        ("sample_bytes", "16 MiB", 16 * 2**20),
        ("achieved", "35 TFLOP/s", 35e12),
        ("flops_per_sample", "247 GFLOP", 247e9),
        ("utilization", "70 %", 0.7),
        ("cache_hit", "50%", 0.5),
        ("nodes", "128", 128),
        ("samples_per_second", "310 samples/s", 310),
    ],
)
def test_written_and_bare_numbers_are_the_same(option, written, base):
    common = {"model": "cosmoflow", "gpu": "h100"}
    assert ingest.bw(**common, **{option: written}).to_dict() == ingest.bw(**common, **{option: base}).to_dict()


@pytest.mark.parametrize("given", [{"samples_per_second_per_gpu": 310}, ["samples_per_second_per_gpu=310 samples/s"]])
def test_set_takes_a_mapping_or_the_words_of_the_command_line(given):
    answer = ingest.bw(model="cosmoflow", gpu="h100", set=given)
    assert answer.results["samples_per_second_per_gpu"].value == 310


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"nodes": "1,8,128"}, [("cosmoflow", "h100-sxm", n) for n in (1, 8, 128)]),
        ({"nodes": [1, 8]}, [("cosmoflow", "h100-sxm", n) for n in (1, 8)]),
        ({"nodes": "1..4*2"}, [("cosmoflow", "h100-sxm", n) for n in (1, 2, 4)]),
        ({"gpu": "h100,a100", "nodes": 1}, [("cosmoflow", "h100-sxm", 1), ("cosmoflow", "a100-80-sxm", 1)]),
        ({"model": ["cosmoflow", "unet3d"], "nodes": 1}, [("cosmoflow", "h100-sxm", 1), ("unet3d", "h100-sxm", 1)]),
    ],
)
def test_lists_give_scenarios_in_order(options, asked):
    answer = ingest.bw(**{"model": "cosmoflow", "gpu": "h100", **options})
    found = [(one.model.id, one.gpu.id, one.nodes) for one in answer.scenarios]
    assert found == asked
    assert [one["schema"] for one in answer.to_dict()["scenarios"]] == ["ingest/1"] * len(asked)


def test_a_list_of_one_is_one_answer():
    assert ingest.bw(model="cosmoflow", gpu="h100", nodes="8").command == "bw"


def test_frames_hold_base_units():
    frame = ingest.bw(model="resnet50", gpu="h100", nodes=2).to_frame()
    assert frame.loc["ingest_bandwidth_per_gpu", "unit"] == "B/s/GPU"
    assert frame.loc["gpus", "value"] == 16
    many = ingest.bw(model="resnet50", gpu="h100,b200", nodes="1,2").to_frame()["value"]
    assert many.xs("gpus", level=-1).to_dict() == {
        ("resnet50", gpu, nodes): 8.0 * nodes for gpu in ("h100-sxm", "b200") for nodes in (1, 2)
    }


def test_what_a_function_refuses():
    # Refusals are ingest errors with their exit code.
    with pytest.raises(UsageError) as usage:
        ingest.bw(model="cosmflow", gpu="h100")
    with pytest.raises(IngestError) as fact:
        ingest.bw(model="openfold", gpu="h100", basis="peak")
    assert (usage.value.exit_code, fact.value.exit_code) == (2, 1)
    # A misspelt option is pythons own error.
    with pytest.raises(TypeError, match="gpuss"):
        ingest.bw(model="cosmoflow", gpuss=8)
    # More scenarios than one can read are refused.
    with pytest.raises(UsageError, match="nodes"):
        ingest.bw(model="cosmoflow", gpu="h100", nodes="1..1000000")


def test_a_gpu_comes_second_by_its_place():
    for command, more in ((ingest.checkpoint, {}), (ingest.goodput, {"runs": 2}), (ingest.fit, {"storage": "nfs-tcp"})):
        by_place, by_name = command("llama3-8b", "h100", gpus=8, **more), command("llama3-8b", gpu="h100", gpus=8, **more)
        assert by_place.to_dict()["results"] == by_name.to_dict()["results"]
    with pytest.raises(TypeError, match="multiple values for argument 'gpu'"):
        ingest.checkpoint("llama3-8b", "h100", gpu="h100")


def test_a_result_is_a_number_and_a_refusal_has_a_name():
    found = ingest.bw("cosmoflow", "h100", nodes=128)["ingest_bandwidth_per_job"]
    assert float(found) == found.value
    with pytest.raises(ingest.IngestError, match="did you mean 'cosmoflow'"):
        ingest.bw("cosmofolw", "h100")
