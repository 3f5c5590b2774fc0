"""IOR: command lines for reads and writes."""

from __future__ import annotations

from ingest.acceptance.loads import Setting, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import launch, repeated, script
from ingest.acceptance.sizes import bytes_per_client, data_clients, data_name, file_bytes, fill_bytes, given_of
from ingest.requirement import Requirement

#: The first with minTimeDuration, which repeats a file until the time is over.
VERSION = "4.0.0"


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The scripts of a test; errors go to the results too, because IOR prints a rate beside them."""
    load, given = loads[0], given_of(loads[0], given_for(requirement, setting))
    # A shared file has one segment per task, so that it needs no arithmetic beyond that of files of their own.
    block = file_bytes(given, load.threads, bytes_per_client(load, given))
    kept = "-F -g -b" if load.files != "shared" else "-g -b"
    common = f"-a POSIX {kept} {block} -s 1 --posix.odirect"
    timed = f"-D {load.seconds:g} -O minTimeDuration={load.seconds:g}"
    output = f'>> "$RESULTS/{ident}.run$run.txt" 2>&1'
    label = f'echo "# {ident}" > "$RESULTS/{ident}.run$run.txt"'
    start = launch(load.clients, load.threads, setting.rehearsal)
    if load.operation == "write":
        run = f'$LAUNCH ior {common} -o "$TARGET/{ident}" -w -e -t {load.io_bytes} {timed} {output}'
        lines = [start, *repeated(setting.repeats, ".txt", [label, run], drops=False)]
        return {f"ior/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines, folder=ident)}
    name, order = data_name(load, setting), "-z " if load.pattern == "random" else ""
    fill = f'$LAUNCH ior {common} -k -o "$TARGET/{name}" -w -e -t {fill_bytes(given)}'
    run = f'$LAUNCH ior {common} -k -o "$TARGET/{name}" -r -C {order}-t {load.io_bytes} {timed} {output}'
    runs = repeated(setting.repeats, ".txt", [label, run], drops=not setting.rehearsal)
    if setting.rehearsal:
        return {f"ior/{ident}.sh": script(ident, load.clients, True, [start, fill, *runs])}
    clients = data_clients(load, setting)
    filling = [launch(clients, load.threads, False), fill]
    folder = f"ior-{name}"
    return {
        f"ior/fill-{name}.sh": script(folder, clients, False, filling, folder=folder),
        f"ior/{ident}.sh": script(ident, load.clients, False, [start, *runs], folder=folder, drops=True),
    }
