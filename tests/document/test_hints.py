"""What is cut from the words of the tool: its hints to who sits at the keyboard, and no fact."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import ingest
import ingest.formulas
from ingest.formula import FORMULAS
from ingest.reports.document.speech import derivation_line, for_readers, place_of, source_title
from ingest.site.wording import in_site_words

ROOT = Path(__file__).parents[2]
#: A hint, found in a way that shares nothing with the code under test.
COMMANDS = ("say", "supply")
#: Keys of one word that shipped hints ask for.
PLAIN_KEYS = {
    *("capacity", "copies", "efficiency", "files", "gpu", "growth", "keep", "mtti", "node", "nodes", "pipeline", "samples"),
    *("scaling", "threads", "units", "utilization", "vocabulary", "waste"),
}
#: Where places in sources are nothing but arithmetic.
ARITHMETIC = re.compile(r"[=÷·√^τληδ×]|[A-Z]/\(")


def in_catalogs(*keys: str) -> list[str]:
    """What the shipped catalogs say under these keys."""

    def found(node: Any, key: str) -> Iterator[str]:
        if isinstance(node, dict):
            for name, inner in node.items():
                yield from found(inner, key if key in keys else name)
        elif isinstance(node, list):
            for inner in node:
                yield from found(inner, key)
        elif key in keys:
            yield str(node)

    files = sorted((ROOT / "catalogs").rglob("*.yaml"))
    return sorted({text for path in files for text in found(yaml.safe_load(path.read_text(encoding="utf-8")), "")})


def template(node: ast.expr) -> str:
    """A text of the code; what it fills in is a word."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(template(part) if isinstance(part, ast.Constant) else "something" for part in getattr(node, "values", []))


def texts_of(tree: ast.AST) -> Iterator[str]:
    """All texts of a module but the docstrings, and parts of longer ones."""
    inner = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.Constant)) and id(node) not in inner | docs:
            yield template(node)


def in_code() -> list[str]:
    """The texts of the code that could be a note: those with a space in them."""
    files = sorted((ROOT / "ingest").rglob("*.py"))
    found = {text for path in files for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))}
    return sorted(text for text in found if re.search(r"[a-z] [a-z]", text) and "\n" not in text and "(?" not in text)


def notes_of_code() -> list[str]:
    """The texts that are given as notes, by name or as the value of a name that says so."""
    found: set[str] = set()
    for path in sorted((ROOT / "ingest").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            given = node.value if isinstance(node, ast.keyword) and node.arg == "note" else None
            if isinstance(node, ast.Assign) and any(
                isinstance(to, ast.Name) and to.id in ("note", "why") for to in node.targets
            ):
                given = node.value
            if isinstance(given, (ast.Constant, ast.JoinedStr)):
                found.add(template(given))
    return sorted(found)


CATALOG_NOTES = in_catalogs("note", "missing", "remark")
NOTES = [*CATALOG_NOTES, *notes_of_code()]


def clauses(text: str) -> list[str]:
    return [clause for clause in re.split(r"; (?![^()]*\))", text) if clause]


def is_hint(words: str) -> bool:
    """Whether words are a command that names an option or a key; the verb begins them, but for a short lead."""
    heads = ("without one ", "compress a sample of yours and ", "unless you ", " unless you ", "")
    begun = next((words.removeprefix(head) for head in heads if head and words.startswith(head)), words)
    verb, _, asked = begun.partition(" ")
    named = re.match(r"((it|them) with )?(--[a-z]|[a-z]+[._][a-z]|set [a-z])", asked)
    return verb in COMMANDS and (bool(named) or re.split(r"[ ,:]", asked)[0] in PLAIN_KEYS)


def check_cut(text: str) -> None:
    """Every clause stays as it is, or loses a hint at its end and nothing else."""
    kept = for_readers(text)
    left = [] if kept == "to be confirmed" != text else clauses(kept)
    for clause in clauses(source_title(text)):
        if left and left[0] == clause:
            left.pop(0)
        elif left and clause.startswith(left[0]):
            assert is_hint(clause.removeprefix(left.pop(0)).removeprefix(": ")), text
        else:
            assert is_hint(clause), text
    assert not left, text


def test_there_are_notes_of_every_kind():
    assert len(CATALOG_NOTES) > 400
    assert len(notes_of_code()) > 60
    assert len(in_code()) > 1000
    assert sum(for_readers(note) != note for note in NOTES) > 40


@pytest.mark.parametrize("words", [str, lambda text: in_site_words(text, "checkpoint."), in_site_words])
def test_nothing_but_a_hint_is_cut_from_any_text_that_is_shipped(words):
    for text in {*NOTES, *in_code()}:
        check_cut(words(text))


def test_no_hint_stays_in_a_note():
    for note in NOTES:
        for text in (note, in_site_words(note, "checkpoint.")):
            assert not re.search(r"\b(say|supply) (it with )?(--|[a-z]+[._][a-z])", for_readers(text)), text


def test_what_a_plan_tells_loses_nothing_but_hints():
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        plan = ingest.plan(path, samples=0)
        for text in [*(str(one["why"]) for one in plan.assumptions), *plan.missing.values()]:
            check_cut(text)
            assert not re.search(r"--[a-z]|; say ", for_readers(text)), text


@pytest.mark.parametrize(
    "fact",
    [
        "limited by the power supply of the rack",
        "rate measured under load, as operators say; drawn over 30 days",
        "supply of power: two feeds",
        "say e.g. ten racks; more are planned",
        "the vendors say: 40 GB/s; precision: fp8 was not tried",
        "default run reads mels (--load-mel-from-disk): 80 x fp32 = 320 B/frame",
        "encoding: JPEG; scaling: weak",
    ],
)
def test_facts_stay_whatever_words_they_are_made_of(fact):
    assert for_readers(fact) == fact
    assert (
        derivation_line(f"  measured: {fact}; say io_size; [one] Title, table 3") == f"  measured: {fact}; [one] Title, table 3"
    )


def test_a_hint_between_facts_is_cut_alone():
    told = "shards of 1 GB; say --shard-size (or --set shard_bytes=N; both work); measured twice"
    assert for_readers(told) == "shards of 1 GB; measured twice"
    assert for_readers("say --set member_quantum=… for the block of your file system") == "to be confirmed"


def test_formulas_alone_are_cut_from_places():
    for module in pkgutil.iter_modules(ingest.formulas.__path__):
        importlib.import_module(f"ingest.formulas.{module.name}")
    places = {*in_catalogs("where"), *(formula.where for formula in FORMULAS.values())}
    assert len(places) > 700
    for place in places:
        rest = place_of(place)
        for part in re.split(r"; |[,:] (?![^()]*\))", place):
            assert part in rest or ARITHMETIC.search(part), place


@pytest.mark.parametrize(
    "place", ["table 3, throughput and/(or) latency", "table 3, 8 × H100", "I/O, sec. 3", "table 2, batch = 32, bf16"]
)
def test_places_stay_whatever_signs_they_hold(place):
    assert place_of(place) == place
