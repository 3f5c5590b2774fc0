"""PBS and Torque: accounting records, of which those of ends (`E`) and of requeues (`R`) tell an allocation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ingest.accounting import ledger as records
from ingest.accounting.ledger import CODES, UNKNOWN, Group, Ledger, account_of, elapsed_of, key_of, parts_of_type

RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;([A-Za-z]);([^;]*);(.*)")
#: A value with quotation marks may hold spaces: the account, the name of the project.
_FIELD = re.compile(r'([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
#: Records of an allocation that ended; all others tell of queues, starts, reservations.
ENDED = {"E": True, "R": True}
#: Exit status of a job that the system ended: negative ones are PBS's own (`JOB_EXEC_*`), above 256 signals.
KILLED, REQUEUED = 256, "R"
#: Of PBS's own those that say more than an interrupt: no start, limits of CPUs and memory, of time; Torque means other things
#: by -10 to -12 than PBS Pro.
OWN = {
    **dict.fromkeys((-1, -2), "failed"),
    **dict.fromkeys((-10, -11, -12), "other"),
    **dict.fromkeys(range(-27, -23), "failed"),
    **dict.fromkeys((-28, -29), "timeout"),
}
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
    parts, group = gpus * parts_of_type(gpu), Group("", gpu, fields.get("queue", ""), account, server=server)
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
