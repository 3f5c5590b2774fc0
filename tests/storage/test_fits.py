"""`fit` on real questions: the cases of the notes and of MLPerf Storage, properties, refusals, and every output form."""

import re
from contextlib import suppress
from itertools import product

import pytest
from conftest import CATALOG, first, table

import ingest
from ingest.catalog.records import STORAGE_CLASSES, Model, Storage
from ingest.errors import IngestError, UsageError
from ingest.reports.page import answer_line
from ingest.storage.fit import COMPARED
from ingest.storage.fit_result import OPEN, SO_FAR, UNKNOWN, VERDICTS

EIGHT_V100 = {"model": "cosmoflow", "gpu": "v100-sxm2", "nodes": 1, "gpus_per_node": 8}
V100 = EIGHT_V100 | {"sample_bytes": "16 MB", "cache_hit": 0}
FED = {
    "model": "unet3d", "gpu": "h100-sxm", "protocol": "mlperf-storage", "utilization": 0.9, "storage": "ddn-ai400x2t",
    "no_spare": True, "cache_hit": 0,
}  # fmt: skip
MONEY = {"read_bandwidth": "500 GB/s", "write_bandwidth": "300 GB/s", "capacity": "1 PB"}


@pytest.fixture
def command(run):
    """Run the command in this process; returns exit code, standard output and standard error."""

    def call(*words):
        ran = run("fit", *words)
        return ran.code, ran.out, ran.err

    return call


def one(**asked):
    return ingest.fit(**asked).systems[0]


def value(found, name):
    return found.results[name].value


def layer(found, name):
    return next(judged for judged in found.layers if judged.layer.name == name)


@pytest.mark.parametrize(("rate", "needed"), [("35 TFLOP/s", 18.2e9), ("50 TFLOP/s", 26e9)])
@pytest.mark.parametrize(("client", "carries"), [("nfs-tcp", 3e9), ("nfs-nconnect", 10e9)])
def test_one_nfs_client_is_too_few_for_eight_v100(rate, needed, client, carries):
    found = one(**V100, achieved=rate, storage=client)
    assert found.fits is False
    assert found.bottleneck == "protocol client"
    assert value(found, "read_bandwidth_available") == carries
    assert layer(found, "protocol client").need == pytest.approx(needed, rel=0.005)
    assert value(found, "headroom_fraction") == pytest.approx(1 - needed / carries, rel=0.01)


def test_the_cases_of_the_notes_and_of_mlperf_storage():
    # The need of the notes lies between their ends.
    needs = [
        layer(one(**V100, achieved=rate, storage="nfs-tcp"), "protocol client").need for rate in ("35TFLOP/s", "50TFLOP/s")
    ]
    assert needs == pytest.approx([18.2e9, 26e9], rel=0.005)
    assert one(**V100, achieved="35TFLOP/s", storage="nfs-tcp").results["units_required"].value == 7
    # One appliance feeds thirty six h100 and not two more.
    # As the notes count: an appliance without a spare one. With one down nothing is left of a single appliance.
    assert value(one(**{**FED, "no_spare": False}, nodes=18, gpus_per_node=2), "units_required") == 2
    found = one(**FED, nodes=18, gpus_per_node=2)
    assert found.fits is True
    assert value(found, "units_required") == 1
    assert 0 <= value(found, "headroom_fraction") < 0.05
    assert value(one(**FED, nodes=38, gpus_per_node=1), "units_required") == 2
    # What a client has shown is no ceiling.
    found = one(**{**FED, "storage": "yanrong-f9000x", "units": 20}, nodes=5, gpus_per_node=72,
                set={"storage_nic_bandwidth_per_node": "1 TB/s"})  # fmt: skip
    assert layer(found, "protocol client").at_least
    assert layer(found, "protocol client").holds is None
    assert found.fits is None
    # Reads writes and capacity each count and the largest decides.
    known = one(**MONEY, storage="ddn-ai400x2", no_spare=True).answer
    counts = [known.derivation(f"units_for_{part}").value for part in ("read", "write", "capacity")]
    assert counts == [6, 5, 5]
    assert known.derivation("units_required").value == 6
    full = one(**MONEY, storage="ddn-ai400x2", set={"fill_limit": 1}, no_spare=True).answer
    assert full.derivation("units_for_capacity").value == 4


@pytest.mark.parametrize(
    ("storage", "raw"),
    [("prot-rep3", 35.29), ("prot-ec-8-3", 16.18), ("prot-hdfs-rs63", 17.65), ("lustre", 15.16), ("ceph", 35.29)],
)
def test_ten_petabytes_as_raw_capacity(storage, raw):
    found = one(capacity="10 PB", storage=storage)
    assert value(found, "raw_bytes") == pytest.approx(raw * 1e15, rel=5e-4)
    share = CATALOG.get(Storage, found.entry.protections[0] if found.entry.protections else storage)
    exact = share.data_units.value / (share.data_units.value + share.redundancy_units.value)
    kept = found.entry.filesystem_efficiency.value if found.entry.filesystem_efficiency else 1
    assert value(found, "raw_bytes") == pytest.approx(10e15 / (exact * kept * 0.85), rel=1e-12)
    assert value(found, "usable_bytes") == 10e15


