"""The page in one file: its inputs, the modules that answer its questions in JavaScript, catalogs as data, user interface.

The data are the entries of the catalogs, and what is counted from them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ingest.architecture.model_description import of_id
from ingest.architecture.structure import Architecture
from ingest.architecture.weight_table import usual_passes
from ingest.catalog.records import KINDS, LOWER_BOUND, Encoding, Model, Record, Shape, Statement, Structure, Tier, Value
from ingest.catalog.releases import Release, words
from ingest.catalog.store import CATALOGS, Catalog
from ingest.engine.question import Argument, arguments_of, option
from ingest.engine.registry import unit_of
from ingest.errors import UsageError
from ingest.files import as_bytes, table_beside, write_whole
from ingest.reports.labels import capitalised, plain
from ingest.reports.web.modules import Program
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.dataset import dataset
from ingest.sizing.evidence_ladder import BASES, blind_error, check_own_rates, seen_rates
from ingest.sizing.post_training import rl
from ingest.sizing.vectors import vectors
from ingest.storage.fit import fit
from ingest.units import display
from ingest.version import __version__

Catalogs = Annotated[str | Path | Sequence[str | Path], CATALOGS]
#: The records inside an entry, by the form of their field.
INNER: Mapping[str, type[Record]] = {"encodings": Encoding, "tiers": Tier}
#: Parts of an architecture that only a release has.
OF_A_RELEASE = ("stored", "stored_bytes", "row_bytes")


def page_data(catalogs: Catalogs = (), read: Container[str] | None = None) -> dict[str, Any]:
    """Return the catalogs, the tables of weights of their architectures, and the rates by GPU behind transferred rates.

    `read` names the fields that the page reads, and the sources that it cites; None for all.

    >>> data = page_data()
    >>> names, pattern, *sizes = data["architectures"]["llama3-8b"]
    >>> sizes[data["patterns"][pattern]["layers"]]
    32

    Raises IngestError: a broken entry, or a rate above the dense peak of its GPU.
    """
    catalog = Catalog(catalogs)
    for model in catalog.all(Model):
        check_own_rates(catalog, model)
    seen = [(cell, key, rate) for cell, rates in seen_rates(catalog).items() for key, rate in rates.items()]
    rows = catalog.releases.rows
    structures = {*catalog.ids(Structure.kind), *(row.id for row in rows.values() if row.model_type)}
    made = sorted(
        (of_id(name, catalog) for name in structures), key=lambda one: (one.model_type, one.layers, one.hidden, one.id)
    )
    patterns = _Patterns()
    # Those of a family side by side.
    packed = {one.id: [_names(rows.get(one.id)), *patterns.packed(one)] for one in made}
    return {
        "catalogs": _embedded(catalog, read),
        "seen": [[protocol, precision, model, gpu, rate] for (protocol, gpu), (model, precision), rate in seen],
        "architectures": packed,
        "patterns": [json.loads(pattern) for pattern in patterns.met],
        "parts": [*patterns.parts],
        # Those with a file of their own.
        "structures": catalog.ids(Structure.kind),
        "hash": catalog.content_hash(),
        "blind": [list(one) for level in BASES if (one := blind_error(level))],
    }


def _embedded(catalog: Catalog, read: Container[str] | None) -> dict[str, Any]:
    """Every entry with the fields that it states and the page reads; texts that repeat stand in one list."""
    writer = _Writer(read)
    entries = {kind: {one.id: writer.record(one) for one in catalog.all(record)} for kind, record in KINDS.items()}
    rates = {
        model.id: [writer.words(rate._replace(note=LOWER_BOUND if rate.waits else ""), rate.source) for rate in found]
        for model in catalog.all(Model)
        if (found := catalog.rates(model))
    }
    # What entries cite, then what formulas and rules cite beside them.
    cited = [name for name in catalog.sources if name in writer.cited]
    cited += [name for name in catalog.sources if read is None or name in read]
    return {
        "forms": {kind: {name: shape.form for name, shape in one.shapes.items()} for kind, one in {**KINDS, **INNER}.items()},
        "entries": entries,
        "rates": rates,
        # Those of protocols stand in files of rates.
        "aliases": {kind: names for kind, names in catalog.aliases.items() if kind != "protocols"},
        "names": catalog.names,
        "sources": {name: catalog.source(name).title for name in cited},
        "texts": list(writer.texts),
    }


class _Writer:
    """Records as plain data."""

    def __init__(self, read: Container[str] | None) -> None:
        self.read = read  # names of the fields that the page reads; None for all
        self.texts: dict[str, int] = {}  # the place of each text that a value or a rate has
        self.cited: set[str] = set()  # the sources met so far

    def record(self, record: Record) -> dict[str, Any]:
        kept = {name: shape for name, shape in record.shapes.items() if self.read is None or name in self.read}
        stated = {name: (shape, getattr(record, name)) for name, shape in kept.items()}
        return {name: self.field(shape, item) for name, (shape, item) in stated.items() if item != shape.default}

    def field(self, shape: Shape, item: Any) -> Any:
        if isinstance(item, Mapping):
            if shape.form in INNER:
                return {name: self.record(one) for name, one in item.items()}
            return {name: self.field(shape, one) for name, one in item.items()}
        if isinstance(item, Value):
            words = (item.unit, item.source, item.grade, item.where, item.note)
            found = self.words((item.value, *words, item.low, item.high), item.source)
            while found[-1] is None:
                found.pop()
            return found
        return list(item) if isinstance(item, (Statement, tuple)) else item

    def words(self, row: Sequence[Any], source: str) -> list[Any]:
        """A row with the places of its texts."""
        self.cited.add(source)
        return [self.texts.setdefault(one, len(self.texts)) if isinstance(one, str) else one for one in row]


def _names(row: Release | None) -> str | None:
    """The further names of a row of the table, that of the hub first, by its owner alone where its name is the id."""
    if row is None:
        return None
    owner, slash, name = row.hub.rpartition("/")
    return " ".join([f"{owner}{slash}" if words(name) == words(row.id) else row.hub, *map(str.lower, row.also)])


class _Patterns:
    """Architectures as the number of a pattern and the numbers that fill it: many a release has the pattern of another."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}  # the place of the name and kind of each row of weights met so far
        self.met: dict[str, int] = {}  # the place of each pattern

    def packed(self, made: Architecture) -> list[Any]:
        """The fields that are not as they usually are; weights by column, those that follow from another left out."""
        stated = [(one, getattr(made, one.name)) for one in fields(made) if one.name not in OF_A_RELEASE]
        told = {one.name: item for one, item in stated if item not in ((), {}) and item != one.default}
        parts = " ".join(str(self.parts.setdefault(f"{row.name}|{row.kind}", len(self.parts))) for row in made.weights)
        usually = tuple(usual_passes(row.kind, row.shape, row.active) for row in made.weights)
        _, shapes, _, counts, active, passes, positions = zip(*made.weights, strict=True)
        columns = [shapes, counts, None if active == counts else active, None if passes == usually else passes]
        columns.append(positions if any(positions) else None)
        numbers: dict[float, int] = {}

        def placed(item: Any) -> Any:
            if isinstance(item, Mapping):
                return {name: placed(one) for name, one in item.items()}
            if isinstance(item, (list, tuple)):
                return [placed(one) for one in item]
            return item if item is None or isinstance(item, (str, bool)) else numbers.setdefault(item, len(numbers))

        pattern = json.dumps(placed({**told, "id": "", "weights": [parts, *columns]}), ensure_ascii=False)
        return [self.met.setdefault(pattern, len(self.met)), *numbers]


