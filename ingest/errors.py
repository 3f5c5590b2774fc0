"""The few ways in which `ingest` refuses.

Every refusal is one line: what was found, where, what was expected, and the nearest thing that exists.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Longest line of a refusal or a warning, so that it is seen whole on a screen.
MOST_LETTERS = 300
#: Letters that a terminal of 80 columns shows in one line after `ingest: `.
WIDTH = 72


class IngestError(Exception):
    """Something cannot be done: a bad file, a missing fact (exit code 1)."""

    exit_code = 1
    #: the key of a file that is to blame, as its path, and what is wrong with it; None where no key is
    fault: tuple[tuple[str, ...], str] | None = None

    @property
    def lines(self) -> list[str]:
        """What the user reads: one line."""
        return [str(self)]


class UsageError(IngestError):
    """The question itself is wrong: a misspelt option value, a number out of range (exit code 2)."""

    exit_code = 2


class Faults(UsageError):
    """Several faults of one file, each in a line of its own: they are all named in one run (exit code 2)."""

    @property
    def lines(self) -> list[str]:
        """One line for each fault."""
        return str(self).split("\n")


class RequirementNotMet(IngestError):
    """A requirement that the user stated is not met (exit code 3)."""

    exit_code = 3


class CatalogError(IngestError):
    """A catalog file that cannot be loaded: its faults, each with its place in a line of its own."""

    lines = Faults.lines


class MissingQuantity(IngestError):
    """A quantity that is neither given nor computable."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[type[MissingQuantity], tuple[str, str]]:
        return MissingQuantity, (self.name, self.args[0])


class CyclicQuantity(IngestError):
    """A quantity that would have to be known before it can be computed."""


def brief(found: object) -> str:
    """A found value, in one line of at most sixty characters.

    >>> brief("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"
    """
    shown = repr(found)
    return shown if len(shown) <= 60 else f"{shown[:57]}…{shown[-1]}"


def shortened(line: str, most: int) -> str:
    """A line of at most so many characters: long words are shortened first, then its middle.

    The first word tells the place, such as a file and its line: it stays whole up to 120 characters.

    >>> shortened("found " + "x" * 100 + ", expected a number", 60)
    'found xxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxx, expected a number'
    """
    if len(line) <= most:
        return line
    words = [word if len(word) <= 60 else f"{word[:23]}…{word[-11:]}" for word in line.split(" ")]
    place = line.split(" ")[0]
    words[0] = place if len(place) <= 120 else f"{place[:23]}…{place[-96:]}"
    line = " ".join(words)
    return line if len(line) <= most else f"{line[: most * 2 // 3 - 1]}…{line[-(most // 3) :]}"


def in_one_line(message: str) -> str:
    r"""A refusal as the user reads it: one line of at most `MOST_LETTERS`, in which a terminal finds nothing to obey.

    >>> in_one_line("found '\x1b[31mred\u202e',\n expected a name")
    "found '�[31mred�', expected a name"
    """
    line = " ".join(message.split())
    seen = line if line.isprintable() else "".join(mark if mark.isprintable() else "\ufffd" for mark in line)
    return shortened(seen, MOST_LETTERS)


def in_width(lines: Iterable[str]) -> str:
    """The first of several wordings, the fullest first, that a terminal shows in one line; where none fits, the last."""
    texts = [*lines]
    return next((one for one in texts if len(one) <= WIDTH), texts[-1])


