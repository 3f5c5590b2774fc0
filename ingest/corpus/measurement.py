"""The result of `ingest measure`: counts, provenance and skipped files.

With `--samples`, it is the number and the sizes of samples, found by their framing without decoding, and of files.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.catalog.store import Catalog
from ingest.corpus.counting.ledger import GroupTallies, Shards
from ingest.corpus.files.listing import list_inputs
from ingest.corpus.files.names import MARKUP, TEXTS, content_suffix, short_title
from ingest.corpus.files.source import Meter, Unreadable
from ingest.corpus.formats import ASIDE, NOT_READ, WHOLE_FILE, even_shares, folders_in, recognized, root_above, samples_of
from ingest.corpus.types import (
    CorpusFile,
    LeftOut,
    Progress,
    SkippedFile,
    Vocabulary,
    extension_of,
    share_left_out,
)
from ingest.engine.messages import Message, rule_of
from ingest.engine.question import Question, shown
from ingest.engine.registry import solve
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import EMPTY, Input
from ingest.errors import IngestError
from ingest.files import write_whole
from ingest.units import display

if TYPE_CHECKING:
    from ingest.corpus.counting.ledger import GroupTallies, Totals
    from ingest.corpus.estimators import RatioEstimate
    from ingest.corpus.sample import GroupEstimate, Survey

#: rows by name of the table
Tables = Mapping[str, list[dict[str, Any]]]
#: what counting yields, by the name of the quantity
COUNTED = {"tokens": "tokens", "corpus_bytes": "text_bytes"}
COUNTED |= {name: name for name in ("stored_bytes", "files", "documents", "bytes_read")}
#: What `measure` answers.
QUESTION = Question(
    "measure",
    shown(
        "bytes_per_token", "tokens", "corpus_bytes", "stored_bytes", "tokenized_bytes", "files", "documents",
        "tokens_per_document", "bytes_per_document", "stored_bytes_per_file", "stored_share", "tokenized_share",
        "unreadable_bytes", "bytes_read", "files_skipped", "documents_skipped",
    ),
    (
        ("Found", {"bytes_per_token": "{}", "tokens": "{}", "corpus_bytes": "{} of text"}),
        ("Found", {"corpus_bytes": "{} of text", "stored_bytes": "{} stored", "files": "{}"}),
    ),
)  # fmt: skip


class CorpusMeasurement(Answer):
    """A measured corpus."""

    tokenizer: Mapping[str, Any] = EMPTY  # name, size, sha256 and source of the vocabulary
    engine: str = ""  # what counted
    date: str = ""  # UTC, when the measurement ended
    design: Mapping[str, Any] = EMPTY  # exact, or how the sample was drawn
    manifest_hash: str = ""  # of the paths, sizes and stamps of the files
    partial: str = ""  # why this is not the whole corpus, where it is not
    speed: Mapping[str, float] = EMPTY  # bytes of text, seconds, workers of a whole count; none of a sample or a resumed count

    @property
    def left_out(self) -> str:
        """What was left out, in a line; nothing where nothing was."""
        named = [row for name in ("files_skipped", "parts_skipped") for row in self.tables.get(name, ())]
        if not named:
            return ""
        return f"{len(named):,} left out, expected none; the first is {named[0]['path']}: {named[0]['reason']}"

    def to_dict(self) -> dict[str, Any]:
        own = ("tokenizer", "engine", "date", "design", "manifest_hash", "partial", "speed")
        return {**super().to_dict(), **{name: getattr(self, name) for name in own}}


class CorpusPart(CorpusMeasurement):
    """A part of a measurement: no results, but what `--merge` adds up to some."""

    part: str = ""  # as `--part` has it
    ledger: bytes = b""  # what its file holds

    def write(self, path: str | Path) -> None:
        """Write the file of the part whole. Raises IngestError: it cannot be written."""
        write_whole(path, self.ledger)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "part": self.part, "ledger": self.ledger.decode()}


def counted_exactly(
    totals: Totals, named: str, vocabulary: Vocabulary, notes: tuple[str, ...], partial: str = "", why: str = "", **about: Any
) -> CorpusMeasurement:
    """The answer where every file was counted, or every file up to an interruption; titles name the corpus so.

    Raises IngestError: no file counts.
    """
    total = totals.total
    if not total.files and not partial:
        raise IngestError(nothing_counted(named, totals.skipped.named))
    if not total.text_bytes and not partial:
        raise IngestError(f"{named}: {total.files:,} file{'s hold' if total.files > 1 else ' holds'} no text, expected some")
    given = {name: Input(getattr(total, column), origin="measured") for name, column in COUNTED.items()}
    given["files_skipped"] = Input(totals.skipped.count, origin="measured")
    given["documents_skipped"] = Input(totals.parts.documents, origin="measured")
    given["unreadable_bytes"] = Input(totals.skipped.stored_bytes, origin="measured")
    # a ratio needs something to divide by
    divides = {"bytes_per_token": total.tokens, "stored_share": total.text_bytes, "tokenized_share": total.stored_bytes}
    divides |= dict.fromkeys(("tokens_per_document", "bytes_per_document"), total.documents)
    divides |= {"stored_bytes_per_file": total.files, "unreadable_bytes": totals.skipped.stored_bytes}
    tables = {
        "folders": _breakdown("folder", totals.folders),
        "extensions": _breakdown("extension", totals.extensions),
        "files_skipped": skipped_rows(totals.skipped),
        "parts_skipped": skipped_rows(totals.parts),
    }
    names = [name for name in QUESTION.names if divides.get(name, 1)]
    notes += (*left_out(totals.skipped, totals.skipped.stored_bytes, total.stored_bytes, totals.parts, total.documents),)
    about |= {"title": f"{named}: counted exactly with {vocabulary.name}{why}", "design": {"design": "exact"}}
    return answered(given, names, tables, vocabulary, warnings=notes, partial=partial, **about)


def nothing_counted(named: str, skipped: Sequence[SkippedFile]) -> str:
    """Return the message for a corpus in which no file counts."""
    if not skipped:
        return f"{named}: found no file, expected at least one"
    first = skipped[0]
    return f"{named}: nothing could be counted: {len(skipped):,} skipped, the first is {first.path}: {first.reason}"


def measured_by_sample(
    sampled: Survey, skipped: Sequence[SkippedFile], vocabulary: Vocabulary, **about: Any
) -> CorpusMeasurement:
    """The answer where a part was drawn; `skipped` could not even be listed."""
    given: dict[str, Input] = {}
    for name, figure in sampled.figures.items():
        value, low, high = _ends(name, figure)
        given[name] = Input(value, origin="measured") if low == high else Input(value, low, high, "measured")
    out, parts = LeftOut(), LeftOut()
    out.note(*skipped, *sampled.skipped)
    parts.note(*sampled.parts)
    given["bytes_read"] = Input(sampled.reader.bytes_read, origin="measured")
    given["files_skipped"] = Input(out.count, origin="measured")
    lost = left_out(out, given["unreadable_bytes"].value, given["stored_bytes"].value, parts, sampled.documents_drawn)
    about["warnings"] += (*lost,)
    names = [name for name in QUESTION.names if name in given or name == "tokenized_bytes"]
    tables = {
        "folders": [_row("folder", row) for row in sampled.groups("folders")],
        "extensions": [_row("extension", row) for row in sampled.groups("extensions")],
        "files_skipped": skipped_rows(out),
        "parts_skipped": skipped_rows(parts),
        "design": sampled.design,
    }
    design = {"design": "sampled"} | {name: getattr(sampled, name) for name in ("seed", "tolerance", "confidence", "met")}
    return answered(given, names, tables, vocabulary, design=design, partial=sampled.partial, **about)


#: How a reason begins that names a field, and what counts such files too.
NO_FIELD = re.compile(r"no (column|field) '")
SEVERAL = "; --text-field takes several names, such as text,content: the first that a file has counts"


def left_out(
    files: LeftOut, lost: float, stored: float, parts: LeftOut | None = None, documents: float = 0
) -> Iterator[Message]:
    """What was left out beyond a small share, or of unknown size: `lost` bytes beside those stored, and documents.

    >>> out = LeftOut()
    >>> out.note(SkippedFile("a.gz", "broken", stored_bytes=29), SkippedFile("b.gz", "broken", stored_bytes=1))
    >>> print(*left_out(out, 30, 70))
    30 % of the stored bytes are left out, 2 files, such as a.gz: broken
    """
    unsized = [one for one in files.named if one.stored_bytes is None]
    told: list[tuple[str, SkippedFile]] = []
    if share := share_left_out(lost, stored):
        example = max(files.named, key=lambda one: one.stored_bytes or 0)
        told.append((f"{share * 100:.3g} % of the stored bytes are left out, {display(files.count, 'file')}", example))
    elif unsized:
        told.append((f"{len(unsized):,} of unknown size left out", unsized[0]))
    if parts and (share := share_left_out(parts.documents, documents)):
        several = f"{share * 100:.3g} % of the documents in files that count are left out"
        told.append((several, max(parts.named, key=lambda one: one.number)))
    for what, one in told:
        advice = SEVERAL if NO_FIELD.search(one.reason) else ""
        yield Message(f"{what}, such as {one.path}: {one.reason}{advice}", rule=PART)


def answered(
    given: dict[str, Input], names: Sequence[str], tables: Tables, vocabulary: Vocabulary, **about: Any
) -> CorpusMeasurement:
    """The answer with these quantities, of which those of these names are results."""
    known = Quantities({**given, "vocabulary": Input(vocabulary.size, origin="measured", note=f"ids of {vocabulary.name}")})
    record = {name: getattr(vocabulary, name) for name in ("name", "size", "sha256", "source")}
    endings = [row["extension"] for row in tables.get("extensions", ())]
    # Behind `:2,` stand the flags of a message of a Maildir.
    marked = [one for one in endings if content_suffix(f"a{one}") in MARKUP or ":2," in one]
    if marked:
        told = f"tags, headers and keys in files of {', '.join(marked)} count as text: what is extracted from them is shorter"
        about["warnings"] = tuple(dict.fromkeys((*about["warnings"], told)))
    return measurement_of(QUESTION, known, names, tables, tokenizer=record, **about)


def measurement_of(
    question: Question,
    known: Quantities,
    names: Sequence[str],
    tables: Tables,
    title: str,
    catalog: Catalog,
    warnings: tuple[str, ...],
    **about: Any,
) -> CorpusMeasurement:
    """The result with these quantities and those of the tables that have rows; `about` are attributes of the result."""
    results, unknown = known.results(names)
    filled = {name: rows for name, rows in tables.items() if rows}
    about["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    return CorpusMeasurement(question, title, {}, known, results, unknown, filled, warnings, catalog, **about)


def _ends(name: str, figure: RatioEstimate) -> tuple[float, ...]:
    """A figure and the ends of its interval; what is counted is whole."""
    return tuple(end if name == "bytes_per_token" else round(end) for end in figure)


def _row(kind: str, row: GroupEstimate) -> dict[str, Any]:
    """A folder or extension of a sample; what too few draws fell into has no figures."""
    shown = {kind: row.name, "files": row.files, "stored_bytes": row.stored_bytes, "draws": row.draws}
    for name in ("corpus_bytes", "tokens", "bytes_per_token"):
        figure = getattr(row, name)
        value, low, high = _ends(name, figure) if figure is not None else (None, None, None)
        shown |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {**shown, "note": row.note}


def _breakdown(kind: str, sums: GroupTallies) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, tally in sorted(sums.tallies().items(), key=lambda item: (-item[1].text_bytes, item[0])):
        counts = {"corpus_bytes": tally.text_bytes, "tokens": tally.tokens}
        ratio = float(solve("bytes_per_token", counts)) if tally.tokens else None
        row = {kind: name, "files": tally.files, "documents": tally.documents, "stored_bytes": tally.stored_bytes}
        rows.append({**row, **counts, "bytes_per_token": ratio})
    return rows


def skipped_rows(skipped: LeftOut) -> list[dict[str, Any]]:
    """What was left out, as rows; a last one says how many more there were than are named."""
    rows = [{"path": item.path, "reason": item.reason} for item in skipped.named]
    more = skipped.count - len(rows)
    return rows + ([{"path": "", "reason": f"{more:,} more that are not named"}] if more else [])


#: files that are one text each, which often describe others
TEXT = "text"
#: the rule of cautions about the number of samples
CAUTION = "W54"
#: the rule of what is left out
PART = "W04"
#: distinct sizes that are counted exactly; with more, sizes are rounded
MOST_SIZES = 1_000_000
#: binary digits that rounding keeps: accurate to a thousandth
KEPT_BITS = 10
#: a sample is small below the largest request that most clients send
SMALL = 2**20
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


class SizeCounts:
    """The distribution of sizes: their number, sum and largest."""

    def __init__(self) -> None:
        self.count = self.bytes = self.largest = 0
        self.rounded = False  # with too many sizes, percentiles are accurate to a thousandth only
        self.times, self._bytes = Counter[int](), Counter[int]()  # by size, and by power of two
        self._most = MOST_SIZES

    def add(self, size: int, times: int = 1) -> None:
        """Add a size, `times` over."""
        self.count += times
        self.bytes += size * times
        self.largest = max(self.largest, size)
        self._bytes[size.bit_length()] += size * times
        self.times[rounded(size) if self.rounded else size] += times
        self._round(len(self.times) > self._most)

    def merge(self, other: SizeCounts) -> None:
        """Add the sizes of another distribution, as if each were added alone."""
        self.count += other.count
        self.bytes += other.bytes
        self.largest = max(self.largest, other.largest)
        self._bytes.update(other._bytes)
        self._round(other.rounded)
        for size, times in other.times.items():
            self.times[rounded(size) if self.rounded else size] += times
        self._round(len(self.times) > self._most)

    def _round(self, needed: bool) -> None:
        """Round all sizes where that is needed and not done."""
        if needed and not self.rounded:
            self.rounded = True
            before, self.times = self.times, Counter()
            for exact, number in before.items():
                self.times[rounded(exact)] += number

    def to_entry(self) -> list[Any]:
        """The distribution in JSON."""
        return [self.count, self.bytes, self.largest, self.rounded, list(self.times.items()), list(self._bytes.items())]

    @classmethod
    def from_entry(cls, entry: Sequence[Any]) -> SizeCounts:
        """The distribution that `to_entry` gave."""
        made = cls()
        made.count, made.bytes, made.largest, made.rounded, times, sizes = entry
        made.times.update(dict(times))
        made._bytes.update(dict(sizes))
        return made

    def percentiles(self, percentages: Sequence[int] = PERCENTILES) -> dict[int, int]:
        """Return, for each percentage, the smallest size that this percentage of sizes does not exceed."""
        sizes = sorted(self.times)
        ends = list(accumulate(self.times[size] for size in sizes))
        return {percent: sizes[bisect_left(ends, math.ceil(percent * self.count / 100))] for percent in percentages}

    def rows(self) -> list[dict[str, Any]]:
        """Return the percentiles and the largest size, as rows."""
        named = {f"p{percent}": size for percent, size in self.percentiles().items()}
        return [{"size": name, "bytes": size} for name, size in {**named, "max": self.largest}.items()]

    def bins(self) -> list[dict[str, int]]:
        """Return the histogram over powers of two."""
        counts, ends = Counter[int](), dict[int, tuple[int, int]]()
        for size, times in sorted(self.times.items()):
            place = size.bit_length()
            counts[place] += times
            ends[place] = (ends.get(place, (size, size))[0], size)
        return [
            {"from": 2**place // 2, "below": max(2**place, 1), "count": count, "bytes": self._bytes[place],
             "smallest": ends[place][0], "largest": ends[place][1]}
            for place, count in sorted(counts.items())
        ]  # fmt: skip


def rounded(size: int) -> int:
    """Return a size rounded down to its ten leading binary digits."""
    dropped = max(size.bit_length() - KEPT_BITS, 0)
    return size >> dropped << dropped


#: most extensions with a row of their own
MOST_ROWS = 1000
#: What `measure --samples` answers.
SIZES_QUESTION = Question(
    "measure",
    shown(
        "sample_bytes", "samples", "files", "dataset_bytes", "samples_per_file", "mean_file_bytes", "small_file_share",
        "unreadable_bytes", "bytes_read", "files_skipped",
    ),
    (("Found", {"sample_bytes": "{}", "samples": "{}", "stored_bytes": "{} stored"}),),
)  # fmt: skip


@dataclass
class SampleSizes:
    """Sizes of samples and files."""

    samples: SizeCounts = field(default_factory=SizeCounts)  # their sizes
    files: SizeCounts = field(default_factory=SizeCounts)  # their sizes
    forms: Counter[str] = field(default_factory=Counter)  # files by framing
    kinds: dict[str, Counter[str]] = field(default_factory=dict)  # samples by extension, of each framing and of texts
    parts: Counter[str] = field(default_factory=Counter)  # images and volumes by extension, in files of several that count once
    extensions: GroupTallies = field(default_factory=lambda: GroupTallies(MOST_ROWS))  # files, samples, bytes by extension
    skipped: LeftOut = field(default_factory=LeftOut)  # broken files
    notes: dict[str, None] = field(default_factory=dict)  # cautions of the formats and of their readers
    bytes_read: int = 0  # to find the samples

    def add(self, form: str, extension: str, files: Sequence[CorpusFile], counts: Mapping[int, int]) -> None:
        """Add what one file holds, or a folder that is one data set; files that describe others only to the tables."""
        stored, found = sum(file.stored_bytes for file in files), sum(counts.values())
        for size, times in counts.items():
            self.samples.add(size, times)
        for file in files if form != ASIDE.title else ():
            self.files.add(file.stored_bytes)
        self.forms[form] += len(files)
        kind = TEXT if form == WHOLE_FILE.title and content_suffix(f"a{extension}") in TEXTS else form
        if found:
            self.kinds.setdefault(kind, Counter())[extension] += found
        self.extensions.add(extension, (len(files), found, stored))

    def merge(self, other: SampleSizes) -> None:
        """Add what other files hold."""
        self.samples.merge(other.samples)
        self.files.merge(other.files)
        self.forms.update(other.forms)
        for kind, found in other.kinds.items():
            self.kinds.setdefault(kind, Counter()).update(found)
        self.parts.update(other.parts)
        for name, row in other.extensions.rows.items():
            self.extensions.add(name, row)
        self.skipped.note(*other.skipped.named)
        self.notes.update(other.notes)
        self.bytes_read += other.bytes_read

    def to_entry(self) -> dict[str, Any]:
        """The sizes in JSON."""
        return {
            "samples": self.samples.to_entry(),
            "files": self.files.to_entry(),
            "forms": self.forms,
            "kinds": self.kinds,
            "parts": self.parts,
            "extensions": self.extensions.rows,
            "skipped": self.skipped.named,
            "notes": [(str(note), rule_of(note)) for note in self.notes],
            "bytes_read": self.bytes_read,
        }

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> SampleSizes:
        """The sizes that `to_entry` gave."""
        made = cls(SizeCounts.from_entry(entry["samples"]), SizeCounts.from_entry(entry["files"]), Counter(entry["forms"]))
        made.kinds = {kind: Counter(found) for kind, found in entry["kinds"].items()}
        made.parts = Counter(entry["parts"])
        made.extensions = GroupTallies(len(entry["extensions"]))
        made.extensions.rows = entry["extensions"]
        made.skipped.note(*(SkippedFile(*row) for row in entry["skipped"]))
        made.bytes_read = entry["bytes_read"]
        made.notes = dict.fromkeys(Message(text, rule=rule) if rule else text for text, rule in entry["notes"])
        return made


def sizes_of(listing: Sequence[CorpusFile], skipped: Sequence[SkippedFile], moved: Callable[[int], object]) -> SampleSizes:
    """Measure every file, or skip it with the reason; only files that may hold several samples are opened."""
    sizes = SampleSizes()
    sizes.skipped.note(*skipped)
    divided = SizeShards(listing, [file.stored_bytes for file in listing])
    for number in range(len(divided)):
        sizes.merge(divided.sizes_of(number, moved))
    return sizes


class SizeShards:
    """The sizes of samples by the shards of a listing; the last shard is that of the folders that are one data set."""

    def __init__(self, listing: Sequence[CorpusFile], sizes: Sequence[int]) -> None:
        self.listing, self.shards = listing, Shards(listing, sizes)
        self.meter, self.broken = Meter(), LeftOut()
        self.folders = folders_in(listing, self.meter, self.broken.note)

    def __len__(self) -> int:
        return len(self.shards) + 1

    def stored_bytes(self, number: int) -> int:
        """The stored bytes of the files of a shard; none of the folders, whose files are not opened."""
        return self.shards.stored_bytes(number) if number < len(self.shards) else 0

    def sizes_of(self, number: int, moved: Callable[[int], object]) -> SampleSizes:
        """The sizes of a shard."""
        if number < len(self.shards):
            return _sizes_of_files(self.shards[number].found, self.folders, moved)
        sizes = SampleSizes(skipped=self.broken, bytes_read=self.meter.bytes_read)
        for found in self.listing if self.folders else ():
            if (root := root_above(found.path, self.folders)) is not None:
                self.folders[root].files.append(found)
        for root, folder in self.folders.items():
            stored = sum(file.stored_bytes for file in folder.files)
            sizes.notes.update(dict.fromkeys(filter(None, (folder.form.note,))))
            counts = dict(even_shares(stored, folder.samples))
            sizes.add(folder.form.title.lower(), extension_of(root.rstrip("/")), folder.files, counts)
        return sizes


def _sizes_of_files(files: Sequence[CorpusFile], folders: Mapping[str, object], moved: Callable[[int], object]) -> SampleSizes:
    sizes = SampleSizes(extensions=GroupTallies(len(files)))
    for found in files:
        moved(found.stored_bytes)
        if root_above(found.path, folders) is not None:
            continue
        meter, counts = Meter(), Counter[int]()
        try:
            form, file = recognized(found, meter)
            for size, times in samples_of(file, form, meter):
                counts[size] += times
        except Unreadable as error:
            sizes.skipped.note(SkippedFile(error.path, error.reason, stored_bytes=found.stored_bytes))
        else:
            told: list[str] = [Message(doubt, rule=CAUTION) for doubt in meter.notes]
            sizes.notes.update(dict.fromkeys((*told, *filter(None, (form.note,)))))
            sizes.add(form.title.lower(), extension_of(found.path), [found], counts)
            sizes.parts.update({extension_of(found.path): meter.parts} if meter.parts else {})
        sizes.bytes_read += meter.bytes_read
    return sizes


#: extensions that a caution names
MOST_NAMED = 5


def cautions(sizes: SampleSizes) -> Iterator[Message]:
    """What makes the number of samples doubtful: files of a format that is not read, and samples of several kinds."""
    kinds = dict(sizes.kinds)
    if unread := kinds.pop(NOT_READ.title, None):
        yield Message(
            f"{unread.total():,} of {sizes.files.count:,} files are of a format that is not read and count as one sample each: "
            f"{_listed(unread)}", rule=CAUTION,
        )  # fmt: skip
    if kinds.keys() == {TEXT}:
        what = f"{kinds[TEXT].total():,} texts count as one sample each"
        yield Message(f"{what}: --samples does not split them into lines or records", rule=CAUTION)
    if sizes.parts:
        held = f"files that hold several images or volumes count as one sample each: {_listed(sizes.parts)} in all"
        yield Message(f"{held}; if each is a sample, divide dataset_bytes by their number", rule=CAUTION)
    if len(kinds) > 1:
        several = "; ".join(f"{found.total():,} of {kind} ({_listed(found)})" for kind, found in kinds.items())
        yield Message(f"samples of several kinds add up: {several}; --exclude files that only describe others", rule=CAUTION)


def _listed(found: Counter[str]) -> str:
    more = len(found) - MOST_NAMED
    named = ", ".join(f"{name} {number:,}" for name, number in found.most_common(MOST_NAMED))
    return named + (f" and {more:,} more extensions" if more > 0 else "")


def measured_samples(
    paths: Sequence[str | Path], include: Sequence[str], exclude: Sequence[str], catalog: Catalog, progress: Progress
) -> CorpusMeasurement:
    """Measure sizes of samples and files instead of tokens. Raises IngestError: no file holds a sample."""
    named, listing = short_title(paths), list_inputs([str(path) for path in paths], include, exclude)
    progress.begin(sum(listing.sizes), 0)
    sizes = sizes_of(listing, listing.skipped, progress.moved)
    progress.clear()
    return measured_sizes(sizes, named, listing.manifest_hash(), catalog)


def measured_sizes(sizes: SampleSizes, named: str, manifest: str, catalog: Catalog) -> CorpusMeasurement:
    """The answer with these sizes, of the corpus that titles name so. Raises IngestError: no file holds a sample."""
    if not sizes.samples.count:
        first = "".join(f": the first file left out is {one.path}: {one.reason}" for one in sizes.skipped.named[:1])
        raise IngestError(f"{named}: found no sample, expected at least one{first}")
    lost = sizes.skipped.stored_bytes
    counts = {
        "samples": sizes.samples.count,
        "sample_files": sizes.files.count,
        "sample_files_bytes": sizes.files.bytes,
        "bytes_read": sizes.bytes_read,
        "files_skipped": sizes.skipped.count,
        "unreadable_bytes": lost,
    }
    known = Quantities({name: Input(value, origin="measured") for name, value in counts.items()})
    small = sum(times for size, times in sizes.samples.times.items() if size < SMALL)
    known.give({"small_file_share": Input(small / sizes.samples.count, origin="measured")})
    known.state("samples_measured")
    notes = [*left_out(sizes.skipped, lost, sizes.files.bytes), *cautions(sizes), *sizes.notes]
    if sizes.samples.rounded or sizes.files.rounded:
        notes.append("percentiles are accurate to a thousandth: more than a million sizes differ")
    tables = {
        "sample_sizes": sizes.samples.rows(),
        "file_sizes": sizes.files.rows(),
        "sample_histogram": sizes.samples.bins(),
        "file_histogram": sizes.files.bins(),
        "extensions": [
            {"extension": name, "files": files, "samples": samples, "stored_bytes": size}
            for name, (files, samples, size) in sorted(sizes.extensions.rows.items(), key=lambda item: (-item[1][2], item[0]))
        ],
        "files_skipped": skipped_rows(sizes.skipped),
    }
    design = {"design": "samples", "forms": dict(sizes.forms)}
    about: dict[str, Any] = {"title": f"{named}: sizes of samples", "design": design, "manifest_hash": manifest}
    names = [name for name in SIZES_QUESTION.names if lost or name != "unreadable_bytes"]
    return measurement_of(SIZES_QUESTION, known, names, tables, catalog=catalog, warnings=tuple(notes), **about)
