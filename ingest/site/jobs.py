"""Each job of a site as a row: its `bw` estimate, its checkpoints, where it reads from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ingest.catalog.records import Model, Node
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow, replaced
from ingest.engine.messages import Message, in_site_words, message_of
from ingest.engine.registry import Step, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities, linked
from ingest.engine.value import Input
from ingest.errors import IngestError, MissingQuantity
from ingest.site.site_file import Keys, Site
from ingest.sizing.bandwidth import estimate
from ingest.sizing.checkpoint import QUANTITIES, checkpoint, kept_by_policy
from ingest.sizing.evidence_choice import RateBasis, rate_basis_of
from ingest.sizing.evidence_ladder import from_catalog
from ingest.sizing.job import Job
from ingest.units import parse

#: keys of a job that are words of a question
WORDS = ("model", "gpu", "basis", "protocol", "encoding", "precision", "scaling")
#: keys of a job that are quantities of a question
NUMBERS = ("nodes", "efficiency", "achieved", "utilization", "samples_per_second", "sample_bytes", "flops_per_sample",
           "cache_hit")  # fmt: skip
#: keys that give the read rate of a job; at least one of them
RATES = ("model", "samples_per_second", "set")
#: keys of a checkpoint policy that `checkpoint` takes as they are
POLICY_WORDS = ("mode", "readers", "failures", "optimizer", "layout", "precision", "keep", "zero_stage", "expert_parallel")
#: keys of a job and the quantity that each is
OWN = {
    "runs": "concurrent_runs",
    "share": "share_of_time",
    "epochs": "training_epochs",
    "tokens": "training_tokens",
    "tokens_per_sample": "tokens_per_sample",
    "io_size": "request_bytes",
}
#: what the row of a job takes from the answer about its checkpoints
SAVED = (
    "checkpoint_bytes", "checkpoint_files", "checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_dump_seconds",
    "checkpoint_stall_fraction", "checkpoint_bytes_written_per_day", "checkpoint_retained_bytes", "checkpoints_retained",
    "restart_read_bytes", "restart_read_bandwidth", "job_mean_time_to_interrupt",
)  # fmt: skip
#: keys of a checkpoint policy that say how large a checkpoint is, and the quantity that each is
SIZED = {"parameters": "parameters", "bytes": "checkpoint_bytes"}
#: further quantities that rules compare
DECIDING = ("waste_left_for_dumps", "synchronous_waste", "asynchronous_waste", "drain_bandwidth")
REQUEST = Input(131_072, origin="default", note=Message("read requests are 128 KiB", supply=("io_size",)), grade="assumed")
PACKED = Input(131_072, origin="default", grade="assumed",
               note=Message("files of many samples are read ahead, 128 KiB at a time", supply=("io_size",)))  # fmt: skip
START = Input(1, note="at the start of the plan")
STREAMED: Mapping[str, Any] = {"mode": "stream"}
Answered = TypeVar("Answered")


class Policy(NamedTuple):
    """The checkpoints of a job.

    Attributes:
        mode: `sync` or `async`.
        stated: the values of the site file, by quantity.
        steps: what follows, by quantity.
    """

    mode: str
    stated: Mapping[str, Step]
    steps: Mapping[str, Step]


@dataclass
class JobPlanner:
    """Plans the jobs of a site; equal jobs are estimated once.

    Attributes:
        site: the site.
        catalog: where entries come from.
        data: the row of each data set.
        questions: the `bw` question of each job, by its name.
        divisors: into how many equal parts the GPUs of a job are shared out by its checkpoint, by its name.
        policies: the checkpoints of each job, by its name.
    """

    site: Site
    catalog: Catalog
    data: Mapping[str, QuantityRow]
    warnings: dict[str, None] = field(default_factory=dict)
    questions: dict[str, Job] = field(default_factory=dict)
    divisors: dict[str, list[int]] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    _reading: dict[object, RateBasis] = field(default_factory=dict)
    _told: set[object] = field(default_factory=set)
    _saving: dict[object, Answer] = field(default_factory=dict)

    def rows(self) -> list[QuantityRow]:
        """One row per job.

        Raises:
            IngestError: a job that cannot be answered, with its line.
        """
        return [self._row(name, job) for name, job in self.site.section("jobs").items()]

    def node(self, job: Mapping[str, Any]) -> Node:
        """The node type of a job."""
        cluster = job["cluster"]
        source = self.site.section("clusters")[cluster]["node"]
        return self._ask(("clusters", cluster, "node"), lambda: self.catalog.get(Node, source))

    def _row(self, name: str, job: Mapping[str, Any]) -> QuantityRow:
        keys = ("jobs", name)
        given = {quantity: job[key] for key, quantity in OWN.items() if key in job}
        given |= {"nodes": job["nodes"], "gpus_per_node": from_catalog(self.node(job).gpus_per_node)}
        words = {"cluster": job["cluster"], "model": job.get("model", ""), "data": job.get("data", "")}
        if any(key in job for key in RATES):
            answer, reading = self._ask(keys, lambda: self._read(job))
            self.questions[name] = answer.job
            given = {**reading, **given}
            words |= {"basis": answer.levels[0].basis, "gpu": answer.gpu.id if answer.gpu else ""}
        given = {"request_bytes": REQUEST, "bandwidth_growth": START, **given}
        known = Quantities(given, name)
        checkpoints = None
        if "checkpoint" in job:
            checkpoints = self._ask((*keys, "checkpoint"), lambda: self._save(job, int(known.value("gpus")))).known
            stated = stated_in(job["checkpoint"], (*keys, "checkpoint"), name)
            self.divisors[name] = self._divisors(job, checkpoints.given)
            mode = job["checkpoint"].get("mode", "sync")
            own, done = {**in_place_of(stated), "gpus": known.step("gpus")}, dict[Step, Step]()
            steps = {quantity: replaced(step, own, done, name, SAVED) for quantity, step in _saved(checkpoints).items()}
            self.policies[name] = Policy(mode, stated, {**steps, "gpus": known.step("gpus")})
            known.adopt({quantity: step for quantity, step in steps.items() if quantity in SAVED})
            known.choose("writing_nodes", "nodes_at_once")
            words |= {"mode": mode}
        self._place(job, known)
        self._length(keys, job, known)
        self._opens(job, known)
        _request(job, known)
        return QuantityRow(name, words, known, checkpoints)

    def _ask(self, keys: Keys, question: Callable[[], Answered]) -> Answered:
        try:
            return question()
        except IngestError as error:
            self.site.refuse(keys, in_site_words(message_of(error)))

    def _read(self, job: Mapping[str, Any]) -> tuple[RateBasis, dict[str, Input]]:
        """What `bw` estimates the reads of a job from, and its inputs with those of the job itself."""
        settings = {key: parse(value, unit_of(key), f"set {key}") for key, value in job.get("set", {}).items()}
        numbers = {key: job[key] for key in NUMBERS if key in job}
        taken: dict[str, Input] = {}
        if "data" in job:
            described = self.data[job["data"]].known.given
            for theirs, ours in (("data_samples", "dataset_samples"), ("samples_in_file", "samples_per_file")):
                if theirs in described and ours not in settings:
                    settings[ours] = described[theirs].value
                    taken[ours] = described[theirs]
            if "data_sample_bytes" in described and described["data_sample_bytes"].origin == "user":
                numbers.setdefault("sample_bytes", described["data_sample_bytes"])
        words: dict[str, Any] = {key: job[key] for key in WORDS if key in job}
        node: str = self.site.section("clusters")[job["cluster"]]["node"]
        key: object = (node, *sorted(words.items()), *_figures(numbers), *sorted(settings.items()))
        if key not in self._reading:
            plain = {name: item.value for name, item in numbers.items()}
            question = Job(node=node, settings=settings, **words, **plain)
            self._warn((node, *sorted(words.items())), question)
            self._reading[key] = rate_basis_of(question, self.catalog)
        found = self._reading[key]
        # Equal questions are estimated once, yet each job keeps the inputs of its own keys.
        said = {Job.QUANTITIES[name]: item for name, item in numbers.items()}
        return found, {**found.known, **said, **taken}

    def _warn(self, kind: object, question: Job) -> None:
        """Ask `bw` once for each kind of job what to be wary of, and whether anything is missing.

        Raises:
            IngestError: what is missing.
        """
        if kind in self._told:
            return
        self._told.add(kind)
        answer = estimate(question, self.catalog)
        if answer.incomplete:
            raise IngestError(answer.incomplete)
        self.warnings |= dict.fromkeys(f"{question.model or 'job'}: {in_site_words(line)}" for line in answer.warnings)

    def _save(self, job: Mapping[str, Any], gpus: int) -> Answer:
        """The checkpoints of a job."""
        policy: Mapping[str, Any] = job["checkpoint"]
        numbers = {name: item for name, item in policy.items() if isinstance(item, Input)}
        words = {name: policy[name] for name in POLICY_WORDS if name in policy}
        settings = {name: parse(value, unit_of(name), f"set {name}") for name, value in policy.get("set", {}).items()}
        settings |= {quantity: numbers.pop(key).value for key, quantity in SIZED.items() if key in numbers}
        model = policy.get("model") or (None if "parameters" in settings else job.get("model"))
        asked = (*sorted(words.items()), *_figures(numbers), *sorted(settings.items()))
        key = (model, gpus, job.get("gpu"), job["cluster"], *asked)
        if key not in self._saving:
            options: dict[str, Any] = {name: item.value for name, item in numbers.items()}
            gpu = job.get("gpu") or self.node(job).gpu
            found = checkpoint(model, gpus=gpus, gpu=gpu, set=settings, catalogs=self.catalog, **words, **options)
            if found.unmet:
                raise IngestError(found.unmet)
            self._saving[key] = found
            self.warnings |= dict.fromkeys(f"{model or 'job'}: {in_site_words(line)}" for line in found.warnings)
        return self._saving[key]

    def _divisors(self, job: Mapping[str, Any], given: Mapping[str, Input]) -> list[int]:
        """The GPUs that share one copy of the model, published or given, and those that share its experts."""
        policy = job["checkpoint"]
        shards = _product(given.get("tensor_parallel"), given.get("pipeline_parallel")) or self._published(job)
        experts = int(parse(policy.get("expert_parallel", 1), "1", "expert_parallel"))
        return [parts for parts in (shards, shards * experts if experts > 1 else 1) if parts > 1]

    def _published(self, job: Mapping[str, Any]) -> int:
        """The GPUs that share one copy of the model in its published training; 1 where that is not known."""
        source = str(job["checkpoint"].get("model") or job.get("model", ""))
        entry = self.catalog.get(Model, source) if source.lower() in self.catalog.ids(Model.kind) else None
        if entry is None or "parameters" in job["checkpoint"]:
            return 1
        return _product(*(part and from_catalog(part) for part in (entry.tensor_parallel, entry.pipeline_parallel))) or 1

    def _place(self, job: Mapping[str, Any], known: Quantities) -> None:
        """Where the job reads from: storage, or the NVMe of its nodes."""
        placed = job.get("placement", STREAMED)
        cluster = self.site.section("clusters")[job["cluster"]]
        nvme = cluster.get("nvme") or self._nvme(job)
        if nvme is not None:
            known.give({"node_nvme_bytes": nvme})
        if "data" in job:
            data = self.data[job["data"]].known
            read = data.steps.get("dataset_bytes") or data.step("data_bytes")
            known.link("job_dataset_bytes", read)
            known.choose("staged_bytes", "staged_bytes_each" if placed.get("each") else "job_dataset_bytes")
        if placed["mode"] == "stage":
            local = Input(0, note="staged: the run reads from its nodes")
            known.give({"cold_share": local, "warm_share": local, "staging_seconds_allowed": placed["within"]})
            known.choose("staging_nodes", "nodes_at_once")
            known.choose("node_local_bytes", "node_bytes_whole" if placed.get("each") else "node_bytes_shared")
        if placed["mode"] == "cache":
            if "hit" in placed:
                known.give({"node_cache_hit": placed["hit"]})
            known.choose("node_cache_hit", "cache_hit_possible")
            known.choose("warm_share", "share_not_cached")
            known.choose("node_local_bytes", "node_cache_bytes")

    def _nvme(self, job: Mapping[str, Any]) -> Input | None:
        found = self.node(job).nvme_bytes
        return from_catalog(found) if found is not None and found.value else None

    def _length(self, keys: Keys, job: Mapping[str, Any], known: Quantities) -> None:
        """The length of a run, where epochs or tokens give it."""
        if "tokens" in job:
            known.choose("training_samples", "samples_of_tokens")
        elif "epochs" in job:
            try:
                self._epoch(job, known)
                known.choose("training_samples", "samples_of_epochs")
            except MissingQuantity:
                expected = "expected `samples` of the data set, or its tokens and `tokens_per_sample` of the job"
                self.site.refuse((*keys, "epochs"), f"the samples of one epoch are not known, {expected}")

    def _epoch(self, job: Mapping[str, Any], known: Quantities) -> None:
        """One pass is over the data set that the job names, not over the one that its model is known for.

        Raises:
            MissingQuantity: the samples of the data set are not known.
        """
        if "data" not in job or "dataset_samples" in job.get("set", {}):
            return
        data = self.data[job["data"]].known
        if "data_samples" in data.given:
            return
        known.withdraw("dataset_samples")
        counted = next((name for name in ("data_tokens", "tokens") if name in data.given), None)
        if counted is not None:
            known.link("data_tokens", data.step(counted))
            known.choose("dataset_samples", "samples_of_data_tokens")
        elif "dataset_samples" in data.given:
            known.adopt({"dataset_samples": data.step("dataset_samples")})

    def _opens(self, job: Mapping[str, Any], known: Quantities) -> None:
        """Samples in a file, where only the size of a file is known."""
        described = self.data[job["data"]].known.given if "data" in job else {}
        if "samples_per_file" not in known.given and {"sample_bytes"} <= known.given.keys() and "file_bytes" in described:
            known.give({"file_bytes": described["file_bytes"]})
            known.choose("samples_per_file", "samples_of_file_bytes")


def _product(*parts: Input | None) -> int:
    """Of what is given; 0 where nothing is."""
    found = [int(part.value) for part in parts if part is not None]
    return math.prod(found) if found else 0


def _saved(known: Quantities) -> dict[str, Step]:
    """The known checkpoint quantities that the row of a job takes or that rules compare."""
    return {name: known.steps.get(name) or known.step(name) for name in (*SAVED, *DECIDING) if _computable(known, name)}


def _request(job: Mapping[str, Any], known: Quantities) -> None:
    """The size of one read: of a sample, of a read-ahead, or of all outstanding requests of a reader."""
    if not _computable(known, "sample_bytes"):
        return
    if not (_computable(known, "samples_per_file") and known.value("samples_per_file") > 1):
        known.choose("read_request_bytes", "request_of_sample")
    elif job.get("pattern") == "sequential":
        known.choose("read_request_bytes", "request_bytes")
    else:
        known.give_default("packed_read_bytes", PACKED)
        known.choose("read_request_bytes", "request_of_packed_samples")


def family_of(job: Mapping[str, Any], catalog: Catalog) -> str:
    """The class of a job's model, for factors that were published for one class only; empty where it is not known."""
    source = str(job.get("model", ""))
    return catalog.get(Model, source).family if source.lower() in catalog.ids(Model.kind) else ""


