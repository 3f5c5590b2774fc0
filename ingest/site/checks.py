"""The rules of `ingest.sizing.rules` held against a site, with their warnings and findings.

They compare quantities of the plan; a workbook tests them again.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from ingest.catalog.records import Corpus
from ingest.catalog.store import Catalog
from ingest.corpus.measurement_file import UNREAD
from ingest.engine.derivation_graph import QuantityRow, is_column
from ingest.engine.messages import Message, in_site_words
from ingest.engine.registry import Step, solve, steps_below, unit_of
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.errors import RequirementNotMet, listed
from ingest.files import table_beside
from ingest.requirement import Requirement, headline
from ingest.site.datasets import REPACKED, family_of, mixed_names, samples_in_file_by_reader
from ingest.site.guidance import UNLIMITED, by_cluster
from ingest.site.holdings import there
from ingest.site.jobs import SIZED, Policy
from ingest.site.schema import Fault
from ingest.site.site_file import Keys, Site
from ingest.sizing.checkpoint_schedule import is_sized_by_waste
from ingest.sizing.dataset import by_reference
from ingest.sizing.rule import Valued, place_of_largest
from ingest.sizing.rules import MOST_DENSE, ROWS, Finding, applying, finding
from ingest.text import grouped
from ingest.units import display, percent

_WRITTEN = table_beside(__file__, "checks.yaml")
#: Rules of a job that `plan` prints, each with its place below the job.
PRINTED: Mapping[str, Keys] = {rule: tuple(place) for rule, place in _WRITTEN["printed"].items()}
#: Rules of the whole site that `plan` prints.
OF_SITE = frozenset({"W45", "W48", "W50", "W51", "W52", "W79", "W88", "W96"})
#: The rule that decided the order of a job's reads, by the quantity that it compares.
PATTERNS = {"samples_per_file": "C01", "read_request_bytes": "C16"}
#: How a checkpoint is laid out over the GPUs: its ranks and files are counted for these, and follow no formula.
LAID_OUT = {"tensor_parallel": "C04", "pipeline_parallel": "C05"}
#: The size of a checkpoint, as a policy states it.
STATED_SIZE = {"parameters": "C06", "checkpoint_bytes": "C07"}
assert {*STATED_SIZE} == {*SIZED.values()}
#: Quantities that rules compare of the checkpoints of a job; the others are those of its row.
OF_POLICY = {"training_seconds", "checkpoint_dump_seconds", "job_mean_time_to_interrupt", "restart_overhead", "gpus"}
#: What the texts of the rules name of a job, and the quantity that each is.
FACTS = {"size": "read_request_bytes", "dataset": "job_dataset_bytes", "cache": "job_cache_bytes", "warm_up": "warm_up_seconds"}
#: Keys of `reserve` that are capacities.
RESERVED = ("homes", "scratch", "containers", "logs", "archive")


def refuse(site: Site, found: Iterable[Finding | None]) -> None:
    """Refuse a site with a job larger than its cluster, jobs that take more than all of it, or no unit that works.

    Raises UsageError: the one nearest to a key, with its line.
    """
    for keys, message, _ in reversed(refusals(site, found)):
        site.refuse(keys, message)


def refusals(site: Site, found: Iterable[Finding | None]) -> list[Fault]:
    """The rules that refuse a site, each with the key that is to blame."""
    faults = []
    for one in applying(found):
        last = [name for name, job in site.section("jobs").items() if job.get("cluster") == one.owner][-1:]
        places: Mapping[str, Keys] = {"E05": ("jobs", *last), "E06": ("jobs", one.owner, "nodes"), "E07": ("storage", "failed")}
        faults.append(Fault(places[one.rule.id], one.message()))
    return faults


def of_clusters(
    clusters: Sequence[QuantityRow], jobs: Sequence[QuantityRow], serving: Sequence[QuantityRow] = ()
) -> Iterator[Finding | None]:
    """No job is larger than its cluster, and all that runs there takes no more than the whole of it."""
    counts = {row.name: row.step("cluster_nodes") for row in clusters}
    theirs = by_cluster((*jobs, *serving))
    for row in clusters:
        names = listed(one.name for one in theirs.get(row.name, ()))
        yield finding("E05", row.step, owner=row.name, jobs=names, cluster=row.name)
    for row in jobs:
        cluster = str(row.words["cluster"])
        sizes = {**row.known.steps_of("nodes"), "cluster_nodes": counts[cluster]}
        yield finding("E06", sizes, owner=row.name, cluster=cluster)


def of_storage(storage: Quantities) -> Iterator[Finding | None]:
    """Fewer units fail than there are."""
    if "failed_servers" in storage.given:
        units = storage.step("storage_units") if "storage_units" in storage.given else storage.value("storage_units")
        yield finding("E07", {**storage.steps_of("failed_servers"), "storage_units": units}, owner="storage")


def of_choices(jobs: Sequence[QuantityRow], policies: Mapping[str, Policy], sized: Collection[str]) -> Iterator[Finding | None]:
    """How each job reads, and how the rates of those looked up for their size, and checkpoints, follow from their GPUs."""
    for row in jobs:
        gpus, files = row.step("gpus"), row.step("checkpoint_files")
        if gpus is not None and row.name in sized:
            yield finding("C11", {"gpus": gpus, "gpus_of_rate": float(gpus.value)}, owner=row.name)
        rule = PATTERNS.get(row.words.get("pattern_from", ""))
        if rule is not None:
            yield finding(rule, row.step, owner=row.name)
        if row.step("job_dataset_bytes") is not None:
            yield finding("C14", row.step, owner=row.name)
            yield finding("C15", row.step, owner=row.name)
        if gpus is None or files is None:
            continue
        for parts in policies[row.name].divisors if row.name in policies else ():
            yield finding("C02", {"gpus": gpus, "equal_parts": float(parts)}, owner=row.name)
        if files.formula is None:
            yield finding("C03", {"gpus": gpus, "gpus_counted": float(gpus.value)}, owner=row.name)


def of_policies(policies: Mapping[str, Policy]) -> Iterator[Finding | None]:
    """Interval, overhead and rate of each job's checkpoints fit together, and its files are counted as stated."""
    for name, policy in policies.items():
        stated, given = policy.stated, policy.known.given
        known = {**policy.steps, **stated}
        # What the policy takes from its size is an answer for that many GPUs.
        gpus = policy.steps["gpus"]
        sized: dict[str, Valued | float | None] = {"gpus": gpus, "gpus_chosen_for": float(gpus.value)}
        if "gpus_of_failures" in given:
            yield finding("C12", sized, owner=name)
        if chosen := any(size in given and size not in stated for size in LAID_OUT):
            yield finding("C13", sized, owner=name)
        yield finding("E08", known, owner=name)
        if is_sized_by_waste(policy.mode, stated):
            yield finding("E09", known, owner=name)
            yield finding("E01", known, owner=name)
        if "waste_goal" in given:
            figures = {"goal": "waste_goal", "least": "least_waste_reached", "kept": "waste_allowed"}
            said = {fact: percent(given[quantity].value) for fact, quantity in figures.items()}
            yield finding("W76", {}, {"goal": "near the pole"}, name, **said)
        if "waste_allowed" in stated:
            yield finding("E02", known, owner=name)
        if "write_bandwidth" in stated:
            yield finding("E04", known, {"mode": policy.mode}, name)
        files = policy.steps.get("checkpoint_files")
        # Parallel sizes that are chosen, and files that are counted, follow no formula.
        counted = chosen or (files is not None and files.formula is None)
        for quantity, rule in {**LAID_OUT, **(STATED_SIZE if counted else {})}.items():
            if quantity in stated:
                yield finding(rule, {quantity: stated[quantity], "as_counted": float(stated[quantity].value)}, owner=name)


