"""What vendors write into a form: values in any notation, and remarks that confirm, or limit what they are written next to.

A remark confirms plainly where it has a word of consent, no word that limits, no number that the requirement does not ask for,
and no word that is neither the requirement's own nor one of those with which offers confirm. Whatever else it says, in whatever
language, a person decides on. Verbs count in forms that tell what is so, not what can be or is to be; words of other languages
are known with their endings, never with any tail: compounds hide limits.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.files import table_beside

#: Notations of units that are not read as they are, and those that are.
NOTATIONS = tuple(
    (re.compile(pattern, re.IGNORECASE if folded else 0), instead)
    for pattern, instead, folded in (
        (r"\s*\bper\s+(?:second|sec)\b\.?", "/s", True),
        (r"/\s*(?:seconds?|sec)\b\.?", "/s", True),
        (r"\b(kilo|mega|giga|tera|peta|exa)\s*-?(?=bits?\b|bytes?\b)", lambda found: found[1][0].upper(), True),
        (r"(?<=[KMGTPEkmgtpei])\s*-?bytes?\b", "B", True),
        (r"(?<=[KMGTPEkmgtpei])\s*-?bits?\b", "b", True),
        (r"\bbytes?\b", "B", True),
        (r"\b([KMGTPEkmgtpe]i?[Bb])ps\b", r"\1/s", False),
        (r"\b([kMGTPE])(?=B\b|iB\b)", r"\1", False),
        (r"\b(?:thousands?|tsd)\b\.?\s*(?=[a-z])", "k", True),
        (r"\b(?:mio|mn|mln|milli?on(?:e[ns]|s)?)\b\.?\s*(?=[a-z])", "M", True),
        (r"\b(?:bn|mrd|billions?|milliarde?[ns]?)\b\.?\s*(?=[a-z])", "G", True),
    )
)  # fmt: skip
_NUMBER = re.compile(r"[+]?\d(?:[\d.,'_’]|[  ](?=\d{3}(?!\d)))*(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_UNIT_WORD = re.compile(r"(?:[kKMGTPE]i?)?[Bb]|[kM]?W|k?Hz|ms|s|h|min|GbE|[kKMGTPE]")
_UNITS = re.compile(r"\s*([^\W\d_%]+(?:\s?/\s?[^\W\d_]+)*|%)")
#: Words that a unit may have, such as `million files per second`.
MOST_UNIT_WORDS = 4
#: What grants a bound, whatever the value after it.
AT_LEAST = re.compile(r"^(?:>=?|≥|=|at least|min(?:imum|\.)?|no less than|over|more than|above|exceeds)$", re.IGNORECASE)
#: What a remark refers to, and how it denies, limits and consents.
_WRITTEN = table_beside(__file__, "vendor_words.yaml")
REFERENCES, ELSEWHERE, DENIALS, LIMITS, CONSENTS, PLAIN_WORDS, CONFIRMED_ELSEWHERE, PLAIN_ELSEWHERE = (
    re.compile("".join(_WRITTEN[name].splitlines()), re.IGNORECASE)
    for name in ("references", "elsewhere", "denials", "limits", "consents", "plain_words", "confirmations_in_other_scripts",
                 "plain_words_in_other_scripts")
)  # fmt: skip
MONTHS: Sequence[str] = _WRITTEN["months"]
#: In Cyrillic and Greek letters: what stands for words of consent, and what says nothing; any other word stays to decide.
OTHER_SCRIPTS = ((" confirmed ", CONFIRMED_ELSEWHERE), (" ", PLAIN_ELSEWHERE))
#: A day or a month: past ones are those of tests and documents, later ones postpone.
DATES = re.compile(
    r"\b(?P<iso>(?:19|20)\d\d)-(?P<iso_month>0[1-9]|1[0-2])(?:-\d{2})?\b"
    r"|\b(?:\d{1,2}[./])(?P<month>\d{1,2})[./](?P<year>(?:19|20)\d\d)\b"
    rf"|\b(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?)?(?P<name>{'|'.join(MONTHS)})\.?,?\s+(?:de\s+)?(?P<named>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
#: Numbers in words, where a noun follows that is counted.
SPELLED = {word: number for number, word in enumerate(
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1)} | {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}  # fmt: skip
_SPELLED = re.compile(
    rf"\b({'|'.join(SPELLED)})(?=[\s-]+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|per\s?cent|clients?|nodes?|hosts?"
    r"|failures?|drives?|streams?|threads?|runs?|racks?|sites?)\b)",
    re.IGNORECASE,
)
#: An amount of a price with one comma before three digits is in thousands: nobody prices in thousandths.
MOST_CENTS = 1_000
#: Words that are shown of those that limit.
MOST_WORDS = 3


class Read(NamedTuple):
    """A value as a vendor wrote it."""

    value: float | None  # in base units; None where no number with a unit of the kind can be read
    beside: str = ""  # what the cell says beside it
    why: str = ""  # why there is none


def number_of(written: str, plausible: Callable[[float], bool] = bool) -> float | None:
    """The number that digits with points, commas and spaces stand for; None where it may be one or another.

    Where one comma or point may group or separate, the reading counts that is `plausible` alone.

    >>> number_of("71,4"), number_of("1.441.000"), number_of("1 441 000"), number_of("1,441,000.5"), number_of("2.5e3")
    (71.4, 1441000.0, 1441000.0, 1441000.5, 2500.0)
    >>> number_of("1,500"), number_of("1,500", lambda value: value > 100)
    (None, 1500.0)
    """
    text = re.sub(r"[\s'_’  +]", "", written).rstrip(".,")
    mantissa, power, exponent = text.lower().partition("e")
    marks = [mark for mark in mantissa if mark in ".,"]
    if marks and len(set(marks)) == len(marks) == 1 and marks[0] == "," and re.fullmatch(r"\d{1,3},\d{3}", mantissa):
        readings = [one for one in (float(mantissa.replace(",", "")), float(mantissa.replace(",", "."))) if plausible(one)]
        return readings[0] if len(readings) == 1 else None
    last = marks[-1] if marks else "."
    if marks.count(last) > 1:  # it groups
        mantissa = mantissa.replace(",", "").replace(".", "")
    else:
        mantissa = mantissa.replace("," if last == "." else ".", "").replace(last, ".")
    try:
        return float(mantissa + power + exponent)
    except ValueError:
        return None


def number_in(written: object) -> float | None:
    """The only number of a cell, such as that of `1.250.000 EUR`; None where there is none, or it may be one or another."""
    if isinstance(written, (int, float)) and not isinstance(written, bool):
        return float(written)
    numbers = _NUMBER.findall(str(written or ""))
    return number_of(numbers[0], lambda value: value >= MOST_CENTS) if len(numbers) == 1 else None


def in_notation(written: str) -> str:
    """A text with its units as they are read.

    >>> in_notation("GBytes per second"), in_notation("Gbps"), in_notation("gigabytes/sec")
    ('GB/s', 'Gb/s', 'GB/s')
    """
    for pattern, instead in NOTATIONS:
        written = pattern.sub(instead, written)
    return written


def read_value(
    written: str, in_base: Callable[[str], float | None], plausible: Callable[[float], bool], unit: Callable[[float], float]
) -> Read:
    """Read the value of a cell with its unit in any notation.

    Args:
        in_base: reads `450 GB/s` in base units, None for another unit.
        plausible: whether a value in base units may be meant.
        unit: brings a bare number into base units.
    """
    found = _NUMBER.search(written)
    # An error of a spreadsheet program, such as `#DIV/0!`, is no number either.
    if found is None or written.startswith("#") or re.search(r"[-\u2212]$", written[: found.start()]):
        return Read(None, why="no number from 0")
    before, rest = written[: found.start()].strip(), written[found.end() :]
    names, words, place = [""], in_notation(rest), 0
    while len(names) <= MOST_UNIT_WORDS and (word := _UNITS.match(words, place)):
        names.append(words[: word.end()].strip())
        place = word.end()
    for name in reversed(names):
        # Words after a number may be its unit, else the number is in that of the cell.
        factor = in_base(f"1 {name}") if name else unit(1.0)
        if factor is None or (not name and not _follows(words)):
            continue
        number = number_of(found[0], lambda one: plausible(one * factor))  # noqa: B023
        if number is None:
            return Read(None, why=f"'{found[0]}' is one number with a decimal comma and another with a grouping one")
        value = in_base(f"{number!r} {name}") if name else unit(number)
        opening = "" if AT_LEAST.match(before) else before
        left = " ".join(filter(None, (opening, words.strip()[len(name) :].strip())))
        return Read(value, left.strip(" .;,"))
    return Read(None, why="no unit of the kind")


def _follows(words: str) -> bool:
    """Whether words after a bare number tell about it: no unit of another kind, such as `DWPD`."""
    first = re.match(r"\s*(\w+)", words)
    return first is None or bool(CONSENTS.match(first[1]) or LIMITS.match(first[1]))


def limiting(text: str) -> str:
    """The words of a text that limit what it is written next to, as a phrase; empty where there are none."""
    said = [" ".join(found[0].lower().split()) for found in LIMITS.finditer(text)]
    return f"limits: {_quoted(said)}" if said else ""


def _quoted(words: Sequence[str]) -> str:
    said = [*dict.fromkeys(words)]
    return ", ".join([f"'{word}'" for word in said[:MOST_WORDS]] + ["…"] * (len(said) > MOST_WORDS))


class Counted(NamedTuple):
    """A number of a remark."""

    number: float
    before: str  # the words before it
    after: str  # the words after it


def limits(remark: str, asked: Callable[[Counted, bool], str], required: str = "") -> str:
    """Why a person has to read a remark; empty for a plain confirmation.

    `asked` tells what is wrong with a number, empty where it is as the requirement asks; the second argument tells whether
    another number of the remark is a value that meets the requirement. The words of what is `required` may be repeated.

    >>> limits("Fully compliant, see page 12.", lambda *_: "x"), limits("Confirmed without exception", lambda *_: "x")
    ('', '')
    >>> limits("Complies from release 6.2, subject to a licence", lambda *_: "x")
    "limits: 'subject'"
    >>> limits("1 failure", lambda found, _: f"states {found.number:g}, which is not asked for")
    'states 1, which is not asked for'
    >>> limits("Tested with zero-filled files", lambda *_: "")
    "says more: 'zero-filled'"
    """
    if elsewhere := ELSEWHERE.search(remark):
        return f"refers to '{elsewhere[0].strip()}'"
    text = _SPELLED.sub(lambda found: str(SPELLED[found[1].lower()]), remark)
    if later := next((found[0] for found in DATES.finditer(text) if _is_to_come(found)), ""):
        return f"names {later}, which is to come"
    text = DENIALS.sub(" confirmed ", REFERENCES.sub(" see ", DATES.sub(" ", text)))
    for instead, words in OTHER_SCRIPTS:
        text = words.sub(instead, text)
    if limit := limiting(text):
        return limit
    numbers = [
        Counted(number, text[: found.start()].strip(), text[found.end() :].strip(" -"))
        for found in _NUMBER.finditer(text)
        # A number within a name is none.
        if not text[: found.start()][-1:].isalpha() and (number := number_of(found[0].rstrip(".,"))) is not None
    ]
    plain = any(not asked(one, False) for one in numbers)
    for one in numbers:
        if why := asked(one, plain):
            return why
    if not CONSENTS.search(text) and not plain and re.search(r"\w", text):
        return "neither confirms nor denies"
    return more_than(text, required)


def _is_to_come(date: re.Match[str]) -> bool:
    """Whether a date is in a later month than today."""
    today, name = datetime.date.today(), date["name"]
    named = next((number for number, month in enumerate(MONTHS, 1) if name and re.fullmatch(month, name, re.IGNORECASE)), 0)
    return (int(date["iso"] or date["year"] or date["named"]), named or int(date["iso_month"] or date["month"])) > (
        today.year, today.month)  # fmt: skip


def more_than(text: str, required: str = "") -> str:
    """The words of a text that are neither plain nor those of what is required, as a phrase; empty where there are none."""
    own = {word.rstrip("s") for word in _WORD.findall(required.lower())}
    more = [word for word in _WORD.findall(text) if not (word.lower().rstrip("s") in own or _is_plain(word))]
    return f"says more: {_quoted(more)}" if more else ""


def _is_plain(word: str) -> bool:
    """Whether a word, or each part of a compound, confirms, belongs to a confirmation, or is a unit."""
    return all(
        CONSENTS.fullmatch(part) or PLAIN_WORDS.fullmatch(part) or _UNIT_WORD.fullmatch(part)
        for part in re.split("[-'’]", word)
    )
