"""Readers of histories by their kind: tables, PBS, Kubernetes, and bytes of jobs from elsewhere than the scheduler."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ingest.accounting import ledger as records
from ingest.accounting.ledger import CODE_OF, CODES, PARTS, UNKNOWN, Group, Ledger, account_of, elapsed_of, key_of, seconds_of
from ingest.corpus.native_calls import no_panic_message
from ingest.errors import IngestError, UsageError, expected_one_of

# Tables: any CSV whose columns the user names once, and the public pod list of Alibaba.

#: What a column of a table may be.
ROLES: Sequence[str] = records.WORDS["roles"]
#: Codes of states as tables write them.
STATES = {word.lower(): code for word, code in CODE_OF.items()}
#: Words in the name of a column that say something else than what is read as it: seconds since 1970, seconds, GPUs, bytes.
ELSEWISE: Mapping[str, Sequence[str]] = records.WORDS["elsewise"]
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Days since 1900, as spreadsheets count them, from 1990 to 2099.
SPREADSHEET = (32_874, 73_050)
_ZONE = re.compile(r"\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)")
#: Thousandths of a GPU.
THOUSAND = 1000
#: Rows in which a column of GPUs shows whether it holds numbers or what Slurm allocates, such as `gres/gpu=8,node=1`.
LOOKED_AT = 40
#: What `sacct` calls a column; it calls the others as they are called here.
SACCT: Mapping[str, str] = records.WORDS["sacct"]


def columns_of(text: str | Mapping[str, str] | None) -> dict[str, str]:
    """The columns of a table by what each is, from `start=began,end=ended,gpus=devices`.

    Raises UsageError: another role, one twice, or too few of them.
    """
    if not text:
        return {}
    pairs = [*text.items()] if isinstance(text, Mapping) else [part.partition("=")[::2] for part in text.split(",")]
    found: dict[str, str] = {}
    for role, name in pairs:
        if role.strip() not in ROLES or not name.strip():
            raise UsageError(
                f"--columns: found '{role.strip()}={name.strip()}', {expected_one_of(role.strip(), ROLES)} with a column"
            )
        if role.strip() in found:
            raise UsageError(f"--columns: found {role.strip()} twice, expected each once")
        found[role.strip()] = name.strip()
    for needed in (("start",), ("end", "duration"), ("gpus", "nodes")):
        if not found.keys() & {*needed}:
            raise UsageError(f"--columns: no {' or '.join(needed)}, expected such as start=began,end=ended,gpus=devices")
    return found


def read_table(lines: Iterable[str], place: str, ledger: Ledger, columns: Mapping[str, str], accounts: bool) -> None:
    """Read a table with a header; names of columns, or their numbers from 1 on where it has none, as `sacct -n` writes it.

    Raises IngestError: a column is missing.
    """
    lines = iter(lines)
    first = next((line for line in lines if line.strip()), "")
    mark = max("|\t;,", key=first.count)
    header = next(csv.reader([first], delimiter=mark), [])
    # `|` parts columns of texts that are written as they are.
    cells = partial(csv.reader, delimiter=mark, quoting=csv.QUOTE_NONE if mark == "|" else csv.QUOTE_MINIMAL, strict=True)
    names = [name.strip() for name in header]
    numbered = all(name.isdigit() for name in columns.values())
    at: dict[str, int] = {}
    for role, name in columns.items():
        if numbered and 0 < int(name) <= len(names):
            at[role] = int(name) - 1
        elif name in names:
            at[role] = names.index(name)
        else:
            raise IngestError(f"{place}: no column '{name}' for {role}, expected one of its {len(names)} columns")
        words = {*map(str.lower, _WORDS.findall(name)), *_WORDS.findall(name.lower())}
        if word := min(words & {*ELSEWISE.get(role, ())}, default=""):
            raise IngestError(f"{place}: column '{name}' has '{word}' in its name, expected seconds, GPUs of a run, or bytes")
    rows = chain([first] if numbered else [], lines)
    ahead = [*islice(rows, LOOKED_AT)]
    rows = chain(ahead, rows)
    shown = {
        role: [row[at[role]].strip() for row in csv.reader(ahead, delimiter=mark) if role in at and len(row) > at[role]]
        for role in ("start", "gpus")
    }
    if shown["start"] and all(map(records.DAY.fullmatch, shown["start"])):
        raise IngestError(f"{place}: start has days alone, expected times of day or seconds")
    numbers = [float(one) for one in shown["start"] if one.replace(".", "", 1).isdigit()]
    if any(one % 1 for one in numbers) and all(SPREADSHEET[0] <= one <= SPREADSHEET[1] for one in numbers):
        raise IngestError(f"{place}: start has days as a spreadsheet counts them, expected times of day or seconds")
    if any(map(records.TRES.search, shown["gpus"])):
        written = {place: SACCT.get(role, role) for role, place in at.items()}
        records.read_rows(rows, mark.join(written.get(place, "-") for place in range(len(names))), place, ledger, accounts)
        return
    ledger.local |= not all(map(_zoned, shown["start"]))
    days: dict[str, int] = {}
    width = len(names)
    for row in cells(rows):
        if row and (len(row) < width or any(row[width:]) or not _add_row(row, at, ledger, accounts, days)):
            ledger.leave_out(records.UNREADABLE)


def _add_row(row: Sequence[str], at: Mapping[str, int], ledger: Ledger, accounts: bool, days: dict[str, int]) -> bool:
    """Add a row; returns whether it could be read."""
    cell = {role: row[place].strip() for role, place in at.items()}
    try:
        written = [cell.get(name, "") for name in ("start", "end")]
        start, end = (_time(one, days) for one in written)
        if UNKNOWN not in (start, end) and len({*map(len, written)}) > 1 and len({*map(_zoned, written)}) > 1:
            return False
        duration = elapsed_of(cell["duration"].partition(".")[0]) if cell.get("duration") else UNKNOWN
        if cell.get("duration") and duration == UNKNOWN:
            return False
        amounts = [round(float(cell[name]) * PARTS) if cell.get(name) else UNKNOWN for name in ("gpus", "nodes")]
        moved = [float(cell[name]) if cell.get(name) else records.NAN for name in ("read", "written")]
    except (ValueError, OverflowError):
        return False
    gpus, nodes = amounts[0], (amounts[1] // PARTS if amounts[1] != UNKNOWN else UNKNOWN)
    cluster = cell.get("cluster", "")
    key = key_of(cell["id"], cluster) if "id" in cell else records.digest("\0".join(row))
    usual = "Running" if end == duration == UNKNOWN else "Succeeded"
    state = STATES.get(cell.get("state", usual).partition(" ")[0].lower(), CODES["other"])
    if start == UNKNOWN:
        ledger.leave_out(records.NEVER_STARTED, key)
    elif ("gpus" in cell and gpus == UNKNOWN) or min(amounts) < UNKNOWN:
        ledger.leave_out(records.NO_GPUS, key)
    elif end == duration == UNKNOWN and "state" in cell and state != CODES["running"]:
        ledger.leave_out(records.NO_END, key)
    else:
        account = account_of(cell["account"]) if accounts and "account" in cell else ""
        group = Group(cluster, cell.get("gpu", ""), cell.get("partition", ""), account)
        ledger.add(key, start, end, duration, max(gpus, 0), nodes, ledger.group(group), state, *moved)
    return True


def _zoned(text: str) -> bool:
    """Whether a time is of a zone, as seconds since 1970 are."""
    return text.replace(".", "", 1).isdigit() or _ZONE.search(text) is not None


def _time(text: str, days: dict[str, int]) -> int:
    """A time, or seconds with a fraction."""
    if text in records.NO_TIME:
        return UNKNOWN
    try:
        return int(float(text))
    except ValueError:
        return seconds_of(text.replace(" ", "T"), days)


#: The header of Alibaba's pod list (cluster-trace-gpu-v2023) has these names.
POD_LIST: Sequence[str] = records.WORDS["pod_list"]


def read_pod_list(lines: Iterable[str], ledger: Ledger) -> None:
    """Read Alibaba's pod list: seconds since its beginning; a pod of one GPU may ask for thousandths of it."""
    for row in csv.DictReader(lines, strict=True):
        try:
            count, milli = int(row["num_gpu"]), int(row["gpu_milli"])
            start = int(row["scheduled_time"]) if row["scheduled_time"] else UNKNOWN
            end = int(row["deletion_time"]) if row["deletion_time"] else UNKNOWN
        except (TypeError, ValueError):
            ledger.leave_out(records.UNREADABLE)
            continue
        key = key_of(row["name"])
        if start == UNKNOWN:
            ledger.leave_out(records.NEVER_STARTED, key)
            continue
        kind = row.get("gpu_spec") or ""
        gpus = count * milli * PARTS // THOUSAND
        # `Running` is the phase at the last record: a pod that was deleted had ended by then.
        state = CODE_OF.get(row.get("pod_phase") or "", CODES["other"])
        ended = CODES["other"] if state == CODES["running"] and end != UNKNOWN else state
        ledger.add(key, start, end, UNKNOWN, gpus, 1, ledger.group(Group("", kind if "|" not in kind else "")), ended)


