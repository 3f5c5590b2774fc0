"""Folders that `datasets` saved: which of their files hold data."""

from __future__ import annotations

import json
import os

_STATE = b"state.json"
_MARKS = {_STATE, b"dataset_info.json"}
#: what a folder of several splits has beside them
_SPLITS = b"dataset_dict.json"
_DATA = b".arrow"


def without_bookkeeping(folder: bytes, names: list[bytes]) -> list[bytes]:
    """Return the names in a folder without what `datasets` notes there, and without its caches.

    Of a folder that is none of its own, all are returned.

    >>> without_bookkeeping(b"/nowhere", [b"a.txt", b"dataset_dict.json", b"train/"])
    [b'a.txt', b'train/']
    """
    if _SPLITS in names:
        names = [name for name in names if name != _SPLITS]
    if not _MARKS.issubset(names):
        return names
    data = _data_files(os.path.join(folder, _STATE))
    return [name for name in names if name not in _MARKS and (data is None or not name.endswith(_DATA) or name in data)]


def _data_files(state: bytes) -> set[bytes] | None:
    """Return the names that a saved state lists, or nothing if it cannot be read."""
    try:
        with open(state, "rb") as file:
            return {os.fsencode(entry["filename"]) for entry in json.load(file)["_data_files"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
