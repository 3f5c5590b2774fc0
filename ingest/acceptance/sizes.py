"""Sizes of test files, the same for every tool."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.acceptance.loads import Setting
from ingest.acceptance.records import Load
from ingest.expression import Num
from ingest.formula import solve


def file_bytes(given: Mapping[str, Num], files: int, dataset: Num) -> int:
    """Bytes of each of some files that together are a data set of one client, in whole fill requests."""
    sized = {"acceptance_files_per_client": files, "acceptance_dataset_bytes_per_client": dataset}
    return int(solve("acceptance_file_bytes", {**given, **sized}))


def bytes_per_client(load: Load, given: Mapping[str, Num]) -> Num:
    """What a client reads from, or writes in the time of the test."""
    return solve("acceptance_dataset_bytes_per_client" if load.operation == "read" else "written_bytes_per_client", given)


def given_of(load: Load, given: Mapping[str, Num]) -> Mapping[str, Num]:
    """What holds for one load of a test: a mixed one writes at the rate, and with the requests, of its writes."""
    if load.operation != "write" or load.io_bytes is None:
        return given
    own = {"required_bandwidth": load.threshold, "aligned_io_bytes": load.io_bytes}
    return {name: value for name, value in given.items() if name != "fill_request_bytes"} | own


def data_clients(load: Load, setting: Setting) -> int:
    """Clients whose data lie in the data set of a test."""
    return setting.data.clients if setting.data else load.clients


def data_name(load: Load, setting: Setting) -> str:
    """What the files of a data set are called; tests with the same name read the same files.

    In a rehearsal each test has files of its own, which are gone afterwards.
    """
    if setting.rehearsal:
        return load.name
    return "data-shared" if load.files == "shared" else f"data-{load.threads}"


def fill_bytes(given: Mapping[str, Num]) -> int:
    """Bytes of a request while files are filled."""
    return int(solve("fill_request_bytes", given))


def files_per_thread(load: Load, given: Mapping[str, Num]) -> int:
    """Files that each thread creates, opens or looks up."""
    return int(solve("metadata_files_per_thread", {**given, "threads_per_client": load.threads}))


def seconds_of_files(given: Mapping[str, Num]) -> dict[str, Num]:
    """The same quantities for a test that is one pass over its files, as long as the requirement asks."""
    return {**given, "metadata_pass_seconds": given["acceptance_seconds"]}
