"""Headings for what tables and requirements hold, as a reader would say them."""

from __future__ import annotations

import re

from ingest.units import display

#: what the name of a column does not say well
HEADINGS = {
    "of": "Contents",
    "data": "Data set",
    "mode": "Checkpoint mode",
    "gpu": "GPU",
    "gpus": "GPUs",
    "basis": "Rate rests on",
    "concurrent_runs": "Runs at once",
    "share_of_time": "Share of the time",
    "samples_per_second_per_gpu": "Samples per second and GPU",
    "sample_bytes": "Size of a sample",
    "run_read_bandwidth": "Reads of one run",
    "job_read_bandwidth": "Reads of all runs",
    "job_sustained_read_bandwidth": "Reads on average",
    "node_read_bandwidth": "Reads of one node",
    "training_samples": "Samples in a training",
    "run_seconds": "Length of a run",
    "cluster_nodes": "Nodes",
    "cluster_allocation": "Share in use",
    "cluster_clients": "Nodes that read at once",
    "cluster_read_bandwidth": "Reads at once",
    "checkpoint_bytes": "Size of a checkpoint",
    "checkpoint_files": "Files of a checkpoint",
    "job_mean_time_to_interrupt": "Mean time to interrupt",
    "checkpoint_interval": "Interval",
    "checkpoint_dump_seconds": "Time to write one",
    "checkpoint_stall_fraction": "Time lost to waiting",
    "checkpoint_write_bandwidth": "Writes of one run",
    "job_write_bandwidth": "Writes of all runs",
    "job_sustained_write_bandwidth": "Writes on average",
    "restart_read_bandwidth": "Reads of one restart",
    "checkpoints_retained": "Checkpoints kept",
    "job_checkpoint_bytes_held": "Bytes of those kept",
    "job_checkpoint_files_held": "Files of checkpoints kept",
    "data_bytes": "Size of one copy",
    "data_files": "Files of one copy",
    "data_copies": "Copies",
    "versions_held": "Versions kept",
    "year_usable_bytes": "Data held",
    "year_raw_bytes": "Raw capacity",
    "year_files": "Files",
    "year_bytes_written_per_day": "Written per day",
    "job_file_opens": "File opens",
    "job_file_creates": "File creates",
    "job_dataset_bytes": "Data set",
    "ingest_bandwidth_per_job": "Reads of one run from storage",
    "staged_bytes": "Bytes staged",
    "staging_seconds": "Time to stage",
    "node_bytes_shared": "Share held by one node",
    "node_bytes_whole": "Whole data set on one node",
    "node_nvme_bytes": "NVMe of one node",
    "cache_hit_possible": "Share that the NVMe holds",
    "site_usable_bytes": "Data held",
    "site_raw_bytes": "Raw capacity",
    "site_media_bytes_per_day": "Written to media per day",
    "site_files": "Files",
    "site_read_bandwidth": "Read bandwidth, all jobs at once",
    "site_node_read_bandwidth": "Read bandwidth of one node",
    "site_largest_read_bandwidth": "Read bandwidth, run that reads most",
    "site_sustained_read_bandwidth": "Read bandwidth, sustained",
    "site_write_bandwidth": "Write bandwidth, all checkpoints at once",
    "site_largest_write_bandwidth": "Write bandwidth, largest checkpoint",
    "site_sustained_write_bandwidth": "Write bandwidth, sustained",
    "site_mixed_bandwidth": "Reads and checkpoints together",
    "site_alternating_bandwidth": "Reads and checkpoints in turn",
    "site_largest_restart_bandwidth": "Restart of one run",
    "site_restart_bandwidth": "Restart of all runs",
    "site_staging_bandwidth": "Staging of data sets onto nodes",
    "site_node_local_bytes": "Local storage of one node",
    "site_grown_read_bandwidth": "Read bandwidth in the last year",
}
#: names that say something else to a reader than to who computes
SPOKEN = {
    "unstalled_samples_per_second_per_gpu": "training rate per GPU",
    "data_bytes": "size of the data set",
    "data_samples": "samples of the data set",
    "data_sample_bytes": "size of a sample",
    "test_seconds": "duration of a test",
    "restart_seconds": "time for a restart",
    "request_bytes": "size of a read request",
    "write_request_bytes": "size of a write request",
    "packed_read_bytes": "bytes read ahead",
    "master_bytes_per_parameter": "bytes of the master copy per parameter",
    "failures_per_node_second": "failures of a node",
    "persistent_every": "checkpoints for each one on shared storage",
    "growth_period_seconds": "growth period",
    "observed_seconds": "observed time",
    "flops_per_sample": "FLOP per sample",
}
#: words in the name of a quantity that is a share, which people read in percent
SHARE_WORDS = {"share", "fraction", "waste", "utilization", "allocation", "hit", "efficiency", "headroom", "fill"}
_SPELLED = (("gpus", "GPUs"), ("gpu", "GPU"), ("nvme", "NVMe"), ("gb", "GB"))


def label(name: str) -> str:
    """The heading of a quantity or of a column.

    >>> label("year_raw_bytes"), label("site_file_opens"), label("bytes_per_gpu")
    ('Raw capacity', 'File opens', 'Bytes per GPU')
    """
    return capitalised(HEADINGS.get(name) or plain(name))


def is_share(name: str, unit: str) -> bool:
    """Whether people read a quantity in percent.

    >>> is_share("cache_hit_fraction", "1"), is_share("replicas", "1"), is_share("file_opens", "file/s")
    (True, False, False)
    """
    return unit == "1" and not SHARE_WORDS.isdisjoint(name.split("_"))


def unit_word(name: str, unit: str) -> str:
    """A unit beside a number; one without a unit says what it is.

    >>> unit_word("fill_limit", "1"), unit_word("replicas", "1"), unit_word("file_opens", "file/s")
    ('share', 'number', 'file/s')
    """
    return unit if unit != "1" else "share" if is_share(name, unit) else "number"


def plain(name: str) -> str:
    """The name of a quantity inside a sentence.

    >>> plain("unstalled_samples_per_second_per_gpu")
    'unstalled samples per second per GPU'
    """
    words = name.removeprefix("site_").replace("_", " ")
    for small, spelled in _SPELLED:
        words = re.sub(rf"\b{small}\b", spelled, words)
    return words


def spoken(name: str) -> str:
    """A quantity as a tender names it.

    >>> spoken("test_seconds"), spoken("scaling_efficiency")
    ('duration of a test', 'scaling efficiency')
    """
    return SPOKEN.get(name) or plain(name)


def capitalised(text: str) -> str:
    """With a capital at the start, the rest as it is."""
    return text[:1].upper() + text[1:]


def span(low: float | None, high: float | None, unit: str, between: str) -> str:
    """A range as text, nothing where its ends look alike or are not known.

    >>> span(1e9, 2e9, "B/s", " to "), span(21.2181e9, 21.2182e9, "B/s", " to "), span(None, None, "B/s", " to ")
    ('1 GB/s to 2 GB/s', '', '')
    """
    if low is None or high is None:
        return ""
    least, most = (display(end, unit, binary=False) for end in (low, high))
    return f"{least}{between}{most}" if least != most else ""
