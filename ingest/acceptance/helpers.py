"""Scripts beside the tests: fio's servers on the clients, and filling the system to its level."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.requirement import Requirement

#: Every client runs it. While reading, a client works in the folder that the next one filled.
SERVERS = """#!/bin/sh
# On every client: `sh servers.sh fill` before files are filled or written, `sh servers.sh read` before they are read.
set -eu
: "${TARGET:?say TARGET=FOLDER, on the storage under test}"
here=$(cd "$(dirname "$0")" && pwd)
HOSTS=${HOSTS:-$here/../hosts.txt}
own=$(grep . "$HOSTS" | sed 's/,.*//' | grep -n -x -F -- "${CLIENT:-$(hostname -s)}" | head -n 1 | cut -d : -f 1)
: "${own:?this client is not in the hosts file; say CLIENT=name, as it stands there}"
all=$(grep -c . "$HOSTS")
case "${1:-}" in
  fill) folder=$own ;;
  read) folder=$((own % all + 1)) ;;
  shared) folder=shared ;;
  *) echo "servers.sh: found '${1:-}', expected fill, read or shared" >&2; exit 2 ;;
esac
mkdir -p "$TARGET/fio/$folder"
cd "$TARGET/fio/$folder"
exec fio --server
"""

BALLAST = """#!/bin/sh
# Writes files until {percent} % of the capacity is in use; several clients may run it at once.
set -eu
: "${{TARGET:?say TARGET=FOLDER, on the storage under test}}"
folder=$TARGET/ballast/$(hostname -s).$$
mkdir -p "$folder"
cd "$folder"
number=0
while [ "$(df -P . | tail -n 1 | awk '{{print int($5)}}')" -lt {percent} ]; do
  number=$((number + 1))
  fio --name=ballast --filename="$number" --rw=write --bs=1m --size="${{SIZE:-64g}}" --direct=1 --output=/dev/null
done
"""


def helpers(lines: Sequence[Requirement]) -> dict[str, str]:
    """Path -> content."""
    fills = [line.conditions.fill for line in lines if line.conditions.fill]
    found = {"fio/servers.sh": SERVERS}
    return found | ({"ballast.sh": BALLAST.format(percent=round(max(fills) * 100))} if fills else {})
