"""Headers of safetensors files: name, type, shape and bytes of every tensor, without a byte of the weights.

A file begins with eight bytes, the length of a JSON object that follows: `{name: {dtype, shape, data_offsets}}`. The data fill
the rest of the file without gaps, so a file that was cut off, or a header that does not match its file, is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ingest.errors import IngestError, brief
from ingest.files import open_regular

#: Length of a header at most, as in the format's own reader.
MOST_HEADER_BYTES = 100_000_000
#: Bits of one element, by type.
BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
}  # fmt: skip
#: Folders below that of a release in which the parts of a pipeline lie.
DEEPEST = 1


class ReleaseFiles(Protocol):
    """The files of a release, wherever they are.

    Attributes:
        place: the folder, for messages.
        sizes: bytes of each file, by its path within the folder.
    """

    place: str
    sizes: Mapping[str, int]

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a file; fewer where it ends.

        Raises:
            IngestError: it cannot be read.
        """


class LocalFiles:
    """The files of a folder, and of the folders in it.

    Raises:
        IngestError: the folder cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self._folder = folder
        try:
            self.sizes: Mapping[str, int] = dict(self._listed(folder, DEEPEST))
        except OSError as error:
            raise IngestError(f"{folder}: cannot be read: {error.strerror}, expected the folder of a model") from None

    def _listed(self, folder: Path, deeper: int) -> list[tuple[str, int]]:
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
    """A tensor in a file.

    Attributes:
        name: such as `model.layers.0.mlp.up_proj.weight`.
        dtype: one of `BITS`.
        shape: its axes; empty for a single number.
        bytes: in the file.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Stored elements; packed ones count as one."""
        return math.prod(self.shape)


def read_header(files: ReleaseFiles, name: str) -> list[StoredTensor]:
    """Return the tensors of a file, in the order of their data.

    Raises:
        IngestError: no safetensors file, one that was cut off, or a header that does not match its data.
    """
    place, size = f"{files.place}/{name}", files.sizes[name]
    first = files.read(name, 0, 8)
    if len(first) < 8:
        raise _refused(place, f"{size:,} bytes", "at least 8, the length of the header")
    length = int.from_bytes(first, "little")
    if length > min(MOST_HEADER_BYTES, size - 8):
        most = f"at most {min(MOST_HEADER_BYTES, size - 8):,} in a file of {size:,} bytes"
        raise _refused(place, f"a header of {length:,} bytes", most)
    tensors, end = _tensors(_entries(files.read(name, 8, length), place), place)
    if 8 + length + end != size:
        whole = f"{8 + length + end:,} as its header says: the file was cut off or is another one"
        raise _refused(place, f"{size:,} bytes", whole)
    return tensors


def _refused(place: str, found: str, expected: str) -> IngestError:
    return IngestError(f"{place}: found {found}, expected {expected}")


def _entries(raw: bytes, place: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _refused(place, f"a header that is no whole JSON ({brief(str(error))})", "a safetensors file") from None
    if not isinstance(found, dict):
        raise _refused(place, f"a header {brief(found)}", "a table of tensors")
    found.pop("__metadata__", None)
    return found


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
            known = "dtype, shape and data_offsets of a known type"
            raise _refused(place, f"{brief(name)}: {brief(entry)}", known)
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
