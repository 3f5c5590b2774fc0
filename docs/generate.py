"""Write every generated page and marked block of the documentation; `--check` writes nothing and names what is stale.

A marked block is `<!-- output: ARGUMENTS -->` (what `ingest ARGUMENTS` prints), `<!-- table: NAME -->` or
`<!-- file: PATH -->`, up to `<!-- end -->`.
"""

from __future__ import annotations

import doctest
import os
import pty
import re
import shlex
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Entries of whoever runs this must not end up in the documentation.
os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "XDG_CONFIG_HOME": str(DOCS / "_build" / "none")}
os.environ.pop("APPDATA", None)
os.environ.pop("INGEST_CATALOGS", None)

import click  # noqa: E402

import ingest  # noqa: E402
import ingest.formulas  # noqa: E402
from ingest import ladder  # noqa: E402
from ingest.catalog.records import (  # noqa: E402
    PRECISIONS,
    SIZES,
    Entry,
    Family,
    Gpu,
    Model,
    Node,
    Protocol,
    Scaling,
    Storage,
    Value,
)
from ingest.catalog.store import Catalog  # noqa: E402
from ingest.catalog.template import template  # noqa: E402
from ingest.cli.main import command  # noqa: E402
from ingest.expression import prose  # noqa: E402
from ingest.formula import FORMULAS, LEAVES, Formula  # noqa: E402
from ingest.units import display, physical  # noqa: E402

