"""The page: the modules that answer its questions in JavaScript, the catalogs as data, the user interface, in one file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ingest.engine.question import option
from ingest.errors import UsageError
from ingest.files import as_bytes, write_whole
from ingest.reports.web.forms import forms
from ingest.reports.web.modules import Program
from ingest.sizing.page_data import Catalogs, page_data
from ingest.units import display
from ingest.version import __version__

ASSETS = Path(__file__).parent / "assets"
#: What the page calls, by module.
ROOTS: Mapping[str, tuple[str, ...]] = {
    "ingest.sizing.bandwidth": ("bw", "Scenarios"),
    "ingest.sizing.checkpoint": ("checkpoint",),
    "ingest.sizing.dataset": ("dataset",),
    "ingest.storage.fit": ("fit",),
    "ingest.reports.pages.storage": ("fits_page",),
    "ingest.architecture.structure": ("Architecture",),
    "ingest.architecture.weight_table": ("Weight", "Attention"),
    "ingest.reports.pages.sizing": ("_value_row", "_rate_of", "_answer_table"),
    "ingest.reports.labels": ("plain", "capitalised"),
    "ingest.reports.page": ("value_text", "range_text"),
    "ingest.engine.expression": ("prose", "record"),
    "ingest.engine.registry": ("unit_of", "INPUTS"),
    "ingest.engine.messages": ("fact_of",),
    "ingest.catalog.store": ("Catalog", "meaning", "patterns_of", "plain", "unwrapped"),
    "ingest.catalog.releases": ("Releases",),
    "ingest.catalog.records": ("KINDS", "Value", "Statement", "Encoding", "Tier", "Rate"),
    "ingest.engine.value": ("Source",),
    "ingest.errors": ("IngestError", "listed", "nearest", "shortened"),
    "ingest.units": ("display", "exact"),
}
#: Fields of formulas that no question of the page is about.
BESIDE = (
    "acceptance", "feed", "load_conditions", "memory_activations", "mlperf_storage", "observation", "offload",
    "offload_inference", "site_capacity", "site_datasets", "site_demand", "site_jobs", "site_tiers", "site_totals",
    "site_transfers", "training",
)  # fmt: skip
#: The questions of the page, in order.
QUESTIONS = ("yaml.js", "arithmetic.js")
#: The user interface, in order.
VIEWS = ("charts.js", "view.js")
#: Operators of an expression, whose methods Python makes from a table.
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}
_EXPRESSION = "class Expression extends $.Plain {{\n{}\n}}".format(
    "\n".join(
        f'__{name}__(other) {{ return new Operation("{sign}", [this, _node(other)]); }}\n'
        f'__r{name}__(other) {{ return new Operation("{sign}", [_node(other), this]); }}'
        for name, sign in OPERATORS.items()
    )
    + "\n"
    + "\n".join(
        f'__{name}__(other) {{ return new Operation("{sign}", [this, _node(other)]); }}'
        for name, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items()
    )
    + '\n__neg__() { return new Operation("-", [_node(0), this]); }'
)
#: A record, whose fields are those of its classes that hold a shape.
_RECORD = """class Record extends $.Plain {
__init__(...given) {
const words = $.keywords(given);
for (const [name, shape] of this.shapes.entries()) this[name] = name in words ? words[name] : shape.default;
}
get shapes() { return this.constructor.shapes; }
static get shapes() {
const classes = [];
for (let one = this; one !== Record; one = Object.getPrototypeOf(one)) classes.unshift(one);
const fields = classes.flatMap((one) => Object.getOwnPropertyNames(one).map((name) => [name, one[name]]));
return new $.Dict(fields.filter(([, item]) => item instanceof Shape));
}
}"""
_ENTRY = """class Entry extends Record {
static {
const fields = [["name", REQUIRED_TEXT], ["notes", TEXTS], ["missing", NOTES]];
for (const [name, shape] of fields) $.setattr(this, name, shape);
}
__init__(...given) {
const words = $.keywords(given), { id = given[0], path = given[1], ...fields } = words;
super.__init__(new $.Keywords(fields));
this.id = id;
this.path = path;
}
}"""
#: Definitions that a page has in another form: what reads files, and what JavaScript has no word for.
WRITTEN: Mapping[str, str] = {
    "ingest.engine.expression:Expression": _EXPRESSION,
    "ingest.engine.question:options_in": (
        "(table) => [...table.entries()].map(([name, declared]) => new Argument(name, null, declared, declared.default))"
    ),
    "ingest.engine.value:Frozen": "class Frozen extends $.Plain {}",
    "ingest.engine.value:revised": '$.library("dataclasses").replace',
    "ingest.engine.messages:Message": "$.message((...given) => _worded(...given), (path) => new Option(path))",
    "ingest.engine.registry:new_step": "(fields) => new Step(...fields)",
    "ingest.engine.registry:value_of": "(step) => step.value",
    "ingest.configuration:binary_first": "() => false",
    "ingest.configuration:configuration": '() => ({ currency: "" })',
    "ingest.catalog.store:Catalog": "$.Catalog",
    "ingest.catalog.store:opened": "(catalogs) => catalogs",
    "ingest.catalog.store:shipped_folder": "() => new $.Path('')",
    "ingest.catalog.records:Record": _RECORD,
    "ingest.catalog.records:changed": (
        "Object.assign($.fn((entry, { given }) => Object.assign(Object.create(Object.getPrototypeOf(entry)), entry, given), "
        '"changed"), { $p: null })'
    ),
    "ingest.catalog.records:Entry": _ENTRY,
    "ingest.sizing.published_rates:seen_rates": "(catalog) => catalog.seen",
    "ingest.sizing.published_rates:check_own_rates": "() => null",
    "ingest.architecture.catalog_entries:at_length": (
        "(model, length) => length === null ? model : $.beyond('another sequence length needs the table of weights')"
    ),
    "ingest.architecture.catalog_entries:_describes_structure": "(source, catalog) => catalog.describes(source)",
    "ingest.architecture.structure:Numbers": "Object.assign(class Numbers extends $.Plain {}, { _fields: [] })",
    "ingest.architecture.structure:numbers_in": "() => ''",
    "ingest.architecture.model_description:of_numbers": "() => $.beyond('a model by numbers needs the package')",
    "ingest.sizing.memory_search:largest_model": "() => $.beyond('the largest model needs the package')",
    "ingest.architecture.model_description:describe": "(source, catalog) => _named($.str(source), catalog)",
    "ingest.architecture.model_description:of_id": "(name, catalog) => catalog.architecture(name)",
    "ingest.sizing.resolve:model_structure": "(source, catalog) => architecture.describe(source, catalog)",
    "ingest.sizing.resolve:_is_architecture": "(source, catalog) => catalog.isArchitecture(source)",
    "ingest.engine.interactive:InteractiveResult": "class InteractiveResult extends $.Plain {}",
    "ingest.site.plan:Plan": "class Plan extends $.Plain {}",
    "ingest.site.plan_file:plan_of_site": "() => $.beyond('the page reads no files')",
    "ingest.storage.need:_of_site": "() => $.beyond('the page reads no files')",
    "ingest.storage.system_quantities:read_prices": "() => $.beyond('the page reads no files')",
    "ingest.storage.existing:stock_of": "() => []",
    "ingest.storage.existing:measured_entry": "() => $.beyond('the page reads no files')",
    "ingest.corpus.measurement_file:is_file_name": "(written) => /[.]json$|[/](?!token|s$)/.test(written)",
    "ingest.corpus.measurement_file:read_measurement": "() => $.beyond('the page reads no files')",
    "ingest.corpus.measurement_file:sample_sizes_in": "() => $.beyond('the page reads no files')",
}


def script() -> str:
    """The script of the page without its user interface: the runtime, the modules, the questions."""
    program = Program(ROOTS, WRITTEN, BESIDE)
    program.collect()
    return "\n".join([_asset("runtime.js"), _asset("catalog.js"), program.printed(), *map(_asset, QUESTIONS)])


def assembled(catalogs: Catalogs = ()) -> str:
    """The page as one HTML file."""
    code, style = script(), _asset("page.css")
    # What the script reads: the catalogs, of which it names the fields and cites the sources, and the inputs of each question.
    read = frozenset(re.findall(r"[A-Za-z_]\w*", code)) | frozenset(re.findall(r'"([a-z0-9-]+)"', code))
    content = {**page_data(catalogs, read), "forms": forms(), "edition": f"ingest {__version__}"}
    data = as_bytes(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    packed = base64.b64encode(zlib.compress(data, 9, -zlib.MAX_WBITS)).decode()
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