def of_each(
    jobs: Sequence[QuantityRow], policies: Mapping[str, Policy], site: Site, catalog: Catalog
) -> Iterator[Finding | None]:
    """The rules about a job, held against each."""
    for row in jobs:
        policy = policies.get(row.name)
        words = {**row.words, "family": family_of(site.section("jobs")[row.name], catalog)}
        drawable = row.step("node_drawable_bandwidth")
        words["nics"] = "unknown" if drawable is None or float(drawable.value) >= UNLIMITED.value else "known"
        words["cached"] = "yes" if row.step("miss_share") is not None else "no"
        # What the texts of the rules name of a job, besides the numbers compared.
        facts = {}
        for fact, name in FACTS.items():
            step = row.step(name)
            facts[fact] = "" if step is None else display(step.value, unit_of(name).removesuffix("/node"), binary=False)
        share = row.step("cached_share")
        partitioned = share is not None and any(part.name == "share_in_all_nodes" for part in steps_below([share]))
        facts["where"] = "all nodes together" if partitioned else "one node"
        drawn = row.step("drawn_share")
        ratio = row.known.given.get("suggested_rate")
        facts["disputed"] = "" if ratio is None else ratio.where
        facts["drawn"] = "" if drawn is None else percent(float(drawn.value))
        known = partial(_compared, row, policy)
        for rule in (row for row in ROWS if row.of_job):
            if rule.id != "W32" or facts["size"]:
                yield finding(rule.id, known, words, row.name, **facts)


