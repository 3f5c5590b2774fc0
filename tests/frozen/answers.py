"""Answers as they are recorded, and what differs between a recorded answer and today's."""

import hashlib
import json
import lzma
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOLERANCE = 1e-12
#: parts of an answer that are kept whole; of the others a mark is kept where they are long
WHOLE = ("code", "err", "results", "warnings", "unmet", "incomplete", "verdict")
LONG = 400
#: a number in a text with all its digits, as in CSV
FULL = re.compile(r"\b\d+\.\d{10,}(e[+-]?\d+)?\b")
#: filter of the archive: similar answers are neighbours, so a large dictionary finds the last one
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 2**26, "nice_len": 273}]


def mark(value: Any) -> dict[str, Any]:
    """What stands for a long part: how many numbers, a short sum of its words, and its numbers as one.

    That one is a weighted sum of logarithms, less its whole part: a number that moves by 1e-12 of itself moves it by that.
    """
    numbers: list[float] = []
    words: list[str] = []

    def walk(one: Any) -> None:
        if isinstance(one, dict):
            words.append("{")
            for key, held in one.items():
                words.append(key)
                walk(held)
        elif isinstance(one, list):
            words.append("[")
            for held in one:
                walk(held)
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            words.append(type(one).__name__ + ("+" if one > 0 else "-" if one < 0 else "0"))
            if one:
                numbers.append((1 + len(numbers) % 97 / 97) * math.log(abs(one)))
        else:
            words.append(json.dumps(one))

    walk(value)
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
    return {"#": [len(numbers), digest, round(math.fsum(numbers) % 1, 13)]}


def is_mark(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["#"]


def condensed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as it is kept: numbers to 14 digits, a mark for what is long or follows from the numbers beside it."""
    out = answer["out"]
    if isinstance(out, dict):
        short = {key for key, value in out.items() if key in WHOLE or (key != "displays" and len(json.dumps(value)) < LONG)}
        answer = {**answer, "out": {key: value if key in short else mark(value) for key, value in out.items()}}
    return {key: _rounded(value) for key, value in answer.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return value if is_mark(value) else {key: _rounded(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_rounded(held) for held in value]
    return float(f"{value:.14g}") if isinstance(value, float) else value


def differences(kept: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, Any, Any]]:
    """What differs, each as place, kind, value before and value now."""
    if is_mark(kept):
        yield from _of_marks(kept["#"], mark(now)["#"], path)
    elif isinstance(kept, dict) and isinstance(now, dict):
        for key, value in kept.items():
            if key in now:
                yield from differences(value, now[key], f"{path}.{key}" if path else key)
            else:
                yield f"{path}.{key}", "key dropped", value, None
        for key in [key for key in now if key not in kept]:
            yield f"{path}.{key}", "key added", None, now[key]
        if list(kept) != [key for key in now if key in kept] and set(kept) <= set(now):
            yield path, "order of keys", list(kept), list(now)
    elif isinstance(kept, list) and isinstance(now, list):
        if len(kept) != len(now):
            yield path, "length", kept, now
        for before, after in zip(kept, now, strict=False) if len(kept) == len(now) else ():
            yield from differences(before, after, f"{path}[]")
    elif _is_number(kept) and _is_number(now):
        if type(kept) is not type(now):
            yield path, "kind of number", kept, now
        if not math.isclose(kept, now, rel_tol=TOLERANCE, abs_tol=1e-300):
            yield path, "number", kept, now
    elif _as_written(kept) != _as_written(now):
        yield path, "words", kept, now


def _of_marks(kept: list[Any], now: list[Any], path: str) -> Iterator[tuple[str, str, Any, Any]]:
    if kept[:2] != now[:2]:
        yield path, "words or keys", kept, now
    # Rounding of the logarithms themselves: a hundred numbers may move the sum by the tolerance of one.
    elif 0.5 - abs(abs(kept[2] - now[2]) - 0.5) > TOLERANCE * max(1, kept[0] / 50):
        yield path, "numbers", kept, now


def _as_written(value: Any) -> Any:
    """A text whose numbers, where all their digits are written, keep those that count."""
    return FULL.sub(lambda number: f"{float(number[0]):.12g}", value) if isinstance(value, str) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def write(path: Path, pairs: list[tuple[list[str], dict[str, Any]]]) -> None:
    """Keep questions with their answers, one a line."""
    lines = "".join(json.dumps(pair, ensure_ascii=False, separators=(",", ":")) + "\n" for pair in pairs)
    path.write_bytes(lzma.compress(lines.encode(), format=lzma.FORMAT_XZ, filters=FILTERS))


def read(path: Path) -> list[tuple[list[str], dict[str, Any]]]:
    """Questions with their answers."""
    return [tuple(json.loads(line)) for line in lzma.decompress(path.read_bytes()).decode().split("\n") if line]