class Field(NamedTuple):
    """One input."""

    name: str  # the option of the command
    start: str = ""  # the value that the page begins with
    kind: str = "quantity"  # `choice`, `number`, `quantity` or `text`
    source: str = ""  # the kind of entries to choose from, in place of the words that the option declares
    optional: str = ""  # what the choice of no entry is called, and `optional_value` its value
    optional_value: str = ""
    more: bool = False  # whether it stands under the further inputs
    label: str = ""  # in place of the label of its quantity
    placeholder: str = ""
    place: bool = False  # whether the command takes it by its place, without the name of the option
    among: Sequence[str] = ()  # the classes of the entries to choose from
    yields: Sequence[str] = ()  # the inputs that stand in place of the value that the page begins with
    stated: bool = False  # whether it is told even where it is as the command has it by default

    def described(self, argument: Argument | None) -> dict[str, Any]:
        """The field as the page reads it; the option of the command is None for a key of a site file that no option is."""
        declared = argument.declared if argument is not None else None
        quantity = declared.quantity if declared is not None else ""
        label = self.label or capitalised(plain(quantity or self.name))
        usual, words = (declared.default, declared.choices) if declared is not None else (None, ())
        flag = usual is False
        # The value in force where the box is empty, as help states it.
        is_stated = declared is not None and "{default}" in declared.help and self.kind != "choice"
        choices = ("", "yes") if flag else (*([] if self.start else [""]), *words) if words else ()
        # What help says first; nothing where it repeats the label.
        text = declared.text if declared is not None and self.kind != "choice" else ""
        first = re.split(r"[;:]|, or (?:the JSON|a YAML)", text)[0].removesuffix(".") + "."
        repeats = first == "." or (first.lower().startswith(label.lower()) and len(first) < len(label) + 16)
        found = {
            "name": self.name,
            "label": label,
            "kind": self.kind,
            "default": self.start,
            "usual": str(usual) if usual and not self.stated else "",
            "help": "" if repeats else first,
        }
        if quantity and self.kind == "number":
            found["unit"] = {"1": ""}.get(unit_of(quantity), "")
        optional = {
            "list": self.source,
            "optional": self.optional,
            "none": self.optional_value,
            "more": self.more,
            "placeholder": self.placeholder or (declared.default_text if declared is not None and is_stated else ""),
            "choices": [
                {"value": str(word), "label": str(word) or self.optional or ("no" if flag else "by default")}
                for word in choices
                if self.kind == "choice"
            ],
            "place": self.place,
            "flag": flag,
            "among": self.among,
            "yields": self.yields,
        }
        return {**found, **{name: item for name, item in optional.items() if item}}


