"""The load of a requirement line: who reads what in which pattern, with how many outstanding requests, and for how long.

Where a site file states the loader of a job, a simulation tells the latency that its reads may take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.expression import round_up
from ingest.engine.registry import Step, solve, steps_below, unit_of
from ingest.errors import listed
from ingest.requirement import Conditions, MixPart, kind_of_line
from ingest.site.line_clients import OF_ONE_JOB, Cause, LineClients
from ingest.site.requirement_wording import MIXED, SAVING, RequirementTemplate, RequirementValue, kind_of_column
from ingest.sizing.rules import ROUNDING, Finding, finding
from ingest.text import grouped
from ingest.units import display, request_size

UNCACHED = (
    "uncached: the data read are at least 1.5 times the read cache of the servers, as far as the system holds them; requests "
    "bypass the caches of the clients, no client reads what it wrote, and caches are dropped before each run"
)
#: columns of the reads of offloaded states and key-value caches, and of the writes of the latter
KV_READS, KV_WRITES = "kv_peak_read_bandwidth_of_serving", "kv_write_bandwidth_of_serving"
#: the column of the random reads of vector indexes
QUERIES = "job_query_bandwidth_of_jobs"
TIER_READS = ("job_offload_read_bandwidth_of_jobs", "job_offload_mean_read_bandwidth_of_jobs", KV_READS,
              "kv_read_bandwidth_of_serving", QUERIES)  # fmt: skip
#: columns of the reads of versions: all clients read the same new files
PULLED = ("job_pull_bandwidth_of_jobs", "job_join_bandwidth_of_jobs")
NEW_FILES = "new files, which one client has written just before; requests bypass the caches of the clients"
#: the column of the loads that stage data
STAGED = "job_staging_bandwidth_of_jobs"
#: operations that a phase of a job makes as one burst, which ends with its files
BURSTS = ("create", "open")
#: a part of a mix below this share of the bytes is counted with the largest part
SMALLEST_SHARE = 0.01
#: share of the bytes from which files of about one size are a part of their own
SMALLEST_CLASS = 0.05
#: bytes in which the sizes of files are counted that a line opens: direct I/O takes whole pages
PAGE = 4096
#: digits of a share in a mix
SHARE_DIGITS = 3


class LoadPart(NamedTuple):
    """What one job adds to a load."""

    job: str  # its name
    bandwidth: float  # of the job, in any unit that all parts share
    io_size: float  # bytes of one request
    pattern: str  # `random` or `sequential`
    nodes: float = 0  # that take part
    readers: float = 0  # concurrent reads of one node: of its loaders, or as stated
    stated: bool = False  # whether the site file states the threads of a node, so that no more are counted
    operation: str = "read"  # `read`, `write` or `open`
    of_loader: bool = False  # whether a data loader reads, whose latency may be known


class LoadConditions(LineClients):
    """Composes the conditions of requirement lines; jobs and serving workloads are rows by name."""

    def conditions(self, value: RequirementValue, number: float) -> Conditions:
        """The conditions of a line; the outstanding requests follow from the number that its statement names."""
        line, fill = value.line, self.known.value("fill_limit")
        if not line.clients:
            return Conditions(line.operation, fill=fill if line.operation == "hold" else None)
        clients = self.clients(value)
        groups = self.groups(value, clients)
        if unit_of(line.metric).endswith("/node"):
            number = float(solve("rate_of_all_clients", {"rate_per_client": number, "clients_under_test": clients}))
        entries = self.entries(value)
        shared: dict[str, Any] = {"clients": clients, "duration": self.duration(value, entries), "fill": fill}
        shared["client_groups"] = self.shared_out(value, groups, number)
        if line.operation == "write":
            parts = self.written(value, number, clients)
            mix = mix_of(parts)
            if len(mix) > 1:
                return Conditions("write", mix=mix, files="file per process", **shared)
            whole = max(parts, key=lambda part: part.bandwidth)
            # Blocks of sessions that come and go are written over each other, where other turns read.
            files = "shared" if whole.pattern == "random" else "file per process"
            return Conditions("write", io_size=int(whole.io_size), pattern=whole.pattern, files=files, **shared)
        if line.operation == "create":
            return Conditions("create", **shared)
        found = self._reads(value, entries, clients)
        parts = [one for one in found if one.bandwidth] or found
        if line.operation == "open":
            readers = [
                float(solve("queue_depth", {"readers_per_node": one.readers, "line_clients": one.nodes})) for one in parts
            ]
            threads = solve("loaders_of_client", {"line_readers": readers, "line_clients": clients})
            # What a start opens is no data.
            sizes = [] if line.phase else [piece for part in parts for piece in self._by_size(part, "open")]
            mixed = len({(one.job, one.io_size) for one in sizes}) > len(parts)
            return Conditions("open", threads=int(threads), mix=mix_of(sizes) if mixed else (), **shared)
        if line.operation == MIXED:
            parts = self.mixed(value, parts, number, clients)
        mix = mix_of([piece for part in parts for piece in self._by_size(part)])
        depth = self._depth(parts, mix, number, clients) if line.operation == MIXED or (mix and number) else {}
        pattern: dict[str, Any] = {"mix": mix}
        if line.operation != MIXED and len(mix) <= 1:
            largest = max(parts, key=lambda part: (part.io_size, part.pattern))
            one = mix[0] if mix else MixPart(1, "read", int(largest.io_size), largest.pattern)
            pattern = {"io_size": one.io_size, "pattern": one.pattern}
        operation = MIXED if line.operation == MIXED else "read"
        if line.column == KV_READS:
            shared["files"] = "shared"  # of all clients, which write over them
        if line.column in PULLED:
            return Conditions(operation, cache=NEW_FILES, files="shared", **pattern, **depth, **shared)
        return Conditions(operation, cache=UNCACHED, **pattern, **depth, **shared)

    def entries(self, value: RequirementValue) -> list[Step]:
        """The entries of the jobs that take part: of all, or of the one with the largest."""
        if value.line.clients in OF_ONE_JOB:
            return [value.largest] if value.largest is not None else []
        columns = (part for part in value.columns if part.name == value.line.column)
        found = {entry.owner: entry for part in columns for entry in part.inputs}
        return [found[owner] for owner in sorted(found)]

    def parts(self, value: RequirementValue, entries: Iterable[Step], clients: int) -> list[LoadPart]:
        """What each job adds to a load of reads; jobs that alternate on the same nodes share these."""
        found = [self._part(value.line, entry, clients) for entry in entries]
        taking = [one for one in found if one.bandwidth] or found or [self._copied("", 1, clients)]
        shared = {"load_nodes": solve("load_nodes", {"line_nodes": [one.nodes for one in taking]}), "line_clients": clients}
        placed = [one._replace(nodes=float(solve("nodes_taking_part", {"nodes": one.nodes, **shared}))) for one in taking]
        if not value.by_guidance:
            return placed
        if value.line.streams:
            # The guidance asks as much for each node, whatever its job restores.
            return [one._replace(bandwidth=one.nodes) for one in placed]
        # The reads of the workload, each in its own pattern, and what the guidance adds to them, in sequence.
        assert value.compared is not None
        workload, guidance = (float(one.value) for one in value.compared)
        size = self.known.value("guidance_request_bytes")
        own = [one for one in placed if one.bandwidth and one.job]
        more = float(solve("bandwidth_of_the_rest", {"line_bandwidth": guidance, "part_bandwidth": workload}))
        added = LoadPart("", more, size, "sequential", clients, max((one.readers for one in placed), default=1))
        return [*(scaled(own, workload) if workload else ()), added]

    def reads_of(self, value: RequirementValue) -> tuple[tuple[Step, Step, str], ...]:
        """Bandwidth, request size and pattern of each job whose reads alone make up a line; none where others do too."""
        line = value.line
        beside = any(one.column in TIER_READS and one.column != line.column for one in self.causes(value))
        if line.operation != "read" or value.by_guidance or beside or line.column == KV_READS:
            return ()
        found = []
        for entry in self.entries(value):
            row = None if line.streams else self._row(line, entry)
            size = self.known.step("stream_request_bytes") if row is None else row.known.step("read_request_bytes")
            found.append((entry, size, "sequential" if row is None else str(row.words["pattern"])))
        return tuple(found)

    def _copied(self, name: str, bandwidth: float, clients: int) -> LoadPart:
        """Reads that belong to no loader of a job: each client copies in sequence, with as many streams as it has GPUs."""
        streams = max(map(_streams, (*self.jobs.values(), *self.serving.values())), default=1)
        return LoadPart(name, bandwidth, self.known.value("stream_request_bytes"), "sequential", clients, streams)

    def _reads(self, value: RequirementValue, entries: Sequence[Step], clients: int) -> list[LoadPart]:
        """The reads of a line: of its jobs, and what offloaded states and key-value caches add to those of a total."""
        others = (one for one in self.causes(value) if one.column in TIER_READS and one.column != value.line.column)
        tiers = grouped((kind_of_column(one.column, ""), self._of_tier(one)) for one in others)
        if not tiers:
            return self.parts(value, entries, clients)
        own = self.parts(value, entries, clients) if entries else []
        rates = {one.kind: one.value for one in self.held(value)}
        if len(rates) < 2 or value.by_guidance:
            return [*own, *(part for parts in tiers.values() for part in parts)]
        tiers[kind_of_line(value.line.id)] = own
        return [part for kind, parts in tiers.items() for part in scaled(parts, rates.get(kind, 0.0))]

    def _of_tier(self, one: Cause) -> LoadPart:
        """Reads of a key-value cache, or of states by as many streams as a node has GPUs."""
        if one.column.endswith("_of_serving"):
            return self._of_cache(one.load)
        if one.column == QUERIES:
            return _of_queries(one.row, one.load)
        size, streams = self.known.value("stream_request_bytes"), one.row.known.value("gpus_per_node")
        return LoadPart(one.row.name, float(one.load.value), size, "sequential", float(one.nodes.value), streams)

    def _of_cache(self, entry: Step) -> LoadPart:
        """Reads of a key-value cache: each turn that reads has one block outstanding."""
        row = self.serving[entry.owner].known
        nodes, block = row.value("serving_nodes"), row.value("kv_block_bytes")
        turns = float(solve("loaders_of_client", {"line_readers": [row.value("kv_peak_turns")], "line_clients": nodes}))
        return LoadPart(entry.owner, float(entry.value), block, "random", nodes, turns, stated=True)

    def _part(self, line: RequirementTemplate, entry: Step, clients: int) -> LoadPart:
        if line.column == KV_READS:
            return self._of_cache(entry)
        row = self._row(line, entry)
        if line.column == QUERIES and row is not None:
            return _of_queries(row, entry)
        if row is None:
            return self._copied(entry.owner, float(entry.value), clients)
        nodes = float(clients) if line.clients in OF_ONE_JOB else row.known.value("nodes_at_once")
        readers = None if _is_restore(line) else row.step("readers_per_node")
        if readers is not None and not self._states_readers(row.name):
            readers = row.known.step("reads_ahead_per_node")
        if line.streams or readers is None:
            size, pattern = self.known.value("stream_request_bytes"), "sequential"
            each = float(readers.value) if readers is not None else _streams(row)
            return LoadPart(row.name, float(entry.value), size, pattern, nodes, each)
        request = row.known.value("read_request_bytes")
        stated, pattern = self._states_readers(row.name), str(row.words["pattern"])
        return LoadPart(
            row.name, float(entry.value), request, pattern, nodes, float(readers.value), stated=stated, of_loader=True
        )

    def _by_size(self, part: LoadPart, operation: str = "read") -> list[LoadPart]:
        """The reads or opens of a job by the classes of its files, where each is a sample and their sizes differ.

        A file is opened at its size in whole pages, up to the largest read: what lies beyond it is read later.
        """
        opens = operation == "open"
        column = self.jobs[part.job].known.steps.get("class_requests_of_sizes") if part.of_loader else None
        found = [part]
        if column is not None:
            classes = []
            for entry in column.inputs:
                own = {one.name: float(one.value) for one in entry.inputs}
                size = float(solve("class_bytes", own))
                classes.append((own["class_share"] if opens else size, size, float(entry.value)))
            enough, groups = SMALLEST_CLASS * sum(counted for counted, *_ in classes), [[0.0, 0.0, 0.0]]
            # Small files have few bytes and many requests: they count with the next larger ones until there are enough.
            for one in classes:
                if groups[-1][0] >= enough:
                    groups.append([0.0, 0.0, 0.0])
                groups[-1] = [float(sum(both)) for both in zip(groups[-1], one, strict=True)]
            means = [solve("request_of_sizes", {"sample_bytes": one[1], "requests_per_sample": one[2]}) for one in groups]
            each = zip(groups, means, strict=True)
            found = scaled([part._replace(bandwidth=one[0], io_size=round(mean)) for one, mean in each], part.bandwidth)
        if not opens:
            return found
        return [one._replace(io_size=math.ceil(one.io_size / PAGE) * PAGE, pattern="", operation=operation) for one in found]

    def _row(self, line: RequirementTemplate, entry: Step) -> QuantityRow | None:
        """The job of an entry; None where the entries are of data sets, which may have the names of jobs."""
        return self.jobs.get(entry.owner) if line.column.endswith("_of_jobs") else None

    def _depth(self, parts: Sequence[LoadPart], mix: Sequence[MixPart], number: float, clients: int) -> dict[str, Any]:
        """Outstanding reads and latency of a line: no job of it has to wait longer for a read than its own readers allow."""
        load = {"line_bandwidth": number, "line_request_bytes": mean_request(mix)}
        latencies, taken, budgets = [], [], []
        for one, share in zip(parts, shares_of([one.bandwidth for one in parts]), strict=True):
            # The latency that its readers imply: of its loaders, or as many as its rate needs at a client.
            own = {
                "readers_per_node": one.readers,
                "nodes": one.nodes,
                "part_share": share,
                "line_bandwidth": number,
                # Loaders have as many reads outstanding as they have workers and batches ahead; what copies opens more.
                "client_latency": 0 if one.stated or one.of_loader else self.known.value("client_latency"),
                "read_request_bytes": one.io_size,
            }
            mean = float(solve("latency_of_part", {**own, "part_readers": float(solve("readers_of_part", own))}))
            found = self.jobs[one.job].known.find("loader_latency") if one.of_loader else None
            if found is not None:
                taken.append(float(found.value))
                mean = float(solve("kept_latency", {"latency_of_part": mean, "loader_latency": taken[-1]}))
            row = self.jobs.get(one.job)
            if row is not None and (budget := row.known.find("latency_budget")) is not None:
                budgets.append(float(budget.value))
            latencies.append(mean)
        given = {**load, "mean_latency": min(latencies), "line_clients": clients}
        threads = max(int(solve("readers_of_client", given)), 1)
        total = int(solve("queue_depth", {"readers_per_node": threads, "line_clients": clients}))
        # A query has no more time for a read where its reads are too few for whole threads, or its nodes draw fewer.
        mean = min(float(solve("implied_latency", {**load, "line_queue_depth": total})), *budgets, math.inf)
        # Threads are whole: their mean latency may exceed the one that a loader takes, the latency of 99 % may not.
        latency_99 = {**self.known.values_of("latency_tail"), "mean_latency": min((mean, *taken))}
        tail = float(solve("latency_99", latency_99))
        # A latency is asked for where somebody waits for each read: samples and the context of a turn, not copies.
        waits = any(one.of_loader or one.stated for one in parts if one.operation == "read")
        return {"threads": threads, "queue_depth": total, **({"implied_latency": mean, "latency_99": tail} if waits else {})}

    def duration(self, value: RequirementValue, entries: Sequence[Step]) -> float:
        """The duration of a test: as long as the load of the most demanding job lasts, within the limits of `test`."""
        line = value.line
        limits = self.known.values_of("test_seconds", "shortest_test_seconds")
        if value.by_guidance and not line.streams:
            return limits["test_seconds"]
        if line.operation == MIXED:
            entries = [entry for part in value.columns if part.name == SAVING for entry in part.inputs]
        most = max((float(entry.value) for entry in entries), default=0.0)
        phases = []
        for largest in (entry for entry in entries if math.isclose(float(entry.value), most) and value.phase):
            below = (part for part in steps_below([largest]) if part.name == value.phase)
            phase = next(below, None) or self.jobs[largest.owner].step(value.phase) or self.known.find(value.phase)
            phases += [] if phase is None else [float(phase.value)]
        if not phases:
            return limits["test_seconds"]
        if line.operation in BURSTS:
            return max(phases)
        return float(solve("line_seconds", {**limits, "phase_seconds": max(phases)}))

    def mixed(self, value: RequirementValue, parts: Sequence[LoadPart], number: float, clients: int) -> list[LoadPart]:
        """The reads, and the writes of checkpoints and caches, whose total is the value of a line."""
        of_writes = {"required_bandwidth": number, "mix_share": self.known.value("mixed_write_share")}
        written = float(solve("tested_bandwidth", of_writes))
        reads = float(solve("bandwidth_of_the_rest", {"line_bandwidth": number, "part_bandwidth": written}))
        return [one for one in (*scaled(parts, reads), *self.written(value, written, clients)) if one.bandwidth]

    def written(self, value: RequirementValue, number: float, clients: int) -> list[LoadPart]:
        """The writes of a line: blocks of key-value caches where it holds any, and whole files in their size."""
        cached = min(float(self.known.value("site_kv_write_bandwidth")), number) if KV_WRITES in value.held else 0.0
        rest = float(solve("bandwidth_of_the_rest", {"line_bandwidth": number, "part_bandwidth": cached}))
        size = self.known.value("write_request_bytes")
        of_files = self._copied("", rest, clients)._replace(io_size=size, operation="write")
        # What each serving workload writes to shared storage: blocks of its key-value caches.
        of_caches = [
            LoadPart(
                name,
                float(row.known.value("kv_write_bandwidth")),
                row.known.value("kv_block_bytes"),
                "random",
                row.known.value("serving_nodes"),
                row.known.value("gpus_per_node"),
                operation="write",
            )
            for name, row in sorted(self.serving.items())
            if row.step("kv_write_bandwidth") is not None
        ]
        return [*scaled(of_caches, cached), of_files] if cached else [of_files]

    def tested(self, value: RequirementValue) -> Iterator[Step | None]:
        """The quantities that the conditions rest on."""
        line = value.line
        if not line.clients:
            return
        if line.phase and line.operation in BURSTS:
            return
        yield self.known.step("test_seconds")
        if line.phase:
            yield self.known.step("shortest_test_seconds")
        if line.operation == "write":
            yield self.known.step("write_request_bytes")
        if line.operation not in ("read", MIXED):
            return
        yield from map(self.known.step, ("client_latency", "latency_tail"))
        if line.streams:
            yield self.known.step("stream_request_bytes")
        elif value.by_guidance:
            yield self.known.step("guidance_request_bytes")
        for entry in self.entries(value):
            row = self._row(line, entry)
            if row is None:
                continue
            if not line.streams and not value.by_guidance:
                yield row.step("read_request_bytes")
            if not _is_restore(line):
                yield row.step("readers_per_node" if self._states_readers(row.name) else "reads_ahead_per_node")

    def findings(self, value: RequirementValue, conditions: Conditions) -> Iterator[Finding | None]:
        """Whether threads that the site file states imply a latency that no client reaches."""
        if conditions.implied_latency is None or value.line.streams or value.line.column == QUERIES:
            return  # W105 says it of queries
        stated = [entry.owner for entry in self.entries(value) if entry.owner in self.jobs]
        if stated:
            known = self.known.values_of("client_latency", "medium_and_network_seconds")
            sides = {"implied_latency": conditions.implied_latency, "least_latency": float(solve("least_latency", known))}
            yield finding("W40", sides, {"threads": "stated"}, min(stated), line=value.line.id, jobs=listed(sorted(stated)))

    def fields(self, value: RequirementValue, conditions: Conditions) -> dict[str, str]:
        """The words of a statement about its load."""
        names = {"clients": "client", "duration": "s", "fill": "%"}
        known = {name: getattr(conditions, name) for name in names}
        size, threads = conditions.io_size, conditions.threads or 0
        groups = [one.words() for one in conditions.client_groups]
        of_each = f" ({listed(groups, len(groups))})" if len(groups) > 1 else ""
        return {
            "reads": _reads_in_words(conditions),
            "mixed": conditions.mix_in_words,
            "opened": f" ({conditions.mix_in_words})" if conditions.mix else "",
            "requests": "" if size is None else display(value.step.value / size, "1/s").replace(" 1/s", " reads/s"),
            "io": "" if size is None else request_size(size),
            "puts": writes_in_words(conditions),
            "threads": f"{threads} thread{'' if threads == 1 else 's'}",
            "depth": _depth_in_words(conditions),
            "filling": self._filling(value),
            **{name: display(number, names[name]) for name, number in known.items() if number is not None},
            **({"clients": f"{display(conditions.clients, 'client')}{of_each}"} if conditions.clients else {}),
        }

    def _filling(self, value: RequirementValue) -> str:
        """What the jobs with caches read in the load of a line: what fills their caches, what misses them, or all."""
        if value.line.phase != "read_phase_seconds" or value.by_guidance:
            return ""
        named: dict[str, list[str]] = {}
        for entry in sorted(self.entries(value), key=lambda one: one.owner):
            row = self.jobs[entry.owner]
            phase = row.step("read_phase_seconds")
            if phase is None:
                continue
            words = "first epoch of {}, cold caches"
            if float(phase.value) >= row.known.value("endless_seconds"):
                words = "reads of {} that miss the caches"
            elif row.known.value("run_read_bandwidth") < row.known.value("run_cold_read_bandwidth"):
                words = "caches of {} fill within " + display(row.known.value("warm_up_seconds"), "s")
            named.setdefault(words, []).append(entry.owner)
        return "".join(f"; {words.format(listed(jobs))}" for words, jobs in named.items())

    def _states_readers(self, name: str) -> bool:
        """Whether the site file states the concurrent reads of a job."""
        return not {"threads", "loader"}.isdisjoint(self.site.section("jobs").get(name, {}))


def _of_queries(row: QuantityRow, load: Step) -> LoadPart:
    """Reads of an index: where no latency is stated, as many are outstanding as the latency of a client implies."""
    readers = row.step("query_readers_per_node")
    size, nodes = row.known.value("read_request_bytes"), row.known.value("nodes_at_once")
    each = 1.0 if readers is None else float(readers.value)
    return LoadPart(row.name, float(load.value), size, "random", nodes, each, stated=readers is not None)


def _streams(row: QuantityRow) -> float:
    """How many files a node copies at a time: one for each GPU, at least one."""
    gpus = row.step("gpus_per_node")
    return 1.0 if gpus is None else float(gpus.value)


def _is_restore(line: RequirementTemplate) -> bool:
    """Whether checkpoints are read: one reader for each GPU, instead of those of the data loaders."""
    return line.streams and line.column != STAGED


def shares_of(bandwidths: Sequence[float]) -> list[float]:
    """The share of each part in the bytes of a load."""
    whole = solve("load_bandwidth", {"parts_bandwidth": list(bandwidths)})
    return [float(solve("share_of_load", {"part_bandwidth": one, "load_bandwidth": whole})) for one in bandwidths]


def scaled(parts: Sequence[LoadPart], bandwidth: float) -> list[LoadPart]:
    """The parts of a load that have a bandwidth, in the same proportion, with another total."""
    taking = [one for one in parts if one.bandwidth]
    shares = shares_of([one.bandwidth for one in taking]) if taking else []
    given = [{"required_bandwidth": bandwidth, "mix_share": share} for share in shares]
    return [one._replace(bandwidth=float(solve("tested_bandwidth", of))) for one, of in zip(taking, given, strict=True)]


def mean_request(mix: Sequence[MixPart]) -> float:
    """The mean request size of a load as it is stated: bytes over requests."""
    requests = [solve("requests_of_part", {"part_share": one.share, "read_request_bytes": one.io_size}) for one in mix]
    return float(solve("request_bytes_of_mix", {"requests_per_byte": requests}))


def mix_of(parts: Sequence[LoadPart]) -> tuple[MixPart, ...]:
    """The mix of a load by bytes: equal patterns merged, small parts counted with larger ones, shares that add up to 1.

    Shares of writes are rounded up, so that a test asks for no fewer than were computed; the largest read takes what is left.

    >>> large, small = LoadPart("a", 3e9, 1_048_576, "sequential"), LoadPart("b", 1e9, 4096, "random")
    >>> [(part.share, part.io_size) for part in mix_of([large, small, LoadPart("c", 1, 512, "random")])]
    [(0.75, 1048576), (0.25, 4096)]
    >>> saved = LoadPart("d", 100_100_000, 1_048_576, "sequential", operation="write")
    >>> [(part.share, part.operation) for part in mix_of([large, saved])]
    [(0.967, 'read'), (0.033, 'write')]
    """
    sums: dict[tuple[str, int, str], float] = {}
    for one in parts:
        kind = (one.operation, int(one.io_size), one.pattern)
        sums[kind] = sums.get(kind, 0) + one.bandwidth
    if not any(sums.values()):
        return ()
    exact = dict(zip(sums, shares_of([*sums.values()]), strict=True))
    falling = sorted(sorted(exact), key=exact.__getitem__, reverse=True)
    merged: dict[tuple[str, int, str], float] = {}
    for kind in falling:
        alike = next(other for other in falling if other[0] == kind[0])  # writes are counted with writes
        home = kind if exact[kind] >= SMALLEST_SHARE else alike
        merged[home] = merged.get(home, 0) + exact[kind]
    shares = {
        kind: (float(round_up(share * (1 - ROUNDING), SHARE_DIGITS)) if kind[0] == "write" else round(share, SHARE_DIGITS))
        for kind, share in merged.items()
        if share >= SMALLEST_SHARE
    }
    first = next((kind for kind in shares if kind[0] == "read"), falling[0])
    shares[first] = round(1 - sum(share for kind, share in shares.items() if kind != first), SHARE_DIGITS)
    return tuple(MixPart(shares[kind], *kind) for kind in sorted(sorted(shares), key=shares.__getitem__, reverse=True))


def _reads_in_words(conditions: Conditions) -> str:
    """The requests of a line."""
    if not conditions.mix:
        return f"{conditions.pattern} {request_size(conditions.io_size)} reads" if conditions.io_size else "reads"
    several = len({part.operation for part in conditions.mix}) > 1
    named = [part.words if several else part.requests for part in conditions.mix]
    return f"reads (by bytes {', '.join(named)})"


def writes_in_words(conditions: Conditions, what: str = "writes") -> str:
    """The writes of a line, and the files that they fill."""
    files = "to shared files that are written over and over," if conditions.files == "shared" else "one file per process,"
    requests = f"{conditions.pattern} {request_size(conditions.io_size)} " if conditions.io_size else ""
    parts = f" (by bytes {', '.join(part.requests for part in conditions.mix)})" if conditions.mix else ""
    return f"{requests}{what}{parts}, {files}".replace(", to", " to")


def _depth_in_words(conditions: Conditions) -> str:
    """The outstanding reads of a line and the latency that they imply."""
    if not conditions.queue_depth:
        return ""
    each = f" in all ({conditions.threads:,} per client)" if conditions.clients != 1 else ""
    what = "reads" if conditions.operation == "read" else "requests"
    if conditions.implied_latency is None or conditions.latency_99 is None:
        return f"with as many outstanding {what} as the clients offer, {conditions.queue_depth:,}{each} in a test,"
    mean, tail = (latency_in_words(one) for one in (conditions.implied_latency, conditions.latency_99))
    return f"with at most {conditions.queue_depth:,} outstanding {what}{each}, mean latency at most {mean}, 99 % within {tail},"


def latency_in_words(seconds: float) -> str:
    """A latency with three digits.

    >>> latency_in_words(0.025864), latency_in_words(0.0005), latency_in_words(0.9998), latency_in_words(32.7)
    ('25.9 ms', '0.5 ms', '1 s', '32.7 s')
    """
    rounded = float(f"{seconds:.3g}")
    return f"{rounded * 1000:g} ms" if rounded < 1 else display(rounded, "s")
