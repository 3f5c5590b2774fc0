"""From steps to requirement lines: value, conditions, wording, priority, derivation, assumptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.registry import Step, solve, steps_below, unit_of
from ingest.engine.result import why_assumed
from ingest.engine.solver import Quantities
from ingest.errors import listed
from ingest.requirement import INFORMATION, PRIORITIES, Conditions, Requirement, kind_of_line, loads_in_words
from ingest.site.checks import TIMED, of_line, times_as_long
from ingest.site.holdings import BESIDES, WRITTEN_BESIDES
from ingest.site.line_clients import OF_ONE_JOB
from ingest.site.load_conditions import LoadConditions, writes_in_words
from ingest.site.requirement_wording import COLUMN_KINDS, GUIDED, HELD, LOADED, MOVED_TOGETHER, WRITTEN, RequirementValue
from ingest.site.site_file import Site
from ingest.sizing.explain import DerivationWriter
from ingest.sizing.rules import SMALLEST_PART, Finding, finding
from ingest.units import display, stated

#: unit of a rate, or a quantity -> the reporting threshold, below which it is not a requirement
FLOORS = {"B/s": "smallest_bandwidth_asked", "B/s/node": "smallest_bandwidth_asked", "file/s": "smallest_file_rate_asked",
          "site_media_bytes_per_day": "smallest_media_bytes_asked"}  # fmt: skip
#: what the NVMe of a node holds, what a restore reads by `checkpoint.readers`, a sentence by priority, what starts, by column
KEPT, READERS, VERBS, STARTED = (WRITTEN[name] for name in ("kept", "readers", "verbs", "started"))
#: what the writes of R-WRITE-01 are, by `overlap.checkpoints`
OVERLAPS = {
    None: "99th percentile of the checkpoints that coincide",
    True: "aggregate of all jobs, which write at the same time",
    False: "checkpoints one after the other: of the run with the highest rate, at least the average of all",
}
#: what a statement says of a value that the guidance decides, and why a line is for information only
BY_BUYER = "By the Buyer's own minimum, `storage.at_least`; the plan needs {needed}."
BY_GUIDANCE = "By guidance ({guidance}), not by this workload, which needs {needed}."
ONE_SIDED = f"Less than {SMALLEST_PART * 100:g} % of it are reads, or writes: the lines of the other load require it alone."
TOO_SMALL = " Below the reporting threshold of {floor}, therefore not a requirement."


#: what reads besides jobs, by a word in the name of its column
BESIDE_JOBS = {"_of_serving": "served models", "job_query": "index queries"}
#: the loads that the site moves, in a time of its own
OF_SITE = frozenset(name for name, load in TIMED.items() if load.who)


def _held(value: RequirementValue, words_of: Mapping[str, str] = HELD) -> str:
    """What a total consists of, in words: the kinds of which there is something."""
    present = {
        entry.inputs[0].name if entry.inputs and entry.inputs[0].name in (*BESIDES, *WRITTEN_BESIDES) else part.name
        for part in value.columns
        for entry in part.inputs
        if float(entry.value)
    }
    named = listed(words for key, words in words_of.items() if any(key in name for name in present))
    return named if named.endswith(" more") else " and ".join(filter(None, named.rpartition(", ")[::2]))


@dataclass(frozen=True)
class WrittenRequirement:
    """A requirement, and the quantities and rules that its wording follows."""

    requirement: Requirement  # the requirement
    step: Step  # its value
    tested: tuple[Step, ...]  # the quantities that its conditions name
    floor: Step | None  # the rate below which it is for information only; None where its value is above
    findings: tuple[Finding, ...]  # the rules that decided its priority and conditions
    most: Step | None = None  # the most that the line may demand; None where nothing limits it
    below: Step | None = None  # the rate below which it would be for information only; None where it counts at any size
    priority: str = INFORMATION  # its priority from that rate on
    #: of each job whose reads make it up: bandwidth, request size and pattern
    reads: tuple[tuple[Step, Step, str], ...] = ()


@dataclass(frozen=True)
class RequirementWriter:
    """Writes the requirement lines of a site."""

    site: Site
    known: Quantities
    #: jobs, serving: the rows of the jobs and of the serving workloads, by name
    jobs: Mapping[str, QuantityRow]
    serving: Mapping[str, QuantityRow]
    clusters: Sequence[QuantityRow]  # the rows of the clusters
    derivations: DerivationWriter
    spread: Mapping[str, tuple[float, float]]  # low and high end of each line, where known
    guidance: str = ""  # the names of the levels that are the floor of the site
    #: the names of the assumed inputs below each tested quantity, as far as they were asked for
    assumed_below: dict[Step, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def loads(self) -> LoadConditions:
        """Composes the conditions."""
        return LoadConditions(self.site, self.known, self.jobs, self.serving, self.clusters)

    @cached_property
    def _digits(self) -> int:
        """Significant digits of the values that requirements state."""
        return int(self.known.value("significant_digits"))

    def write(self, value: RequirementValue) -> WrittenRequirement:
        """One requirement with its wording and conditions."""
        line, step = value.line, value.step
        # The rate below which a line of this unit is for information only.
        threshold = None if line.at_any_size else FLOORS.get(line.metric, FLOORS.get(unit_of(line.metric)))
        limit = None if threshold is None else self.known.step(threshold)
        floor = limit if limit is not None and float(step.value) < float(limit.value) else None
        # The value is rounded towards the stricter side, then held to the most that the line may demand.
        most = self.loads.limit(value)
        required = self._rounded(float(step.value))
        if most is not None:
            given = {"computed_requirement": float(step.value), "significant_digits": self._digits}
            required = float(solve("limited_requirement", {**given, "requirement_limit": float(most.value)}))
        conditions = self.loads.conditions(value, required)
        filled = [self.known.step("fill_limit")] if "{fill}" in line.says else []
        tested = tuple(part for part in (*filled, *self.loads.tested(value), floor) if part is not None)
        # A mix of reads or of writes alone is no requirement: another line requires that already.
        mixed = line.metric == "site_mixed_bandwidth"
        sides = [finding(name, self.known.find, owner=line.id) for name in ("C19", "C20")] if mixed else []
        one_sided = any(one is not None and one.true for one in sides)
        # A line has its own priority, and none higher than that of the jobs behind it.
        of_jobs = [str(self._job(name).get("priority", "mandatory")) for name in value.jobs] or [line.priority]
        own = "mandatory" if line.id.startswith("R-GUIDE") and self.known.value("floor_signed") else line.priority
        allowed = INFORMATION if one_sided else max(own, min(of_jobs, key=PRIORITIES.index), key=PRIORITIES.index)
        remark = ONE_SIDED if one_sided else ""
        loads = self.loads.held(value)
        of_tiers = self._of_tiers(value)
        own = line.why
        if "{kinds}" not in own and self._held_beside(value):
            own = MOVED_TOGETHER
        sentence = GUIDED if value.by_guidance else own.format(held=_held(value), **of_tiers)
        sentence = sentence[0].upper() + sentence[1:]
        if value.by_buyer is not None:
            # What the buyer states is required whatever the jobs need.
            allowed, floor, limit = "mandatory", None, None
            stated, needed = value.by_buyer
            if float(stated.value) >= float(step.value):
                because = self.site.section("storage")["at_least"].get("because")
                sentence = f"The Buyer states this minimum{f': {because}' if because else ''}."
                remark = BY_BUYER.format(needed="nothing" if needed is None or not needed.value else self._shown(needed))
        if not one_sided and value.by_guidance and value.compared is not None:
            remark = BY_GUIDANCE.format(guidance=self.guidance, needed=self._shown(value.compared[0]))
        low, high = (
            end if end is None or most is None else min(end, float(most.value))
            for end in self.spread.get(line.id, (None, None))
        )
        requirement = Requirement(
            line.id,
            allowed if floor is None else "information",
            self._statement(value, required, conditions, allowed, floor),
            line.metric,
            required,
            unit_of(line.metric),
            conditions,
            partial(self.derivations.lines, step),
            tuple(sorted(value.assumed.union(*(self._assumed_below(part) for part in tested)))),
            low,
            high,
            float(step.value) if most is None else min(float(step.value), float(most.value)),
            self._digits,
            sentence,
            line.theme,
            remark,
            loads[0].kind if loads else kind_of_line(line.id),
            self.loads.limited_by(value, most),
            loads if len(loads) > 1 else (),
            self._within(value),
        )
        decided = tuple(one for one in [*self._choices(value, conditions, limit), *sides] if one is not None)
        return WrittenRequirement(requirement, step, tested, floor, decided, most, limit, allowed, self.loads.reads_of(value))

    def _assumed_below(self, step: Step) -> frozenset[str]:
        """The names of the assumed inputs below a tested quantity; many lines test the same ones."""
        if step not in self.assumed_below:
            found = ((part.name, part.source) for part in steps_below([step]))
            self.assumed_below[step] = frozenset(
                name for name, item in found if item is not None and why_assumed(item) is not None
            )
        return self.assumed_below[step]

    def _rounded(self, value: float) -> float:
        return float(solve("rounded_requirement", {"computed_requirement": value, "significant_digits": self._digits}))

    def _shown(self, step: Step) -> str:
        """A value beside that of a line, rounded as the line."""
        return stated(self._rounded(float(step.value)), unit_of(step.name), self._digits)

    def _choices(self, value: RequirementValue, conditions: Conditions, limit: Step | None) -> Iterator[Finding | None]:
        """The choices that the wording of a line follows."""
        line = value.line
        column = value.column if line.clients in OF_ONE_JOB and value.job else None
        yield from of_line(line.id, value.step, limit, column)
        yield from self.loads.findings(value, conditions)
        if value.compared is not None and self.known.value("floor_signed"):
            workload, guidance = value.compared
            yield finding("C17", {"workload_rate": workload, "guidance_rate": guidance}, owner=line.id)
        if "{nodes}" in line.says:
            yield finding("C18", self.known.find, owner=line.id)

    def _statement(
        self, value: RequirementValue, required: float, conditions: Conditions, allowed: str, floor: Step | None
    ) -> str:
        """The sentence of a line, with its numbers as people read them."""
        line = value.line
        policies = [self._job(entry.owner).get("checkpoint", {}) for entry in self.loads.entries(value)]
        fields = {
            "value": stated(required, unit_of(line.metric), self._digits),
            **self._of_line(value, required, conditions),
            **self._of_tiers(value),
            "readers": "; or ".join(dict.fromkeys(READERS[policy.get("readers", "unique")] for policy in policies)),
            "within": self._within(value),
            **self.loads.fields(value, conditions),
            "saves": writes_in_words(conditions, "writes" if self._held_beside(value) else "checkpoint writes"),
            **({} if floor is None else {"floor": display(float(floor.value), unit_of(floor.name))}),
        }
        held_up = value.by_buyer is not None and float(value.by_buyer[0].value) >= float(value.step.value)
        says = line.stated if held_up else line.says
        template = VERBS[allowed if floor is None else "information"].format(says)
        written = template + (TOO_SMALL if floor is not None and allowed != "information" else "")
        return re.sub(r"\s+", " ", written.format(**fields)).strip()

    def _of_tiers(self, value: RequirementValue) -> dict[str, str]:
        """What a line says of the loads that it holds."""
        held = {name: part for name, part in value.held.items() if any(float(entry.value) for entry in part.inputs)}
        tiers = dict.fromkeys(kind for start, kind in COLUMN_KINDS.items() if any(name.startswith(start) for name in held))
        names = " and ".join(tiers)
        loads = self.loads.held(value)
        begun = [part.name for part in value.columns if any(float(entry.value) for entry in part.inputs)]
        readers = {entry.owner for part in held.values() for entry in part.inputs if float(entry.value)}
        serving = [row for name, row in self.serving.items() if name in readers]
        turns = sum(int(row.known.value("kv_peak_turns")) for row in serving if row.step("kv_peak_turns"))
        saved = "checkpoint writes" if self.known.value("workload_write_bandwidth") or not names else ""
        # The time in which turns read their context, of all serving workloads.
        times = [row.known.value("first_token_seconds") for row in serving if row.step("first_token_seconds")]
        writes = self.known.find("site_nvme_writes_per_day")
        return {
            "kinds": " and ".join(one.kind for one in loads),
            "parts": f": {loads_in_words(loads)}" if len(loads) > 1 else "",
            "who": listed(["all jobs", *(what for end, what in BESIDE_JOBS.items() if any(end in name for name in held))]),
            "started": " or ".join(what for name, (_, what) in STARTED.items() if name in begun),
            "starting": " or ".join(verb for name, (verb, _) in STARTED.items() if name in begun),
            "moved": "written" if value.line.operation == "write" else "read",
            "writes": " and ".join(filter(None, (saved, names and f"writes of {names}"))),
            "written_kind": "writes" if names else "checkpoint writes",
            "turns": f"{turns:,} turn{'' if turns == 1 else 's'}",
            "first_token": listed(dict.fromkeys(display(one, "s") for one in sorted(times))),
            "node_writes": f" ({writes.value:.2g} drive writes per day)" if writes is not None and writes.value else "",
        }

    def _held_beside(self, value: RequirementValue) -> bool:
        """Whether a line holds loads of another kind than the one that it is named for."""
        return any(one.kind != kind_of_line(value.line.id) for one in self.loads.held(value))

    def _within(self, value: RequirementValue) -> str:
        """The time of the jobs behind a line, as allowed or as nodes draw: of the one with the largest entry, or of all."""
        if not value.within:
            return ""
        own = value.line.clients in ("job", "run") and value.job
        counted = [entry for entry in value.timed if not own or entry.owner == value.job]
        site = max((times_as_long(part) for part in steps_below([value.step]) if part.name in OF_SITE), default=1.0)
        times = []
        for parts in (steps_below([entry]) for entry in counted):
            late = max((times_as_long(part) for part in parts if part.name in TIMED), default=1.0)
            times += [self._late(float(part.value), max(late, site)) for part in parts if part.name == value.within]
        if not times:
            return "in time"
        least, most = (display(end(times), "s") for end in (min, max))
        return f"within {least}" if min(times) == max(times) else f"each within its own time, from {least} to {most}"

    def _late(self, seconds: float, times: float) -> float:
        """The time that a load takes at the rate that its nodes draw, rounded up where it is not the one allowed."""
        return seconds if times == 1 else self._rounded(seconds * times)

    def _job(self, name: str) -> Mapping[str, Any]:
        described: Mapping[str, Any] = self.site.section("jobs").get(name, {})
        return described

    def _of_line(self, value: RequirementValue, required: float, conditions: Conditions) -> dict[str, str]:
        """The numbers that single lines name besides their value."""
        says = value.line.says
        found = {"written": ""}
        if "{held}" in says:
            found["held"] = _held(value)
        if "{loaded}" in says:
            found["loaded"] = _held(value, LOADED)
        if "{kept}" in says:
            kept = {part.name for part in steps_below([value.step]) if part.value}
            found["kept"] = listed(words for name, words in KEPT.items() if name in kept)
        if "{disputed}" in says:
            notes = ((name, row.known.given.get("suggested_rate")) for name, row in sorted(self.jobs.items()))
            found["disputed"] = "; ".join(
                f"{name}: {display(item.value, 'sample/s', binary=False)} per GPU" for name, item in notes if item is not None
            )
        if "{asked}" in says and value.compared is not None:
            needed = self._shown(value.compared[0]) if value.compared[0].value else "none"
            found["asked"] = f"asked by {self.guidance} for these GPUs; this workload needs {needed}"
        if "{written}" in says:
            # The writes of a mixed load, as its test requires them: by their rounded share, where they have one.
            shares = [part.share for part in conditions.mix if part.operation == "write"]
            given = {"required_bandwidth": required, "mix_share": sum(shares)}
            found["written"] = (
                stated(float(solve("tested_bandwidth", given)), unit_of(value.line.metric), self._digits)
                if shares
                else self._shown(self.known.step("workload_write_bandwidth"))
            )
        if "{overlap}" in says:
            # Which checkpoints coincide in the line, and what is written beside them.
            found["overlap"] = OVERLAPS[self.site.section("overlap").get("checkpoints")]
            if self._held_beside(value):
                saves = kind_of_line(value.line.id) in [one.kind for one in self.loads.held(value)]
                found["overlap"] = f"{found['overlap']}, and what is written meanwhile" if saves else "all that writes"
        if "{reserve}" in says:
            found["reserve"] = " and the Buyer's reserve" if self.site.section("reserve") else ""
        if "{migrated}" in says:
            files, old = self.known.find("migrated_files"), self.site.section("migrate").get("from")
            moved = display(self.known.value("migrated_bytes"), "B", binary=False)
            moved += "" if files is None else f" in {display(float(files.value), 'file')}"
            within = display(self._late(self.known.value("migration_seconds"), times_as_long(value.step)), "s")
            found["migrated"] = f"{moved} of existing data{f' on {old}' if old else ''} are moved within {within}"
        if "{warranty}" in says:
            found["warranty"] = f"{self.known.value('warranty_years'):.3g} years"
            writes = self.known.find("site_drive_writes_per_day")
            found["drive_writes"] = (
                "" if writes is None else f" ({float(writes.value):.2g} drive writes per day over the raw capacity of R-CAP-02)"
            )
        if "{nodes}" in says:
            more = finding("C18", self.known.find)
            nodes = display(self.known.value("nodes_for_growth"), "node") if more is not None and more.true else ""
            found["nodes"] = f"; at the storage NICs of the nodes: the growth needs {nodes} of their type" if nodes else ""
        return found
