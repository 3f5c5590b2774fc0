"""Kubernetes: pods, jobs and Kueue workloads, as `kubectl get -o json` writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ingest.accounting import ledger as records
from ingest.accounting.ledger import CODE_OF, CODES, OTHERS, PARTS, UNKNOWN, Group, Ledger, key_of, parts_of_type, seconds_of

KINDS = frozenset(("Pod", "Job", "Workload"))
#: Resources of whole GPUs are called so behind the name of their vendor; a slice has the name of its kind.
WHOLE, SLICE = frozenset(("gpu", "pgpu", "gaudi", "neuron", "neurondevice", "i915", "xe")), "mig-"
#: Letters in the names of resources that say a share of a GPU, such as its memory: how large it is, no record tells.
PART = ("gpu", "vcuda", "neuroncore")
#: Counts `gpu` in hundredths.
PERCENT = "koordinator.sh/gpu"
#: The annotation of Run:ai for the share of a GPU that a pod asks for.
FRACTION, MEMORY = "gpu-fraction", "gpu-memory"
#: Resources that are accelerators whatever a site calls them.
_OTHER = re.compile(rf"^(?:nvidia|amd)\.com/|(?<![a-z])(?:{'|'.join(OTHERS)}|ascend|davinci)")
#: Labels that tell the kind of GPU of the node that a pod asks for.
PRODUCTS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "amd.com/gpu.product-name",
    "k8s.amazonaws.com/accelerator",
)
NO_DATA: Mapping[str, Any] = {}


def is_object(one: Mapping[str, Any]) -> bool:
    """Whether an object is one that is read."""
    return one.get("kind") in KINDS or ("containers" in (one.get("spec") or NO_DATA) and "status" in one)


def read_object(one: Mapping[str, Any], ledger: Ledger) -> None:
    """Read a pod, job or workload."""
    meta, spec, status = (one.get(name) or NO_DATA for name in ("metadata", "spec", "status"))
    kind = one.get("kind") or "Pod"
    key = key_of(str(meta.get("uid") or f"{meta.get('namespace')}/{meta.get('name')}"))
    start, end, word = {"Pod": _pod, "Job": _job, "Workload": _workload}[kind](spec, status)
    if start == UNKNOWN:
        ledger.leave_out(records.NO_START if kind == "Workload" and word == "Evicted" else records.NEVER_STARTED, key)
        return
    code = CODE_OF.get(word, CODES["other"])
    if end == UNKNOWN and code != CODES["running"]:
        ledger.leave_out(records.NO_END, key)
        return
    if kind == "Workload":
        admitted = (status.get("admission") or spec.get("admission") or NO_DATA).get("podSetAssignments") or ()
        counts = {part.get("name"): part["count"] for part in admitted if part.get("count") is not None}
        sets = [(counts.get(part.get("name"), part.get("count", 1)), _template(part)) for part in spec.get("podSets", ())]
        queue = str(spec.get("queueName") or "")
    else:
        pods = spec if kind == "Pod" else _template(spec)
        asked = (spec.get("parallelism", 1), spec.get("completions")) if kind == "Job" else (1,)
        sets = [(min(int(count) for count in asked if count is not None), pods)]
        queue = str(meta.get("namespace") or "")
    each = [_gpus(pod) for _, pod in sets]
    gpus = sum(int(count) * one for (count, _), one in zip(sets, each, strict=True))
    notes = (meta.get("annotations") or NO_DATA) if kind == "Pod" and not gpus else NO_DATA
    if (share := notes.get(FRACTION)) is not None:
        gpus = round(float(share) * PARTS)
    elif UNKNOWN in each or MEMORY in notes:
        ledger.leave_out(records.SHARED, key)
        return
    # The resources of a vendor that its pods ask for.
    wanted = (item for _, pod in sets for one in pod.get("containers") or () for item in _asked(one).items())
    if not gpus and any(_OTHER.search(name.lower()) for name, count in wanted if "/" in name and str(count) != "0"):
        ledger.leave_out(records.OTHER_KIND, key)
        return
    nodes = sum(int(count) for count, _ in sets)
    gpu = next(
        (str(pod["nodeSelector"][name]) for _, pod in sets for name in PRODUCTS if name in (pod.get("nodeSelector") or ())), ""
    )
    ledger.add(key, start, end, UNKNOWN, gpus, nodes, ledger.group(Group("", gpu, queue)), code)


def _template(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pods that a job or a set of pods makes."""
    return (spec.get("template") or NO_DATA).get("spec") or NO_DATA


