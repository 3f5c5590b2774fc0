"""Sizes of test files, the same for every tool."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.acceptance.records import Load
from ingest.expression import Num
from ingest.formula import solve


def file_bytes(given: Mapping[str, Num], files: int, dataset: Num) -> int:
    """Bytes of each of some files that together are a data set of one client, in whole fill requests."""
    sized = {"acceptance_files_per_client": files, "acceptance_dataset_bytes_per_client": dataset}
    return int(solve("acceptance_file_bytes", {**given, **sized}))


def bytes_per_client(load: Load, given: Mapping[str, Num]) -> Num:
    """What a client reads from, or writes in the time of the test."""
    return solve("written_bytes_per_client" if load.operation == "write" else "acceptance_dataset_bytes_per_client", given)


def fill_bytes(given: Mapping[str, Num]) -> int:
    """Bytes of a request while files are filled."""
    return int(solve("fill_request_bytes", given))


def files_per_thread(load: Load, given: Mapping[str, Num]) -> int:
    """Files that each thread creates, opens or looks up."""
    return int(solve("metadata_files_per_thread", {**given, "threads_per_client": load.threads}))
