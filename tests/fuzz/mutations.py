"""Changes to bytes, text, trees of values and numbers, each drawn from a given random generator."""

import contextlib
import copy
import json
import math
import random
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml


def _split(words: str, at: str | None = None) -> list[str]:
    return words.split(at)


#: numbers, quantities and ranges as people mistype them and as attackers choose them
NUMBERS = (
    *_split("0 -0 -1 1 2 3 0.5 1.5 1e-9 1e-320 1e30 1e308 1e309 -1e308 nan NaN inf -inf Infinity 9007199254740993"),
    *_split("e5 .e5 +e5 E5 1e 1e+ . + - 0x10 0b1 1_000 1__000 1,500 1.500,5 1,50 1.5.5 ５ ½ ٣ ∞ 1/0 5%% 50% 150% -5% 100.1%"),
    *_split("9223372036854775807 9223372036854775808 18446744073709551616 -9223372036854775809 4294967296"),
    *_split("1GB 16MiB 1e30TB 30M 30m 30min 5GBs 400Gbit 10G 1EB 1ZB 5Kb 1QB 7PFLOP/s 100GB/s 3GB/s/GPU 1token 1d 1y 2026"),
    *_split("1..8 8..1 1..8*2 1..8*0 1..8*1 1..1e300*1.0000001 1..1000000000 1e-300..1e300*10 1,2,3 ,,, 1.."),
    *_split("30 min|16 MiB|2.83 MB|35 TFLOP/s|5 bytes|50 percent|30 μs|30 µs|1 month|5 x y|1 000|1 GB", "|"),
    "9" * 400,
    "0." + "0" * 400 + "1",
    "5 x" + " " * 20_000 + "y",
    "1" + " " * 20_000,
    "1," * 3000 + "1",
    "1e" + "9" * 30,
)
#: texts that break readers, pages and messages
TEXTS = (
    "", " ", "\t", "\n", "x", "é", "名前", "\u202etxt", "\u0000", "\x1b[31m", "\ufeffx", "\u2028", "\U0001f600", "a\nb", "=1+1",
    "@SUM(A1)", "<script>alert(1)</script>", "]]>", "&amp;&lt;", "'", '"', "`", "\\", "%s", "{0}", "{name}", "${HOME}",
    "$(id)", "..", "/", "../../x", "/dev/null", "-", "--help", "-x", "*", "[", "(", "null", "true", "yes", "~",
    "!!python/object:x", "&a", "*a", "<<", "#", ":", "- a", "a: b", "x" * 400, "x " * 400, "ab" * 20_000, "名" * 400, "a.b.c",
    "\udce9", "2026-02-30", "2026-01-01", "1:30", "0o17", "all", "none", "auto",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e-9, 1e30, 1e308, -1e308, math.inf, -math.inf, math.nan, 2**63, 10**30, 10**400,
    [], {}, [[]], [None], {"": None}, {"x": {}}, [1, 2, 3], [3, 2, 1], ["a", 1], {"low": 2, "typical": 1, "high": 0},
    {"low": 1, "high": 2}, {"value": 1}, {"value": 1, "unit": "B"},
)  # fmt: skip


def number(chance: random.Random) -> str:
    """A number as text, half of them plausible."""
    if chance.random() < 0.4:
        return chance.choice(NUMBERS)
    size = 10 ** chance.uniform(-3, 13)
    shown = [str(int(size)), f"{size:.3g}", f"{size:.2f}", f"{chance.randint(1, 64)}", f"{2 ** chance.randint(0, 40)}"]
    units = ["", "", "", " B", " MiB", " GB/s", " s", "min", " h", "%", "k", "T", " TFLOP/s", "/s", " token"]
    return chance.choice(shown) + chance.choice(units)


def scalar(chance: random.Random) -> Any:
    """A value for a place in a tree."""
    sort = chance.random()
    if sort < 0.4:
        return copy.deepcopy(chance.choice(VALUES))
    return number(chance) if sort < 0.75 else chance.choice(TEXTS)


