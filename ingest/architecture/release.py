"""The files of a release that hold its weights: shards, indexes, the parts of a pipeline, and what else lies beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ingest.architecture.safetensors_headers import ReleaseFiles, StoredTensor, read_header
from ingest.errors import IngestError, brief, listed

#: Of these the first that is there lists the files of the weights.
INDEXES = (
    "model.safetensors.index.json",
    "diffusion_pytorch_model.safetensors.index.json",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.bin.index.json",
)
#: No index comes near this size.
MOST_INDEX_BYTES = 100_000_000
#: No config comes near this size; a list of layers that are not quantized makes some of them megabytes long.
MOST_CONFIG_BYTES = 16_000_000
_SHARD = re.compile(r"^(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})$")


class Index(NamedTuple):
    """An index: which file holds which tensor.

    Attributes:
        name: of the index.
        files: by tensor.
        total_bytes: `total_size`; None where it is missing or 0, which real indexes have.
    """

    name: str
    files: Mapping[str, str]
    total_bytes: int | None


class Release(NamedTuple):
    """The weights of one model, as far as its files are there.

    Attributes:
        place: its folder.
        tensors: from the headers; empty if only an index is there.
        files: how many files hold them.
        listing: its index; None if there is none.
        notes: what a reader of the result should know.
    """

    place: str
    tensors: tuple[StoredTensor, ...]
    files: int
    listing: Index | None
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int | None:
        """Bytes of all tensors, from the headers or the index; None if not known."""
        if self.tensors:
            return sum(tensor.bytes for tensor in self.tensors)
        return self.listing.total_bytes if self.listing else None


def read_json(files: ReleaseFiles, name: str, expected: str, most: int) -> dict[str, Any]:
    """Return the JSON object in a file of a release; `Infinity` and `NaN` are numbers.

    Raises:
        IngestError: a larger file, or no JSON object.
    """
    place = f"{files.place}/{name}"
    if files.sizes[name] > most:
        raise IngestError(f"{place}: larger than {most:,} bytes, expected {expected}")
    try:
        found = json.loads(files.read(name, 0, most).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise IngestError(f"{place}: no whole JSON ({brief(str(error))}), expected {expected}") from None
    if not isinstance(found, dict):
        raise IngestError(f"{place}: found {brief(found)}, expected {expected}")
    return found


def release_of(files: ReleaseFiles, part: str = "") -> Release | None:
    """Return the weights in a folder, or in the part of a pipeline; None where neither headers nor an index are there.

    Raises:
        IngestError: some shards are missing, a file was cut off, or the index and the headers disagree.
    """
    before = f"{part}/" if part else ""
    own = {
        name.removeprefix(before) for name in files.sizes if name.startswith(before) and "/" not in name.removeprefix(before)
    }
    place = f"{files.place}/{part}" if part else files.place
    index = next((_index(files, before, name) for name in INDEXES if name in own), None)
    names = _weight_files(place, own, index)
    if not names:
        return Release(place, (), len({*index.files.values()}), index) if index else None
    tensors: dict[str, StoredTensor] = {}
    holders: dict[str, str] = {}
    for name in names:
        for tensor in read_header(files, before + name):
            if tensor.name in tensors:
                twice = f"{place}: found {brief(tensor.name)} in {holders[tensor.name]} and {name}, expected it once"
                raise IngestError(f"{twice}: the folder holds two sets of weights")
            tensors[tensor.name], holders[tensor.name] = tensor, name
    notes = _check_index(place, index, holders) if index else ()
    return Release(place, tuple(tensors.values()), len(names), index, notes)


def _index(files: ReleaseFiles, before: str, name: str) -> Index:
    found = read_json(files, before + name, "an index of weights", MOST_INDEX_BYTES)
    place, listed_files = f"{files.place}/{before}{name}", found.get("weight_map")
    if not isinstance(listed_files, dict) or not listed_files or not all(isinstance(one, str) for one in listed_files.values()):
        raise IngestError(f"{place}: weight_map: found {brief(listed_files)}, expected a table of tensors and their files")
    metadata = found.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    whole = isinstance(total, (int, float)) and not isinstance(total, bool) and 0 < total < 2**63
    return Index(name, listed_files, int(total) if whole and total is not None else None)


def _weight_files(place: str, own: Iterable[str], index: Index | None) -> list[str]:
    """The safetensors files that hold the model, once: an index decides, then the usual names."""
    there = sorted(name for name in own if name.endswith(".safetensors"))
    if index:
        wanted = {name for name in index.files.values() if name.endswith(".safetensors")}
        missing = sorted(wanted - {*there})
        if missing and len(missing) < len(wanted):
            raise IngestError(
                f"{place}: found {len(wanted) - len(missing)} of {len(wanted)} files of {index.name}, "
                f"expected all or none; missing: {listed(missing, 2)}"
            )
        return [] if missing else sorted(wanted)
    sets: dict[str, list[str]] = {}
    for name in there:
        shard = _SHARD.match(name.removesuffix(".safetensors"))
        sets.setdefault(shard["stem"] if shard else name.removesuffix(".safetensors"), []).append(name)
    sets = {stem: names for stem, names in sets.items() if "adapter" not in stem} or sets
    usual = next((stem for stem in ("model", "diffusion_pytorch_model", "consolidated") if stem in sets), None)
    if usual is None and len(sets) > 1:
        raise IngestError(f"{place}: found weights named {listed(sets, 3)}, expected one set, such as model.safetensors")
    chosen = sets[usual] if usual else next(iter(sets.values()), [])
    counts = {int(shard["count"]) for name in chosen if (shard := _SHARD.match(name.removesuffix(".safetensors")))}
    if counts and counts != {len(chosen)}:
        raise IngestError(f"{place}: found {len(chosen)} shards, expected {max(counts)}, as {chosen[0]} says")
    return chosen


def _check_index(place: str, index: Index, holders: Mapping[str, str]) -> tuple[str, ...]:
    """Refuse an index that names tensors which its files do not hold; note those that it leaves out."""
    for name, file in index.files.items():
        if holders.get(name) != file:
            found = holders.get(name, "no file")
            raise IngestError(f"{place}: {index.name}: found {brief(name)} in {found}, expected it in {brief(file)}")
    extra = [name for name in holders if name not in index.files]
    return (f"{index.name} leaves out {listed(extra, 2)}, which its files hold; they are counted",) if extra else ()
