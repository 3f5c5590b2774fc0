"""Values that a user gives against the range that their quantity declares."""

import re

import pytest

import ingest
from ingest.engine.messages import rule_of
from ingest.engine.registry import FORMULAS, INPUTS, check_value
from ingest.errors import UsageError

TEXT = {"tokens": "15T", "bytes_per_token": 4}
IMPOSSIBLE = [
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "checkpoint_stall_fraction=5"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "restart_waste=5"),
    (ingest.checkpoint, {"model": "llama3-8b"}, "gpus=0.5"),
    (ingest.checkpoint, {"model": "llama3-8b"}, "gpus=1e-9"),
    (ingest.dataset, {"corpus": "fineweb", "pipeline": "fineweb"}, "pipeline_output_share=5"),
    (ingest.dataset, TEXT, "dataset_bytes=5 B"),
    (ingest.dataset, TEXT, "dataset_files=0.001"),
    (ingest.dataset, TEXT, "mdts=1e-6"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64}, "checkpoints_retained=0.5"),
    (ingest.memory, {"model": "llama3-8b"}, "nodes_to_hold=0.001"),
    (ingest.offload, {"model": "llama3-8b", "gpu": "h100"}, "offload_efficiency=5"),
    (ingest.bw, {"model": "cosmoflow", "gpu": "h100"}, "sample_bytes=0.5 B"),
]


@pytest.mark.parametrize(("command", "options", "setting"), IMPOSSIBLE)
def test_an_impossible_value_is_refused(command, options, setting):
    with pytest.raises(UsageError, match=rf"{setting.partition('=')[0]}.*: found .*, expected a (whole )?number (above|from)"):
        command(**options, set=[setting])


SAVED = {"model": "llama3-8b", "gpus": 64}
RUN = {"model": "llama3-8b", "tokens": "1T", "gpu": "h100", "gpus": 64}
#: A result that is set far from what the other inputs give, and one that is set near.
DEPARTURES = [
    (ingest.dataset, TEXT, "clean_bytes=5 B", "clean_bytes=6.1TB"),
    (ingest.dataset, TEXT, "tokenized_bytes=5 B", "tokenized_bytes=590TB"),
    (ingest.dataset, TEXT, "usable_bytes=5 B", "usable_bytes=100TB"),
    (ingest.checkpoint, SAVED, "checkpoint_bytes=5 B", "checkpoint_bytes=50GB"),
    (ingest.checkpoint, SAVED, "checkpoint_retained_bytes=1 B", "checkpoint_retained_bytes=1TB"),
    (ingest.memory, {"model": "llama3-70b"}, "gpus_to_hold=1", "gpus_to_hold=16"),
    (ingest.train, RUN, "training_seconds=1 s", "training_seconds=30day"),
    (ingest.model, {"source": "llama3-8b"}, "weights_bytes=5 B", "weights_bytes=17GB"),
    (ingest.offload, {"model": "llama3-8b", "gpu": "h100"}, "step_seconds=1e9 s", "step_seconds=1 s"),
]


def departures(command, options, *settings):
    return [line for line in command(**options, set=settings).warnings if rule_of(line) == "W28"]


@pytest.mark.parametrize(("command", "options", "far", "near"), DEPARTURES)
def test_a_result_that_contradicts_the_other_inputs_is_named(command, options, far, near):
    (line,) = departures(command, options, far)
    assert re.match(rf"--set {far.partition('=')[0]}: found .*, but the other inputs give .*: results that rest", line)
    assert departures(command, options, near) == []


def test_results_that_are_set_are_held_against_the_rest():
    job, rate = {"model": "cosmoflow", "gpu": "h100"}, "samples_per_second_per_gpu=7"
    (line,) = departures(ingest.bw, job, rate, "ingest_bandwidth_per_gpu=1GB/s")
    assert "found 1 GB/s, but the other inputs give 19.8 MB/s" in line
    assert departures(ingest.bw, job, rate, "ingest_bandwidth_per_gpu=20MB/s") == []
    # An interval is a choice and contradicts nothing.
    assert departures(ingest.checkpoint, SAVED, "checkpoint_interval=1day") == []
    kept = ingest.checkpoint(**SAVED).results["checkpoint_retained_bytes"].value
    for capacity, fired in ((kept * 0.99, True), (kept * 1.01, False)):
        assert any(rule_of(line) == "W29" for line in ingest.checkpoint(**SAVED, tier_capacity=capacity).warnings) is fired
    assert ingest.dataset(**TEXT, documents="15T").results["documents"].value == 15e12
    with pytest.raises(UsageError, match=r"^--documents: found .*, expected at most one for each of the 15,000"):
        ingest.dataset(**TEXT, documents="16T")
    with pytest.raises(UsageError, match=r"^--raw-bytes: found with --tokens, expected one of them"):
        ingest.dataset(**TEXT, raw_bytes="1TB")


TWICE = [
    (ingest.bw, {"model": "cosmoflow", "gpu": "h100", "set": ["nodes=2", "nodes = 5"]}, "--set: nodes"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64, "keep": "last=3,last=5"}, "--keep: last"),
    (ingest.checkpoint, {"model": "llama3-8b", "gpus": 64, "keep": "3,last=5"}, "--keep: last"),
    (ingest.dataset, {**TEXT, "copies": "dataset=3,dataset=1"}, "--copies: dataset"),
]


@pytest.mark.parametrize(("command", "options", "what"), TWICE)
def test_nothing_is_given_twice(command, options, what):
    with pytest.raises(UsageError, match=rf"^{what} is given more than once, expected it once$"):
        command(**options)


