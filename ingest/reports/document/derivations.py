"""Derivations for print: what one requirement has told, the next ones only name."""

from __future__ import annotations

from collections.abc import Sequence

#: A part of a derivation with more lines than this is told once.
LONGEST_TWICE = 2


def shortened(name: str, lines: Sequence[str], told: dict[str, str]) -> tuple[str, ...]:
    """A derivation in which what an earlier requirement has told is one line that names it.

    Args:
        name: of the requirement.
        lines: its derivation, each line with what it rests on indented below.
        told: parts told so far, and by whom; those of this derivation are added.

    >>> told = {}
    >>> _ = shortened("R-1", ["a = 1", "  b = 2", "    given", "    here"], told)
    >>> shortened("R-2", ["c = 1", "  b = 2", "    given", "    here"], told)
    ('c = 1', '  b = 2  (see R-1)')
    """
    kept: list[str] = []
    place = 0
    while place < len(lines):
        end = _end(lines, place)
        part = "\n".join(line[_indent(lines[place]) :] for line in lines[place:end])
        teller = told.get(part) if end - place > LONGEST_TWICE else None
        if teller is not None and teller != name:
            kept.append(f"{lines[place]}  (see {teller})")
            place = end
            continue
        told.setdefault(part, name)
        kept.append(lines[place])
        place += 1
    return tuple(kept)


def _end(lines: Sequence[str], place: int) -> int:
    """The first line that does not belong below another one."""
    deep = _indent(lines[place])
    return next((at for at in range(place + 1, len(lines)) if _indent(lines[at]) <= deep), len(lines))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