def unknown(what: str, near: Iterable[str], *instead: str) -> str:
    """Return the refusal of a name: the nearest three, fewer where a line is too short, and what to give instead.

    Args:
        instead: wordings of one thing, the fullest first.

    >>> unknown("model 'resnet100'", ["resnet50", "resnext101-32x4d"], "its config.json", "a file")
    "unknown model 'resnet100', nearest resnet50, resnext101-32x4d; or a file"
    """
    three = [*near][:3]
    return in_width(
        f"unknown {what}, nearest {', '.join(three[:count])}; or {way}" for count in range(len(three), 0, -1) for way in instead
    )


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> listed(["A", "B"], 2), listed(["A", "B", "C"], 1)
    ('A, B', 'A and 2 more')
    """
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def nearest(found: str, known: Iterable[str], figures: int = 0) -> str:
    """Return `; did you mean '…'?` for the nearest known word, or nothing.

    Args:
        figures: of names whose number is a generation or a size; a word with another number is offered only where one
            number begins with the other, which has at least so many figures. 0 for any other names.

    >>> nearest("cosmflow", ["cosmoflow", "deepcam"])
    "; did you mean 'cosmoflow'?"
    >>> nearest("zebra", ["cosmoflow"]), nearest("nope", ["none", "opens"]), nearest("dgx-vr200", ["dgx-h200"], figures=2)
    ('', '', '')
    """
    import difflib

    by_lower: dict[str, str] = {}
    for word in known:
        by_lower.setdefault(word.lower(), word)
    if alike := [word for word in by_lower if word.replace("o", "0") == found.lower().replace("o", "0")]:  # h1OO
        return f"; did you mean '{by_lower[alike[0]]}'?"
    matches = difflib.get_close_matches(found.lower(), by_lower, n=1, cutoff=0.66)
    if not matches or not _is_slip(found.lower(), matches[0]) or (figures and _is_other(found.lower(), matches[0], figures)):
        return ""
    return f"; did you mean '{by_lower[matches[0]]}'?"


def _is_slip(found: str, word: str) -> bool:
    """Whether one word may be a misspelling of the other: a short word with another letter inside is another word."""
    if len(found) > 4 and len(word) > 4:
        return True
    letters = iter(word)
    left_out = len(found) < len(word) and all(letter in letters for letter in found)
    return left_out or len(found) > len(word) or found[:3] == word[:3] or sorted(found) == sorted(word)


def _is_other(found: str, word: str, figures: int) -> bool:
    """Whether a name is of another generation: other figures, or other letters with the same figures."""
    import difflib

    if found.replace("o", "0") == word.replace("o", "0") or sorted(found) == sorted(word):
        return False
    numbers, letters = (["".join(filter(kind, one)) for one in (found, word)] for kind in (str.isdigit, str.isalpha))
    short, long = sorted(numbers, key=len)
    if not short or short == long:
        return bool(short) and difflib.SequenceMatcher(None, letters[0], letters[1]).ratio() < 0.8
    return letters[0] != letters[1] or len(short) < figures or not long.startswith(short)


def expected_one_of(found: object, choices: Iterable[str]) -> str:
    """Return the choices, and the nearest of them.

    >>> expected_one_of("synk", ("sync", "async"))
    "expected one of sync, async; did you mean 'sync'?"
    """
    words = list(choices)
    held = [one for one in words if len(str(found)) > 2 and str(found).lower() in one]
    near = nearest(str(found), words) or (f"; with that name: {listed(held)}" if held else "")
    return f"expected one of {', '.join(words)}{near}"


def one_of(option: str, found: object, choices: Iterable[str]) -> None:
    """Refuse a word that is not among the choices. Raises UsageError: another word, with the nearest one."""
    words = list(choices)
    if found not in words:
        raise UsageError(f"{option}: found '{found}', {expected_one_of(found, words)}")


def refused_by_system(error: OSError) -> str:
    """Say that the operating system refused something, and for which file.

    >>> refused_by_system(OSError(36, "File name too long", "x.json"))
    'x.json: the system refused: File name too long'
    """
    where = "" if error.filename is None else f"{error.filename}: "
    if not where and isinstance(error, FileNotFoundError):
        where = "the working directory: "  # the one path that Python looks for without a name
    return f"{where}the system refused: {error.strerror}"


def cannot_be_read(place: object, reason: str | None, expected: str) -> str:
    """Say that a file is not there or cannot be read (exit code 1: a bad file).

    >>> cannot_be_read("plan.json", "No such file or directory", "the JSON of `ingest plan`")
    'plan.json: cannot be read: No such file or directory, expected the JSON of `ingest plan`'
    """
    return f"{place}: cannot be read: {reason}, expected {expected}"