def test_storage_and_declared_quantities_keep_their_ranges():
    with pytest.raises(UsageError, match="usable_share: found 5, expected a number above 0 up to 1"):
        ingest.fit(storage="all", read_bandwidth="1 TB/s", capacity="1 PB", set=["usable_share=5"])
    bounded = {name: one for table in (FORMULAS, INPUTS) for name, one in table.items() if one.high < float("inf")}
    assert len(bounded) > 80
    for name, one in bounded.items():
        with pytest.raises(UsageError, match="expected"):
            check_value(name, one.high * 1.001 + 0.001)


#: A share of a whole; what such a name means beyond 1 is under `BEYOND_ONE`.
SHARE = re.compile(r"(^|_)(share|fraction|efficiency|utilization|overhead|duty|coverage|probability|delivery|hit|goodput)(_|$)")
BEYOND_ONE = {
    "share_of_own_parts": "a line may ask for more than its own parts: rounding and headroom",
    "storage_nic_share": "above 1 the NIC is the bottleneck",
    "embedding_nic_share": "W103 names row reads beyond the NICs",
    "guidance_share": "reads may exceed the guidance",
    "client_share": "above 1 one client does not suffice",
    "lowest_second_share": "a rate may exceed what is required",
    "implied_flops_utilization": "W02 names rates beyond the peak",
    "memory_filled_share": "above 1 it does not fit",
    **dict.fromkeys(("dataset_overhead_share", "overhead_with_objects"), "a format may add many times its payload"),
    "goodput_gain_share": "of time, for each GB/s: no part of a whole",
    "first_stage_share": "the first stage holds layers in flight of several micro-batches",
    "last_stage_share": "micro-batches in flight times a share of the layers",
    "stored_share": "a container may be larger than its text",
    "tokenized_share": "ids may be larger than compressed text",
    "extracted_share": "the raw input may be compressed",
    "nvme_write_share": "a drive may write faster than it reads",
    "streaming_efficiency": "the published bandwidth of a drive may be exceeded",
    "scaling_efficiency": "a larger job may be faster per GPU, its data in the caches",
    "intermediate_share": "intermediate files may exceed their origin",
    **dict.fromkeys(("sync_share", "network_sync_share", "version_latency_share"), "above 1 hosts fall behind"),
    "kept_share": "data may grow by a step of preparation",
}
#: Things that come whole, by unit, and those of the unit 1 by name; whatever does not is under `IN_PARTS`.
COUNTED = ("file", "node", "GPU", "GPU/node", "file/GPU")
COUNT = re.compile(r"^(checkpoints|drives|units|metadata_servers|local_drives|mdts|clients|file_systems)(_|$)")
IN_PARTS = {
    **dict.fromkeys((f"concurrent_gpus_{level}" for level in ("mean", "p50", "p95", "p99", "max")), "slices of GPUs"),
    **dict.fromkeys(("gpus_fed", "gpus_fed_by_unit"), "the fraction is headroom"),
    "gpus_gained": "a rate of change",
    "kv_gpus_spared": "a mean over time",
    **dict.fromkeys(("folders_read", "fewest_folders_read"), "a mean over the clients"),
    **dict.fromkeys(
        ("load_nodes", "nodes_taking_part", "line_clients", "line_nodes", "writing_nodes"), "a mean where jobs alternate"
    ),
    "nodes_on_average": "a mean over time",
    **dict.fromkeys(("file_opens_per_epoch", "file_opens"), "a mean number of opens of each file"),
    "opens": "scaled from a window",
    **dict.fromkeys(
        ("most_metadata_files", "files_needed", "data_files", "dataset_files_held", "year_files", "site_files"),
        "files of a plan, which grow by a factor",
    ),
    "file_counts": "a column",
    "local_drives_load": "a ratio",
    "replica_nodes": "a part of a node where several replicas share it",
}


def declared():
    return {**FORMULAS, **INPUTS}


def test_shares_end_at_one_and_counts_are_whole():
    # A new share without a bound fails here: bound it, or say above what a share of that name may exceed 1.
    open_ = {name for name, one in declared().items() if one.unit == "1" and SHARE.search(name) and one.high > 1}
    assert open_ == set(BEYOND_ONE)
    counts = {name: one for name, one in declared().items() if one.unit in COUNTED or (one.unit == "1" and COUNT.search(name))}
    parts = {name for name, one in counts.items() if not one.whole and one.high > 1 and "_of_" not in name}
    assert parts == set(IN_PARTS)


def test_a_plan_compares_the_results_that_its_jobs_and_checkpoints_set():
    """As the commands do: a save of 16 GPUs that is 1/200 of the model, a read ten thousand times below its rate."""

    def warned(**job):
        described = {"cluster": "main", "nodes": 2, "model": "resnet50", **job}
        site = {"clusters": {"main": {"node": "dgx-h100", "count": 2}}, "jobs": {"a": described}}
        return [str(line) for line in ingest.plan(site, samples=0).warnings if rule_of(line) == "W28"]

    saves = {"interval": "30 min", "model": "llama-3.1-8b"}
    assert warned(checkpoint=saves) == []
    (line,) = warned(checkpoint=saves | {"set": {"checkpoint_bytes": "500 MB"}})
    assert line.startswith("a: checkpoint_bytes: found 500 MB, but the other inputs give 96.36 GB")
    (line,) = warned(set={"run_read_bandwidth": "100 kB/s"})
    assert line.startswith("a: run_read_bandwidth: found 100 kB/s, but the other inputs give 3.276 GB/s")
    assert warned(set={"run_read_bandwidth": "5 GB/s"}) == []