def _compared(row: QuantityRow, policy: Policy | None, name: str) -> Valued | None:
    """A quantity that rules compare: of the checkpoints of a job, or of its row."""
    if name not in OF_POLICY:
        return row.step(name)
    if policy is None:
        return None
    return policy.stated.get(name) if name == "training_seconds" else policy.steps.get(name)


def of_drains(site: Site, jobs: Sequence[QuantityRow]) -> Iterator[Finding | None]:
    """Asynchronous checkpoints drain while others write, even where `overlap` says that they alternate."""
    draining = [row.name for row in jobs if row.words.get("mode") == "async"]
    writers = [row for row in jobs if row.step("job_write_bandwidth") is not None]
    if not draining:
        return
    words = {"mode": "async", "overlap": "no" if site.section("overlap").get("checkpoints") is False else "yes"}
    # A job that saves itself alone, in one run, drains next to nothing.
    runs = writers[0].known.step("concurrent_runs") if len(writers) == 1 else float(len(writers))
    yield finding("W35", {"writing_runs": runs}, words, draining[0], jobs=listed(draining))


def of_totals(site: Site, known: Quantities, holdings: Iterable[Sequence[QuantityRow]]) -> Iterator[Finding | None]:
    """What is required is feasible as a whole: for the nodes, for the tests, and beside what is not training data."""
    # The data sets whose own growth is less than what arrives, each in the year in which it leaves most out.
    worst: dict[str, tuple[Step, object]] = {}
    for row in chain.from_iterable(islice(holdings, 1, None)):
        if "landing_drain_seconds" in row.known.given:
            if {"growth_amount", "lifetime_seconds"}.isdisjoint(row.known.given):
                row.known.link("created_growth", row.known.step("capacity_growth"))
            step = row.known.step("arrivals_not_kept")
            if row.name not in worst or step.value > worst[row.name][0].value:
                worst[row.name] = step, row.words["year"]
    for name, (step, year) in worst.items():
        yield finding("W104", {"arrivals_not_kept": step}, owner=name, year=year)
    if known.find("grown_read_bandwidth") is not None:
        more = known.find("nodes_for_growth")
        nodes = "" if more is None else display(float(more.value), "node")
        yield finding("W48", known.find, owner="R-GROW-01", nodes=nodes)
    if known.value("site_planned_bytes"):
        yield finding("W51", words={"reserve": "none" if not site.section("reserve") else "planned"}, owner="R-CAP-03")
        yield finding("W96", known.find, owner="R-END-01")
    writes = ("site_write_bandwidth", "site_load_bandwidth", "site_preparation_write_bandwidth", "site_landing_bandwidth")
    if any(map(known.value, writes)):
        yield finding("W50", known.find, owner="R-WRITE-01")


def of_replicas(row: QuantityRow) -> Finding | None:
    """What the users of a served model ask for, against what its GPUs compute."""
    names = {"turns": "stated_turn_rate", "computed": "computed_turn_rate", "missing": "missing_serving_gpus"}
    steps = {fact: row.step(name) for fact, name in names.items()}
    said = {fact: f"{float(step.value):,.4g}" for fact, step in steps.items() if step is not None}
    if len(said) < len(names):
        return finding("W87", words={"generation": "unknown"}, owner=row.name)
    found = finding("W86", row.step, {}, row.name, **said)
    # GPUs that hold no replica do not serve more users by their number.
    small = finding("W74", row.step, {}, row.name, **said)
    return small if found is not None and found.true and small is not None and small.true else found