def test_capacity_protection_metadata_and_requests():
    # Another protection scheme can be asked for.
    assert value(one(capacity="10 PB", storage="ceph", protection="prot-ec-8-3"), "raw_bytes") == pytest.approx(
        16.18e15, rel=5e-4
    )
    written = one(capacity="10 PB", write_bandwidth="80 GB/s", storage="ceph", protection="prot-ec-8-3")
    assert value(written, "media_write_bandwidth") == pytest.approx(110e9)
    # Failed servers leave less room.
    plain = value(one(capacity="10 PB", storage="ceph"), "raw_bytes")
    survivors = value(one(capacity="10 PB", storage="ceph", set={"servers_left": 9, "failed_servers": 1}), "raw_bytes")
    assert survivors == pytest.approx(plain / 0.9)
    # Ten billion files take three metadata targets.
    found = one(read_bandwidth="10 GB/s", files=10e9, storage="lustre")
    assert value(found, "metadata_servers_required") == 3
    assert layer(found, "metadata servers").holds is True
    assert one(read_bandwidth="10 GB/s", files=2e12, storage="lustre").fits is False
    # Requests and latency as in the worked example.
    asked = {"read_bandwidth": "512 GB/s", "nodes": 128, "io_size": "128 KiB", "storage": "lustre"}
    found = one(**asked, set={"requests_in_flight_per_node": 8})
    assert value(found, "io_per_second_needed") == 3_906_250
    assert value(found, "request_seconds_allowed") == pytest.approx(262e-6, rel=0.001)


def test_small_files_cost_bandwidth_and_large_ones_do_not():
    asked = {"model": "resnet50", "gpu": "h100-sxm", "nodes": 4, "storage": "nfs-nconnect"}
    large, small = one(**asked), one(**asked, encoding="jpeg")
    assert value(large, "small_read_factor") == 1
    assert value(small, "small_read_factor") < 0.6
    assert value(small, "read_bandwidth_available") == pytest.approx(40e9 * value(small, "small_read_factor"))


def test_ceilings_measured_with_a_data_set():
    # A ceiling measured with the data set wins over the general one.
    asked = {"gpu": "h100-sxm", "nodes": 1, "storage": "lustre-e1000-1c"}
    measured = one(model="resnet50", **asked)
    assert value(measured, "read_bandwidth_available") == pytest.approx(6116 * 2**20)
    other = one(model="resnet50", encoding="jpeg", **asked)
    assert value(other, "small_read_factor") < 1
    assert value(one(model="unet3d", **asked), "read_bandwidth_available") == 14.63e9
    # The same appliance reads cosmoflow at half the rate.
    found = one(model="cosmoflow", gpu="h100-sxm", nodes=4, storage="ddn-ai400x2t", units=1)
    assert layer(found, "system reads").ceiling == pytest.approx(50_115 * 2**20)
    # The cache hit needed is what the client cannot carry.
    found = one(**V100, achieved="35 TFLOP/s", storage="nfs-tcp")
    assert value(found, "cache_hit_needed") == pytest.approx(1 - 3e9 / 18.14e9, rel=1e-3)


@pytest.mark.parametrize("gpu", first(1, ["h100-sxm", "a100-80-sxm", "b200-sxm"]))
def test_a_job_needs_what_bw_requires(gpu):
    # Caches that fill, and the lower of two kinds of evidence, size both; only what no NIC carries is more, and named.
    judged = 0
    for model, nodes in product([one.id for one in CATALOG.all(Model)], (1, 8, 64)):
        with suppress(IngestError):
            answer = ingest.bw(model=model, gpu=gpu, nodes=nodes)
            if (required := answer.results.get("mandatory_read_bandwidth")) is None:
                continue
            found, reads = ingest.fit(model=model, gpu=gpu, nodes=nodes, storage="ddn-ai400x2t"), "read_bandwidth_needed"
            needed, judged = found.needed[reads].value, judged + 1
            beyond = "beyond the NICs" in found.need.title
            assert needed >= required.value if beyond else needed == required.value, (model, nodes)
            assert found.need.high.get(reads, 0) >= (required.high or 0)
            for part in re.findall(r"[\d.]+ .?B/s [a-z, ]*cold caches", answer_line(answer)):
                assert part in found.need.title
    assert judged > 350
    job = {"model": "unet3d", "gpu": "h100-sxm", "nodes": 8, "storage": "ddn-ai400x2t"}
    few, all_reads = ingest.fit(**job), ingest.fit(**job, cache_hit=0)
    assert few.needed["read_bandwidth_needed"].value == pytest.approx(8 * 24.63e9 / 600, rel=1e-3)
    assert few.need.title.endswith(
        ": 328.4 MB/s (313.2 MiB/s), 441.2 GB/s measured, cold caches; data set of 24.63 GB; "
        "checkpoints not sized: set --write-bandwidth"
    )
    assert all_reads.needed["read_bandwidth_needed"].value == pytest.approx(203.3e9, rel=1e-3)


