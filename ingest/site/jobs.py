"""Each job of a site as a row: its `bw` estimate, its checkpoints, where it reads from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ingest.architecture.structure import numbers_in
from ingest.catalog.records import READ_PATTERNS, WITHOUT_GPUS, Format, Model, Node
from ingest.catalog.store import Catalog
from ingest.engine.derivation_graph import QuantityRow
from ingest.engine.messages import Option, rule_of
from ingest.engine.registry import Step, read_value, steps_below
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, assumed, derived, revised
from ingest.errors import CatalogError, IngestError, MissingQuantity, RequirementNotMet, expected_one_of
from ingest.site.datasets import REPACKED, mixed_bytes_of, model_of, read_of_mixture, sizes_in
from ingest.site.schema import loads_of_jobs, quantities_at
from ingest.site.site_file import Keys, Site
from ingest.site.tiers import place_states
from ingest.sizing.bandwidth import MIXED, estimate, sizes_unused
from ingest.sizing.checkpoint import QUANTITIES, asked_results, contradicted, kept_by_policy, saved_checkpoints, unused_options
from ingest.sizing.checkpoint_schedule import USUAL_MODE
from ingest.sizing.evidence_choice import RateBasis, disputed, rate_basis_of
from ingest.sizing.evidence_ladder import RATE, from_catalog
from ingest.sizing.job import QUANTITIES as JOB_QUANTITIES
from ingest.sizing.job import SAMPLE_BYTES, TOKENS, Job, batch_of, by_option, check_sample, encoding_in
from ingest.sizing.post_training import QUANTITIES as RL_OPTIONS
from ingest.sizing.post_training import post_training
from ingest.sizing.resolve import foreign_size, reads_again
from ingest.sizing.rules import LARGE_REQUEST, PAGE_CACHE, WARM_UP_SECONDS, contradictions, finding, messages, unused
from ingest.sizing.vectors import QUANTITIES as INDEX_OPTIONS
from ingest.sizing.vectors import WAITED, indexed, planned

#: keys of a job that are words of a question
WORDS = ("model", "gpu", "basis", "protocol", "encoding", "precision", "scaling")
#: keys of a job that are quantities of a question
NUMBERS = ("nodes", "efficiency", "achieved", "utilization", "samples_per_second", "sample_bytes", "flops_per_sample",
           "sequence_length", "cache_hit")  # fmt: skip
#: keys that give the read rate of a job; at least one of them
RATES = ("model", "samples_per_second", "set")
#: keys of a checkpoint policy that `checkpoint` takes as they are
POLICY_WORDS = ("mode", "readers", "failures", "optimizer", "layout", "precision", "keep", "zero_stage", "expert_parallel")
#: keys of a job and the quantity that each is
OWN = quantities_at("jobs.*", "runs share epochs tokens tokens_per_sample io_size readers starts warm_up memory_share")
#: Warnings of `bw` that the lines of a site answer: R-READ-04 requires of any client what an NFS mount may not deliver.
ANSWERED = frozenset({"W08", "W09", "W61", "W67", "W69"})
#: Warnings of `bw` about the data set that the model is known for; a job of a site reads its own.
OF_THE_MODELS_DATA = frozenset({"W14", "W16"})
#: keys of `rl` and the quantity that each is
RL_QUANTITIES = {**RL_OPTIONS, "changed_share": "changed_share"}
#: quantities of a data set that the `bw` estimate of its jobs takes, and what they are called there
OF_DATA = {"data_samples": "dataset_samples", "samples_in_file": "samples_per_file"}
#: what the row of a job takes from the answer about its checkpoints
SAVED = (
    "checkpoint_bytes", "checkpoint_files", "checkpoint_interval", "checkpoint_write_bandwidth", "checkpoint_dump_seconds",
    "checkpoint_stall_seconds", "checkpoint_stall_fraction", "staging_overhead", "writing_overhead", "lost_work_overhead",
    "checkpoint_overhead", "total_overhead", "drain_duty", "checkpoint_bytes_written_per_day",
    "checkpoint_retained_bytes", "checkpoints_retained", "restart_read_bytes", "restart_read_bandwidth", "restart_seconds",
    "job_mean_time_to_interrupt",
)  # fmt: skip
#: what the row of a job of reinforcement learning takes from the answer about it: of its trainers, and of its rollout hosts
PUBLISHED = ("publish_bytes", "publish_seconds", "publish_write_bandwidth", "anchor_write_bandwidth", "weights_retained_bytes",
             "weights_written_per_day", "sync_share")  # fmt: skip
PULLED = ("publish_bytes", "pull_seconds", "pull_read_bandwidth", "anchor_read_bandwidth", "join_seconds", "join_read_bytes",
          "join_read_bandwidth")  # fmt: skip
TRACED = ("trace_write_bandwidth", "trace_bytes_per_day", "traces_retained_bytes")
#: keys of a checkpoint policy that say how large a checkpoint is, and the quantity that each is
SIZED = {"parameters": "parameters", "bytes": "checkpoint_bytes"}
#: what a refusal says of a checkpoint below `set`, and the key that a policy has for it
OWN_KEYS = {f"set.{quantity}": f"checkpoint.{key}" for key, quantity in SIZED.items()}
#: further quantities that rules compare
DECIDING = ("waste_left_for_dumps", "waste_left_after_restores", "restart_overhead",
             "bandwidth_for_dump")  # fmt: skip
#: the case from which the request size follows, by the read pattern of a format
REQUESTS = {
    "whole files": "whole_files_read",
    "shards": "large_requests",
    "row groups": "row_groups_read",
    "random records": "random_records_read",
    "packed": "packed_samples_read",
    "": "single_samples_read",
}
#: read patterns that are sequential whatever the request size; row groups are where a request is large
SEQUENTIAL = ("whole files", "shards")
#: format of files of one sample whose format is not known
WHOLE_FILES = "file-per-sample"
REQUEST = assumed(131_072, "the format of the data is not known: read requests are 128 KiB", "io_size", "format of its data")
PACKED = assumed(131_072, "files of many samples are read ahead, 128 KiB at a time", "io_size")
READERS = assumed(4, "4 loader workers per GPU", "readers", source="pytorch-examples", where="imagenet/main.py, --workers")
PREFETCH = Input(2, source="pytorch", where="torch.utils.data.DataLoader, prefetch_factor").by_default(
    "each worker reads 2 batches ahead", "loader.prefetch"
)
PAGE = Input(4096, note="page of x86 and most Arm servers")
MEMORY_SHARE = assumed(PAGE_CACHE, "half of the host memory of a node caches its data set", "memory_share")
WARM_UP = assumed(WARM_UP_SECONDS, "caches fill within 10 min of the start of a run", "warm_up")
START = Input(1, note="at the start of the plan")
STREAMED: Mapping[str, Any] = {"mode": "stream"}
#: times that hold unless the site file names others, by the key of a job
TIMES = {
    "start": {"start_seconds": assumed(60, "a job has read its environment within 60 s", "start.within")},
    "export": {"export_seconds": assumed(600, "a model is exported within 10 min", "export.within")},
    "evaluation": {"evaluation_seconds": assumed(60, "an evaluation has read its data within 60 s", "evaluation.within")},
}


class Policy(NamedTuple):
    """The checkpoints of a job."""

    mode: str  # `sync` or `async`
    stated: Mapping[str, Step]  # the values of the site file, by quantity
    steps: Mapping[str, Step]  # what follows, by quantity
    divisors: tuple[int, ...]  # into how many equal parts the checkpoint shares out the GPUs of the job
    known: Quantities  # the quantities of `checkpoint`
    warnings: tuple[str, ...]  # of `checkpoint`


class JobPlan(NamedTuple):
    """The plan of one job; `question` is of `bw`, None where it does not read.

    `is_sized` tells whether its rate was looked up for its number of GPUs.
    """

    row: QuantityRow
    question: Job | None
    policy: Policy | None
    warnings: tuple[str, ...]
    is_sized: bool


def plan_jobs(site: Site, catalog: Catalog, data: Mapping[str, QuantityRow]) -> list[JobPlan]:
    """The plan of each job; `data` holds the row of each data set.

    Raises IngestError: a job that cannot be answered, with its line.
    """
    answers: dict[object, Any] = {}
    return [
        SiteJob(name, job, site, catalog, data[job["data"]].known if "data" in job else None, answers).plan()
        for name, job in site.section("jobs").items()
    ]


@dataclass(frozen=True)
class SiteJob:
    """A job of a site file; `answers` are those to the questions of all jobs: equal questions are answered once."""

    name: str
    described: Mapping[str, Any]
    site: Site
    catalog: Catalog
    data: Quantities | None
    answers: dict[object, Any]

    @property
    def keys(self) -> Keys:
        """Its place in the file."""
        return "jobs", self.name

    @property
    def cluster(self) -> Mapping[str, Any]:
        """The keys of its cluster."""
        found: Mapping[str, Any] = self.site.section("clusters")[self.described["cluster"]]
        return found

    @cached_property
    def node(self) -> Node:
        """Its node type."""
        keys = ("clusters", self.described["cluster"], "node")
        with self.site.blaming(keys):
            return self.catalog.get(Node, self.cluster["node"])

    def plan(self) -> JobPlan:
        """Its plan. Raises IngestError: it cannot be answered; with its line."""
        job = self.described
        if "index" in job:
            return self._indexed()
        sizes = {"nodes": job["nodes"], "gpus_per_node": from_catalog(self.node.gpus_per_node)}
        own = {quantity: job[key] for key, quantity in OWN.items() if key in job}
        own |= {"readers_per_gpu": job["loader"]["workers"]} if "loader" in job else {}
        basis: RateBasis | None = None
        given: Mapping[str, Input] = {}
        told: tuple[str, ...] = ()
        if any(key in job for key in RATES) and "rl" not in job:
            with self.site.blaming(self.keys):
                basis, given, told = self._reads()
        model = basis.model if basis is not None else None
        stored, written = model.tokens_per_sample if model is not None else None, job.get("tokens_per_sample")
        if model is not None and stored is not None and written is not None and written.value != stored.value:
            # Tokens per sample that contradict the model would give the length of another run.
            one = f"one sample of {model.id} is one {model.sample_unit}"
            expected = f"expected {stored.value:,.0f}, because {one}; leave the key out"
            self.site.refuse((*self.keys, "tokens_per_sample"), f"found {written.value:,.0f}, {expected}")
        inputs = {"bandwidth_growth": START, **given, **own, **sizes}
        mixture = self.data if self.data is not None and self.data.find("mixed_bytes") and "sample_bytes" not in job else None
        read = {} if mixture is None else read_of_mixture(mixture)
        left_out = {*read, *(("sample_bytes",) if mixture is not None else ())}
        if self._counts_epochs(read):
            left_out.add("dataset_samples")
        known = Quantities({name: item for name, item in inputs.items() if name not in left_out}, self.name)
        for name, step in read.items():
            known.link(name, step)
        if mixture is not None and "sample_bytes" not in read:
            known.link("mixed_token_bytes", mixture.step("mixed_token_bytes"))
            known.link("sample_bytes", known.step("mixed_bytes_of_tokens"))
        policy = self._policy(known.step("gpus")) if "checkpoint" in job else None
        if policy is not None:
            # What the policy sets is the job's own, as what follows from its keys.
            saved = {name: step for name, step in policy.steps.items() if name in SAVED}
            known.adopt({name: step if step.owner else step._replace(owner=self.name) for name, step in saved.items()})
        if "offload" in job:
            place_states(
                self.site, self.name, self.node, known, self.catalog, stops=policy is not None and policy.mode == "sync"
            )
        told += self._post_train(known) if "rl" in job else ()
        self._place(known)
        self._length(known, model)
        self._cache(known)
        known.state("data_read", *(["rate_disputed"] if "suggested_rate" in known.given else ()))
        words = {"cluster": job["cluster"], "model": job.get("model", ""), "data": job.get("data", "")}
        if basis is not None:
            words |= {"basis": basis.level.basis, "gpu": basis.gpu.id if basis.gpu else ""}
        words |= self._request(known, model)
        words |= {"mode": policy.mode} if policy else {}
        row = QuantityRow(self.name, words, known, policy and policy.known)
        if basis is not None and MIXED not in known.cases and sizes_in(self.site, job.get("data", "")) is not None:
            told += tuple(messages([sizes_unused(known)]))
        warnings = (*told, *(policy.warnings if policy else ()), *contradictions(known, _settings(job)))
        sized = basis is not None and basis.level.is_sized and basis.job.scaling == "published"
        return JobPlan(row, basis and basis.job, policy, warnings, sized)

    def _once(self, question: object, answer: Callable[[], Any]) -> Any:
        """The answer to a question, computed where no job has put it before."""
        if question not in self.answers:
            self.answers[question] = answer()
        return self.answers[question]

    def _reads(self) -> tuple[RateBasis, Mapping[str, Input], tuple[str, ...]]:
        """The rate of the job by its `bw` question, the inputs of that estimate with those of the job itself, its warnings."""
        job = self.described
        settings = _settings(job)
        numbers = {key: job[key] for key in NUMBERS if key in job}
        given = self.data.given if self.data is not None else {}
        taken = {ours: given[theirs] for theirs, ours in OF_DATA.items() if theirs in given and ours not in settings}
        settings |= {name: item.value for name, item in taken.items()}
        mixed = mixed_bytes_of(self.data, job.get("tokens_per_sample")) if self.data is not None else None
        if mixed is not None:
            numbers.setdefault("sample_bytes", Input(mixed, origin="user"))
        each = given.get("data_sample_bytes")
        # What another reader of a model's data set says of its samples is none of this job's business.
        others = self.site.readers[job["data"]].values() if each is not None else ()
        if each is not None and each.origin == "user" and all(one.get("sample_bytes") is not each for one in others):
            numbers.setdefault("sample_bytes", each)
        stated = numbers.get("sample_bytes")
        model = model_of(job, self.catalog)
        if stated is not None and "sample_bytes" in job:
            check_sample(Job(settings=settings, numbers={SAMPLE_BYTES: stated.value}), model, None)
        foreign = foreign_size(model, job.get("encoding"), stated, job)
        if "touched" in job:
            numbers["sample_bytes"] = job["touched"]
        elif foreign is not None:
            # No rate was measured on such samples: what a step reads of one is asked for, not multiplied.
            numbers["sample_bytes"] = foreign
        words: dict[str, Any] = {key: job[key] for key in WORDS if key in job}
        plain = {name: item.value for name, item in numbers.items()}
        batch = batch_of({**settings, **({TOKENS: job["tokens"].value} if "tokens" in job else {})})
        question = Job(node=self.cluster["node"], settings=settings, numbers=plain, batch_tokens=batch, **words)
        kind = (self.cluster["node"], str(job.get("set")), *sorted(words.items()))
        told = ("warnings", "data" in job, "checkpoint" in job, "dataset_samples" in settings, plain.get("cache_hit"), *kind)
        warnings: tuple[str, ...] = self._once(told, lambda: self._warnings(question))
        asked = (*kind, batch, *sorted(plain.items()), *sorted(settings.items()))
        basis: RateBasis = self._once(("reads", *asked), lambda: rate_basis_of(question, self.catalog))
        # Equal questions are estimated once, yet each job keeps the inputs of its own keys.
        said = {JOB_QUANTITIES[name]: item for name, item in numbers.items()}
        # The guidance of the highest level is what `bw` compares with; a site has its own floor.
        own = {name: item for name, item in basis.known.items() if name != "guidance_read_bandwidth"}
        dispute = disputed(basis.level, basis.others)
        if dispute is not None:
            own[RATE] = dispute.supported
            own["suggested_rate"] = derived(dispute.suggested, dispute.words)
        if foreign is not None and stated is not None and "touched" not in job:
            own |= {"stated_sample_bytes": stated, "measured_sample_bytes": foreign}
        return basis, {**own, **said, **taken}, warnings

    def _warnings(self, question: Job) -> tuple[str, ...]:
        """The warnings of `bw`, which are asked for once for each kind of job. Raises IngestError: what is missing."""
        # What fits the caches is judged by the data set of the site, not by the one that the model is known for, unless stated.
        own = {"cache_hit_fraction": question.numbers.get("cache_hit", 0.0), **question.settings}
        answer = estimate(revised(question, settings=own), self.catalog)
        if answer.incomplete:
            raise IngestError(answer.incomplete)
        answered = set(ANSWERED)
        if self.data is not None and "dataset_samples" not in question.settings:
            answered |= OF_THE_MODELS_DATA
        if "checkpoint" in self.described:
            answered.add("W07")
        return tuple(line for line in answer.warnings if rule_of(line) not in answered)

    def _policy(self, gpus: Step) -> Policy:
        """The checkpoints of the job; a stated limit that is not met is refused."""
        policy, keys = self.described["checkpoint"], (*self.keys, "checkpoint")
        with self.site.blaming(keys, OWN_KEYS):
            inputs = stated_in(policy, keys)
            numbers = {name: item.value for name, item in policy.items() if isinstance(item, Input)}
            words = {name: policy[name] for name in POLICY_WORDS if name in policy}
            settings = _settings(policy) | {SIZED[key]: numbers.pop(key) for key in SIZED if key in numbers}
            asked = {**words, **numbers, "gpus": int(gpus.value), "gpu": self.described.get("gpu") or self.node.gpu}
            named = self.described.get("model") or numbers_in(_settings(self.described)) or None
            asked["model"] = policy.get("model") or (None if "parameters" in settings else named)
            found = saved_checkpoints(asked, settings, self.catalog, {"gpus": gpus}, inputs, self.name, relaxed=True)
            if found.unmet:
                raise RequirementNotMet(found.unmet)
            known = found.known
            missed, further = asked_results(found)
            results = [name for name, step in known.find_all((*missed, *further)).items() if name in missed or step.value]
            told = (*found.warnings, *unused_options(found, results, settings), *contradicted(known, _settings(policy)))
        stated = known.steps_of(*inputs)
        steps = {**known.find_all((*SAVED, *DECIDING)), "gpus": gpus}
        # The GPUs that share one copy of the model, as stated, and those that share its experts.
        sizes = (known.given.get(name) for name in ("tensor_parallel", "pipeline_parallel"))
        shards = math.prod(int(size.value) for size in sizes if size is not None and size.origin == "user")
        experts = int(read_value("expert_parallel", policy.get("expert_parallel", 1)))
        divisors = tuple(parts for parts in (shards, shards * experts if experts > 1 else 1) if parts > 1)
        return Policy(policy.get("mode", USUAL_MODE), stated, steps, divisors, known, told)

    def _post_train(self, known: Quantities) -> tuple[str, ...]:
        """Versions that the job publishes, or that its rollouts pull, and traces; the cautions about them."""
        described, rollouts = self.described["rl"], "rollouts_of" in self.described
        keys = "jobs", self.described.get("rollouts_of", self.name), "rl"
        with self.site.blaming(keys):
            numbers = {RL_QUANTITIES[key]: item for key, item in described.items() if isinstance(item, Input)}
            numbers.setdefault("rollout_hosts", Input(0, note="training and rollouts on the same GPUs"))
            words = {key: word for key, word in described.items() if isinstance(word, str) and key != "rollout_cluster"}
            asked = {"model": self.described.get("model"), **words}
            found = post_training(asked, _settings(self.described), self.catalog, numbers, self.name)
            travels = found.known.value("versions_published") > 0
            if travels:
                found.known.step("version_seconds")
        traced = [name for name in TRACED if name not in found.left_out] if rollouts or not travels else []
        versions = (PULLED if rollouts else PUBLISHED) if travels else ()
        known.adopt({name: found.known.step(name) for name in (*versions, *traced)})
        return () if rollouts else found.warnings

    def _indexed(self) -> JobPlan:
        """The plan of a vector index: what its queries read, its copies load, its rebuilds write, and what it holds."""
        described, gpus = self.described["index"], {}
        if self.cluster["node"] != WITHOUT_GPUS:
            gpus["gpus_per_node"] = from_catalog(self.node.gpus_per_node)
        known = Quantities({"nodes": self.described["nodes"], "bandwidth_growth": START, **gpus}, self.name)
        with self.site.blaming(("indexes", self.name)):
            numbers = {name: described[key] for key, name in INDEX_OPTIONS.items() if isinstance(described.get(key), Input)}
            measured = {"documents": self.site.folder / described["measured"]} if "measured" in described else {}
            found = indexed({**described, **measured}, numbers, self.catalog, self.name).known
            local = described.get("tier") == "nodes"
            try:
                known.adopt(found.steps_of(*planned(found, on_nodes=local)))
            except MissingQuantity as error:
                raise IngestError(by_option(INDEX_OPTIONS, error.args[0])) from error
        if reads := "query_block_bytes" in known.steps:
            known.link("read_request_bytes", known.step("query_block_bytes"))
        if local:
            self._drives(known)
            known.state("index_on_nodes")
        if reads and "query_latency" in numbers:
            known.adopt(found.steps_of(*WAITED))
        used = {step.name for step in steps_below(known.steps.values())} | {"queries_per_second"}
        told = [unused(Option(key)) for key, name in INDEX_OPTIONS.items() if name in numbers and name not in used]
        growth = self.described.get("growth") or self.site.section("growth")
        told += messages([finding("W106", words={"growth": "yes" if "add" in growth else ""})])
        words = {"cluster": self.described["cluster"], "pattern": "random"}
        return JobPlan(QuantityRow(self.name, words, known, None), None, None, tuple(told), False)

    def _place(self, known: Quantities) -> None:
        """Where the job reads from: storage, or the NVMe of its nodes."""
        placed = self.described.get("placement", STREAMED)
        self._drives(known)
        if self.data is not None:
            known.link("job_dataset_bytes", self.data.steps.get("dataset_bytes") or self.data.step("data_bytes"))
            known.state("copied_to_each_node" if placed.get("each") else "copied_once")
        if placed["mode"] == "stage":
            local = Input(0, note="staged: the run reads from its nodes")
            known.give({"cold_share": local, "warm_share": local, "staging_seconds_allowed": placed["within"]})
            known.state("staged_on_nodes", "staged_whole" if placed.get("each") else "staged_in_shares")

    def _drives(self, known: Quantities) -> None:
        """The NVMe of its nodes, as the cluster states it or as it is known of their type."""
        nvme = None if self.cluster["node"] == WITHOUT_GPUS else self.node.nvme_bytes
        if "nvme" in self.cluster:
            known.give({"node_nvme_bytes": self.cluster["nvme"]})
        elif nvme is not None and nvme.value:
            known.give({"node_nvme_bytes": from_catalog(nvme)})

    def _cache(self, known: Quantities) -> None:
        """What the nodes cache of a data set that they read again: host memory, or their NVMe where `placement` says so."""
        placed, data = self.described.get("placement", STREAMED), self.data
        memory, on_drives = self.node.host_memory_bytes, placed["mode"] == "cache"
        hit = known.given.get("cache_hit_fraction")
        if (given := hit is not None and hit.origin == "user") and hit and hit.value == 1:
            known.give({"drawn_share": Input(1, note="no GPU waits for reads that never leave the node")})
        if given or placed["mode"] == "stage" or data is None or not self._reads_again(known) or not (on_drives or memory):
            return
        if memory is not None and not on_drives:
            known.give({"host_memory_per_node": from_catalog(memory)})
            known.give_default("cache_memory_share", MEMORY_SHARE)
        shared = placed.get("partitioned", False)
        if "hit" in placed:
            known.give({"node_cache_hit": placed["hit"]})
            known.state("cache_hits_stated")
        else:
            if on_drives and "node_nvme_bytes" not in known.given:
                lacking = f"the NVMe of {self.node.id} is not known, expected `nvme`: {self.name} caches there"
                self.site.refuse(("clusters", self.described["cluster"]), lacking, kind=IngestError)
            if "job_cache_bytes" not in known.given:
                known.link("job_cache_bytes", known.step("node_nvme_bytes" if on_drives else "cache_bytes_per_node"))
            known.state("cache_hits_estimated")
        known.state("data_cached", "cache_partitioned" if shared else "cache_of_each_node")
        known.give_default("warm_up_seconds", WARM_UP)
        if on_drives:
            known.state("cached_on_drives")

    def _reads_again(self, known: Quantities) -> bool:
        """Whether a run reads its data set more than once: by its epochs or tokens, else by the family of its model."""
        job, placed = self.described, self.described.get("placement", STREAMED)
        if "hit" in placed:
            return True
        if "epochs" in job:
            return known.value("training_epochs") > 1
        if "tokens" in job:
            counted = self._tokens_counted()
            if counted is not None and "data_tokens" not in known.steps:
                known.link("data_tokens", counted)
            return counted is not None and known.value("training_tokens") > float(counted.value)
        return placed["mode"] == "cache" or reads_again(model_of(job, self.catalog))

    def _tokens_counted(self) -> Step | None:
        """The tokens of the data set, where they are known."""
        data = self.data
        name = next((name for name in ("data_tokens", "tokens") if data is not None and name in data.given), None)
        return data.step(name) if data is not None and name is not None else None

    def _length(self, known: Quantities, model: Model | None) -> None:
        """The length of a run, where epochs or tokens give it."""
        if "tokens" in self.described:
            if model is not None and model.tokens_per_sample is None:
                self.site.refuse((*self.keys, "tokens"), f"found with {model.id}, whose samples have no tokens")
            if "tokens_per_sample" not in known.given:
                self.site.refuse((*self.keys, "tokens"), "expected `tokens_per_sample` with it, because no model gives it")
            known.state("length_in_tokens")
        elif "epochs" in self.described:
            data, counted = self.data, self._tokens_counted()
            try:
                # One pass is over the data set that the job names.
                if data is not None and self._counts_epochs(known.steps):
                    if counted is not None:
                        known.link("data_tokens", counted)
                        known.link("dataset_samples", known.step("samples_of_data_tokens"))
                    elif "dataset_samples" in data.given:
                        known.adopt(data.steps_of("dataset_samples"))
                    elif (held := data.find("data_bytes")) is not None:
                        known.link("dataset_bytes", held)
                        known.link("dataset_samples", known.step("samples_of_dataset"))
                known.state("length_in_epochs")
                known.step("training_samples")
            except MissingQuantity:
                expected = "expected `bytes` or `samples` of the data set, or its tokens and `tokens_per_sample` of the job"
                self.site.refuse((*self.keys, "epochs"), f"the samples of one epoch are not known, {expected}")

    def _counts_epochs(self, read: Mapping[str, Step]) -> bool:
        """Whether epochs are counted over the data set that the job names, not over the one that its model is known for."""
        job, data = self.described, self.data
        own = data is not None and "dataset_samples" not in job.get("set", {}) and "data_samples" not in data.given
        return own and "epochs" in job and "tokens" not in job and "dataset_samples" not in read

    def _place_files(self, known: Quantities) -> None:
        """Let the files that the data set states hold for the reads of the job, not those of the model's own data set."""
        data = self.data
        if data is None or "samples_in_file" in data.given or "samples_per_file" in self.described.get("set", {}):
            return
        if {"data_samples", "data_files"} <= data.given.keys():
            known.link("samples_per_file", data.step("samples_of_files"))
        elif {"file_bytes", "data_files"} & data.given.keys():
            known.link("file_bytes", data.step("file_bytes" if "file_bytes" in data.given else "mean_bytes_of_files"))
            known.link("samples_per_file", known.step("samples_of_file_bytes"))

    def _request(self, known: Quantities, model: Model | None) -> dict[str, str]:
        """Choose the size of one read and the readers of a node; returns the pattern of the reads and its origin in words."""
        if known.find("sample_bytes") is None:
            return {}
        self._place_files(known)
        form, how, pattern_from = self._how_read(known, model)
        # What a format says of the reads of its files, and what is usual where it is unknown.
        known.give_default("page_bytes", PAGE)
        if form is None:
            known.give_default("packed_read_bytes", PACKED)
        known.give_default("loader_prefetch", PREFETCH)
        for name, usual in (("request_bytes", REQUEST), ("readers_per_gpu", READERS)):
            value = getattr(form, name, None)
            known.give_default(name, usual if value is None else from_catalog(value)._replace(origin="default"))
        if form is not None and form.records_per_shard is not None and known.find("samples_per_file") is None:
            known.give({"samples_per_file": from_catalog(form.records_per_shard)})
        if form is not None and form.records_per_group is not None:
            known.give_default("records_per_group", from_catalog(form.records_per_group))
        if model is not None and model.sequence_length is not None:
            known.give_default("sequence_length", from_catalog(model.sequence_length))
        known.state(REQUESTS[how if "io_size" not in self.described or how == "whole files" else "shards"], "loaders_read")
        mix = sizes_in(self.site, self.described.get("data", ""))
        if mix is not None and how == "whole files":
            known.link("largest_request_bytes", known.step("request_bytes"))
            mix.place(known, "class_requests", "class_small_share")
            known.state(MIXED)
        if "threads" in self.described:
            stated = Input(self.described["threads"], origin="user", where=".".join((*self.keys, "threads")))
            known.give({"readers_per_node": stated})
        if how == "row groups":
            pattern_from, large = "read_request_bytes", known.value("read_request_bytes") >= LARGE_REQUEST
        else:
            large = how in SEQUENTIAL
        words = {"pattern": "sequential" if large else "random", "pattern_from": pattern_from}
        if "pattern" in self.described:
            words = {"pattern": str(self.described["pattern"]), "pattern_from": "pattern"}
        return {**words, "format": form.id} if form is not None else words

    def _how_read(self, known: Quantities, model: Model | None) -> tuple[Format | None, str, str]:
        """The format of the data, the key of `REQUESTS`, and which of `format` and `samples_per_file` decided that.

        The format is that of the data set that the job names, else that of the encoding of its model.
        """
        described = self.site.section("datasets").get(self.described.get("data", ""), {})
        form = None
        if "format" in described:
            form = self.catalog.get(Format, described["format"])
        elif "model" in described:
            form = format_of(self.catalog.get(Model, described["model"]), described.get("encoding"), self.catalog)
        elif model is not None and not (described.keys() & {*REPACKED} and known.value("samples_per_file") <= 1):
            form = format_of(model, self.described.get("encoding"), self.catalog)
        if form is not None and form.read_pattern:
            if form.read_pattern not in READ_PATTERNS:
                expected = expected_one_of(form.read_pattern, READ_PATTERNS)
                raise CatalogError(f"{form.path}: read_pattern: found '{form.read_pattern}', {expected}")
            return form, form.read_pattern, "format"
        packed = known.find("samples_per_file")
        if packed is None:
            return None, "", ""
        if packed.value > 1:
            return None, "packed", "samples_per_file"
        whole = self.catalog.get(Format, WHOLE_FILES)
        return whole, whole.read_pattern, "samples_per_file"


