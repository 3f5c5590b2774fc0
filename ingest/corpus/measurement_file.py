"""Reading the JSON that `ingest measure` writes; every number is checked, because the file may come from anywhere."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, TypeGuard

from ingest.corpus.types import share_left_out
from ingest.engine.derivation_graph import QuantityRow, columns_of
from ingest.engine.messages import option_error
from ingest.engine.registry import FORMULAS, Step, check_value, solve, unit_of
from ingest.engine.result import SCHEMA
from ingest.engine.solver import Quantities
from ingest.engine.value import Input
from ingest.errors import IngestError, UsageError, brief, listed
from ingest.files import open_regular, read_json_object
from ingest.units import display, parse

OPTION, SIZES_OPTION = "--bytes-per-token", "--sample-bytes"
#: What multiplies to a total of a measurement, and how far rounding and estimates may move it.
PRODUCTS = (
    (("bytes_per_token", "tokens"), "corpus_bytes"),
    (("sample_bytes", "samples"), "dataset_bytes"),
    (("samples_per_file", "files"), "samples"),
    (("mean_file_bytes", "files"), "dataset_bytes"),
)
ROUNDED = 0.01
#: in the note of a count that was interrupted
PARTIAL = "a part of the corpus only, in the order of its paths"
#: in the note of a count of less text than a sample needs for an interval, 30 blocks of 16 KiB, where it stands for more
LITTLE_BYTES = 30 * 16 * 1024
#: in the note of a count that left more than a small share out
ONLY = re.compile(r"[\d.]+ % of the (stored bytes|documents), as the rest was left out")
LITTLE = f"less than {LITTLE_BYTES / 1e3:.3g} kB of text, too little for an interval of its own"
#: The least and the most bytes per token of corpora over those of their middle: 3.41 and 4.69 B over 4 B.
CORPORA, CORPORA_SOURCE = (0.8525, 1.1725), "limelead-quartz"
#: in the note of a sample size, and the framing in JSON of such files
UNREAD, NOT_READ = "files of a format that is not read count as one sample each", "unread"
#: quantity -> its name in the speed of a count
SPEED = {"prepared_bytes": "bytes", "prepared_seconds": "seconds", "preparation_workers": "workers"}
#: what is left out, what is counted, and what both are
LEFT_OUT = (
    ("unreadable_bytes", "stored_bytes", "stored bytes"), ("unreadable_bytes", "dataset_bytes", "stored bytes"),
    ("documents_skipped", "documents", "documents"),
)  # fmt: skip
#: The head of a histogram of reads of embedding rows, and the forms of its lines and of those of a trace.
HISTOGRAM = "reads,rows"
COUNTS, ROW_ID = re.compile(r"0*([1-9]\d{0,15}),0*([1-9]\d{0,15})"), re.compile(r"(\w+:)?\d+")
#: Leading bits in which counts of reads are told apart: those of a class differ by less than a thirty-second.
COUNT_BITS = 6
#: So many rows, read equally often, tell how often rows that were read once less are read on: within 10 %.
ENOUGH_ROWS = 100
#: A result of `measure` with a hundred thousand skipped files is smaller.
MOST_BYTES = 256 * 2**20
#: of the first line of a part
MOST_HEADER = 2**24
#: units of earlier versions
EARLIER_UNITS = {"documents": "sample"}
#: percentiles of sample sizes in the note of their mean, which is counted: they are not its range
NOTED_PERCENTILES = ("p5", "p95")


class MeasurementFile(NamedTuple):
    """The JSON result of `ingest measure`; `place` is the option or key that named it, and its path, for messages."""

    path: Path
    place: str
    data: dict[str, Any]

    def quantity(self, name: str) -> Input | None:
        """Return a result with its interval; None where it was not measured.

        Raises IngestError: the value is not a number above 0, has another unit, lies outside its interval, or contradicts
            the totals.
        """
        result = self._result(name)
        for factors, product in PRODUCTS:
            if name in (*factors, product):
                self._check_product(factors, product)
        return result

    def _check_product(self, factors: tuple[str, str], product: str) -> None:
        """Refuse a total that is not what its factors yield."""
        first, second, total = map(self._result, (*factors, product))
        if first is None or second is None or total is None:
            return
        if not math.isclose(first.value * second.value, total.value, rel_tol=ROUNDED):
            shown = [display(one.value, unit_of(name)) for one, name in ((first, factors[0]), (second, factors[1]))]
            raise IngestError(
                f"{self.place}: results.{product}: found {display(total.value, unit_of(product))}, expected "
                f"{factors[0]} × {factors[1]}, {' × '.join(shown)}"
            )

    def _result(self, name: str) -> Input | None:
        """A result with its interval, whatever the totals are."""
        result = self.data["results"].get(name)
        if result is None:
            return None
        place = f"{self.place}: results.{name}"
        if not isinstance(result, dict) or result.get("value") is None:
            raise IngestError(f"{place}: found {brief(result)}, expected a value")
        if result.get("unit", unit_of(name)) not in (unit_of(name), EARLIER_UNITS.get(name)):
            raise IngestError(f"{place}.unit: found {brief(result['unit'])}, expected {unit_of(name)}")
        value, low, high = (_number(result.get(part), f"{place}.{part}") for part in ("value", "low", "high"))
        assert value is not None
        if not (low or value) <= value <= (high or value):
            raise IngestError(f"{place}: found {brief(result)}, expected low ≤ value ≤ high")
        return Input(value, low, high, "measured", grade="measured", note=self.note)

    def needed(self, name: str, options: str = "") -> Input:
        """Return a result that `ingest measure` with some options yields. Raises IngestError: the file does not have it."""
        result = self.quantity(name)
        if result is None:
            raise IngestError(f"{self.place} has no results.{name}, expected the JSON of `ingest measure{options}`")
        return result

    def ratio(self, whole: bool = False) -> Input:
        """Bytes per token, of the `whole` text counted, or of more: of 492 kB a range as of corpora, of less text a wider one.

        The logarithms of the ends fall with the root of the text.

        Raises IngestError: the file does not have them.
        """
        ratio, counted = self.needed("bytes_per_token"), self.quantity("corpus_bytes")
        check_value("bytes_per_token", ratio.value, OPTION)
        if whole or ratio.low is not None or counted is None:
            return ratio
        width, limits = math.sqrt(LITTLE_BYTES / counted.value), FORMULAS["bytes_per_token"]
        low, high = (min(max(ratio.value * end**width, limits.low), limits.high) for end in CORPORA)
        note = f"{ratio.note}; {LITTLE}" if counted.value < LITTLE_BYTES else ratio.note
        return ratio._replace(low=low, high=high, source=CORPORA_SOURCE, grade="assumed", note=note)

    def rate_of_core(self) -> Input:
        """Return the bytes of text that one worker process tokenized in a second.

        Raises IngestError: the file does not tell: a sample, or a count that was resumed or ran on a cluster.
        """
        speed = {name: _number(self.table("speed").get(name), f"{self.place}: speed.{name}") for name in SPEED.values()}
        if None in speed.values():
            raise IngestError(
                f"{self.place} has no speed, expected the JSON of an `ingest measure --exact` that was not resumed"
            )
        rate = solve("rate_of_core", {quantity: speed[name] for quantity, name in SPEED.items()})
        return Input(float(rate), origin="measured", grade="measured", note=self.note)

    @property
    def doubt(self) -> str:
        """That files of a format that is not read count as samples; empty where there are none."""
        forms = self.table("design").get("forms")
        unread = forms.get(NOT_READ) if isinstance(forms, dict) else None
        return f"{unread:,} {UNREAD}" if isinstance(unread, int) and unread > 0 else ""

    @property
    def left_out(self) -> str:
        """Of which share of the corpus this is, where more than a small one was left out; empty otherwise."""
        results = self.data["results"]
        counts = {name: results[name].get("value") for name in results if isinstance(results[name], dict)}
        for left, counted, what in LEFT_OUT:
            lost, stored = counts.get(left), counts.get(counted)
            if _is_positive(lost) and _is_positive(stored) and (share := share_left_out(lost, stored)):
                return f"{(1 - share) * 100:.3g} % of the {what}, as the rest was left out"
        return ""

    @property
    def note(self) -> str:
        """Design, tokenizer, date and skipped files of the measurement, in one line."""
        skipped = self.data["results"].get("files_skipped")
        how, count = self.table("design").get("design"), skipped.get("value") if isinstance(skipped, dict) else None
        parts = [
            f"{self.path.name}: {how or 'measured'} with {self.table('tokenizer').get('name') or 'a tokenizer not named'}",
            str(self.data.get("date") or "no date"),
            *([PARTIAL] if self.data.get("partial") else []),
            *([self.left_out] if self.left_out else []),
            *([self.doubt] if self.doubt else []),
            *([f"{count:,.0f} of its files could not be read"] if isinstance(count, (int, float)) and count > 0 else []),
        ]
        return ", ".join(parts)

    def table(self, name: str) -> dict[str, Any]:
        """An object of the file; an empty one where there is none."""
        table = self.data.get(name)
        return table if isinstance(table, dict) else {}

    @property
    def vocabulary(self) -> float | None:
        """Number of ids of the tokenizer."""
        return _number(self.table("tokenizer").get("size"), f"{self.place}: tokenizer.size")


def read_measurement(path: Path, option: str = OPTION) -> MeasurementFile:
    """Read the JSON file that `ingest measure -o` wrote; `option` named it.

    Raises IngestError: the file is unreadable, too large, not JSON, or another result.
    """
    place = f"{option}: {path}"
    if is_part(path):
        raise IngestError(f"{place} is a part of a measurement, expected the sum of all parts, of `ingest measure --merge`")
    data = read_json_object(path, "the JSON of `ingest measure`", place=place, most=MOST_BYTES)
    if data.get("schema") != SCHEMA or data.get("command") != "measure":
        found = f"command {brief(data['command'])}" if "command" in data else "another form"
        raise IngestError(f"{place} holds {found}, expected the JSON of `ingest measure`, schema {SCHEMA}")
    if not isinstance(data.get("results"), dict):
        raise IngestError(f"{place} has results {brief(data.get('results'))}, expected a table of quantities")
    file = MeasurementFile(path, place, data)
    for _, total in PRODUCTS:
        file.quantity(total)
    return file


#: The quantiles from which a mix of sizes follows, beside the largest size.
PERCENTILE = re.compile(r"p([1-9]\d?(?:\.\d+)?)")
LARGEST = "max"
QUANTILES = "quantiles such as p10=20kB,p50=90kB,p90=250kB,max=4MB"
#: Below so many standard deviations a normal distribution has nothing left, nor above.
END = 38.0
#: Natural logarithms of size for a standard deviation up to which a step between quantiles can be computed.
STEEPEST = 30.0
#: A class with a smaller share of the samples and of their bytes is left out.
LEAST_SHARE = 1e-12


class SizeClass(NamedTuple):
    """Samples whose sizes are spread evenly between two ends; equal ends are one size."""

    share: float  # of the samples
    low: float
    high: float

    @classmethod
    def around(cls, share: float, mean: float, low: float, high: float) -> SizeClass:
        """The widest class around a mean that two ends allow."""
        half = max(min(mean - low, high - mean), 0.0)
        return cls(share, mean - half, mean + half)


class Sizes(NamedTuple):
    """A mix of sizes of samples: measured, or lognormal between quantiles."""

    classes: tuple[SizeClass, ...]
    given: Mapping[str, Input]  # the mean, and where they are counted the samples and those in a file

    def place(self, known: Quantities, *columns: str) -> None:
        """Give quantities the classes, each as far as these columns need it: requests, small files, padding."""
        rows = []
        for one in self.classes:
            ends = {"class_share": one.share, "class_low_bytes": one.low, "class_high_bytes": one.high}
            shown = [display(size, "B", binary=False) for size in dict.fromkeys(one[1:])]
            own = Quantities({name: Input(value, origin="user") for name, value in ends.items()}, " to ".join(shown))
            for name in ("largest_request_bytes", "member_scale", "member_quantum"):
                if (step := known.find(name)) is not None:
                    own.adopt({name: step})
            rows.append(QuantityRow(own.owner, {}, own))
        found = columns_of("sizes", rows, known.owner)
        known.adopt({f"{name}_of_sizes": found[f"{name}_of_sizes"] for name in columns})


class RowClass(NamedTuple):
    """Embedding rows of a trace that were read about equally often."""

    rows: int
    reads: int  # of all of them


def row_reads_of(path: str | Path, option: str) -> tuple[RowClass, ...]:
    """How often embedding rows were read: a trace with an id (`7` or `user:7`) per line, or a `reads,rows` histogram.

    Raises UsageError: another line, or no row that was read twice.
    """
    read_by: Counter[int] = Counter()  # reads of a row -> rows
    with open_regular(Path(path)) as file:
        lines = (line.decode("utf-8", "replace").strip() for line in file)
        first = next(lines, "")
        histogram = first == HISTOGRAM
        shape, seen = (COUNTS if histogram else ROW_ID), Counter[str]()
        for number, line in enumerate(lines if histogram else chain((first,), lines), start=1 + histogram):
            if not (found := shape.fullmatch(line)):
                expected = "`READS,ROWS`" if histogram else f"the id of one row, or `{HISTOGRAM}` at the head of a histogram"
                raise UsageError(f"{option}: {path}: line {number}: found {brief(line)}, expected {expected}")
            if histogram:
                read_by[int(found[1])] += int(found[2])
            else:
                seen[line] += 1
    read_by.update(seen.values())
    classes: dict[int, RowClass] = {}
    for reads, rows in read_by.items():
        low = max(reads.bit_length() - COUNT_BITS, 0)
        before = classes.get(reads >> low << low, RowClass(0, 0))
        classes[reads >> low << low] = RowClass(before.rows + rows, before.reads + rows * reads)
    if classes.keys() <= {1}:
        raise UsageError(f"{option}: {path}: found no row that was read twice, expected a trace long enough to tell hot rows")
    return tuple(classes[place] for place in sorted(classes))


def rows_of_trace(known: Quantities, counted: Sequence[RowClass]) -> list[tuple[str, Input, Step]]:
    """The rows of a trace by how often they were read, and those that it lacks, with the lookups of a sample in each class.

    Rows that were read seldom are read on as Good expects: as often as the rows that were read once more.

    Raises UsageError: the rows and lookups of the tables are unknown, or the trace has more rows.
    """
    for name in ("embedding_rows", "embedding_lookups"):
        if known.find(name) is None:
            raise option_error("row_reads", f": needs the tables of the recommender, expected its model, or {name} by --set")
    seen, tables = sum(one.rows for one in counted), known.value("embedding_rows")
    if seen > tables:
        raise option_error("row_reads", f": found {seen:,} rows, expected at most the {tables:,.0f} of all tables")
    none, unseen = RowClass(0, 0), RowClass(int(tables) - seen, 0)
    by_count = {0: unseen, **{one.reads // one.rows: one for one in counted}}
    rare = 1 if unseen.rows else 0
    while 0 < rare < 2**COUNT_BITS - 1 and by_count.get(rare + 1, none).rows >= ENOUGH_ROWS:
        rare += 1
    whole = {"reads_of_trace": sum(one.reads for one in counted)}
    whole["reads_of_rare_rows"] = sum(one.reads for count, one in by_count.items() if count <= rare)
    whole["reads_of_frequent_rows"] = sum(one.reads for count, one in by_count.items() if count >= rare)
    found: list[tuple[str, Input, Step]] = []
    for count, one in by_count.items():
        note = f"rows read {one.reads / one.rows:.4g} times" if one.reads else "rows that the trace lacks"
        counts = whole | {"reads_of_rows": one.reads, "reads_of_next_rows": by_count.get(count + 1, none).reads}
        own = Quantities({name: Input(float(item), origin="user", note="the trace") for name, item in counts.items()}, note)
        own.adopt(known.steps_of("embedding_lookups"))
        lookups = own.step("lookups_of_rare_rows" if count < rare else "lookups_of_frequent_rows")
        if lookups.value and one.rows:
            found.append((note, Input(float(one.rows), origin="user", note="the trace"), lookups))
    return found


def sizes_of(written: str | Path | Mapping[str, Any], option: str, folder: Path = Path()) -> Sizes:
    """The mix of sizes that an option or a key names: quantiles, or the JSON file of `ingest measure --samples`.

    Raises UsageError: no quantiles, or falling ones; IngestError: another file.
    """
    if not isinstance(written, Mapping):
        text = str(written)
        if "=" not in text:
            return _measured_sizes(folder / text, option)
        parts = [(name.strip(), size) for name, _, size in (part.partition("=") for part in text.split(","))]
        written = {name: parse(size, "B/sample", f"{option}: {name}") for name, size in parts}
    else:
        parts = [*written.items()]
    numbers = {name: float(size.value if isinstance(size, Input) else size) for name, size in written.items()}
    marks = {float(found[1]): size for name, size in numbers.items() if (found := PERCENTILE.fullmatch(name))}
    if len(parts) > len(numbers) or len(numbers) > len(marks) + sum(not PERCENTILE.fullmatch(name) for name in numbers):
        raise UsageError(f"{option}: found a quantile twice, expected each once, {QUANTILES}")
    strange = [name for name in numbers if name != LARGEST and not PERCENTILE.fullmatch(name)]
    if strange or len(marks) < 2 or LARGEST not in numbers:
        raise UsageError(f"{option}: found {listed([*numbers])}, expected two quantiles or more and the largest, {QUANTILES}")
    ordered = [*(marks[percent] for percent in sorted(marks)), numbers[LARGEST]]
    if any(one > other for one, other in pairwise(ordered)) or ordered[0] <= 0:
        raise UsageError(f"{option}: found sizes that fall, or none, expected them above 0 and rising, {QUANTILES}")
    if ordered[-1] > ordered[-2] == ordered[-3]:
        raise UsageError(f"{option}: found a largest size alone above equal ones, expected a quantile between them")
    points = [(percent / 100, marks[percent]) for percent in sorted(marks)]
    deviates = [NormalDist().inv_cdf(share) for share, _ in points]
    if any(
        math.log(b / a) > STEEPEST * (z1 - z0) for (a, b), (z0, z1) in zip(pairwise(ordered), pairwise(deviates), strict=False)
    ):
        raise UsageError(f"{option}: found quantiles with too large a step, expected one between them")
    classes = tuple(_lognormal(points, numbers[LARGEST]))
    mean = sum(one.share * (one.low + one.high) / 2 for one in classes)
    said = ", ".join(f"{name} {display(size, 'B', binary=False)}" for name, size in numbers.items())
    return Sizes(classes, {"sample_bytes": Input(mean, origin="user", note=f"mean of sizes with {said}")})


def _measured_sizes(path: Path, option: str) -> Sizes:
    """The mix of a measurement: its histogram over powers of two, each with its mean and ends."""
    file = read_measurement(path, option)
    rows = file.table("tables").get("sample_histogram")
    found = []
    for place, row in enumerate(rows if isinstance(rows, list) else []):
        names = ("count", "bytes", "smallest", "largest")
        numbers: list[Any] = [row.get(name) if isinstance(row, dict) else None for name in names]
        if not all(isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < math.inf for one in numbers):
            raise IngestError(f"{file.place}: tables.sample_histogram.{place}: found {brief(row)}, expected {listed(names)}")
        count, size, low, high = map(float, numbers)
        if not (count > 0 and low <= size / count * (1 + ROUNDED) and size / count <= high * (1 + ROUNDED)):
            raise IngestError(
                f"{file.place}: tables.sample_histogram.{place}: found {brief(row)}, expected a mean between its ends"
            )
        found.append((count, size / count, low, high))
    if not found:
        raise IngestError(f"{file.place} has no tables.sample_histogram, expected the JSON of `ingest measure --samples`")
    total = math.fsum(count for count, *_ in found)
    given = sample_sizes_in(path)
    if (counted := file.quantity("samples")) is not None:
        given["dataset_samples"] = Input(counted.value, origin="user", note=f"counted in {path.name}")
    return Sizes(tuple(SizeClass.around(count / total, *ends) for count, *ends in found), given)


def _lognormal(marks: list[tuple[float, float]], most: float) -> Iterator[SizeClass]:
    """Classes over powers of two of sizes that are lognormal between quantiles, go on so below, and end at the largest.

    The logarithm of a size is a line over the normal deviate between two quantiles, so that a lognormal is itself again.
    """
    normal = NormalDist()
    points = [(normal.inv_cdf(share), math.log(size)) for share, size in marks]
    lines = [((y1 - y0) / (z1 - z0), y0, z0, z0, z1, 1.0) for (z0, y0), (z1, y1) in pairwise(points)]
    slope, height, at, _, right, _ = lines[0]
    lines[0] = (slope, height, at, -END, right, 1.0)
    (z, y), above = points[-1], 1 - marks[-1][0]
    slope = lines[-1][0]
    top = z + (math.log(most) - y) / slope if slope and math.log(most) > y else END
    within = normal.cdf(top) - normal.cdf(z)
    slope = slope if math.log(most) > y else 0.0
    lines.append((slope, y, z, z, top, above / within))
    for slope, height, at, left, right, weight in lines:
        if not slope:
            yield SizeClass(weight * (normal.cdf(right) - normal.cdf(left)), math.exp(height), math.exp(height))
            continue
        base = height - slope * at
        low, high = (max(base + slope * z, 0.0) for z in (left, right))
        cuts = [
            low,
            *(place * math.log(2) for place in range(math.floor(low / math.log(2)) + 1, math.ceil(high / math.log(2)))),
            high,
        ]
        for first, last in pairwise(cuts):
            z0, z1 = (first - base) / slope if first > low else left, (last - base) / slope
            share = weight * _normal_between(z0, z1)
            size = weight * math.exp(base + slope**2 / 2) * _normal_between(z0 - slope, z1 - slope)
            if share > LEAST_SHARE:
                yield SizeClass.around(share, size / share, math.exp(first), math.exp(last))


def _normal_between(low: float, high: float) -> float:
    """The share of a normal distribution between two deviates, exact in both tails: steep mixes have their bytes there."""
    if low > 0:
        low, high = -high, -low
    return (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2))) / 2


def is_part(path: Path) -> bool:
    """Whether a file begins as a part of a measurement does."""
    with suppress(OSError, ValueError, RecursionError), open_regular(path) as file:
        header = json.loads(file.readline(MOST_HEADER))
        return isinstance(header, dict) and "ledger" in header
    return False


def _is_positive(found: Any) -> TypeGuard[float]:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and 0 < found < float("inf")


def _number(found: Any, place: str) -> float | None:
    if found is None or _is_positive(found):
        return found
    raise IngestError(f"{place}: found {brief(found)}, expected a number above 0")


def bytes_per_token_of(written: str | float | Path) -> Input:
    """Return the bytes of text per token, from a number or from a file of `ingest measure`, with their provenance.

    >>> bytes_per_token_of("3.27").value
    3.27

    Raises:
        UsageError: neither a number above 0 nor a file.
        IngestError: a file that is not the result of `ingest measure`.
    """
    if is_file_name(written):
        return read_measurement(Path(written)).ratio()
    return Input(check_value("bytes_per_token", float(parse(written, "B/token", OPTION)), OPTION), origin="user")


def part_counted(given: Collection[Input | None]) -> str:
    """What of a corpus these were counted on, where that is a part whose rest may differ; empty where it is not."""
    notes = [one.note for one in given if one is not None]
    parts = [*(found[0] for note in notes if (found := ONLY.search(note))), PARTIAL, LITTLE]
    return next((part for part in parts for note in notes if part in note), "")


def is_file_name(written: str | float | Path) -> TypeGuard[str | Path]:
    """Whether a value names a file rather than a number.

    >>> is_file_name("corpus.json"), is_file_name("3.3 B/token"), is_file_name("3 GB/s"), is_file_name(4)
    (True, False, False, False)
    """
    if isinstance(written, str):
        return written.endswith(".json") or re.search(r"/(?!token|s$)", written) is not None or Path(written).is_file()
    return isinstance(written, Path)


def sample_sizes_in(path: Path) -> dict[str, Input]:
    """Return the mean sample size in B and, where known, the samples per file, of a file of `ingest measure --samples`.

    Raises IngestError: the file is not the result of `ingest measure --samples`.
    """
    file = read_measurement(path, SIZES_OPTION)
    mean, in_file = file.needed("sample_bytes", " --samples"), file.quantity("samples_per_file")
    rows = file.table("tables").get("sample_sizes")
    tables = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    sizes: dict[str, Any] = {str(row.get("size")): row.get("bytes") for row in tables}
    noted = [f"{name} {display(sizes[name], 'B', binary=False)}" for name in NOTED_PERCENTILES if _is_positive(sizes.get(name))]
    doubt = "".join(f"; {one}" for one in (file.doubt, file.left_out) if one)
    spread = f"; of single samples {', '.join(noted)}" if noted else ""
    found = {"sample_bytes": Input(mean.value, origin="user", note=f"mean of {path.name}{spread}{doubt}")}
    if in_file is not None:
        found["samples_per_file"] = Input(in_file.value, origin="user", note=f"mean of {path.name}")
    return found
