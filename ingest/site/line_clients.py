"""Who causes the load of a requirement line: its jobs and workloads by cluster, what they draw, and what holds them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.engine.derivation_graph import QuantityRow, column, columns_of
from ingest.engine.registry import Step, label_of, solve, steps_below, unit_of
from ingest.engine.solver import Quantities
from ingest.requirement import SHOWN_BY, ClientGroup, HeldLoad, kind_of_line
from ingest.site.guidance import UNLIMITED
from ingest.site.requirement_wording import CLIENTS, MIXED, RequirementValue, kind_of_column
from ingest.site.site_file import Site
from ingest.sizing.rules import ROUNDING
from ingest.text import grouped
from ingest.units import display

#: the table of a column, and the nodes of one of its rows
NODES = {"jobs": "nodes_at_once", "serving": "serving_nodes"}
#: what the consumers of a load draw, by quantity
DRAWN = ("run_loader_bandwidth", "node_drawable_bandwidth", "run_drawable_bandwidth", "job_drawable_bandwidth",
         "serving_nodes_bandwidth", "site_moving_drawable_bandwidth")  # fmt: skip
#: how the quantities are called that limit a load
LIMITS = ("drawable_bandwidth", "nodes_bandwidth", "loader_bandwidth")
#: lines whose load is that of a single job: the one with the largest entry
OF_ONE_JOB = ("job", "run", "one")


class Cause(NamedTuple):
    """A job or workload that causes a load of a line."""

    column: str  # of the load
    row: QuantityRow
    nodes: Step  # of the row
    load: Step


@dataclass(frozen=True)
class LineClients:
    """The clients of requirement lines; jobs and serving workloads are rows by name."""

    site: Site
    known: Quantities
    jobs: Mapping[str, QuantityRow]
    serving: Mapping[str, QuantityRow]
    clusters: Sequence[QuantityRow]
    taken: dict[str, Quantities | None] = field(default_factory=dict)  # the clients of each line, by its id

    def clients(self, value: RequirementValue) -> int:
        """The nodes that take part: those of the job of a line, or of each cluster whose jobs and workloads have its load."""
        taking = self.taking(value)
        if taking is not None:
            return int(taking.value("taking_clients"))
        known = self.jobs[value.job].known if value.line.clients in ("job", "run") else self.known
        return int(known.value(CLIENTS[value.line.clients].how_many))

    def causes(self, value: RequirementValue) -> list[Cause]:
        """The loads of a line, by table and owner; empty where no job or workload has any."""
        tables = {"jobs": self.jobs, "serving": self.serving}
        found = []
        for name, part in value.held.items():
            table = name.rpartition("_of_")[2]
            for entry in part.inputs if table in tables else ():
                row = tables[table][entry.owner]
                if float(entry.value):
                    found.append(Cause(name, row, row.known.step(NODES[table]), entry))
        return sorted(found, key=lambda one: (one.column, one.row.name))

    def taking(self, value: RequirementValue) -> Quantities | None:
        """The nodes that cause the load of a line, by cluster, and what they draw; None where no job or workload does."""
        who = value.line.clients
        if who in OF_ONE_JOB or not who or CLIENTS[who].of_cluster != CLIENTS["site"].of_cluster:
            return None
        if value.line.id not in self.taken:
            causes = self.causes(value)
            self.taken[value.line.id] = self._taking(causes) if causes else None
        return self.taken[value.line.id]

    def _taking(self, causes: Sequence[Cause]) -> Quantities:
        rows, shared = [], self.known.steps_of("performance_headroom", "significant_digits")
        by_name = grouped((one.row.words["cluster"], one) for one in causes)
        for cluster in self.clusters:
            own = by_name.get(cluster.name)
            if not own:
                continue
            nodes = {(one.nodes.name, one.row.name): one.nodes for one in own}
            known = Quantities({}, cluster.name)
            known.adopt(cluster.known.steps_of("node_drawable_bandwidth", "cluster_clients"))
            known.adopt(shared)
            known.adopt({"taking_nodes_of_loads": column("taking_nodes_of_loads", (*nodes.values(),), cluster.name)})
            if unit_of(own[0].column) == "B/s":
                loads = column("taking_bandwidth_of_loads", tuple(one.load for one in own), cluster.name)
                known.adopt({"taking_bandwidth_of_loads": loads})
            rows.append(QuantityRow(cluster.name, cluster.words, known))
        found = Quantities({})
        found.adopt({**shared, **columns_of("clusters", rows)})
        # What the nodes of each cluster draw of the loads, rounded as the line.
        if found.find("taken_bandwidth") is not None:
            found.link("computed_requirement", found.step("taken_bandwidth"))
            found.link("requirement_limit", found.step("taking_bandwidth"))
        return found

    def loads(self, value: RequirementValue) -> dict[tuple[str, str], float]:
        """The loads of a line by kind and cluster, on each cluster at most what its nodes draw; empty for a line of no load."""
        line, own = value.line, kind_of_line(value.line.id)
        total = unit_of(line.metric) == "B/s"
        rates: dict[tuple[str, str], float] = {}
        for one in self.causes(value) if own and line.operation in ("read", "write", MIXED) else ():
            key, rate = (kind_of_column(one.column, own), str(one.row.words["cluster"])), float(one.load.value)
            rates[key] = rates.get(key, 0.0) + self._with_headroom(rate) if total else max(rates.get(key, 0.0), rate)
        if not total or line.operation == MIXED:
            return rates
        # What is no state and no cache: the reads of jobs as their nodes share them, the checkpoints that coincide.
        needed = float((value.step if value.compared is None else value.compared[0]).value)
        named, whole = (sum(rate for (kind, _), rate in rates.items() if (kind == own) is same) for same in (True, False))
        parts = {"line_bandwidth": needed, "bandwidth_of_others": whole, "own_bandwidth": named}
        rest = float(solve("share_of_own_parts", parts)) if named else 0.0
        rates = {key: rate * (rest if key[0] == own else 1) for key, rate in rates.items()}
        taking = self.taking(value)
        draws = {} if taking is None else taking.step("cluster_taking_bandwidth_of_clusters").inputs
        on = grouped((key[1], key) for key in rates)
        for most in draws:
            keys = on.get(most.owner, [])
            asked = sum(rates[key] for key in keys)
            share = float(solve("share_drawn", {"most_bandwidth": most.value, "own_bandwidth": asked})) if asked else 1.0
            rates |= {key: rates[key] * share for key in keys}
        return rates

    def held(self, value: RequirementValue) -> tuple[HeldLoad, ...]:
        """What each kind of load adds to a line, the largest first."""
        if value.line.id in SHOWN_BY or value.line.operation == MIXED:
            return ()
        rates = grouped((kind, rate) for (kind, _), rate in self.loads(value).items())
        found = {kind: sum(each) for kind, each in rates.items()}
        least = sum(found.values()) * ROUNDING
        # Sums of the same rates in another order differ in their last digits.
        parts = [HeldLoad(kind, float(f"{rate:.13g}")) for kind, rate in found.items() if rate > least]
        return tuple(sorted(parts, key=lambda one: (-one.value, one.kind)))

    def groups(self, value: RequirementValue, clients: int) -> tuple[ClientGroup, ...]:
        """The clients of each cluster: of the job of a line, or of all jobs and workloads that take part."""
        rows = {row.name: row for row in self.clusters}
        kind = value.line.clients
        if kind in OF_ONE_JOB:
            owner = self.jobs.get(value.job or value.guided_job)
            found = {str(owner.words["cluster"]) if owner is not None else min(rows): clients}
        elif (taking := self.taking(value)) is not None:
            found = {one.owner: int(one.value) for one in taking.step("cluster_taking_clients_of_clusters").inputs}
        else:
            found = {name: int(row.known.value(CLIENTS[kind].of_cluster)) for name, row in rows.items()}
        return tuple(ClientGroup(name, str(rows[name].words["node"]), count) for name, count in sorted(found.items()) if count)

    def shared_out(self, value: RequirementValue, groups: tuple[ClientGroup, ...], number: float) -> tuple[ClientGroup, ...]:
        """The clients with the rate of each cluster, where an equal share of a line is more than one of them draws.

        Each cluster has the rate of its own loads, at most what its clients draw; the others draw what that leaves.
        """
        draws = {row.name: float(row.known.value("node_drawable_bandwidth")) for row in self.clusters}
        if len(groups) < 2 or unit_of(value.line.metric) != "B/s":
            return groups
        given = {"required_bandwidth": number, "clients_under_test": sum(one.clients for one in groups)}
        equal = float(solve("required_bandwidth_per_client", given))
        if all(equal <= draws[one.cluster] * (1 + ROUNDING) for one in groups):
            return groups
        rates = grouped((cluster, rate) for (_, cluster), rate in self.loads(value).items())
        loads = {cluster: sum(each) for cluster, each in rates.items()}
        most = [min(draws[one.cluster] * one.clients, number) for one in groups]
        # Where no job or workload has the load, each cluster takes what it draws.
        needed = [loads.get(one.cluster, 0.0) for one in groups] if loads else most
        line = {"line_bandwidth": number, "parts_bandwidth": needed}
        drawn = [
            float(solve("bandwidth_of_own_loads", {**line, "part_bandwidth": part, "most_bandwidth": limit}))
            for part, limit in zip(needed, most, strict=True)
        ]
        line |= {"drawn_bandwidths": drawn, "most_bandwidths": most, **self.known.values_of("least_bandwidth")}
        taken = [
            float(solve("bandwidth_of_clients", {**line, "drawn_bandwidth": own, "most_bandwidth": limit}))
            for own, limit in zip(drawn, most, strict=True)
        ]
        return tuple(one._replace(bandwidth=rate) for one, rate in zip(groups, taken, strict=True))

    def limited_by(self, value: RequirementValue, most: Step | None) -> str:
        """What the consumers of a line can draw, where that is less than they need; empty where they draw all of it."""
        if most is not None and float(value.step.value) > float(most.value) * (1 + ROUNDING):
            name = most.name if most.name not in ("limited_requirement", "taking_bandwidth") else "site_drawable_bandwidth"
            return f"{label_of(name)}: {display(float(most.value), unit_of(name), binary=False)}"
        binding = [
            limit
            for part in steps_below([value.step])
            for limit in part.inputs
            if limit.name in DRAWN and part.formula is not None and part.value == limit.value and not part.name.endswith(LIMITS)
        ]
        if not binding:
            return ""
        # Of several the largest: it is the one that most of the line waits for.
        limit = min(binding, key=lambda one: (-float(one.value), one.owner, one.name))
        owner = f" ({limit.owner})" if limit.owner else ""
        return f"{label_of(limit.name)}{owner}: {display(float(limit.value), unit_of(limit.name), binary=False)}"

    def limit(self, value: RequirementValue) -> Step | None:
        """The most that the nodes draw that take part in a line; None for a line of no rate, or of nodes of no job."""
        line, unit = value.line, unit_of(value.line.metric)
        if not line.clients or not unit.startswith("B/s"):
            return None
        of_job = line.clients in OF_ONE_JOB
        known = self.jobs[value.job].known if of_job and value.job else None if of_job else self.known
        name = "node_drawable_bandwidth" if unit.endswith("/node") else CLIENTS[line.clients].limit
        taking = self.taking(value)
        if taking is not None:
            # The guidance and the buyer ask for more than the loads: of all clients, whatever causes it.
            beyond = value.by_guidance or value.by_buyer is not None
            known, name = taking, "taking_bandwidth" if beyond or not self._cut(taking) else "limited_requirement"
        found = known.find(name) if known is not None else None
        return found if found is not None and 0 < float(found.value) < UNLIMITED.value else None

    def _cut(self, taking: Quantities) -> bool:
        """Whether the nodes of a cluster draw less than its loads need, headroom included."""
        rows = taking.step("cluster_taken_bandwidth_of_clusters").inputs
        sides = [{part.name: part.value for part in row.inputs} for row in rows]
        asked = [{"parts_bandwidth": one["taking_bandwidth_of_loads"]} for one in sides]
        return len(rows) > 1 and any(
            self._with_headroom(float(solve("load_bandwidth", loads))) > float(one["cluster_taking_bandwidth"]) * (1 + ROUNDING)
            for loads, one in zip(asked, sides, strict=True)
        )

    def _with_headroom(self, rate: float) -> float:
        return float(solve("bandwidth_with_headroom", {"part_bandwidth": rate, **self.known.values_of("performance_headroom")}))