def format_of(model: Model, asked: str | None, catalog: Catalog) -> Format | None:
    """The format of an encoding of a model's data set; None where it is not known."""
    encoding = encoding_in(model, asked)
    return catalog.referred(Format, encoding.format, by=model.path) if encoding is not None and encoding.format else None


def _settings(described: Mapping[str, Any]) -> dict[str, float]:
    """The quantities that `set` of a job or a policy gives, in base units."""
    return {name: read_value(name, written, f"set {name}") for name, written in described.get("set", {}).items()}


def stated_in(policy: Mapping[str, Any], keys: Keys) -> dict[str, Input]:
    """The numbers that a checkpoint policy states, each with its key in the site file.

    Raises UsageError: a retention or a quantity of `set` that is no number.
    """
    named = {**QUANTITIES, **SIZED}
    found = {named[key]: item for key, item in policy.items() if isinstance(item, Input)}
    for name, value in _settings(policy).items():
        found[name] = Input(value, origin="user", where=".".join((*keys, "set", name)))
    written = ".".join((*keys, "keep"))
    # One text gives several numbers: none of them has a key of its own.
    place: dict[str, Any] = {"note": f"of {written}"} if isinstance(policy.get("keep"), str) else {"where": written}
    return found | {name: item._replace(**place) for name, item in kept_by_policy(policy.get("keep")).items()}


def place_transfers(site: Site, jobs: Sequence[QuantityRow]) -> None:
    """Give each job what its keys of further loads say, and what its checkpoints keep on the nodes."""
    for row in jobs:
        described, known = site.section("jobs")[row.name], row.known
        for key, quantities in loads_of_jobs().items():
            if key in described:
                known.state(*(["exports_models"] if key == "export" else []))
                said = {name: described[key][word] for word, name in quantities.items() if word in described[key]}
                known.give({**TIMES.get(key, {}), **said})
        known.state("checkpoints_on_nodes" if described.get("checkpoint", {}).get("tier") == "nodes" else "data_on_nodes")
        if row.step("nvme_tier_bytes") is not None:
            known.state("states_on_nodes")
