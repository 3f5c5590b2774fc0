"""Derivations and sources as an RFP prints them: symbols and words instead of variables, places without formulas."""

from __future__ import annotations

import re

from ingest.reports.labels import plain

_GIVEN = "given by the site file"
_VARIABLE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_EACH = re.compile(r" of (jobs|years|clusters|datasets|holdings)$")
_POWER = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")
#: A value as it is shown, and the same value again with all of its digits.
_TWICE = re.compile(r"(= (?P<shown>[\d,.]+) [^\[]*?)  \[(?P<exact>[\d.]+) [^\]]*\]")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: The beginning of a line that names the origin of a value, not a quantity of that name.
_ORIGIN = re.compile(r"(assumed|measured|published|vendor|derived|by [a-z]+|formula)\b(?! =)")
#: What a place in a publication does not hold, and a formula does; not a count of things, as in 8 × H100.
_FORMULA = re.compile(r"[=÷·√^τληδ]|× [\d(a-z]|\b\d*[A-Z]/\(")
#: What a publication has set, by a word: no formula.
_SETTING = re.compile(r"\b[A-Za-z_]\w+ ?= ?\d[\w.]*[,:]?$")
#: Where a part of a place ends, with the sign that ends it.
_PART = re.compile(r"(?<=[,:]) (?![^()]*\))")


def derivation_line(line: str) -> str:
    """A line of a derivation in words and symbols.

    >>> derivation_line("  site_usable_bytes = sum of(dataset_bytes_held_of_datasets) × 7.5e-08")
    '  data held = sum of(data set bytes held of all datasets) × 7.5×10⁻⁸'
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
        return line
    return indent + _POWER.sub(_raised, _VARIABLE.sub(_spelled, _TWICE.sub(_once, text)))


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
