"""The result of `ingest plan`: requirement lines, the tables behind them, and the derivation of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from ingest.catalog.store import Catalog
from ingest.configuration import decimal_units
from ingest.engine import met_by
from ingest.engine.derivation_graph import QuantityRow, is_column
from ingest.engine.interactive import InteractiveResult, InteractiveResults
from ingest.engine.messages import Message, in_site_words
from ingest.engine.monte_carlo import ArrayTree, Effect, effects
from ingest.engine.question import option
from ingest.engine.registry import INPUTS, Step, label_of, solve, steps_below, unit_of
from ingest.engine.result import DataFrame, assumption, envelope, frame_of, places_of, scenarios, sources_of, why_assumed
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import MissingQuantity, UsageError, nearest
from ingest.files import table_beside
from ingest.requirement import SHOWN_BY, Requirement, headline, is_of, kind_of_line, kinds_of, lines_for_vendors
from ingest.site.guidance import ClusterGuidance, guidance_rows
from ingest.site.requirement_writer import WrittenRequirement
from ingest.site.scenarios import Expectation
from ingest.site.service import Decision, DocumentFacts, OpenQuestion, ServiceTerm, decisions_of, open_questions
from ingest.site.service_records import OPEN
from ingest.site.site_file import Site
from ingest.sizing.bandwidth import estimate
from ingest.sizing.checkpoint_schedule import Point, interval_course
from ingest.sizing.explain import DerivationWriter
from ingest.sizing.goodput import closed_course
from ingest.sizing.job import Job
from ingest.sizing.rules import Finding
from ingest.version import FORMAT

#: Years to plan for, at most.
MOST_YEARS = 30


class RootOptions(TypedDict, total=False):
    """The option of every command that reads a site file."""

    root: Annotated[
        str | Path | None,
        option("Folder within which the site file may name files. [default: the folder of the site file]", "DIR"),
    ]


@dataclass(frozen=True, repr=False, eq=False)
class Plan(InteractiveResult):
    """The storage requirements of a site."""

    site: Site  # the file, checked
    catalog: Catalog  # where entries and sources come from
    years: int  # planned for after the start
    known: Quantities  # the site's own quantities; every total follows from it, its columns are steps over the rows
    #: rows by table: `jobs`, `clusters`, `datasets`, `holdings` (each data set in each year), `years`
    rows: Mapping[str, list[QuantityRow]]
    lines: tuple[WrittenRequirement, ...]  # the requirements, each with the quantities and rules behind its wording
    absent: Mapping[str, str]  # why a line is not there, by id, with the keys that supply it as data
    warnings: tuple[str, ...]  # plain words
    chosen: Mapping[str, Any]  # the values that `set` gives this scenario, by path
    tree: ArrayTree  # the values of the requirements with all their steps, to compute them again with other inputs
    expectations: tuple[Expectation, ...]  # the assertions of the file, held against the requirements
    questions: Mapping[str, Job]  # the `bw` question of each job, by its name
    #: the rules held against the site; where an outcome turns, the site is to be planned again
    findings: tuple[Finding, ...] = ()
    #: what the reference architecture says about the GPUs of each cluster
    guidance: Mapping[str, ClusterGuidance] = field(default_factory=dict)
    document: DocumentFacts = DocumentFacts()  # the cover of the tender
    service: tuple[ServiceTerm, ...] = ()  # the terms that the workload does not determine

    command = "plan"

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirement lines."""
        return tuple(one.requirement for one in self.lines)

    @cached_property
    @decimal_units()
    def decided(self) -> tuple[Decision, ...]:
        """The findings that the buyer decides, open or settled; whether any system meets the lines is asked for here."""
        unmet = [one for judge in met_by for one in judge().unmeetable(self)]
        return decisions_of(self.site, [*self.findings, *unmet], self.requirements)

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that are open: no tender is written over them."""
        return tuple(one for one in self.decided if not one.reason)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of load that the site has, growth among them: no document of the plan names another."""
        years = [step.value for row in self.rows["years"] if (step := row.step("year_capacity_to_buy")) is not None]
        found = kinds_of(self.requirements, grows=any(year > years[0] for year in years[1:]))
        own = {"signed guidance": self.guided, "growing reads": any(one.id == "R-GROW-01" for one in self.requirements)}
        return found | {name for name, there in own.items() if there}

    @cached_property
    def headline(self) -> dict[str, Requirement]:
        """The largest mandatory line of reads, of writes and of capacity."""
        return headline(self.requirements)

    @cached_property
    def vendor_lines(self) -> tuple[Requirement, ...]:
        """The requirement lines that vendors receive."""
        return lines_for_vendors(self.requirements)

    @cached_property
    def vendor_terms(self) -> tuple[ServiceTerm, ...]:
        """The terms that vendors receive: those that the buyer has set, and those that the vendor is to state."""
        return tuple(one for one in self.service if one.status != OPEN)

    @cached_property
    def guided(self) -> frozenset[str]:
        """The ids of the lines that guidance sets, because the workload needs less."""
        return frozenset(one.owner for one in self.findings if one.rule.id == "C17" and one.true)

    @property
    def steps(self) -> Mapping[str, Step]:
        """The derivation of each requirement's value, by id."""
        return self.tree.steps

    @cached_property
    def results(self) -> dict[str, Quantity]:
        """The requirements' values by id; their ranges are of what was computed, before rounding."""
        return {one.id: Quantity(one.value, one.unit, one.low, one.high) for one in self.requirements}

    def other_names(self) -> dict[str, str]:
        """The names and labels of the quantities; of several lines of one quantity, the first has it."""
        named = {words: one.id for one in reversed(self.requirements) for words in (label_of(one.metric), one.metric) if words}
        return named | {name.removeprefix("site_"): ident for name, ident in named.items()}

    @property
    def computed(self) -> dict[str, float]:
        """The requirements' values by id, before rounding."""
        return {name: float(step.value) for name, step in self.steps.items()}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Why a line is not there, by id, in the words of a site file."""
        return {name: in_site_words(why) for name, why in self.absent.items()}

    @cached_property
    def lacking(self) -> dict[str, str]:
        """Why a line is not there, as `absent`, of the kinds of load that the site has: what else is no matter of it."""
        named = {name: SHOWN_BY.get(name) or kind_of_line(name) for name in self.absent}
        return {name: why for name, why in self.absent.items() if is_of(named[name], self.kinds)}

    def requirement(self, name: str) -> Requirement:
        """A requirement by id, or by the name of its quantity. Raises UsageError: there is none, with the nearest one."""
        for one in self.requirements:
            if name in (one.id, one.metric, one.metric.removeprefix("site_")):
                return one
        known = [one.id for one in self.requirements] + [one.metric.removeprefix("site_") for one in self.requirements]
        missing = f": {self.missing[name]}" if name in self.missing else nearest(name, known, figures=2)
        raise UsageError(f"unknown requirement '{name}', expected one of {', '.join(known)}{missing}")

    def rounded(self, value: float) -> float:
        """A value beside those of the requirements, rounded as they are."""
        digits = self.known.value("significant_digits")
        return float(solve("rounded_requirement", {"computed_requirement": value, "significant_digits": digits}))

    @property
    def limits(self) -> dict[str, Step]:
        """The most that each line may demand, by id, where something limits it."""
        return {one.requirement.id: one.most for one in self.lines if one.most is not None}

    @property
    def unmet(self) -> str:
        """The assertions that are not met, in one line; empty where all are."""
        return "; ".join(one.message for one in self.expectations if not one.met)

    def rows_of(self, table: str) -> list[QuantityRow]:
        """The rows of a table: those that have the quantity that it needs; none of a table with rows of its own."""
        one = TABLES[table]
        return [row for row in self.rows.get(one.of, ()) if not one.needed or row.step(one.needed) is not None]

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Jobs, data sets, capacity by year, checkpoints, metadata, placement: rows in base units; those that have rows."""
        found: dict[str, list[dict[str, Any]]] = {}
        for table in TABLES:
            if rows := self.rows_of(table):
                found[table] = [row.values(TABLES[table].columns) for row in rows]
        if self.guidance:
            found["guidance"] = guidance_rows(self.guidance, self.rows["clusters"], self.known)
        bars = [
            {
                "name": name,
                "quantity": one.name,
                "of": ", ".join((*one.rows[:MOST_ROWS], "…") if len(one.rows) > MOST_ROWS else one.rows),
                "unit": unit_of(one.name),
                "typical": one.value,
                "low": one.low,
                "high": one.high,
                "at_low": one.at_low,
                "at_high": one.at_high,
            }
            for name in TORNADO
            if name in self.steps
            for one in self.sensitivity(name)[:MOST_BARS]
        ]
        return {**found, "sensitivity": bars} if bars else found

    @cached_property
    def used(self) -> list[Step]:
        """The given quantities that the requirements rest on."""
        # The I/O of every job: an input may change which job sets the conditions, without changing any I/O.
        sizes = [step for row in self.rows["jobs"] if (step := row.step("read_request_bytes")) is not None]
        tested = [*sizes, *(step for one in self.lines for step in one.tested), self.known.step("significant_digits")]
        return [part for part in steps_below([*self.steps.values(), *tested]) if part.formula is None]

    @property
    def tender_title(self) -> str:
        """The title of the tender: a draft while questions to the buyer are open, which the buyer's report lists."""
        title, left = self.document.title or f"Storage requirements of {self.site.name}", len(self.open_questions)
        return f"Draft, {left} open question{'s'[: left - 1]}: {title}" if left else title

    @cached_property
    def open_questions(self) -> tuple[OpenQuestion, ...]:
        """What the site file does not determine and the buyer has to answer, the most important first."""
        return open_questions(self.document, self.service, self.used, self.rows["jobs"], self.site)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The inputs and their origins; values of the site file under their paths."""
        found: dict[str, Any] = {}
        for step in self.used:
            item = step.source
            if item is not None:
                spread = {"low": item.low, "high": item.high} if item.low is not None else {}
                # The key of the site file that replaces a default.
                ways = item.note.supply if item.origin == "default" and isinstance(item.note, Message) else ()
                key = {"key": ways[0].in_site_file} if ways else {}
                found[self._called(step, item)] = {
                    "value": item.value, **spread, "unit": unit_of(step.name), "from": item.origin, **key,
                }  # fmt: skip
        return dict(sorted(found.items()))

    def _called(self, step: Step, item: Input) -> str:
        """A given quantity by its path in the file; else by its name and the rows that it belongs to."""
        if item.origin == "user" and item.where:
            return item.where
        return f"{step.owner}: {step.name}" if step.owner else step.name

    def below(self, name: str) -> list[str]:
        """The inputs that a requirement rests on, as `inputs` calls them."""
        return sorted({self._called(step, step.source) for step in steps_below([self.steps[name]]) if step.source is not None})

    @property
    def input_hash(self) -> str:
        """SHA-256 of the values of the site file, `--set` included; independent of layout and comments."""
        written = json.dumps(self.site.written, sort_keys=True, ensure_ascii=True, default=str)
        return f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"

    @cached_property
    def assumptions(self) -> list[dict[str, Any]]:
        """Inputs that are neither measured nor set by the user; `why` names the key of the site file that sets each."""
        return [{**one, "why": in_site_words(one["why"])} for one in self.assumed]

    @cached_property
    def assumed(self) -> list[dict[str, Any]]:
        """The assumptions, whose `why` holds the keys of the site file as data."""
        found: dict[tuple[str, float], dict[str, Any]] = {}
        for step in self.used:
            item = step.source
            if item is None:
                continue
            # Why a catalog value without a note of its own is an assumption.
            recalled = self.catalog.source(item.source).title if item.source else "usual practice, to be confirmed"
            why = why_assumed(item, recalled)
            if why is not None:
                found.setdefault((step.name, item.value), assumption(step.name, item.value, unit_of(step.name), why))
        return list(found.values())

    @cached_property
    def sources(self) -> list[dict[str, str]]:
        """The sources of values and formulas, with the places within them."""
        cited = []
        for step in steps_below(self.steps.values()):
            item = step.source
            if step.formula is not None and not is_column(step):
                cited.append((step.formula.source, step.formula.where))
            if item is not None:
                cited += [(item.source, item.where), *((part.source, part.where) for part in item.parts)]
            if item is None and step.formula is None and INPUTS[step.name].source:
                cited.append((INPUTS[step.name].source, ""))
        return sources_of(places_of(cited), self.catalog.source)

    def sensitivity(self, name: str) -> list[Effect]:
        """The effect of each uncertain input on a requirement, the largest first. Raises UsageError: no such requirement."""
        return self._effects[self.requirement(name).id]

    @cached_property
    def _effects(self) -> dict[str, list[Effect]]:
        return effects(self.tree)

    def explain(self, name: str) -> list[str]:
        """The whole derivation of a requirement: every row of every column. Raises UsageError: no such requirement."""
        step = self.steps[self.requirement(name).id]
        everything = max(map(len, self.rows.values()))
        return DerivationWriter(self.catalog, everything, everything).lines(step)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON."""
        body = {
            "format": FORMAT,
            "site": self.site.name,
            "input_hash": self.input_hash,
            "years": self.years,
            "inputs": self.inputs,
            "written": dict(_flattened(self.site.written)),
            "requirements": [{**one.to_dict(), "inputs": self.below(one.id)} for one in self.requirements],
            "decisions": [one.to_dict() for one in self.decisions],
            "decided": [one.to_dict() for one in self.decided if one.reason],
            "missing": dict(self.missing),
            "expectations": [one._asdict() for one in self.expectations],
            "tables": self.tables,
            "document": dict(vars(self.document)),
            "award": dict(self.site.written.get("award") or {})
            | ({"years": self.years} if "award" in self.site.written else {}),
            "service": [one.to_dict() for one in self.service],
            "open_questions": [one._asdict() for one in self.open_questions],
        }
        return envelope(
            self.command, body, catalog=self.catalog, assumptions=self.assumptions, sources=self.sources, warnings=self.warnings
        )

    def to_frame(self) -> DataFrame:
        """One row per requirement: id, priority, metric, value, computed, low, high, unit."""
        names = ["id", "priority", "metric", "value", "computed", "low", "high", "unit"]
        return frame_of([[getattr(one, name) for name in names] for one in self.requirements], columns=names, index="id")