def test_what_delivers_the_reads_holds_the_data_set():
    """The size that is published, or stated in bytes or in samples, unless a capacity is: 8.2 TB once fitted 60 TB."""
    job, held = {"model": "unet3d", "gpu": "h100", "nodes": 8, "storage": "yanrong-f9000x"}, "required_usable_bytes"
    samples = 60e12 / ingest.bw(model="unet3d", gpu="h100").given["sample_bytes"].value
    sized = [ingest.fit(**job, set={name: size}) for name, size in (("dataset_bytes", 60e12), ("dataset_samples", samples))]
    for found in sized:
        assert found.needed[held].value == pytest.approx(60e12)
        assert found.needed["read_bandwidth_needed"].value == pytest.approx(203.3e9, rel=1e-3)
        assert not [line for line in found.warnings if "do not depend on it" in line]
    assert ingest.fit(**job).needed[held].value == pytest.approx(24.63e9, rel=1e-3)
    assert ingest.fit(**job, capacity="1 PB").needed[held].value == 1e15
    language, less = (
        {"model": "llama3-70b", "gpu": "h100", "storage": job["storage"], **more} for more in ({}, {"capacity": "1 TB"})
    )
    assert value(one(**language), "units_required") > value(one(**less), "units_required")
    alone = ingest.fit(samples_per_second=100, sample_bytes="1 MB", gpu="h100", storage="yanrong-f9000x")
    assert "reads alone: set --capacity" in alone.need.title
    with pytest.raises(UsageError, match="0 sizes the first epoch"):
        ingest.fit(**job, cache_hit=1)


def test_staging_and_caching_stand_beside_streaming():
    asked = {"model": "cosmoflow", "gpu": "h100-sxm", "nodes": 16, "storage": "nfs-tcp"}
    rows = one(**asked, samples_per_second=285.7).answer.tables["ways"]
    by_name = {row["way"]: row for row in rows}
    assert by_name["stream from storage"]["holds"] is False
    whole, share = by_name["stage the whole data set on every node"], by_name["stage a share of it on each node"]
    assert whole["holds"] is True
    assert whole["stage_bytes"] == 16 * share["stage_bytes"] == 16 * 1.7e12
    assert whole["stage_seconds"] == pytest.approx(16 * 1.7e12 / (16 * 3e9))
    cached = by_name["cache a share of it in each node's memory"]
    assert cached["cache_hit_reachable"] == 1
    assert by_name["cache it in the memory of every node"]["cache_hit_reachable"] < 1


def test_data_sets_are_staged_where_they_have_room():
    # A data set larger than the drives cannot be staged on every node.
    asked = {"model": "cosmoflow", "gpu": "h100-sxm", "nodes": 16, "storage": "nfs-tcp", "set": {"dataset_bytes": "100 TB"}}
    by_name = {row["way"]: row["holds"] for row in one(**asked).answer.tables["ways"]}
    assert by_name["stage the whole data set on every node"] is False
    assert by_name["stage a share of it on each node"] is True
    # Another size of sample makes another data set.
    asked = {"gpu": "h100-sxm", "nodes": 1, "storage": "lustre"}
    plain = one(model="cosmoflow", **asked).answer.tables["ways"][2]["stage_bytes"]
    larger = one(model="cosmoflow", sample_bytes="16 MB", **asked).answer.tables["ways"][2]["stage_bytes"]
    assert (plain, larger) == (1.7e12, 524_288 * 16e6)


def test_a_data_set_that_fills_the_drives_of_a_node_can_be_staged_on_it():
    asked = {"model": "cosmoflow", "node": "dgx-h100", "nodes": 2, "storage": "nfs-tcp"}
    drives = one(**asked).answer.known.value("nvme_bytes_per_node")
    for share, holds in ((1, True), (1.0001, False)):
        ways = one(**asked, set={"dataset_bytes": share * drives}).answer.tables["ways"]
        assert {row["way"]: row["holds"] for row in ways}["stage the whole data set on every node"] is holds


def test_one_unit_that_a_need_determines_is_not_assumed():
    few = one(storage="ddn-ai400x2", read_bandwidth="1 GB/s")
    assert value(few, "units_required") == 1
    assert "units" not in few.answer.given