def of_headline(lines: Sequence[Requirement], clusters: Sequence[QuantityRow]) -> Iterator[Finding | None]:
    """What is bought can be bought: a rate for its capacity; and where unlike clients have rates of their own."""
    largest = headline(lines)
    if {"read", "hold"} <= largest.keys():
        given = {"required_read_bandwidth": largest["read"].value, "required_usable_bytes": largest["hold"].value}
        rate = float(solve("read_density", given))
        density, sold = (display(one * 1e12, "B/s", binary=False) for one in (rate, MOST_DENSE))
        yield finding("W79", {"read_density": rate}, {}, "", density=density, sold=sold, line=largest["read"].id)
    draws = {row.name: float(row.known.value("node_drawable_bandwidth")) for row in clusters}
    for one in lines:
        groups = one.conditions.client_groups
        if one.unit == "B/s" and one.priority == "mandatory" and len(groups) > 1 and one.conditions.clients:
            weakest = min(groups, key=lambda group: (draws[group.cluster], group.cluster))
            given = {"required_bandwidth": one.value, "clients_under_test": one.conditions.clients}
            each = float(solve("required_bandwidth_per_client", given))
            sides = {"required_bandwidth_per_client": each, "node_drawable_bandwidth": draws[weakest.cluster]}
            yield finding("W88", sides, line=one.id, cluster=weakest.cluster)


class Timed(NamedTuple):
    """A load that has to be moved in a time."""

    line: str  # the id of the line that asks for it
    within: str = ""  # the time, by its quantity; empty for a load that goes on
    who: str = ""  # moves it; empty for a job or a served model, which is called by its name


#: The loads that have to be moved in a time, by quantity.
TIMED = {load: Timed(**fields) for load, fields in _WRITTEN["timed"].items()}
#: The loads of which a part goes on whatever the time: data that arrive.
GOING_ON = ("year_landing_bandwidth", "year_drain_bandwidth")
#: What the nodes draw that move a load; nothing holds it down where that is more than any node draws.
DRAWN = ("drawable_bandwidth", "nodes_bandwidth")


def _needed(step: Step, **columns: Any) -> float:
    """A load whatever nodes draw, without the headroom that lines add."""
    given = {one.name: UNLIMITED.value if one.name.endswith(DRAWN) else one.value for one in step.inputs} | columns
    return float(solve(step.name, given | {"performance_headroom": 0.0} if "performance_headroom" in given else given))


def times_as_long(step: Step) -> float:
    """How many times as long as allowed a load takes at the rate that its nodes draw; 1 where it is in time.

    Infinite where what goes on takes all of the rate.
    """
    if step.formula is None or not step.value or not any(one.name.endswith(DRAWN) for one in step.inputs):
        return 1.0
    need, drawn, going_on = _needed(step), float(step.value), 0.0
    if step.name in GOING_ON and need > drawn:
        within = TIMED[step.name].within
        going_on = _needed(step, **{one.name: _in_no_hurry(one, within) for one in step.inputs if is_column(one)})
    return max((need - going_on) / (drawn - going_on), 1.0) if drawn > going_on else math.inf


def _in_no_hurry(step: Step, within: str) -> Any:
    """A load where there is any time to move what waits."""
    if step.formula is None:
        return UNLIMITED.value if step.name == within else step.value
    return step.formula.function(*[_in_no_hurry(one, within) for one in step.inputs])


def refuse_what_is_lost(site: Site, years: Sequence[QuantityRow]) -> None:
    """Raises RequirementNotMet: data arrive faster than the nodes that move data draw, so that no time is enough."""
    for step in (step for name in GOING_ON for row in years if (step := row.step(name)) is not None):
        if times_as_long(step) == math.inf:
            arriving = (entry for column in step.inputs if is_column(column) for entry in column.inputs)
            largest = max(arriving, key=lambda one: float(one.value))
            site.refuse(
                ("datasets", largest.owner, "arrives"),
                f"found more than the {display(step.value, 'B/s', binary=False)} that the nodes which move data draw, expected "
                "less or more nodes: what does not land is lost",
                kind=RequirementNotMet,
            )


def of_transfers(rows: Iterable[QuantityRow], site: Quantities, years: Sequence[QuantityRow]) -> Iterator[Finding | None]:
    """What has to be moved in a time, by jobs, served models and the nodes that load and prepare, against what they draw."""
    workloads = [*rows]
    for name, load in TIMED.items():
        if not load.who:
            yield from (_late(step, load, row.name) for row in workloads if (step := row.step(name)) is not None)
            continue
        steps = [step for step in (*(row.step(name) for row in years), site.find(name)) if step is not None]
        if steps:
            yield _late(max(steps, key=times_as_long), load, "")


