"""Kubernetes: pods, jobs and Kueue workloads, as `kubectl get -o json` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.accounting.ledger import CODE_OF, CODES, NEVER_STARTED, NO_END, PARTS, UNKNOWN, Group, Ledger, key_of, parts_of_type
from ingest.accounting.slurm import seconds_of

KINDS = frozenset(("Pod", "Job", "Workload"))
#: Resources of GPUs end in one of these words; a slice has the name of its kind.
DEVICES = ("gpu", "mig-", "gaudi", "neuron")
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
        ledger.leave_out(NEVER_STARTED, key)
        return
    code = CODE_OF.get(word, CODES["other"])
    if end == UNKNOWN and code != CODES["running"]:
        ledger.leave_out(NO_END, key)
        return
    if kind == "Workload":
        sets = [(part.get("count", 1), _template(part)) for part in spec.get("podSets", ())]
        queue = str(spec.get("queueName") or "")
    else:
        pods = spec if kind == "Pod" else _template(spec)
        sets = [(1 if kind == "Pod" else max(int(spec.get("parallelism") or 1), 1), pods)]
        queue = str(meta.get("namespace") or "")
    gpus = sum(int(count) * _gpus(pod) for count, pod in sets)
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
        _time((one.get("state") or NO_DATA).get("terminated", NO_DATA).get("finishedAt"))
        for one in status.get("containerStatuses") or ()
    ]
    phase = str(status.get("reason") or status.get("phase") or "")
    over = status.get("phase") in ("Succeeded", "Failed")
    start = _time(status.get("startTime"))
    if start == UNKNOWN or (status.get("phase") == "Pending" and not spec.get("nodeName")):
        return UNKNOWN, UNKNOWN, phase
    end = max(ended, default=UNKNOWN) if over else UNKNOWN
    if over and end == UNKNOWN:
        end = _condition(status, "Ready", "False")
    return start, end, phase if over else "Running"


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
        start = start if start != UNKNOWN else _condition(status, "QuotaReserved", None)
        return start, finished, "Finished"
    return (start, evicted, "Evicted") if evicted != UNKNOWN else (start, UNKNOWN, "Running")


def _condition(status: Mapping[str, Any], kind: str, value: str | None) -> int:
    """When a condition took a value, or `UNKNOWN`."""
    for one in status.get("conditions") or ():
        if one.get("type") == kind and value in (None, one.get("status")):
            return _time(one.get("lastTransitionTime"))
    return UNKNOWN


def _gpus(pod: Mapping[str, Any]) -> int:
    """Parts of GPUs of a pod: its containers together, or its largest first container."""
    together = sum(map(_of_container, pod.get("containers") or ()))
    return max([together, *map(_of_container, pod.get("initContainers") or ())])


def _of_container(container: Mapping[str, Any]) -> int:
    resources = container.get("resources") or NO_DATA
    asked = {**(resources.get("requests") or NO_DATA), **(resources.get("limits") or NO_DATA)}
    found = 0
    for name, count in asked.items():
        device = str(name).rpartition("/")[2]
        if "/" in str(name) and device.startswith(DEVICES) and str(count).isdigit():
            found += int(count) * (parts_of_type(device) if device.startswith("mig-") else PARTS)
    return found


def _time(text: Any) -> int:
    """A time such as `2025-03-01T10:00:00Z`."""
    try:
        return seconds_of(text.replace("Z", "+00:00"), {}) if isinstance(text, str) else UNKNOWN
    except ValueError:
        return UNKNOWN