def _pod(spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int, str]:
    """Start, end and state of a pod: GPUs are held from when it is on a node until its last container has ended."""
    ended = [
        _time(((one.get("state") or NO_DATA).get("terminated") or NO_DATA).get("finishedAt"))
        for one in status.get("containerStatuses") or ()
    ]
    phase = str(status.get("reason") or status.get("phase") or "")
    over = status.get("phase") in ("Succeeded", "Failed")
    start = _time(status.get("startTime"))
    if start == UNKNOWN or (status.get("phase") == "Pending" and not spec.get("nodeName")):
        return UNKNOWN, UNKNOWN, phase
    if not over:
        return start, UNKNOWN, "Running"
    if UNKNOWN in ended or not ended:  # what never was ready has not been so since its start
        conditions = (_condition(status, "DisruptionTarget", "True"), _condition(status, "Ready", "False"))
        ended += [one for one in conditions if one > start]
    return start, max(ended, default=UNKNOWN), phase


def _job(_: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int, str]:
    """Start, end and state of a job."""
    start, failed = _time(status.get("startTime")), _condition(status, "Failed", "True")
    done = _time(status.get("completionTime"))
    if failed != UNKNOWN:
        return start, failed, "Failed"
    return (start, done, "Complete") if done != UNKNOWN else (start, UNKNOWN, "Running")


def _workload(_: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int, str]:
    """Start, end and state of a Kueue workload: from its admission until it finished or was evicted."""
    start, finished, evicted = (_condition(status, name, "True") for name in ("Admitted", "Finished", "Evicted"))
    if finished != UNKNOWN:
        # Once finished, a workload keeps the condition of its admission, or its quota.
        start = start if start != UNKNOWN else _condition(status, "QuotaReserved", "True")
        return start, finished, "Finished" if start != UNKNOWN or evicted == UNKNOWN else "Evicted"
    return (start, evicted, "Evicted") if evicted != UNKNOWN else (start, UNKNOWN, "Running")


def _condition(status: Mapping[str, Any], kind: str, value: str) -> int:
    """When a condition took a value, or `UNKNOWN`."""
    for one in status.get("conditions") or ():
        if one.get("type") == kind and value == one.get("status"):
            return _time(one.get("lastTransitionTime"))
    return UNKNOWN


def _gpus(pod: Mapping[str, Any]) -> int:
    """Parts of GPUs of a pod, or `UNKNOWN`: its containers and those that start first and stay, or what runs before them."""
    first, last = ([(one, _of_container(one)) for one in pod.get(name) or ()] for name in ("initContainers", "containers"))
    if any(parts == UNKNOWN for _, parts in first + last):
        return UNKNOWN
    beside = most = 0
    for one, parts in first:
        most = max(most, beside + parts)
        beside += parts if one.get("restartPolicy") == "Always" else 0
    return max(most, beside + sum(parts for _, parts in last))


def _asked(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or NO_DATA
    return {**(resources.get("requests") or NO_DATA), **(resources.get("limits") or NO_DATA)}


def _of_container(container: Mapping[str, Any]) -> int:
    asked = _asked(container)
    found = 0
    shared = bool((container.get("resources") or NO_DATA).get("claims"))  # of devices, which the pod alone does not tell
    for name, count in asked.items():
        vendor, _, device = str(name).rpartition("/")
        if not vendor or str(count) == "0":
            continue
        if name == PERCENT:
            found += int(count) * PARTS // 100
        elif device in WHOLE or device.startswith(SLICE):
            found += int(count) * parts_of_type(device)
        else:
            shared |= any(word in device.lower() for word in PART)
    return UNKNOWN if shared else found


def _time(text: Any) -> int:
    """A time such as `2025-03-01T10:00:00Z`."""
    try:
        return seconds_of(text.replace("Z", "+00:00"), {}) if isinstance(text, str) else UNKNOWN
    except ValueError:
        return UNKNOWN
