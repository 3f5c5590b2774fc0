"""Samples in arrays: NumPy, HDF5, Zarr; and zip, which npz and stores of Zarr are. Shapes are read, no element is."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ingest.corpus.files.names import content_suffix, first_line, is_aside
from ingest.corpus.files.source import BorrowedSource, Source, Unreadable, decompressed, decompressed_to_disk
from ingest.corpus.formats import FolderFormat, SampleFormat, SizesAndCounts, doubt_members, even_shares, stored_shares
from ingest.corpus.types import CorpusFile
from ingest.errors import IngestError

#: names of the parts of a data set, of which each has arrays of its own
SPLITS = re.compile(r"(?:^|[/_.-])(train|training|val|valid|validation|dev|eval|test|testing)(?:$|[/_.-])", re.IGNORECASE)
ALONG = (
    "samples in arrays (NumPy, HDF5, Zarr) are counted along the axis that all arrays share, else along the first axis of the "
    "largest, or as numbered groups; if each file is one sample, use mean_file_bytes"
)


#: A group whose name has a number: the first such part of the name of an array, with those above it.
NUMBERED = re.compile(r"(?:[^/\d]*/)*[^/\d]*\d[^/]*/")
#: Kinds of elements that are each a sample: objects, texts and records, as NumPy names them.
ITEMS = frozenset("OSUV")


class Array(NamedTuple):
    """The shape of an array, its bytes, and the kind of its elements: O for objects, S and U for texts, V for records."""

    shape: tuple[int, ...]
    size: int
    kind: str = ""


def samples_along(arrays: Mapping[str, Array]) -> int:
    """Return the number of samples that arrays hold, by their names and shapes."""
    parts: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        part = SPLITS.search(name)
        parts.setdefault(part[1].lower() if part else "", {})[name] = array
    shared = {part: {array.shape[0] for array in inner.values() if array.shape} for part, inner in parts.items()}
    if len(parts) > 1 and all(len(lengths) == 1 for part, lengths in shared.items() if part):
        return sum(length for part, lengths in shared.items() if part for length in lengths)
    wide = {name: array for name, array in arrays.items() if array.shape}
    if not wide:
        return 1
    groups = {found[0] for name in wide if (found := NUMBERED.match(name))}
    if len(groups) > 1 and all(map(NUMBERED.match, wide)) and len({re.sub(r"\d+", "#", one) for one in groups}) == 1:
        return len(groups)
    lengths = {array.shape[0] for array in wide.values()}
    largest = max(wide.values(), key=lambda array: (array.size, len(array.shape)))
    if len(lengths) == 1:
        alone = len(arrays) == 1 and len(largest.shape) == 1 and largest.kind not in ITEMS
        return 1 if alone or (len(wide) == 1 < len(arrays)) else largest.shape[0]
    alike, repeated = Counter[str](), Counter[str]()
    for name, array in wide.items():
        pattern = re.sub(r"\d+", "#", name)
        alike[pattern] += 1
        repeated[pattern] += array.size
    most = repeated.most_common(1)[0][0]
    if alike[most] > 1:
        return alike[most]
    labels = {array.shape[0] for array in wide.values() if len(array.shape) == 1}
    if largest.shape[0] not in labels and largest.shape[-1] in labels:
        return largest.shape[-1]
    return 1 if len(wide) < len(arrays) else largest.shape[0]


def header_of(file: Any, path: str) -> Array:
    """The shape of an array that begins with the header of NumPy. Raises Unreadable: it does not."""
    from numpy.lib import format as npy

    try:
        version = npy.read_magic(file)
        shape, _, kind = {(1, 0): npy.read_array_header_1_0}.get(version, npy.read_array_header_2_0)(file)
    except Exception as error:
        # the header is parsed as Python, after it was decompressed: any error may occur, and none may end in a traceback
        raise Unreadable(path, f"broken or truncated NumPy array: {first_line(error)}") from None
    return Array(shape, prod(shape) * kind.itemsize, "O" if kind.hasobject else kind.kind)


def npy_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples along the first axis; a file with one axis is one sample."""
    array = header_of(source, file.path)
    if array.kind != "O" and source.tell() + array.size > source.size:
        raise Unreadable(file.path, "truncated: the array is longer than the file")
    return even_shares(file.stored_bytes, samples_along({"": array}))


@contextmanager
def opened_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    """A zip archive. Raises Unreadable: it is broken."""
    try:
        with zipfile.ZipFile(BorrowedSource(source)) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise Unreadable(source.path, f"broken or truncated zip: {first_line(error)}") from None