def test_drives_and_cores_of_nodes():
    # Local drives must hold what they serve.
    asked = {"model": "cosmoflow", "gpu": "h100-sxm", "nodes": 1, "storage": "nvme-gen4"}
    assert one(**asked).fits is True
    assert one(**asked, set={"dataset_bytes": "100 TB"}).fits is False
    unknown = one(read_bandwidth="10 GB/s", node="dgx-h100", nodes=1, storage="nvme-gen4")
    assert unknown.fits is None
    assert any("--capacity" in line for line in unknown.answer.warnings)
    # Drives count by the node and by hand.
    asked = {"read_bandwidth": "10 GB/s", "capacity": "1 TB", "node": "dgx-h100", "nodes": 1, "storage": "nvme-gen5"}
    assert layer(one(**asked), "node NVMe").ceiling == 8 * 14e9
    assert layer(one(**asked, set={"nvme_drives_per_node": 2}), "node NVMe").ceiling == 2 * 14e9
    # Cores for decoding are counted where a rate is known.
    asked = {"gpu": "h100-sxm", "nodes": 1, "storage": "lustre-client", "samples_per_second": 1340}
    assert value(one(model="resnet50", **asked), "decode_cores_per_node") == pytest.approx(1340 * 8 / (643 * 1504 / 8 / 440))
    assert "decode_cores_per_node" not in one(model="cosmoflow", **asked).results


ONE_DOMAIN = {"failure_domains": 1}
DOWN = "reads, one failure domain down"


def test_units_hold_one_failure_domain_down_unless_asked_otherwise():
    found = one(**MONEY, storage="ddn-ai400x2", set=ONE_DOMAIN)
    assert (value(found, "units_required"), found.decided.endswith("capacity is bought for bandwidth")) == (7, True)
    assert value(found, "degraded_read_bandwidth") == pytest.approx(6 * 90e9 * 0.7)
    assert layer(found, DOWN).need == pytest.approx(0.7 * 500e9)
    assert found.fits is True
    plain = one(**MONEY, storage="ddn-ai400x2", set=ONE_DOMAIN, no_spare=True)
    assert value(plain, "units_required") == 6
    assert value(plain, "degraded_read_bandwidth") == pytest.approx(5 * 90e9 * 0.7)
    assert plain.one_down is False


def test_a_spare_is_a_controller_where_a_unit_has_two():
    asked = {"read_bandwidth": "500 GB/s", "storage": "ddn-ai400x2", "set": {"unit_read_bandwidth": "100 GB/s"}}
    assert value(one(**asked, no_spare=True), "units_required") == 5
    halves = [value(one(**{**asked, "set": {**asked["set"], "failure_domains": n}}), "units_required") for n in (1, 2, 4)]
    assert halves == [6, 6, 6]
    tight = {**asked, "read_bandwidth": "440 GB/s"}
    assert [value(one(**{**tight, "set": {**tight["set"], "failure_domains": n}}), "units_required") for n in (1, 2)] == [6, 5]


def test_all_reads_hold_with_one_failure_domain_down_when_asked_for():
    found = one(**MONEY, storage="ddn-ai400x2", degraded=True, set=ONE_DOMAIN)
    assert (value(found, "units_required"), found.fits, found.one_down) == (9, True, True)
    assert layer(found, DOWN).ceiling == pytest.approx(8 * 90e9 * 0.7)
    most = value(found, "degraded_read_bandwidth")
    near = [one(read_bandwidth=most * share, storage="ddn-ai400x2", units=9, set=ONE_DOMAIN) for share in (1, 1 + 1e-9)]
    assert [it.one_down for it in near] == [True, False]
    short = one(**MONEY, storage="ddn-ai400x2", degraded=True, units=8, set=ONE_DOMAIN)
    assert (short.fits, short.bottleneck) == (False, DOWN)


def test_a_single_unit_leaves_nothing_to_read_from_when_it_is_down(command, tmp_path):
    single = one(**MONEY, storage="ddn-ai400x2", degraded=True, units=1, set=ONE_DOMAIN)
    judged = layer(single, DOWN)
    assert (single.fits, single.bottleneck, judged.holds, judged.why) == (False, DOWN, False, "no unit is left")
    asked = ("--read-bandwidth", "500GB/s", "--storage", "ddn-ai400x2", "--degraded", "--units", "1")
    asked += ("--set", "failure_domains=1")
    assert command(*asked, "-o", str(tmp_path / "one.xlsx"))[0] == 0
    assert "9 × appliance, 1 available" in command(*asked)[1]


@pytest.mark.parametrize("asked", table("storage/cases.yaml")["nothing_is_said_of_a_loss_where_there_is_nothing_to_lose"])
def test_nothing_is_said_of_a_loss_where_there_is_nothing_to_lose(asked):
    assert "degraded_read_bandwidth" not in one(**asked).results


