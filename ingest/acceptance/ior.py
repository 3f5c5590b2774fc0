"""IOR: command lines for reads and writes."""

from __future__ import annotations

from ingest.acceptance.loads import Setting, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import launch, script
from ingest.acceptance.sizes import bytes_per_client, file_bytes, fill_bytes
from ingest.requirement import Requirement

#: The first with minTimeDuration, which repeats a file until the time is over.
VERSION = "4.0.0"


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The script of a test; the text output goes to the results, errors included, because IOR prints a rate beside them."""
    load, given = loads[0], given_for(requirement, setting)
    shared = load.files == "shared"
    # A shared file has one segment per task, so that it needs no arithmetic beyond that of files of their own.
    block = file_bytes(given, load.threads, bytes_per_client(load, given))
    common = f'-a POSIX {"" if shared else "-F "}-g -k -b {block} -s 1 --posix.odirect -o "$TARGET/{ident}"'
    timed = f"-D {load.seconds:g} -O minTimeDuration={load.seconds:g}"
    if load.operation == "write":
        filling: list[str] = []
        test = f"-w -e -t {load.io_bytes} {timed}"
    else:
        filling = [f"$LAUNCH ior {common} -w -e -t {fill_bytes(given)}"]
        test = f"-r -C {'-z ' if load.pattern == 'random' else ''}-t {load.io_bytes} {timed}"
    lines = [
        launch(load.clients, load.threads, setting.rehearsal),
        *filling,
        f"for run in $(seq {setting.repeats}); do",
        f'  $LAUNCH ior {common} {test} > "$RESULTS/{ident}.run$run.txt" 2>&1',
        "done",
    ]
    return {f"ior/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines)}