#: The function of each tab, whose options its inputs in `forms.yaml` are.
FORMS: Mapping[str, Callable[..., Any]] = {
    "bw": bw, "checkpoint": checkpoint, "dataset": dataset, "fit": fit, "vectors": vectors, "rl": rl, "plan": checkpoint,
}  # fmt: skip


def forms() -> dict[str, list[dict[str, Any]]]:
    """The inputs of each question.

    >>> [field["name"] for field in forms()["bw"]][:3]
    ['model', 'gpu', 'nodes']
    """
    found = {}
    for tab, inputs in table_beside(__file__, "assets/forms.yaml")["tabs"].items():
        arguments = arguments_of(FORMS[tab])
        found[tab] = [Field(name, **given).described(arguments.get(name)) for name, given in inputs.items()]
    # The tab of `bw` tells about the job.
    told = arguments_of(bw)
    for field in found["fit"] + found["plan"]:
        field["help"] = "" if field["name"] in told else field["help"]
    return found


#: How the data are packed; `$.unpacked` reads streams of these `lc`, `lp` and `pb` alone.
PACKING = {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 22, "lc": 4, "lp": 0, "pb": 0, "nice_len": 273, "mf": lzma.MF_BT4}
ASSETS = Path(__file__).parent / "assets"
#: The questions of the page, in order.
QUESTIONS = ("yaml.js", "arithmetic.js")
#: The user interface, in order.
VIEWS = ("charts.js", "view.js")


@cache
def script() -> str:
    """The script of the page without its user interface: the runtime, the modules, the questions."""
    program = Program(**table_beside(__file__, "assets/program.yaml"), tables=("ingest.sizing.rules:ROWS",))
    program.collect()
    return "\n".join([_asset("runtime.js"), _asset("catalog.js"), program.printed(), *map(_asset, QUESTIONS)])


def assembled(catalogs: Catalogs = ()) -> str:
    """The page as one HTML file."""
    code, style = script(), _asset("page.css")
    # What the script reads: the catalogs, of which it names the fields and cites the sources, and the inputs of each question.
    # The notes of an entry are for `catalog show`.
    read = (frozenset(re.findall(r"[A-Za-z_]\w*", code)) | frozenset(re.findall(r'"([a-z0-9-]+)"', code))) - {"notes"}
    content = {**page_data(catalogs, read), "forms": forms(), "edition": f"ingest {__version__}"}
    data = as_bytes(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    packed = base64.b64encode(lzma.compress(data, lzma.FORMAT_RAW, filters=[PACKING])).decode()
    code = "\n".join([code, *(_asset(name) for name in VIEWS)]).replace("</script", "<\\/script")
    policy = f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src data:"
    parts = {
        "<!--POLICY-->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "/*STYLE*/": style,
        "<!--DATA-->": f'<script type="text/plain" id="data" data-bytes="{len(data)}">{packed}</script>',
        "/*SCRIPT*/": code,
    }
    page = _asset("template.html")
    for place, text in parts.items():
        first, found, rest = page.partition(place)
        assert found, place
        page = first + text + rest
    return page


def _asset(name: str) -> str:
    """A file of the page; scripts and styles without indentation and without comments on lines of their own."""
    text = (ASSETS / name).read_text(encoding="utf-8")
    if not name.endswith((".js", ".css")):
        return text
    bare = re.sub(r"^[ ]*/[*].*?[*]/[ ]*\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(line.lstrip() for line in bare.splitlines(keepends=True) if line.strip())


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(as_bytes(text)).digest()).decode()}"


@dataclass(frozen=True)
class WrittenPage:
    """The file that `page` wrote, and its size."""

    path: Path
    bytes_written: int

    @property
    def size(self) -> str:
        """Its size, as people read it."""
        return display(self.bytes_written, "B", binary=False)


def page(
    *,
    output: Annotated[str | Path, option("The file to write or replace.", "FILE.html")] = "calc.html",
    catalogs: Catalogs = (),
) -> WrittenPage:
    """One page that computes in a browser, without a network.

    Raises:
        UsageError: another suffix.
        IngestError: a broken entry, or a file that cannot be written.
    """
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--output: '{output}' ends in '{path.suffix}', expected .html")
    content = assembled(catalogs)
    write_whole(str(output), content)
    return WrittenPage(path, len(as_bytes(content)))