def test_a_fit_with_next_to_no_headroom_is_no_plain_yes():
    assert one(**FED, nodes=18, gpus_per_node=2).verdict == "barely fits"
    assert one(**FED, nodes=9, gpus_per_node=2).verdict == "fits"
    rates = {
        "client_bandwidth_per_node": "650 MB/s",
        "unit_read_bandwidth": "1 TB/s",
        "unit_opens_per_second": 1e6,
        "unit_usable_bytes": 1e15,
    }
    unsure = one(**EIGHT_V100, storage="nfs-tcp", set=rates)
    assert (unsure.fits, unsure.verdict, bool(unsure.beyond)) == (True, "barely fits", True)
    assert unsure.headroom > 0.05


def test_what_is_unknown_and_what_the_user_knows():
    # What is known to hold is told from what is not known at all.
    asked = {"read_bandwidth": "1.3 GB/s", "opens": 100, "storage": "ddn-ai400x2", "no_spare": True}
    found = one(**asked)
    assert (found.verdict, found.not_known) == ("fits as far as known", ("metadata, opens",))
    assert one(read_bandwidth="1.3 GB/s", storage="vast").verdict == "not known"
    assert one(**asked, set={"unit_opens_per_second": 1000}).verdict == "fits"
    assert one(**asked, units=1, set={"unit_opens_per_second": 50}).verdict == "does not fit"
    # What the user says of the system behind a client is judged.
    asked = {"read_bandwidth": "9 GB/s", "nodes": 1, "gpus_per_node": 8, "node": "dgx-h100", "storage": "nfs-nconnect"}
    assert layer(one(**asked), "system reads").holds is None
    behind = {"unit_read_bandwidth": "5 GB/s"}
    assert layer(one(**asked, set=behind), "system reads").holds is False
    assert one(**asked, set=behind, units=2).fits is True
    # A count that leaves a part out says so.
    found = one(**MONEY, opens=100_000, storage="ddn-ai400x2", no_spare=True)
    assert found.fits is None
    assert value(found, "units_required") == 6
    assert found.answer.warnings == ("the number of units required leaves out opens: the rate of one unit is not known",)
    # Another client fills the gap of a system.
    asked = {**FED, "nodes": 2, "storage": "hpe-k3000", "set": {"unit_opens_per_second": 1000, "unit_io_per_second": 1e6}}
    asked["set"]["client_bandwidth_per_node"] = "1 TB/s"
    assert one(**asked).fits is True
    del asked["set"]["client_bandwidth_per_node"]
    assert one(**asked, client="weka-1c").fits is True
    assert one(**asked, client="nfs-tcp").fits is False


def test_drives_at_hand_stand_beside_those_required(command):
    asked = {"read_bandwidth": "10 GB/s", "capacity": "1 TB", "node": "dgx-h100", "nodes": 2, "storage": "nvme-gen4"}
    found = one(**asked)
    assert (value(found, "units"), value(found, "units_required")) == (16, 2)
    _, out, _ = command("--read-bandwidth", "10GB/s", "--capacity", "1TB", "--node", "dgx-h100", "--nodes", "2",
                        "--storage", "nvme-gen4")  # fmt: skip
    assert "2 of 16 × drive" in out


DRIVES = {"drive_bytes": "15.36 TB", "drive_read_bandwidth": "7 GB/s", "drive_write_bandwidth": "4 GB/s"}


def test_a_system_described_by_its_drives_counts_them_with_write_amplification():
    found = one(**MONEY, storage="prot-ec-8-3", set=DRIVES)
    assert value(found, "drives_for_capacity") == 106
    assert value(found, "drives_for_read") == 72
    assert value(found, "drives_for_write") == 104
    copies = one(**MONEY, storage="prot-rep3", set=DRIVES)
    assert value(copies, "drives_for_write") == 300e9 * 3 / 4e9 == 225
    assert value(copies, "drives_for_capacity") == value(copies, "drives_required") == 230
    reads = one(read_bandwidth="500 GB/s", storage="prot-ec-8-3", set=DRIVES)
    assert value(reads, "drives_required") == 72


def test_what_is_set_by_name_wins():
    # What is read may be set beside a model.
    asked = {"model": "cosmoflow", "gpu": "h100-sxm", "precision": "fp8", "storage": "lustre", "cache_hit": 0}
    found = ingest.fit(**asked, set={"ingest_bandwidth_per_gpu": "2.275 GB/s"})
    assert found.needed["read_bandwidth_needed"].value == pytest.approx(8 * 2.275e9)
    # A count given by name wins.
    assert value(one(**MONEY, storage="ddn-ai400x2", set={"units_for_write": 19}), "units_required") == 19
    assert value(one(read_bandwidth="90 GB/s", storage="ddn-ai400x2", set={"units_for_write": 9}), "units_required") == 9