def _flattened(written: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of the site file, by path."""
    if isinstance(written, Mapping):
        for key, value in written.items():
            yield from _flattened(value, f"{path}.{key}" if path else key)
    elif isinstance(written, list):
        for number, value in enumerate(written):
            yield from _flattened(value, f"{path}.{number}")
    else:
        yield path, written


@dataclass(frozen=True, repr=False, eq=False)
class PlanScenarios(InteractiveResults):
    """The plans of several scenarios."""

    plans: tuple[Plan, ...]

    @property
    def each(self) -> tuple[Plan, ...]:
        """The plans."""
        return self.plans

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all scenarios, each once."""
        return tuple(dict.fromkeys(line for one in self.plans for line in one.warnings))

    @property
    def results(self) -> list[dict[str, Quantity]]:
        """The requirements' values of each scenario."""
        return [one.results for one in self.plans]

    @property
    def unmet(self) -> str:
        """The assertions that are not met in any scenario, in one line; empty where all are."""
        named = ((", ".join(f"{path} = {value}" for path, value in one.chosen.items()), one.unmet) for one in self.plans)
        return "; ".join(f"{said}: {unmet}" for said, unmet in named if unmet)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of several scenarios."""
        return scenarios({**one.to_dict(), "set": dict(one.chosen)} for one in self.plans)

    def to_frame(self) -> DataFrame:
        """One row per scenario: what was set, then each requirement by id."""
        return frame_of([{**one.chosen, **{i: q.value for i, q in one.results.items()}} for one in self.plans])


class PlanTable(NamedTuple):
    """A table of a plan, of the fields that `plan_tables.yaml` describes."""

    title: str = ""
    of: str = ""
    columns: Sequence[str] = ()
    needed: str = ""
    shown: Sequence[str] = ()
    sheet: str = ""
    words: Sequence[str] = ()


TABLES = {name: PlanTable(**fields) for name, fields in table_beside(__file__, "plan_tables.yaml").items()}
#: columns of tables that only a kind of load has
COLUMN_KINDS = {"staged_bytes": "staging", "staging_seconds": "staging"}
#: the requirements whose tornado every plan carries, and its bars
TORNADO = ("R-READ-01", "R-READ-03", "R-WRITE-01", "R-CAP-01")
MOST_BARS = 10
MOST_ROWS = 4

READS = "ingest_bandwidth_per_gpu"


def bandwidth_by_nodes(job: QuantityRow) -> list[tuple[float, float]]:
    """Nodes and read bandwidth in B/s of one run on 1, 2, 4 … nodes, up to its own size."""
    given = job.known.values_of(READS, "gpus_per_node")
    sizes, size, most = [], 1.0, job.known.value("nodes")
    while size < most:
        sizes.append(size)
        size *= 2
    sizes.append(most)
    return [(size, float(solve("ingest_bandwidth_per_job", {**given, "nodes": size}))) for size in sizes]


def evidence_levels(plan: Plan, job: str) -> list[tuple[str, Quantity]]:
    """Read bandwidth per GPU of a job at each evidence level that has one, the level in use first."""
    asked = plan.questions.get(job)
    levels = estimate(asked, plan.catalog).levels if asked is not None else ()
    return [(level.basis, results[READS]) for level, results in levels if READS in results]


#: a word in the name of a column of bytes held -> its use; data sets otherwise
USES = {
    "offload": "offloaded states",
    "kv_": "key-value caches",
    "weights": "weights of served models",
    "checkpoint": "checkpoints",
    "scratch": "scratch space",
}


def capacity_by_use(year: QuantityRow) -> Iterator[tuple[str, float]]:
    """What the data held in a year consists of, in bytes."""
    for part in steps_below([year.known.step("year_usable_bytes")]):
        if is_column(part):
            use = next((use for word, use in USES.items() if word in part.name), "data sets")
            yield use, float(sum(one.value for one in part.inputs))


def largest_checkpoint_course(plan: Plan) -> tuple[str, Point, list[Point], str] | None:
    """The job with the largest checkpoint, its chosen interval, those around it, and the condition along them.

    None where no job saves checkpoints, or the intervals of that job cannot be compared.
    """
    found = _largest_checkpoint(plan)
    try:
        return found and (found[0], *interval_course(*found[1:]))
    except MissingQuantity:
        return None


def largest_checkpoint_goodput(plan: Plan) -> tuple[str, list[dict[str, Any]]] | None:
    """The job with the largest checkpoint, and its goodput by write bandwidth; None where they are unknown."""
    found = _largest_checkpoint(plan)
    try:
        return found and (found[0], closed_course(*found[1:]))
    except (MissingQuantity, UsageError):
        return None


def _largest_checkpoint(plan: Plan) -> tuple[str, Quantities, str] | None:
    """The job with the largest checkpoint, the quantities of its checkpoints, and their mode."""
    saved = [(float(step.value), row) for row in plan.rows["jobs"] if (step := row.step("checkpoint_bytes")) is not None]
    job = max(saved, key=lambda one: one[0])[1] if saved else None
    known = None if job is None else job.checkpoints
    return None if job is None or known is None else (job.name, known, str(job.words.get("mode", "sync")))