def _late(step: Step, load: Timed, owner: str) -> Finding | None:
    """A load that is not moved in its time, with the time that it takes."""
    drawn, times = float(step.value), times_as_long(step)
    allowed = {float(part.value) for part in steps_below([step]) if part.name == load.within}
    takes = f"it takes {times:.3g} times as long as allowed: allow more time or use more nodes"
    if not load.within:
        takes = f"{percent(1 / times)} % of it is done: state less or use more nodes"
    if len(allowed) == 1:
        (time,) = allowed
        takes = f"it takes {display(time * times, 's')} instead of {display(time, 's')}: allow more time or use more nodes"
    sides = {"required_bandwidth": _needed(step), "requirement_limit": drawn}
    return finding("W52", sides, owner=owner, line=load.line, who=load.who or owner, takes=takes)


def of_line(name: str, value: Step, floor: Step | None, column: Step | None) -> Iterator[Finding | None]:
    """The rules that decide the priority and the conditions of a line: its reporting threshold, if any, and the column whose
    largest entry names the job that sets the conditions.
    """
    yield finding("C08", {"required_rate": value, "smallest_rate": floor}, owner=name)
    if column is not None and len(column.inputs) > 1:
        chosen = float(place_of_largest([float(entry.value) for entry in column.inputs]))
        yield finding("C09", {"entries_of_jobs": column, "deciding_entry": chosen}, owner=name)


def warnings_of(
    site: Site,
    found: Sequence[Finding],
    jobs: Sequence[QuantityRow],
    data: Mapping[str, QuantityRow],
    years: int,
    catalog: Catalog,
) -> list[str]:
    """The warnings of a site, without those of `bw` and `checkpoint`; the most severe first.

    Raises IngestError: a job on data that are on storage in no year; with its line.
    """
    told = applying(found)
    # Threads that imply too small a latency: one line for each job, that of the requirement that asks for the smallest.
    of_jobs = grouped((one.owner, one) for one in told if one.rule.id == "W40").values()
    threads = [min(each, key=lambda one: 0.0 if one.value is None else float(one.value.value)) for each in of_jobs]
    placed = [*(one for one in told if one.rule.id in {*PRINTED, "W35"}), *threads]
    lines = [(one, _placed(site, one)) for one in placed]
    lines += [(one, one.message()) for one in told if one.rule.id in OF_SITE]
    lines += [(one, one.message()) for one in applying(_together(site, told, jobs, data, catalog))]
    entries = (*_absent_data(site, years), *_of_entries(site, data), *_disagreeing(site, jobs, data, catalog))
    lines += [(one, Message(f"{site.place(keys)}: ", one.message())) for keys, each in entries for one in applying([each])]
    return [in_site_words(line) for one, line in sorted(lines, key=lambda pair: pair[0].rule.rank)]


def _placed(site: Site, one: Finding) -> Message:
    """The line of a finding, with its place in the file."""
    own: Keys = ("loader",) if "loader" in site.section("jobs").get(one.owner, {}) else ("threads",)
    section = "datasets" if one.rule.id == "W104" else "serving" if one.owner in site.section("serving") else "jobs"
    keys: Keys = (section, one.owner, *{**PRINTED, "W40": own}.get(one.rule.id, ("checkpoint",)))
    if one.rule.id == "W35" and "checkpoints" in site.section("overlap"):
        keys = ("overlap", "checkpoints")
    return Message(f"{site.place(keys)}: ", one.message())


def _together(
    site: Site, told: Sequence[Finding], jobs: Sequence[QuantityRow], data: Mapping[str, QuantityRow], catalog: Catalog
) -> Iterator[Finding | None]:
    """Warnings of several jobs or data sets in one line, so that no partial total looks complete."""
    opens = [row.name for row in jobs if row.step("job_read_bandwidth") is not None and row.step("job_file_opens") is None]
    if opens:
        yield finding("W36", words={"opens": "unknown"}, jobs=listed(opens))
    files = [row.name for row in data.values() if row.step("data_files") is None and row.step("mixed_bytes") is None]
    if files:
        yield finding("W37", words={"files": "unknown"}, datasets=listed(files))
    for row in data.values():
        named = site.section("datasets")[row.name].get("corpus")
        found = by_reference(catalog.get(Corpus, named), row.known) if named is not None else None
        if found is not None:
            yield found._replace(owner=row.name)
    # The jobs that keep more on the NVMe of a node than it holds.
    large = [one for one in told if one.rule.id == "W30"]
    if large:
        yield large[0]._replace(facts={"jobs": listed(one.owner for one in large)})
    # The jobs that do not state whether training stops while they save.
    left = [name for name, job in site.section("jobs").items() if "mode" not in job.get("checkpoint", {"mode": ""})]
    if left:
        yield finding("W27", words={"mode": "not stated"}, jobs=listed(left))