def test_the_high_end_of_a_range_is_warned_of():
    found = one(**EIGHT_V100, storage="nfs-tcp", set={"client_bandwidth_per_node": "650 MB/s"})
    assert layer(found, "protocol client").holds is True
    assert any("not the high end" in line for line in found.answer.warnings)


def test_no_system_is_said_to_fit_on_a_ceiling_that_is_not_known():
    for name in (entry.id for entry in CATALOG.all(Storage) if entry.family in COMPARED):
        found = one(model="cosmoflow", gpu="h100-sxm", nodes=16, write_bandwidth="10 GB/s", capacity="1 PB", storage=name)
        held = [judged.holds for judged in found.layers]
        assert found.fits is (False if False in held or found.ruled_out else None if None in held else True), name
        assert all(judged.why and judged.shown == "unknown" for judged in found.layers if judged.ceiling is None), name
        assert bool(found.question) is (found.fits is None), name


@pytest.mark.parametrize(("name", "reason"), [("hdfs", "append only"), ("cockroachdb", "a database")])
def test_what_cannot_serve_training_data_is_answered_with_the_reason(name, reason, command):
    found = one(read_bandwidth="10 GB/s", nodes=1, storage=name)
    assert (found.fits, found.verdict) == (False, "does not fit")
    assert reason in found.ruled_out
    assert reason in found.to_dict()["ruled_out"]
    assert reason in " ".join(command("--read-bandwidth", "10GB/s", "-v")[1].split())


@pytest.mark.parametrize(("options", "message"), table("storage/refused.yaml")["a_question_that_cannot_be_asked_is_refused"])
def test_a_question_that_cannot_be_asked_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        ingest.fit(**{"read_bandwidth": "10 GB/s", "storage": "lustre", **options})


def test_a_question_without_need_or_evidence_is_refused():
    # Asking nothing says what can be asked.
    for empty in ({}, {"read_bandwidth": 0}, {"capacity": 0}):
        with pytest.raises(UsageError, match="no need is given, expected --model"):
            ingest.fit(**empty)
    # A model without evidence is refused as in bw.
    with pytest.raises(IngestError):
        ingest.fit(model="cosmoflow", storage="lustre")


@pytest.mark.parametrize(
    ("text", "message"), table("storage/cases.yaml")["check_finds_a_wrong_class_and_a_scheme_that_is_not_there"]
)
def test_check_finds_a_wrong_class_and_a_scheme_that_is_not_there(write_entry, text, message):
    (problem,) = ingest.catalog.check(write_entry("storage", "mine", text)).problems
    assert message in problem


def test_a_system_of_the_users_own_is_judged(write_entry):
    rate = "{value: 20, unit: GB/s, source: recalled, grade: measured}"
    text = f"name: mine\nfamily: system\nscaling_unit: box\nread_bandwidth: {rate}\n"
    text += "failure_domains: {value: 1, unit: '1', source: recalled, grade: measured}\n"
    found = one(read_bandwidth="50 GB/s", storage="mine", catalogs=write_entry("storage", "mine", text))
    assert (found.fits, value(found, "units_required")) == (True, 4)


def test_the_table_compares_all_systems_the_best_first(command):
    code, out, _ = command("--model", "cosmoflow", "--gpu", "h100-sxm", "--nodes", "16", "-v")
    assert code == 0
    names = ["Fits", "Barely fits", "Fits as far as known", "Beyond any published installation"]
    names += ["Fits as far as known, number of units open", "What nobody has published: ask these", "Does not fit"]
    titles = [match for match in re.findall(r"^(\S[^(]*) \((\d+)\)$", out, re.MULTILINE) if match[0] in names]
    shown = [name for name, _ in titles]
    assert shown == [name for name in names if name in shown]
    assert len(shown) >= 4
    ids = {entry.id for entry in CATALOG.all(Storage) if entry.family in COMPARED}
    assert sum(int(number) for _, number in titles) == len(ids)
    assert all(re.search(rf"(^  |[ ,]){re.escape(name)}\b", out, re.MULTILINE) for name in ids)


def test_only_what_one_can_buy_rent_or_run_is_ranked():
    systems = ingest.fit(read_bandwidth="100 GB/s").systems
    assert {one.entry.family for one in systems} == {"system", "service", "software"}
    with_sites = ingest.fit(read_bandwidth="100 GB/s", sites=True).systems
    assert {one.entry.family for one in with_sites} - {one.entry.family for one in systems} == {"site"}


