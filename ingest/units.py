"""Text to base units and back: the only place where a prefix or a factor lives.

Base units are B, s, FLOP, W, J, kg and L, and the things one counts: sample, document, token, GPU, GPU-hour, node, file,
parameter. An amount of money has the unit 1, because its currency is that of the prices.
Things counted may be left out when a size is written (`16 MB` for bytes per sample), the physical part may not.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import Any

from ingest.configuration import binary_first
from ingest.errors import UsageError, brief, nearest

DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "Z": 10**21}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}

#: prefixes of the watt-hours in which people read energy
ENERGY = ("", "k", "M", "G", "T")

#: unit as written -> (factor, base unit); these take decimal and binary prefixes
SCALED = {
    "B": (1, "B"),
    "byte": (1, "B"),
    "b": (0.125, "B"),
    "bit": (0.125, "B"),
    "FLOP": (1, "FLOP"),
    "W": (1, "W"),
    "J": (1, "J"),
    "Wh": (3600, "J"),
    "g": (1e-3, "kg"),
}
#: these take no prefix
PLAIN = {
    **dict.fromkeys(("s", "sec", "second"), (1, "s")),
    **dict.fromkeys(("min", "minute"), (60, "s")),
    **dict.fromkeys(("h", "hr", "hrs", "hour"), (3600, "s")),
    **dict.fromkeys(("d", "day"), (86400, "s")),
    "week": (604800, "s"),
    **dict.fromkeys(("y", "year"), (31557600, "s")),
    "t": (1000, "kg"),
    "L": (1, "L"),
    "m3": (1000, "L"),
}
#: counted in sentences, never in units that are written
PEOPLE = ("client", "thread")
COUNTED = ("sample", "document", "token", "GPU", "GPU-hour", "node", "file", "parameter")
#: counted in billions too: `100B` of them; a plain number is, because it has no bytes to be taken for
BILLIONS = ("token", "parameter", "sample", "document")
#: Letters behind a count, as people write it: 15t tokens are no tonnes, 8B parameters no bytes.
SPOKEN = {"m": 10**6, "b": 10**9, "B": 10**9, "t": 10**12}
#: What no unit is: how often a word of it turns up in the place of one, and what to give instead.
FOREIGN = {
    "steps?|iterations?|iters?|batch(es)?": ("s", "a time, the number of steps × the time of one"),
    "USD|EUR|GBP|[$€£]|dollars?|euros?": ("1", "a number: all prices are in one currency"),
}
#: sign -> the currency that it stands for on a price; others are named by their code
SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}
_MONEY = rf"[{''.join(SIGNS)}]|{'|'.join(SIGNS.values())}|CHF|JPY|CNY|INR|KRW|CAD|AUD|SEK|NOK|DKK|PLN|CZK|SGD|TWD|BRL"
_PRICE = re.compile(rf"({_MONEY})?\s*([0-9][0-9.,_]*)\s*({_MONEY})?(/.*)?", re.ASCII)
#: What newspapers write for a million and more: a refusal names the letter.
NEWSPAPER = {"mn": "M", "mio": "M", "million": "M", "bn": "B", "mrd": "B", "milliarden": "B", "billion": "B", "tn": "T",
             "billionen": "T", "bio": "T", "trillion": "T"}  # fmt: skip
#: these have a plural; "MiBs" is half of a rate
PLURAL = (*(word for word in PLAIN if len(word) > 2), *COUNTED, "byte", "bit", "FLOP")
SHORTHAND = {"bps": "b/s", "Bps": "B/s", "FLOPS": "FLOP/s"}

# Commas group thousands and nothing else: "2,83" is no number here, because half the world reads it as 2.83.
_NUMBER = re.compile(
    r"([+-]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^0-9,._].*)?",
    re.DOTALL,
)
#: One comma: a thousand to some readers, a fraction to others.
_EITHER = re.compile(r"[+-]?[0-9]{1,3},[0-9]{3}")
#: One point: the same two readings, of which only the fraction is meant where a unit is stated.
POINTED = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
#: A second number behind a blank or a unit: the thousands of the first, or another quantity.
_FURTHER = re.compile(r"[\sA-Za-z][0-9]")
#: A longer text, or a number with more digits, is a slip of the pen or an attack.
MAX_TEXT = 80
MAX_DIGITS = 40
#: Prefixes in full, as in gigabytes.
SPELLED = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}
#: Units that nobody leaves out alike: without one, a number is refused with two spellings that people may have meant.
UNSTATED = {
    "s": ("s", "h"),
    "B/s": ("MB/s", "GB/s"),
    "FLOP/s": ("GFLOP/s", "TFLOP/s"),
    "1/J": ("/kWh", "/MWh"),
    "kg/J": ("g/kWh", "kg/MWh"),
    "L/J": ("L/kWh", "L/MWh"),
}
#: Of times that are never as long as an hour, or as short as a second, and of systems: a word of a name -> the units instead.
LIKELY = {"latency": ("us", "ms"), "decode": ("us", "ms"), "mtti": ("h", "d"), "duration": ("h", "d"), "repair": ("h", "d"),
          "retention": ("h", "d"), "first": ("ms", "s"), "capacity": ("TB", "PB")}  # fmt: skip
#: Amounts that programs print in full: a whole number from `FULL_NUMBER` on needs no unit, unless it is that of a small thing.
PRINTED = {"B": ("MB", "GB"), "FLOP": ("MFLOP", "GFLOP")}
FULL_NUMBER = 1000
#: A number from here on counts base units, if anything.
LARGE = 1e6
SMALL_THINGS = ("token", "parameter")
_KNOWN = [p + b for b in SCALED for p in [*DECIMAL, *BINARY]] + [*PLAIN, *COUNTED]
#: Bits are for links, which have a rate; a size in bits is a slip of the shift key.
_BITS = re.compile(r"(b|bits?)$")


@lru_cache(maxsize=1024)
def physical(unit: str) -> str:
    """Return a unit without the things it counts.

    >>> physical("B/s/GPU"), physical("B/sample"), physical("sample/s/GPU"), physical("node")
    ('B/s', 'B', '1/s', '1')
    """
    top, *below = unit.split("/")
    return "/".join(["1" if top in COUNTED else top, *(part for part in below if part not in COUNTED)])


@lru_cache(maxsize=1024)
def _factor(symbol: str) -> tuple[float, str] | None:
    symbol = re.sub("B(?=ytes?$|its?$)", "b", symbol)
    for word, letter in SPELLED.items():
        if symbol.lower().startswith(word):
            symbol = f"{letter}{symbol[len(word) :]}"
    singular = symbol[:-1] if symbol.endswith(tuple(f"{word}s" for word in PLURAL)) else symbol
    for name in (symbol, singular):
        if name in PLAIN:
            return PLAIN[name]
        if name in COUNTED or name == "1":
            return 1, name
        for base, (factor, unit) in SCALED.items():
            prefix = name[: -len(base)] if name.endswith(base) else None
            if prefix in DECIMAL:
                return DECIMAL[prefix] * factor, unit
            if prefix in BINARY:
                return BINARY[prefix] * factor, unit
    if symbol[:1] in SMALL and symbol[1:] in ("s", "sec"):
        return SMALL[symbol[0]], "s"
    for counted in COUNTED:
        prefix = singular[: -len(counted)] if singular.endswith(counted) else None
        if prefix in DECIMAL:
            return DECIMAL[prefix], counted
    return None


def unit_factor(text: str) -> tuple[float, str]:
    """Return what one unit, as people write it, is in base units.

    >>> unit_factor("TFLOP/s"), unit_factor("Gb/s"), unit_factor("GiB")
    ((1000000000000.0, 'FLOP/s'), (125000000.0, 'B/s'), (1073741824, 'B'))

    Raises UsageError: an unknown unit, with the nearest one that exists.
    """
    for short, full in SHORTHAND.items():
        if text.endswith(short):
            text = text[: -len(short)] + full
            break
    factor: float = 1
    parts = []
    for position, symbol in enumerate(text.replace(" ", "").split("/")):
        found = _factor(symbol)
        if found is None:
            raise UsageError(f"unknown unit {brief(symbol)}{_meant(symbol)}")
        factor = factor * found[0] if position == 0 else factor / found[0]
        parts.append(found[1])
    return factor, "/".join(parts)


@lru_cache(maxsize=1024)
def _meant(symbol: str) -> str:
    """The units that a word may stand for: those in capitals or small letters, else the nearest; empty for none."""
    same = [f"'{word}'" for word in _KNOWN if word.lower() == symbol.lower()]
    if same and len(symbol) > 1:
        return f"; did you mean {' or '.join(same)}?"
    return nearest(symbol, _KNOWN) if len(symbol) > 2 else ""  # any two letters are near to many units


def _slips(suffix: str, unit: str) -> list[str]:
    """The units of a kind that a word is a slip of: `gbs`, `gbit` and `GBps` of a rate, French `Go` and `gb` of a size."""
    found = []
    for written in (re.sub("(?<!/)p?s$", "/s", suffix), re.sub("(?<=[A-Zki])o(?=$|/)", "B", suffix), f"{suffix}/s"):
        size, slash, per = written.partition("/")
        sizes = [size] if _factor(size) else [one for one in _KNOWN if one.lower() == size.lower()]
        found += [f"{one}{slash}{per}" for one in sizes if slash or not _BITS.search(one)]
    return [one for one in dict.fromkeys(found) if physical(unit_factor(one)[1]) == physical(unit)]


def priced(text: str) -> tuple[str, str]:
    """A price without its currency, and the code of that; empty where none is named, or two.

    >>> priced("€2.5"), priced("2.5 EUR"), priced("0.1$/kWh"), priced("€2 USD")
    (('2.5', 'EUR'), ('2.5', 'EUR'), ('0.1/kWh', 'USD'), ('€2 USD', ''))
    """
    found = _PRICE.fullmatch(text)
    named = {SIGNS.get(one, one) for one in found.group(1, 3) if one} if found else set()
    return (f"{found[2]}{found[4] or ''}", named.pop()) if found and len(named) == 1 else (text, "")


def parse(written: object, unit: str, what: str, whole: bool | None = None) -> float:
    """Return a number in base units from what a person wrote.

    A number that is no text is in base units already. In text, the unit of a time, a rate of bytes or FLOPs, or a price of
    energy is never guessed, nor that of fewer than a thousand bytes; a bare prefix (`15T`) counts where no unit is needed; `%`
    is a share. Commas group thousands; where one comma may as well be a decimal one (`1,500 GB`), the text is refused; so is a
    count with a point before three digits (`1.000`).

    Args:
        written: text such as `16MiB`, `35 TFLOP/s`, `30 min`, `70%`, or a number.
        unit: the base unit expected, for example `B/s/GPU`.
        what: the option, key or quantity, for the message.
        whole: whether it counts what comes whole; False for a rate or a mean of counts, whose point may be a decimal one unless
            zeros end it. Without, its unit tells.

    Raises UsageError: no number, not finite, an unknown unit, a unit of another kind, or none where one is needed.
    """
    if isinstance(written, bool) or not isinstance(written, (int, float, str)):
        raise UsageError(f"{what}: found {brief(written)}, expected a finite number, {_example(unit)}")
    if isinstance(written, (int, float)):
        return _finite(written, written, unit, what)
    text = written.strip()
    if len(text) <= MAX_TEXT:
        text = re.sub(r"\s+per\s+", "/", text)
        text = re.sub(rf"(?<=[0-9A-Za-z])\s+{unit}s?$", "", text) if unit in COUNTED else text  # 15T tokens
    text = priced(text)[0] if "price" in what and "--set" not in what else text
    for words, (asked, instead) in FOREIGN.items():
        if physical(unit).split("/")[0] == asked and re.fullmatch(rf"[0-9.,_]+\s*({words})|({words})\s*[0-9.,_]+", text):
            raise UsageError(f"{what}: found {brief(written)}, expected {instead}, {_example(unit)}")
    match = _NUMBER.fullmatch(text) if len(text) <= MAX_TEXT else None
    if match is None and (plain := without_commas(text)) and "." in plain and (whole or unit in COUNTED):
        raise UsageError(f"{what}: found {brief(written)}, expected one number; `ingest bw` and `sweep` take several")
    if match is None and plain:
        raise UsageError(f"{what}: found {brief(written)}, expected points before decimals alone; did you mean '{plain}'?")
    if match is None or len(match[1]) > MAX_DIGITS:
        kind = f"; its kind goes to --{unit.lower()}" if unit in ("GPU", "node") and text[:1].isalpha() else ""
        raise UsageError(f"{what}: found {brief(written)}, expected a finite number, {_example(unit)}{kind}")
    if POINTED.fullmatch(text):  # half of Europe groups so
        grouped = text.replace(".", "")
        if whole or (whole is None and unit in COUNTED):
            raise UsageError(f"{what}: found {brief(written)}, expected a count without a point; did you mean '{grouped}'?")
        if whole is False and text.endswith("0"):  # nobody ends a fraction with a zero
            raise UsageError(f"{what}: {brief(written)} can be read in two ways, expected {float(text):g} or {grouped}")
    digits = match[1].replace("_", "").replace(",", "")
    number: float = float(digits) if re.search("[.eE]", digits) else int(digits)
    suffix = (match[2] or "").replace("\u03bc", "\u00b5")  # a Greek letter for the sign of the prefix
    suffix = f"1{suffix}" if suffix.startswith("/") else suffix  # a price: 0.1/kWh
    factor: float = 1
    if suffix in ("%", "percent"):
        number, base = number / 100, "1"
    elif suffix == "" or (suffix in DECIMAL and unit != "s"):
        factor, base = DECIMAL[suffix], unit
        if meant := needs_unit(number, unit, suffix):
            meant = next((of for at, of in LIKELY.items() if at in what and unit_factor(of[0])[1] == physical(unit)), meant)
            spelled = [f"{match[1]}{'' if one.startswith('/') else ' '}{one}" for one in meant]
            if meant == PRINTED["B"] and POINTED.fullmatch(text):
                spelled[1] = f"{text.replace('.', '')} B"
            if number >= LARGE and not suffix:  # of base units, as programs print them
                spelled = [f"{match[1]} {physical(unit)}", display(number, unit, binary=False)]
            raise UsageError(
                f"{what}: found {brief(written)} without a unit, expected one, such as '{spelled[0]}' or '{spelled[1]}'"
            )
    elif suffix in SPOKEN and text == f"{match[1]}{suffix}" and unit in (*BILLIONS, "1"):
        factor, base = SPOKEN[suffix], unit
    elif suffix == "m" and unit == "s":
        factor, base = 60, unit  # minutes, as schedulers and clusters write them; no time is measured in metres
    else:
        try:
            factor, base = unit_factor(suffix)
        except UsageError as error:
            if unit == "s" and (seconds := _in_parts(text)):
                meant_time = display(seconds, "s", digits=9).replace(",", "")
                raise UsageError(f"{what}: found {brief(written)}, expected one number; did you mean '{meant_time}'?") from None
            if _FURTHER.search(suffix):
                form = f"one number without blanks and one unit, {_example(unit)}"
                form += "; the kind of the GPU goes to --gpu" if unit == "GPU" else ""
                raise UsageError(f"{what}: found {brief(written)}, expected {form}") from None
            if power := re.fullmatch(r"10(?:\^|\*\*)([0-9]{1,2})", text):
                raise UsageError(f"{what}: found {brief(written)}, expected a number; did you mean '1e{power[1]}'?") from None
            strange = str(error)
            if slips := [f"'{match[1]}{one}'" for one in _slips(suffix, unit)]:
                strange = f"{strange.partition(';')[0]}; did you mean {' or '.join(slips)}?"
            expected = "" if "; did" in strange else f", {_example(unit)}"
            expected = f"; a range is {match[1]}..{suffix[1:]}" if re.fullmatch("[-:][0-9]+", suffix) else expected
            if (letter := NEWSPAPER.get(suffix.lower().rstrip("s."))) and unit in (*BILLIONS, "1"):
                expected = f"; did you mean '{match[1]}{letter}'?"
            raise UsageError(f"{what}: {brief(written)} has an {strange}{expected}") from None
    if _BITS.search(suffix) and physical(unit) == "B":
        raise UsageError(f"{what}: {brief(written)} is in bits, expected bytes, {_example(unit)}")
    # A thing counted may be left out, but not replaced by another.
    other = [part for part in base.split("/") if part in COUNTED and part not in unit.split("/")]
    if other or physical(base) != physical(unit):
        counted = _as_count(match[1], suffix, unit) or f", {_example(unit)}"
        raise UsageError(f"{what}: {brief(written)} is in {base}, expected {unit}{counted}")
    if factor > 1 and _EITHER.fullmatch(match[1]):  # of a thing that comes whole, only thousands can be meant
        either = f"{digits} {suffix} or {match[1].replace(',', '.')} {suffix}"
        raise UsageError(f"{what}: {brief(written)} can be read in two ways, expected {either}")
    return _finite(number * factor, written, unit, what)


def written_in_file(number: Any) -> Any:
    """Return what a person wrote into a file: a number there is text whose unit is missing, unlike one from Python.

    >>> written_in_file(30), written_in_file({"typical": 0.5}), written_in_file(["30 min", 8])
    ('30', {'typical': '0.5'}, ['30 min', '8'])
    """
    if isinstance(number, dict):
        return {key: written_in_file(item) for key, item in number.items()}
    if isinstance(number, list):
        return [written_in_file(item) for item in number]
    plain = isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    return repr(number) if plain else number


def parse_whole(written: object, what: str, least: int, most: int | None = None) -> int:
    """Return a whole number from what a person wrote.

    >>> parse_whole("10k", "--samples", 0)
    10000

    Raises UsageError: no whole number, or out of range.
    """
    number = parse(written, "1", what, whole=True)
    if number % 1 or number < least or (most is not None and number > most):
        upto = "" if most is None else f" to {most:,}"
        raise UsageError(f"{what}: found {written}, expected a whole number from {least}{upto}")
    return int(number)


def parse_share(written: object, what: str) -> float:
    """Return a share from what a person wrote.

    >>> parse_share("0.5%", "--tolerance")
    0.005

    Raises UsageError: no number, or not a part of the whole.
    """
    share = parse(written, "1", what)
    if not 0 < share < 1:
        raise UsageError(f"{what}: found {written}, expected a share above 0 and below 1, such as 0.5% or 0.95")
    return float(share)


def needs_unit(number: float, unit: str, prefix: str = "") -> tuple[str, ...]:
    """Return units that a number without one may be in; none where it needs none: zero or less, a count, a size in full.

    >>> needs_unit(30, "s"), needs_unit(30, "sample"), needs_unit(1500, "B"), needs_unit(10, "B/s", "G")
    (('s', 'h'), (), (), ('GB/s', 'Gb/s'))
    """
    if number <= 0 or not math.isfinite(number):
        return ()
    short = physical(unit)
    if short in PRINTED and not prefix and not any(one in unit.split("/") for one in SMALL_THINGS):
        return PRINTED[short] if number % 1 or abs(number) < FULL_NUMBER else ()
    if prefix and short in ("B/s", "FLOP/s"):  # links are sold in bits, GPUs in nothing but FLOP/s
        return (f"{prefix}B/s", f"{prefix}b/s") if short == "B/s" else ()
    return UNSTATED.get(short, ())


def without_commas(text: str) -> str:
    """A number as half of Europe writes it, such as `1.234,5 GB`, with a decimal point; empty for anything else."""
    found = re.fullmatch(r"([+-]?[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)(?:,([0-9]+))?(\s*[^0-9,._].*)?", text[:MAX_TEXT])
    grouped = found is not None and (found[2] or found[1].count(".") > 1)
    return f"{found[1].replace('.', '')}{'.' + found[2] if found[2] else ''}{found[3] or ''}" if found and grouped else ""


def _in_parts(text: str) -> float:
    """The seconds of a time in several numbers, as schedulers print it; 0 for anything else.

    >>> _in_parts("1h30m"), _in_parts("1h30"), _in_parts("01:30:00"), _in_parts("1-00:00:00"), _in_parts("1 month")
    (5400, 5400, 5400, 86400, 0)
    """
    if clock := re.fullmatch(r"(?:([0-9]+)-)?([0-9]+):([0-9]{2}):([0-9]{2})", text):
        return sum(int(part or 0) * size for part, size in zip(clock.groups(), (86400, 3600, 60, 1), strict=True))
    text = re.sub("(?<=[0-9]h)[0-9]{1,2}$", r"\g<0>m", text)
    one = r"([0-9]+) ?(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
    parts = re.findall(one, text) if re.fullmatch(rf"(?:{one}[ ,]*){{2,}}", text) else []
    return sum(int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[unit[0]] for number, unit in parts)


def _as_count(digits: str, suffix: str, unit: str) -> str:
    """What a count that is written as bytes probably means: 100G for 100GB tokens; empty for anything else."""
    if unit not in ("token", "parameter") or suffix[-1:] != "B" or suffix[:-1] not in DECIMAL:
        return ""
    meant = f"{digits}{suffix[:-1] or 'B'}"
    return f"; did you mean '{meant}', {parse(meant, unit, ''):,.0f} {unit}s?"


def _finite(number: float, written: object, unit: str, what: str) -> float:
    if abs(number) > 1e300 or not math.isfinite(number):
        raise UsageError(f"{what}: found {brief(written)}, expected a finite number, {_example(unit)}")
    return _whole(number)


def _whole(number: float) -> float:
    """The nearest whole number, where only rounding separates the two."""
    rounded = round(number)
    return rounded if abs(number) < 2**63 and math.isclose(number, rounded, rel_tol=1e-12) else number


def _example(unit: str) -> str:
    examples = {"B/s": "2.5 GB/s", "B": "16 MiB", "FLOP/s": "35 TFLOP/s", "FLOP": "247 GFLOP", "s": "30 min", "1": "0.7"}
    count = "128" if unit.split("/")[0] in COUNTED else "310"
    return f"for example {count if unit in COUNTED else examples.get(physical(unit), count)}"


def _significant(number: float, digits: int = 4) -> str:
    """Four significant digits, thousands grouped, no trailing zeros, no exponent between 1e-4 and 1e15."""
    if number == 0:
        return "0"
    # What is half in decimal digits is rounded up, as spreadsheets do: 0.15 is a little less than that in binary.
    number *= 1 + 1e-15
    magnitude = math.floor(math.log10(abs(number)))
    if magnitude >= 15 or magnitude < -4:
        return f"{number:.{digits - 1}e}"
    text = f"{number:,.{max(digits - 1 - magnitude, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@cache
def _scales_of(unit: str, binary: bool) -> tuple[tuple[float, int, str], ...]:
    """The units in which people read bytes, FLOP or a time: from which number on, of how many base units, and the name."""
    short = _readable(unit)
    base = short.split("/")[0]
    if short == "J" and not binary:
        return tuple((3599 * DECIMAL[prefix] if prefix else 0, 3600 * DECIMAL[prefix], f"{prefix}Wh") for prefix in ENERGY)
    if short == "s" and not binary:
        return tuple((1.5 * factor, factor, name) for name, factor in (("min", 60), ("h", 3600), ("days", 86400)))
    if base not in SCALED or (binary and base != "B"):
        return ()
    prefixes = {"": 1, **BINARY} if binary else {prefix: factor for prefix, factor in DECIMAL.items() if prefix != "K"}
    # Four digits round 0.9995 of a unit up to one.
    return tuple((0.9995 * factor if prefix else 0, factor, f"{prefix}{short}") for prefix, factor in prefixes.items())


def scale_of(number: float, unit: str, binary: bool) -> tuple[int, str]:
    """Return the factor and the unit in which people read bytes, FLOP or a time; factor 0 where there is none.

    >>> scale_of(808_098_450.2, "B/s/GPU", binary=False), scale_of(808_098_450.2, "B/s", binary=True), scale_of(3, "s", False)
    ((1000000, 'MB/s'), (1048576, 'MiB/s'), (0, ''))
    >>> scale_of(5400, "s", binary=False)
    (3600, 'h')
    """
    largest_first = reversed(_scales_of(unit, binary))
    return next(((factor, name) for start, factor, name in largest_first if abs(number) >= start), (0, ""))


def display(number: float, unit: str, binary: bool = True, digits: int = 4) -> str:
    """Return a quantity as people read it: decimal first, then binary in brackets, or as the configuration of the user orders.

    >>> display(808_098_450.2, "B/s/GPU")
    '808.1 MB/s (770.7 MiB/s)'
    >>> display(285.714, "sample/s/GPU"), display(989.4e12, "FLOP/s/GPU"), display(5400, "s"), display(1024, "GPU")
    ('285.7 samples/s', '989.4 TFLOP/s', '1.5 h', '1,024 GPUs')
    >>> display(541.2e12, "B", binary=False, digits=3), display(125e6 / 2**40, "B/s/B"), display(9200 / 2**40, "1/s/B")
    ('541 TB', '125 MB/s/TiB', '9,200 1/s/TiB')
    >>> display(1.616e12, "J"), display(1.0694e-7, "kg/J"), display(184_320, "GPU-hour")
    ('448.9 MWh', '0.385 kg/kWh', '184,320 GPU-hours')
    >>> display(4, "1/GPU"), display(9200, "1/s")
    ('4 per GPU', '9,200 1/s')
    """
    if unit.endswith("/s/B"):
        # Services sell a rate by the TiB provisioned.
        return display(number * 2**40, unit.removesuffix("/B"), binary=False, digits=digits) + "/TiB"
    if unit.endswith("/J"):
        return display(number * 3.6e6, unit.removesuffix("/J"), digits=digits) + "/kWh"
    if unit == "parameter" and number == round(number):
        return f"{round(number):,} parameter{'' if number == 1 else 's'}"
    both = unit.split("/")[0] == "B" and abs(number) >= BINARY_FROM
    first = both and binary_first()
    shown = _read(number, unit, binary=first, digits=digits)
    return f"{shown} ({_read(number, unit, binary=not first, digits=digits)})" if binary and both else shown


def percent(share: float) -> str:
    """Return a share in percent as people read it, without the sign and never in powers of ten.

    >>> percent(0.05342), percent(1.0012), percent(68.6), percent(-12), percent(0)
    ('5.34', '100.1', '6,860', '-1,200', '0')
    """
    number = share * 100
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}" if abs(number) >= 100 else f"{number:.3g}"


def stated(number: float, unit: str, digits: int = 3) -> str:
    """Return a required value in full; the binary number behind it, rounded up to a digit more, meets the requirement too.

    With fewer than three digits the binary number is left out: it claims more than was asked for.

    >>> stated(302e9, "B/s"), stated(300e9, "B/s", digits=2), stated(1_840_000, "file"), stated(61.7512e12, "B/s")
    ('302 GB/s (281.3 GiB/s)', '300 GB/s', '1,840,000 files', '61.7512 TB/s (56.17 TiB/s)')
    """
    shown = _read(number, unit, digits=FULL)
    if digits < 3 or unit.split("/")[0] != "B" or abs(number) < BINARY_FROM:
        return shown
    factor, name = _reading(number, unit, binary=True)
    exactly = number / factor * (1 - NOISE)
    step = 10.0 ** (math.floor(math.log10(exactly)) - digits)
    return f"{shown} ({_significant(math.ceil(exactly / step) * step, digits + 1)} {name})"


def as_printed(number: float, unit: str) -> float:
    """Return what `display` shows of a quantity in its decimal form, in base units: what people who read it can hold it to.

    >>> as_printed(265_245_076_866.5, "B/s"), as_printed(2_916_086.245, "file"), as_printed(5399.9, "s")
    (265200000000, 2916086, 5400)
    """
    if unit == "parameter" and number == round(number):
        return number
    factor, _ = _reading(number, unit)
    return _whole(float(_significant(number / factor).replace(",", "")) * factor)


#: Digits behind which a number holds the noise of binary fractions, and how much of a number that is.
FULL = 12
NOISE = 1e-12
#: From which number of bytes on the binary number follows in brackets.
BINARY_FROM = 1000


def _reading(number: float, unit: str, binary: bool = False) -> tuple[float, str]:
    """The factor and the name of the unit in which people read a quantity, in the plural where it counts things."""
    factor, name = scale_of(number, unit, binary)
    if factor:
        return factor, name
    short = _readable(unit)
    base, *per = short.split("/")
    if short == "s":
        return (1e-3, "ms") if 0 < abs(number) < 0.01 else (1, "s")
    if unit == "%":
        return 0.01, "%"
    if short != "1" and number != 1 and (base in COUNTED or base in PEOPLE):
        return 1, "/".join([base + "s", *per])
    if base == "1" and per and per[0] in COUNTED:
        return 1, "per " + "/".join(per)
    return 1, "" if short == "1" else short


def _read(number: float, unit: str, binary: bool = False, digits: int = 4) -> str:
    """A quantity in the unit in which people read it."""
    factor, name = _reading(number, unit, binary)
    return f"{_significant(number / factor, digits)} {name}".rstrip()


def request_size(size: float) -> str:
    """The size of a request as benchmarks take it: in binary units where it is a whole number of them.

    >>> request_size(131072), request_size(1048576), request_size(2.5e6), request_size(512)
    ('128 KiB', '1 MiB', '2.5 MB (2.384 MiB)', '512 B')
    """
    return _read(size, "B", binary=True) if size and size % 1024 == 0 else display(size, "B")


def _readable(unit: str) -> str:
    """A unit without `per GPU` behind a time: the name of the quantity has it; a plain ratio stays."""
    parts = unit.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 and parts[1] == "s" else unit


def exact(number: float) -> str:
    """A number in base units with every digit that matters, thousands grouped.

    >>> exact(2828486), exact(285.7142857142857), exact(0.0201), exact(99_999_999_995_000.02)
    ('2,828,486', '285.7142857', '0.0201', '99,999,999,995,000')
    """
    if abs(number) >= 1e21 or 0 < abs(number) < 1e-4:
        return f"{number:.10g}"
    if number == round(number):
        return f"{round(number):,}"
    written = f"{number:.10g}"
    if "e" in written:
        # Beyond ten digits a fraction is noise.
        return f"{round(number):,}"
    whole, _, fraction = written.partition(".")
    return f"{int(whole):,}" + (f".{fraction}" if fraction else "")
