"""The page in one file: its inputs, the modules that answer its questions in JavaScript, catalogs as data, user interface."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ingest.engine.question import Argument, arguments_of, option
from ingest.engine.registry import unit_of
from ingest.errors import UsageError
from ingest.files import as_bytes, table_beside, write_whole
from ingest.reports.labels import capitalised, plain
from ingest.reports.web.modules import PACKAGE, Program
from ingest.sizing.bandwidth import bw
from ingest.sizing.checkpoint import checkpoint
from ingest.sizing.dataset import dataset
from ingest.sizing.memory import memory
from ingest.sizing.page_data import Catalogs, made_once, page_data
from ingest.sizing.post_training import rl
from ingest.sizing.train import train
from ingest.sizing.vectors import vectors
from ingest.storage.fit import fit
from ingest.units import display
from ingest.version import __version__


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
    "bw": bw, "checkpoint": checkpoint, "dataset": dataset, "fit": fit, "vectors": vectors, "rl": rl, "train": train,
    "memory": memory, "plan": checkpoint,
}  # fmt: skip


def forms() -> dict[str, list[dict[str, Any]]]:
    """The inputs of each question.

    >>> [field["name"] for field in forms()["bw"]][:3]
    ['model', 'gpu', 'nodes']
    """
    found = {}
    for tab, fields in table_beside(__file__, "assets/forms.yaml")["tabs"].items():
        arguments = arguments_of(FORMS[tab])
        found[tab] = [Field(name, **given).described(arguments.get(name)) for name, given in fields.items()]
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
    # Four bytes as five letters, none of which opens a tag.
    packed = base64.b85encode(lzma.compress(data, lzma.FORMAT_RAW, filters=[PACKING]), pad=True).decode().replace("<", ",")
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
    content = made_once(catalogs, PACKAGE, lambda: as_bytes(assembled(catalogs)))
    write_whole(str(output), content)
    return WrittenPage(path, len(content))
