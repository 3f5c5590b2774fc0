"""mdtest: command lines for creates, opens and look-ups of files."""

from __future__ import annotations

from ingest.acceptance.loads import Setting, given_for
from ingest.acceptance.records import Load
from ingest.acceptance.script import launch, script
from ingest.acceptance.sizes import files_per_thread
from ingest.requirement import Requirement

VERSION = "4.0.0"
#: The phase under test needs the one that creates before it; the last one removes.
PHASES = {"create": "-C -r", "stat": "-C -T -r", "open": "-C -E -r -w {io_bytes} -e {io_bytes}"}


def job_files(ident: str, requirement: Requirement, loads: tuple[Load, ...], setting: Setting) -> dict[str, str]:
    """The script of a test."""
    load, given = loads[0], given_for(requirement, setting)
    phases = PHASES[load.operation].format(io_bytes=load.io_bytes)
    # Each rank works on the files of a rank of the next client, whose cache does not know them.
    stride = f"-N {load.threads} " if load.clients > 1 else ""
    folder = "" if load.files == "shared" else "-u "
    line = f'$LAUNCH mdtest -F {phases} -n {files_per_thread(load, given)} {stride}{folder}-d "$TARGET/{ident}"'
    lines = [
        launch(load.clients, load.threads, setting.rehearsal),
        f"for run in $(seq {setting.repeats}); do",
        f'  {line} > "$RESULTS/{ident}.run$run.txt" 2>&1',
        "done",
    ]
    return {f"mdtest/{ident}.sh": script(ident, load.clients, setting.rehearsal, lines)}
