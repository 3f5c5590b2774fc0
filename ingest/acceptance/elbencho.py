"""elbencho: command lines for reads and writes; its services run on the clients."""

from __future__ import annotations

from ingest.acceptance.loads import SHARED_FILES, USUAL_THREADS, Setting, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import repeated, script
from ingest.acceptance.sizes import bytes_per_client, data_clients, file_bytes, fill_bytes, given_of
from ingest.requirement import Requirement

#: The first whose JSON says what ran.
VERSION = "3.0.37"


#: Each client reads what the next one has written.
ROTATED = """{ tail -n +2 "$HOSTS"; head -n 1 "$HOSTS"; } > "$HOSTS.rotated"
HOSTS=$HOSTS.rotated"""
FOLDER = "elbencho-data"


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The scripts of a test; all threads share the files, as elbencho does with files that it is given by name."""
    load, given = loads[0], given_of(loads[0], given_for(requirement, setting))
    clients = data_clients(load, setting) if load.operation == "read" else load.clients
    each = file_bytes(given, SHARED_FILES, bytes_per_client(load, given) * clients)
    paths = f'"$TARGET/file[0-{SHARED_FILES - 1}]"'
    hosts = "" if setting.rehearsal else '--hostsfile "$HOSTS" '
    common = f"elbencho {hosts}-t {load.threads} -s {each} --direct"
    # Threads start their files again until the time is over.
    order = "--rand --infloop " if load.pattern == "random" else "--infloop "
    result = f'--label {ident} --lat --jsonfile "$RESULTS/{ident}.run$run.json"'
    letter = {"read": "-r", "write": "-w"}[load.operation]
    run = f"{common} {letter} -b {load.io_bytes} {order}--timelimit {load.seconds:.0f} {result} {paths}"
    filling = f"elbencho {hosts}-t {USUAL_THREADS} -s {each} --direct"
    fill = f"{filling} -w -b {fill_bytes(given)} --label fill.fill {paths}"
    if load.operation == "write":
        lines = [*repeated(setting.repeats, ".json", [run], drops=False), f"elbencho {hosts}-t 1 -F {paths}"]
        return {f"elbencho/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines, folder=ident)}
    runs = repeated(setting.repeats, ".json", [run], drops=not setting.rehearsal)
    if setting.rehearsal:
        return {f"elbencho/{ident}.sh": script(ident, load.clients, True, [fill, *runs])}
    return {
        "elbencho/fill-data.sh": script(FOLDER, clients, False, [fill], folder=FOLDER),
        f"elbencho/{ident}.sh": script(ident, load.clients, False, [ROTATED, *runs], folder=FOLDER, drops=True),
    }