# PBS and Torque: accounting records, of which those of ends (`E`) and of requeues (`R`) tell an allocation.

RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;([A-Za-z]);([^;]*);(.*)")
#: A value with quotation marks may hold spaces: the account, the name of the project.
_FIELD = re.compile(r'([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
#: Records of an allocation that ended; all others tell of queues, starts, reservations.
ENDED = ("E", "R")
#: Exit status of a job that the system ended: negative ones are PBS's own (`JOB_EXEC_*`), above 256 signals.
KILLED, REQUEUED = 256, "R"
#: Of PBS's own those that say more than an interrupt: no start, limits of CPUs and memory, of time; Torque means other things
#: by -10 to -12 than PBS Pro.
OWN: Mapping[int, str] = {number: word for word, numbers in records.WORDS["exit_status"].items() for number in numbers}
_KIND = re.compile(r":gpu_type=([^:+]+)")
#: GPUs of a chunk or vnode, by the resource that each site has for them.
_GPUS = re.compile(r"(?:^|:)n?gpus?=(\d+)(?![.\d])")
#: What else a record says of accelerators, whose number nothing tells then.
_UNTOLD = re.compile(r"(?:gpu|accelerator)s?(?:_share|_mem)?[:=](?!0(?![.\d])|none|false)", re.IGNORECASE)

#: Resources that tell chunks of nodes.
CHUNKED = ("nodes", "neednodes", "select", "nodect")
#: Fields that tell resources of a job.
RESOURCES = ("Resource_List.", "exec_gpus", "exec_vnode")


def read_records(lines: Iterable[str], ledger: Ledger, accounts: bool) -> None:
    """Read accounting records."""
    for line in lines:
        found = RECORD.match(line)
        if found is None:
            if line.strip():
                ledger.leave_out(records.UNREADABLE)
            continue
        kind, ident, text = found.groups()
        if kind == "D" or (kind == "A" and "=" not in text):
            continue
        if kind in ENDED:
            _read_end(kind, ident, {name: value.strip('"') for name, value in _FIELD.findall(text)}, ledger, accounts)


def _read_end(kind: str, ident: str, fields: Mapping[str, str], ledger: Ledger, accounts: bool) -> None:
    # Darshan and Lustre name a job by its number, without the server.
    number, _, server = ident.partition(".")
    server = server.partition(".")[0]
    key = key_of(number, server)
    if number.endswith("[]"):
        ledger.leave_out(records.ARRAY, key)
        return
    start, end = (int(fields[name]) if fields.get(name, "").isdigit() else UNKNOWN for name in ("start", "end"))
    clock = fields.get("resources_used.walltime", "")
    elapsed = elapsed_of(clock) if clock.replace(":", "").isdigit() else UNKNOWN
    if start <= 0:
        ledger.leave_out(records.NEVER_STARTED, key)
        return
    if end <= 0 and elapsed <= 0:
        ledger.leave_out(records.NO_END, key)
        return
    # Walltime counts from the start of the script, end and start what was allocated.
    end = end if end > 0 else start + elapsed
    nodes, gpus = _allocated(fields)
    if not gpus and any(_UNTOLD.search(f"{name}={value}") for name, value in fields.items() if name.startswith(RESOURCES)):
        ledger.leave_out(records.NO_GPUS, key)
        return
    account = account_of(fields.get("account") or fields.get("group", "")) if accounts else ""
    # Sites ask for the kind of GPU in each chunk of `select`, or as a resource of the job.
    kinds = {fields.get("Resource_List.gpu_type", ""), *_KIND.findall(fields.get("Resource_List.select", ""))} - {""}
    gpu = kinds.pop() if len(kinds) == 1 else ""
    parts, group = gpus * records.parts_of_type(gpu), Group("", gpu, fields.get("queue", ""), account, server=server)
    ledger.add(key, start, end, UNKNOWN, parts, nodes, ledger.group(group), _state(kind, fields.get("Exit_status", "0")))


def _state(kind: str, status: str) -> int:
    """How the job ended, by its exit status."""
    try:
        number = int(status)
    except ValueError:
        return CODES["other"]
    if kind == REQUEUED or number < 0:
        return CODES["interrupted" if kind == REQUEUED else OWN.get(number, "interrupted")]
    return CODES["cancelled" if number >= KILLED else "failed" if number else "completed"]


def _allocated(fields: Mapping[str, str]) -> tuple[int, int]:
    """Nodes and GPUs: of the vnodes where they are listed, else of the resources."""
    nodes = int(fields["Resource_List.nodect"]) if fields.get("Resource_List.nodect", "").isdigit() else UNKNOWN
    if places := fields.get("exec_vnode") or fields.get("exec_host"):
        nodes = len({re.split(r"[:/[]", part.strip("()"))[0] for part in places.split("+")})
        if found := _GPUS.findall(places):
            return nodes, sum(map(int, found))
    for name in ("Resource_List.ngpus", "Resource_List.gpus", "Resource_List.gpu"):
        if fields.get(name, "").isdigit():
            return nodes, int(fields[name])
    chunks = [fields.get(f"Resource_List.{name}", "") for name in CHUNKED]
    asked = next((text for text in chunks if ":" in text), chunks[0])
    gpus = count = 0
    for chunk in filter(None, asked.split("+")):
        number, _, further = chunk.partition(":")
        of = int(number) if number.isdigit() else 1  # a host by its name
        each = _GPUS.search(further)
        gpus += of * int(each[1]) if each else 0
        count += of
    return nodes if nodes != UNKNOWN else count or UNKNOWN, gpus


# Kubernetes: pods, jobs and Kueue workloads, as `kubectl get -o json` writes them.

KINDS = frozenset(("Pod", "Job", "Workload"))
#: Resources of whole GPUs are called so behind the name of their vendor; a slice has the name of its kind.
WHOLE, SLICE = frozenset(("gpu", "pgpu", "gaudi", "neuron", "neurondevice", "i915", "xe")), "mig-"
#: Letters in the names of resources that say a share of a GPU, such as its memory: how large it is, no record tells.
SHARED_PART = ("gpu", "vcuda", "neuroncore")
#: Counts `gpu` in hundredths.
PERCENT = "koordinator.sh/gpu"
#: The annotation of Run:ai for the share of a GPU that a pod asks for.
FRACTION, MEMORY = "gpu-fraction", "gpu-memory"
#: Resources that are accelerators whatever a site calls them.
_OTHER = re.compile(rf"^(?:nvidia|amd)\.com/|(?<![a-z])(?:{'|'.join(records.OTHERS)}|ascend|davinci)")
#: Labels that tell the kind of GPU of the node that a pod asks for.
PRODUCTS: Sequence[str] = records.WORDS["products"]
NO_DATA: Mapping[str, Any] = {}


def read_manifest(one: Mapping[str, Any], ledger: Ledger) -> None:
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
    selectors = [pod.get("nodeSelector") or {} for _, pod in sets]
    gpu = next((str(labels[name]) for labels in selectors for name in PRODUCTS if name in labels), "")
    ledger.add(key, start, end, UNKNOWN, gpus, nodes, ledger.group(Group("", gpu, queue)), code)


def _template(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pods that a job or a set of pods makes."""
    return (spec.get("template") or NO_DATA).get("spec") or NO_DATA


def _pod(spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, int, str]:
    """Start, end and state of a pod: GPUs are held from when it is on a node until its last container has ended."""
    ended = [
        _moment(((one.get("state") or NO_DATA).get("terminated") or NO_DATA).get("finishedAt"))
        for one in status.get("containerStatuses") or ()
    ]
    phase = str(status.get("reason") or status.get("phase") or "")
    over = status.get("phase") in ("Succeeded", "Failed")
    start = _moment(status.get("startTime"))
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
    start, failed = _moment(status.get("startTime")), _condition(status, "Failed", "True")
    done = _moment(status.get("completionTime"))
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
            return _moment(one.get("lastTransitionTime"))
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
            found += int(count) * records.parts_of_type(device)
        else:
            shared |= any(word in device.lower() for word in SHARED_PART)
    return UNKNOWN if shared else found


def _moment(text: Any) -> int:
    """A time such as `2025-03-01T10:00:00Z`."""
    try:
        return seconds_of(text.replace("Z", "+00:00"), {}) if isinstance(text, str) else UNKNOWN
    except ValueError:
        return UNKNOWN


# Bytes of jobs from elsewhere than the scheduler: Darshan logs by job id, and snapshots of Lustre's `jobstats`.

#: A log of Darshan has the job id in its name: user_program_id12345-6789_….
_LOG = re.compile(r"_id(\d+)(?:-\d+)?_")
_JOB = re.compile(r"\s*-?\s*job_id:\s*\"?([^\"\s]+)")
_BYTES = re.compile(r"\s*(read|write)_bytes:.*?sum:\s*(\d+)")
_TARGET = re.compile(r"\s*(\S+)\.job_stats=")
#: The number of a job comes first: that of `name.number`, Lustre's default, is the user's.
_NUMBER = re.compile(r"(\d{1,18})(?![0-9A-Za-z])")


def read_darshan(path: Path, ledger: Ledger) -> None:
    """Add the bytes of one log of Darshan to its job.

    Raises:
        IngestError: the log has no job id or is damaged.
        ModuleNotFoundError: the package darshan is not installed.
    """
    found = _LOG.search(path.name)
    if found is None:
        raise IngestError(f"{path.parent}: a Darshan log without a job id in its name, expected …_id12345-…")
    import darshan

    why = ""
    with no_panic_message():  # the library prints its own errors, at the end of the report too
        try:
            report = darshan.DarshanReport(str(path), read_all=False)
            read, written = (sum(counts) for counts in zip((0.0, 0.0), *_moved(report), strict=True))
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            why = type(error).__name__
    if why:
        raise IngestError(f"{path.parent}: a Darshan log of job {found[1]} is damaged ({why}), expected a whole one")
    if any(one.get("partial_flag") for one in report.modules.values()):
        ledger.notes["Darshan log that lacks records: bytes of its run are too low"] += 1
    ledger.kinds["Darshan"] += 1
    ledger.moved(key_of(found[1]), records.digest(path.name), read, written)


def _moved(report: Any) -> Iterator[tuple[float, float]]:
    """Bytes read and written of each file, by the modules that count calls of programs."""
    for module in ("POSIX", "STDIO"):
        if module in report.modules:
            report.mod_read_all_records(module, dtype="numpy")
            names = report.counters[module]["counters"]
            read, written = (names.index(f"{module}_BYTES_{way}") for way in ("READ", "WRITTEN"))
            for record in report.records[module]:
                yield float(record["counters"][read]), float(record["counters"][written])


def read_jobstats(lines: Iterable[str], place: str, ledger: Ledger) -> None:
    """Read snapshots of Lustre's `jobstats`: counts of a job grow, so that of those of one target the largest holds.

    The job is the number that `job_id` begins with, as `jobid_var=SLURM_JOB_ID` writes it. Snapshots whose targets have no name
    are taken for those of different targets.
    """
    key, source, unnamed, counts = None, records.digest(place), 0, {"read": 0.0, "write": 0.0}

    def close() -> None:
        if key is not None:
            ledger.moved(key, source, counts["read"], counts["write"])
        counts.update(read=0.0, write=0.0)

    named = False
    for line in lines:
        target, job, moved = _TARGET.match(line), _JOB.match(line), _BYTES.match(line)
        if target is not None or line.strip().startswith("job_stats:"):
            close()
            key = None
            if target is not None:
                source = records.digest(target[1])
            elif not named:
                unnamed += 1
                source = records.digest(f"{place}:{unnamed}")
            named = target is not None
        elif job is not None:
            close()
            number = _NUMBER.match(job[1])
            key = key_of(number[1]) if number else None
            if key is None:
                ledger.notes["entry of job_stats without the number of a job: its bytes count for none"] += 1
        elif moved is not None:
            counts[moved[1]] = float(moved[2])
        named = named and target is not None
    close()
