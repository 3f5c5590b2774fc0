"""From what the tool tells its user to what a tender tells its reader: no options, no keys, no names of variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ingest.reports.labels import plain
from ingest.site.schema import schema

#: How a hint of the tool begins: at the start of a clause, as a command, with an option or a key right behind it.
_HINT = re.compile(
    r"(?:^|(?<=: )|\bunless you (?=say))"
    r"(?:without one |compress a sample of yours and )?"
    r"(?:say|supply) (?:(?:it|them) with )?"
    r"(?P<key>--[a-z][\w-]*|[a-z]\w*(?:\.\w+)+|[a-z]\w*)"
)
#: Where one clause ends and the next begins, but not inside brackets.
_CLAUSE = re.compile(r"; (?![^()]*\))")
_REWORDED = (
    ("graded assumed: ", ""),
    ("Recalled from vendor material, not read again", "From vendor material, to be confirmed"),
    (" of this handbook", ""),
    (", see the method chapter", ""),
    ("in these catalogs", "published elsewhere"),
    ("of this catalog", "published elsewhere"),
    ("a default of this program", "usual practice, to be confirmed"),
    ("Usual practice; nobody measured it for you", "Usual practice, to be confirmed"),
)
_GIVEN = "given by the site file"
_VARIABLE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_EACH = re.compile(r" of (jobs|years|clusters|datasets|holdings)$")
_POWER = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
#: A value as it is shown, and the same value again with all of its digits.
_TWICE = re.compile(r"(= (?P<shown>[\d,.]+) [^\[]*?)  \[(?P<exact>[\d.]+) [^\]]*\]")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: How a line begins that says where a value comes from; it is no quantity of that name.
_ORIGIN = re.compile(r"(assumed|measured|published|vendor|derived|by [a-z]+|formula)\b(?! =)")
#: What a place in a publication does not hold, and a formula does; not a count of things, as in 8 × H100.
_FORMULA = re.compile(r"[=÷·√^τληδ]|× [\d(a-z]|\b\d*[A-Z]/\(")
#: What a publication has set, by a word: no formula.
_SETTING = re.compile(r"\b[A-Za-z_]\w+ ?= ?\d[\w.]*[,:]?$")
#: Where a part of a place ends, with the sign that ends it.
_PART = re.compile(r"(?<=[,:]) (?![^()]*\))")


def for_readers(text: str) -> str:
    """What the tool tells its user, without the hints how to tell the tool otherwise; all else stays.

    >>> for_readers("readers ask for 128 KiB at once; say io_size")
    'readers ask for 128 KiB at once'
    >>> for_readers("a copy in full precision is kept; without one say checkpoint.set.master_bytes_per_parameter: 0")
    'a copy in full precision is kept'
    >>> for_readers("rate measured under load, as operators say; drawn over 30 days")
    'rate measured under load, as operators say; drawn over 30 days'
    """
    kept = filter(None, (_without_hint(clause) for clause in _CLAUSE.split(_reworded(text))))
    return "; ".join(kept) or "to be confirmed"


def _without_hint(clause: str) -> str:
    """What stands in a clause before the hint that it ends with."""
    start = next((found.start() for found in _HINT.finditer(clause) if _is_key(found["key"])), len(clause))
    return clause[:start].rstrip(": ") if start < len(clause) else clause


def _is_key(word: str) -> bool:
    """Whether the tool is asked by this word: an option, the name of a quantity, or a key of the site file."""
    return word.startswith("--") or "_" in word or word.partition(".")[0] in _site_keys()


@cache
def _site_keys() -> frozenset[str]:
    """All keys that a site file may have."""
    return frozenset(_keys_of(schema()))


def _keys_of(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        yield from node.get("properties", {})
        for inner in node.values():
            yield from _keys_of(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _keys_of(inner)


def _reworded(text: str) -> str:
    for ours, theirs in _REWORDED:
        text = text.replace(ours, theirs)
    return text


def derivation_line(line: str) -> str:
    """A line of a derivation in words and symbols.

    >>> derivation_line("  site_usable_bytes = sum of(dataset_bytes_held_of_datasets) × 7.5e-08")
    '  data held = sum of(data set bytes held of all datasets) × 7.5×10⁻⁸'
    >>> derivation_line("    assumed: every checkpoint is kept; say checkpoint.keep; [zero2020] ZeRO, sec. 3")
    '    assumed: every checkpoint is kept; [zero2020] ZeRO, sec. 3'
    >>> derivation_line("  formula: [zero2020] ZeRO, sec. 3")
    '  formula: [zero2020] ZeRO, sec. 3'
    >>> derivation_line("  given by the site file: jobs.tuning.runs")
    '  given by the buyer: jobs, tuning, runs'
    >>> derivation_line("gpus = 1,024 GPUs  [1024 GPU]  (see R-1)"), derivation_line("rate = 1.235 GB/s  [1234567890 B/s]")
    ('gpus = 1,024 GPUs  (see R-1)', 'rate = 1.235 GB/s  [1234567890 B/s]')
    """
    indent = line[: len(line) - len(line.lstrip(" "))]
    text = line[len(indent) :]
    if text.startswith(_GIVEN):
        return indent + "given by the buyer" + text.removeprefix(_GIVEN).replace(".", ", ").replace("_", " ")
    if _ORIGIN.match(text):
        return indent + _origin(text)
    return indent + _POWER.sub(_raised, _VARIABLE.sub(_spelled, _TWICE.sub(_once, text)))


def _origin(text: str) -> str:
    """Where a value comes from: the kind, what of its note is for a reader, and the source."""
    told, cited, source = text.partition("[")
    kind, _, note = told.rstrip(";: ").partition(": ")
    said = ": ".join(filter(None, (kind, for_readers(note) if note else "")))
    return said + (f"{'; ' if note else ': '}[{_reworded(source)}" if cited else "")


def _once(found: re.Match[str]) -> str:
    """The exact value only where it has more digits than the one shown."""
    return found[1] if found["shown"].replace(",", "") == found["exact"] else found[0]


def _spelled(found: re.Match[str]) -> str:
    return _EACH.sub(r" of all \1", plain(found[0]))


def _raised(found: re.Match[str]) -> str:
    return "×10" + (found[1].strip("+") + found[2]).translate(_RAISED)


def place_of(where: str) -> str:
    """The places within a source, without the formulas taken from there; all else stays.

    >>> place_of("sec. 3.1, K = 12; S/(τ·(w − τ/2M)); sec. 3.1; growth over two years, compounded: g^(N/2)")
    'sec. 3.1; growth over two years, compounded'
    >>> place_of("table 3, throughput and/(or) latency; τ/M: the waste of the best interval")
    'table 3, throughput and/(or) latency; the waste of the best interval'
    """
    return "; ".join(dict.fromkeys(filter(None, (_without_formula(piece) for piece in where.split("; ")))))


def _without_formula(piece: str) -> str:
    """The parts of a place that are no formulas, in order."""
    parts = _PART.split(piece)
    kept = [part for part in parts if not _FORMULA.search(_SETTING.sub("", part))]
    return piece if len(kept) == len(parts) else " ".join(kept).rstrip(",: ")


def source_title(title: str) -> str:
    """The title of a source as a tender names it.

    >>> source_title("Site model of this handbook: jobs in sum")
    'Site model: jobs in sum'
    """
    return _reworded(title)