def _figures(numbers: Mapping[str, Input]) -> list[tuple[str, object]]:
    """Quantities as part of a question; the place in the file matters only to those with a range."""
    return [(name, item.value if item.low is None else item) for name, item in sorted(numbers.items())]


def _computable(known: Quantities, name: str) -> bool:
    if name in known.steps:
        return True
    try:
        known.step(name)
    except MissingQuantity:
        return False
    return True


def stated_in(policy: Mapping[str, Any], keys: Keys, job: str) -> dict[str, Step]:
    """The numbers that a checkpoint policy states, each with its key in the site file.

    Args:
        policy: as it was read.
        keys: its place in the file.
        job: the owner of those that the row of a job takes.
    """
    named = {**QUANTITIES, **SIZED}
    found = {named[key]: item for key, item in policy.items() if isinstance(item, Input)}
    for name, written in policy.get("set", {}).items():
        value = parse(written, unit_of(name), f"set {name}")
        found[name] = Input(value, origin="user", where=".".join((*keys, "set", name)))
    kept = kept_by_policy(policy.get("keep"))
    if isinstance(policy.get("keep"), str):
        # One text gives several numbers: none of them has a key of its own.
        found |= {name: item._replace(note=f"of {'.'.join((*keys, 'keep'))}") for name, item in kept.items()}
    else:
        found |= {name: item._replace(where=".".join((*keys, "keep"))) for name, item in kept.items()}
    return {name: Step(name, item.value, None, (), item, job if name in SAVED else "") for name, item in found.items()}


def in_place_of(stated: Mapping[str, Step]) -> dict[str, Step]:
    """The inputs of a checkpoint answer that a policy states: a stated write bandwidth is that of the dumps."""
    rate = stated.get("write_bandwidth")
    dumped = {} if rate is None else {"checkpoint_write_bandwidth": linked("checkpoint_write_bandwidth", rate)}
    return {**stated, **dumped}
