"""The cell of each quantity in a site's workbook: inputs, calculated values and columns have a sheet each."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, count

from ingest.engine.derivation_graph import is_column
from ingest.engine.registry import INPUTS, Step, in_order
from ingest.reports.workbook.derivation_cells import Cells

#: Text between the first of several rows and the number of further ones.
ALSO = " and "
#: Rows up to which each has its own cells and checks for its default values.
MOST_ALONE = 50


def shared_label(owners: Sequence[str]) -> str:
    """Whose a cell is that several rows use.

    >>> shared_label(["a"]), shared_label(["a", "b", "a"]), shared_label(["a", "b", "c"])
    ('a', 'a and 1 more', 'a and 2 more')
    """
    first, *others = dict.fromkeys(owners)
    return f"{first}{ALSO}{len(others)} more" if others else first


#: Whose cells those are that concern several rows.
SITE = "site"
#: Groups of the site file whose values belong to no row.
SHARED = ("storage", "reserve", "outage", "test")


class PlanCells(Cells):
    """The cells of a site's workbook; low and high ends are draws, not cells.

    These inputs share a cell: a key of the site file, however often it is used; a fact of the catalogs, whoever needs it; the
    default values of one row; and the equal default values of more rows than a reader would look at. Each cell of inputs has
    a name: its key in the site file, or its owner and its quantity.

    Args:
        roots: what the requirements rest on, and further steps that sheets show.
        kind: of the workbook.

    Attributes:
        sharing: all steps of each cell of inputs, by the step that stands for them.
    """

    def __init__(self, roots: Iterable[Step], kind: str = "model") -> None:
        placed = in_order(roots)
        self._labels = labels_of(placed)
        inputs = self._shared([step for step in placed if step.formula is None])
        self.sharing = {step: (step, *others) for step, *others in inputs}
        super().__init__([*inputs, *([step] for step in placed if step.formula is not None)], kind)
        taken: set[str] = set()
        for step, *others in inputs:
            self._labels[step] = shared_label([self.owner(one) for one in (step, *others)])
            words = self.key(step) or f"{self.owner(step).partition(ALSO)[0]}_{step.name}"
            plain = "in_" + re.sub(r"\W", "_", words, flags=re.ASCII)[:200]
            numbered = (f"{plain}_{number}" for number in count(2))
            self.names[step] = next(name for name in chain([plain], numbered) if name.lower() not in taken)
            taken.add(self.names[step].lower())

    def owner(self, step: Step) -> str:
        """Whose row a step belongs to; `site` for what concerns all of it or is shared."""
        group, _, rest = self.key(step).partition(".")
        return group if rest and group in SHARED else self._labels.get(step, SITE)

    def key(self, step: Step) -> str:
        """The key of the site file of an input; empty where it has none."""
        item = step.source
        return item.where if item is not None and item.origin == "user" else ""

    def _shared(self, inputs: Sequence[Step]) -> list[list[Step]]:
        """Inputs by cell: those of the site file first, grouped by their keys; then those of catalogs and definitions."""
        takers: dict[Hashable, set[str]] = {}
        for step in inputs:
            takers.setdefault(self._same(step), set()).add(self._labels.get(step, ""))
        found: dict[Hashable, list[Step]] = {}
        for step in inputs:
            same = self._same(step)
            common = self._is_fact(step) or len(takers[same]) > MOST_ALONE
            found.setdefault(self.key(step) or (same if common else self._own(step)), []).append(step)
        groups = {cell: self.key(steps[0]).partition(".")[0] for cell, steps in found.items()}
        rank = {group: place if group else len(groups) for place, group in enumerate(dict.fromkeys(groups.values()))}
        return [found[cell] for cell in sorted(found, key=lambda cell: rank[groups[cell]])]

    def _same(self, step: Step) -> Hashable:
        """A key that is equal for equal inputs; the step itself where a user gave it, or many values."""
        item = step.source
        alone = hasattr(step.value, "__len__") or (item is not None and item.origin == "user")
        return step if alone else (step.name, step.value, item)

    def _is_fact(self, step: Step) -> bool:
        """Whether it is a sourced value of the catalogs, or a constant, such as the length of a day."""
        item = step.source
        if item is not None:
            return item.origin == "catalog" and bool(item.source or item.parts)
        return step.name in INPUTS and INPUTS[step.name].low == INPUTS[step.name].high

    def _own(self, step: Step) -> Hashable:
        """A key that is equal for equal definitions of one row; the step itself where it was given."""
        label = self._labels.get(step, "")
        return (label, self._same(step)) if label and step.source is None else step


def labels_of(placed: Sequence[Step]) -> dict[Step, str]:
    """The owner of each step: its own, else the only one of what it rests on, else the only one of its users.

    Args:
        placed: steps, each after all that it rests on.
    """
    labels = {step: step.owner for step in placed if step.owner}
    for step in placed:
        if step not in labels and not is_column(step):
            below = {labels[part] for part in step.inputs if part in labels}
            if len(below) == 1 and not any(map(is_column, step.inputs)):
                labels[step] = below.pop()
    # The only owner of the users of a step; empty where they are of several.
    users: dict[Step, str] = {}
    for step in reversed(placed):
        label = labels.get(step, "")
        if not label and (label := users.get(step, "")):
            labels[step] = label
        for part in step.inputs:
            if users.setdefault(part, label) != label:
                users[part] = ""
    return labels