WIDTH = 100
CATALOG = Catalog()
NOTE = "<!-- Written by docs/generate.py; do not edit. -->"
GRADES = "The letter behind a value is its grade: m measured, p published, v vendor, d derived, a assumed."
SHOW = "`ingest catalog show {kind} ID` prints an entry in full, with the source and the place of each value."


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; pipes and line breaks in cells are escaped."""
    heads = list(columns)
    cells = [["" if cell is None else str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *cells])


def page(title: str, *parts: str) -> str:
    """A generated page."""
    return "\n\n".join([f"# {title}", NOTE, *(part for part in parts if part)]) + "\n"


def shown(value: Value | None) -> str:
    """A catalog value for a cell: decimal prefix and grade."""
    return f"{display(value.value, physical(value.unit), binary=False)} {value.grade[0]}" if value else ""


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{share * 100:.1f} %"


# What the command prints


def printed(arguments: str) -> str:
    """What `ingest ARGUMENTS` prints on a terminal 100 columns wide, notes on standard error last."""
    reader, writer = pty.openpty()
    script = Path(sys.executable).with_name("ingest")
    with subprocess.Popen([script, *shlex.split(arguments)], stdout=writer, stderr=subprocess.PIPE, cwd=ROOT) as process:
        os.close(writer)
        payload = "".join(_read(reader)).replace("\r\n", "\n")
        assert process.stderr is not None
        notes = process.stderr.read().decode().splitlines()
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in notes]
    lines = "\n".join([payload.rstrip(), *wrapped]).replace(f"{ROOT}/", "")
    return f"```console\n$ ingest {arguments}\n{lines.strip()}\n```"


def _read(reader: int) -> Iterator[str]:
    whole = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux says so when the other end is closed
            part = b""
        if not part:
            break
        whole += part
    os.close(reader)
    yield whole.decode()


def commands_page() -> str:
    """The help text of every command."""

    def walk(found: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
        context = click.Context(found, info_name=name, parent=parent, terminal_width=80, max_content_width=80)
        yield f"## `{context.command_path}`\n\n```text\n{found.get_help(context)}\n```"
        if isinstance(found, click.Group):
            for inner in found.list_commands(context):
                child = found.get_command(context, inner)
                if child is not None:
                    yield from walk(child, context, inner)

    return page("Commands", *walk(command, None, "ingest"))


# Formulas and quantities


def formulas_page() -> str:
    """Every formula, by module."""
    parts = []
    for module, found in groupby(FORMULAS.values(), key=lambda item: item.function.__module__):
        doc = sys.modules[module].__doc__ or ""
        parts += [f"## {doc.strip().splitlines()[0].rstrip('.')}", *map(_formula, found)]
    intro = "A formula is named after the quantity it yields. A value that is given with `--set NAME=VALUE` wins over it."
    return page("Formulas", intro, *parts)


def _formula(made: Formula) -> str:
    needs = ", ".join(f"[`{name}`]({'' if name in FORMULAS else 'quantities.md'}#{name})" for name in made.needs)
    cited = "by definition" if made.source == "definition" else f"[{made.source}](sources.md#{made.source}), {made.where}"
    examples = doctest.DocTestParser().get_examples(made.function.__doc__ or "")
    worked = "".join(f">>> {example.source}{example.want}" for example in examples).rstrip()
    lines = [
        f"### `{made.name}`",
        made.meaning,
        f"```text\n{made.name}\n  = {prose(made.tree())}\n```",
        f"- Unit: `{made.unit}`\n- Needs: {needs}\n- Source: {cited}",
        f"```pycon\n{worked}\n```",
    ]
    return "\n\n".join(lines)


def quantities_page() -> str:
    """Every quantity that is given, not computed."""
    intro = (
        "These quantities are given: by a catalog, by an option of `ingest bw`, or by `--set NAME=VALUE`. "
        "They are in base units inside; prefixes are understood when they are written (`--set sample_bytes=16MiB`)."
    )
    parts = []
    for item in LEAVES.values():
        start = ("above " if item.above else "from ") + f"{item.low:g}"
        end = f" up to {item.high:g}" if item.high < float("inf") else ""
        kind = "whole numbers " if item.whole else ""
        lines = [f"- Unit: `{item.unit}`", f"- Allowed: {kind}{start}{end}"]
        if item.default is not None:
            source = f" ([{item.source}](sources.md#{item.source}))" if item.source else ""
            lines.append(f"- Default: {item.default:g}{source}")
        parts.append(f"## `{item.name}`\n\n{item.meaning}\n\n" + "\n".join(lines))
    return page("Quantities that are given", intro, *parts)


# Catalogs


def missing_part(entries: Iterable[Entry]) -> str:
    """What entries lack, and why or what to supply."""
    rows = [(f"`{one.id}`", f"`{name}`", why) for one in entries for name, why in one.missing.items()]
    intro = "A number that nobody has published is not invented: the tool says what is missing and how to supply it."
    return f"## Missing\n\n{intro}\n\n" + table(("id", "value", "why, or what to supply"), rows) if rows else ""


def aliases_part(kind: str) -> str:
    """Everyday names."""
    rows = [(f"`{alias}`", f"`{name}`") for alias, name in sorted(CATALOG.aliases.get(kind, {}).items())]
    return "## Everyday names\n\n" + table(("name", "stands for"), rows) if rows else ""


def notes_part(entries: Iterable[Entry]) -> str:
    """Traps and remarks that belong to entries."""
    rows = [(f"`{one.id}`", note) for one in entries for note in one.notes]
    return "## Notes\n\n" + table(("id", "note"), rows) if rows else ""


def models_page() -> str:
    """Models, encodings, classes and what is missing."""
    models = CATALOG.all(Model)
    rows, sizes = [], []
    for one in models:
        rates = CATALOG.rates(one)
        gpus = len({rate.gpu for rate in rates})
        flops, samples = shown(one.flops_per_sample), shown(one.dataset_samples)
        rows.append((f"`{one.id}`", one.name, one.family, one.sample, flops, samples, len(rates), gpus))
        for name, encoding in one.encodings.items():
            values = [shown(getattr(encoding, size)) for size in (*SIZES, "samples_per_file")]
            sizes.append((f"`{one.id}`", name, *values))
    classes = [(f"`{one.id}`", one.name, shown(one.efficiency), _range(one.efficiency)) for one in CATALOG.all(Family)]
    columns = ("id", "model", "class", "one sample", "FLOP per sample", "samples per pass", "rates", "GPUs")
    return page(
        "Models",
        f"{len(models)} models. {GRADES} {SHOW.format(kind='model')}",
        "`rates` counts the measured rates of a model, `GPUs` the accelerators they were measured on.",
        table(columns, rows),
        "## Encodings\n\nBytes of one sample: stored on storage, decoded for the GPU, touched where a whole file is read. "
        "The first encoding of a model is its default.",
        table(("model", "encoding", *SIZES, "samples per file"), sizes),
        "## Classes\n\nThe share of the dense peak that the members of a class reach.",
        table(("id", "class", "median", "P10 – P90"), classes),
        missing_part([*models, *CATALOG.all(Family)]),
        notes_part(models),
        aliases_part("models"),
    )


def _range(value: Value | None) -> str:
    return f"{value.low:g} – {value.high:g}" if value and value.low is not None and value.high is not None else ""


def gpus_page() -> str:
    """Accelerators."""
    gpus = CATALOG.all(Gpu)
    peaks = [
        (f"`{one.id}`", one.name, *(_tera(one.peak_flops.get(name)) for name in PRECISIONS), shown(one.memory_bandwidth))
        for one in gpus
    ]
    rest = [
        (f"`{one.id}`", one.vendor, one.form, shown(one.memory_bytes), one.host_link, shown(one.power), one.usual_node)
        for one in gpus
    ]
    return page(
        "GPUs and other accelerators",
        f"{len(gpus)} accelerators. Every peak is dense, in TFLOP/s. {GRADES} {SHOW.format(kind='gpu')}",
        table(("id", "name", *PRECISIONS, "memory bandwidth"), peaks),
        "## Memory, link and node",
        table(("id", "vendor", "form", "memory", "host link", "power", "usual node"), rest),
        missing_part(gpus),
        notes_part(gpus),
        aliases_part("gpus"),
    )


def _tera(value: Value | None) -> str:
    return f"{value.value / 1e12:,.5g} {value.grade[0]}" if value else ""


def nodes_page() -> str:
    """Node types; storage NICs stand apart from compute NICs."""
    nodes = CATALOG.all(Node)
    nics = [
        (
            f"`{one.id}`",
            one.name,
            f"{one.gpus_per_node.value:g} × `{one.gpu}`",
            f"{one.storage_nics}: {shown(one.storage_nic_bandwidth)}".removesuffix(": "),
            f"{one.compute_nics}: {shown(one.compute_nic_bandwidth)}".removesuffix(": "),
        )
        for one in nodes
    ]
    local = [
        (f"`{one.id}`", *map(shown, (one.host_memory_bytes, one.nvme_drives, one.nvme_bytes, one.nvme_read_bandwidth)))
        for one in nodes
    ]
    return page(
        "Node types",
        f"{len(nodes)} node types. A compute NIC is not the path to storage. {GRADES} {SHOW.format(kind='node')}",
        table(("id", "name", "GPUs", "storage NICs", "compute NICs"), nics),
        "## Memory and local drives",
        table(("id", "host memory", "NVMe drives", "NVMe capacity", "NVMe read"), local),
        missing_part(nodes),
        notes_part(nodes),
        aliases_part("nodes"),
    )


def storage_page() -> str:
    """Storage protocols, clients, drives, protection schemes and systems."""
    found = CATALOG.all(Storage)
    rows = [
        (
            f"`{one.id}`",
            one.name,
            one.family,
            one.scaling_unit,
            *map(shown, (one.client_read_bandwidth, one.read_bandwidth, one.write_bandwidth, one.usable_fraction)),
        )
        for one in found
    ]
    columns = ("id", "name", "family", "unit", "one client reads", "reads", "writes", "usable share")
    return page(
        "Storage",
        f"{len(found)} protocols, clients, drives, protection schemes and systems. {GRADES} {SHOW.format(kind='storage')}",
        table(columns, rows),
        missing_part(found),
        notes_part(found),
        aliases_part("storage"),
    )


def protocols_page() -> str:
    """Measurement protocols, and what to know before demanding one."""
    count: dict[str, int] = {}
    for model in CATALOG.all(Model):
        for rate in CATALOG.rates(model):
            count[rate.protocol] = count.get(rate.protocol, 0) + 1
    found = CATALOG.all(Protocol)
    rows = [(f"`{one.id}`", one.name, one.form, count.get(one.id, 0), one.advice) for one in found]
    return page(
        "Measurement protocols",
        "A rate belongs to a protocol: whose software, on what terms. `--protocol ID` asks for one. "
        f"{len(found)} protocols, {sum(count.values()):,} rates.",
        table(("id", "name", "form", "rates", "advice"), rows),
        aliases_part("protocols"),
    )


def sources_page() -> str:
    """Where every number comes from."""
    parts = []
    for name, source in sorted(CATALOG.sources.items()):
        facts = (source.kind, f"<{source.url}>" if source.url else "", source.version and f"version {source.version}")
        parts.append(
            f"## `{name}`\n\n" + "\n\n".join(filter(None, (source.title, ", ".join(filter(None, facts)), source.note)))
        )
    return page("Sources", f"{len(parts)} sources. A value without a source does not load.", *parts)


# Tables of the method chapter and the README


class Carried(NamedTuple):
    """A measured rate and what the transferred rung says with that GPU left out."""

    family: str
    group: str
    measured: float
    given: ladder.Given

    @property
    def inside(self) -> bool:
        """Whether the measured rate lies in the range."""
        low, high = self.given.low or self.given.value, self.given.high or self.given.value
        return low <= self.measured <= high


def carried() -> Iterator[Carried]:
    """Every measured rate that other GPUs can predict under the same protocol."""
    for model in CATALOG.all(Model):
        rates = CATALOG.rates(model)
        for precision in dict.fromkeys(ladder.family_of(rate.precision)[0] for rate in rates):
            for rate in ladder.protocol_rates(model, rates, precision):
                gpu, form = CATALOG.get(Gpu, rate.gpu), CATALOG.get(Protocol, rate.protocol).form
                rung = None
                if form != "emulation":
                    rung = ladder.transferred(CATALOG, model, gpu, precision, rate.protocol)
                if rung is None:
                    continue
                given = rung.given[ladder.RATE]
                wide = (given.low or 0) / given.value == ladder.WIDE_BAND[0]
                flagged = "same vendor, flagged (recommendation models on PCIe GPUs)"
                plain = "same vendor, at most 4× apart" if not rung.warnings else flagged
                yield Carried(model.family, "across vendors, or more than 4× apart" if wide else plain, rate.value, given)


def _errors(groups: Mapping[str, list[Carried]]) -> Iterator[tuple[str, ...]]:
    for name, cases in groups.items():
        error = statistics.median(abs(case.given.value / case.measured - 1) for case in cases)
        ratios = sorted(case.measured / case.given.value for case in cases)
        ends = [ratios[round(share * (len(ratios) - 1))] for share in (0.1, 0.5, 0.9)]
        inside = sum(case.inside for case in cases) / len(cases)
        yield (name, str(len(cases)), percent(error), percent(inside), *(f"{end:.2f}" for end in ends))


ERROR_COLUMNS = ("cases", "median error", "inside the range", "P10", "P50", "P90 of measured ÷ predicted")


def transfer_by_relation() -> str:
    """Transfer errors by how the source GPUs relate to the target."""
    groups: dict[str, list[Carried]] = {}
    for case in carried():
        groups.setdefault(case.group, []).append(case)
    return table(("source GPUs", *ERROR_COLUMNS), _errors(groups))


def transfer_by_class() -> str:
    """Transfer errors by class of model, same vendor only."""
    groups: dict[str, list[Carried]] = {}
    for case in carried():
        if case.group.endswith("apart") and case.group.startswith("same"):
            groups.setdefault(case.family, []).append(case)
    return table(("class", *ERROR_COLUMNS), _errors(dict(sorted(groups.items()))))


def validation_table() -> str:
    """The sets of `ingest validate`."""
    rows = [
        (f"`{one.name}`", one.title, one.cases, one.within_tolerance, f"{one.median_absolute_error * 100:.2f} %", one.bar_text)
        for one in ingest.validate().sets
    ]
    return table(("set", "published figures", "cases", "within", "median error", "bar"), rows)


def protocol_spread() -> str:
    """How far protocols disagree on the same model, GPU and precision."""
    rows = []
    for name, forms in (("trainings alone", {"emulation"}), ("emulated rates included", set())):
        spreads = []
        for model in CATALOG.all(Model):
            rates = [rate for rate in CATALOG.rates(model) if CATALOG.get(Protocol, rate.protocol).form not in forms]
            for precision in dict.fromkeys(ladder.family_of(rate.precision)[0] for rate in rates):
                found: dict[str, list[float]] = {}
                for rate in ladder.protocol_rates(model, rates, precision):
                    found.setdefault(rate.gpu, []).append(rate.value)
                spreads += [max(values) / min(values) for values in found.values() if len(values) > 1]
        rows.append((name, len(spreads), f"{statistics.median(spreads):.2f}×", f"{max(spreads):.1f}×"))
    return table(("protocols", "pairs of model and GPU", "median fastest ÷ slowest", "largest"), rows)


def scaling_table() -> str:
    """What larger jobs keep of the rate per GPU."""
    rows = [
        (one.name, name.replace("-", " "), f"{value.value:g}", _range(value), value.where)
        for one in CATALOG.all(Scaling)
        for name, value in one.factors.items()
    ]
    return table(("scaling", "GPUs", "factor", "range", "from"), rows)


def counts() -> str:
    """How much the catalogs hold."""
    models = CATALOG.all(Model)
    rates = [(model.id, rate) for model in models for rate in CATALOG.rates(model)]
    pairs = {(model, rate.gpu) for model, rate in rates}
    kinds = ((Model, "models"), (Gpu, "accelerators"), (Node, "node types"), (Storage, "storage entries"))
    rows = [(word, len(CATALOG.all(kind))) for kind, word in kinds]
    more = [("measured rates", f"{len(rates):,}"), ("pairs of model and GPU with a rate", len(pairs))]
    return table(("what", "how many"), [*rows, *more, ("sources", len(CATALOG.sources))])


def modes_of_formulas() -> str:
    """The formulas of the ladder, as written."""
    names = ("unstalled_samples_per_second_per_gpu", "achieved_flops_per_gpu", "transfer_ratio")
    more = ("transferred_samples_per_second_per_gpu", "samples_per_second_per_gpu", "ingest_bandwidth_per_gpu")
    lines = [f"{name}\n  = {prose(FORMULAS[name].tree())}" for name in (*names, *more)]
    return "```text\n" + "\n".join(lines) + "\n```"


TABLES: dict[str, Callable[[], str]] = {
    "validation": validation_table,
    "transfer-by-relation": transfer_by_relation,
    "transfer-by-class": transfer_by_class,
    "protocol-spread": protocol_spread,
    "scaling": scaling_table,
    "counts": counts,
    "ladder-formulas": modes_of_formulas,
}
PAGES: dict[str, Callable[[], str]] = {
    "examples/models/my-model.yaml": lambda: template(Model, "my-model"),
    "examples/gpus/my-gpu.yaml": lambda: template(Gpu, "my-gpu"),
    "reference/commands.md": commands_page,
    "reference/formulas.md": formulas_page,
    "reference/quantities.md": quantities_page,
    "reference/models.md": models_page,
    "reference/gpus.md": gpus_page,
    "reference/nodes.md": nodes_page,
    "reference/storage.md": storage_page,
    "reference/protocols.md": protocols_page,
    "reference/sources.md": sources_page,
}
BLOCK = re.compile(r"(<!-- (output|table|file): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str) -> str:
    """A hand-written page with its marked blocks brought up to date."""

    def block(found: re.Match[str]) -> str:
        kind, what = found[2], found[3]
        if kind == "output":
            content = printed(what)
        elif kind == "table":
            content = TABLES[what]()
        else:
            content = f"```{Path(what).suffix[1:]}\n{(ROOT / what).read_text(encoding='utf-8').rstrip()}\n```"
        return f"{found[1]}\n{content}\n\n{found[4]}"

    return BLOCK.sub(block, text)


def wanted() -> Iterator[tuple[Path, str]]:
    """Every file that this script keeps, with its content; generated files first, so that blocks may show them."""
    for name, make in PAGES.items():
        yield DOCS / name, make()
    for path in sorted([ROOT / "README.md", *DOCS.rglob("*.md")]):
        if str(path.relative_to(ROOT)) not in {f"docs/{name}" for name in PAGES} and "_build" not in path.parts:
            yield path, fill(path.read_text(encoding="utf-8"))


def main() -> int:
    """Write or check; the exit code."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, content in wanted():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(content, encoding="utf-8")
    print("\n".join(f"{'stale' if check else 'written'}: {name}" for name in stale) or "everything is up to date")
    failed = 0
    for path in (ROOT / "README.md", DOCS / "howto" / "use-in-python.md"):
        failed += doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
    return 1 if failed or (check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