def mutated_number(chance: random.Random, value: Any) -> Any:
    """A number near another one in some sense."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return scalar(chance)
    changes: Sequence[Callable[[Any], Any]] = (
        lambda x: x * 10 ** chance.randint(-12, 12), lambda x: -x, lambda x: x + 1, lambda x: x - 1, lambda x: x * 0,
        float, str,
        lambda x: f"{x} {chance.choice(['GB', 'min', 'B/s', 'GPU', 'x', '%'])}", lambda x: [x],
        lambda x: x * chance.random() * 2,
    )  # fmt: skip
    return chance.choice(changes)(value)


Place = tuple[Any, Any]


def places_of(tree: Any) -> Iterator[Place]:
    """Every container with each of its keys."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from places_of(tree[key])


def mutated_tree(chance: random.Random, tree: Any, keys: Sequence[str] = (), times: int = 0) -> Any:
    """A copy of a tree of lists and mappings with one to four changes.

    Args:
        keys: names that the format knows, to insert and to rename to.
        times: how many changes; drawn if 0.
    """
    tree = copy.deepcopy(tree)
    for _ in range(times or chance.choice([1, 1, 1, 2, 2, 3, 4])):
        places = list(places_of(tree))
        if not places:
            return scalar(chance)
        held, key = chance.choice(places)
        _change_place(chance, held, key, places, keys)
    return tree


#: Places of a tree of which one may be repeated hundreds of times.
MOST_PLACES = 1000


def _change_place(chance: random.Random, held: Any, key: Any, places: list[Place], keys: Sequence[str]) -> None:
    other, other_key = chance.choice(places)
    names = keys or [str(key) for _, key in places]
    sort = chance.random()
    if sort < 0.40:
        held[key] = mutated_number(chance, held[key]) if isinstance(held[key], int | float) else scalar(chance)
    elif sort < 0.52:
        del held[key]
    elif sort < 0.64:
        held[key] = copy.deepcopy(other[other_key])
    elif sort < 0.80 and isinstance(held, dict):
        held[chance.choice(names)] = scalar(chance) if chance.random() < 0.6 else copy.deepcopy(other[other_key])
    elif sort < 0.88 and isinstance(held, dict):
        held[chance.choice([*names, *map(str, TEXTS[:12])])] = held.pop(key)
    elif sort < 0.92:
        # Lists of lists of long texts would fill the memory of the process that makes them.
        held[key] = [held[key]] * chance.choice([1, 2, 300 if len(places) < MOST_PLACES else 3])
    elif sort < 0.94:
        held[key] = _nested(chance.choice([20, 200]))
    elif isinstance(held[key], str):
        held[key] = mutated_text(chance, held[key], times=1)
    else:
        held[key] = {str(key): held[key]}


def _nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


#: Share of the texts that get a long run, which takes longer to read than most texts.
LONG_RUNS = 0.01


def mutated_text(chance: random.Random, text: str, times: int = 0) -> str:
    """A text with one to four changes to its lines, words, numbers or letters."""
    for _ in range(times or chance.choice([1, 1, 1, 2, 2, 3, 4])):
        text = chance.choice(_TEXT_CHANGES)(chance, text)
    return long_run(chance, text) if chance.random() < LONG_RUNS else text


#: Letters of a text whose lines may be repeated dozens of times.
MOST_TEXT = 1_000_000


