"""`ingest explain`: how a quantity came about, down to the datasheet, as names = numbers = result, unit, source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Unpack

from ingest.engine.derivation_graph import is_column
from ingest.engine.expression import prose
from ingest.engine.interactive import InteractiveResult
from ingest.engine.messages import Option, fact_of
from ingest.engine.question import option
from ingest.engine.registry import INPUTS, Step, is_quantity, label_of, unit_of
from ingest.engine.result import Answer, DataFrame, Sources, envelope, frame_of
from ingest.errors import MissingQuantity, UsageError, listed, nearest
from ingest.sizing.bandwidth import QUESTION, Scenarios, bw
from ingest.sizing.job import CARD, ONE_MODEL, Many, OneJobOptions
from ingest.sizing.rule import SAME_TIME, Rule
from ingest.sizing.rules import RETIRED, RULES, WRITTEN
from ingest.units import display, exact, percent, physical, unit_factor

#: What people call the rules of each kind.
KINDS = {"warning": "caution", "refusal": "refusal", "choice": "choice of a plan"}
#: A factor of a limit that is nearer to one is a tolerance and not shown.
TOLERANCE = 0.02
RULE_ID = re.compile("[WEC][0-9]+", re.IGNORECASE)
#: Rows of a column that a requirement lists; `--explain` lists all.
SHORT = 8


@dataclass(frozen=True)
class DerivationWriter:
    """Writes derivations as indented lines."""

    catalog: Sources  # for the titles of sources
    most: int = SHORT  # rows of a column that are listed; the largest first
    deep: int = 1  # rows of a column whose derivation is written in full

    def lines(self, step: Step) -> list[str]:
        """The derivation of a quantity; each line can be recomputed by hand from the lines below it."""
        return list(self._lines(step, "", set()))

    def _lines(self, step: Step, indent: str, seen: set[Step]) -> Iterator[str]:
        if is_column(step):
            yield from self._column(step, indent, seen)
            return
        again = "  (see above)" if step in seen and step.formula else ""
        yield f"{indent}{self.name(step.name)} = {self.text(self.value(step))}{again}"
        if again:
            return
        seen.add(step)
        inner = indent + "  "
        if step.formula is None:
            yield from (f"{inner}{line}" for line in self.origin(step))
            return
        yield f"{inner}= {self.text(self.formula(step))}"
        if not any(is_column(part) for part in step.inputs):
            values = {part.name: _written(part.value) for part in step.inputs}
            yield f"{inner}= {self.text(prose(step.formula.tree(), lambda name: values[name]))}"
        if step.formula.source != "definition":
            yield f"{inner}formula: {self.cited(step.formula.source, step.formula.where)}"
        for part in self.inputs(step):
            yield from self._lines(part, inner, seen)

    def formula(self, step: Step) -> str:
        """The formula of a computed quantity, with the names of its inputs."""
        assert step.formula is not None
        return prose(step.formula.tree(), self.name)

    def inputs(self, step: Step) -> Sequence[Step]:
        """The inputs of a computed quantity that have lines of their own."""
        return step.inputs

    def _column(self, step: Step, indent: str, seen: set[Step]) -> Iterator[str]:
        """The entries of a column, the largest first; those beyond the limits in brief."""
        yield f"{indent}{self.name(step.name)}: {len(step.inputs):,} entr{'y' if len(step.inputs) == 1 else 'ies'}"
        ordered = sorted(step.inputs, key=lambda part: -float(part.value))
        for part in ordered[: self.most]:
            yield f"{indent}  {part.owner or 'row'}: {self.text(shown(part))}"
        if len(ordered) > self.most:
            yield f"{indent}  and {len(ordered) - self.most:,} smaller ones"
        for part in ordered[: self.deep]:
            if part.formula is not None:
                yield f"{indent}  of {part.owner or 'row'}:"
                yield from self._lines(part, indent + "    ", seen)

    def name(self, quantity: str) -> str:
        """A quantity, as the lines call it."""
        return quantity

    def text(self, numbers: str) -> str:
        """Numbers, as the lines write them."""
        return numbers

    def value(self, step: Step) -> str:
        """The value of a quantity."""
        return shown(step)

    def origin(self, step: Step) -> Iterator[str]:
        """Where a given value is from, in one line, and what it was made from, where that is more than one figure."""
        item = step.source
        if item is None:
            yield f"by definition: {INPUTS[step.name].meaning}"
            return
        words = {"user": "given by the site file", "default": "assumed", "catalog": item.grade or "by definition"}
        why = fact_of(item.note) or (item.where if item.origin == "user" else "")
        note = f": {why}" if why else ""
        source = f"; {self.cited(item.source, item.where)}" if item.source else ""
        yield words.get(item.origin, f"by {item.origin}") + note + source
        parts = item.parts if len(item.parts) > 1 else ()
        for part in parts[: self.most]:
            yield f"- {part.what}: {exact(part.value)}, {part.grade}; {self.cited(part.source, part.where)}"
        if len(parts) > self.most:
            yield f"- and {len(parts) - self.most:,} more"

    def cited(self, source: str, where: str) -> str:
        """A source with its title, and the place in it."""
        return f"[{source}] {self.catalog.source(source).title}" + (f", {where}" if where else "")


class ExplanationWriter(DerivationWriter):
    """Writes the derivations of one job: each value with its whole note, its source, and the runs behind it."""

    def origin(self, step: Step) -> Iterator[str]:
        """Where a given value is from: its note, its source, and every figure behind it, in lines of their own."""
        item = step.source
        if item is None:
            declared = INPUTS[step.name]
            yield f"by definition: {declared.meaning}"
            if declared.source:
                yield self.cited(declared.source, "")
            return
        words = {"user": "given by the user", "default": "assumed", "catalog": item.grade or "catalog"}
        yield words.get(item.origin, item.origin) + (f": {item.note}" if item.note else "")
        if item.source:
            yield self.cited(item.source, item.where)
        for part in item.parts:
            yield f"- {part.what}: {exact(part.value)} {unit_of(step.name)}, {part.grade}"
            if part.runs:
                yield f"  median of {len(part.runs)} runs: {'; '.join(exact(run) for run in part.runs)}"
            yield f"  {self.cited(part.source, part.where)}"
            if part.advice and len(item.parts) > 1:
                yield f"  advice: {part.advice}"


def shown(step: Step) -> str:
    """A quantity for people, and exactly."""
    unit = unit_of(step.name)
    if isinstance(step.value, list):
        return f"{_written(step.value)} {unit}".removesuffix(" 1")
    text, exactly = display(float(step.value), unit), f"{exact(step.value)} {unit}".removesuffix(" 1")
    return text + (f"  [{exactly}]" if exactly != text else "")


def _written(value: object) -> str:
    """A number, or the numbers of a column that an answer counted by itself."""
    return f"({', '.join(map(exact, value))})" if isinstance(value, list) else exact(value)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(InteractiveResult):
    """The derivation tree of one quantity of an estimate."""

    name: str
    estimate: Answer
    step: Step

    @property
    def results(self) -> dict[str, Any]:
        """The quantity explained."""
        return {self.name: self.step.value}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the estimate."""
        return self.estimate.warnings

    def lines(self) -> list[str]:
        """The tree as indented text; each line follows from the lines below it."""
        return ExplanationWriter(self.estimate.catalog).lines(self.step)

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON: values in base units."""
        full = self.estimate.to_dict()
        return {**full, "command": "explain", "derivation": self._tree(self.step)}

    def to_frame(self) -> DataFrame:
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
            written = made.where if is_column(step) else prose(made.tree())
            node |= {"formula": written, "source": made.source, "where": made.where}
            node["inputs"] = [self._tree(part) for part in step.inputs]
            return node
        if step.source is not None:
            item = step.source
            node |= {"from": item.origin, "source": item.source, "where": item.where, "grade": item.grade, "note": item.note}
            node["evidence"] = [part._asdict() for part in item.parts]
        return node


@dataclass(frozen=True, repr=False, eq=False)
class RuleExplanation(InteractiveResult):
    """What a rule says, when it fires, why that matters, and what to do."""

    rule: Rule

    @property
    def results(self) -> dict[str, str]:
        """The parts of the explanation, those that the rule has."""
        rule, why = self.rule, WRITTEN[self.rule.id]
        words = (f"{key} is {' or '.join(map(repr, of))}" for key, of in rule.words.items())
        parts = {
            "line": (rule.text or rule.what).strip(" :"),
            "fires_when": "; ".join(filter(None, (self._compared(), *words))),
            "why": why.get("why", ""),
            "threshold": why.get("threshold", ""),
            "set": ", ".join(way.in_site_file if isinstance(way, Option) else way for way in rule.supply),
            "kind": KINDS[rule.kind],
        }
        return {name: text for name, text in parts.items() if text}

    def _compared(self) -> str:
        """The comparison of the rule, in names and with the unit of its limit."""
        one = self.rule
        if not one.quantity:
            return ""
        unit = unit_of(one.quantity) if is_quantity(one.quantity) else "1"
        limit = one.limit if isinstance(one.limit, str) else display(one.limit, unit, binary=False)
        sign = {"differs": f"differs by more than {percent(SAME_TIME)} % from"}.get(one.sign, one.sign)
        times = f"{exact(one.factor)} × " * (abs(one.factor - 1) > TOLERANCE)
        return f"{one.quantity} {sign} {times}{limit}"

    def lines(self) -> list[str]:
        """One line for each part."""
        return [f"{name.replace('_', ' ')}: {text}" for name, text in self.results.items()]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return envelope("explain", {"rule": self.rule.id, **self.results})

    def to_frame(self) -> DataFrame:
        """One row."""
        return frame_of([{"rule": self.rule.id, **self.results}])


def explain(
    name: Annotated[str, option("A quantity, for example `ingest_bandwidth_per_job`, or the id of a caution such as `W61`.")],
    model: Annotated[Many | None, ONE_MODEL] = None,
    gpu: Annotated[Many | None, CARD] = None,
    **options: Unpack[OneJobOptions],
) -> Explanation | RuleExplanation:
    """Derivation of one quantity of `bw`, down to the catalog values; or what a rule says, when, and why.

    >>> print(explain("gpus", "cosmoflow", "h100", nodes=2).lines()[1])
      = nodes × gpus_per_node

    Raises UsageError: no such quantity, or several models, GPUs or numbers of nodes; IngestError: an input is missing; names
    what to supply.
    """
    name = f"W{name}" if name.isdecimal() else name
    if (rule := RULES.get(name.upper())) is not None:
        return RuleExplanation(rule)
    if re.fullmatch("(rule|caution|warning|code)s?", name, re.IGNORECASE):
        raise UsageError(f"found '{name}', expected the id of one, such as W61")
    if RULE_ID.fullmatch(name):
        kept = " (retired)" * (name.upper() in RETIRED)
        raise UsageError(f"no rule has the id '{name}'{kept}{nearest(name.upper(), RULES)}")
    if re.fullmatch("R-[A-Z]+-[0-9]+", name):
        raise UsageError(f"'{name}' is a requirement of a site: `ingest plan site.yaml --explain {name}` shows it")
    wanted = re.sub("[-_]", " ", name.lower())
    near = [one for one in QUESTION.names if wanted in f"{one.replace('_', ' ')} {label_of(one)}"]
    # Words in any order, else a unit.
    near = near or [one for one in QUESTION.names if {*wanted.split()} <= {*f"{one.replace('_', ' ')} {label_of(one)}".split()}]
    with suppress(UsageError):
        base = physical(unit_factor(name)[1])
        near = near or [one for one in QUESTION.names if is_quantity(one) and physical(unit_of(one)) == base]
    name = next((one for one in near if wanted == label_of(one)), name)
    instead = f"; with that name: {listed(near)}" if near else ""
    try:
        answer = bw(model, gpu, **options)
    except UsageError:
        if not is_quantity(name):
            first = instead or "; the first word is a quantity, such as ingest_bandwidth_per_job"
            raise UsageError(f"no quantity is called '{name}'{first}, then model and GPU") from None
        raise
    if isinstance(answer, Scenarios):
        count = len(answer.scenarios)
        raise UsageError(f"explain: found {count:,} scenarios, expected one model, GPU and number of nodes")
    try:
        return Explanation(name, answer, answer.derivation(name))
    except (UsageError, MissingQuantity):
        if name in QUESTION.names or not near:
            raise
        raise UsageError(f"`bw` computes no '{name}'{instead}") from None