def npz_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples along the axis that the arrays share."""
    arrays = {}
    with opened_zip(source) as archive:
        for member in archive.infolist():
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = header_of(content, file.path)
    return even_shares(file.stored_bytes, samples_along(arrays) if arrays else 0)


def zip_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Members, each a sample as a file in a folder is; or what the store of Zarr holds that they are."""
    with opened_zip(source) as archive:
        marked = {one.filename: archive.read(one) for one in archive.infolist() if one.filename.endswith(MARKS)}
        members = [one for one in archive.infolist() if not one.is_dir() and not is_aside(one.filename)]
    if marked and (samples := zarr_samples(marked)):
        source.caution(ALONG)
        return even_shares(file.stored_bytes, samples)
    doubt_members(source, "zip", Counter(content_suffix(one.filename) for one in members))
    return stored_shares(((one.compress_size + len(one.filename) + ZIP_HEAD, 1) for one in members), file.stored_bytes)


#: bytes of the head of a member, without its name
ZIP_HEAD = 30


def hdf5_samples(source: Source, file: CorpusFile) -> SizesAndCounts:
    """Samples along the axis that the data sets share, else along the first axis of the largest one."""
    try:
        import h5py
    except ImportError:
        raise IngestError(f"'{file.path}': HDF5 needs the package h5py: pip install 'ingest-sizing[formats]'") from None
    arrays = {}

    def see(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = Array(item.shape or (), item.id.get_storage_size(), item.dtype.kind)

    try:
        with h5py.File(BorrowedSource(source), "r") as hdf5:
            hdf5.visititems(see)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise Unreadable(file.path, f"broken or truncated HDF5: {str(error)[:200]}") from None
    return even_shares(file.stored_bytes, samples_along(arrays))


def zarr_samples(contents: Mapping[str, bytes]) -> int | None:
    """Samples of a store: along the axis that its arrays share; None where no array is described."""
    arrays = {}
    for path, content in contents.items():
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            continue
        shape = found.get("shape") if isinstance(found, dict) else None
        if isinstance(shape, list) and all(isinstance(length, int) for length in shape):
            arrays[path.rpartition("/")[0]] = Array(tuple(shape), prod(shape))
    return samples_along(arrays) if arrays else None


#: tag of a page that is a smaller copy of another, or its mask
SUBFILE_TYPE, COPY_OR_MASK = 254, 0b101


def tiff_pages(source: Source, compression: str) -> int:
    """The pages of a TIFF, without smaller copies and masks, by its chain of directories; 0 where it is none."""
    pages, seen = 0, {0}
    with decompressed_to_disk(source, compression) if compression else nullcontext(source) as whole:
        head = whole.read(16)
        order = {b"II": "<", b"MM": ">"}.get(head[:2], "")
        number, entry, link, first = ("Q", "HHQ4s4x", "Q", 8) if b"\x2b" in head[2:4] else ("H", "HHI4s", "I", 4)
        try:
            (at,) = struct.unpack_from(order + link, head, first)
            while order and at not in seen:
                seen.add(at)
                whole.seek(at)
                (entries,) = struct.unpack(order + number, whole.read(struct.calcsize(order + number)))
                directory = whole.read(entries * struct.calcsize(order + entry))
                kinds = [row[3] for row in struct.iter_unpack(order + entry, directory) if row[0] == SUBFILE_TYPE]
                pages += not any(bits & COPY_OR_MASK for kind in kinds for bits in kind)
                (at,) = struct.unpack(order + link, whole.read(struct.calcsize(link)))
        except struct.error:
            return pages
    return pages


def nifti_volumes(source: Source, compression: str) -> int:
    """The volumes of a NIfTI file, by the axes of its header after the third; 0 where it is none."""
    head = (decompressed(source, compression) if compression else source).read(348)
    for order, (size, form, at) in product("<>", ((348, "8h", 40), (540, "8q", 16))):
        if len(head) == 348 and struct.unpack_from(f"{order}i", head) == (size,):
            axes, *lengths = struct.unpack_from(order + form, head, at)
            return prod(lengths[3 : max(axes, 3)])
    return 0


#: How many images or volumes a file holds, by its suffix.
STACKS = ((".tif", tiff_pages), (".tiff", tiff_pages), (".nii", nifti_volumes))
MARKS = (".zgroup", ".zarray", "zarr.json")
SAMPLES = (
    SampleFormat("NumPy", npy_samples, (".npy",), magic=b"\x93NUMPY", note=ALONG),
    SampleFormat("npz", npz_samples, (".npz",), note=ALONG),
    SampleFormat("zip", zip_samples, (".zip",)),
    SampleFormat("HDF5", hdf5_samples, (".h5", ".hdf5", ".he5", ".nc4"), magic=b"\x89HDF\r\n\x1a\n", note=ALONG),
)
FOLDERS = (FolderFormat("Zarr", zarr_samples, MARKS, note=ALONG),)
