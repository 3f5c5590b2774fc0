"""What planning and its warnings compared, job by job: where it turns out otherwise, the site is to be planned again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingest.formula import Step
from ingest.rules import SMALL_JOB
from ingest.site.decisions import Decision, compared
from ingest.site.doubting import MOST_READS, MOST_UTILIZATION, close
from ingest.site.policies import SIZED, Policy
from ingest.site.reading import Site
from ingest.site.sheet import Row

#: A warning is watched where its quantity lies within so many times its limit, or of it.
NEAR = 10
#: how a job's GPUs are shared out: ranks and files are counted for these, and follow no formula
LAID_OUT = ("tensor_parallel", "pipeline_parallel")


def _near(decision: Decision) -> bool:
    """Whether a change of one input within reason may turn it: a warning that is far from its limit needs no cells."""
    value, limit = (float(one.value) if isinstance(one, Step) else one for one in (decision.step, decision.other))
    return limit / NEAR <= value <= limit * NEAR


def of_doubts(site: Site, jobs: Sequence[Row], policies: Mapping[str, Policy]) -> Iterator[Decision]:
    """What warnings compared, job by job, where it is near to its limit."""
    yield from filter(_near, _doubted(site, jobs, policies))


def _doubted(site: Site, jobs: Sequence[Row], policies: Mapping[str, Policy]) -> Iterator[Decision]:
    for row in jobs:
        reads, used = row.step("node_reads_per_second"), row.step("implied_flops_utilization")
        if reads is not None and row.step("read_request_bytes") is not None:
            yield compared(f"{row.name}: warning, by the reads of a node", reads, MOST_READS, "<=")
        if used is not None and row.words.get("basis") != "measured":
            yield compared(f"{row.name}: warning, by the share of its GPUs' peak", used, MOST_UTILIZATION, "<=")
        # `bw` says so once for each kind of job; any job may come to it, or leave it.
        link = row.step("storage_nic_share")
        if link is not None:
            yield compared(
                f"{row.name}: warning, by the share that its reads take of a node's links to storage", link, 1.0, "<="
            )
        need, have = row.step("node_local_bytes"), row.step("node_nvme_bytes")
        if need is not None and have is not None:
            yield compared(f"{row.name}: warning, by what it keeps on the NVMe of a node", need, have, "<=")
        said = policies[row.name].said.get("training_seconds") if row.name in policies else None
        found = row.step("run_seconds")
        if said is not None and found is not None:
            sign = "close" if close(float(said.value), float(found.value)) else "apart"
            yield Decision(f"{row.name}: warning, by the duration of a run as it is said and found", found, sign, said)
    yield from _of_drains(site, jobs)


def _of_drains(site: Site, jobs: Sequence[Row]) -> Iterator[Decision]:
    """A job that saves itself alone, in one run, has nobody to drain beside."""
    writers = [row for row in jobs if row.step("job_write_bandwidth") is not None]
    if len(writers) == 1 and writers[0].words.get("mode") == "async" and not site.section("overlap").get("checkpoints"):
        runs = writers[0].known.step("concurrent_runs")
        yield compared(f"{writers[0].name}: warning, by its runs that write at once", runs, 1.0, "<=")


def of_policies(policies: Mapping[str, Policy]) -> Iterator[Decision]:
    """What planning decided from the checkpoints of each job, by its name."""
    for name, policy in policies.items():
        yield from _of_interval(name, policy)
        yield from _of_layout(name, policy)


def _of_interval(name: str, policy: Policy) -> Iterator[Decision]:
    """Interval, waste and rate fit together."""
    said, steps = policy.said, policy.steps
    left, drained, mean = (steps.get(one) for one in ("waste_left_for_dumps", "drain_bandwidth", "job_mean_time_to_interrupt"))
    sync = policy.mode == "sync"
    if sync and left is not None and "checkpoint_interval" in said and "write_bandwidth" not in said:
        yield Decision(f"{name}: waste that the interval leaves for dumps", left, ">", 0.0)
    wasted = steps.get("synchronous_waste" if sync else "asynchronous_waste")
    # Where the rate of a dump follows from interval and waste, the waste is kept to as long as any is left for dumps.
    stated = not sync or "write_bandwidth" in said or "checkpoint_interval" not in said
    if wasted is not None and "waste_allowed" in said and stated:
        yield Decision(
            f"{name}: waste by checkpoints and lost work, of that allowed", wasted, "about within", said["waste_allowed"]
        )
    if not sync and drained is not None and "write_bandwidth" in said:
        yield Decision(f"{name}: rate at which checkpoints drain, of that stated", drained, "within", said["write_bandwidth"])
    dump = steps.get("checkpoint_dump_seconds")
    if sync and dump is not None and mean is not None:
        short = float(dump.value) < float(mean.value) / 2
        what = f"{name}: duration of a dump, of the mean time to interrupt"
        found = Decision(what, dump, "shorter than half" if short else "as long as half", mean)
        yield from filter(_near, (found,))


def _of_layout(name: str, policy: Policy) -> Iterator[Decision]:
    """Ranks and files are counted by what a policy says, and failures by the size of the job."""
    files = policy.steps.get("checkpoint_files")
    counted = [*LAID_OUT, *(SIZED.values() if files is not None and files.formula is None else ())]
    for quantity in counted:
        if quantity in policy.said:
            step = policy.said[quantity]
            yield Decision(f"{name}: checkpoint layout, by {quantity.replace('_', ' ')}", step, "=", float(step.value))
    gpus = policy.steps.get("gpus")
    if gpus is not None and "job_mean_time_to_interrupt" not in policy.said:
        what = f"{name}: whether a rate of failing nodes says how long it runs, by its GPUs"
        yield from filter(_near, (compared(what, gpus, SMALL_JOB, "<="),))