def test_within_a_verdict_what_is_known_of_comes_first():
    systems = ingest.fit(model="cosmoflow", gpu="h100-sxm", nodes=16, capacity="1 PB").systems
    assert [found.standing for found in systems] == sorted(found.standing for found in systems)
    open_ones = [(found.standing, -found.share_known) for found in systems if found.fits is None]
    assert open_ones == sorted(open_ones)
    assert {found.standing for found in systems if found.fits is None} >= {OPEN, *map(VERDICTS.index, (SO_FAR, UNKNOWN))}
    misfits = [found.headroom for found in systems if found.fits is False and found.headroom is not None]
    assert misfits == sorted(misfits, reverse=True)


def test_what_is_far_too_small_is_a_multiple(command):
    _, out, _ = command("--read-bandwidth", "69 GB/s", "--nodes", "1", "--storage", "nfs-tcp")
    assert "23× too small" in out
    _, out, _ = command("--read-bandwidth", "5.97 GB/s", "--nodes", "1", "--storage", "nfs-tcp")
    assert "-99 %" in out


def test_an_assumed_latency_leaves_the_verdict_open():
    asked = {"read_bandwidth": "100 GB/s", "nodes": 4, "io_size": 4096, "storage": "nfs-nconnect"}
    found = ingest.fit(**asked, set={"requests_in_flight_per_node": 8})
    client = layer(found.systems[0], "protocol client")
    assert (client.unsure, client.holds, client.shown.startswith("about ")) == (True, None, True)
    assert any("latency of small reads is assumed" in line for line in found.warnings)
    sure = ingest.fit(**asked, set={"requests_in_flight_per_node": 8, "request_seconds": "0.5 ms"})
    assert layer(sure.systems[0], "protocol client").holds is False
    assert not any("latency" in line for line in sure.warnings)


def test_every_lustre_reads_small_requests_as_lustre_does():
    asked = {"read_bandwidth": "1 GB/s", "nodes": 16, "node": "dgx-h100", "io_size": "64 KiB"}
    of_lustre = (entry for entry in CATALOG.all(Storage) if entry.technology == "lustre" and entry.family != "client")
    names = ["lustre", *(entry.id for entry in of_lustre if entry.request_latency is None)]
    assert len(names) > 3
    assert len({value(one(**asked, storage=name), "small_read_factor") for name in names}) == 1


def test_disks_drives_servers_and_replicas_count_as_published():
    # Disks read at random what their heads allow.
    asked = {"read_bandwidth": "600 GB/s", "io_size": "128 KiB", "storage": "alcf-eagle"}
    found = one(**asked)
    assert (found.fits, found.bottleneck) == (False, "requests")
    assert layer(found, "requests").ceiling == 8480 * CATALOG.get(Storage, "hdd-7200").io_per_second.value
    assert one(**{**asked, "read_bandwidth": "10 GB/s"}).fits is None
    # The size of drive is the smallest that needs no further unit.
    small = one(read_bandwidth="500 GB/s", capacity="100 TB", storage="ddn-ai400x2")
    large = one(read_bandwidth="500 GB/s", capacity="10 PB", storage="ddn-ai400x2")
    assert (small.label, large.label) == ("7.68 TB drives", "30.72 TB drives")
    assert value(large, "units_required") == 25
    # A server is counted at its production rate not at its best.
    rate = CATALOG.get(Storage, "lustre").read_bandwidth
    assert (rate.value, rate.low, rate.high) == (10e9, 10e9, 44.9e9)
    # Raft tolerates half of what copies would.
    assert CATALOG.get(Storage, "prot-rf5").tolerated_failures.value == 2
    assert CATALOG.get(Storage, "prot-rep3").tolerated_failures.value == 2


def test_raw_capacity_bounds_the_usable_one(write_entry):
    rate = "{{value: {}, unit: {}, source: recalled, grade: measured}}"
    text = "name: mine\nfamily: system\nscaling_unit: box\n"
    text += f"read_bandwidth: {rate.format(100, 'GB/s')}\nraw_bytes: {rate.format(368, 'TB')}\n"
    text += "failure_domains: {value: 1, unit: '1', source: recalled, grade: measured}\n"
    found = one(read_bandwidth="500 GB/s", capacity="10 PB", storage="mine", catalogs=write_entry("storage", "mine", text))
    held = layer(found, "capacity")
    assert (held.at_most, held.holds, found.fits) == (True, None, None)
    assert value(found, "units_required") == 33
    short = one(
        read_bandwidth="500 GB/s", capacity="10 PB", storage="mine", units=6, catalogs=write_entry("storage", "mine", text)
    )
    assert (short.fits, short.bottleneck) == (False, "capacity")


def test_require_exits_with_three_and_says_why(command):
    words = ["--model", "cosmoflow", "--gpu", "v100-sxm2", "--gpus-per-node", "8", "--achieved", "35TFLOP/s"]
    words += ["--sample-bytes", "16MB"]
    code, out, err = command(*words, "--storage", "nfs-tcp", "--require")
    assert code == 3
    assert "protocol client" in out
    assert err.splitlines()[-1] == "ingest: nfs-tcp does not fit: protocol client provides 3 GB/s, but 18.13 GB/s is needed"
    assert command(*words, "--storage", "nfs-tcp")[0] == 0


