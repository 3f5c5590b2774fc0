"""What vendors write into a form: values in any notation, and remarks that confirm, or limit what they are written next to.

A remark confirms plainly where it consents, tells what the product has or does, or states a value that meets the requirement,
and has no word that limits, no number that the requirement does not ask for, no preposition before all that it says, and no
unknown word where one qualifies what is said; in other languages no unknown word at all. Whatever else it says, a person
decides on. Verbs count in forms that tell what is so, not what can be or is to be; words of other languages are known with
their endings, never with any tail: compounds hide limits.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from ingest.errors import UsageError
from ingest.files import table_beside
from ingest.rfp.workbook_reader import MOST_CENTS, NUMBER, SAME, number_of
from ingest.units import parse

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
#: Words and numbers, of which a phrase consists.
_SAID = re.compile(r"[^\W_]+")
_UNIT_WORD = re.compile(r"(?:[kKMGTPE]i?)?(?:[Bb]|bit)|[kM]?W|k?Hz|ms|s|h|min|GbE|[kKMGTPE]")
_UNITS = re.compile(r"\s*([^\W\d_%]+(?:\s?/\s?[^\W\d_]+)*|%)")
#: Words that a unit may have, such as `million files per second`.
MOST_UNIT_WORDS = 4
#: What a remark refers to, and how it denies, limits, states and consents; where words qualify what is said; numbers in words.
WRITTEN = table_beside(__file__, "vendor_words.yaml")
MONTHS: Sequence[str] = WRITTEN["months"]
#: The patterns of the table by name, whose lines are joined; MONTHS stands for their names, POSTPONES for what postpones.
_JOINED = {name: "".join(map(str.strip, lines.splitlines())) for name, lines in WRITTEN.items() if isinstance(lines, str)}
WORDS = {
    name: re.compile(lines.replace("MONTHS", "|".join(MONTHS)).replace("POSTPONES", _JOINED["postpones"]), re.IGNORECASE)
    for name, lines in _JOINED.items()
}
REFERENCES, LIMITS, STATEMENTS, CONSENTS = (WORDS[name] for name in ("references", "limits", "statements", "consents"))
#: Notations of units that are not read as they are, and those that are.
NOTATIONS = tuple((re.compile(pattern), instead) for pattern, instead in WRITTEN["notations"])
#: Properties of one kind, the weaker before the stronger; one that is denied is not stated.
_DENIED = r"(?<!\bno )(?<!\bnot )(?<!without )(?<!never )(?<!than )\b"
PROPERTIES = [[re.compile(f"{_DENIED}(?:{one})\\b", re.IGNORECASE) for one in row] for row in WRITTEN["properties"]]
#: One word of so many may be unknown; of a statement about the product, which has words of its own.
MOST_UNKNOWN, MOST_UNKNOWN_STATED = 3, 2
#: A value that is stated as about so much lies within this factor; one that is at most so much may be less by up to another.
#: A number alone within the last factor of that of a bound is in its unit: no months for years, no minutes for hours.
NEAR, FAR, LIKE = 1.5, 50, 2
#: So many words of a requirement, at least half of the words of a remark, restate it.
RESTATES = 3
#: Words that are shown of those that limit.
MOST_WORDS = 3
#: Words of a bound before its value.
AT_LEAST, AT_MOST = "at least", "at most"
#: Base units of terms, in the order in which a value is tried; a share is read as such only with its `%`, or up to 1.
BASES_OF_TERMS = ("B/s", "W", "s", "1")
#: From how many times what is required on a person decides: a quarter of the catalog's systems for the example sites offer more
#: than ten times as much. Beyond such a part of a ceiling, or times a floor, whose unit has a prefix, that may be the slip.
ASKED_FROM = 100


class Read(NamedTuple):
    """A value as a vendor wrote it."""

    value: float | None  # in base units; None where no number with a unit of the kind can be read
    beside: str = ""  # what the cell says beside it
    why: str = ""  # why there is none


@lru_cache(maxsize=4096)
def in_notation(written: str) -> str:
    """A text with its units as they are read."""
    for pattern, instead in NOTATIONS:
        written = pattern.sub(instead, written)
    return written


@lru_cache(maxsize=4096)
def parsed(written: str, base: str) -> float | None:
    """A value with its unit in base units; None for another unit or for words."""
    try:
        return parse(written, base, "the value")
    except UsageError:
        return None


def read_value(
    written: str, in_base: Callable[[str], float | None], plausible: Callable[[float], bool], unit: Callable[[float], float]
) -> Read:
    """Read the value of a cell with its unit in any notation.

    Args:
        in_base: reads `450 GB/s` in base units, None for another unit.
        plausible: whether a value in base units may be meant.
        unit: brings a bare number into base units.
    """
    # Several of a kind, each with a value, have it together.
    several = re.match(rf"\s*(\d+)\s*[x×*]\s*({NUMBER.pattern})\s*(?=[^\W\d]|$)", written)
    if several and (one := number_of(several[2])) is not None:
        total = f"{int(several[1]) * one:.12g} {written[several.end() :]}"
        return read_value(total, in_base, plausible, unit)._replace(beside=written)
    found = NUMBER.search(written)
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
        # Words after a bare number tell about it: no unit of another kind, such as `DWPD`.
        first = re.match(r"\s*(\w+)", words)
        if factor is None or not (name or first is None or CONSENTS.match(first[1]) or LIMITS.match(first[1])):
            continue
        number = number_of(found[0], lambda bare, factor=factor: plausible(bare * factor))  # type: ignore[misc]
        if number is None:
            return Read(None, why=f"'{found[0]}' is one number with a decimal comma and another with a grouping one")
        value = in_base(f"{number!r} {name}") if name else unit(number)
        opening = "" if WORDS["granting"].match(before) else before
        left = " ".join(filter(None, (opening, words.strip()[len(name) :].strip())))
        return Read(value, left.strip(" .;,"))
    return Read(None, why="no unit of the kind")


def limiting(text: str, required: str = "") -> str:
    """The words of a text that limit what it is written next to, as a phrase; empty where there are none.

    A word of the sentence of what is `required` limits nothing next to another one of it.
    """
    asked = f" {' '.join(_SAID.findall(required.lower()))} "
    asked, said = asked + "".join(asked.replace(f" {one} ", f" {other} ") for one, other in WRITTEN["same"]), []
    for found in LIMITS.finditer(text):
        phrase = " ".join(_SAID.findall(found[0].lower()))
        before, after = (_SAID.findall(side.lower()) for side in (text[: found.start()], text[found.end() :]))
        near = [*phrase.split()[1:], *before[-1:], *after[:1]]
        near += [f"{one}s" for one in near]
        own = f" {phrase} " in asked and any(f" {one} " in asked for one in near if not WORDS["weak"].fullmatch(one))
        own = own or required.lower().startswith(f"{phrase} ")  # its subject
        if not own or not phrase or WORDS["strict"].search(phrase):
            # A reference, such as a release, stands in the text as `see`.
            said.append(" ".join(found[0].lower().replace(" see", " …").replace(" named", " …").split()))
    return f"limits: {_quoted(said)}" if said else ""


def _bounding(text: str, asked: Callable[[Counted, bool], str | None]) -> str:
    """A text without the words that bound a number, where each value that they leave open meets the requirement."""
    near = [*WORDS["bounding"].finditer(text), *WORDS["bounding_after"].finditer(text)]
    for found in sorted(near, key=re.Match.start, reverse=True):
        number = number_of(found["number"].rstrip(".,"), lambda value: value >= MOST_CENTS or value < 1) or 0.0
        before, after = text[: found.start("number")].strip(), f"{found['unit']} {text[found.end() :]}"
        ends = (number / NEAR, number * NEAR) if found["near"] else (number if found["exact"] else number / FAR, number)
        if all(asked(Counted(end, before, after.strip()), False) == "" for end in ends):
            text = f"{text[: found.start()]} {found['number']}{after}"
    return text


@lru_cache
def _properties(required: str) -> list[tuple[re.Pattern[str], re.Pattern[str], bool, str]]:
    """Of each property that is `required`: the weaker one, itself, whether both together keep it, and its words."""
    asked = [(needed[0], weak, strong, more) for weak, strong, *more in PROPERTIES if (needed := strong.search(required))]
    return [(weak, strong, bool(more or weak.search(required)), needed) for needed, weak, strong, more in asked]


def weaker(text: str, required: str) -> str:
    """Which property or version in a text is weaker than the one of its kind that is `required`; empty where none is."""
    for weak, strong, together, needed in _properties(required):
        if (less := weak.search(text)) and not (together and strong.search(text)):
            return f"states '{less[0]}', where the requirement has '{needed}'"
    return ""


def _quoted(words: Sequence[str]) -> str:
    said = [*dict.fromkeys(words)]
    return ", ".join([f"'{word}'" for word in said[:MOST_WORDS]] + ["…"] * (len(said) > MOST_WORDS))


class Counted(NamedTuple):
    """A number of a remark."""

    number: float
    before: str  # the words before it
    after: str  # the words after it


def limits(remark: str, asked: Callable[[Counted, bool], str | None], required: str = "") -> str:
    """Why a person has to read a remark; empty for a plain confirmation.

    `asked` tells what is wrong with a number, empty where it is as the requirement asks, None where it is none of its business;
    the second argument tells whether another number of the remark is a value that meets the requirement. The words of what is
    `required` may be repeated.
    """
    # A sentence that confirms says nothing of the next one.
    sentences = [one for one in WORDS["sentences"].split(remark) if re.search(r"\w", one)]
    parts = [(remark, False), *((one, True) for one in sentences if len(sentences) > 1)]
    return next(filter(None, (_limits_of(one, asked, required, point) for one, point in parts)), "")


def _limits_of(remark: str, asked: Callable[[Counted, bool], str | None], required: str, may_point: bool) -> str:
    """Why a person has to read a remark or one of its sentences, each of which has to confirm; empty where it does.

    A sentence of a remark `may_point` to a document and say no more; nobody has read what a remark only points to.
    """
    if elsewhere := WORDS["elsewhere"].search(WORDS["proofs"].sub(" ", remark)):
        return f"refers to '{elsewhere[0].strip()}'"
    if why := weaker(remark, required):
        return why
    twice = WORDS["spelled_twice"]
    once = twice.sub(lambda found: found[2] if WRITTEN["numbers"][found[1].lower()] == int(found[2]) else found[0], remark)
    once = WORDS["references"].sub(lambda found: "as stated" if found[0] in required else found[0], once)
    text = re.sub(r"[µμ](?=s\b)", "u", WORDS["spelled"].sub(lambda found: str(WRITTEN["numbers"][found[1].lower()]), once))
    if later := next((found[0] for found in WORDS["dates"].finditer(text) if _is_to_come(found)), ""):
        return f"names {later}, which is to come"
    text = re.sub(r"\b(\d{1,3})\s?\^\s?(\d{1,2})\b", lambda power: str(int(power[1]) ** int(power[2])), text)
    text = WORDS["range"].sub(r"\1 \2 to ", text)
    # What several of a kind take or give together, where the requirement asks for such a value.
    for found in reversed([*WORDS["multiples"].finditer(text)]):
        total = math.prod(number_of(found[group], bool) or 0.0 for group in ("one", "other"))
        before, after = text[: found.start()], f"{found['unit']}{text[found.end() :]}"
        text = text if asked(Counted(total, before, after), False) is None else f"{before}{total:.12g} {after}"
    text = re.sub(r"\b(\d+)\s+nines\b", lambda nines: f"{100 - 10.0 ** (2 - int(nines[1])):.15g} %", text)
    for name, instead in WRITTEN["read_as"].items():
        asked_for = [one[0] in required for one in WORDS[name].finditer(text)] if name == "versions" else []
        text = WORDS[name].sub(f" {'as stated' if asked_for and all(asked_for) else instead} ", text)
    if limit := limiting(text := _bounding(text, asked), required):
        return limit
    if (ours := WORDS["ours"].search(text)) and WORDS["buyers"].search(required) and not WORDS["yours"].search(text):
        return f"qualifies: '{ours[0].lower()}', where the requirement has the Buyer"
    if opening := WORDS["openings"].search(text):
        return f"qualifies: '{opening[0].strip().lower()}'"
    text = WORDS["scheme"].sub(lambda scheme: f"{scheme[1] or (3 if scheme[2] else 2)} parity ", text)
    text = WORDS["parts"].sub(lambda part: _named(part, " " if re.search(r"\d\s?[x×]\s?$", part[0]) else " drives "), text)
    if not (WORDS["foreign"].search(text) or text.isupper()):
        text = WORDS["names"].sub(partial(_named, instead=" "), text)
        text = re.sub(r"^(\W*named\W+\d+\s+)nodes?\b", r"\1drives", text)
    numbers = [
        Counted(number, text[: found.start()].strip(), text[found.end() :].strip(" -"))
        for found in NUMBER.finditer(text)
        # A number within a name is none.
        if not text[: found.start()][-1:].isalpha()
        and (number := number_of(found[0].rstrip(".,"), lambda value: value >= MOST_CENTS or value < 1)) is not None
    ]
    plain = any(asked(one, False) == "" for one in numbers)
    if why := next(filter(None, (asked(one, plain) for one in numbers)), ""):
        return why
    closed = bool(WORDS["foreign"].search(text))
    stated = not closed and STATEMENTS.search(text) is not None
    words, endings = _WORD.findall(required.lower().replace("-", " ")), ("", "d", "ed", "ing")
    own = {word.rstrip("s") + ending for word in words for ending in endings if len(word) > 3 or not ending} - {""}
    # What tells of the product tells nothing of a bound.
    bounded = re.search(r"at (?:least|most) \d", required) and not (may_point or WORDS["valued"].match(required))
    told = stated and (any(map(str.isdigit, text)) or not bounded)
    if not (told or plain or CONSENTS.search(text)) and re.search(r"\w", text):
        pointer = WORDS["pointers"].search(text)
        if pointer and not may_point and not ("price" in required.lower() and "price" in remark.lower()):
            return f"does no more than point elsewhere: '{pointer[0].lower()}'"
        # A sentence beside one that confirms may name what belongs to it; words of the requirement restate it.
        if not pointer and not (may_point and not more_than(text, own)) and not _restates(text, required, own):
            return "neither confirms nor denies"
    clauses = [] if closed else WORDS["clauses"].split(text)
    if narrowed := next(filter(None, (narrowing(one, own) for one in clauses)), ""):
        return f"qualifies: '{narrowed}'"
    closed = closed or WORDS["bare"].match(text) is not None
    return more_than(text, own, closed, MOST_UNKNOWN_STATED if stated else MOST_UNKNOWN)


def _restates(text: str, required: str, own: Collection[str]) -> bool:
    """Whether a text restates what is `required` in its `own` words, and every list of which it names a part in whole."""
    if WORDS["valued"].match(required):
        return False  # words alone confirm no rate
    said = {word.lower().rstrip("s")[:5] for word in _WORD.findall(text) if len(word) > 3}
    repeated = said & {word[:5] for word in own}
    for listed in WORDS["listed"].findall(required):
        members = {part.split()[-1].lower().rstrip("s")[:5] for part in listed if part for part in part.strip(", ").split(", ")}
        if repeated & members and not members <= said:
            return False
    return len(repeated) >= max(RESTATES, len(said) / 2) or ("dated" in said and " hours" in required)


def narrowing(clause: str, own: Collection[str] = ()) -> str:
    """What an answer in a clause is narrowed to: its first preposition whose object is neither its `own` nor all of it."""
    answer = WORDS["complies"].search(clause)
    if WORDS["evidence"].search(clause) or (answer is None and STATEMENTS.search(clause.strip())):
        return ""
    # What stands before the word that answers tells what is answered for.
    said = WORDS["whole"].sub(" ", clause[answer.start() if answer is not None else 0 :])
    narrows = WORDS["narrows"].finditer(said) if answer is not None else filter(None, [WORDS["narrows"].match(said.lstrip())])
    return next((" ".join(one[0].lower().split()) for one in narrows if one["object"].lower().rstrip("s") not in own), "")


def _named(found: re.Match[str], instead: str) -> str:
    """What stands for a name or a part: a remark that begins with one tells the product, and so refers to it."""
    return instead if re.search("[a-z]{2}", found.string[: found.start()].replace("drives", "")) else f" named{instead}"


def _is_to_come(date: re.Match[str]) -> bool:
    """Whether a date is in a later month than today."""
    today, name = datetime.date.today(), date["name"]
    named = next((number for number, month in enumerate(MONTHS, 1) if name and re.fullmatch(month, name, re.IGNORECASE)), 0)
    return (int(date["iso"] or date["year"] or date["named"]), named or int(date["iso_month"] or date["month"])) > (
        today.year, today.month)  # fmt: skip


def more_than(text: str, own: Collection[str] = (), closed: bool = True, share: int = MOST_UNKNOWN) -> str:
    """The words of a text that are neither plain nor `own`, those of the requirement, as a phrase; empty where there are none.

    Unless the text is `closed`, one such word of a `share` counts where it qualifies alone: adverbs, and after a preposition.
    """
    text = text if closed else WORDS["subjects"].sub(" ", text)
    words = [*_WORD.finditer(text)]
    # A plain word, or each part of a compound, confirms, belongs to a confirmation, or is a unit.
    plain = [WORDS[name].fullmatch for name in ("consents", "statements", "plain_words", "pointers")] + [_UNIT_WORD.fullmatch]
    known: list[Callable[[str], object]] = [*plain, lambda part: part.lower().rstrip("s") in own]
    more = [word for word in words if word[0].lower().rstrip("s") not in own]
    more = [word for word in more if not all(any(one(part) for one in known) for part in re.split("[-'’]", word[0]))]
    if not closed and len(more) <= len(words) / share:
        near, alone = WORDS["qualifies_next"], WORDS["qualifying"]
        more = [word for word in more if near.search(text[: word.start()]) or alone.match(text, word.start())]
    return f"says more: {_quoted([word[0] for word in more])}" if more else ""


def bound_kept(bound: str, offered: str) -> bool | None:
    """Whether an offered value keeps the bound of a term; None where there is no bound, or the value does not read as one.

    >>> bound_kept("at least 99.9 %", "98 %"), bound_kept("at most 40 kW", "35 kW"), bound_kept("at most 24 h", "2 days")
    (False, True, False)
    >>> bound_kept("at most 24 h", "≤ 24 h"), bound_kept("at most 24 h", "> 12 h"), bound_kept("at least 99.9 %", "> 99.9 %")
    (True, None, True)
    >>> bound_kept("at least 99.9 %", "99"), bound_kept("at least 99.9 %", "0.999"), bound_kept("", "5 ms")
    (False, None, None)
    >>> bound_kept("at most 24 h", "20"), bound_kept("at most 24 h", "1200"), bound_kept("at most 5 ms", "under a millisecond")
    (True, None, None)
    """
    if (pair := _against(bound, offered)) is None:
        return None
    limit, value, _ = pair
    return value <= limit * (1 + SAME) if bound.startswith(AT_MOST) else value >= limit * (1 - SAME)


def _against(bound: str, offered: str) -> tuple[float, float, str] | None:
    """A bound and a value in the base unit of both, and this; None where either does not read as one."""
    if not offered or not bound.startswith((AT_MOST, AT_LEAST)):
        return None
    required = bound.removeprefix(AT_MOST).removeprefix(AT_LEAST).strip()
    offered = offered.strip().lstrip("<≤=" if bound.startswith(AT_MOST) else ">≥=")
    if required.endswith(" U") and " U" in offered:  # rack units
        required, offered = (one.partition(" U")[0] for one in (required, offered))
    # A number alone is a count, or in the unit of the bound where it is near: of a share, between 1 and 100 %.
    alone = [one.replace(".", "").replace(",", "").strip().isdigit() for one in (required, offered)]
    size, _, unit = required.partition(" ")
    if alone[1] and unit:
        asked = number_of(size) or 1.0
        low, high = (math.nextafter(1, 2), 100.0) if unit == "%" else (asked / LIKE, asked * LIKE)
        number = number_of(offered, lambda value: low <= value <= high)
        if number is None or not low <= number <= high:
            return None
        offered, alone[1] = f"{number!r} {unit}", False
    for base in BASES_OF_TERMS:
        limit, value = (
            None if base != "1" and is_bare else parsed(written, base)
            for written, is_bare in zip((required, offered), alone, strict=True)
        )
        if limit is not None:
            # A share is held against no count.
            is_other = value is None or (base == "1" and (limit <= 1 < value or (limit > 1 and "%" in offered)))
            return None if value is None or is_other else (limit, value, base)
    return None


def is_far(bound: str, offered: str) -> bool:
    """Whether a value keeps a bound so well that the prefix of its unit may be a slip: watts for kilowatts."""
    limit, value, base = _against(bound, offered) or (1.0, 1.0, "1")
    prefixed = base in ("W", "B/s") or (base == "s" and limit < 1)
    return prefixed and max(value, limit) >= ASKED_FROM * min(value, limit)


def adds_up(bound: str, found: Counted) -> bool:
    """Whether a value below a ceiling is one of several that together are above it: per rack, or with others of its kind.

    Times are no parts of each other unless a word adds them.
    """
    words = in_notation(f"{found.before} | {found.number!r} {found.after}")
    parts = [pair for amount in WORDS["amounts"].findall(words) if (pair := _against(bound, " ".join(amount)))]
    if not parts or not bound.startswith(AT_MOST):
        return False
    (limit, _, base), apiece = parts[0], WORDS["apiece"].match(found.after)
    adds = WORDS["adding"].search(words) or (base != "s" and not WORDS["among"].search(words))
    several = sum(value for _, value, _ in parts) > limit * (1 + SAME)
    return bool((apiece and base != "s") or (adds and several))
