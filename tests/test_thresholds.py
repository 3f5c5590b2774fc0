"""Constants that decide what `bw` warns of and how wide its ranges are: just below each and just above it."""

import pytest

import ingest
from ingest.errors import IngestError
from ingest.units import parse


def warned(words, **options):
    return any(words in line for line in ingest.bw(gpu="h100", node="dgx-h100", **options).warnings)


@pytest.mark.parametrize(("share", "negligible"), [(0.0099, True), (0.0101, False), (0.3, False)])
def test_reading_tokens_is_negligible_below_a_hundredth_of_the_nic(share, negligible):
    assert warned("reading tokens is negligible", model="llama3-70b", set={"storage_nic_share": share}) is negligible


@pytest.mark.parametrize(("share", "beyond"), [(0.999, False), (1.001, True)])
def test_reads_beyond_the_nics_are_warned_of(share, beyond):
    assert warned("times the bandwidth of the storage NICs", model="cosmoflow", set={"storage_nic_share": share}) is beyond


@pytest.mark.parametrize(("rate", "beyond"), [("2.99 GB/s", False), ("3.01 GB/s", True)])
def test_reads_beyond_one_mount_are_warned_of(rate, beyond):
    """An NFS client over one TCP connection carries 3 GB/s."""
    given = {"ingest_bandwidth_per_node": rate}
    assert warned("one NFS/TCP mount per node", model="cosmoflow", set=given) is beyond


@pytest.mark.parametrize(("rate", "above"), [(0.99, False), (1.01, True)])
def test_a_rate_above_the_dense_peak_is_warned_of(rate, above):
    peak = ingest.bw(model="resnet50", gpu="h100", basis="peak").results["samples_per_second_per_gpu"].value
    found = ingest.bw(model="resnet50", gpu="h100", samples_per_second=rate * peak)
    assert any("exceeds the dense peak" in line for line in found.warnings) is above


def scaled(nodes):
    return (
        ingest.bw(model="cosmoflow", gpu="h100", nodes=nodes, gpus_per_node=8, scaling="strong")
        .given["scaling_efficiency"]
        .value
    )


def test_strong_scaling_loses_nothing_up_to_16_gpus():
    assert scaled(2) == 1
    assert scaled(3) < 1


def spread(**options):
    rate = ingest.bw(basis="transferred", **options).results["samples_per_second_per_gpu"]
    return rate.low / rate.value, rate.high / rate.value


def test_a_transfer_across_vendors_has_the_wide_band():
    assert spread(model="cosmoflow", gpu="tpu-v4") == pytest.approx((0.4, 2.5))


def test_embedding_tables_without_nvlink_may_be_65_times_slower():
    low, _ = spread(model="dlrm-dcnv2", gpu="h100-pcie")
    assert low == pytest.approx(1 / 65)


def test_numbers_of_40_digits_are_read_and_longer_ones_are_slips():
    assert parse("1" * 40, "1", "x") == pytest.approx(1.1111e39, rel=1e-3)
    with pytest.raises(IngestError, match="x: found"):
        parse("1" * 41, "1", "x")