def _absent_data(site: Site, years: int) -> Iterator[tuple[Keys, Finding | None]]:
    """Data sets that are never on storage, and jobs on data sets that are not there in some year of the plan."""
    start: datetime.date | None = site.data.get("start")
    span = range(start.year, start.year + years + 1) if start else ()
    datasets = site.section("datasets")
    for name, job in site.section("jobs").items():
        read = [datasets.get(one, {}) for one in mixed_names(site, job.get("data", ""))]
        missing = [year for year in span if not all(there(described, year) for described in read)]
        facts = {"data": job.get("data"), "years": listed(map(str, missing))}
        if len(missing) > years:
            refused = "{data} is not on storage in {years}, expected years of the plan between its `from` and `until`"
            site.refuse(("jobs", name, "data"), refused.format(**facts))
        if missing:
            yield ("jobs", name, "data"), finding("W31", words={"data": "absent"}, **facts)
    for name, described in datasets.items():
        if span and not any(there(described, year) for year in span):
            planned = f"{span[0]} to {span[-1]}" if years else f"{span[0]}"
            yield ("datasets", name), finding("W39", words={"data": "absent in all years"}, years=planned)


def _disagreeing(
    site: Site, jobs: Sequence[QuantityRow], data: Mapping[str, QuantityRow], catalog: Catalog
) -> Iterator[tuple[Keys, Finding | None]]:
    """Data sets that do not state what their readers disagree about: the samples in a file, and the bytes of a sample."""
    sizes = {row.name: row.known.find("sample_bytes") for row in jobs}
    for name, described in site.section("datasets").items():
        readers = site.readers.get(name, {})
        in_file = samples_in_file_by_reader(name, site, catalog) if described.keys().isdisjoint(REPACKED) else {}
        # Of text, a sample is a sequence to one job and a token to another.
        own = {"data_sample_bytes", "data_samples", "data_tokens", "corpus"} & {*data[name].known.given, *described}
        compared = not own and {family_of(site.section("jobs")[job], catalog) for job in readers} != {"llm"}
        of_sample = {job: size for job in readers if compared and (size := sizes.get(job)) is not None}
        for what, unit, figures, taken in (
            ("the samples in a file", "sample/file", in_file, "the lines count the most files; set its samples_per_file"),
            ("the bytes of a sample", "B/sample", of_sample, "each counts its own; set its sample_bytes"),
        ):
            values = sorted((float(item.value), job) for job, item in figures.items())
            if not values:
                continue
            ends = {"most_of_readers": values[-1][0], "fewest_of_readers": values[0][0]}
            shown = listed([f"{display(value, unit, binary=False)} by {job}" for value, job in values])
            yield ("datasets", name), finding("W56", ends, what=what, readers=shown, taken=taken)


def _of_entries(site: Site, data: Mapping[str, QuantityRow]) -> Iterator[tuple[Keys, Finding | None]]:
    """Capacities that are so small that their unit must be missing; data sets whose measured samples may be many each."""
    sizes: dict[Keys, Any] = {("reserve", key): site.section("reserve").get(key) for key in RESERVED}
    for section, key in (("datasets", "bytes"), ("clusters", "nvme")):
        sizes |= {(section, name, key): one.get(key) for name, one in site.section(section).items()}
    stated = {keys: Quantity(item.value, "B") for keys, item in sizes.items() if isinstance(item, Input) and item.value}
    yield from ((keys, finding("W42", {"stated_capacity": size})) for keys, size in stated.items())
    unread = (name for name, row in data.items() if any(UNREAD in item.note for item in row.known.given.values()))
    yield from ((("datasets", name, "measured"), finding("W54", words={"samples": "unread"}, unread=UNREAD)) for name in unread)
