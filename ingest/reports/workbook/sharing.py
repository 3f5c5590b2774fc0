"""Which given quantities of a site stand in one cell of the sheet Inputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ingest.formula import LEAVES, Step

if TYPE_CHECKING:
    from ingest.engine.value import Input

#: What stands between the first of several rows and how many more there are.
ALSO = " and "
#: Rows up to which each has cells of its own, and checks of its own, for what nobody said.
MOST_ALONE = 50


class Sharing:
    """Gathers the given quantities of a site: each group is one cell.

    Args:
        given: what each step was given as, by its identity.
        labels: whose row each step is, by its identity.
    """

    def __init__(self, given: Mapping[int, Input], labels: Mapping[int, str]) -> None:
        self._given, self._labels = given, labels

    def groups(self, steps: Iterable[Step]) -> list[list[Step]]:
        """Steps that stand in one cell, in the order of the first of each.

        These do: a key of the site file, however often it is used; a fact of the catalogs, whoever needs it; what one row
        takes because nobody said otherwise; and where more rows take the same than anybody would look at, theirs too.
        """
        given = list(steps)
        takers: dict[Hashable, set[str]] = {}
        for step in given:
            takers.setdefault(self._same(step), set()).add(self._labels.get(id(step), ""))
        found: dict[Hashable, list[Step]] = {}
        for step in given:
            same = self._same(step)
            common = self._is_fact(step) or len(takers[same]) > MOST_ALONE
            found.setdefault(self.key(step) or (same if common else self._own(step)), []).append(step)
        return list(found.values())

    def key(self, step: Step) -> str:
        """The key of the site file that an input stands for; empty where it has none."""
        item = self._given.get(id(step))
        return item.where if item is not None and item.origin == "user" else ""

    def _same(self, step: Step) -> Hashable:
        """What is equal for steps that were given alike; the step itself where a user gave it, or many values."""
        item = self._given.get(id(step))
        alone = hasattr(step.value, "__len__") or (item is not None and item.origin == "user")
        return id(step) if alone else (step.name, step.value, item)

    def _is_fact(self, step: Step) -> bool:
        """Whether it is a sourced value of the catalogs, or a constant."""
        item = self._given.get(id(step))
        return is_constant(step.name) if item is None else item.origin == "catalog" and bool(item.source or item.parts)

    def _own(self, step: Step) -> Hashable:
        """What is equal for steps that one row takes by definition; the step itself where it was given."""
        label = self._labels.get(id(step), "")
        return (label, self._same(step)) if label and id(step) not in self._given else id(step)


def shared_label(owners: Sequence[str]) -> str:
    """Whose a cell is that several rows use.

    >>> shared_label(["a"]), shared_label(["a", "b", "a"]), shared_label(["a", "b", "c"])
    ('a', 'a and 1 more', 'a and 2 more')
    """
    first, *others = dict.fromkeys(owners)
    return f"{first}{ALSO}{len(others)} more" if others else first


def is_constant(name: str) -> bool:
    """Whether a quantity can have one value only, such as the length of a day."""
    found = LEAVES.get(name)
    return found is not None and found.low == found.high
