"""What the shell scripts of all tools begin with; they take paths from the environment, never from a requirement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

HEAD = """#!/bin/sh
# {ident}: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${{TARGET:?say TARGET=FOLDER, on the storage under test}}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${{RESULTS:=$here/../results}}"
RESULTS=$(cd "$RESULTS" && pwd)
# Results of earlier runs stay: a run takes the next number.
free() {{ run=1; while [ -e "$RESULTS/{ident}.run$run$1" ]; do run=$((run + 1)); done; }}
"""

#: A folder that did not exist before, so that nothing of the user's is touched.
OWN_FOLDER = """TARGET=$(cd "$TARGET" && pwd)/{ident}
mkdir "$TARGET"
"""

#: What an earlier fill of the same tool made; any other folder of that name is the user's.
DATA_FOLDER = """TARGET=$(cd "$TARGET" && pwd)/{folder}
"""

CLEANED = """trap 'cd / && rm -rf -- "$TARGET"' EXIT
trap 'exit 130' INT TERM HUP
cd "$TARGET"
"""

#: Tests of one plan have different numbers of clients: each takes the first of the list.
HOSTS = """HOSTS=${{HOSTS:-$here/../hosts.txt}}
if ! [ -s "$HOSTS" ]; then
  echo "{ident}: hosts file '$HOSTS' is missing or empty, expected {clients} clients, one per line" >&2
  exit 2
fi
if [ "$(grep -c . "$HOSTS")" -lt {clients} ]; then
  echo "{ident}: hosts file '$HOSTS' has $(grep -c . "$HOSTS") clients, expected {clients}" >&2
  exit 2
fi
grep . "$HOSTS" | head -n {clients} > "$RESULTS/{ident}.hosts"
HOSTS=$RESULTS/{ident}.hosts
"""

#: Who runs the test says how caches are dropped: only they know servers and privileges.
DROPS = """: "${{DROP_CACHES:?say DROP_CACHES='command that drops caches of clients and servers', true for none}}"
"""

#: Open MPI's words; srun or another MPI goes into LAUNCH.
LAUNCH_ONE = "LAUNCH=${{LAUNCH:-mpirun -np {ranks}}}\n"
LAUNCH_ALL = "LAUNCH=${{LAUNCH:-mpirun -np {ranks} -N {threads} --hostfile $HOSTS}}\n"


def script(ident: str, clients: int, rehearsal: bool, body: Iterable[str], *, folder: str = "", drops: bool = False) -> str:
    """A script of one test, or of filling a data set.

    Args:
        ident: of the test, or of the data set.
        clients: that the hosts file must list.
        rehearsal: on this machine alone, in a folder that is removed at the end.
        body: its lines.
        folder: below TARGET; made new where it has the name of the test. None for fio, whose servers have theirs.
        drops: whether caches are dropped between runs.
    """
    parts = [HEAD] if rehearsal else [HEAD, HOSTS]
    if drops and not rehearsal:
        parts.append(DROPS)
    if rehearsal:
        parts += [OWN_FOLDER, CLEANED]
    elif folder:
        parts.append(OWN_FOLDER if folder == ident else DATA_FOLDER)
    return "".join(parts).format(ident=ident, clients=clients, folder=folder) + "\n".join(body) + "\n"


def repeated(repeats: int, ending: str, commands: Iterable[str], *, drops: bool) -> Iterator[str]:
    """Lines that run commands several times, with free file names for their results and cold caches."""
    yield f"for turn in $(seq {repeats}); do"
    yield f'  free "{ending}"'
    if drops:
        yield '  sh -c "$DROP_CACHES"'
    yield from (f"  {command}" for command in commands)
    yield "done"


def launch(clients: int, threads: int, rehearsal: bool) -> str:
    """The line that says how MPI starts one rank for each thread."""
    line = LAUNCH_ONE if rehearsal else LAUNCH_ALL
    return line.format(ranks=clients * threads, threads=threads).rstrip("\n")
