"""What the shell scripts of all tools begin with; they take paths from the environment, never from a requirement."""

from __future__ import annotations

from collections.abc import Iterable

HEAD = """#!/bin/sh
# {ident}: TARGET is a folder on the storage under test, RESULTS takes the output.
set -eu
: "${{TARGET:?say TARGET=FOLDER, on the storage under test}}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${{RESULTS:=$here/../results}}"
RESULTS=$(cd "$RESULTS" && pwd)
"""

#: A folder that did not exist before, so that nothing of the user's is touched.
OWN_FOLDER = """TARGET=$(cd "$TARGET" && pwd)/{ident}
mkdir "$TARGET"
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

#: Open MPI's words; srun or another MPI goes into LAUNCH.
LAUNCH_ONE = "LAUNCH=${{LAUNCH:-mpirun -np {ranks}}}\n"
LAUNCH_ALL = "LAUNCH=${{LAUNCH:-mpirun -np {ranks} -N {threads} --hostfile $HOSTS}}\n"


def script(ident: str, clients: int, rehearsal: bool, body: Iterable[str], *, own_folder: bool = True) -> str:
    """A script of one test.

    Args:
        ident: of the test.
        clients: that the hosts file must list.
        rehearsal: on this machine alone, in a folder that is removed at the end.
        body: its lines.
        own_folder: whether it makes a folder for its files; fio's servers have theirs.
    """
    parts = [HEAD]
    if not rehearsal:
        parts.append(HOSTS)
    if own_folder or rehearsal:
        parts.append(OWN_FOLDER)
    if rehearsal:
        parts.append(CLEANED)
    return "".join(parts).format(ident=ident, clients=clients) + "\n".join(body) + "\n"


def launch(clients: int, threads: int, rehearsal: bool) -> str:
    """The line that says how MPI starts one rank for each thread."""
    line = LAUNCH_ONE if rehearsal else LAUNCH_ALL
    return line.format(ranks=clients * threads, threads=threads).rstrip("\n")
