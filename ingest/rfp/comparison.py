"""Several offers next to each other: compliance and margins line by line, and a score for the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.engine.interactive import InteractiveResult
from ingest.engine.result import envelope, frame_of
from ingest.errors import UsageError, brief, listed, nearest
from ingest.rfp.compliance import MET, MISSED, PARTLY, LineVerdict
from ingest.rfp.offer_verdict import ALONE, COMPLIES, MOST_LISTED, Response
from ingest.rfp.requirement_lines import TARGET, RequirementLine, is_value
from ingest.rfp.response_form import COMPLY, NO

if TYPE_CHECKING:
    import pandas

#: What a target earns that the vendor meets in part.
PARTIAL_CREDIT = 0.5


def credit(line: LineVerdict) -> float:
    """The share of a target that an offer earns, from 0 to 1.

    1 where it is met, one half where the vendor complies in part, offered over required where the value misses, and 0 for "no",
    for no answer, for a "yes" without a value and for a unit that is to be confirmed.
    """
    if line.verdict == MET:
        return 1
    if line.verdict == PARTLY:
        return PARTIAL_CREDIT
    if line.verdict == MISSED and line.stated.get(COMPLY) != NO and line.margin is not None:
        return 1 + line.margin
    return 0


def weights_of(targets: Sequence[str], given: Mapping[str, Any] | None) -> dict[str, float]:
    """The weight of each target: the given ones, or 1 for each.

    >>> weights_of(["R-A", "R-B"], None), weights_of(["R-A", "R-B"], {"R-B": 3, "R-A": 0})
    ({'R-A': 1, 'R-B': 1}, {'R-A': 0, 'R-B': 3})

    Raises:
        UsageError: a weight of no target, a target without one, no number from 0, or all of them 0.
    """
    if given is None:
        return dict.fromkeys(targets, 1)
    for name, weight in given.items():
        if name not in targets:
            known = f"one of the targets: {listed(targets, MOST_LISTED)}" if targets else "no weight: there are no targets"
            raise UsageError(f"--weights: found {brief(name)}, expected {known}{nearest(str(name), targets)}")
        if not is_value(weight):
            raise UsageError(f"--weights: {name}: found {brief(weight)}, expected a number from 0")
    lacking = [name for name in targets if name not in given]
    if lacking:
        raise UsageError(
            f"--weights: found no {listed(lacking, MOST_LISTED)}, expected a weight for each target; 0 ignores one"
        )
    if targets and not any(given.values()):
        raise UsageError("--weights: found 0 for every target, expected one above 0")
    return {name: given[name] for name in targets}


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(InteractiveResult):
    """Several offers against one set of requirements.

    Attributes:
        offers: the verdict on each, in the order in which they were given.
        weights: of the targets, by id.
    """

    offers: tuple[Response, ...]
    weights: Mapping[str, float]

    @property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """The requirements, which all offers share."""
        return tuple(line.requirement for line in self.offers[0].lines)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A short name of each offer: that of its file, or its path where two are alike."""
        stems = [Path(one.path).stem for one in self.offers]
        return tuple(stem if stems.count(stem) == 1 else one.path for stem, one in zip(stems, self.offers, strict=True))

    @cached_property
    def scores(self) -> tuple[float | None, ...]:
        """The weighted share of the targets that each offer earns, from 0 to 1; None without targets."""
        total = sum(self.weights.values())
        if not total:
            return (None,) * len(self.offers)
        return tuple(
            sum(self.weights[line.requirement.id] * credit(line) for line in one.of(TARGET)) / total for one in self.offers
        )

    def row(self, place: int) -> tuple[LineVerdict, ...]:
        """The verdicts of all offers on the requirement at that place."""
        return tuple(one.lines[place] for one in self.offers)

    @property
    def complying(self) -> tuple[str, ...]:
        """The offers that comply."""
        return tuple(name for name, one in zip(self.names, self.offers, strict=True) if one.verdict == COMPLIES)

    @property
    def unmet(self) -> str:
        """Why the comparison fails: no offer complies; empty where one does."""
        return "" if self.complying else f"none of the {len(self.offers)} offers complies"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdicts rest on, and which offers change requirements."""
        alone = () if self.offers[0].sent else (f"{ALONE}; the other offers are compared with the first one",)
        return (*alone, *(text for one in self.offers for text in one.warnings if text != ALONE))

    def to_dict(self) -> dict[str, Any]:
        """The offers as JSON."""
        offers = [
            {"name": name, **one.body(), "score": score}
            for name, one, score in zip(self.names, self.offers, self.scores, strict=True)
        ]
        body = {"complying": list(self.complying), "weights": dict(self.weights), "offers": offers}
        return envelope("response", body, warnings=self.warnings)

    def to_frame(self) -> pandas.DataFrame:
        """One row per requirement and offer."""
        rows = [
            {"offer": name, **{key: item for key, item in line.to_dict().items() if key != "said"}}
            for name, one in zip(self.names, self.offers, strict=True)
            for line in one.lines
        ]
        return frame_of(rows)
