"""mdtest: command lines for creates, opens and look-ups of files."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.acceptance.loads import Setting, ended_by_files, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import launch, repeated, script
from ingest.acceptance.sizes import files_per_thread
from ingest.expression import Num
from ingest.formula import solve
from ingest.requirement import Requirement

VERSION = "4.0.0"
#: The phase under test needs the one that creates before it; the last one removes.
PHASES = {"create": "-C -r", "stat": "-C -T -r", "open": "-C -E -r -w {io_bytes} -e {io_bytes}"}


def loads(requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> tuple[Load, ...]:
    """The loads as mdtest runs them: as many passes over its files as the required rate takes the time for."""
    load, given = loads[0], given_for(requirement, setting)
    each, passes = files_per_thread(load, given), _passes(given, setting)
    return (ended_by_files(load, each * passes * load.threads * load.clients),)


def _passes(given: Mapping[str, Num], setting: Setting) -> int:
    return 1 if setting.rehearsal else max(1, int(solve("metadata_passes", given)))


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The script of a test."""
    load, given = loads[0], given_for(requirement, setting)
    phases = PHASES[load.operation].format(io_bytes=load.io_bytes)
    # Each rank works on the files of a rank of the next client, whose cache does not know them.
    stride = f"-N {load.threads} " if load.clients > 1 else ""
    folder = "" if load.files == "shared" else "-u "
    size = f"-n {files_per_thread(load, given)} -i {_passes(given, setting)}"
    run = f'$LAUNCH mdtest -F {phases} {size} {stride}{folder}-d "$TARGET/{ident}" > "$RESULTS/{ident}.run$run.txt" 2>&1'
    lines = [
        launch(load.clients, load.threads, setting.rehearsal),
        *repeated(setting.repeats, ".txt", [run], drops=False),
    ]
    return {f"mdtest/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines, folder=ident)}
