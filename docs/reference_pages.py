"""The reference pages, generated from the package: commands, models, hardware, protocols, training and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import click
import data_pages
import formula_pages
from common import CATALOG, GRADES, ROOT, SHOW, aliases_part, entry_rows, limits, missing_part, notes_part, page, shown, table

from ingest.architecture import describe
from ingest.architecture.registry import families as model_families
from ingest.catalog.commands import template
from ingest.catalog.records import (
    PRECISIONS,
    SIZES,
    Failures,
    Family,
    Gpu,
    Model,
    Node,
    Optimizer,
    Protocol,
    Recipe,
)
from ingest.cli.group import command
from ingest.cli.options import EVERY_OPTION
from ingest.sizing.explain import RuleExplanation
from ingest.sizing.rules import RETIRED, ROWS

#: module of families -> its heading, where the name alone is an abbreviation
FAMILIES = {"mla": "Multi-head latent attention", "moe": "Mixture of experts"}

# Commands


def commands_page() -> str:
    """The help text of every command."""

    def walk(found: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
        context = click.Context(found, info_name=name, parent=parent, terminal_width=80, max_content_width=80)
        context.meta[EVERY_OPTION] = True
        yield f"## `{context.command_path}`\n\n```text\n{found.get_help(context)}\n```"
        if isinstance(found, click.Group):
            for inner in found.list_commands(context):
                child = found.get_command(context, inner)
                if child is not None:
                    yield from walk(child, context, inner)

    return page("Commands", *walk(command, None, "ingest"))


# Catalogs


def models_page() -> str:
    """Models, encodings, classes and missing values."""
    models = CATALOG.all(Model)
    rows, sizes = [], []
    for one in models:
        rates = CATALOG.rates(one)
        gpus = len({rate.gpu for rate in rates})
        flops, samples = shown(one.flops_per_sample), shown(one.dataset_samples)
        rows.append((f"`{one.id}`", one.name, one.family, flops, samples, len(rates), gpus))
        for name, encoding in one.encodings.items():
            values = [shown(getattr(encoding, size)) for size in (*SIZES, "samples_per_file")]
            sizes.append((f"`{one.id}`", name, *values))
    classes = entry_rows(CATALOG.all(Family), "name", "efficiency", lambda one: limits(one.efficiency))
    columns = ("id", "model", "class", "FLOP per sample", "samples per epoch", "rates", "GPUs")
    return page(
        "Models",
        f"{len(models)} models. {GRADES} {SHOW.format(kind='model')}",
        "*Rates* counts the measured rates of a model, *GPUs* the accelerators with a measured rate.",
        table(columns, rows),
        "## Sample of each model",
        table(("id", "one sample"), entry_rows(models, "sample")),
        "## Encodings\n\nBytes of one sample: stored on storage, decoded for the GPU, touched if a whole file is read. "
        "The first encoding of a model is its default.",
        table(("model", "encoding", *SIZES, "samples per file"), sizes),
        "## Classes\n\nShare of the dense peak that the models of a class reach.",
        table(("id", "class", "median", "P10 – P90"), classes),
        missing_part([*models, *CATALOG.all(Family)]),
        notes_part(models),
        aliases_part("models"),
    )


#: What else than an id stands for a device or a node.
PRINTED = (
    "Names as tools print them stand for their entries too: lines of `nvidia-smi -L`, `rocm-smi` and `hl-smi`, labels of "
    "Kubernetes, `gpu:h100:8` of Slurm, and instance types of clouds. Memory and form must agree; a name that could be several "
    "is answered by a list, and a slice of a GPU (MIG) by the whole one."
)


def gpus_page() -> str:
    """Accelerators."""
    gpus = CATALOG.all(Gpu)
    peaks = entry_rows(gpus, *(partial(_tera, name) for name in PRECISIONS), "memory_bandwidth")
    rest = entry_rows(gpus, "name", "vendor", "form", "memory_bytes", "host_link", "power", "usual_node")
    return page(
        "GPUs and other accelerators",
        f"{len(gpus)} accelerators. Every peak is dense, in TFLOP/s. {GRADES} {SHOW.format(kind='gpu')} {PRINTED}",
        table(("id", *PRECISIONS, "memory bandwidth"), peaks),
        "## Memory, link and node",
        table(("id", "name", "vendor", "form", "memory", "host link", "power", "usual node"), rest),
        missing_part(gpus),
        notes_part(gpus),
        aliases_part("gpus"),
    )


def _tera(precision: str, gpu: Gpu) -> str:
    value = gpu.peak_flops.get(precision)
    return f"{value.value / 1e12:,.5g}\u00a0{value.grade[0]}" if value else ""


def nodes_page() -> str:
    """Node types, with separate storage and compute NICs."""
    nodes = CATALOG.all(Node)
    nics = entry_rows(
        nodes,
        "name",
        lambda one: f"{one.gpus_per_node.value:g} × `{one.gpu}`",
        lambda one: f"{one.storage_nics}: {shown(one.storage_nic_bandwidth)}".removesuffix(": "),
        lambda one: f"{one.compute_nics}: {shown(one.compute_nic_bandwidth)}".removesuffix(": "),
    )
    local = entry_rows(nodes, "host_memory_bytes", "nvme_drives", "nvme_bytes", "nvme_read_bandwidth")
    return page(
        "Node types",
        f"{len(nodes)} node types. A compute NIC is not the path to storage. {GRADES} {SHOW.format(kind='node')} {PRINTED}",
        table(("id", "name", "GPUs", "storage NICs", "compute NICs"), nics),
        "## Memory and local drives",
        table(("id", "host memory", "NVMe drives", "NVMe capacity", "NVMe read"), local),
        missing_part(nodes),
        notes_part(nodes),
        aliases_part("nodes"),
    )


def protocols_page() -> str:
    """Measurement protocols, with advice on which one to require."""
    count: dict[str, int] = {}
    for model in CATALOG.all(Model):
        for rate in CATALOG.rates(model):
            count[rate.protocol] = count.get(rate.protocol, 0) + 1
    found = CATALOG.all(Protocol)
    rows = entry_rows(found, "name", "form", lambda one: count.get(one.id, 0), "advice")
    return page(
        "Measurement protocols",
        "The protocol of a rate describes the software and the rules of its measurement. `--protocol ID` selects one. "
        f"{len(found)} protocols, {sum(count.values()):,} rates.",
        table(("id", "name", "form", "rates", "advice"), rows),
        aliases_part("protocols"),
    )


def architectures_page() -> str:
    """Architectures in the catalog, and the known families of `config.json`."""
    made = [describe(path.stem, CATALOG) for path in sorted((ROOT / "catalogs" / "architectures").glob("*.yaml"))]
    sizes = [
        (
            f"`{one.id}`",
            f"`{one.model_type}`",
            *(f"{size:,}" for size in (one.layers, one.hidden, one.heads, one.kv_heads, one.vocabulary)),
            *(f"{size:,}" for size in (one.parameters, one.parameters_active)),
            f"{one.kv_cache_bytes_per_token():,.0f}",
        )
        for one in made
    ]
    columns = ("id", "family", "layers", "width", "heads", "key and value heads", "vocabulary")
    totals = ("parameters", "active", "cache, B per token at bf16")
    described = model_families()
    families = []
    for module in sorted({function.__module__ for function in described.values()}):
        rows = []
        for name in sorted(key for key, function in described.items() if function.__module__ == module):
            doc = (described[name].__doc__ or "").strip()
            rows.append((f"`{name}`", " ".join(doc.split("\n\n")[0].split())))
        place = module.rpartition(".")[2]
        families.append(
            f"### {FAMILIES.get(place) or place.replace('_', ' ').capitalize()}\n\n"
            + table(("model_type", "what is counted"), rows)
        )
    return page(
        "Architectures",
        f"The catalog holds the hyper-parameters of {len(made)} models; {len(described)} values of `model_type` are known. "
        "Other models are refused; [describe them as rows](../howto/size-a-model.md).",
        table((*columns, *totals), sizes),
        "## Families\n\nGrouped by module of `ingest/architecture/families/`.",
        *families,
    )


def releases_page() -> str:
    """The releases that are known by name, by family."""
    rows = [row for row in CATALOG.releases.rows.values() if row.model_type]
    checked = {word: sum(word in row.check.split() for row in rows) for word in ("class", "published", "preset")}
    alone = sum(row.check == "file" for row in rows)
    parts = []
    for family in sorted({row.model_type for row in rows}):
        own = [row for row in rows if row.model_type == family]
        also = (
            (f"`{row.id}`", row.hub, f"{row.parameters:,}", ", ".join(row.also), row.check, f"`{row.source}`") for row in own
        )
        columns = ("id", "on the hub", "parameters", "further names", "check", "source")
        parts.append(f"## {family}\n\n{table(columns, also)}")
    names = sum(len(row.names) for row in CATALOG.releases.rows.values())
    return page(
        "Models by name",
        f"{names:,} names of {len(CATALOG.releases.rows):,} structures: every command that takes a model takes any of them, in "
        "any case, with dashes, dots or spaces, as an id of the hub (`org/name`), as a tag (`llama3.1:8b`), and with words for "
        "how it is stored or tuned (`-AWQ`, `-FP8`, `-Instruct`). A name that may be several models is refused with their ids.",
        "Parameters are counted from the keys of a row. "
        f"Checks: {checked['class']} equal the count of the class of Transformers 5.24.0 on the meta device (`class`), "
        f"{checked['published']} the count that the release publishes, some of them recalled (`published`), "
        f"{checked['preset']} the count of KerasHub (`preset`); {alone} rest on the release's own file (`file`). "
        "The source is where the sizes were read; the table states the place. "
        "Rows with `recalled` stand only where a published count agrees.",
        *parts,
    )


def training_page() -> str:
    """Optimizers, recipes and failure rates."""
    kept = CATALOG.all(Optimizer)
    states = entry_rows(kept, "name", "master", "momentum", "variance")
    recipes = entry_rows(CATALOG.all(Recipe), "name", lambda one: f"`{one.optimizer}`", "weights", "gradients")
    failures = entry_rows(CATALOG.all(Failures), "name", "interrupts", "period", "nodes", "rate", "gpus_per_node")
    return page(
        "Optimizers, recipes and failures",
        f"Bytes that training keeps per parameter, and failure rates of nodes. {GRADES}",
        "## Optimizers\n\nBytes of state per trained parameter. " + SHOW.format(kind="optimizers"),
        table(("id", "name", "master copy", "momentum", "variance"), states),
        notes_part(kept).replace("## Notes", "### Notes on optimizers"),
        "## Recipes\n\nWeights and gradients of a recipe, in addition to the states of its optimizer. "
        "`--recipe` takes the id, or the bytes per parameter at the end of the id.",
        table(("id", "name", "optimizer", "weights", "gradients"), recipes),
        "## Failures\n\nInterrupts counted on a cluster, or a rate per node. `--failures` takes the id.",
        table(("id", "name", "interrupts", "period", "nodes", "rate", "GPUs per node"), failures),
        notes_part(CATALOG.all(Failures)).replace("## Notes", "### Notes on failures"),
    )


def sources_page() -> str:
    """The sources of the catalogs."""
    parts = []
    for name, source in sorted(CATALOG.sources.items()):
        version = f"version {source.version}" if source.version else ""
        facts = ", ".join(filter(None, (source.kind, f"<{source.url}>" if source.url else "", version)))
        parts.append("\n\n".join(filter(None, (f"## `{name}`", source.title, facts, source.note))))
    return page("Sources", f"{len(parts)} sources. A value without a source does not load.", *parts)


KINDS = {"refusal": "Refusals", "choice": "Choices of a plan"}


def rules_page() -> str:
    """The rules, each with the line that it prints or the choice that it makes."""
    parts = ["## Cautions"]
    for one in (one for one in ROWS if one.kind == "warning"):
        said = RuleExplanation(one).results
        said.pop("kind")
        facts = "\n".join(f"- {name.replace('_', ' ').capitalize()}: {text}" for name, text in said.items() if name != "line")
        parts.append(f"### `{one.id}`\n\n{said['line']} (rank {one.rank})\n\n{facts}")
    for kind, title in KINDS.items():
        rows = [(f"`{one.id}`", str(one.rank), (one.text or one.what).strip(" :")) for one in ROWS if one.kind == kind]
        parts += [f"## {title}", table(("id", "rank", "line, or what is compared"), rows)]
    retired = ", ".join(f"`{name}`" for name in RETIRED)
    return page(
        "Rules",
        f"{len(ROWS)} rules. A caution starts with the id of its rule. A page shows the three of the lowest rank; `-v` shows "
        "all. "
        f"An id stays with its rule and is never given to another one; retired ids: {retired}.",
        "Words in braces are values of the case. `ingest explain W61` prints what stands here.",
        *parts,
    )


PAGES: dict[str, Callable[[], str]] = {
    "examples/models/my-model.yaml": lambda: template(Model, "my-model"),
    "examples/gpus/my-gpu.yaml": lambda: template(Gpu, "my-gpu"),
    "reference/commands.md": commands_page,
    "reference/models.md": models_page,
    "reference/gpus.md": gpus_page,
    "reference/nodes.md": nodes_page,
    "reference/protocols.md": protocols_page,
    "reference/architectures.md": architectures_page,
    "reference/releases.md": releases_page,
    "reference/training.md": training_page,
    "reference/sources.md": sources_page,
    "reference/rules.md": rules_page,
    **data_pages.PAGES,
    **formula_pages.PAGES,
}