def test_require_takes_yes_alone(command):
    # Require takes no unknown for a yes.
    code, _, err = command("--read-bandwidth", "1GB/s", "--nodes", "1", "--storage", "nfs-nconnect", "--require")
    assert code == 3
    assert "nfs-nconnect is not known to fit: storage NIC, system reads not known" in err
    # Require is met by a system that fits and by one of all.
    assert command("--read-bandwidth", "500GB/s", "--storage", "ddn-ai400x2", "--require")[0] == 0
    assert command("--read-bandwidth", "500GB/s", "--require")[0] == 0
    assert command("--read-bandwidth", "1e17 B/s", "--units", "1", "--require")[0] == 3


def test_every_entry_is_of_a_class_and_says_what_it_can():
    for entry in CATALOG.all(Storage):
        assert entry.family in STORAGE_CLASSES, entry.id
        rates = (entry.client_read_bandwidth, entry.gpu_read_bandwidth, entry.nic_efficiency, entry.read_bandwidth, entry.tiers)
        if entry.family == "protection":
            assert entry.tolerated_failures.value <= entry.redundancy_units.value, entry.id
            share = entry.data_units.value / (entry.data_units.value + entry.redundancy_units.value)
            assert entry.usable_fraction.value == pytest.approx(share, abs=2e-4), entry.id
        else:
            assert any(rates) or entry.missing, entry.id


def test_counts_and_questions_that_mean_nothing(command):
    # A whole site is one unit however many are named.
    asked = {"read_bandwidth": "500 GB/s", "capacity": "1 PB", "storage": "aurora-daos"}
    found = one(**asked, units=100)
    assert found.results["read_bandwidth_available"].value == one(**asked).results["read_bandwidth_available"].value == 31e12
    assert found.results["units"].value == 1
    # A system is no client.
    with pytest.raises(UsageError, match="--client: ddn-ai400x2t is of the class system, expected a client"):
        ingest.fit(read_bandwidth="10 GB/s", nodes=4, storage="ceph", client="ddn-ai400x2t")
    # Data of a model need a known capacity and a bandwidth alone says that none was asked.
    found = ingest.fit(model="cosmoflow", gpu="v100-sxm2", nodes=1, gpus_per_node=8, storage="lustre").systems[0]
    assert (found.fits, found.figures["usable"].needed, layer(found, "capacity").holds) == (None, True, None)
    _, out, _ = command("--read-bandwidth", "100 GB/s", "--storage", "lustre")
    assert re.search(r"lustre +\d+ × OSS +not asked", out)


def test_options_that_change_nothing_are_said_to():
    asked = {"read_bandwidth": "10 GB/s", "capacity": "1 PB"}
    for storage in ("fsx-lustre", "nvme-gen4", "nfs-tcp", "dell-beegfs-me4084"):
        (said,) = [one for one in ingest.fit(**asked, storage=storage, protection="prot-rep3").warnings if "--prot" in one]
        assert storage in said
    assert not any("--prot" in one for one in ingest.fit(**asked, storage="ceph", protection="prot-rep3").warnings)
    assert any("--client is not used" in one for one in ingest.fit(**asked, storage="ceph", client="nfs-tcp").warnings)
    used = ingest.fit(**asked, storage="ceph", client="nfs-tcp", nodes=4, node="dgx-h100")
    assert not any("--client" in one for one in used.warnings)


def test_what_stands_first_and_what_is_told(command):
    # What takes more units than anybody has does not head as a fit.
    _, out, _ = command("--read-bandwidth", "1e8 GB/s", "--storage", "ddn-ai400x2")
    assert "Beyond any published installation (1)" in out
    assert "as far as known" not in out
    # What fits so far with open units stands behind what has known ones.
    asked = {"read_bandwidth": "100 GB/s", "write_bandwidth": "50 GB/s", "capacity": "5 PB", "storage": "all"}
    so_far = [found for found in ingest.fit(**asked).systems if found.verdict == "fits as far as known"]
    are_open = {found.entry.id: found.standing > 3 for found in so_far}
    assert [*are_open.values()] == sorted(are_open.values())
    assert (are_open["oci-lustre"], are_open["ibm-ess3500"], are_open["vast-ceres"]) == (False, True, True)
    # A setting that no system uses is told.
    for name, told in (("cache_hit_fraction", True), ("fill_limit", False)):
        found = ingest.fit(read_bandwidth="1 GB/s", capacity="1 TB", storage="ddn-ai400x2", set={name: 0.5})
        assert any(name in line and "changes nothing" in line for line in found.warnings) is told
