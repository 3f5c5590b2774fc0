"""The table of rules: what is implausible, what is refused, and what a plan chose by comparing two numbers.

Each rule is one row, from which come the warning, the refusal, and the live check of a workbook. Never compare elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.engine.messages import Message, Option, Setting, rule_of
from ingest.engine.registry import Step, is_quantity, solve, unit_of
from ingest.engine.result import Answer
from ingest.engine.solver import Quantities
from ingest.engine.value import Input, Quantity
from ingest.sizing.rule import SIGNS, Rule, Valued
from ingest.units import display, percent

#: Below this share of the storage NIC, reading tokens does not size the storage of a language model.
NEGLIGIBLE_SHARE = 0.01
#: The page cache holds a data set up to this share of a node's memory; processes, pinned buffers and the rest need theirs.
PAGE_CACHE = 0.5
#: The caches of a run fill within this time, in which its GPUs may wait for storage.
WARM_UP_SECONDS = 600.0
#: Model families that see each sample once, unless a job says otherwise: what they have read they do not read again.
ONE_EPOCH = ("llm", "recsys")
#: An epoch shorter than this starts and ends all the time: its first reads and its shuffling count, not the mean rate.
SHORT_EPOCH = 60.0
#: A rate at another precision is worth a warning where it exceeds the rate of the answer this many times.
FASTER = 1.1
#: Read requests per second and node, about what one PCIe 4 NVMe drive serves on the node itself.
MOST_READS = 1_000_000
#: Training runs of language models are published up to this share of the dense peak.
MOST_UTILIZATION = 0.6
#: What a node draws at most through the slowest NIC that storage is attached to, 10 Gb/s Ethernet: less needs no question.
SLOWEST_STORAGE_NIC = 1.125e9
#: A mixed load with less than this share of reads, or of writes, is the other one alone.
SMALLEST_PART = 0.01
#: Requests from this size on are as good as sequential: the read-ahead of a parallel file system asks for no more.
LARGE_REQUEST = 1_048_576
#: Reads of each usable byte per second that flash systems are sold with, 2 GB/s for each TB: three of the catalog reach it.
MOST_DENSE = 0.002
#: Drive writes per day for which mixed-use NVMe drives are usually specified.
MOST_WRITES = 3.0
#: Decode steps that read less of the weights rest on an estimate of the routing.
MOST_READ = 0.99
#: A step of less than so many hand-overs loses more than 5 % of its time to them.
HAND_OVERS = 20.0
#: A job that loses more of its time than this needs a remedy before storage of the size that its checkpoints ask for.
HARDLY_PROGRESSES = 0.5
#: Restarts that take more of the time than this deserve a look at spares, detection and the restore.
MUCH_RESTARTING = 0.1
#: How far a rate may exceed its limit by rounding, and a checkpoint overhead its limit by the approximations.
ROUNDED, APPROXIMATE = 1.000001, 1.005
#: Tests fill a system before they start: a week of filling delays acceptance.
MOST_FILL = 604_800.0
#: A warm-up beyond this share of a run delays the run itself.
LONGEST_WARM_UP = 0.1
#: Times that people read as equal.
NEARLY = 1.01
#: Growth that doubles faster than once a month outgrows all storage within two years: its period or its factor is a slip.
SHORTEST_DOUBLING = 30 * 86_400.0
#: Less than this of homes, logs or data is the number of a capacity without its unit.
SMALLEST_CAPACITY = 1e6
#: Readers of one data set agree about its samples where their figures differ by less than this.
ALIKE = 1.05
#: A rounding error of shares such as 1/3 is no overlap.
ROUNDING = 1e-9
#: Rank of a line that comes from no rule: most tell what the evidence is.
OWN_RANK = 10
#: A result that is set this many times above or below what its formula gives contradicts the other inputs.
MOST_DEPARTURE = 10
#: A warning gets a check where its quantity lies within this many times of the limit: only there a small change turns it.
NEAR = 10


def _said(what: str, **words: str | Sequence[str]) -> dict[str, Any]:
    """A row that words decide alone."""
    listed = {name: (word,) if isinstance(word, str) else word for name, word in words.items()}
    return {"quantity": "", "sign": "", "limit": 0.0, "text": what, "words": listed}


_NOT_MEASURED = ("given", "emulated", "transferred", "efficiency", "peak")

_STEP_READS = (
    "what does a step read of a sample? Samples have {shown}, its rate was measured on {at_most}: a loader that reads a crop, "
    "a tile or a clip, or draws many patches of one volume, reads less than the file. ")  # fmt: skip

ROWS = (
    # Refusals: a requirement that was stated is not met, or a site cannot be.
    Rule("E01", 1, "waste_left_for_dumps", "<=", 0.0, what="checkpoint overhead that the interval leaves for writing",
         text=": found {found}, expected {expected}; at a mean time to interrupt of {mtti}, {why}",
         supply=("checkpoint.waste",)),
    Rule("E02", 2, "checkpoint_overhead", ">", "waste_allowed", factor=APPROXIMATE, subject="waste",
         what="checkpoint overhead against the share allowed",
         text=": {percent} % of the time is lost, expected at most {most_percent} %"),
    Rule("E08", 1, "total_overhead", ">=", 1.0, what="progress of the job: time lost to checkpoints and restarts",
         text="no progress: checkpoints and restarts would take {percent} % of the time; the mean time to interrupt is "
              "{mtti}, and a restart takes {restart}", supply=("checkpoint.restart_time", "checkpoint.reschedule_time",
                                                              "checkpoint.mtti", "checkpoint.interval")),
    Rule("E09", 1, "waste_left_after_restores", "<=", 0.0, subject="waste",
         what="checkpoint overhead that restores leave for checkpoints",
         text=": found {allowed} %, expected more: at a mean time to interrupt of {mtti}, restores of {restart} alone take "
              "{restores} % of the time", supply=("checkpoint.restart_time", Option("checkpoint.mode", "async"))),
    Rule("E04", 3, "bandwidth_for_dump", ">", "write_bandwidth", factor=ROUNDED, subject="write_bandwidth",
         words={"mode": ("async",)}, what="drain rate of checkpoints, against the write bandwidth",
         text=": checkpoints need {shown} to drain in time, found {at_most}"),
    Rule("E05", 4, "cluster_allocation", ">", 1.0, factor=1 + ROUNDING,
         what="share that all jobs take (nodes × runs × share)",
         text="{jobs} together take {percent} % of {cluster}, expected at most 100 % (nodes × runs × share)"),
    Rule("E06", 5, "nodes", ">", "cluster_nodes", what="nodes of a run, against those of {cluster}",
         text="found {value:,.0f}, expected at most the {limit:,.0f} nodes of {cluster}"),
    Rule("E07", 6, "failed_servers", ">=", "storage_units", what="failed units, against all units",
         text="found {value:g}, expected fewer than `units`"),
    Rule("E10", 6, **_said("found {level}, expected one of {known} for the guidance on {gpus}", level="unknown")),
    Rule("E11", 6, "achieved_flops_per_gpu", ">", "peak_flops_per_gpu", factor=ROUNDED, subject="achieved",
         text=": found {shown}, expected at most the dense peak of {gpu} in {precision}, {at_most}", supply=("precision",)),
    Rule("E12", 6, "doubling_seconds", "<", SHORTEST_DOUBLING,
         text="found {factor:g} every {period}, which doubles in {shown}, expected growth that doubles in {at_most} or longer"),
    Rule("E13", 6, "documents", ">", "tokens", subject="documents",
         text=": found {shown}, expected at most one for each of the {limit:,.0f} tokens"),
    # Warnings: the answer would mislead.
    Rule("W01", 10, **_said("the peak rate is an upper bound, of which measured training runs reach between 1/80 and 1/2: "
                            "do not size storage for it", basis="peak")),
    Rule("W02", 7, "implied_flops_utilization", ">", 1.0, words={"basis": ("measured", "given", "efficiency")},
         at_high_end=True, text="the rate times the FLOPs per sample exceeds the dense peak: either the FLOPs are too high "
              "(padding, sequences shorter than the maximum), or the run used a lower precision than its log states"),
    Rule("W03", 12, **_said("decoded bytes are what the host hands to the GPU, not what storage moves", sample="decoded"),
         supply=(Option("encoding", "stored"),)),
    Rule("W04", 13, **_said(" was measured on {part}: the rest may differ",
                            text="part"), subject="bytes_per_token"),
    Rule("W54", 13, **_said(" is a mean that may count many samples as one: {unread}", samples="unread"),
         subject="sample_bytes"),
    Rule("W05", 19, **_said("computed in {precision}, the precision of the best evidence on {gpu}, so that storage "
                            "can feed it", precision="the best evidence's"), supply=("precision",)),
    Rule("W06", 15, "rate_at_precision", ">", "samples_per_second_per_gpu", factor=FASTER,
         text="the {basis} rate at {precision} is higher, {rate} per GPU, and needs more read bandwidth",
         supply=(Option("precision", "{precision}"),)),
    Rule("W07", 16, "storage_nic_share", "<", NEGLIGIBLE_SHARE, words={"family": ("llm",)}, unknown=True, of_job=True,
         what="share of a node's storage NICs below which reading tokens is negligible",
         text="reading tokens is negligible here ({read} for the whole job): its reads size no storage"),
    Rule("W08", 17, "nfs_tcp_client_share", ">", 1.0,
         text="one NFS/TCP mount per node ({one}) is too slow, {other}"),
    Rule("W09", 7, "storage_nic_share", ">", 1.0, of_job=True,
         what="share that its reads take of a node's storage NICs",
         text="the reads need {shown} times the bandwidth of the storage NICs of {node}: a tender can require no more than "
              "these deliver"),
    Rule("W103", 7, "embedding_nic_share", ">", 1.0, supply=("hot_embeddings",),
         text="the row reads need {shown} times the bandwidth of the storage NICs: hold more rows in memory, or the others on "
              "NVMe of the nodes"),
    Rule("W14", 12, "dataset_samples", "<", "gpus",
         text="the data set has {value:,.0f} samples for {limit:,.0f} GPUs: GPUs without a sample read nothing, so the "
              "job never reads at the bandwidth shown", supply=("nodes", "set.dataset_samples")),
    Rule("W15", 13, "cached_share", ">=", 1.0,
         text="the data set ({dataset}) fits in the memory of one node ({memory}): nothing is read after the warm-up; the "
              "mandatory {filling} fills the caches of all nodes within {warm_up}, all other reads are those of the first "
              "epoch (cold cache)", supply=("cache_hit",)),
    Rule("W16", 14, "epoch_seconds", "<", SHORT_EPOCH,
         text="an epoch takes {shown}: GPUs pause between epochs, so the bandwidth shown is a peak of less than a minute"),
    Rule("W19", 11, "cache_hit_fraction", ">=", 1.0,
         text="no read reaches storage once the caches are full, but the first epoch (cold cache) reads all of the data, which "
              "is not counted", supply=(Option("cache_hit", "0"),)),
    Rule("W17", 15, "guidance_share", ">", 1.0,
         text="reads are {value:,.1f} times the highest level of {guidance} ({level} per GPU): check the rate before using it"),
    Rule("W60", 10, **_said("the rate is emulated: no GPU computes ({protocol}). {advice}", evidence="emulated")),
    Rule("W61", 10, **_said("protocols disagree {spread:.1f}× (samples/s per GPU: {rates}). What the slowest "
                            "supports is mandatory, what the fastest suggests a target, until you name the protocol that your "
                            "code runs", evidence="several protocols"), supply=("protocol",)),
    Rule("W62", 10, **_said("the smallest published run used {smallest:,} GPUs: the rate includes its scaling loss",
                            evidence="large runs")),
    Rule("W63", 10, **_said("the runs of {protocols} behind this rate have up to {largest}: the rate per GPU at {gpus:,.0f} is "
                            "extrapolated to {share:.2g} of theirs, {low:.2g} at the lower end{steps}", evidence="small runs")),
    Rule("W64", 10, **_said("the rate has not been checked against its source: check it before you use it in a tender",
                            evidence="recalled")),
    Rule("W65", 10, **_said("{why}: range ×{factor:g} either way", evidence="far")),
    Rule("W66", 10, **_said("embedding tables sharded over GPUs without NVLink have been measured 18 to 65 times slower, which "
                            "no ratio of peaks or bandwidths predicts: the range extends down to ×{factor:.3f}",
                            evidence="no NVLink")),
    Rule("W67", 10, **_said("training runs on other GPUs, scaled to this one, suggest {scaled} per GPU; {own}{then}",
                            evidence="differs")),
    Rule("W68", 9, **_said("the rate of {protocols} is a lower bound: the observed job may have waited for data. Measure its "
                           "stall (`observe --synthetic`) before you use the rate in a tender", evidence="lower bound")),
    Rule("W69", 7, "sample_bytes", "differs", "measured_sample_bytes",
         text=_STEP_READS + "Until you set what a step reads, the mandatory bandwidth counts {at_most}",
         supply=("set.sample_bytes",)),
    Rule("W10", 60, **_said(" changes nothing here: the rate does not come from a measurement", protocol="not measured"),
         subject="protocol"),
    Rule("W11", 60, **_said(" changes nothing here: the rate is yours", protocol="rate given"), subject="protocol"),
    Rule("W12", 60, **_said(" changes no bytes here: the bytes of a sample are given", encoding="bytes given"),
         subject="encoding"),
    Rule("W28", 10, "departure", ">", MOST_DEPARTURE,
         text=": found {found}, but the other inputs give {computed}: results that rest on one contradict those of the other"),
    Rule("W13", 2, **_said(" changes nothing here: the results do not depend on it", option="unused")),
    # Checkpoints.
    Rule("W20", 8, "checkpoint_dump_seconds", ">=", "job_mean_time_to_interrupt", factor=0.5, words={"mode": ("sync",)},
         what="duration of a dump, against half the mean time to interrupt", of_job=True,
         text="a dump takes half the mean time to interrupt or longer: the job makes almost no progress"),
    Rule("W29", 8, "checkpoint_retained_bytes", ">", "checkpoint_tier_bytes", factor=ROUNDED,
         text="the checkpoints that are kept take {shown}, more than the {at_most} of their tier",
         supply=("checkpoint.keep", "checkpoint.tier_capacity")),
    Rule("W22", 22, **_said("DeepSpeed at ZeRO-3 does not save 16-bit weights, but restores them from the master copy; "
                            "stage3_gather_16bit_weights_on_model_save and MLPerf Storage write another 2 B per parameter",
                            layout="deepspeed", zero_stage="3")),
    Rule("W23", 23, **_said("safetensors holds only weights: a training run cannot be resumed from it", layout="safetensors")),
    Rule("W24", 24, "checkpoint_overhead", ">", "waste_allowed", factor=APPROXIMATE, words={"sized": ("as practised",)},
         text="checkpoints, lost work and restores take {percent} % of the time, above the target of {most_percent} %; "
              "{cure}", supply=("checkpoint.waste",)),
    Rule("W44", 8, "total_overhead", ">", HARDLY_PROGRESSES,
         text="checkpoints and restarts take {percent} % of the time: the job hardly progresses, and its write bandwidth "
              "follows from that", supply=("checkpoint.restart_time", "checkpoint.reschedule_time", "checkpoint.mtti")),
    Rule("W25", 25, "restart_overhead", ">", MUCH_RESTARTING, of_job=True, what="share of time that restarts take",
         text="restarts (detection, new nodes and the restore) take {percent} % of the mean time to interrupt",
         supply=("checkpoint.restart_time", "checkpoint.reschedule_time")),
    Rule("W26", 26, **_said("the model states do not fit the memory of {gpus:,} × {gpu} at ZeRO stage {stage}: parallel sizes "
                            "are the largest that divide the job", sizes="too small"),
         supply=("checkpoint.tensor_parallel", "checkpoint.pipeline_parallel")),
    Rule("W27", 27, **_said("checkpoints of {jobs} are planned as asynchronous, as large training runs save; where training "
                            "stops for the write, more bandwidth is needed", mode="not stated"), supply=("checkpoint.mode",)),
    # Sites.
    Rule("W30", 8, "node_kept_bytes", ">", "node_nvme_bytes", of_job=True,
         what="data on the NVMe of a node, against its capacity",
         text="R-STAGE-02: the NVMe of a node cannot hold what {jobs} keep there; choose another placement or node type"),
    Rule("W31", 31, **_said("{data} is not on storage in {years}; the job is planned for every year", data="absent")),
    Rule("W39", 9, **_said("on storage in none of the planned years, {years}: no line counts it", data="absent in all years"),
         supply=("from", "until", "start")),
    Rule("W56", 9, "most_of_readers", ">", "fewest_of_readers", factor=ALIKE,
         text="its readers disagree about {what}: {readers}; {taken}"),
    Rule("W42", 9, "stated_capacity", "<", SMALLEST_CAPACITY,
         text="found {shown}, expected at least {at_most}: a number without a unit is in bytes"),
    Rule("W32", 8, "node_reads_per_second", ">", MOST_READS, of_job=True, what="read requests per second of a node",
         text="each node would have to issue {value:,.0f} reads of {size} per second, more than a node can",
         supply=("format of its data", "io_size")),
    Rule("W33", 33, "implied_flops_utilization", ">", MOST_UTILIZATION, words={"basis": _NOT_MEASURED}, of_job=True,
         what="share of its GPUs' peak",
         text="its rate is {percent} % of the peak of the GPU; published training runs reach up to {most_percent} %",
         supply=("efficiency", "achieved"), tender="R-READ R-META-01"),
    Rule("W34", 34, "run_seconds", "differs", "training_seconds", of_job=True,
         what="duration of a run at its rate, and as given",
         text="found {at_most}, but at its rate a run takes {shown}; expected both to agree"),
    Rule("W35", 35, "writing_runs", ">", 1.0, words={"mode": ("async",), "overlap": ("no",)},
         what="runs that write concurrently", supply=("overlap.checkpoints",),
         text="asynchronous checkpoints ({jobs}) drain while other runs write, so their writes overlap: R-WRITE-01 counts them "
              "one after the other"),
    Rule("W45", 45, **_said("no storage guidance is confirmed for {gpus}: these GPUs add nothing to the floor",
                            guidance="unconfirmed")),
    Rule("W115", 8, **_said("{text}", question="open"), tender="R-"),
    Rule("W116", 31, **_said("{percent} % of the allocations that ran are left out: their GPUs or times are not recorded, so "
                             "that hours and concurrency are too low by about as much", history="incomplete")),
    Rule("W117", 32, **_said("{percent} % of the GPU-hours ran on GPUs of an unknown kind: another node type stands in, whose "
                             "nodes, NICs and guidance are not theirs", gpus="unknown"), supply=("clusters.*.node",)),
    Rule("W118", 33, **_said("{own} at the {batch} tokens of a step that runs of so many tokens take; `bw`, which is not told "
                             "the tokens, gives {other}", rate="other"), supply=("set.run_batch_tokens",)),
    Rule("W123", 33, **_said("{own} on average over a run whose last steps compute in a wider precision; `bw` answers the "
                             "steps before, which read most: {other}", phases="two"), supply=("precision",)),
    Rule("W46", 8, "node_needed_read_bandwidth", ">", "node_drawable_bandwidth", factor=ROUNDED, of_job=True,
         what="reads that one node needs, against what it draws",
         text="its GPUs need {shown} of reads per node, of which a node draws {at_most}: they compute {drawn} % of the time, "
              "whatever the storage; use more nodes for the job or nodes with more storage NICs, or check the rate",
         supply=("nodes", "samples_per_second", "sample_bytes"), tender="R-READ R-META-01"),
    Rule("W59", 8, "node_needed_read_bandwidth", ">", SLOWEST_STORAGE_NIC, of_job=True, words={"nics": ("unknown",)},
         text="its GPUs need {shown} of reads per node, and the storage NICs of this node type are not known",
         supply=("clusters.*.nic",), tender="R-READ R-META-01"),
    Rule("W48", 26, "grown_read_bandwidth", ">", "site_drawable_bandwidth", what="growth against what all clients draw",
         text="R-GROW-01: in the last year the jobs need {shown}, more than the {at_most} that all clients draw: {nodes} of "
              "the present type would take that", supply=("growth", "clusters.*.count")),
    Rule("W84", 7, "stated_sample_bytes", "differs", "measured_sample_bytes", of_job=True,
         what="bytes of a sample, against those of the samples that its rate was measured on",
         text=_STEP_READS + "Until `touched` says it, the lines count {at_most}", supply=("touched",), tender="R-READ"),
    Rule("W85", 8, "suggested_ratio", ">", 1.0, of_job=True,
         what="rates of several kinds of evidence, the highest over the lowest",
         text="evidence disagrees about its rate: {disputed}; the mandatory lines take the lower, R-READ-06 the higher",
         supply=("protocol", "samples_per_second"), tender="R-READ"),
    Rule("W86", 7, "stated_turn_rate", ">", "computed_turn_rate", factor=ROUNDED,
         text="users ask for {turns} turns per second, of which its GPUs prefill and decode {computed}: {missing} more of them "
              "are needed, and the lines ask storage for the turns that are computed", supply=("users", "turn_time", "nodes"),
         tender="R-KV"),
    Rule("W74", 7, "replica_weights_bytes", ">", "replica_room_bytes", factor=ROUNDED,
         text="users ask for {turns} turns per second, of which its GPUs prefill and decode {computed}: those of its largest "
              "replica hold {at_most} of {shown} of weights, and each step reads the rest from below them. More replicas of "
              "that size do not help, larger ones or fewer bits do; lines ask for the turns that are computed",
         supply=("nodes", "weight_bits", "users"), tender="R-KV"),
    Rule("W87", 8, **_said("what its GPUs prefill and decode is not known, so the lines ask for the turns of all users",
                           generation="unknown"), supply=("nodes", "users"), tender="R-KV"),
    Rule("W76", 8, **_said("a checkpoint overhead of {goal} % is out of reach: failures and restores cost {least} % at any "
                           "bandwidth. The write lines are set where half the bandwidth costs another point, at {kept} %",
                           goal="near the pole"), supply=("checkpoint.waste", "checkpoint.interval", "checkpoint.mtti"),
         tender="R-WRITE"),
    Rule("W124", 23, **_said("of the overhead of {goal} % that is allowed, failures and restores cost {least} % at any "
                             "bandwidth: {kept} % needs {rate}", goal="near the pole"),
         supply=("checkpoint.waste", "checkpoint.interval", "checkpoint.mtti")),
    Rule("W107", 9, **_said("the share of parameters that change decides the bytes of a delta: 1 % to 3 % is usual, and 0.02 % "
                            "to 50 % are published; the first deltas of a run show it", share="default"),
         supply=("changed_share",)),
    Rule("W108", 7, "sync_share", ">", 1.0, factor=ROUNDED, supply=("every", "publish_within", "pull_within"),
         text="versions are due faster than they are written and read: that takes {value:.3g} times the time between two"),
    Rule("W110", 9, "delta_bytes", ">=", "published_weights_bytes",
         text="at this share a delta is no smaller than a full version", supply=("publish full", "encoding")),
    Rule("W111", 8, "anchor_read_bandwidth", ">", "pull_read_bandwidth", supply=("anchor_within", "anchor_every"),
         text="anchors need {shown} of reads, deltas {at_most}: all hosts read each anchor in the time between two versions",
         factor=ROUNDED),
    Rule("W119", 9, "host_version_read_bandwidth", ">", 50e9, supply=("pull_within", "anchor_within", "publish delta"),
         text="each rollout host reads {shown} of versions, more than a 400 Gb/s NIC carries ({at_most})"),
    Rule("W122", 9, "needed", ">", "delivered", factor=ROUNDED, supply=("publish_within", "pull_within", "publish delta"),
         text="versions need {shown} of {way}, the storage delivers {at_most}: they take longer than allowed"),
    Rule("W75", 75, **_said("it settles nothing: {why}", decision="stale")),
    Rule("W109", 74, **_said("{points:g} points of the award for {criterion}, which no offer can earn: the tender {lacks}",
                             award="unearned")),
    Rule("W112", 30, "vectors_at_least", "<", "vectors",
         text="chunks are counted in documents of mean length; where the length varies there are {vectors_at_least} to "
              "{vectors_at_most}", words={"vectors": ("of documents",)}),
    Rule("W113", 31, **_said("the text of the vectors is not counted in the source", source="without text"),
         supply=(Option("set.source_text_bytes", "SIZE"),)),
    Rule("W105", 9, "latency_budget", "<", "client_latency", supply=("latency", "beam", "cached_share"), tender="R-VEC",
         text="its latency leaves a query {shown} for each of its reads one after the other; at a client one takes {at_most}"),
    Rule("W106", 9, supply=("vectors",), **_said("R-VEC leaves growth by `add` out, which names no vectors", growth="yes")),
    Rule("W83", 7, **_said("no system of the catalog meets all mandatory lines ({why})", systems="none fits"),
         supply=("storage.at_least",), tender="R-READ R-WRITE R-RESTART R-CAP-03"),
    Rule("W79", 9, "read_density", ">", MOST_DENSE,
         text="{line}: {density} for each usable TB; flash systems of the catalog deliver up to {sold}: more "
              "capacity than the data need would be bought for the rate", supply=("storage.at_least",), tender="R-READ"),
    Rule("W88", 26, "required_bandwidth_per_client", ">", "node_drawable_bandwidth", factor=ROUNDED,
         text="{line}: an equal share of {shown} for each client is more than the {at_most} that a node of {cluster} draws: "
              "the line states what each cluster takes"),
    Rule("W52", 7, "required_bandwidth", ">", "requirement_limit", factor=ROUNDED,
         text="{line}: {who} would have to move {shown}, more than the {at_most} that its nodes draw; the line asks for what "
              "they draw, and {takes}", tender="R-"),
    Rule("W53", 42, "warm_up_seconds", ">", "run_seconds", factor=LONGEST_WARM_UP, of_job=True, words={"cached": ("yes",)},
         what="warm-up of the caches, against the duration of a run",
         text="its caches fill in {shown}, but a run takes only {at_most}: it waits for its first epoch; size for R-READ-05, "
              "or set a shorter warm_up", supply=("warm_up",)),
    Rule("W50", 47, "site_fill_seconds", ">", MOST_FILL, factor=NEARLY, what="time to fill the storage at its write bandwidth",
         text="writing all that the storage holds takes {shown} at the required write bandwidth; expected at most {at_most}",
         supply=("datasets.*.load_within", "floor")),
    Rule("W51", 48, **_said("R-CAP-03 has no reserve beside the data: usual are 10 to 20 % for snapshots, 5 % "
                            "for rebuilds, and bytes for homes, containers and logs", reserve="none"), supply=("reserve",)),
    Rule("W90", 90, "nvme_writes_per_day", ">", MOST_WRITES,
         "training writes the NVMe of each node {value:,.3g} times per day; drives for writing are built for {limit:g}"),
    Rule("W91", 91, **_said("{held} lie on shared storage whose bandwidth is not known", storage="unknown"),
         supply=("storage", "units")),
    Rule("W96", 9, "site_drive_writes_per_day", ">", MOST_WRITES,
         "R-END-01 writes the raw capacity {value:,.3g} times per day; drives for writing are built for {limit:g}: endurance, "
         "not capacity, decides what to buy; keep states and caches that change all day on drives of the nodes"),
    Rule("W89", 89, "kv_hit_bytes", "<=", 0.0, what="reads of the key-value tier, against none",
         text="no turn reads its key-value cache: the lines ask for writes and capacity that serve nobody; set the turns of a "
         "session, or leave the cache out", supply=("turns", "hit")),
    Rule("W104", 104, "arrivals_not_kept", ">", 0.01, "its growth leaves {shown} of what has arrived until {year} out "
         "of capacity, where nothing says that it is reduced: leave `growth` out to keep all that arrives"),
    Rule("W102", 102, "nodes_to_hold", ">", "nodes", "in {year} {states} of states no longer fit {at_most}: they fill {shown}"),
    Rule("W101", 101, **_said("sizes move the mean alone: {held}", samples="packed"), supply=("set.samples_per_file",)),
    Rule("W98", 98, **_said("model states on shared storage move {read} of reads and {write} of writes in each optimizer step: "
                            "libraries for offloading keep them on NVMe of the nodes; ask a shared system for it only where "
                            "nodes have none", storage="states")),
    Rule("W73", 21, **_said("{corpus} names {objects} by URL and holds none of them: they are counted with {size} each, as "
                            "downloaded; links die, and the bytes follow from the resolution: measure what you download",
                            entries="by reference")),
    Rule("W125", 21, **_said("the tokens of {corpus} are counted in a vocabulary of {ids} ids, of 2 B each; they are sized "
                             "with 4 B, as vocabularies above 65,536 need, such as those of Llama 3, which count "
                             "other numbers of tokens in the same text: measure yours", vocabulary="small"),
         supply=("vocabulary",)),
    Rule("W99", 99, **_said("each session is counted with one state of the linear or recurrent layers of this model: a server "
                            "that reuses parts of a session keeps a state for each of them", layers="recurrent")),
    Rule("W121", 93, "kv_context_tokens", ">", "cache_window",
         text="the cache ends at the last {at_most}, the window of every layer in this release: releases without the window, "
         "and engines that ignore it, keep all {shown}"),
    Rule("W120", 26, **_said("adapters and their states alone are counted: a stack that saves the whole model, as the "
                             "sharded state of FSDP, writes the frozen base too, {base} more", saved="adapters")),
    Rule("W92", 92, "staged_host_bytes", ">", "host_memory_per_node",
         "weights are staged on the host at 16 bits before they are quantized: {shown} for host memory of {at_most}"),
    Rule("W93", 93, **_said("the key-value cache leaves the GPU: every step reads it over the host link, or attention runs on "
                            "the CPU, which bounds published rates of such a cache", kv="off the GPU")),
    Rule("W77", 77, "decode_weights_share", "<", MOST_READ,
         "a decode step reads {share} % of the weights: the experts that {tokens} visit at random; an engine that "
         "fetches whole layers reads all, which the range covers", supply=(Option("set.expert_read_excess", "F"),)),
    Rule("W78", 78, "gpus", ">", 1.0,
         text="decoding on {value:,.0f} GPUs counts no time for the {count} exchanges between them in each step of {time}: the "
         "rate is an upper bound"),
    Rule("W94", 94, "step_seconds", ">", "step_seconds_at_target", factor=1 + ROUNDING,
         text="a step takes {shown}, {time} of it {part}; the efficiency wanted allows {at_most}, with {asked} of reads per "
         "node: train more tokens in a step, or place less there", supply=("batch", "sequence_length")),
    Rule("W95", 95, "storage_tier_read_bandwidth_per_node", ">", "storage_nic_bandwidth_per_node",
         text="the efficiency wanted takes {shown} of reads per node from shared storage, more than the {at_most} of its "
         "storage NICs, with which a step takes at least {least}: train more tokens in a step, or use more nodes",
         supply=("batch", "sequence_length")),
    Rule("W97", 9, **_said("decoding is not counted, as its time is not known: the utilization is an upper bound",
                            decode="unknown"), supply=("decode_time",)),
    Rule("W80", 13, "step_computation_seconds", "<", "handover_seconds", factor=HAND_OVERS, words={"batch": ("assumed",)},
         text="a step of {batch} samples, which are assumed, computes for {shown}: the hand-over of its batch decides the "
              "utilization, not storage", supply=("batch",)),
    Rule("W81", 7, "prefetched_bytes_per_node", ">", "host_memory_per_node",
         text="the batches that loaders hold ahead take {shown} of a host memory of {at_most}",
         supply=("batch", "prefetch", "workers")),
    Rule("W82", 43, "job_epochs", "<", "staging_break_even_epochs",
         text="staging takes longer than it saves in {value:,.3g} epochs: it pays from {limit:,.3g} on", supply=("epochs",)),
    Rule("W36", 36, **_said("R-META-01 leaves out {jobs}: the samples in a file are not known", opens="unknown"),
         supply=("samples_per_file of its data", "file_bytes of its data")),
    Rule("W37", 37, **_said("R-META-03 leaves out {datasets}: the number of files is not known", files="unknown"),
         supply=("files", "file_bytes", "samples_per_file")),
    Rule("W38", 38, **_said("growth: the published factors apply to recommenders only; jobs without growth: {jobs}",
                            growth="published")),
    Rule("W70", 42, "sequence_length", ">", "longest_sequence", subject="sequence_length",
         text=": {shown} are more than {at_most}, as far as the positions of {model} reach"),
    Rule("W71", 20, **_said("activations, logits and buffers are not counted: training takes more memory and more GPUs than "
                            "these model states", activations="not counted"), supply=("sequence_length", "residual")),
    Rule("W72", 21, "total_bytes_per_gpu", ">", "memory_bytes_per_gpu", at_high_end=True,
         text="a step may not fit: it takes up to {most} on a GPU of {room} where kernels and loss are not fused, as in plain "
              "PyTorch, and the allocator holds back fragments: {held}",
         supply=(Option("set.unfused_share", "1"), Option("loss", "plain"))),
    # Acceptance tests.
    Rule("W55", 55, "all_dataset_bytes", ">", "dataset_room", factor=ROUNDED,
         text="tests that no cache serves need {shown} of data, but the planned system has room for {at_most}: they read that, "
              "and rely on direct I/O, on other clients than wrote the data, and on DROP_CACHES before each run",
         supply=("server_cache",)),
    Rule("W40", 39, "implied_latency", "<", "least_latency", words={"threads": ("stated",)},
         text="{line}: the reads that the loaders of {jobs} have outstanding imply a mean latency of {shown}; flash and a "
              "network take {at_most}", supply=("loader.workers", "threads", "storage.latency"), tender="R-READ"),
    Rule("W57", 39, "loader_utilization", "<", "accepted_utilization", of_job=True, what="utilization without any latency",
         text="without any latency its loaders keep its GPUs at {percent} % of the time, below {most_percent} %: the lines ask "
              "for what its loaders draw", supply=("loader.workers", "loader.decode_time"), tender="R-READ"),
    Rule("W41", 40, "cached_share", ">=", 1.0, of_job=True, what="share of the data set that the caches of a run hold",
         text="its data set ({dataset}) fits the cache of {where} ({cache}): nothing is read after the warm-up of {warm_up}",
         supply=("memory_share", "warm_up"), tender="R-READ"),
    Rule("W43", 41, "starting_runs", ">", "concurrent_runs", of_job=True, what="runs that start together, against all runs",
         text="found {value:g} runs that start together, expected at most the {limit:g} runs of the job", supply=("starts",)),
    # Choices: the words, conditions and priorities of a plan follow them.
    Rule("C01", 80, "samples_per_file", "<=", 1.0, what="how samples are read, by their number in a file"),
    Rule("C14", 80, "training_epochs", ">", 1.0, what="whether a run reads its data again, by its epochs"),
    Rule("C15", 80, "training_tokens", ">", "data_tokens", what="whether a run reads its data again, by its tokens"),
    Rule("C16", 80, "read_request_bytes", ">=", LARGE_REQUEST, what="order of the reads, by their size"),
    Rule("C02", 81, "gpus", "multiple", "equal_parts", what="checkpoint layout, by the GPUs of a run"),
    Rule("C03", 82, "gpus", "=", "gpus_counted", what="files of a checkpoint, counted for so many GPUs"),
    Rule("C11", 82, "gpus", "=", "gpus_of_rate", what="rate per GPU, published for so many GPUs"),
    Rule("C04", 83, "tensor_parallel", "=", "as_counted", what="checkpoint layout, by tensor parallel"),
    Rule("C05", 83, "pipeline_parallel", "=", "as_counted", what="checkpoint layout, by pipeline parallel"),
    Rule("C06", 83, "parameters", "=", "as_counted", what="checkpoint layout, by parameters"),
    Rule("C07", 83, "checkpoint_bytes", "=", "as_counted", what="checkpoint layout, by checkpoint bytes"),
    Rule("C12", 82, "gpus", "=", "gpus_chosen_for", what="failure rate, chosen for so many GPUs"),
    Rule("C13", 82, "gpus", "=", "gpus_chosen_for", what="parallel sizes, chosen for so many GPUs"),
    Rule("C08", 84, "required_rate", "<", "smallest_rate", what="priority against the reporting threshold"),
    Rule("C09", 85, "entries_of_jobs", "largest", "deciding_entry",
         what="the job whose I/O and clients are those of the line"),
    Rule("C17", 86, "workload_rate", "<", "guidance_rate", what="what decides it, the workload or the guidance"),
    Rule("C18", 87, "grown_read_bandwidth", ">", "site_drawable_bandwidth", what="growth against what all clients draw"),
    Rule("C19", 88, "mixed_write_share", ">", 1 - SMALLEST_PART, what="whether the mixed load has reads"),
    Rule("C20", 88, "mixed_write_share", "<", SMALLEST_PART, what="whether the mixed load has writes"),
)  # fmt: skip
#: Ids of rules that were removed: no other rule gets one.
RETIRED = ("W21", "E03", "C10", "W18", "W47", "W49")
#: The rules by id.
RULES: Mapping[str, Rule] = {rule.id: rule for rule in ROWS}


class Finding(NamedTuple):
    """A rule applied to a job, a site or a requirement line."""

    rule: Rule
    owner: str  # the job, cluster or requirement line; empty for a single job
    value: Valued | None = None  # what was compared: a result or a step; None where the words decided
    limit: Valued | float = 0.0  # what it was compared with, without the factor
    true: bool = True  # whether the comparison is true, so that the rule applies
    facts: Mapping[str, Any] = MappingProxyType({})  # further values that the texts of the rule name

    @property
    def what(self) -> str:
        """The name of its check.

        >>> finding("C01", {"samples_per_file": 4.0}, owner="vision").what
        'vision: how samples are read, by their number in a file'
        """
        return f"{self.owner}: {self.rule.what.format(**self.facts)}"

    @property
    def is_checked(self) -> bool:
        """Whether a workbook tests it: a comparison of cells, and for a warning one that is near its limit."""
        if not self.rule.what or not isinstance(self.value, Step):
            return False
        if self.rule.kind != "warning":
            return True
        value, limit = float(self.value.value), _number(self.limit) * self.rule.factor
        return limit / NEAR <= value <= limit * NEAR

    def condition(self, place: Callable[[Step], str]) -> str:
        """The condition, as a spreadsheet writes it, under which the outcome stays; `place` gives the cell of a step."""
        assert isinstance(self.value, Step)
        other = place(self.limit) if isinstance(self.limit, Step) else f"{_number(self.limit) * self.rule.factor!r}"
        if isinstance(self.limit, Step) and self.rule.factor != 1:
            other += f" * {self.rule.factor!r}"
        sign = SIGNS[self.rule.sign]
        return (sign.written if self.true else sign.contrary).format(place(self.value), other)

    def message(self, subject: Option | None = None, **facts: Any) -> Message:
        """The line; the subject is the option that it begins with, where the row names none, and facts are further values."""
        rule = self.rule
        named = {**self.facts, **_numbers(self), **facts}
        first = subject if subject is not None or not rule.subject else Option(rule.subject)
        text = rule.text.format(**named)
        ways = (way if isinstance(way, str) else Option(way.path, way.value.format(**named)) for way in rule.supply)
        return Message(*(() if first is None else (first,)), text, supply=tuple(ways), rule=rule.id)


def finding(
    rule: str,  # its id
    # the quantities by name, or how to look one up; what is None or missing is unknown
    quantities: Mapping[str, Valued | float | None] | Callable[[str], Valued | float | None] = MappingProxyType({}),
    words: Mapping[str, str] = MappingProxyType({}),  # facts that are not quantities: the mode, the basis
    owner: str = "",  # the job, cluster or requirement line
    **facts: Any,  # values that the texts of the rule name besides the numbers
) -> Finding | None:
    """Apply a rule to a case; None if the rule does not apply: other words, or an unknown quantity."""
    row = RULES[rule]
    if row.words and any(words.get(name) not in allowed for name, allowed in row.words.items()):
        return None
    if not row.quantity:
        return Finding(row, owner, facts=facts)
    found = quantities if callable(quantities) else quantities.get
    value, limit = found(row.quantity), found(row.limit) if isinstance(row.limit, str) else row.limit
    if limit is None or (value is None and not row.unknown):
        return None
    if value is None:
        return Finding(row, owner, None, limit, facts=facts)
    item = value if not isinstance(value, (int, float)) else Input(float(value))
    end = getattr(value, "high", None) if row.at_high_end else None
    compared = end or item.value
    return Finding(row, owner, item, limit, row.compares(compared, _number(limit)), facts)


def applying(found: Iterable[Finding | None]) -> list[Finding]:
    """Return the findings that apply, by rank."""
    return sorted((one for one in found if one is not None and one.true), key=lambda one: one.rule.rank)


def messages(found: Iterable[Finding | None]) -> list[Message]:
    """The lines of the findings that apply, by rank."""
    return [one.message() for one in applying(found)]


def ranked(lines: Iterable[str]) -> list[str]:
    """Return warnings by the rank of their rule, the most severe first; lines of no rule as what says that a rate misleads.

    >>> late = finding("W51", words={"reserve": "none"}).message()
    >>> [rule_of(line) for line in ranked([late, finding("W01", words={"basis": "peak"}).message()])]
    ['W01', 'W51']
    """
    return sorted(lines, key=lambda line: RULES[rule_of(line)].rank if rule_of(line) in RULES else OWN_RANK)


def told(rule: str, subject: Option | None = None, **facts: Any) -> Message:
    """The line of a rule that the words of a case decide alone."""
    return Finding(RULES[rule], "", facts=facts).message(subject)


def refusal(found: Finding | None) -> str:
    """Return the line of a refusal that applies; empty otherwise."""
    return found.message() if found is not None and found.true else ""


def unused(option: Option) -> Message:
    """The warning that no result depends on an option."""
    return told("W13", option)


def without_unit(capacities: Mapping[str, Input | None]) -> Iterator[Message]:
    """The warnings about capacities, by the option that states them, that are so small that their unit must be missing."""
    for option, item in capacities.items():
        stated = Quantity(item.value, "B") if item is not None and item.value else None
        for one in applying([finding("W42", {"stated_capacity": stated})]):
            yield Message(Option(option), ": ", one.message())


def on_settings(answer: Answer, settings: Iterable[str]) -> Iterator[Message]:
    """The warnings about quantities that the user set and no result rests on, or that contradict the others."""
    yield from (unused(Option(f"set.{name}")) for name in settings if name not in answer.used)
    yield from contradictions(answer.known, settings)


def contradictions(known: Quantities, settings: Iterable[str]) -> Iterator[Message]:
    """The warnings about results that the user sets far from what the other inputs give."""
    for name in settings:
        given, other = known.given.get(name), known.otherwise(name)
        if given is None or other is None or not (given.value and other.value):
            continue
        found, computed = (display(item.value, unit_of(name), binary=False) for item in (given, other))
        results = {"stated_result": given.value, "computed_result": other.value}
        departure = float(solve("departure", results)) if (given.value > 0) == (other.value > 0) else math.inf
        for one in applying([finding("W28", {"departure": departure}, found=found, computed=computed)]):
            yield one.message(Setting(name))


def _number(item: Valued | float) -> float:
    return float(item) if isinstance(item, (int, float)) else float(item.value)


def _numbers(one: Finding) -> dict[str, Any]:
    """What a text may name of the two sides of a comparison; limits without their tolerance."""
    if one.value is None or not isinstance(one.value.value, (int, float)):
        return {}
    value, limit = float(one.value.value), _number(one.limit)
    quantity = getattr(one.value, "name", one.rule.quantity)
    unit = one.value.unit if hasattr(one.value, "unit") else unit_of(quantity) if is_quantity(quantity) else ""
    shown, at_most = ((display(item, unit, binary=False) if unit and math.isfinite(item) else "") for item in (value, limit))
    return {"value": value, "limit": limit, "shown": shown, "at_most": at_most,
            "percent": percent(value), "most_percent": percent(limit)}  # fmt: skip
