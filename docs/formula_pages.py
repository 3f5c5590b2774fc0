"""The reference of formulas, one page per field, and of the given quantities."""

from __future__ import annotations

import doctest
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from functools import partial

from common import UNBROKEN, page, table

from ingest.engine.expression import prose
from ingest.engine.registry import FORMULAS, INPUTS, Formula, _alternatives


def module_of(name: str) -> str:
    """The module that holds a formula.

    >>> module_of("ingest_bandwidth_per_gpu")
    'bandwidth'
    """
    return FORMULAS[name].function.__module__.rpartition(".")[2]


def _by_page() -> dict[str, dict[str, list[Formula]]]:
    """Formulas by page and module; modules whose names begin with the same word share a page."""
    modules: dict[str, list[Formula]] = {}
    for name, made in FORMULAS.items():
        modules.setdefault(module_of(name), []).append(made)
    kin = Counter(name.partition("_")[0] for name in modules)
    pages: dict[str, dict[str, list[Formula]]] = {}
    for name, found in sorted(modules.items()):
        word = name.partition("_")[0]
        pages.setdefault(word if kin[word] > 1 else name, {})[name] = found
    return pages


PAGE_OF = {made.name: page for page, modules in _by_page().items() for found in modules.values() for made in found}


def formula_link(name: str) -> str:
    """The link to a formula from docs/."""
    return f"reference/formulas/{PAGE_OF[name]}.md#{name}"


def _link(name: str) -> str:
    """The link to a formula or a given quantity from docs/reference/."""
    return f"formulas/{PAGE_OF[name]}.md#{name}" if name in PAGE_OF else f"quantities.md#{name}"


def _docstring(module: str) -> list[str]:
    doc = sys.modules[f"ingest.formulas.{module}"].__doc__ or ""
    return [" ".join(part.split()) for part in doc.strip().split("\n\n")]


def index_page() -> str:
    """The modules of formulas, and the page of each formula."""
    pages = _by_page()
    rows = [
        (f"[{page}](formulas/{page}.md)", _docstring(module)[0], len(found))
        for page, modules in pages.items()
        for module, found in modules.items()
    ]
    ways = [
        (f"`{name}`", f"`{one.when}`", f"[`{one.formula}`]({_link(one.formula)})")
        for name, alternatives in sorted(_alternatives.items())
        for one in alternatives
    ]
    names = [(f"[`{name}`]({_link(name)})", f"`{FORMULAS[name].unit}`") for name in sorted(FORMULAS)]
    listed = "\n".join(f"formulas/{name}" for name in pages)
    return page(
        "Formulas",
        f"{len(FORMULAS)} formulas. Each is a single expression, named after the quantity that it yields. A value that is set "
        "with `--set NAME=VALUE` takes precedence. [Given quantities](quantities.md) lists the quantities without a formula.",
        table(("page", "topic", "formulas"), rows),
        f"```{{toctree}}\n:hidden:\n\n{listed}\n```",
        "## Alternatives\n\nThese quantities follow another one where a question states a case, unless they are given. "
        "Of several cases that are stated, the first one listed holds.",
        table(("quantity", "case", "follows"), ways),
        "## By name",
        table(("formula", "unit"), names),
    )


def formulas_page(name: str) -> str:
    """The formulas of one module, or of several under a heading each, in the order in which a module has them."""
    modules = _by_page()[name]
    if len(modules) == 1:
        ((module, found),) = modules.items()
        title, *rest = _docstring(module)
        return page(title.rstrip("."), *rest, *map(_formula, found))
    parts: list[str] = []
    for module, found in modules.items():
        title, *rest = _docstring(module)
        parts += [f"## {title.rstrip('.')}", *rest, *(_formula(made, "###") for made in found)]
    return page(name.capitalize(), *parts)


def _formula(made: Formula, heading: str = "##") -> str:
    needs = ", ".join(f"[`{name}`]({_place(name, made)})" for name in made.needs)
    cited = "by definition" if made.source == "definition" else f"[{made.source}](../sources.md#{made.source}), {made.where}"
    examples = doctest.DocTestParser().get_examples(made.function.__doc__ or "")
    worked = "".join(f">>> {example.source}{example.want}" for example in examples).rstrip()
    facts = (f"- Unit: `{made.unit}`", f"- Needs: {needs}", f"- Source: {cited}")
    lines = [
        f"{heading} `{made.name}`",
        made.meaning,
        f"```text\n{made.name}\n  = {prose(made.tree())}\n```",
        "\n".join(textwrap.fill(line, 118, subsequent_indent="  ", **UNBROKEN) for line in facts),
        *([f"```pycon\n{worked}\n```"] if worked else []),
    ]
    return "\n\n".join(lines)


def _place(name: str, seen_from: Formula) -> str:
    if name not in FORMULAS:
        return f"../quantities.md#{name}"
    return f"#{name}" if PAGE_OF[name] == PAGE_OF[seen_from.name] else f"{PAGE_OF[name]}.md#{name}"


def quantities_page() -> str:
    """Every given quantity."""
    intro = (
        "These quantities come from a catalog, from an option of a command, or from `--set NAME=VALUE`. "
        "Limits and defaults are in base units; values may be written with a prefix (`--set sample_bytes=16MiB`)."
    )
    parts = []
    for _, item in sorted(INPUTS.items()):
        start = ("above " if item.above else "from ") + f"{item.low:g}"
        end = f" up to {item.high:g}" if item.high < float("inf") else ""
        kind = "whole numbers " if item.whole else ""
        lines = [f"- Unit: `{item.unit}`", f"- Allowed: {kind}{start}{end}"]
        if item.default is not None:
            source = f" ([{item.source}](sources.md#{item.source}))" if item.source else ""
            lines.append(f"- Default: {item.default:g}{source}")
        parts.append(f"## `{item.name}`\n\n{item.meaning}\n\n" + "\n".join(lines))
    return page("Given quantities", intro, *parts)


PAGES: dict[str, Callable[[], str]] = {
    "reference/formulas.md": index_page,
    "reference/quantities.md": quantities_page,
    **{f"reference/formulas/{name}.md": partial(formulas_page, name) for name in _by_page()},
}
