"""Data sets of the library `datasets`: the data files of saved and cached ones, and the splits of local builders."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from ingest.corpus.files.file_kind import first_line, printable
from ingest.errors import IngestError, UsageError, nearest

#: scheme of folders that `load_dataset` reads; the split follows a `#`
SCHEME = "datasets://"
FORMAT = "datasets"
_STATE = b"state.json"
_INFO = b"dataset_info.json"
#: lists the splits of a saved data set
_SPLITS = b"dataset_dict.json"
_DATA = b".arrow"
#: prefix of cached results of `map` and `filter`
_DERIVED = b"cache-"
_LOCKS = (b"_builder.lock", b".incomplete_info.lock")
#: called with the path of what is missing or broken, and the reason
Complain = Callable[[bytes, str], None]


def without_bookkeeping(folder: bytes, names: list[bytes], complain: Complain) -> list[bytes]:
    """Return the names in a folder without the metadata files and caches of `datasets`.

    Shards and splits that are listed but missing are reported. Other folders keep all names.

    >>> without_bookkeeping(b"/nowhere", [b"a.txt", b"train/"], print)
    [b'a.txt', b'train/']
    """
    if _SPLITS in names:
        listed = _names_listed(os.path.join(folder, _SPLITS), lambda noted: noted["splits"], complain)
        _report_missing(folder, listed or [], [name.rstrip(b"/") for name in names], _SPLITS, complain)
        names = [name for name in names if name != _SPLITS]
    if _INFO not in names:
        return names
    if _STATE in names:
        listed = _names_listed(
            os.path.join(folder, _STATE), lambda noted: [entry["filename"] for entry in noted["_data_files"]], complain
        )
        _report_missing(folder, listed or [], names, _STATE, complain)
        return [name for name in names if name not in (_STATE, _INFO) and (not name.endswith(_DATA) or name in (listed or ()))]
    if any(name.endswith(_DATA) for name in names):
        kept = [name for name in names if name != _INFO and not name.startswith(_DERIVED) and not name.endswith(_LOCKS)]
        stems = _names_listed(os.path.join(folder, _INFO), _stems_of_splits, complain) or []
        missing = [stem for stem in stems if not any(name.startswith(stem) for name in kept)]
        _report_missing(folder, missing, [], _INFO, complain)
        return kept
    return names


def _stems_of_splits(noted: Any) -> list[str]:
    return [f"{split['dataset_name']}-{split['name']}" for split in noted["splits"].values() if split["num_examples"]]


def _names_listed(path: bytes, names_in: Callable[[Any], list[str]], complain: Complain) -> list[bytes] | None:
    """Return the names that a metadata file lists; None, with a complaint, if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return [os.fsencode(name) for name in names_in(json.load(file))]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        complain(path, "broken: it does not list the files of the data set that `datasets` saved here")
        return None


def _report_missing(folder: bytes, listed: list[bytes], names: list[bytes], by: bytes, complain: Complain) -> None:
    for name in listed:
        if name not in names:
            complain(os.path.join(folder, name), f"missing: listed in {by.decode()}")


def list_splits(url: str) -> Iterator[tuple[str, int, str]]:
    """Yield URL, stored bytes and version of each split that `load_dataset` finds in a folder.

    Raises:
        UsageError: no such folder or split.
        IngestError: `datasets` cannot load the folder.
    """
    folder, _, wanted = url.removeprefix(SCHEME).partition("#")
    folder = os.path.abspath(folder)
    if not os.path.isdir(folder):
        raise UsageError(f"'{printable(url)}': no such folder; `datasets` loads local folders only")
    import datasets

    try:
        files = datasets.load_dataset_builder(folder).config.data_files
    except Exception as error:
        # builders raise any exception, and none may end in a traceback
        raise IngestError(
            f"'{printable(url)}' cannot be loaded by `datasets`: {first_line(error.__cause__ or error)}"
        ) from None
    splits = {str(split): list(map(str, paths)) for split, paths in (files or {}).items()}
    if wanted and wanted not in splits:
        raise UsageError(
            f"'{printable(url)}': no split '{printable(wanted)}', it has {', '.join(splits)}{nearest(wanted, list(splits))}"
        )
    for split in sorted(splits):
        if split == (wanted or split):
            yield f"{SCHEME}{folder}#{split}", *_state_of(splits[split])


def _state_of(paths: list[str]) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    for path in paths:
        status = os.stat(path)
        size += status.st_size
        digest.update(b"%s\0%d\0%d\0" % (os.fsencode(path), status.st_size, status.st_mtime_ns))
    return size, digest.hexdigest()
