"""elbencho: command lines for reads and writes; its services run on the clients."""

from __future__ import annotations

from ingest.acceptance.loads import SHARED_FILES, Setting, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import script
from ingest.acceptance.sizes import bytes_per_client, file_bytes, fill_bytes
from ingest.requirement import Requirement

#: The first whose JSON says what ran.
VERSION = "3.0.37"


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The script of a test; all threads share the files, as elbencho does with files that it is given by name."""
    load, given = loads[0], given_for(requirement, setting)
    each = file_bytes(given, SHARED_FILES, bytes_per_client(load, given) * load.clients)
    paths = f'"$TARGET/file[0-{SHARED_FILES - 1}]"'
    hosts = "" if setting.rehearsal else '--hostsfile "$HOSTS" '
    common = f"elbencho {hosts}-t {load.threads} -s {each} --direct"
    # Threads start their files again until the time is over.
    order = "--rand --infloop " if load.pattern == "random" else "--infloop "
    result = f'--label {ident} --lat --jsonfile "$RESULTS/{ident}.run$run.json"'
    filling = [] if load.operation == "write" else [f"{common} -w -b {fill_bytes(given)} --label {ident}.fill {paths}"]
    letter = {"read": "-r", "write": "-w"}[load.operation]
    lines = [
        *filling,
        f"for run in $(seq {setting.repeats}); do",
        f"  {common} {letter} -b {load.io_bytes} {order}--timelimit {load.seconds:.0f} {result} {paths}",
        "done",
    ]
    return {f"elbencho/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines)}
