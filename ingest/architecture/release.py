"""The files of a release that hold its weights: headers of safetensors files, shards, indexes, the parts of a pipeline.

Of the weights not a byte is read. A file that was cut off, or a header that does not match its file, is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ingest.errors import IngestError, brief, listed
from ingest.files import open_regular, refuse_outside

MOST_HEADER_BYTES = 100_000_000  # Length of a header at most, as in the format's own reader
#: Bits of one element, by type.
BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
}  # fmt: skip
DEEPEST = 1  # Folders below that of a release in which the parts of a pipeline lie


class ReleaseFiles(Protocol):
    """The files of a release, wherever they are."""

    place: str  # the folder, for messages
    sizes: Mapping[str, int]  # bytes of each file, by its path within the folder

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file; fewer where it ends. Raises IngestError: it cannot be read."""


class LocalFiles:
    """The files of a folder, and of the folders in it. Raises IngestError: the folder cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self._folder = folder
        try:
            self.sizes: Mapping[str, int] = dict(self._listed(folder, DEEPEST))
        except OSError as error:
            raise IngestError(f"{folder}: cannot be read: {error.strerror}, expected the folder of a model") from None

    def _listed(self, folder: Path, deeper: int) -> list[tuple[str, int]]:
        refuse_outside(folder)
        found = []
        for path in sorted(folder.iterdir()):
            if path.is_file():
                found.append((str(path.relative_to(self._folder)), path.stat().st_size))
            elif deeper and path.is_dir() and not path.name.startswith("."):
                found += self._listed(path, deeper - 1)
        return found

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file."""
        try:
            with open_regular(self._folder / name) as file:
                file.seek(offset)
                return file.read(size)
        except OSError as error:
            raise IngestError(f"{self.place}/{name}: cannot be read: {error.strerror}") from None


class StoredTensor(NamedTuple):
    """A tensor in a file."""

    name: str  # such as `model.layers.0.mlp.up_proj.weight`
    dtype: str  # one of `BITS`
    shape: tuple[int, ...]  # its axes; empty for a single number
    bytes: int  # in the file


def read_header(files: ReleaseFiles, name: str) -> list[StoredTensor]:
    """Return the tensors of a safetensors file, in the order of their data.

    A file begins with eight bytes, the length of a JSON object that follows: `{name: {dtype, shape, data_offsets}}`. The data
    fill the rest of the file without gaps.

    Raises IngestError: no safetensors file, one that was cut off, or a header that does not match its data.
    """
    place, size = f"{files.place}/{name}", files.sizes[name]
    first = files.read(name, 0, 8)
    if len(first) < 8:
        raise _refused(place, f"{size:,} bytes", "at least 8, the length of the header")
    length, most = int.from_bytes(first, "little"), min(MOST_HEADER_BYTES, size - 8)
    if length > most:
        raise _refused(place, f"a header of {length:,} bytes", f"at most {most:,} in a file of {size:,} bytes")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        entries = json.loads(files.read(name, 8, length).decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _refused(place, f"a header that is no whole JSON ({brief(str(error))})", "a safetensors file") from None
    if not isinstance(entries, dict):
        raise _refused(place, f"a header {brief(entries)}", "a table of tensors")
    entries.pop("__metadata__", None)
    tensors, end = _tensors(entries, place)
    if 8 + length + end != size:
        whole = f"{8 + length + end:,} as its header says: the file was cut off or is another one"
        raise _refused(place, f"{size:,} bytes", whole)
    return tensors


def _refused(place: str, found: str, expected: str) -> IngestError:
    return IngestError(f"{place}: found {found}, expected {expected}")


def _tensors(entries: Mapping[str, Any], place: str) -> tuple[list[StoredTensor], int]:
    """The tensors in the order of their data, and where the data end."""
    placed = []
    for name, entry in entries.items():
        try:
            dtype, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
            bits = BITS[dtype]
            good = all(type(width) is int and width >= 0 for width in (*shape, start, end))
        except (TypeError, KeyError, ValueError):
            good = False
        if not good:
            raise _refused(place, f"{brief(name)}: {brief(entry)}", "dtype, shape and data_offsets of a known type")
        if math.prod(shape) * bits != (end - start) * 8:
            stated = f"{math.prod(shape) * bits / 8:,.0f} for {dtype} {list(shape)}"
            raise _refused(place, f"{brief(name)}: {end - start:,} bytes", stated)
        placed.append((start, end, StoredTensor(name, dtype, shape, end - start)))
    placed.sort(key=lambda item: item[:2])
    at = 0
    for start, end, tensor in placed:
        if start != at:
            raise _refused(place, f"{brief(tensor.name)} at byte {start:,} of the data", f"{at:,}: data without gap or overlap")
        at = end
    return [tensor for _, _, tensor in placed], at


#: Of these the first that is there lists the files of the weights.
INDEXES = (
    "model.safetensors.index.json",
    "diffusion_pytorch_model.safetensors.index.json",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.bin.index.json",
)
MOST_INDEX_BYTES = 100_000_000  # No index comes near this size
#: No config comes near this size; a list of layers that are not quantized makes some of them megabytes long.
MOST_CONFIG_BYTES = 16_000_000
_SHARD = re.compile(r"^(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})$")


class Index(NamedTuple):
    """An index: which file holds which tensor."""

    name: str  # of the index
    files: Mapping[str, str]  # by tensor
    total_bytes: int | None  # `total_size`; None where it is missing or 0, which real indexes have


class Release(NamedTuple):
    """The weights of one model, as far as its files are there."""

    place: str  # its folder
    tensors: tuple[StoredTensor, ...]  # from the headers; empty if only an index is there
    files: int  # how many files hold them
    listing: Index | None  # its index; None if there is none
    notes: tuple[str, ...] = ()  # what a reader of the result should know

    @property
    def bytes(self) -> int | None:
        """Bytes of all tensors, from the headers or the index; None if not known."""
        if self.tensors:
            return sum(tensor.bytes for tensor in self.tensors)
        return self.listing.total_bytes if self.listing else None


def read_json(files: ReleaseFiles, name: str, expected: str, most: int) -> dict[str, Any]:
    """Return the JSON object in a file of a release; `Infinity` and `NaN` are numbers.

    Raises IngestError: a larger file, or no JSON object.
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

    Raises IngestError: some shards are missing, a file was cut off, or the index and the headers disagree.
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
    release = Release(place, tuple(tensors.values()), len(names), index)
    if index is None:
        return release
    for name, file in index.files.items():
        if holders.get(name) != file:
            found = holders.get(name, "no file")
            raise IngestError(f"{place}: {index.name}: found {brief(name)} in {found}, expected it in {brief(file)}")
    extra = [name for name in holders if name not in index.files]
    note = f"{index.name} leaves out {listed(extra, 2)}, which its files hold; they are counted"
    return release._replace(notes=(note,)) if extra else release


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
