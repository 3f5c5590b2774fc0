"""`ingest explain`: the derivation of a quantity down to the datasheet, as names = numbers = result, unit, source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from ingest.engine.expression import prose
from ingest.engine.interactive import InteractiveResult
from ingest.engine.question import option
from ingest.engine.registry import Step, unit_of
from ingest.engine.result import Answer, frame_of
from ingest.errors import UsageError
from ingest.sizing.bandwidth import Scenarios, bw
from ingest.sizing.derivation_text import ExplanationWriter
from ingest.sizing.job import GPU, MODEL, BandwidthOptions, Many

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(InteractiveResult):
    """The derivation tree of one quantity of an estimate."""

    name: str
    estimate: Answer
    step: Step

    @staticmethod
    def of(estimate: Answer, name: str) -> Explanation:
        """Return the derivation of one quantity.

        Raises:
            UsageError: no such quantity.
            MissingQuantity: it cannot be computed from what is known.
        """
        return Explanation(name, estimate, estimate.derivation(name))

    @property
    def results(self) -> dict[str, Any]:
        """The quantity explained."""
        return {self.name: self.step.value}

    def lines(self) -> list[str]:
        """The tree as indented text; each line follows from the lines below it."""
        return ExplanationWriter(self.estimate.catalog).lines(self.step)

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON: values in base units."""
        full = self.estimate.to_dict()
        return {**full, "command": "explain", "derivation": self._tree(self.step)}

    def to_frame(self) -> pandas.DataFrame:
        """One row per quantity of the derivation."""
        return frame_of([{key: item for key, item in row.items() if key != "inputs"} for row in self.rows()])

    def rows(self) -> list[dict[str, Any]]:
        """The quantities of the derivation, each before its inputs."""
        return list(self._below(self._tree(self.step)))

    def _below(self, node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for part in node.get("inputs", []):
            yield from self._below(part)

    def _tree(self, step: Step) -> dict[str, Any]:
        node: dict[str, Any] = {"name": step.name, "value": step.value, "unit": unit_of(step.name)}
        if step.formula is not None:
            made = step.formula
            node |= {"formula": prose(made.tree()), "source": made.source, "where": made.where}
            node["inputs"] = [self._tree(part) for part in step.inputs]
            return node
        if step.source is not None:
            item = step.source
            node |= {"from": item.origin, "source": item.source, "where": item.where, "grade": item.grade, "note": item.note}
            node["evidence"] = [part._asdict() for part in item.parts]
        return node


def explain(
    name: Annotated[str, option("A quantity, for example `ingest_bandwidth_per_job`.")],
    model: Annotated[Many | None, MODEL] = None,
    gpu: Annotated[Many | None, GPU] = None,
    **options: Unpack[BandwidthOptions],
) -> Explanation:
    """Derivation of one quantity of `bw`, down to the catalog values.

    >>> print(explain("gpus", "cosmoflow", "h100", nodes=2).lines()[1])
      = nodes × gpus_per_node

    Raises:
        UsageError: no such quantity, or several models, GPUs or numbers of nodes.
        IngestError: an input is missing; names what to supply.
    """
    answer = bw(model, gpu, **options)
    if isinstance(answer, Scenarios):
        count = len(answer.scenarios)
        raise UsageError(f"explain: found {count:,} scenarios, expected one model, GPU and number of nodes")
    return Explanation.of(answer, name)