def _change_lines(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    sort = chance.randrange(5)
    if sort == 0:
        del lines[first]
    elif sort == 1:
        lines.insert(second, lines[first])
    elif sort == 2:
        lines[first], lines[second] = lines[second], lines[first]
    elif sort == 3:
        lines[first] = chance.choice(["", " ", "  ", "    ", "\t", "- "]) + lines[first].lstrip()
    else:
        # A text of one long line, repeated four times over, would fill the memory of the process that makes it.
        lines[first : first + 1] = lines[first : first + 1] * (chance.choice([3, 50]) if len(text) < MOST_TEXT else 2)
    return "\n".join(lines)


def _replace_one(chance: random.Random, text: str, pattern: str, new: Callable[[list[re.Match[str]]], str]) -> str:
    """A text with another one in the place of one match."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    place = chance.choice(found)
    return text[: place.start()] + new(found) + text[place.end() :]


def _change_number(chance: random.Random, text: str) -> str:
    return _replace_one(chance, text, r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", lambda _: number(chance))


def _change_word(chance: random.Random, text: str) -> str:
    def new(found: list[re.Match[str]]) -> str:
        return chance.choice(found)[0] if chance.random() < 0.5 else chance.choice(TEXTS)

    return _replace_one(chance, text, r"[A-Za-z_][\w.-]*", new)


def _insert(chance: random.Random, text: str) -> str:
    place = chance.randint(0, len(text))
    new = chance.choice(["[" * 3000, "{" * 3000, '{"a":' * 3000, "(" * 300, *TEXTS, *NUMBERS])
    return text[:place] + new + text[place:]


#: Letters of a run on which a pattern that takes quadratic time is a hang.
LONG_RUN = (20_000, 100_000)


def long_run(chance: random.Random, text: str) -> str:
    """A text with a long run of one letter, or of a piece of its own, at one place."""
    place, length = chance.randint(0, len(text)), chance.randint(*LONG_RUN)
    piece = chance.choice([" ", "\n", "1", text[place : place + chance.randint(1, 12)] or "a"])
    return text[:place] + piece * (length // len(piece)) + text[place:]


def _cut(chance: random.Random, text: str) -> str:
    first, second = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
    if chance.random() < 0.7:
        second = min(second, first + chance.randint(1, 12))
    return text[:first] + text[second:]


def _letter(chance: random.Random, text: str) -> str:
    if not text:
        return text
    place = chance.randrange(len(text))
    return text[:place] + chance.choice("\"'{}[]:,-#&*!|>%@\\\t \n0eE.xé\x00\x7f") + text[place + 1 :]


#: Those that stand twice are drawn twice as often.
_TEXT_CHANGES = (
    *(_change_lines, _change_lines, _change_number, _change_number),
    *(_change_word, _change_word, _insert, _cut, _letter),
)


def encoded(chance: random.Random, text: str) -> bytes:
    """A text as bytes, seldom in an encoding that is not expected."""
    sort = chance.random()
    if sort < 0.93:
        return text.encode("utf-8", "surrogatepass")
    if sort < 0.95:
        return text.replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    return text.encode(chance.choice(["utf-16", "utf-8-sig", "utf-32", "cp037"]), "replace")


def mutated_bytes(chance: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """Bytes with one to eight changes; `other` is cut into them."""
    held = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 1, 2, 3, 8])):
        _change_bytes(chance, held, other)
    return bytes(held)


def _change_bytes(chance: random.Random, held: bytearray, other: bytes) -> None:
    place = chance.randrange(len(held)) if held else 0
    length = chance.choice([1, 2, 4, 8, 16, 64, 256])
    sort = chance.random()
    if not held or sort > 0.97:
        held[place:place] = other[:4096] or chance.randbytes(64)
    elif sort < 0.35:
        held[place] ^= 1 << chance.randrange(8)
    elif sort < 0.50:
        held[place] = chance.choice([0, 1, 10, 32, 127, 128, 255])
    elif sort < 0.70:
        # a number of four or eight bytes where binary formats have offsets and lengths
        form, width = chance.choice([("<i", 4), ("<q", 8), (">i", 4), (">q", 8)])
        value = chance.choice([0, -1, 1, 2, 7, 127, 255, 65536, 2**31 - 1, -(2**31), len(held), len(held) + 1])
        place -= place % 4
        held[place : place + width] = struct.pack(form, value)
    elif sort < 0.78:
        del held[place : place + length]
    elif sort < 0.84:
        held[place:place] = held[place : place + length]
    elif sort < 0.90:
        del held[place:]
    else:
        held[place : place + length] = chance.randbytes(length)


def dumped(chance: random.Random, tree: Any) -> str:
    """A tree as YAML."""
    style = chance.choice([None, False])
    try:
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, default_flow_style=style, width=10**6)
    except RecursionError:  # deeper than its writer goes; the reader has to refuse it all the same
        return "name: " + "[" * 2000 + "]" * 2000


def mutated_json(chance: random.Random, text: str, keys: Sequence[str] = ()) -> bytes:
    """JSON with another value or key, or with another text."""
    with contextlib.suppress(ValueError, RecursionError):
        if chance.random() < 0.75:
            return encoded(chance, json.dumps(mutated_tree(chance, json.loads(text), keys)))
    if chance.random() < 0.1:
        return mutated_bytes(chance, text.encode("utf-8", "surrogatepass"))
    return encoded(chance, mutated_text(chance, text))
